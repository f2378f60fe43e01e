//! Opening the journal: the lock, the check, and what is done with a damaged file.
//!
//! A damaged file is renamed. A fresh file begins with what could still be read of it: the events that nobody has
//! acknowledged. The numbers in the lost part are not known, so every board goes on in a fresh range. The same holds
//! when the journal is gone while the lock beside it still tells that there was one.
//!
//! Where nothing can be written, the journal is opened for reading, and new events wait in memory.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    entry::{JournalSettings, Notice, Resume},
    error::{JournalError, io_error, is_damage},
    jump::Jumps,
    lock::{self, JournalLock},
    numbers::fresh_range,
    place::{self, beside},
    runs::KnownRuns,
    salvage::Salvage,
    store::{Store, TABLES_VERSION},
};
use crate::event::notice;

/// A file that cannot be read may be one that cannot be read just now.
const READING_PATIENCE: Duration = Duration::from_secs(2);

/// A journal ready for its thread.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) store: Store,
    /// What tells this journal from any other.
    pub(crate) identity: String,
    pub(crate) resumes: BTreeMap<String, Resume>,
    /// The number after which boards go on that the journal does not know.
    pub(crate) seq_base: u64,
    /// The last number of each board that can have been sent.
    pub(crate) floors: BTreeMap<String, u64>,
    /// The runs that may have sent events of it.
    pub(crate) runs: KnownRuns,
    /// True where more numbers may have been given out than the journal has.
    pub(crate) is_unsecured: bool,
    /// True where there is a journal that cannot be read.
    pub(crate) is_unread: bool,
    /// What boards have to tell of their numbers before anything else.
    pub(crate) jumps: Jumps,
    /// What the opening found.
    pub(crate) notices: Vec<Notice>,
    /// The lock, held as long as the journal is open; none where nothing can be written.
    pub(crate) lock: Option<JournalLock>,
}

/// Opens, checks and if need be replaces the journal. One that is there and cannot be read is tried again for a moment: a
/// network folder may hang, and what is in the journal is worth the wait.
pub(crate) fn open(settings: &JournalSettings, gateway: &str) -> Result<Ready, JournalError> {
    let deadline = Instant::now() + READING_PATIENCE;
    let was_here = lock::tells_of_journal(&settings.path);
    loop {
        let ready = open_once(&settings.path, gateway, was_here)?;
        if !ready.is_unread || Instant::now() > deadline {
            return Ok(ready);
        }
        std::thread::sleep(READING_PATIENCE / 10);
    }
}

fn open_once(path: &Path, gateway: &str, was_here: bool) -> Result<Ready, JournalError> {
    if place::is_read_only(path) {
        return open_read_only(path, gateway, was_here);
    }
    open_writable(path, gateway, was_here).or_else(|error| {
        // On a full disk SQLite may say no more than that it cannot make a file.
        let is_of_disk = error.is_of_the_disk() || place::is_full(path) || place::is_unreadable(path);
        if is_of_disk && !error.is_of_another() {
            return open_read_only(path, gateway, was_here);
        }
        // What can be read goes on. What cannot is no journal that is lost: it can once more files can be open.
        let ready = error
            .is_of_descriptors()
            .then(|| open_read_only(path, gateway, was_here));
        match ready {
            Some(Ok(ready)) if !ready.is_unread => Ok(ready),
            _ => Err(error),
        }
    })
}

/// Opens the journal for reading, on a file system that takes no writes or has no room. `was_here` where there was a journal before.
pub(super) fn open_read_only(path: &Path, gateway: &str, was_here: bool) -> Result<Ready, JournalError> {
    let sqlite = |source| JournalError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let found = Store::open_read_only(path);
    let is_unread = found.is_none() && place::has_content(path);
    let store = found
        .map_or_else(|| Store::in_memory(gateway), Ok)
        .map_err(sqlite)?;
    let mut seq_base = store.seq_base().map_err(sqlite)?;
    let mut jumps = store.jumps().map_err(sqlite)?;
    let mut notices = Vec::new();
    let is_missing = !store.is_on_disk() && was_here;
    if is_unread || is_missing {
        seq_base = fresh_range(0);
        let lost = if is_unread { unread(path) } else { missing(path) };
        jumps.note_others([seq_base; 2], &lost);
        notices.push(lost);
    }
    let is_marked = has_former_ceilings(path);
    Ok(Ready {
        resumes: store.resumes().map_err(sqlite)?,
        identity: store.identity().map_err(sqlite)?.unwrap_or_else(new_identity),
        seq_base,
        floors: floors(&store, is_marked).map_err(sqlite)?,
        runs: store.runs().map_err(sqlite)?,
        is_unsecured: is_marked || store.is_unsecured().map_err(sqlite)?,
        is_unread,
        store,
        jumps,
        notices,
        lock: None,
    })
}

