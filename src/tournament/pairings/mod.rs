//! The pairings of a round, from a table (CSV) or from the federation's tournament report file (TRF16, TRF26).

mod check;
mod csv;
mod encoding;
pub mod mistake;
mod trf;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{files::plain, game::Period};
pub(super) use check::as_compared;
pub use mistake::{Mistake, MistakeKind};

/// A player as the tags of PGN name one.
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
    /// Team, in a tournament of teams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
}

/// A game of the round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// White.
    pub white: Player,
    /// Black.
    pub black: Player,
    /// The result that somebody entered by hand, as boards have theirs: `1-0`, `+/-`, `0-0`. It counts where no board has the
    /// game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// FEN of the position with which the game begins, if the pairings say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
}

impl Pairing {
    /// The names of White and Black.
    #[must_use]
    pub fn players(&self) -> [String; 2] {
        [self.white.name.clone(), self.black.name.clone()]
    }
}

/// The pairings of one round, as a file has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairings {
    /// Name of the tournament, where the file has it.
    pub name: Option<String>,
    /// The place of the tournament.
    pub site: Option<String>,
    /// Periods of the time control, where the file has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periods: Vec<Period>,
    /// The games by board, from the first; none for a board without a game.
    pub boards: Vec<Option<Pairing>>,
}

/// The pairings that were read for one round, and what is wrong with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The pairings, as far as they can be read.
    pub pairings: Pairings,
    /// Mistakes. Pairings with a mistake are not used.
    pub wrong: Vec<Mistake>,
    /// Remarks on what may be right.
    pub noted: Vec<Mistake>,
}

/// Why a file of pairings cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PairingsError {
    /// The file cannot be read.
    #[error("cannot read the pairings {path}: {reason}; name a CSV or TRF file that this user may read")]
    Unreadable { path: String, reason: String },
    /// Nothing says which games are of the round.
    #[error(
        "no game of round {0} is in the pairings; a table (CSV) says in its column `round` which of its games are of that round"
    )]
    NoRound(u32),
    /// The file has these mistakes.
    #[error("{}", listed(.0))]
    Wrong(Vec<Mistake>),
}

fn listed(mistakes: &[Mistake]) -> String {
    let lines: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
    lines.join("\n")
}

/// The highest number of a board, more than any hall has.
const MAX_BOARDS: usize = 2_000;
/// How many mistakes of one text are told: a text of another kind has one in every line.
const MOST_MISTAKES: usize = 50;

