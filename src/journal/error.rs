//! Why a journal cannot be used.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rustix::io::Errno;

use super::store::TABLES_VERSION;

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
    #[error("cannot {act} {path}: {source}{}", remedy_of_disk(source))]
    Io {
        act: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// SQLite refuses.
    #[error("cannot open the journal {path}: {source}{}", remedy(source))]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

impl JournalError {
    /// The same where SQLite says no more than that it cannot open a file. `refusal` is why the file system makes none beside `path`.
    pub(super) fn with_cause(
        self,
        path: &Path,
        refusal: impl FnOnce(&Path) -> Option<std::io::Error>,
    ) -> Self {
        let cannot_open =
            |source: &rusqlite::Error| source.sqlite_error_code() == Some(ErrorCode::CannotOpen);
        let is_vague = matches!(&self, Self::Sqlite { source, .. } if cannot_open(source));
        let cause = is_vague.then(|| refusal(path)).flatten();
        let cause = cause.map(io_error("make a file beside", path));
        cause
            .filter(|cause| cause.is_of_the_disk() || cause.is_of_descriptors())
            .unwrap_or(self)
    }

    /// True when no more files can be open.
    pub(super) fn is_of_descriptors(&self) -> bool {
        matches!(self, Self::Io { source, .. } if lacks_descriptors(source))
    }

    /// True when the file system takes no writes, because it is read-only, full or broken.
    pub(super) fn is_of_the_disk(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
                is_broken(source) || matches!(source.kind(), ReadOnlyFilesystem | StorageFull | QuotaExceeded)
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
    pub(super) fn is_of_another(&self) -> bool {
        matches!(
            self,
            Self::Locked { .. } | Self::Running { .. } | Self::Newer { .. } | Self::Foreign { .. }
        )
    }
}

/// What a person can do about it.
fn remedy(error: &rusqlite::Error) -> &'static str {
    use ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, PermissionDenied};
    match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked) => {
            "; another program works on the file (an `sqlite3`, a copy for a backup): `fuser -v` with the path names it; close it, then start the daemon again"
        }
        Some(CannotOpen | PermissionDenied) => {
            "; see who owns the file and its folder: the user that runs the daemon must be able to read and write there"
        }
        _ => "",
    }
}

/// True when SQLite says that the file itself is at fault.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

fn remedy_of_disk(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    match error.kind() {
        QuotaExceeded => {
            "; the user that runs the daemon has used up its quota of space or of files there: make room, or raise it"
        }
        StorageFull => "; make room",
        _ if lacks_descriptors(error) => {
            "; no more files can be open: raise the limit of the daemon (`LimitNOFILE=` in systemd) or of the machine (`fs.file-max`)"
        }
        _ => "",
    }
}

fn lacks_descriptors(error: &std::io::Error) -> bool {
    let lacks = [Errno::MFILE, Errno::NFILE].map(|errno| Some(errno.raw_os_error()));
    lacks.contains(&error.raw_os_error())
}

pub(super) fn io_error(act: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { act, path, source }
}

/// True when the disk, or the server of a network folder, does not do its work.
pub(super) fn is_broken(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{StaleNetworkFileHandle, TimedOut};
    let is_of_disk = error.raw_os_error() == Some(Errno::IO.raw_os_error());
    is_of_disk || matches!(error.kind(), StaleNetworkFileHandle | TimedOut)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test panics
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_does_not_work_is_no_mistake_of_a_person() {
        let of = |errno: Errno| is_broken(&errno.into());
        assert!(of(Errno::IO) && of(Errno::STALE) && of(Errno::TIMEDOUT));
        assert!(!of(Errno::ACCESS) && !of(Errno::NOENT) && !of(Errno::LOOP));
        let locked = io_error("open", Path::new("j"))(Errno::STALE.into());
        assert!(locked.is_of_the_disk() && !locked.is_of_another());
    }

    #[test]
    fn what_keeps_a_file_from_being_made_is_said_with_the_remedy() {
        let said = |errno: Errno| io_error("make a file beside", Path::new("j"))(errno.into()).to_string();
        assert!(said(Errno::DQUOT).contains("quota of space or of files"));
        assert!(said(Errno::MFILE).contains("LimitNOFILE"));
        assert!(said(Errno::ACCESS).ends_with("(os error 13)"));
        let lacking = io_error("open", Path::new("j"))(Errno::NFILE.into());
        assert!(lacking.is_of_descriptors() && !lacking.is_of_the_disk());
        let path = Path::new("/no/such/folder/j");
        let vague = || JournalError::Sqlite {
            path: path.to_owned(),
            source: rusqlite::Connection::open(path).unwrap_err(),
        };
        let with = |refusal: Option<Errno>| vague().with_cause(path, |_| refusal.map(Into::into));
        assert!(with(Some(Errno::DQUOT)).is_of_the_disk());
        for refusal in [None, Some(Errno::ACCESS)] {
            assert!(
                matches!(with(refusal), JournalError::Sqlite { .. }),
                "the owner of the folder counts"
            );
        }
    }
}