/// The last number of each board that can have been sent: the last that it has, unless the journal knows better.
fn floors(store: &Store, is_marked: bool) -> rusqlite::Result<BTreeMap<String, u64>> {
    if let Some(floors) = store.floors()?.filter(|_| !is_marked) {
        return Ok(floors);
    }
    let boards = store.resumes()?.into_iter();
    Ok(boards.map(|(board, resume)| (board, resume.last_seq)).collect())
}

/// True where a former version gave out numbers while the disk was full: it kept a file for them, which was empty otherwise.
fn has_former_ceilings(path: &Path) -> bool {
    let kept = fs::read(beside(path, ".mark"));
    kept.is_ok_and(|text| text.trim_ascii() != b"{}")
}

/// Takes over what a former version noted of numbers that it gave out while the disk was full, and removes its file.
fn forget_former_ceilings(store: &Store, path: &Path) -> rusqlite::Result<()> {
    if has_former_ceilings(path) {
        store.say_unsecured()?;
        store.forget_floors()?;
    }
    let mark = beside(path, ".mark");
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, "cannot remove {}, which nobody needs any more", mark.display());
        }
        _ => {}
    }
    Ok(())
}

fn missing(path: &Path) -> Notice {
    let text = format!(
        "the journal {} is gone; a new one begins and every board's numbers go on far above the old ones",
        path.display()
    );
    Notice::new(notice::JOURNAL_MISSING, text)
}

fn unread(path: &Path) -> Notice {
    let text = format!(
        "the journal {} is there and cannot be read: every board's numbers go on far above the old ones, and a new journal begins as soon as the disk takes one",
        path.display()
    );
    Notice::new(notice::JOURNAL_UNREAD, text)
}

/// Opens the journal for writing. `was_here` where there was one before.
pub(super) fn open_writable(path: &Path, gateway: &str, was_here: bool) -> Result<Ready, JournalError> {
    try_writable(path, gateway, was_here).map_err(|error| error.with_cause(path, place::refusal))
}

fn try_writable(path: &Path, gateway: &str, was_here: bool) -> Result<Ready, JournalError> {
    if let Some(folder) = path.parent() {
        place::make_folder(folder).map_err(io_error("create the folder", folder))?;
    }
    let mut lock = JournalLock::take_as_it_is(path)?;
    let ready = begin(path, gateway, was_here);
    // Where no journal could begin, this process may give out numbers from memory.
    lock.say_begun();
    ready.map(|ready| Ready {
        lock: Some(lock),
        ..ready
    })
}

/// Takes up the journal, or begins one. The caller has the lock.
fn begin(path: &Path, gateway: &str, was_here: bool) -> Result<Ready, JournalError> {
    let sqlite = |source| JournalError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let mut notices = Vec::new();
    let (mut store, salvage) = sound_or_fresh(path, &mut notices)?;
    store.configure().map_err(sqlite)?;
    if store.tables_version().map_err(sqlite)? == 0 {
        if notices.is_empty() && was_here {
            notices.push(missing(path));
        }
        // Another journal was here, whose numbers must not be used again.
        let lost = notices.first();
        let begun = store.create_tables_with(gateway, |tables| match lost {
            Some(lost) => salvage.put_into(tables, lost),
            None => Ok(()),
        });
        begun.map_err(sqlite)?;
    }
    let identity = store.identity().map_err(sqlite)?.unwrap_or_else(new_identity);
    store.set_identity(&identity).map_err(sqlite)?;
    store.prepare_ages().map_err(sqlite)?;
    store.prepare_commanded().map_err(sqlite)?;
    forget_former_ceilings(&store, path).map_err(sqlite)?;
    let resumes = store.resumes().map_err(sqlite)?;
    let seq_base = store.seq_base().map_err(sqlite)?;
    let mut jumps = store.jumps().map_err(sqlite)?;
    let last_seqs = resumes.iter();
    let last_seqs = last_seqs.map(|(board, resume)| (board.as_str(), resume.last_seq));
    jumps.forget_told(&last_seqs.collect(), seq_base);
    let restored = restored(&store).map_err(sqlite)?;
    let renamed = renamed(&store, gateway).map_err(sqlite)?;
    for notice in restored.iter().chain(&renamed) {
        for (board, resume) in &resumes {
            jumps.note(board, [resume.last_seq; 2], notice);
        }
    }
    if let Some(restored) = &restored {
        jumps.note_others([seq_base; 2], restored);
    }
    notices.extend(restored.into_iter().chain(renamed));
    // What is noted twice is told once. What is forgotten is told by nobody.
    store.set_jumps(&jumps).map_err(sqlite)?;
    store.forget_restored().map_err(sqlite)?;
    store.set_gateway(gateway).map_err(sqlite)?;
    Ok(Ready {
        floors: floors(&store, false).map_err(sqlite)?,
        runs: store.runs().map_err(sqlite)?,
        is_unsecured: store.is_unsecured().map_err(sqlite)?,
        store,
        identity,
        resumes,
        seq_base,
        is_unread: false,
        jumps,
        notices,
        lock: None,
    })
}

