//! The lock beside the journal: one process works on a journal at a time.

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

/// The lock of a journal, held as long as this lives.
#[derive(Debug)]
pub(super) struct JournalLock {
    path: PathBuf,
    file: File,
}

impl JournalLock {
    /// Takes the lock of the journal at `journal` and leaves the process id in it.
    pub(super) fn take(journal: &Path) -> Result<Self, JournalError> {
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
                    pid: pid.trim().to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
        }
        // The process id helps whoever is refused. A full disk must not keep the daemon from starting.
        if let Err(error) = leave_number(&mut file) {
            tracing::debug!(%error, "cannot leave the process id in the lock");
        }
        Ok(Self { path, file })
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

fn leave_number(file: &mut File) -> io::Result<()> {
    let data = file.metadata()?;
    if !data.is_file() || data.nlink() != 1 {
        return Err(io::Error::other("it has another name, whose content is not ours"));
    }
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
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
}
