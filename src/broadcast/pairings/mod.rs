//! Who plays whom: from a table (CSV) or from the federation's tournament report file (TRF16).

mod csv;
mod trf;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::plain;

/// A player as the tags name one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Player {
    /// `Last, First`.
    pub name: String,
    /// `GM`, `WIM`, ...
    pub title: Option<String>,
    /// Rating.
    pub elo: Option<String>,
    /// Number in FIDE's list.
    pub fide_id: Option<String>,
    /// Federation, three letters.
    pub federation: Option<String>,
}

/// A game to be played.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// White.
    pub white: Player,
    /// Black.
    pub black: Player,
}

/// What a file of pairings says of one round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairings {
    /// Name of the tournament, where the file has it.
    pub name: Option<String>,
    /// Where it is played.
    pub site: Option<String>,
    /// By board, from the first; none for a board without a game.
    pub boards: Vec<Option<Pairing>>,
}

/// Why a file of pairings cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PairingsError {
    /// It cannot be read.
    #[error("cannot read the pairings {path}: {reason}; name a CSV or TRF16 file that this user may read")]
    Unreadable { path: String, reason: String },
    /// A line that means nothing.
    #[error("line {line}: {what}; {help}")]
    Line {
        line: usize,
        what: String,
        help: &'static str,
    },
    /// Nobody plays.
    #[error("no game of round {0} is in it; is that the round, and is it paired?")]
    NoGames(u32),
}

/// More boards than any hall has.
const MAX_BOARDS: usize = 2_000;

impl Pairings {
    /// The pairings of `round` (from 1) from `text`: TRF16 where a line begins as its lines of players
    /// do, else a table with a line of names of columns.
    ///
    /// # Errors
    /// When a line makes no sense, or the round has no game.
    pub fn parse(text: &str, round: u32) -> Result<Self, PairingsError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let pairings = if text.lines().any(|line| line.starts_with("001 ")) {
            trf::parse(text, round)?
        } else {
            csv::parse(text, round)?
        };
        if pairings.boards.iter().all(Option::is_none) {
            return Err(PairingsError::NoGames(round));
        }
        Ok(pairings)
    }

    /// As [`Self::parse`], from a file, in UTF-8 or Latin-1.
    ///
    /// # Errors
    /// As there, and when the file cannot be read.
    pub fn load(path: &Path, round: u32) -> Result<Self, PairingsError> {
        let bytes = plain::read(path).map_err(|error| PairingsError::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        // Pairing programs of an older day write Latin-1, whose bytes are the first code points.
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect());
        Self::parse(&text, round)
    }
}

/// A field that says something.
fn filled(text: &str) -> Option<String> {
    let text = text.trim();
    // Tags are one line each.
    (!text.is_empty()).then(|| text.chars().filter(|c| !c.is_control()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_1_is_understood() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pairings.csv");
        std::fs::write(&path, b"board,white,black\n1,M\xfcller,Sm\xe5\n").unwrap();
        let pairings = Pairings::load(&path, 1).unwrap();
        assert_eq!(pairings.boards[0].as_ref().unwrap().white.name, "Müller");
    }

    #[test]
    fn a_round_without_games_is_told() {
        let error = Pairings::parse("round,board,white,black\n1,1,A,B\n", 2).unwrap_err();
        assert!(error.to_string().contains("round 2"), "{error}");
    }
}
