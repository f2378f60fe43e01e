//! Makes a copy of the journal beside the daemon that writes it, and restores a journal from a copy.
//!
//! A copy does not have what the broker was sent later, so after a restore all boards go on above every number that can
//! have been given out since. The restore ends with one renaming that makes the copy the journal. A restore that is
//! interrupted before leaves no journal, and never half of one.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, fchown},
    path::{Path, PathBuf},
};

use super::{
    batch::Batch,
    copied::Copied,
    entry::Resume,
    error::{JournalError, io_error},
    lock::{self, JournalLock},
    numbers::fresh_range,
    open::{open_sound, set_aside},
    place::{NO_LINK, beside, make_folder},
    store::Store,
    wall_ms,
};

/// The endings of the files that belong to a journal and go aside with it.
const PARTS: [&str; 5] = ["", "-wal", "-shm", ".round", ".tables"];

/// Writes what the journal at `path` has at this moment into the empty file `to`. The daemon may be running.
///
/// # Errors
/// When there is no journal, or one of the files cannot be used.
pub fn copy(path: &Path, to: &Path) -> Result<(), JournalError> {
    let sqlite = |source| JournalError::Sqlite {
        path: path.to_owned(),
        source,
    };
    fs::metadata(path).map_err(io_error("read", path))?;
    let reader = super::query::open(path).map_err(sqlite)?;
    let name = to.to_string_lossy();
    reader.execute("VACUUM INTO ?1", [name]).map_err(sqlite)?;
    Ok(())
}

/// The place to which a journal is restored. As long as this lives no daemon works there.
#[derive(Debug)]
pub struct Restore {
    path: PathBuf,
    _lock: JournalLock,
}

/// Says of a journal in use what helps whoever restores: not two daemons want it.
fn running(error: JournalError) -> JournalError {
    match error {
        JournalError::Locked { path, pid } => JournalError::Running { path, pid },
        other => other,
    }
}

impl Restore {
    /// Takes the place of the journal at `path`.
    ///
    /// # Errors
    /// [`JournalError::Running`] when a daemon works there; when the file system refuses.
    pub fn begin(path: &Path) -> Result<Self, JournalError> {
        if let Some(folder) = path.parent() {
            make_folder(folder).map_err(io_error("create the folder", folder))?;
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: JournalLock::take(path).map_err(running)?,
        })
    }

    /// The file to put the copy into. Nobody takes its name for a journal's.
    #[must_use]
    pub fn fresh(&self) -> PathBuf {
        beside(&self.path, ".restoring")
    }

    /// True where a journal is there already.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.path.exists()
    }

    /// Looks whether the copy at [`Self::fresh`] is a sound journal. Then makes its boards go on above all numbers that
    /// can have been given out since the copy was made.
    ///
    /// # Errors
    /// When it is none, or is damaged.
    pub fn check(&self) -> Result<(), JournalError> {
        let path = self.fresh();
        let sqlite = |source| JournalError::Sqlite {
            path: path.clone(),
            source,
        };
        let mut store = open_sound(&path)?.map_err(|damage| JournalError::Damaged {
            path: path.clone(),
            damage,
        })?;
        if store.tables_version().map_err(sqlite)? == 0 {
            return Err(JournalError::Foreign { path });
        }
        go_on_above(&mut store).map_err(sqlite)
    }

    /// Renames the journal that is there and returns its new name; none where there was no journal.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn set_aside(&self) -> Result<Option<PathBuf>, JournalError> {
        let is_there = PARTS.iter().any(|part| beside(&self.path, part).exists());
        is_there
            .then(|| set_aside(&self.path, "replaced", &PARTS))
            .transpose()
    }

    /// Makes the copy the journal. Its files then belong to the owner of their folder.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn finish(self) -> Result<(), JournalError> {
        let fresh = self.fresh();
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        for file in [
            fresh.clone(),
            lock::of(&self.path),
            beside(&self.path, ".round"),
            beside(&self.path, ".tables"),
        ] {
            belong(&file, folder).map_err(io_error("give to the owner of its folder", &file))?;
        }
        let moved = File::open(&fresh)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&fresh, &self.path));
        moved.map_err(io_error("put in its place", &fresh))?;
        let kept = File::open(folder).and_then(|folder| folder.sync_all());
        kept.map_err(io_error("write through", folder))
    }
}

