//! Files below a folder in which others may write, too: no link is followed, nothing that is no plain
//! file is opened, and what is read is bounded. Whoever shares the folder could else have us overwrite
//! or wait for what is not in it.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, open, openat, renameat, unlinkat},
    io::Errno,
};

/// Bytes of a file that is read: an evening's games have a tenth of that.
const MOST: u64 = 16 << 20;

/// The folder of `name` below `root`, made where it is not there, and the name in it. The root itself is
/// the operator's word and may be a link.
fn place<'n>(root: &Path, name: &'n str, make: bool) -> io::Result<(File, &'n str)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if make {
        std::fs::create_dir_all(root)?;
    }
    let mut folder = open(root, flags, Mode::empty())?;
    let mut rest = name;
    while let Some((first, after)) = rest.split_once('/') {
        if make {
            match mkdirat(&folder, first, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        folder = openat(&folder, first, flags | OFlags::NOFOLLOW, Mode::empty())?;
        rest = after;
    }
    Ok((File::from(folder), rest))
}

fn plain(file: File) -> io::Result<File> {
    if FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile {
        Ok(file)
    } else {
        Err(io::Error::other("it is no plain file: take it away"))
    }
}

/// Whether a file has this one name: a second one may lie outside.
pub(super) fn has_one_name(file: &File) -> bool {
    fstat(file).is_ok_and(|stat| stat.st_nlink == 1)
}

/// What a file has.
pub(super) fn read(root: &Path, name: &str) -> io::Result<String> {
    let (folder, name) = place(root, name, false)?;
    // A pipe without a writer would keep us waiting.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = plain(File::from(openat(&folder, name, flags, Mode::empty())?))?;
    let mut text = String::new();
    file.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Puts a file in place as a whole. Programs that watch the folder for `.pgn` and `.json` do not see it
/// while it is written.
pub(super) fn replace(root: &Path, name: &str, text: &str) -> io::Result<()> {
    let (folder, name) = place(root, name, true)?;
    let temporary = format!("{name}.tmp");
    match unlinkat(&folder, &temporary, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&folder, &temporary, flags, Mode::from_raw_mode(0o666))?);
    file.write_all(text.as_bytes())?;
    // Without this a loss of power may leave the new name with nothing in it.
    file.sync_data()?;
    Ok(renameat(&folder, &temporary, &folder, name)?)
}

/// A file to be locked, made where it is not there.
pub(super) fn lockable(root: &Path, name: &str) -> io::Result<File> {
    let (folder, name) = place(root, name, true)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    plain(File::from(openat(
        &folder,
        name,
        flags,
        Mode::from_raw_mode(0o666),
    )?))
}

/// Takes a file away.
pub(super) fn remove(root: &Path, name: &str) -> io::Result<()> {
    let (folder, name) = place(root, name, false)?;
    Ok(unlinkat(&folder, name, AtFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn what_lies_outside_is_neither_written_nor_read() {
        let outside = tempfile::tempdir().unwrap();
        let journal = outside.path().join("journal");
        fs::write(&journal, "the record").unwrap();
        let shared = tempfile::tempdir().unwrap();
        let root = shared.path();
        fs::create_dir(root.join("round-1")).unwrap();
        for name in ["round-1/a.tmp", ".lock", "round-1/secret"] {
            symlink(&journal, root.join(name)).unwrap();
        }
        fs::hard_link(&journal, root.join("round-1/b.tmp")).unwrap();
        symlink(outside.path(), root.join("round-2")).unwrap();
        for name in ["round-1/a", "round-1/b"] {
            replace(root, name, "new").unwrap();
            assert_eq!(read(root, name).unwrap(), "new");
        }
        assert!(replace(root, "round-2/journal", "new").is_err());
        assert!(read(root, "round-1/secret").is_err());
        assert!(lockable(root, ".lock").is_err());
        assert_eq!(fs::read_to_string(&journal).unwrap(), "the record");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_keeps_nobody_waiting() {
        let shared = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(shared.path().join("pipe"))
            .status();
        assert!(made.unwrap().success());
        assert!(read(shared.path(), "pipe").is_err());
        assert!(lockable(shared.path(), "pipe").is_err());
        replace(shared.path(), "pipe", "text").unwrap();
        assert_eq!(read(shared.path(), "pipe").unwrap(), "text");
    }
}
