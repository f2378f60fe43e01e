//! Which board stands on which table, as it was found out in the hall: kept beside the journal, so that it outlives rounds
//! and the daemon.
//!
//! The order is a whole one: every board has a table. So boards are exchanged, and none can get lost.

use std::{collections::BTreeSet, io, path::Path};

use super::beside;

/// The file has the journal's name, and this.
const ENDING: &str = "tables";

/// Why an order of boards cannot be put in force.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum TablesWrong {
    #[error(
        "there is no board {0:?}; name each of {1} once, the board of the first table first, or none to have them as configured"
    )]
    Unknown(String, String),
    #[error("board {0} comes twice: each board stands on one table")]
    Twice(String),
    #[error("boards {0} are missing: each board stands on a table; add those that nobody uses at the end")]
    Missing(String),
}

/// Looks whether `asked` has each board of `present` once.
///
/// # Errors
/// With what is wrong.
pub fn check(present: &[String], asked: &[String]) -> Result<(), TablesWrong> {
    let mut seen = BTreeSet::new();
    for board in asked {
        if !present.contains(board) {
            return Err(TablesWrong::Unknown(board.clone(), present.join(", ")));
        }
        if !seen.insert(board) {
            return Err(TablesWrong::Twice(board.clone()));
        }
    }
    let missing: Vec<_> = present.iter().filter(|board| !seen.contains(board)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.into_iter().map(String::as_str).collect();
    Err(TablesWrong::Missing(names.join(", ")))
}

/// The boards that have another table in `next` than in `present`.
#[must_use]
pub fn moved<'a>(present: &[String], next: &'a [String]) -> Vec<&'a str> {
    let place = |board: &String| present.iter().position(|other| other == board);
    let moved = (0..).zip(next).filter(|(i, board)| place(board) != Some(*i));
    moved.map(|(_, board)| board.as_str()).collect()
}

/// The `configured` boards by table as `bound` has them; boards that came later follow. None where a bound board is not
/// configured any more: which boards stand on the tables after it, nobody knows.
#[must_use]
pub fn ordered(configured: &[String], bound: &[String]) -> Option<Vec<String>> {
    let all_there = bound.iter().all(|board| configured.contains(board));
    let later = configured.iter().filter(|board| !bound.contains(board));
    all_there.then(|| bound.iter().chain(later).cloned().collect())
}

/// What is kept beside the journal at `path`; none where the boards are as configured.
///
/// # Errors
/// When there is something that cannot be read.
pub fn kept(path: &Path) -> io::Result<Option<Vec<String>>> {
    let kept: Option<Vec<String>> = beside::read(path, ENDING)?;
    Ok(kept.filter(|bound| !bound.is_empty()))
}

/// Keeps `bound` beside the journal at `path`, on the disk before this returns; nothing in it for as configured.
///
/// # Errors
/// When it cannot be written; what was kept before still is.
pub fn keep(path: &Path, bound: &[String]) -> io::Result<()> {
    beside::write(path, ENDING, &bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn an_order_has_each_board_once() {
        let present = names("a b c");
        let wrong = |asked| check(&present, &names(asked)).unwrap_err();
        assert_eq!(check(&present, &names("c a b")), Ok(()));
        assert_eq!(wrong("c a x"), TablesWrong::Unknown("x".into(), "a, b, c".into()));
        assert_eq!(wrong("c a c"), TablesWrong::Twice("c".into()));
        assert_eq!(wrong("c"), TablesWrong::Missing("a, b".into()));
    }

    #[test]
    fn only_boards_that_get_another_table_are_moved() {
        let present = names("a b c d");
        assert_eq!(moved(&present, &present), [""; 0]);
        assert_eq!(moved(&present, &names("a d c b")), ["d", "b"]);
    }

    #[test]
    fn a_board_that_came_later_follows_and_one_that_is_gone_makes_the_order_void() {
        let configured = names("a b c d");
        assert_eq!(ordered(&configured, &names("c a b")), Some(names("c a b d")));
        assert_eq!(ordered(&configured, &[]), Some(configured.clone()));
        assert_eq!(ordered(&configured, &names("c x a b")), None);
    }

    #[test]
    fn what_is_kept_is_read_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.sqlite");
        assert_eq!(kept(&journal).unwrap(), None);
        keep(&journal, &names("b a")).unwrap();
        assert_eq!(kept(&journal).unwrap(), Some(names("b a")));
        keep(&journal, &[]).unwrap();
        assert_eq!(kept(&journal).unwrap(), None);
        std::fs::write(folder.path().join("journal.sqlite.tables"), "{").unwrap();
        assert!(kept(&journal).is_err());
    }
}
