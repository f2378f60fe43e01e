//! Opening the journal: the lock, the check, and what is done with a damaged file.
//!
//! A damaged file is renamed. A fresh file begins with what could still be read of it: the events that nobody has
//! acknowledged. The numbers in the lost part are not known, so every board goes on in a fresh range. The same holds
//! when the journal is gone while the mark beside it still tells that there was one.
//!
//! Where nothing can be written, the journal is opened for reading, and new events wait in memory.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{
    batch::{Batch, NewRow},
    entry::{JournalSettings, Notice, OutboxRow, Resume},
    jump::Jumps,
    mark::Mark,
    numbers::fresh_range,
    place::{self, beside},
    store::{self, Store, TABLES_VERSION},
};
use crate::event::{Event, notice};

/// A process that was killed a moment ago may still hold the lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Why the journal cannot be used. A damaged file is no reason, because a fresh one replaces it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum JournalError {
    /// Another process has the journal open.
    #[error(
        "the journal {path} is in use by process {pid}: two daemons cannot share one; give each its own `journal` path"
    )]
    Locked { path: PathBuf, pid: String },
    /// A daemon has it that is about to lose it.
    #[error(
        "the daemon is running and has the journal {path} (process {pid}): stop it (`sudo systemctl stop dgt2mqtt`), restore, and start it again (`sudo systemctl start dgt2mqtt`)"
    )]
    Running { path: PathBuf, pid: String },
    /// A later version of the program wrote it.
    #[error(
        "the journal {path} has tables of version {found}, this program knows {TABLES_VERSION}: run the newer program, or move the file away"
    )]
    Newer { path: PathBuf, found: i64 },
    /// The file is an SQLite file of another program.
    #[error("{path} is an SQLite file but no journal of this program: give another path")]
    Foreign { path: PathBuf },
    /// The file is damaged.
    #[error("{path} is a damaged journal ({damage}): take another backup")]
    Damaged { path: PathBuf, damage: String },
    /// The file system refuses.
    #[error("cannot {act} {path}: {source}")]
    Io {
        act: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// SQLite refuses.
    #[error("cannot open the journal {path}: {source}")]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

impl JournalError {
    /// True when the file system takes no writes, because it is read-only, full or broken.
    fn is_of_the_disk(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
                matches!(source.kind(), ReadOnlyFilesystem | StorageFull | QuotaExceeded)
            }
            Self::Sqlite { source, .. } => {
                use ErrorCode::{DiskFull, ReadOnly, SystemIoFailure};
                let code = source.sqlite_error_code();
                matches!(code, Some(ReadOnly | SystemIoFailure | DiskFull))
            }
            _ => false,
        }
    }

    /// True when another daemon has the journal, or another program wrote it.
    fn is_of_another(&self) -> bool {
        matches!(
            self,
            Self::Locked { .. } | Self::Running { .. } | Self::Newer { .. } | Self::Foreign { .. }
        )
    }
}

/// A journal ready for its thread.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) store: Store,
    /// The file of ceilings; none where nothing can be written.
    pub(crate) mark: Option<Mark>,
    /// What tells this journal from any other.
    pub(crate) identity: String,
    pub(crate) resumes: BTreeMap<String, Resume>,
    /// The number after which boards go on that the journal does not know.
    pub(crate) seq_base: u64,
    /// What boards have to tell of their numbers before anything else.
    pub(crate) jumps: Jumps,
    /// What the opening found.
    pub(crate) notices: Vec<Notice>,
    /// The lock, held as long as the journal is open; none where nothing can be written.
    pub(crate) lock: Option<File>,
}

/// Opens, checks and if need be replaces the journal.
pub(crate) fn open(settings: &JournalSettings, gateway: &str) -> Result<Ready, JournalError> {
    if place::is_read_only(&settings.path) {
        open_read_only(&settings.path, gateway)
    } else {
        open_writable(&settings.path, gateway).or_else(|error| {
            // On a full disk SQLite may say no more than that it cannot make a file.
            let is_full = !error.is_of_another() && place::is_full(&settings.path);
            if is_full || error.is_of_the_disk() {
                open_read_only(&settings.path, gateway)
            } else {
                Err(error)
            }
        })
    }
}