impl Pairings {
    /// Reads the pairings of `round` (from 1) from `text` and looks for all mistakes. The text is TRF if a line
    /// begins as that format's lines of players do, and else a table with a line of column names. `boards` is the
    /// number of boards, if known.
    #[must_use]
    pub fn check(text: &str, round: u32, boards: Option<usize>) -> Checked {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mut wrong, mut noted, mut pairings) = (Vec::new(), Vec::new(), Self::default());
        let seated = if is_trf(text) {
            (pairings.name, pairings.site) = trf::tournament(text);
            pairings.periods = trf::periods(text);
            trf::read(text, round, &mut wrong)
        } else {
            csv::read(text, round, &mut wrong)
        };
        check::players(&seated, &mut wrong);
        if let Some(boards) = boards {
            noted.extend(check::boards(&seated, boards, &mut wrong));
        }
        pairings.boards = check::by_board(seated, &mut wrong);
        if wrong.is_empty() && pairings.boards.is_empty() {
            wrong.push(Mistake::of_all(MistakeKind::NoGames { round }));
        }
        wrong.sort_by_key(|mistake| mistake.line);
        wrong.truncate(MOST_MISTAKES);
        Checked {
            pairings,
            wrong,
            noted,
        }
    }

    /// The game with this number, from 1.
    #[must_use]
    pub fn game(&self, number: usize) -> Option<&Pairing> {
        self.boards.get(number.checked_sub(1)?)?.as_ref()
    }

    /// The pairings of `round` from `text`, see [`Self::check`].
    ///
    /// # Errors
    /// All mistakes.
    pub fn parse(text: &str, round: u32) -> Result<Self, PairingsError> {
        Self::fit(text, round, None)
    }

    /// True where `text` says of its games which round they are of.
    #[must_use]
    pub fn has_rounds(text: &str) -> bool {
        is_trf(text) || !csv::rounds(text).is_empty()
    }

    /// The pairings of `round` from a `text` that says of its games which round they are of; `boards` is the number of
    /// boards.
    ///
    /// # Errors
    /// All mistakes, or that no game says that it is of the round.
    pub fn of_round(text: &str, round: u32, boards: usize) -> Result<Self, PairingsError> {
        if !is_trf(text) && !csv::rounds(text).contains(&round) {
            return Err(PairingsError::NoRound(round));
        }
        Self::fit(text, round, Some(boards))
    }

    fn fit(text: &str, round: u32, boards: Option<usize>) -> Result<Self, PairingsError> {
        let checked = Self::check(text, round, boards);
        if checked.wrong.is_empty() {
            Ok(checked.pairings)
        } else {
            Err(PairingsError::Wrong(checked.wrong))
        }
    }

    /// Reads as [`Self::parse`] a file in UTF-8, Windows-1251 or Latin-1; `boards` is the number of boards, if known.
    ///
    /// # Errors
    /// All mistakes, or that the file cannot be read.
    pub fn load(path: &Path, round: u32, boards: Option<usize>) -> Result<Self, PairingsError> {
        Self::fit(&Self::text(path)?, round, boards)
    }

    /// The text of a file in UTF-8, Windows-1251 or Latin-1.
    ///
    /// # Errors
    /// That the file cannot be read.
    pub fn text(path: &Path) -> Result<String, PairingsError> {
        let bytes = plain::read(path).map_err(|error| PairingsError::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        Ok(encoding::text_of(bytes))
    }
}

/// True for a tournament report file.
fn is_trf(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("001 "))
}

