//! Why a well-formed command makes no sense now.

use shakmaty::Square;

/// The reason, in words for the person who sent the command. Programs tell reasons apart by [`Self::code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// A hand holds a piece, so the board shows no position.
    #[error(
        "a piece was lifted from {square} {lifted_s} s ago and has not been put down: put it down and repeat the command with another `ref`; if it was taken off the board, wait until that is {wait_s} s ago"
    )]
    PieceInHand {
        /// The square where it stood.
        square: Square,
        /// Seconds since it was lifted.
        lifted_s: u64,
        /// Seconds after which the watcher takes it to be off the board.
        wait_s: u64,
    },
    /// Pieces are being moved, so the board shows no position.
    #[error(
        "pieces are being moved on the board: repeat the command with another `ref` when it has stood still for a second"
    )]
    PiecesMoving,
    /// No game starts without both kings.
    #[error("the board does not show one king of each colour, so no game can start from it")]
    NoKings,
    /// The game has too many reports.
    #[error(
        "this game has {0} irregularities already, more than any game has: no more are taken before the next game"
    )]
    TooManyIrregularities(usize),
    /// The report of an irregularity `other` lacks its words.
    #[error("what happened is missing: write it into `note`, as `other` has no words of its own")]
    WordsMissing,
    /// A report names a half-move that is still to come.
    #[error("half-move {ply} has not been begun: the game has {have} half-moves")]
    HalfMoveNotBegun {
        /// The number that the report names.
        ply: u32,
        /// Half-moves of the game.
        have: usize,
    },
    /// A report concerns the last half-move of a player who has made none.
    #[error("that player has made no half-move in this game yet")]
    NoHalfMove,
    /// Only the player who has the move claims a draw (9.2, 9.3).
    #[error("a draw is claimed by the player who has the move (9.2, 9.3)")]
    NotTheirMove,
    /// The report of a flag fall names no player.
    #[error("say whose flag fell: `offender` is missing")]
    OffenderMissing,
    /// The case is open, so it has no end to take back.
    #[error("it is open")]
    CaseIsOpen,
    /// The case has ended, so nobody can raise it.
    #[error("the irregularity is over: who raises it makes no difference any more")]
    CaseIsOver,
    /// The note has no content.
    #[error("nothing is to be written down: give `penalty`, `note` or both")]
    NothingToNote,
    /// The half-move was no promotion.
    #[error("no pawn was promoted there")]
    NoPromotion,
    /// Later half-moves are not legal with the other piece.
    #[error("what was played since would not be legal with that piece: retract it first")]
    PlayedOn,
    /// The next game would get a result before the present one.
    #[error("game {0} goes on at this board: enter its result before that of the next")]
    GameGoesOn(u32),
    /// The game has no result to take back.
    #[error("the game has no result to take back")]
    NoResult,
    /// The board cannot be read, because it does not answer.
    #[error("the board does not answer, so it cannot be read: it is read by itself when it is back")]
    BoardOffline,
    /// Reports before the next game are more than any game has.
    #[error("{0} reports wait for the next game already: no more are taken before it begins")]
    TooManyReports(usize),
    /// The game goes by the configured rules already.
    #[error(
        "the game goes by these rules already: change those of the configuration first, and have it read again (`reload`)"
    )]
    SameRules,
    /// An earlier game cannot be changed that way.
    #[error("this command is for the present game")]
    PresentGameOnly,
    /// A correction begins outside the game.
    #[error("the game has {have} half-moves: `ply` is 1 to {most}")]
    PlyOutside {
        /// Half-moves of the game.
        have: usize,
        /// The largest number that makes sense.
        most: usize,
    },
    /// A correction takes out more half-moves than there are.
    #[error("the game has {have} half-moves: {delete} from half-move {ply} on cannot be taken out")]
    TooManyTakenOut {
        /// Half-moves of the game.
        have: usize,
        /// Number of half-moves to take out.
        delete: usize,
        /// The first of them.
        ply: usize,
    },
    /// A correction puts in more half-moves than one command may.
    #[error("{given} half-moves are too many for one command: at most {most}")]
    TooManyPutIn {
        /// Number of half-moves to put in.
        given: usize,
        /// Largest number that one command may put in.
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
            Self::BoardOffline => "board_offline",
            Self::TooManyReports(_) => "too_many_reports",
            Self::SameRules => "same_rules",
            Self::PresentGameOnly => "present_game_only",
            Self::PlyOutside { .. } => "ply_outside",
            Self::TooManyTakenOut { .. } => "too_many_taken_out",
            Self::TooManyPutIn { .. } => "too_many_put_in",
        }
    }
}
