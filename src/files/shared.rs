//! Files below a folder in which others may write, too: no link is followed, nothing that is no plain
//! file is opened, and what is read is bounded. Whoever shares the folder could else have us overwrite
//! or wait for what is not in it.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, Uid, fchown, fstat, mkdirat, open, openat, renameat, unlinkat,
    },
    io::Errno,
    process::geteuid,
};

/// Bytes of a file that is read: an evening's games have a tenth of that.
const MOST: u64 = 16 << 20;

/// What is made on the way to a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Make {
    Nothing,
    Folders,
    /// Folders, which root gives to the owner of the one they are in.
    Given,
}

/// Gives what root made to the owner of the folder that it is in.
fn give(made: impl AsFd, folder: impl AsFd) -> io::Result<()> {
    if geteuid().is_root() {
        let owner = fstat(folder)?;
        fchown(
            made,
            Some(Uid::from_raw(owner.st_uid)),
            Some(Gid::from_raw(owner.st_gid)),
        )?;
    }
    Ok(())
}

/// The folder of `name` below `root`, made where it is not there, and the name in it. The root itself is
/// the operator's word and may be a link.
fn place<'n>(root: &Path, name: &'n str, make: Make) -> io::Result<(File, &'n str)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if make != Make::Nothing {
        std::fs::create_dir_all(root)?;
    }
    let mut folder = open(root, flags, Mode::empty())?;
    let mut rest = name;
    while let Some((first, after)) = rest.split_once('/') {
        let mut is_made = false;
        if make != Make::Nothing {
            match mkdirat(&folder, first, Mode::from_raw_mode(0o777)) {
                Ok(()) => is_made = true,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let inner = openat(&folder, first, flags | OFlags::NOFOLLOW, Mode::empty())?;
        if is_made && make == Make::Given {
            give(&inner, &folder)?;
        }
        folder = inner;
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
pub(crate) fn has_one_name(file: &File) -> bool {
    fstat(file).is_ok_and(|stat| stat.st_nlink == 1)
}

/// What a file has.
pub(crate) fn read(root: &Path, name: &str) -> io::Result<String> {
    let (folder, name) = place(root, name, Make::Nothing)?;
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
pub(crate) fn replace(root: &Path, name: &str, text: &str) -> io::Result<()> {
    put(root, name, text, Make::Folders)
}

/// The same; what root makes belongs to the owner of the nearest folder that was there.
pub(crate) fn restore(root: &Path, name: &str, text: &str) -> io::Result<()> {
    let is_there = |folder: &&Path| folder.as_os_str().is_empty() || folder.exists();
    let there = root.ancestors().find(is_there).unwrap_or(root);
    let missing = root.strip_prefix(there).unwrap_or_else(|_| Path::new(""));
    let name = missing.join(name).components().collect::<PathBuf>();
    let name = name.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
    let there = match there.as_os_str() {
        nothing if nothing.is_empty() => Path::new("."),
        _ => there,
    };
    put(there, name, text, Make::Given)
}

fn put(root: &Path, name: &str, text: &str, make: Make) -> io::Result<()> {
    let (folder, name) = place(root, name, make)?;
    let temporary = format!("{name}.tmp");
    match unlinkat(&folder, &temporary, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Hidden files have what the public may not know yet.
    let mode = if name.starts_with('.') { 0o660 } else { 0o666 };
    let mut file = File::from(openat(&folder, &temporary, flags, Mode::from_raw_mode(mode))?);
    if make == Make::Given {
        give(&file, &folder)?;
    }
    file.write_all(text.as_bytes())?;
    // Without this a loss of power may leave the new name with nothing in it.
    file.sync_data()?;
    Ok(renameat(&folder, &temporary, &folder, name)?)
}

/// A file to be locked, made where it is not there.
pub(crate) fn lockable(root: &Path, name: &str) -> io::Result<File> {
    let (folder, name) = place(root, name, Make::Folders)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    plain(File::from(openat(
        &folder,
        name,
        flags,
        Mode::from_raw_mode(0o666),
    )?))
}

/// Takes a file away.
pub(crate) fn remove(root: &Path, name: &str) -> io::Result<()> {
    let (folder, name) = place(root, name, Make::Nothing)?;
    Ok(unlinkat(&folder, name, AtFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_hidden_file_is_for_user_and_group_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for name in ["round-1/.begun", "round-1/game-1.pgn"] {
            replace(folder.path(), name, "text").unwrap();
            let mode = fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions()
                .mode();
            assert!(mode & 0o600 == 0o600, "{name}: {mode:o}");
            assert!(!name.contains("/.") || mode & 0o007 == 0, "{name}: {mode:o}");
        }
    }

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
    fn what_root_restores_belongs_to_the_owner_of_the_place() {
        use std::os::unix::fs::{MetadataExt, chown};

        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("state/public");
        // Only root can give something away.
        let given = chown(place.path(), Some(65_534), Some(65_534)).is_ok();
        restore(&root, "round-1/a", "one").unwrap();
        restore(&root, "round-1/b", "two").unwrap();
        assert_eq!(read(&root, "round-1/b").unwrap(), "two");
        for name in ["..", "", "round-1", "round-1/a", "round-1/b"] {
            let owner = fs::metadata(root.join(name)).unwrap().uid();
            assert_eq!(owner == 65_534, given, "{name}");
        }
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