/// Opens the journal for reading, on a file system that takes no writes or has no room.
fn open_read_only(path: &Path, gateway: &str) -> Result<Ready, JournalError> {
    let sqlite = |source| JournalError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let store = Store::open_read_only(path, gateway).map_err(sqlite)?;
    let mut resumes = store.resumes().map_err(sqlite)?;
    let seq_base = store.seq_base().map_err(sqlite)?;
    let mut jumps = store.jumps().map_err(sqlite)?;
    let ceilings = Mark::read(&beside(path, ".mark"));
    let notices = raise(&ceilings, &mut resumes, seq_base, &mut jumps);
    Ok(Ready {
        resumes,
        identity: store.identity().map_err(sqlite)?.unwrap_or_else(new_identity),
        seq_base,
        store,
        mark: None,
        jumps,
        notices,
        lock: None,
    })
}

pub(super) fn open_writable(path: &Path, gateway: &str) -> Result<Ready, JournalError> {
    let sqlite = |source| JournalError::Sqlite {
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        place::make_folder(folder).map_err(io_error("create the folder", folder))?;
    }
    let lock = lock(path)?;
    let mark_path = beside(path, ".mark");
    let mut notices = Vec::new();
    if mark_path.exists() && fs::metadata(path).map_or(0, |m| m.len()) == 0 {
        let text = format!(
            "the journal {} is gone; a new one begins and every board's numbers go on far above the old ones",
            path.display()
        );
        notices.push(Notice::new(notice::JOURNAL_MISSING, text));
    }
    let (mut store, salvage) = sound_or_fresh(path, &mut notices)?;
    store.configure().map_err(sqlite)?;
    if store.tables_version().map_err(sqlite)? == 0 {
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
    let mut mark = Mark::open(&mark_path).map_err(io_error("open", &mark_path))?;
    let mut resumes = store.resumes().map_err(sqlite)?;
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
    let raised = raise(mark.ceilings(), &mut resumes, seq_base, &mut jumps);
    // What is noted twice is told once. What is forgotten is told by nobody.
    store.set_jumps(&jumps).map_err(sqlite)?;
    store.forget_restored().map_err(sqlite)?;
    store.set_gateway(gateway).map_err(sqlite)?;
    if !raised.is_empty() {
        let boards = raised.iter().filter_map(|notice| notice.board.clone());
        let snapshots = boards.filter_map(|board| {
            let last_seq = resumes.get(&board)?.last_seq;
            Some((board, (last_seq, None)))
        });
        let batch = Batch {
            snapshots: snapshots.collect(),
            ..Batch::default()
        };
        store.write(&batch, super::wall_ms()).map_err(sqlite)?;
    }
    notices.extend(raised);
    if let Err(error) = mark.clear() {
        tracing::warn!(%error, "cannot clear the journal's mark");
    }
    Ok(Ready {
        store,
        mark: Some(mark),
        identity,
        resumes,
        seq_base,
        jumps,
        notices,
        lock: Some(lock),
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

/// Makes boards go on above the numbers that a former process released without the disk.
fn raise(
    ceilings: &BTreeMap<String, u64>,
    resumes: &mut BTreeMap<String, Resume>,
    seq_base: u64,
    jumps: &mut Jumps,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (board, ceiling) in ceilings {
        let others = Resume {
            last_seq: seq_base,
            ..Resume::default()
        };
        let resume = resumes.entry(board.clone()).or_insert(others);
        let last_seq = resume.last_seq;
        if last_seq < *ceiling {
            let text = format!(
                "the last run ended while the disk was full: the last events of board {board} were sent or lost without being kept; its numbers jump from {last_seq} to {}",
                ceiling + 1
            );
            let notice = Notice {
                board: Some(board.clone()),
                ..Notice::new(notice::EVENTS_LOST, text)
            };
            jumps.note(board, [last_seq, *ceiling], &notice);
            notices.push(notice);
            resume.last_seq = *ceiling;
        }
    }
    notices
}

fn new_identity() -> String {
    format!("{:032x}", fastrand::u128(..))
}

/// What can still be read of a damaged file.
#[derive(Debug, Default)]
struct Salvage {
    identity: Option<String>,
    highest: u64,
    rows: Vec<NewRow>,
}

impl Salvage {
    fn from(path: &Path) -> Self {
        let mut salvage = Self::default();
        if let Err(error) = salvage.read(path) {
            tracing::warn!(%error, "the damaged journal could be read in part only");
        }
        salvage
    }

    /// Reads row by row, so that all rows before the damage count.
    fn read(&mut self, path: &Path) -> rusqlite::Result<()> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let sql = "SELECT value FROM meta WHERE key = 'journal'";
        // Without it the fresh file is another journal.
        self.identity = connection.query_row(sql, [], |row| row.get(0)).ok();
        let mut boards = connection.prepare("SELECT last_seq FROM snapshots")?;
        let mut rows = boards.query([])?;
        while let Some(row) = rows.next()? {
            self.highest = self.highest.max(row.get(0)?);
        }
        let mut events = connection.prepare("SELECT n, json, created_ms, acked FROM events ORDER BY n")?;
        let mut rows = events.query([])?;
        while let Some(row) = rows.next()? {
            let json: String = row.get(1)?;
            // A row without a readable event is part of the damage.
            let Ok(event) = serde_json::from_str::<Event>(&json) else {
                continue;
            };
            self.highest = self.highest.max(event.seq);
            if row.get::<_, bool>(3)? {
                continue;
            }
            self.rows.push(NewRow {
                row: OutboxRow {
                    n: row.get(0)?,
                    board: event.board,
                    seq: event.seq,
                    kind: event.body.type_name().to_owned(),
                    json: json.into(),
                    is_secured: true,
                },
                id: event.id,
                game: event.game,
                created_ms: row.get(2)?,
            });
        }
        Ok(())
    }

    /// Goes on in the tables of a fresh file, with these events and with numbers above all that were used, because the
    /// journal before was `lost`.
    fn put_into(self, tables: &Connection, lost: &Notice) -> rusqlite::Result<()> {
        let base = fresh_range(self.highest);
        if let Some(identity) = &self.identity {
            store::set_identity(tables, identity)?;
        }
        store::set_seq_base(tables, base)?;
        let batch = self.into_batch(base);
        let mut jumps = Jumps::default();
        jumps.note_others([base; 2], lost);
        store::set_jumps(tables, &jumps)?;
        batch.write_events(tables)?;
        batch.write_snapshots(tables, super::wall_ms())
    }

    fn into_batch(mut self, base: u64) -> Batch {
        let mut seen = std::collections::BTreeSet::new();
        self.rows
            .retain(|new| seen.insert((new.row.board.clone(), new.row.seq)));
        let boards: std::collections::BTreeSet<_> =
            self.rows.iter().map(|new| new.row.board.clone()).collect();
        Batch {
            snapshots: boards.into_iter().map(|board| (board, (base, None))).collect(),
            rows: self.rows,
            ..Batch::default()
        }
    }
}

/// True when SQLite says that the file itself is at fault.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
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

/// Takes the lock and leaves the process id in it.
pub(super) fn lock(path: &Path) -> Result<File, JournalError> {
    let lock_path = beside(path, ".lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(place::NO_LINK)
        .open(&lock_path)
        .map_err(io_error("open", &lock_path))?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    let mut outcome = file.try_lock();
    while matches!(outcome, Err(TryLockError::WouldBlock)) && Instant::now() < deadline {
        std::thread::sleep(LOCK_PATIENCE / 20);
        outcome = file.try_lock();
    }
    match outcome {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // The process id only helps the message: without it the refusal is as good.
            let _ = file.read_to_string(&mut pid);
            return Err(JournalError::Locked {
                path: path.to_owned(),
                pid: pid.trim().to_owned(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(io_error("lock", &lock_path)(error)),
    }
    // The process id helps whoever is refused. A full disk must not keep the daemon from starting.
    if let Err(error) = leave_number(&mut file) {
        tracing::debug!(%error, "cannot leave the process id in the lock");
    }
    Ok(file)
}

fn leave_number(file: &mut File) -> std::io::Result<()> {
    let data = file.metadata()?;
    if !data.is_file() || data.nlink() != 1 {
        return Err(std::io::Error::other(
            "it has another name, whose content is not ours",
        ));
    }
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

pub(super) fn io_error(act: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { act, path, source }
}
