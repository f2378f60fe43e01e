//! Commands of an arbiter to one board, and their answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::not_now::NotNow;
use crate::{
    event::{Event, GameResult, Resolution},
    laws::{FirstFlag, IrregularityKind, Observed, Penalty, RaisedBy, ResponseTo, Side},
};

/// A command. The last level of the topic is the verb, and the payload has its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verb", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Start a new game from the position on the board.
    NewGame,
    /// Set the position of the game.
    SetPosition {
        /// FEN.
        fen: String,
    },
    /// Give the game a result.
    Result {
        /// `1-0`, `0-1`, `1/2-1/2`, `*`; `+/-`, `-/+`, `-/-` for forfeits; `0-0` where both lost.
        result: GameResult,
        /// Why, in the arbiter's words.
        #[serde(default)]
        reason: Option<Note>,
        /// Number of the game on this board; the present one when it is left out. A forfeit may name the next one.
        #[serde(default)]
        game: Option<u32>,
    },
    /// Take the result back: the game goes on, or is without a result.
    Resume {
        /// Why, in the arbiter's words.
        #[serde(default)]
        reason: Option<Note>,
        /// Number of the game on this board; the present one when it is left out.
        #[serde(default)]
        game: Option<u32>,
    },
    /// Put half-moves right: take some out, put others in. Those after them stay as they were.
    Correct(Correct),
    /// Dismiss an irregularity: it was none, and does not count.
    Dismiss {
        /// Id of the event.
        irregularity: String,
    },
    /// Let the position on the board stand.
    Accept {
        /// Id of the event.
        irregularity: String,
    },
    /// Report an irregularity that only a person can see.
    Report(Report),
    /// Take back the end of an irregularity.
    Reopen {
        /// Id of the event.
        irregularity: String,
    },
    /// Note what was done about an irregularity.
    Note {
        /// Id of the event.
        irregularity: String,
        /// The penalty that was given; `none` takes back one that was noted before.
        #[serde(default)]
        penalty: Option<Penalty>,
        /// In the arbiter's words.
        #[serde(default)]
        note: Option<Note>,
    },
    /// Say who raised an irregularity.
    RaisedBy {
        /// Id of the event.
        irregularity: String,
        /// Who raised it.
        by: RaisedBy,
    },
    /// The present game goes by the configured rules, although it began under others.
    Rules,
    /// Read the board anew.
    Resync,
    /// Take back the half-moves after `to_ply`.
    Retract {
        /// Number of half-moves that remain.
        to_ply: u32,
    },
    /// Say what a pawn became, on a board that cannot tell.
    Promotion {
        /// The piece.
        piece: PromotionPiece,
        /// The half-move of the promotion; the last one when it is left out.
        #[serde(default)]
        ply: Option<u32>,
    },
}

/// Half-moves of a game that are put right, with its beginning and their times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Correct {
    /// Number of the game on this board; the present one when it is left out.
    #[serde(default)]
    pub game: Option<u32>,
    /// The first half-move to change, from 1. One more than the game has means the end of the game.
    pub ply: u32,
    /// How many half-moves are taken out from there on.
    #[serde(default)]
    pub delete: u32,
    /// The half-moves that are put in there, as UCI or SAN.
    #[serde(default)]
    pub insert: Vec<String>,
    /// A half-move that is put in may be illegal, if it is given as UCI. It stands.
    #[serde(default)]
    pub illegal: bool,
    /// If a later half-move cannot follow any more, it is taken out with all after it.
    #[serde(default)]
    pub drop_rest: bool,
    /// FEN of the position with which the game began, if the record has another one. All half-moves are played from there.
    #[serde(default)]
    pub fen: Option<String>,
    /// Whether the game is one of Chess960, if the record has that wrong.
    #[serde(default)]
    pub chess960: Option<bool>,
    /// What the clock showed after the last half-move that is put in; if none is, after half-move `ply`.
    #[serde(default)]
    pub clock: Option<ClockTimes>,
    /// From half-move `ply` on the times of White and Black are exchanged: the sides of the clock were taken for each other.
    #[serde(default)]
    pub exchange_clocks: bool,
}

impl Correct {
    /// True where it changes more than the half-moves.
    pub(super) fn is_beyond_half_moves(&self) -> bool {
        let has_beginning = self.fen.is_some() || self.chess960.is_some();
        has_beginning || self.clock.is_some() || self.exchange_clocks
    }
}

/// The times of both players, as a person read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockTimes {
    /// White's time in milliseconds.
    pub white_ms: u32,
    /// Black's time in milliseconds.
    pub black_ms: u32,
}

/// A person's words, of a length that fits a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("maxLength" = MOST_WORDS))]
pub struct Note(String);