/// The notice of a journal that was restored, which boards may not have told.
fn restored(store: &Store) -> rusqlite::Result<Option<Notice>> {
    Ok(store.restored()?.map(|base| {
        let text = format!(
            "the journal was restored from a backup: what was sent after the backup is not in it, and the numbers of the boards that it has jump to {base}"
        );
        Notice::new(notice::JOURNAL_RESTORED, text)
    }))
}

/// The notice of a journal that was that of another gateway.
fn renamed(store: &Store, gateway: &str) -> rusqlite::Result<Option<Notice>> {
    let former = store.gateway()?.filter(|former| former != gateway);
    Ok(former.map(|former| {
        let text = format!("the journal was that of gateway {former:?} and is now that of {gateway:?}");
        Notice::new(notice::GATEWAY_RENAMED, text)
    }))
}

/// The file at `path`. If that is damaged, a fresh one, and what could be read of the old.
fn sound_or_fresh(path: &Path, notices: &mut Vec<Notice>) -> Result<(Store, Salvage), JournalError> {
    let damage = match open_sound(path)? {
        Ok(store) => return Ok((store, Salvage::default())),
        Err(damage) => damage,
    };
    let salvage = Salvage::from(path);
    let aside = set_aside(path, "damaged", &FILES)?;
    let text = format!(
        "the journal was damaged ({damage}) and is now {}; a new one begins with the {} unsent events that could be read, and every board's numbers go on far above the old ones",
        aside.display(),
        salvage.rows.len()
    );
    notices.push(Notice::new(notice::JOURNAL_DAMAGED, text));
    let store = Store::open(path).map_err(|source| JournalError::Sqlite {
        path: path.to_owned(),
        source,
    })?;
    Ok((store, salvage))
}

/// Opens the file and checks it. The inner `Err(damage)` means that the file must be set aside.
pub(super) fn open_sound(path: &Path) -> Result<Result<Store, String>, JournalError> {
    let judge = |error: rusqlite::Error| {
        if is_damage(&error) {
            Ok(Err(error.to_string()))
        } else {
            Err(JournalError::Sqlite {
                path: path.to_owned(),
                source: error,
            })
        }
    };
    let store = match Store::open(path) {
        Ok(store) => store,
        Err(error) => return judge(error),
    };
    match store.damage() {
        Ok(None) => {}
        Ok(Some(damage)) => return Ok(Err(damage)),
        Err(error) => return judge(error),
    }
    match (store.tables_version(), store.has_tables()) {
        (Ok(0), Ok(true)) => Err(JournalError::Foreign {
            path: path.to_owned(),
        }),
        (Ok(found), Ok(_)) if found > TABLES_VERSION => Err(JournalError::Newer {
            path: path.to_owned(),
            found,
        }),
        (Ok(_), Ok(_)) => Ok(Ok(store)),
        (Err(error), _) | (_, Err(error)) => judge(error),
    }
}

fn new_identity() -> String {
    format!("{:032x}", fastrand::u128(..))
}

/// The file and what SQLite keeps beside it.
pub(super) const FILES: [&str; 3] = ["", "-wal", "-shm"];

/// Renames the file and its `parts`, by the endings of their names, saying `why`; returns the new name.
pub(super) fn set_aside(path: &Path, why: &str, parts: &[&str]) -> Result<PathBuf, JournalError> {
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ").to_string();
    let aside = beside(path, &format!(".{why}-{stamp}"));
    for suffix in parts {
        let from = beside(path, suffix);
        let to = beside(&aside, suffix);
        match fs::rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io_error("set aside", &from)(error));
            }
            _ => {}
        }
    }
    Ok(aside)
}
