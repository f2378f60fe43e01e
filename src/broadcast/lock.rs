//! Gives a folder one writer: two writers would each take the other's games for late news.

use std::{
    fs::{File, TryLockError},
    io::{Read, Seek, Write},
    path::Path,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::patient::patiently;
use crate::files::shared;

/// The lock's file. The dot hides it from tools that look for games.
const NAME: &str = ".lock";
/// How often a broadcast that waits looks again, since the writer may end or move on to another folder.
const PATIENCE: Duration = Duration::from_secs(2);

/// The right to write a folder, for as long as it is held. The system takes it back when the process ends, however that
/// happens.
#[derive(Debug)]
pub(super) struct Lock {
    /// None where the folder cannot be locked, as on a disk without locks. Whether the folder can be written shows when
    /// it is.
    _file: Option<File>,
}

/// Another process writes the folder.
#[derive(Debug, PartialEq, Eq)]
struct Taken {
    /// What that process wrote about itself into the file.
    by: String,
}

impl Lock {
    /// Waits until no other process writes the folder at `root`; none when `stop` came first.
    pub(super) async fn wait(root: &Path, stop: &CancellationToken) -> Option<Self> {
        let mut told = false;
        loop {
            let place = root.to_owned();
            let Ok(taken) = patiently(root, move || Self::take(&place)).await else {
                return None;
            };
            match taken {
                Ok(lock) => {
                    if told {
                        tracing::info!("broadcast: nobody else writes {} any more", root.display());
                    }
                    return Some(lock);
                }
                Err(taken) if !told => {
                    told = true;
                    tracing::error!(
                        "broadcast: {} is written by another dgt2mqtt ({}), so nothing is written there by this one until that ends; keep [broadcast] in one configuration only, or give each its own folder",
                        root.display(),
                        taken.by
                    );
                }
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(PATIENCE) => {}
                () = stop.cancelled() => return None,
            }
        }
    }

    fn take(root: &Path) -> Result<Self, Taken> {
        let mut file = match shared::lockable(root, NAME) {
            Ok(file) => file,
            Err(error) => {
                tracing::warn!(
                    "broadcast: {} cannot be locked: {error}",
                    root.join(NAME).display()
                );
                return Ok(Self { _file: None });
            }
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut by = String::new();
                // The text only helps the message: without it the refusal is as good.
                let _ = file.read_to_string(&mut by);
                return Err(Taken {
                    by: by.trim().to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => {
                tracing::warn!("broadcast: {} cannot be locked ({error})", root.display());
                return Ok(Self { _file: None });
            }
        }
        if shared::has_one_name(&file) {
            // The text helps whoever is refused. A full disk must not keep the broadcast from writing.
            let _ = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| writeln!(file, "process {}", std::process::id()));
        }
        Ok(Self { _file: Some(file) })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_folder_has_one_writer() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("open");
        let lock = Lock::take(&folder).unwrap();
        let by = format!("process {}", std::process::id());
        assert_eq!(Lock::take(&folder).unwrap_err(), Taken { by });
        Lock::take(&root.path().join("other")).unwrap();
        drop(lock);
        Lock::take(&folder).unwrap();
    }

    #[test]
    fn a_lock_that_leads_elsewhere_overwrites_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("open");
        fs::create_dir(&folder).unwrap();
        let journal = root.path().join("journal");
        fs::write(&journal, "the record").unwrap();
        fs::hard_link(&journal, folder.join(NAME)).unwrap();
        assert!(Lock::take(&folder).unwrap()._file.is_some());
        fs::remove_file(folder.join(NAME)).unwrap();
        std::os::unix::fs::symlink(&journal, folder.join(NAME)).unwrap();
        assert!(Lock::take(&folder).unwrap()._file.is_none());
        assert_eq!(fs::read_to_string(&journal).unwrap(), "the record");
    }

    #[test]
    fn a_folder_that_cannot_be_made_has_no_lock_and_is_waited_for_by_nobody() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        assert!(
            Lock::take(&root.path().join("file/open"))
                .unwrap()
                ._file
                .is_none()
        );
    }

    #[tokio::test]
    async fn whoever_waits_has_its_turn() {
        let root = tempfile::tempdir().unwrap();
        let lock = Lock::take(root.path()).unwrap();
        let stop = CancellationToken::new();
        let (had, ()) = tokio::join!(Lock::wait(root.path(), &stop), async { drop(lock) });
        assert!(had.is_some());
        stop.cancel();
        assert!(
            Lock::wait(root.path(), &stop).await.is_none(),
            "the end comes first"
        );
    }
}