/// Most characters of a person's words.
pub const MOST_WORDS: usize = 500;

impl Note {
    /// The words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Note {
    type Error = String;

    fn try_from(words: String) -> Result<Self, String> {
        let length = words.chars().count();
        if length > MOST_WORDS {
            return Err(format!("{length} characters are too many: at most {MOST_WORDS}"));
        }
        Ok(Self(words.trim().to_owned()))
    }
}

impl From<Note> for String {
    fn from(note: Note) -> Self {
        note.0
    }
}

/// What a person reports: the irregularity, and the facts that no sensor can tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What happened.
    pub kind: IrregularityKind,
    /// The offender, or the claimant of a draw. If it is left out, the half-move decides.
    #[serde(default)]
    pub offender: Option<Side>,
    /// Further irregularities in the very same act.
    #[serde(default)]
    pub concurrent: Vec<IrregularityKind>,
    /// Whether a draw claim is right. If it is left out, the record decides.
    #[serde(default)]
    pub claim_correct: Option<bool>,
    /// For touch-move: the opponent has touched a piece meaning to move it (4.8).
    #[serde(default)]
    pub opponent_touched_piece: bool,
    /// Both players agree to correct it.
    #[serde(default)]
    pub players_agree: bool,
    /// For a press without a move: what it answered.
    #[serde(default)]
    pub response_to: Option<ResponseTo>,
    /// The side whose flag fell first, where both flags are down.
    #[serde(default)]
    pub first_flag: FirstFlag,
    /// For an illegal position that was observed: what was observed.
    #[serde(default)]
    pub observed: Option<Observed>,
    /// A move has been completed since that was observed.
    #[serde(default)]
    pub next_move_completed: bool,
    /// The position is still illegal after that move.
    #[serde(default)]
    pub illegal_position_persists: bool,
    /// The half-move that it concerns, from 1; 0 before the first. If it is left out, the kind decides.
    #[serde(default)]
    pub ply: Option<u32>,
    /// Number of the game on this board; the present one when it is left out. What is of no half-move may name the next one.
    #[serde(default)]
    pub game: Option<u32>,
    /// For a draw claim: the half-move that the claimant wrote down and is about to make, as UCI or SAN.
    #[serde(default)]
    pub written_move: Option<String>,
    /// For a flag fall: with false, a report that the clock contradicts is refused. Otherwise it counts.
    #[serde(default)]
    pub confirmed: Option<bool>,
    /// In the arbiter's words.
    #[serde(default)]
    pub note: Option<Note>,
}

impl Report {
    /// An irregularity that has no name of its own needs words.
    pub(super) fn has_its_words(&self) -> Result<(), NotNow> {
        let has_words = self.note.as_ref().is_some_and(|note| !note.as_str().is_empty());
        if self.kind == IrregularityKind::Other && !has_words {
            return Err(NotNow::WordsMissing);
        }
        Ok(())
    }

    /// A report of `kind` with nothing to add.
    #[must_use]
    pub fn of(kind: IrregularityKind, offender: Option<Side>) -> Self {
        Self {
            kind,
            offender,
            concurrent: Vec::new(),
            claim_correct: None,
            opponent_touched_piece: false,
            players_agree: false,
            response_to: None,
            first_flag: FirstFlag::Unknown,
            observed: None,
            next_move_completed: false,
            illegal_position_persists: false,
            ply: None,
            game: None,
            written_move: None,
            confirmed: None,
            note: None,
        }
    }
}

/// What a pawn may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // The names say it.
pub enum PromotionPiece {
    Queen,
    Rook,
    Bishop,
    Knight,
}

impl From<PromotionPiece> for shakmaty::Role {
    fn from(piece: PromotionPiece) -> Self {
        match piece {
            PromotionPiece::Queen => Self::Queen,
            PromotionPiece::Rook => Self::Rook,
            PromotionPiece::Bishop => Self::Bishop,
            PromotionPiece::Knight => Self::Knight,
        }
    }
}

impl Command {
    /// The command that gives the present game this result.
    #[must_use]
    pub fn result(result: GameResult) -> Self {
        Self::Result {
            result,
            reason: None,
            game: None,
        }
    }

    /// True where it names a game or an irregularity that is known, so that no board is needed to carry it out.
    #[must_use]
    pub fn is_about_known(&self) -> bool {
        self.game().is_some() || self.irregularity().is_some()
    }

    /// The number of the game that the command names.
    #[must_use]
    pub fn game(&self) -> Option<u32> {
        match self {
            Self::Result { game, .. } | Self::Resume { game, .. } => *game,
            Self::Correct(order) => order.game,
            Self::Report(report) => report.game,
            _ => None,
        }
    }

