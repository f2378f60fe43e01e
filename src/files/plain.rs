//! Files that the configuration consists of. They are read while the daemon works, too: none may keep it waiting.

use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

/// Bytes of such a file: the pairings of the largest tournament have a hundredth of that.
const MOST: u64 = 16 << 20;

/// What a plain file has. Standard input and the like are what their user makes of them.
///
/// # Errors
/// What the system says; that it is no plain file, or too large.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe is opened without waiting for somebody at its other end.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let is_given = path.starts_with("/dev") || path.starts_with("/proc");
    let mut options = OpenOptions::new();
    options.read(true);
    if !is_given {
        options.custom_flags(flags);
    }
    let file = options.open(path)?;
    if !is_given && !file.metadata()?.is_file() {
        return Err(io::Error::other(
            "it is no plain file (a pipe, a folder or a device): put a plain file there",
        ));
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// The same as text.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_pipe_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(read(&pipe).unwrap_err().to_string().contains("no plain file"));
        assert!(read(folder.path()).is_err());
        assert!(read(Path::new("/dev/null")).unwrap().is_empty());
        let plain = folder.path().join("plain");
        fs::write(&plain, "text").unwrap();
        assert_eq!(text(&plain).unwrap(), "text");
    }
}
