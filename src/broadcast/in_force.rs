//! The round that was put in force by a command: kept beside the journal, so that it outlives the daemon.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{note, pairings::Pairings, shared};

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InForce {
    /// Number of the round.
    pub round: u32,
    /// Who plays whom; none where the configuration says it.
    pub pairings: Option<Pairings>,
    /// Id of the round on lichess, where another than the configured one.
    pub lichess: Option<String>,
    /// When it began, as Unix time in milliseconds.
    pub since_ms: i64,
    /// It was closed: the next may follow.
    pub closed: bool,
}

impl InForce {
    /// The file beside the journal at `path`.
    fn place(path: &Path) -> Option<(PathBuf, String)> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let name = path.file_name()?.to_str()?;
        Some((
            folder.map_or_else(|| PathBuf::from("."), Path::to_owned),
            format!("{name}.round"),
        ))
    }

    /// What is kept beside the journal at `path`; none where nothing was ever put in force.
    ///
    /// # Errors
    /// When there is something that cannot be read.
    pub fn kept(path: &Path) -> io::Result<Option<Self>> {
        let Some((folder, name)) = Self::place(path) else {
            return Ok(None);
        };
        match shared::read(&folder, &name) {
            Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps it beside the journal at `path`: when this returns, a loss of power changes nothing of it.
    ///
    /// # Errors
    /// When it cannot be written; what was kept before still is.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = Self::place(path).ok_or(io::ErrorKind::InvalidFilename)?;
        shared::replace(&folder, &name, &serde_json::to_string(self)?)?;
        File::open(&folder)?.sync_all()
    }
}

/// When `round` was begun by what the folder of a broadcast says, as Unix time in milliseconds.
#[must_use]
pub fn began_ms(folder: &Path, round: u32) -> Option<i64> {
    Some(note::read_all(folder).get(&round)?.tournament.since_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_what_is_damaged_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.sqlite");
        assert_eq!(InForce::kept(&journal).unwrap(), None);
        let in_force = InForce {
            round: 4,
            pairings: Pairings::parse("board,white,black\n1,A,B\n", 4).ok(),
            lichess: None,
            since_ms: 7,
            closed: false,
        };
        in_force.keep(&journal).unwrap();
        assert_eq!(InForce::kept(&journal).unwrap(), Some(in_force));
        std::fs::write(folder.path().join("journal.sqlite.round"), "{").unwrap();
        assert!(InForce::kept(&journal).is_err());
    }
}