/// Makes every board go on above the numbers that were given out since the copy was made, which nobody here knows. The
/// next start of the daemon says so.
fn go_on_above(store: &mut Store) -> rusqlite::Result<()> {
    let resumes = store.resumes()?;
    let highest = resumes.values().map(|resume| resume.last_seq).max();
    let base = fresh_range(highest.unwrap_or(0).max(store.seq_base()?));
    note_unsent(store, &resumes, base)?;
    let boards = resumes.into_keys().map(|board| (board, (base, None)));
    let batch = Batch {
        snapshots: boards.collect(),
        ..Batch::default()
    };
    store.write(&batch, wall_ms())?;
    store.set_seq_base(base)?;
    store.keep_runs()?;
    // What no disk secured then is below the base as well.
    store.say_secured()?;
    store.say_restored(base)
}

/// Notes where the boards stood when the copy was made, and up to which number they had sent their events then, where its `floors` say that
/// they had not sent all. What nobody had acknowledged may have been sent since, and the comparison with the broker tells.
fn note_unsent(store: &Store, resumes: &BTreeMap<String, Resume>, base: u64) -> rusqlite::Result<()> {
    // The copy may be of a journal that was restored itself, and has not compared its numbers since.
    let mut copied = store.copied()?;
    for (board, resume) in resumes {
        let last = resume.last_seq;
        copied.entry(board.clone()).or_insert(Copied { last, base }).base = base;
    }
    if let Some(mut floors) = store.floors()? {
        let others = store.seq_base()?;
        for board in resumes.keys() {
            floors.entry(board.clone()).or_insert(others);
        }
        store.set_floors(&floors)?;
    }
    store.set_copied(&copied)
}

/// Gives a file that root made in the daemon's folder to the daemon. If the daemon's user put a link in its place, this
/// does not lead to a file of somebody else.
fn belong(file: &Path, folder: &Path) -> io::Result<()> {
    let owner = fs::metadata(folder)?;
    let opened = match OpenOptions::new().read(true).custom_flags(NO_LINK).open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let own = opened.metadata()?;
    if (own.uid(), own.gid()) == (owner.uid(), owner.gid()) {
        Ok(())
    } else if own.is_file() && own.nlink() == 1 {
        fchown(&opened, Some(owner.uid()), Some(owner.gid()))
    } else {
        Err(io::Error::other("it is no plain file of one name: take it away"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nobody_is_given_what_lies_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let (here, elsewhere) = (folder.path().join("here"), folder.path().join("elsewhere"));
        fs::create_dir(&here).unwrap();
        fs::write(&elsewhere, "not ours").unwrap();
        let path = here.join("journal.sqlite");
        symlink(&elsewhere, beside(&path, ".round")).unwrap();
        assert!(belong(&beside(&path, ".round"), &here).is_err());
        belong(&beside(&path, ".none"), &here).unwrap();
        symlink(&elsewhere, beside(&path, ".lock")).unwrap();
        assert!(Restore::begin(&path).is_err());
        fs::remove_file(beside(&path, ".lock")).unwrap();
        fs::hard_link(&elsewhere, beside(&path, ".lock")).unwrap();
        drop(Restore::begin(&path).unwrap());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "not ours");
        // Only root can give a file away.
        if std::os::unix::fs::chown(&here, Some(65_534), Some(65_534)).is_ok() {
            assert!(belong(&beside(&path, ".lock"), &here).is_err());
            fs::write(&path, "ours").unwrap();
            belong(&path, &here).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().uid(), 65_534);
            assert_ne!(fs::metadata(&elsewhere).unwrap().uid(), 65_534);
        }
    }
}
