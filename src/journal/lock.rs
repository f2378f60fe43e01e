//! The lock beside the journal: one process works on a journal at a time.
//!
//! It stays when the process ends, and tells the next one that there was a journal. A process that is killed before its first journal has
//! tables leaves a lock that says so.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    error::{JournalError, io_error},
    place::{NO_LINK, beside, identity},
};

/// A process that was killed a moment ago may still hold the lock.
const PATIENCE: Duration = Duration::from_secs(1);
/// Stands behind the process id as long as there was no journal yet.
const NEW: &str = "new";
/// No process id and word are longer.
const LONGEST: u64 = 64;

/// The lock of a journal, held as long as this lives.
#[derive(Debug)]
pub(super) struct JournalLock {
    path: PathBuf,
    file: File,
}

impl JournalLock {
    /// Takes the lock of the journal at `journal`, which is there or was, and leaves the process id in it.
    pub(super) fn take(journal: &Path) -> Result<Self, JournalError> {
        let mut lock = Self::take_as_it_is(journal)?;
        lock.say_begun();
        Ok(lock)
    }

    /// Takes the lock of the journal at `journal`, which may not have begun: then the lock says so until [`Self::say_begun`].
    pub(super) fn take_as_it_is(journal: &Path) -> Result<Self, JournalError> {
        let path = of(journal);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(NO_LINK)
            .open(&path)
            .map_err(io_error("open", &path))?;
        let deadline = Instant::now() + PATIENCE;
        let mut outcome = file.try_lock();
        while matches!(outcome, Err(TryLockError::WouldBlock)) && Instant::now() < deadline {
            std::thread::sleep(PATIENCE / 20);
            outcome = file.try_lock();
        }
        match outcome {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // The process id only helps the message: without it the refusal is as good.
                let _ = file.read_to_string(&mut pid);
                return Err(JournalError::Locked {
                    path: journal.to_owned(),
                    pid: process_in(&pid).to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
        }
        let mut text = String::new();
        let has_begun = (&file).take(LONGEST).read_to_string(&mut text).is_err() || says_begun(&text);
        let mut lock = Self { path, file };
        lock.leave(if has_begun { "" } else { NEW });
        Ok(lock)
    }

    /// Notes that there is a journal.
    pub(super) fn say_begun(&mut self) {
        self.leave("");
    }

    /// Leaves the process id and a word. The process id helps whoever is refused. A full disk must not keep the daemon from starting.
    fn leave(&mut self, word: &str) {
        if let Err(error) = leave(&mut self.file, word) {
            tracing::debug!(%error, "cannot leave the process id in the lock");
        }
    }

    /// True while its file is where the next process looks for it: somebody may take it for a leftover and remove it.
    pub(super) fn is_in_its_place(&self) -> bool {
        let ours = self.file.metadata().ok().map(|data| (data.dev(), data.ino()));
        ours == identity(&self.path)
    }

    /// True where the kernel has given the file system up, which it need not call read-only. The question writes no bytes, and so
    /// changes nothing.
    pub(super) fn is_given_up(&mut self) -> bool {
        self.file.write(&[]).is_err()
    }
}

/// Where the lock of the journal at `journal` is. It stays when the process ends.
pub(super) fn of(journal: &Path) -> PathBuf {
    beside(journal, ".lock")
}

/// True where the lock of the journal at `journal` tells that there was one.
pub(super) fn tells_of_journal(journal: &Path) -> bool {
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(NO_LINK).open(of(journal));
    let mut text = String::new();
    match opened.and_then(|file| file.take(LONGEST).read_to_string(&mut text)) {
        Ok(_) => says_begun(&text),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// The process id in a lock.
pub(crate) fn process_in(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// False where the process that made the lock ended before there was a journal, or before it left anything in the lock.
fn says_begun(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    !first.is_empty() && !first.ends_with(NEW)
}

/// The lock is never empty meanwhile: that would say that it is new.
fn leave(file: &mut File, word: &str) -> io::Result<()> {
    let data = file.metadata()?;
    if !data.is_file() || data.nlink() != 1 {
        return Err(io::Error::other("it has another name, whose content is not ours"));
    }
    let text = format!("{} {word}", std::process::id());
    let text = format!("{}\n", text.trim_end());
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_somebody_removed_is_not_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("j.sqlite");
        let lock = JournalLock::take(&journal).unwrap();
        assert!(lock.is_in_its_place());
        assert!(matches!(
            JournalLock::take(&journal),
            Err(JournalError::Locked { .. })
        ));
        std::fs::remove_file(of(&journal)).unwrap();
        assert!(!lock.is_in_its_place());
        let next = JournalLock::take(&journal).unwrap();
        assert!(next.is_in_its_place() && !lock.is_in_its_place());
    }

    /// Whoever is killed before its first journal has tables has given out no number.
    #[test]
    fn a_lock_tells_of_a_journal_once_there_was_one() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("j.sqlite");
        assert!(!tells_of_journal(&journal));
        std::fs::write(of(&journal), "").unwrap();
        assert!(
            !tells_of_journal(&journal),
            "killed before it left its process id"
        );
        for _ in 0..2 {
            drop(JournalLock::take_as_it_is(&journal).unwrap());
            assert!(!tells_of_journal(&journal));
        }
        JournalLock::take_as_it_is(&journal).unwrap().say_begun();
        assert!(tells_of_journal(&journal));
        drop(JournalLock::take_as_it_is(&journal).unwrap());
        assert!(tells_of_journal(&journal), "the next process");
        let text = std::fs::read_to_string(of(&journal)).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        std::fs::write(of(&journal), "4711\n").unwrap();
        assert!(
            tells_of_journal(&journal),
            "a former version leaves no more than that"
        );
    }
}
