//! The order of the boards: which board stands on which table, as a person found it out in the hall. It is kept beside
//! the journal, so that it outlives rounds and the daemon.
//!
//! The order has every board, each on one table. A change exchanges boards, so none can get lost.

use std::{collections::BTreeSet, io, path::Path};

use super::beside;

/// The ending of the file's name, behind that of the journal.
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

/// Checks that `asked` has each board of `present` once.
///
/// # Errors
/// What is wrong with the order.
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

/// The boards that stand on another table in `next` than in `present`.
#[must_use]
pub fn moved<'a>(present: &[String], next: &'a [String]) -> Vec<&'a str> {
    let place = |board: &String| present.iter().position(|other| other == board);
    let moved = (0..).zip(next).filter(|(i, board)| place(board) != Some(*i));
    moved.map(|(_, board)| board.as_str()).collect()
}

/// The `configured` boards by table in the order of `bound`, with later boards behind. None where a bound board is not
/// configured any more: nobody knows which boards stand on the tables after it.
#[must_use]
pub fn ordered(configured: &[String], bound: &[String]) -> Option<Vec<String>> {
    let all_there = bound.iter().all(|board| configured.contains(board));
    let later = configured.iter().filter(|board| !bound.contains(board));
    all_there.then(|| bound.iter().chain(later).cloned().collect())
}

/// The order kept beside the journal at `path`; none where it is the configured one.
///
/// # Errors
/// When the file cannot be read.
pub fn kept(path: &Path) -> io::Result<Option<Vec<String>>> {
    let kept: Option<Vec<String>> = beside::read(path, ENDING)?;
    Ok(kept.filter(|bound| !bound.is_empty()))
}

/// Keeps `bound` beside the journal at `path`, on the disk before this returns. An empty list stands for the configured
/// order.
///
/// # Errors
/// When the file cannot be written. The former order is then still kept.
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
