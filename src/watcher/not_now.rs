//! Why a command that can be read makes no sense now.

use shakmaty::Square;

/// The reason, in words for who sent the command; programs tell them apart by [`Self::code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// What stands on the board is no position while a piece is in a hand.
    #[error(
        "a piece was lifted from {square} {lifted_s} s ago and has not been put down: put it down and repeat the command with another `ref`; if it was taken off the board, wait until that is {wait_s} s ago"
    )]
    PieceInHand {
        /// Where it stood.
        square: Square,
        /// Seconds since it was lifted.
        lifted_s: u64,
        /// Seconds after which it is taken to be off the board.
        wait_s: u64,
    },
    /// The same while pieces are being moved.
    #[error(
        "pieces are being moved on the board: repeat the command with another `ref` when it has stood still for a second"
    )]
    PiecesMoving,
    /// No game starts without its kings.
    #[error("the board does not show one king of each colour, so no game can start from it")]
    NoKings,
    /// More reports than a game has use for.
    #[error(
        "this game has {0} irregularities already, more than any game has: no more are taken before the next game"
    )]
    TooManyIrregularities(usize),
    /// An irregularity of no kind is told in words.
    #[error("what happened is missing: write it into `note`, as `other` has no words of its own")]
    WordsMissing,
    /// A report names a half-move to come.
    #[error("half-move {ply} has not been begun: the game has {have} half-moves")]
    HalfMoveNotBegun {
        /// The one that is named.
        ply: u32,
        /// Half-moves of the game.
        have: usize,
    },
    /// A report speaks of the last half-move of a player who has made none.
    #[error("that player has made no half-move in this game yet")]
    NoHalfMove,
    /// Articles 9.2 and 9.3.
    #[error("a draw is claimed by the player who has the move (9.2, 9.3)")]
    NotTheirMove,
    /// A flag is somebody's.
    #[error("say whose flag fell: `offender` is missing")]
    OffenderMissing,
    /// Nothing was said of its end that could be taken back.
    #[error("it is open")]
    CaseIsOpen,
    /// Nothing is open that could be raised.
    #[error("the irregularity is over: who raises it makes no difference any more")]
    CaseIsOver,
    /// A note without content.
    #[error("nothing is to be written down: give `penalty`, `note` or both")]
    NothingToNote,
    /// The half-move is no promotion.
    #[error("no pawn was promoted there")]
    NoPromotion,
    /// The game went on in a way that the other piece rules out.
    #[error("what was played since would not be legal with that piece: retract it first")]
    PlayedOn,
    /// The result of the next game is said before that of this one.
    #[error("game {0} goes on at this board: enter its result before that of the next")]
    GameGoesOn(u32),
    /// Nothing is there to be taken back.
    #[error("the game has no result to take back")]
    NoResult,
    /// An earlier game cannot be changed that way.
    #[error("this command is for the present game")]
    PresentGameOnly,
    /// A correction begins outside the game.
    #[error("the game has {have} half-moves: `ply` is 1 to {most}")]
    PlyOutside {
        /// Half-moves of the game.
        have: usize,
        /// The greatest number that makes sense.
        most: usize,
    },
    /// A correction takes out more than there is.
    #[error("the game has {have} half-moves: {delete} from half-move {ply} on cannot be taken out")]
    TooManyTakenOut {
        /// Half-moves of the game.
        have: usize,
        /// Half-moves to be taken out.
        delete: usize,
        /// The first of them.
        ply: usize,
    },
    /// A correction puts in more than a person would.
    #[error("{given} half-moves are too many for one command: at most {most}")]
    TooManyPutIn {
        /// Half-moves to be put in.
        given: usize,
        /// How many one command takes.
        most: usize,
    },
}

impl NotNow {
    /// Stable code for replies.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::PieceInHand { .. } => "piece_in_hand",
            Self::PiecesMoving => "pieces_moving",
            Self::NoKings => "no_kings",
            Self::TooManyIrregularities(_) => "too_many_irregularities",
            Self::WordsMissing => "words_missing",
            Self::HalfMoveNotBegun { .. } => "half_move_not_begun",
            Self::NoHalfMove => "no_half_move",
            Self::NotTheirMove => "not_their_move",
            Self::OffenderMissing => "offender_missing",
            Self::CaseIsOpen => "case_is_open",
            Self::CaseIsOver => "case_is_over",
            Self::NothingToNote => "nothing_to_note",
            Self::NoPromotion => "no_promotion",
            Self::PlayedOn => "played_on",
            Self::GameGoesOn(_) => "game_goes_on",
            Self::NoResult => "no_result",
            Self::PresentGameOnly => "present_game_only",
            Self::PlyOutside { .. } => "ply_outside",
            Self::TooManyTakenOut { .. } => "too_many_taken_out",
            Self::TooManyPutIn { .. } => "too_many_put_in",
        }
    }
}
