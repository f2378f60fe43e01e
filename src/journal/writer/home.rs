//! Looks whether the file that is held open is still the one at the journal's place. If not, the thread makes a new
//! file there of all that is still known, so that no event is only in a file that nobody will find.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use super::JournalWriter;
use crate::{
    event::notice,
    journal::{
        batch::Batch,
        entry::Notice,
        error::{JournalError, is_damage},
        lock::JournalLock,
        open,
        place::{Fate, JournalPlace, beside, make_folder},
        salvage::Salvage,
        store::Store,
        wall_ms,
    },
};

/// How often the thread reads the whole file, and how much longer than the reading the pause is at least.
const EXAMINE: Duration = Duration::from_secs(10);
const EXAMINE_SHARE: u32 = 500;

/// Why the journal could not be made anew, for a person.
#[derive(Debug, thiserror::Error)]
pub(super) enum Homeless {
    #[error("its file system takes no writes")]
    ReadOnly,
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl JournalWriter {
    /// True where the journal is at its place and can be written. If not, the thread tries to put that right.
    pub(super) fn is_at_home(&mut self) -> bool {
        let homing = match self.look() {
            Some(Fate::ReadOnly) => self.come_home(Fate::ReadOnly).map(Some),
            // Whatever became of its file meanwhile.
            _ if self.is_unread => self.come_home(Fate::Unread).map(Some),
            None if self.has_lost_its_lock() => self.lock_again().map(|()| None),
            None if self.lock.is_some() => return true,
            // The file could not be written when it was opened, and now it can.
            None => self.begin_to_write().map(|()| None),
            Some(fate) => self.come_home(fate).map(Some),
        };
        match homing {
            Ok(notice) => {
                notice.into_iter().for_each(|notice| self.say_healed(notice));
                true
            }
            Err(reason) => {
                let path = self.settings.path.display();
                self.fail(Notice::new(
                    notice::JOURNAL_FAILING,
                    format!(
                        "the journal {path} cannot be written ({reason}): events are sent from memory until it can; see to the disk and its folder"
                    ),
                ));
                false
            }
        }
    }

    /// What is wrong with the journal's place, if anything.
    pub(super) fn look(&mut self) -> Option<Fate> {
        if let Some(fate) = self.place.look() {
            return Some(fate);
        }
        let is_given_up = self.lock.as_mut().is_some_and(JournalLock::is_given_up);
        is_given_up.then_some(Fate::ReadOnly)
    }

    /// True where another process would take the journal for one that nobody has.
    pub(super) fn has_lost_its_lock(&self) -> bool {
        self.lock.as_ref().is_some_and(|lock| !lock.is_in_its_place())
    }

    /// Puts the lock back that somebody removed. Where another process was quicker, this one goes on from memory.
    fn lock_again(&mut self) -> Result<(), Homeless> {
        self.lock = Some(JournalLock::take(&self.settings.path)?);
        tracing::warn!(
            "somebody removed the lock of the journal {}: it is there again. It is no leftover: without it a second daemon would write into the same file",
            self.settings.path.display()
        );
        Ok(())
    }

    /// Reads the file now and then through a new connection, because the open one sees its memory in place of bytes
    /// that somebody overwrote.
    pub(super) fn examine(&mut self) {
        let began = Instant::now();
        if self.failing_since.is_some() || began < self.examine_at {
            return;
        }
        let is_damaged = match Store::open(&self.settings.path).and_then(|store| store.damage()) {
            Ok(found) => found.is_some(),
            Err(error) => is_damage(&error),
        };
        if is_damaged && !self.mend() {
            self.fail(Notice::new(
                notice::JOURNAL_DAMAGED,
                "the journal is damaged, and no new one can begin: events are sent from memory".to_owned(),
            ));
        }
        self.examine_at = Instant::now() + EXAMINE.max(began.elapsed() * EXAMINE_SHARE);
    }

    /// Replaces the file after it was damaged during the work.
    pub(super) fn mend(&mut self) -> bool {
        match self.come_home(Fate::Damaged) {
            Ok(notice) => {
                self.say_healed(notice);
                true
            }
            Err(error) => {
                tracing::debug!(%error, "cannot begin a new journal");
                false
            }
        }
    }

    fn come_home(&mut self, fate: Fate) -> Result<Notice, Homeless> {
        if fate == Fate::ReadOnly {
            return Err(Homeless::ReadOnly);
        }
        let path = self.settings.path.clone();
        let fresh = beside(&path, ".new");
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        // The lock's file may be gone as well, and another daemon may have begun there.
        self.lock = None;
        self.lock = Some(JournalLock::take(&path)?);
        remove(&fresh)?;
        let is_whole = !matches!(fate, Fate::Damaged | Fate::Unread) && self.store.copy_to(&fresh).is_ok();
        if !is_whole {
            remove(&fresh)?;
            self.write_what_is_known(&fresh)?;
        }
        let unsent = if fate == Fate::Unread { unsent(&path) } else { None };
        // A file of which the disk says nothing may be there.
        let aside = path
            .try_exists()
            .unwrap_or(true)
            .then(|| open::set_aside(&path, fate.word(), &open::FILES))
            .transpose()?;
        // Until the new file is in its place, the old store is what the next try makes another from.
        remove(&path)?;
        std::fs::rename(&fresh, &path)?;
        self.lock = None;
        self.place = JournalPlace::of(&path);
        // From here on it is a journal of ours, whatever keeps the thread from taking it up.
        self.is_unread = false;
        if fate == Fate::Unread {
            tracing::error!(?aside, ?unsent, "the journal that could not be read is set aside");
        }
        // The old store removes the write-ahead log at its place when it is closed, which must not be the new one's. So it is closed
        // before that begins.
        self.begin_to_write()?;
        let aside = aside.map_or_else(String::new, |aside| {
            format!("; what lay in its place is now {}", aside.display())
        });
        let (code, what) = match fate {
            Fate::Replaced => (notice::JOURNAL_REPLACED, "was replaced by another file"),
            Fate::Damaged => (notice::JOURNAL_DAMAGED, "was damaged"),
            Fate::Gone | Fate::ReadOnly => (notice::JOURNAL_MISSING, "was removed"),
            Fate::Unread => return Ok(unread(&path, &aside, unsent)),
        };
        let kept = if is_whole {
            "all that was in it"
        } else {
            "the unsent events that could be read"
        };
        let text = format!(
            "the journal {} {what} while the daemon was running: a new one begins with {kept}, and the numbers go on{aside}",
            path.display()
        );
        Ok(Notice::new(code, text))
    }

    /// Opens for writing the file at the journal's place, or else for reading. The former store goes first: a reader of this file would
    /// share its memory.
    fn begin_to_write(&mut self) -> Result<(), Homeless> {
        self.store = Store::in_memory(&self.gateway)?;
        let moved = self.move_in();
        if moved.is_err() {
            let reader = Store::open_read_only(&self.settings.path);
            self.store = reader.map_or_else(|| Store::in_memory(&self.gateway), Ok)?;
        }
        moved
    }

    /// Takes up the file at the journal's place, which has everything that the old one held.
    fn move_in(&mut self) -> Result<(), Homeless> {
        // What befell the journal of before was found when the daemon began.
        let ready = open::open_writable(&self.settings.path, &self.gateway, false)?;
        self.store = ready.store;
        self.seq_base = self.seq_base.max(ready.seq_base);
        self.store.set_seq_base(self.seq_base)?;
        self.say_who(&self.store)?;
        self.lock = ready.lock;
        self.place = JournalPlace::of(&self.settings.path);
        self.command = self.command.max(self.store.last_command()?);
        let unwritten = self.pending.rows.len().saturating_sub(self.pending.acked.len());
        self.depth = self.store.outbox()? + unwritten as u64;
        // Boards without new events also go on from their numbers.
        self.pending.snapshots.extend(self.snapshots());
        Ok(())
    }

    /// Writes which journal the file of `store` is, and what befell its numbers.
    fn say_who(&self, store: &Store) -> rusqlite::Result<()> {
        store.set_identity(&self.identity)?;
        store.set_jumps(&self.jumps)?;
        store.set_runs(&self.runs)?;
        // Events that have other numbers in memory come to the file with the floors that fit those.
        let is_lifted = self.is_compared && self.pending.lifted.is_some();
        if !*self.sending.borrow() && !is_lifted {
            store.set_floors(&self.floors)?;
        }
        if !self.is_compared {
            store.set_copied(&self.copied)?;
        }
        store.set_era(&self.era)
    }

    /// Where all boards go on.
    fn snapshots(&self) -> BTreeMap<String, (u64, Option<String>)> {
        let resumes = self.resumes.iter();
        resumes
            .map(|(board, resume)| (board.clone(), (resume.last_seq, resume.snapshot.clone())))
            .collect()
    }

    /// Writes a file with what can still be read and with what the thread knows without reading. A process that dies before it writes
    /// more into it leaves a journal whose numbers go on.
    pub(super) fn write_what_is_known(&mut self, path: &Path) -> Result<(), Homeless> {
        let mut store = Store::open(path)?;
        store.configure()?;
        store.create_tables(&self.gateway)?;
        store.set_seq_base(self.seq_base)?;
        self.say_who(&store)?;
        let batch = Batch {
            rows: Salvage::of(&self.store).unsent(),
            snapshots: self.snapshots(),
            ..Batch::default()
        };
        store.write(&batch, wall_ms())?;
        store.checkpoint()?;
        Ok(())
    }

    /// Makes a notice of what was mended stay for a while, so that somebody sees it.
    fn say_healed(&mut self, notice: Notice) {
        tracing::error!(code = notice.code, "{}", notice.message);
        self.trouble.send_modify(|troubles| {
            troubles.retain(|other| other.code == notice::OUTBOX_FILLING);
            troubles.push(notice);
        });
        self.healed_at = Some(Instant::now());
    }
}

/// How many events of the journal at `path` no broker has acknowledged, if it can be read by now.
fn unsent(path: &Path) -> Option<u64> {
    Store::open_read_only(path)?.outbox().ok()
}

fn unread(path: &Path, aside: &str, unsent: Option<u64>) -> Notice {
    let sent = match unsent {
        Some(0) => "all its events were sent".to_owned(),
        Some(count) => format!("{count} of its events were never sent"),
        None => "whether all its events were sent is not known".to_owned(),
    };
    let text = format!(
        "the journal {} could not be read when the daemon began: a new one begins with all that was recorded since{aside}; {sent}",
        path.display()
    );
    Notice::new(notice::JOURNAL_UNREAD, text)
}

/// Removes an SQLite file and the files that belong to it, as far as they exist.
fn remove(path: &Path) -> std::io::Result<()> {
    for suffix in open::FILES {
        match std::fs::remove_file(beside(path, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
