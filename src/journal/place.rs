//! Watches the place of the journal's file. A program that holds a file open goes on working after somebody removed or
//! replaced the file, and all that it writes then is lost when it ends.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{OFlags, StatVfs, StatVfsMountFlags, statvfs};

use super::error::is_broken;

/// Flags that open no link, and do not wait for the other end of a pipe.
pub(crate) const NO_LINK: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();

/// What SQLite needs beside the journal, in bytes: the index of the write-ahead log.
const ROOM: u64 = 32 << 10;

/// Makes the folder of the journal, into which nobody else sees. A folder that exists stays as it is.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The files with a board's captures: the present one, and the one before.
#[must_use]
pub fn captures(journal: &Path, board: &str) -> [PathBuf; 2] {
    let present = journal.with_file_name("captures").join(format!("{board}.dgtcap"));
    let before = former(&present);
    [present, before]
}

/// The file of the capture before the one at `path`.
pub(crate) fn former(path: &Path) -> PathBuf {
    path.with_extension("before.dgtcap")
}

/// What is wrong with the journal's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The file system takes no writes.
    ReadOnly,
    /// The file, or its write-ahead log, is gone.
    Gone,
    /// Another file is in its place.
    Replaced,
    /// The file cannot be read any more.
    Damaged,
    /// The file could not be read when the daemon began.
    Unread,
}

impl Fate {
    /// What the name of a file says that was set aside.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            _ => "damaged",
        }
    }
}

/// Device and number of a file.
type Identity = (u64, u64);

/// The place as it was when the file was opened.
#[derive(Debug)]
pub(super) struct JournalPlace {
    path: PathBuf,
    main: Option<Identity>,
    log: Option<Identity>,
}

impl JournalPlace {
    /// Remembers which files are at `path`.
    pub(super) fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            main: identity(path),
            log: identity(&beside(path, "-wal")),
        }
    }

    /// Looks whether the same files are still there and can be written. It opens none of them: closing an SQLite file
    /// takes away the locks that this process has on it.
    pub(super) fn look(&mut self) -> Option<Fate> {
        if is_read_only(&self.path) {
            return Some(Fate::ReadOnly);
        }
        let log = identity(&beside(&self.path, "-wal"));
        // SQLite makes the log with the first write.
        self.log = self.log.or(log);
        match (self.main, identity(&self.path)) {
            (_, None) => Some(Fate::Gone),
            (main, here) if main != here => Some(Fate::Replaced),
            _ if self.log.is_some() && log.is_none() => Some(Fate::Gone),
            _ if self.log != log => Some(Fate::Replaced),
            _ => None,
        }
    }
}

/// True when the file system of `path`, or of the nearest folder above it that exists, takes no writes.
pub(super) fn is_read_only(path: &Path) -> bool {
    file_system(path).is_some_and(|system| system.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// True unless nothing is at `path`, or a file without content.
pub(super) fn has_content(path: &Path) -> bool {
    let found = fs::metadata(path).map(|data| data.len() > 0);
    found.unwrap_or_else(|error| error.kind() != io::ErrorKind::NotFound)
}

/// True when there is a file at `path` of which the disk gives nothing. It closes the file, so no SQLite may have it open here.
pub(super) fn is_unreadable(path: &Path) -> bool {
    let mut options = fs::OpenOptions::new();
    let opened = options.read(true).custom_flags(NO_LINK).open(path);
    let read = opened.and_then(|mut file| file.read(&mut [0]));
    read.is_err_and(|error| is_broken(&error))
}

/// True when that file system has no room for a file of the journal, or for the name of one.
pub(super) fn is_full(path: &Path) -> bool {
    file_system(path).is_some_and(|system| {
        let room = system.f_bavail.saturating_mul(system.f_frsize);
        // Some file systems do not count names.
        let has_no_names = system.f_files > 0 && system.f_favail == 0;
        room < ROOM || has_no_names
    })
}

/// Why no file can be made beside `path`; none where one can.
pub(super) fn refusal(path: &Path) -> Option<io::Error> {
    let trial = beside(path, ".trial");
    let mut options = fs::OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(&trial);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Some(error),
        _ => {
            // It is empty, and the next trial takes it away.
            let _ = fs::remove_file(&trial);
            None
        }
    }
}

fn file_system(path: &Path) -> Option<StatVfs> {
    path.ancestors().find_map(|place| match place.as_os_str() {
        name if name.is_empty() => statvfs(".").ok(),
        _ => statvfs(place).ok(),
    })
}

/// The path with `suffix` added to its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// What tells the file at `path` from any other.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_no_file_can_be_made_is_found_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        fs::write(beside(&path, ".trial"), "").unwrap();
        assert!(refusal(&path).is_none() && refusal(&path).is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let nowhere = refusal(&folder.path().join("none/j.sqlite")).unwrap();
        assert_eq!(nowhere.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_became_of_a_file_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        fs::write(&path, "1").unwrap();
        let mut place = JournalPlace::of(&path);
        assert_eq!(place.look(), None);
        fs::write(beside(&path, "-wal"), "").unwrap();
        assert_eq!(place.look(), None);
        fs::remove_file(beside(&path, "-wal")).unwrap();
        assert_eq!(place.look(), Some(Fate::Gone));
        // The test keeps the old file open, or its number might be given out again.
        let _held = fs::File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(place.look(), Some(Fate::Gone));
        fs::write(&path, "2").unwrap();
        assert_eq!(place.look(), Some(Fate::Replaced));
    }
}
