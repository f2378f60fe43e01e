//! The round that a command put in force. It is kept beside the journal, so that it outlives the daemon.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

use super::{beside, pairings::Pairings};

/// The ending of the file's name, behind that of the journal.
const ENDING: &str = "round";

/// A round in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InForce {
    /// Number of the round.
    pub round: u32,
    /// The pairings; none where the configuration has them.
    pub pairings: Option<Pairings>,
    /// Id of the round on lichess, if it differs from the configured one.
    pub lichess: Option<String>,
    /// When it began, as Unix time in milliseconds.
    pub since_ms: i64,
    /// True once it was closed, so that the next may follow.
    pub closed: bool,
}

impl InForce {
    /// The round kept beside the journal at `path`; none where none was ever put in force.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn kept(path: &Path) -> io::Result<Option<Self>> {
        beside::read(path, ENDING)
    }

    /// Keeps the round beside the journal at `path`. When this returns, a loss of power does not undo it.
    ///
    /// # Errors
    /// When the file cannot be written. The former round is then still kept.
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
