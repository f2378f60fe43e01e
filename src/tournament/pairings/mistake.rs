//! The mistakes that pairings can have, each with its line and with what to do.

use serde::Serialize;

/// A mistake, or something worth a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// The line, from 1; none where the mistake is of the whole text.
    pub line: Option<usize>,
    /// The kind of the mistake.
    #[serde(flatten)]
    pub what: MistakeKind,
    /// The words for a person, with what to do.
    pub message: String,
}

/// The kind of a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum MistakeKind {
    /// A column has an unknown name.
    #[error("there is no column {column:?}; {COLUMNS_HELP}")]
    ColumnUnknown { column: String },
    /// A required column is missing.
    #[error("the column {column:?} is missing; {COLUMNS_HELP}")]
    ColumnMissing { column: String },
    /// The number of a board is not a number.
    #[error("the board {board:?} is no number from 1 to {most}; write the number of the table")]
    BoardNoNumber { board: String, most: usize },
    /// Two rows are for one board.
    #[error("line {first} has board {board} already; each board has one game of the round")]
    BoardTwice { board: usize, first: usize },
    /// The board does not exist.
    #[error("board {board} does not exist: there are {boards}; is the number right?")]
    BoardUnknown { board: usize, boards: usize },
    /// A player sits at two boards.
    #[error(
        "{player:?} plays in line {first} already; two players of one name need their FIDE ids to be told apart"
    )]
    PlayerTwice { player: String, first: usize },
    /// A player is his own opponent.
    #[error(
        "{player:?} has both colours in this game; who is the opponent? Two players of one name need their FIDE ids to be told apart"
    )]
    PlayerHimself { player: String },
    /// A rating is not a number.
    #[error("the rating {rating:?} of {player:?} is no number; write up to four digits, or nothing")]
    RatingNoNumber { player: String, rating: String },
    /// A cell belongs to another column.
    #[error(
        "{text:?} stands in the column {column:?}: has a column shifted? Put names with a comma in quotes, and write every column of the first line"
    )]
    ColumnShifted { column: String, text: String },
    /// A result is none that a game can have.
    #[error(
        "{text:?} is no result; write 1-0, 0-1, 1/2-1/2, 0-0, or +/-, -/+, -/- where somebody did not come, or nothing while the game is not over"
    )]
    ResultUnknown { text: String },
    /// A game cannot begin with the position.
    #[error(
        "{text:?} is no position to begin with: {why}; write the FEN of the position before the first move"
    )]
    StartWrong { text: String, why: String },
    /// A quote is open at the end of its line.
    #[error("a quote is not closed; close it in the same line, and write a quote within quotes twice")]
    QuoteOpen,
    /// A row has more cells than there are columns.
    #[error(
        "there are {cells} cells for {columns} columns: has a column shifted? Put names with a comma in quotes"
    )]
    CellsTooMany { cells: usize, columns: usize },
    /// A line of TRF is no player's.
    #[error("no line of a player; {PLAYER_HELP}")]
    LineNoPlayer,
    /// Two lines of TRF have one number.
    #[error("line {first} has the number {number} already; each player has a number of his own")]
    NumberTwice { number: u32, first: usize },
    /// The opponent's line names somebody else.
    #[error(
        "the line says that {player:?} plays number {opponent}, whose line does not say so; pair the round again and export it anew"
    )]
    OpponentElsewhere { player: String, opponent: u32 },
    /// The round has no games.
    #[error("no game of round {round} is in it; is that the round, and is it paired?")]
    NoGames { round: u32 },
    /// Some games have no board that tells their moves.
    #[error("boards {from} to {to} are no boards of this broadcast: their games are listed without moves")]
    BoardsWithoutMoves { from: usize, to: usize },
    /// A result that was entered by hand goes.
    #[error(
        "game {game}: the result {result} of {white} – {black} by hand, entered by {}, goes, because the pairings have other players there or another result; enter it anew if it holds",
        .by.as_deref().unwrap_or("somebody without a name")
    )]
    ResultGoes {
        game: usize,
        white: String,
        black: String,
        result: String,
        by: Option<String>,
    },
    /// A result that was entered by hand stays under other names.
    #[error(
        "game {game}: the result {result} by hand was entered for {former}, and is now of {white} – {black}; take it back if that is another game"
    )]
    ResultStays {
        game: usize,
        white: String,
        black: String,
        result: String,
        former: String,
    },
}

const COLUMNS_HELP: &str = "the first line names the columns, separated by commas, semicolons or tabs: board, white, black \
                            and, if wanted, round, white_elo, white_title, white_fide_id, white_federation, white_team, the same for black, result and start";

const PLAYER_HELP: &str =
    "a line of a player is `001`, then columns 5-8 his number, 15-47 his name and from 92 ten for each round";

impl Mistake {
    /// A mistake in `line`.
    pub(super) fn at(line: usize, what: MistakeKind) -> Self {
        Self {
            line: Some(line),
            message: what.to_string(),
            what,
        }
    }

    /// A mistake of the whole text.
    pub(in crate::tournament) fn of_all(what: MistakeKind) -> Self {
        Self {
            line: None,
            message: what.to_string(),
            what,
        }
    }
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
