//! The round that a command put in force. It is kept beside the journal, so that it outlives the daemon.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    beside,
    entered::EnteredResults,
    pairings::{Pairings, PairingsError},
};

/// The ending of the file's name, behind that of the journal.
const ENDING: &str = "round";

/// A round in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InForce {
    /// Number of the round.
    pub round: u32,
    /// The pairings; none where the configuration has them.
    pub pairings: Option<Pairings>,
    /// The text that the pairings are from, where it says of its games which round they are of: a later round begins
    /// from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// True where the pairings are from the file that the configuration names.
    #[serde(default)]
    pub is_from_file: bool,
    /// FEN of the position with which all games of the round begin, if that is not the initial array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Id of the round on lichess, if it differs from the configured one.
    pub lichess: Option<String>,
    /// Results that were entered for games of which no board tells.
    #[serde(default, skip_serializing_if = "EnteredResults::is_empty")]
    pub results: EnteredResults,
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

    /// Reads the pairings again from the `file` that they are from, which may have been corrected; `boards` is their
    /// number. True when they are others now.
    ///
    /// # Errors
    /// When the file has no such round any more, or mistakes in it. The pairings are then as they were.
    pub fn read_again(&mut self, file: &Path, boards: usize) -> Result<bool, PairingsError> {
        let pairings = Some(Pairings::of_round(&Pairings::text(file)?, self.round, boards)?);
        let is_new = self.pairings != pairings;
        self.pairings = pairings;
        Ok(is_new)
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
            since_ms: 7,
            ..InForce::default()
        };
        in_force.keep(&journal).unwrap();
        assert_eq!(InForce::kept(&journal).unwrap(), Some(in_force));
        std::fs::write(folder.path().join("journal.sqlite.round"), "{").unwrap();
        assert!(InForce::kept(&journal).is_err());
    }
}