/// The text of a field, none if it is blank.
fn filled(text: &str) -> Option<String> {
    let text = text.trim();
    // A tag is one line.
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
        let pairings = Pairings::load(&path, 1, None).unwrap();
        assert_eq!(pairings.boards[0].as_ref().unwrap().white.name, "Müller");
    }

    #[test]
    fn a_round_without_games_is_told() {
        let error = Pairings::parse("round,board,white,black\n1,1,A,B\n", 2).unwrap_err();
        assert!(error.to_string().contains("round 2"), "{error}");
    }

    #[test]
    fn a_round_is_taken_from_a_text_that_names_its_games() {
        let text = "round,board,white,black\n1,1,A,B\n2,1,B,A\n,1,C,D\n";
        let of_round = |text: &str, round| Pairings::of_round(text, round, 1);
        let white = |round| of_round(text, round).unwrap_err().to_string();
        assert!(white(1).contains("line 4"), "a row of no round is one of each");
        let text = "\u{feff}Round;board;white;black\n1;1;A;B\n2;1;B;A\n";
        let second = of_round(text, 2).unwrap();
        assert_eq!(second.boards[0].as_ref().unwrap().white.name, "B");
        assert_eq!(of_round(text, 3), Err(PairingsError::NoRound(3)));
        assert!(Pairings::has_rounds(text));
        // Without the column nobody knows whether these are the games of before.
        let text = "board,white,black\n1,A,B\n";
        assert_eq!(of_round(text, 2), Err(PairingsError::NoRound(2)));
        assert!(!Pairings::has_rounds(text));
    }

    #[test]
    fn a_row_has_its_array_or_that_of_the_row_above() {
        let array = "bbqnrkrn/pppppppp/8/8/8/8/PPPPPPPP/BBQNRKRN w KQkq - 0 1";
        let text =
            format!("round,board,white,black,start\n1,1,A,B,{array}\n1,2,C,D,\n2,1,E,F,\n2,2,G,H,nonsense\n");
        let first = Pairings::parse(&text, 1).unwrap();
        let starts: Vec<_> = first
            .boards
            .iter()
            .flatten()
            .map(|game| game.start.as_deref())
            .collect();
        assert_eq!(starts, [Some(array), Some(array)]);
        let error = Pairings::parse(&text, 2).unwrap_err().to_string();
        assert!(
            error.starts_with("line 5: \"nonsense\" is no position"),
            "{error}"
        );
    }

    /// The mistakes of a table of round 1 in a hall of three boards: code, line and what to do.
    fn wrong(text: &str) -> Vec<(String, Option<usize>, String)> {
        let found = Pairings::check(text, 1, Some(3)).wrong;
        let code = |mistake: &Mistake| {
            let json = serde_json::to_value(mistake).unwrap();
            json["code"].as_str().unwrap().to_owned()
        };
        let told = |mistake: Mistake| (code(&mistake), mistake.line, mistake.message);
        found.into_iter().map(told).collect()
    }

    fn one(text: &str, code: &str, line: usize, help: &str) {
        let found = wrong(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].0.as_str(), found[0].1), (code, Some(line)), "{found:?}");
        assert!(found[0].2.contains(help), "{found:?}");
    }

    #[test]
    fn every_mistake_of_a_table_is_named_with_its_line() {
        let head = "board,white,white_elo,black,black_elo\n";
        assert_eq!(wrong(&format!("{head}1,A,2100,B,\n2,C,0,D,980\n")), []);
        let of = |rows: &str| format!("{head}1,A,2100,B,\n{rows}");
        one(&of("1,C,,D,\n"), "board_twice", 3, "line 2 has board 1");
        one(&of("2,C,,a,\n"), "player_twice", 3, "FIDE ids");
        one(&of("2,C,,c,\n"), "player_himself", 3, "both colours");
        one(&of("2,C,21OO,D,\n"), "rating_no_number", 3, "\"21OO\" of \"C\"");
        one(&of("2,C,21000,D,\n"), "rating_no_number", 3, "four digits");
        one(&of("7,C,,D,\n"), "board_unknown", 3, "there are 3");
        one(&of("2,2100,C,D,\n"), "column_shifted", 3, "\"white\"");
        one(&of("2,C,2100,1900,D\n"), "column_shifted", 3, "\"black\"");
        one(&of("2,Moss, M,2100,Tal, C\n"), "cells_too_many", 3, "in quotes");
        one(&of("two,C,,D,\n"), "board_no_number", 3, "\"two\"");
        one("board,white,blck,black\n", "column_unknown", 1, "\"blck\"");
        one("board,white\n", "column_missing", 1, "\"black\"");
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let text = "board,white,white_elo,black\n1,A,x,B\n1,C,,A\n\n9,2000,D,E\n";
        let found: Vec<_> = wrong(text)
            .into_iter()
            .map(|(code, line, _)| (code, line))
            .collect();
        let expected = [
            ("rating_no_number", 2),
            ("player_twice", 3),
            ("board_twice", 3),
            ("column_shifted", 5),
        ];
        assert_eq!(found, expected.map(|(code, line)| (code.to_owned(), Some(line))));
    }

    #[test]
    fn what_may_be_meant_so_is_no_mistake() {
        let named = "board,white,white_fide_id,black,black_fide_id\n";
        assert_eq!(
            wrong(&format!("{named}1,Lee,11,Kim,12\n2,Lee,13,Bye,\n3,X,,bye,\n")),
            []
        );
        // The tournament has more games than there are boards that tell moves.
        let text = "board,white,black\n1,A,B\n2,C,D\n3,E,F\n4,G,H\n5,I,J\n";
        let checked = Pairings::check(text, 1, Some(3));
        assert_eq!((checked.wrong.len(), checked.pairings.boards.len()), (0, 5));
        assert_eq!(
            checked.noted[0].what,
            MistakeKind::BoardsWithoutMoves { from: 4, to: 5 }
        );
    }

    #[test]
    fn a_text_of_another_kind_is_told_in_so_many_lines_and_no_more() {
        let text = format!("board,white,black\n{}", "x,A,B\n".repeat(10_000));
        assert_eq!(wrong(&text).len(), MOST_MISTAKES);
    }
}