    /// The id of the irregularity that the command concerns.
    pub(super) fn irregularity(&self) -> Option<&str> {
        match self {
            Self::Dismiss { irregularity }
            | Self::Accept { irregularity }
            | Self::Reopen { irregularity }
            | Self::Note { irregularity, .. }
            | Self::RaisedBy { irregularity, .. } => Some(irregularity),
            _ => None,
        }
    }
}

/// A command, the person who gives it, and the events that it needs of the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The command.
    pub command: Command,
    /// The name of the person who gives it, where that is known.
    pub by: Option<String>,
    /// The events of the game that [`Watcher::needs`](super::Watcher::needs) asked for; none where it asked for nothing.
    pub past: Option<Vec<Event>>,
    /// What the sender saw.
    pub expects: Expected,
}

/// What the sender of a command saw when he sent it. The command is refused if somebody has put the record right since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// The newest event of the board that the sender saw.
    #[serde(default, rename = "expect_seq")]
    pub seq: Option<u64>,
    /// The number of half-moves of the game that the sender saw.
    #[serde(default, rename = "expect_ply")]
    pub ply: Option<u32>,
}

impl From<Command> for Order {
    fn from(command: Command) -> Self {
        Self {
            command,
            by: None,
            past: None,
            expects: Expected::default(),
        }
    }
}

/// The answer to a command that was carried out: the resulting state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Reply {
    /// The game after the command.
    pub game: Option<super::GameView>,
    /// True where the board does not answer: the record takes the command, the board will be read when it is back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The irregularity does not exist or has ended.
    #[error("no open irregularity has the id {0:?}")]
    UnknownIrregularity(String),
    /// The case has ended already.
    #[error("it is closed already: {how} by {by}")]
    Closed {
        /// How it ended.
        how: &'static str,
        /// Who ended it.
        by: String,
    },
    /// The FEN cannot be read.
    #[error("cannot read the FEN: {0}")]
    BadFen(String),
    /// The command needs a game.
    #[error("no game is going on at this board")]
    NoGame,
    /// The game has fewer half-moves.
    #[error("the game has {have} plies, so {asked} cannot remain")]
    NoSuchPly {
        /// Number of half-moves that should remain.
        asked: u32,
        /// Number of half-moves of the game.
        have: u32,
    },
    /// This board has had no such game.
    #[error("this board has had no game {asked}: its last is game {last}")]
    NoSuchGame {
        /// The number that was given.
        asked: u32,
        /// The number of the last game.
        last: u32,
    },
    /// A half-move that should be put in cannot be played there, or one after it cannot be played any more.
    #[error("half-move {ply}, {uci}, cannot be played in {fen}: {remedy}")]
    NoMove {
        /// Its number.
        ply: u32,
        /// The half-move as it was given.
        uci: String,
        /// The position before it.
        fen: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The clock contradicts the report.
    #[error("{0}; if it is so nevertheless, send it again with `confirmed`: true and another `ref`")]
    ContradictsClock(String),
    /// The same irregularity is told already. A second report would count twice.
    #[error(
        "it is told already, as {0}: write what you saw there (`note`), or end it (`dismiss`, `accept`); if it has happened a second time, send it again with \
         `confirmed`: true and another `ref`"
    )]
    ToldAlready(String),
    /// Somebody has put the record right since the sender looked.
    #[error(
        "the record is not as you saw it any more: {0}; look again, and send the command anew if it is still right"
    )]
    MovedOn(String),
    /// A forfeit before the first game needs the number of the game.
    #[error("no game is going on at this board: for a game that nobody began give its number, `game`: {0}")]
    NoGameYet(u32),
    /// The command makes no sense now.
    #[error(transparent)]
    Refused(#[from] NotNow),
}

impl CommandError {
    /// The error that a case has ended already.
    pub(super) fn closed(how: Resolution, by: Option<String>) -> Self {
        Self::Closed {
            how: how.in_words(),
            by: by.unwrap_or_else(|| "somebody before".to_owned()),
        }
    }

    /// Stable code for replies and logs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownIrregularity(_) => "unknown_irregularity",
            Self::Closed { .. } => "closed",
            Self::BadFen(_) => "bad_fen",
            Self::NoGame | Self::NoGameYet(_) => "no_game",
            Self::NoSuchPly { .. } => "no_such_ply",
            Self::NoSuchGame { .. } => "no_such_game",
            Self::NoMove { .. } => "no_such_move",
            Self::ContradictsClock(_) => "contradicts_clock",
            Self::ToldAlready(_) => "told_already",
            Self::MovedOn(_) => "record_moved_on",
            Self::Refused(_) => "refused",
        }
    }

    /// Stable code of the reason why the command makes no sense now, if that is the error.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Refused(reason) => Some(reason.code()),
            _ => None,
        }
    }
}
