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

/// The same as text, without the mark that editors put before it.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    let bytes = read(path)?;
    let text = utf_16(&bytes).map_or_else(|| String::from_utf8(bytes), Ok);
    let text = text.map_err(|_| {
        let wrong = "it is not UTF-8: save it as such (an editor asks for the encoding)";
        io::Error::new(io::ErrorKind::InvalidData, wrong)
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The text of `bytes` whose first two say that they are UTF-16, as editors on Windows may write it; none of others.
pub(crate) fn utf_16(bytes: &[u8]) -> Option<String> {
    let (mark, rest) = bytes.split_at_checked(2)?;
    let unit = match mark {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).collect::<Result<_, _>>().ok()
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

    #[test]
    fn what_editors_write_on_windows_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        let units = |unit: fn(u16) -> [u8; 2]| "\u{feff}geheim é\r\n".encode_utf16().flat_map(unit).collect();
        let written: [Vec<u8>; 3] = [
            units(u16::to_le_bytes),
            units(u16::to_be_bytes),
            "\u{feff}geheim é\r\n".into(),
        ];
        for bytes in written {
            fs::write(&file, &bytes).unwrap();
            assert_eq!(text(&file).unwrap(), "geheim é\r\n", "{bytes:?}");
        }
        fs::write(&file, b"caf\xe9").unwrap();
        let error = text(&file).unwrap_err().to_string();
        assert!(error.contains("save it as such"), "{error}");
    }
}
