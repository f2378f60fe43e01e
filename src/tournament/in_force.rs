//! The round that was put in force by a command: kept beside the journal, so that it outlives the daemon.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

use super::{beside, pairings::Pairings};

/// The file has the journal's name, and this.
const ENDING: &str = "round";

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
    /// What is kept beside the journal at `path`; none where nothing was ever put in force.
    ///
    /// # Errors
    /// When there is something that cannot be read.
    pub fn kept(path: &Path) -> io::Result<Option<Self>> {
        beside::read(path, ENDING)
    }

    /// Keeps it beside the journal at `path`: when this returns, a loss of power changes nothing of it.
    ///
    /// # Errors
    /// When it cannot be written; what was kept before still is.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        beside::write(path, ENDING, self)
    }
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
