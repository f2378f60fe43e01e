//! The tables on everything except the counted offences: one row for each irregularity and situation, one column for
//! each age of the Laws.

use super::{
    case::{
        Case,
        Edition::{self, *},
    },
    edition,
};
use crate::terms::IrregularityKind::{self, *};

/// The situation that tells the rows of one irregularity apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situation {
    /// The irregularity has only one row, or no other row applies.
    Plain,
    /// The game had ended before. Only for rows with other articles than the plain case.
    Ended,
    /// The irregularity can no longer be put right, because of too many moves or because the right to claim is lost.
    TooLate,
    /// The move is not completed: the clock has not been pressed.
    NotCompleted,
    /// Only a player may raise it, and none has.
    NotAskedFor,
    /// The moves of the period were complete.
    PeriodComplete,
    /// Nobody has noticed the flag.
    Unnoticed,
    /// Nobody knows which flag fell first, and a further period follows.
    OrderUnknown,
    /// Nobody knows which flag fell first, in the last period.
    OrderUnknownLast,
    /// Nobody knows which flag fell first, in rapid or blitz under rules of their own.
    OrderUnknownQuickplay,
    /// A draw claim that is right.
    Right,
    /// A draw claim that is wrong.
    Wrong,
    /// Nobody has claimed.
    Unclaimed,
    /// Five occurrences in a row.
    Consecutive,
    /// The next move has not been completed yet.
    Waiting,
    /// The position is still impossible after the next move.
    Persists,
    /// The position is possible again after the next move.
    Gone,
    /// The player presses for his own earlier move.
    LatePress,
    /// The press answers an illegal move of the opponent.
    AfterIllegalMove,
    /// The press is to make the opponent put his pieces back.
    AfterDisplacement,
    /// The Laws do not ask for it in this game.
    NotRequired,
}

/// The consequence for the players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No consequence.
    None,
    /// The arbiter decides.
    Arbiter,
    /// A draw.
    Draw,
    /// The offender loses, or a draw if the opponent cannot mate.
    Loss,
    /// The offender loses, even if the opponent cannot mate.
    LossOutright,
    /// Time to the opponent for a wrong draw claim.
    ClaimTime,
}

/// The consequence for the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The position just before, or the last identifiable one if that is not known.
    BeforeOrIdentifiable,
    /// The position just before.
    Before,
    /// The game goes on.
    Continue,
    /// A new game begins.
    NewGame,
    /// The game goes on on a board that is placed correctly.
    Transfer,
    /// A queen of the pawn's colour replaces the pawn.
    Queen,
    /// The position stays as it is.
    Stands,
}

/// One cell: what one age of the Laws says.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The consequence for the players.
    pub effect: Effect,
    /// The consequence for the position.
    pub place: Place,
    /// The articles that say so.
    pub articles: &'static [&'static str],
}

/// One row: an irregularity in a situation, in 1997, in 2014 and since 2017.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The irregularity.
    pub kind: IrregularityKind,
    /// The situation.
    pub situation: Situation,
    /// The cells for 1997, for 2014, and since 2017. None where the situation cannot arise, or where the matrix
    /// answers.
    pub cells: [Option<Cell>; 3],
}

const fn c(effect: Effect, place: Place, articles: &'static [&'static str]) -> Option<Cell> {
    Some(Cell {
        effect,
        place,
        articles,
    })
}

/// The cell of a situation that cannot arise.
const X: Option<Cell> = None;

const fn r(kind: IrregularityKind, situation: Situation, cells: [Option<Cell>; 3]) -> Row {
    Row {
        kind,
        situation,
        cells,
    }
}

use Effect::{Arbiter as A, ClaimTime as T, Draw as D, Loss as L, LossOutright as O, None as N};
use Place::{Before, BeforeOrIdentifiable, Continue, NewGame, Queen, Stands, Transfer};
use Situation::*;

/// The rows. An empty list of articles means that the edition is silent.
#[rustfmt::skip]
pub const PROVISIONS: &[Row] = &[
    r(InitialPositionWrong, Plain,   [c(N, NewGame,  &["7.1"]), c(N, NewGame,  &["7.2"]), c(N, NewGame,  &["7.2.1"])]),
    r(InitialPositionWrong, TooLate, [c(N, Continue, &["7.1"]), c(N, Continue, &["7.2"]), c(N, Continue, &["7.2.1"])]),
    r(BoardOrientationWrong, Plain,   [c(N, Transfer, &["7.1"]), c(N, Transfer, &["7.2"]), c(N, Transfer, &["7.2.2"])]),
    r(BoardOrientationWrong, TooLate, [c(N, Continue, &["7.1"]), c(N, Continue, &["7.2"]), c(N, Continue, &["7.2.2"])]),
    r(ColoursReversed, Plain, [X, X, c(N, NewGame,  &["7.3"])]),
    r(ColoursReversed, TooLate, [c(N, Continue, &["7.2"]), c(N, Continue, &["7.3"]), c(N, Continue, &["7.3"])]),
    r(ClockSettingWrong, Plain,   [c(A, Continue, &["13.4"]), c(A, Continue, &["12.9"]), c(A, Continue, &["6.10.2"])]),
    r(ClockSettingWrong, TooLate, [X, c(N, Continue, &["12.9"]), c(N, Continue, &["6.10.2"])]),

    r(PiecesDisplaced,     Plain, [c(N, Before, &["7.3"]), c(A, Before, &["7.4"]), c(A, Before, &["7.4.1", "7.4.2", "7.4.3", "12.9"])]),
    r(DisplacedPieceFound, Plain, [c(N, BeforeOrIdentifiable, &["7.4", "6.13"]), c(N, BeforeOrIdentifiable, &["7.6"]), c(N, BeforeOrIdentifiable, &["7.6", "7.1"])]),

    r(PromotionNotReplaced, Plain, [c(N, BeforeOrIdentifiable, &["7.4", "6.13"]), X, X]),
    r(PromotionNotReplaced, NotCompleted, [c(N, Continue, &["7.4"]), X, X]),
    r(PressWithoutMove, Plain, [c(A, Continue, &["13.4"]), c(A, Continue, &["12.9"]), X]),
    r(PressWithoutMove, LatePress,         [c(N, Continue, &["13.4"]),                     c(N, Continue, &["12.9"]),                        c(N, Continue, &["6.2.2"])]),
    r(PressWithoutMove, AfterIllegalMove,  [c(A, BeforeOrIdentifiable, &["13.4", "7.4"]),  c(A, BeforeOrIdentifiable, &["12.9", "7.5.a"]),   c(A, BeforeOrIdentifiable, &["7.5.3", "7.5.1", "12.9", "7.1"])]),
    r(PressWithoutMove, AfterDisplacement, [c(N, Continue, &["7.3"]),                      c(A, Continue, &["12.9", "7.4"]),                 c(A, Continue, &["7.5.3", "7.4.2", "12.9"])]),
    r(TwoHands, Plain, [c(A, Continue, &["13.4"]), c(A, Continue, &["4.1", "12.9"]), c(A, Continue, &["7.5.4", "12.9"])]),

    r(InvertedRookPromotion, Plain, [c(N, Continue, &[]), c(N, Continue, &["4.4"]), c(N, Continue, &["4.4.4"])]),
    r(WrongColourPromotion, Plain,        [c(A, Queen, &["13.4"]),    c(A, Queen, &["3.7", "12.9"]), c(A, Queen, &["3.7", "12.9"])]),
    r(WrongColourPromotion, NotCompleted, [c(N, Continue, &["13.4"]), c(N, Continue, &["3.7"]),      c(N, Continue, &["3.7"])]),
    r(CastlingIncomplete, Plain,        [c(A, Before, &["13.4", "7.4"]), c(A, Before, &["12.9", "7.5.a"]), c(A, Before, &["4.7.2", "7.5.1", "12.9", "7.1"])]),
    r(CastlingIncomplete, NotCompleted, [c(N, Continue, &["13.4"]),      c(N, Continue, &["7.5.a"]),       c(N, Continue, &["4.7.2", "7.5.1"])]),

    r(TouchMove, Plain,       [c(N, Before,   &["4.3"]),       c(N, Before,   &["4.3"]),        c(N, Before,   &["4.3"])]),
    r(TouchMove, TooLate,     [c(N, Continue, &["4.3"]),       c(N, Continue, &["4.8", "4.3"]), c(N, Continue, &["4.8", "4.3"])]),
    r(TouchMove, NotAskedFor, [c(N, Continue, &["4.3", "B5"]), X, X]),
    r(RookFirstCastling, Plain,       [c(N, Before,   &["4.3"]),       c(N, Before,   &["4.4", "4.3"]), c(N, Before,   &["4.4.2", "4.3.1"])]),
    r(RookFirstCastling, TooLate,     [c(N, Continue, &["4.3"]),       c(N, Continue, &["4.8", "4.4"]), c(N, Continue, &["4.8", "4.4.2", "4.3.1"])]),
    r(RookFirstCastling, NotAskedFor, [c(N, Continue, &["4.3", "B5"]), X, X]),
    r(MovedOutOfTurn,     Plain, [c(A, Before,   &["13.4"]), c(A, Before,   &["12.9"]), c(A, Before,   &["12.9"])]),
    r(PressWithOtherHand, Plain, [c(A, Continue, &["13.4"]), c(A, Continue, &["12.9"]), c(A, Continue, &["6.2.3", "12.9"])]),
    r(PauseWithoutReason, Plain, [c(A, Continue, &["13.4"]), c(A, Continue, &["12.9"]), c(A, Continue, &["6.11.4", "12.9"])]),
    r(ClaimFromScreen,    Plain, [c(N, Continue, &["6.14"]), c(N, Continue, &["6.14"]), c(N, Continue, &["6.12.2"])]),

    r(LateArrival,        Plain,       [c(A, Continue, &["6.6"]),  c(A, Continue, &["6.7"]),                  c(A, Continue, &["6.7"])]),
    r(ElectronicDevice,   Plain,       [c(A, Continue, &["13.4"]), c(O, Stands,   &["11.3.b"]),               c(O, Stands,   &["11.3.2"])]),
    r(NotRecording,       Plain,       [c(A, Continue, &["13.4"]), c(A, Continue, &["8.1", "12.9"]),          c(A, Continue, &["8.1", "12.9"])]),
    r(NotRecording,       NotRequired, [c(N, Continue, &["B3"]),   c(N, Continue, &["A.2"]),                  c(N, Continue, &["A.2"])]),
    r(Disturbing,         Plain,       [c(A, Continue, &["12.5", "13.4"]), c(A, Continue, &["11.5", "12.9"]),         c(A, Continue, &["11.5", "12.9"])]),
    r(DrawOfferIrregular, Plain,       [c(A, Continue, &["13.4"]), c(A, Continue, &["9.1", "12.9"]),          c(A, Continue, &["9.1.2", "11.5", "12.9"])]),
    r(Other,              Plain,       [c(A, Continue, &["13.4"]), c(A, Continue, &["12.9"]),                 c(A, Continue, &["12.9"])]),

    r(FlagFall, Plain,          [c(L, Stands,   &["6.9"]),       c(L, Stands,   &["6.9"]), c(L, Stands,   &["6.9"])]),
    r(FlagFall, PeriodComplete, [c(N, Continue, &["6.3"]),       c(N, Continue, &["6.4"]), c(N, Continue, &["6.4"])]),
    r(FlagFall, Unnoticed,      [c(N, Continue, &["6.8"]),       c(N, Continue, &["6.8"]), c(N, Continue, &["6.8"])]),
    r(FlagFall, NotAskedFor, [c(N, Continue, &["6.8", "B6"]), X, X]),
    r(FlagFall, Ended,          [c(N, Stands,   &["6.8", "6.9"]), c(N, Stands,  &["6.8", "6.9"]), c(N, Stands, &["6.8", "6.9"])]),
    r(BothFlags, Plain,                 [c(L, Stands,   &["6.9"]),        c(L, Stands,   &["6.9"]),                c(L, Stands,   &["6.9"])]),
    r(BothFlags, PeriodComplete,        [c(N, Continue, &["6.3"]),        c(N, Continue, &["6.4"]),                c(N, Continue, &["6.4"])]),
    r(BothFlags, Unnoticed,             [c(N, Continue, &["6.8"]),        c(N, Continue, &["6.8"]),                c(N, Continue, &["6.8"])]),
    r(BothFlags, OrderUnknown,          [c(N, Continue, &["6.11"]),       c(N, Continue, &["III.3.1"]),            c(N, Continue, &["III.3.1.1"])]),
    r(BothFlags, OrderUnknownLast,      [c(N, Continue, &["6.11"]),       c(D, Stands,   &["III.3.1"]),            c(D, Stands,   &["III.3.1.2"])]),
    r(BothFlags, OrderUnknownQuickplay, [c(D, Stands,   &["6.11", "B8"]), c(A, Stands,   &["6.8", "III.3.1"]),     c(A, Stands,   &["6.8", "III.3.1"])]),

    r(DeadPosition, Plain, [c(D, Stands, &["5.2", "9.6"]), c(D, Stands, &["5.2"]), c(D, Stands, &["5.2.2"])]),
    r(ThreefoldClaim, Right,     [c(D, Stands,   &["9.2"]),        c(D, Stands,   &["9.2"]),        c(D, Stands,   &["9.2"])]),
    r(ThreefoldClaim, Wrong,     [c(T, Continue, &["9.5", "9.2"]), c(T, Continue, &["9.5", "9.2"]), c(T, Continue, &["9.5.3", "9.2"])]),
    r(ThreefoldClaim, Unclaimed, [c(N, Continue, &["9.2"]),        c(N, Continue, &["9.2"]),        c(N, Continue, &["9.2"])]),
    r(FiftyClaim, Right,     [c(D, Stands,   &["9.3"]),        c(D, Stands,   &["9.3"]),        c(D, Stands,   &["9.3"])]),
    r(FiftyClaim, Wrong,     [c(T, Continue, &["9.5", "9.3"]), c(T, Continue, &["9.5", "9.3"]), c(T, Continue, &["9.5.3", "9.3"])]),
    r(FiftyClaim, Unclaimed, [c(N, Continue, &["9.3"]),        c(N, Continue, &["9.3"]),        c(N, Continue, &["9.3"])]),
    r(Fivefold, Consecutive, [c(N, Continue, &["9.2"]), c(D, Stands,   &["9.6"]), c(D, Stands, &["9.6.1"])]),
    r(Fivefold, Plain,       [c(N, Continue, &["9.2"]), c(N, Continue, &["9.6"]), c(D, Stands, &["9.6.1"])]),
    r(SeventyFive, Plain,    [c(N, Continue, &["9.3"]), c(D, Stands,   &["9.6"]), c(D, Stands, &["9.6.2"])]),

    r(IllegalPositionObserved, Waiting, [X, c(N, Continue, &["A.4.d"]), c(N, Continue, &[])]),
    r(IllegalPositionObserved, Persists, [X, c(D, Stands,   &["A.4.d"]), c(D, Stands,   &[])]),
    r(IllegalPositionObserved, Gone, [X, c(N, Continue, &["A.4.d"]), c(N, Continue, &[])]),
];

/// The cell for an irregularity in a situation, in an edition.
#[must_use]
pub fn cell(edition: Edition, kind: IrregularityKind, situation: Situation) -> Option<Cell> {
    PROVISIONS
        .iter()
        .find(|row| row.kind == kind && row.situation == situation)
        .and_then(|row| row.cells[edition::column(edition)])
}

/// The cell of an irregularity in whatever situation: that of its first row.
#[must_use]
pub fn first_cell(edition: Edition, kind: IrregularityKind) -> Option<Cell> {
    PROVISIONS
        .iter()
        .filter(|row| row.kind == kind)
        .find_map(|row| row.cells[edition::column(edition)])
}

/// Articles of the appendices that one edition adds to a provision.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    /// The editions that add the articles.
    pub editions: &'static [Edition],
    /// The irregularities to which they belong.
    pub kinds: &'static [IrregularityKind],
    /// The games in which they apply.
    pub scope: Scope,
    /// The articles.
    pub articles: &'static [&'static str],
}

/// The games in which an article is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All games.
    All,
    /// Rapid and blitz.
    Quickplay,
    /// Rapid and blitz with too few arbiters.
    Unsupervised,
    /// Rapid and blitz with too few arbiters, if the arbiter raised the matter.
    UnsupervisedByArbiter,
}

/// The additions, by edition.
#[rustfmt::skip]
pub const EXTRAS: &[Extra] = &[
    Extra { editions: &[Laws1997], kinds: &[InitialPositionWrong, BoardOrientationWrong, ColoursReversed], scope: Scope::Quickplay, articles: &["B4"] },
    Extra { editions: &[Laws1997], kinds: &[FlagFall], scope: Scope::Quickplay, articles: &["B6"] },
    Extra { editions: &[Laws2014], kinds: &[InitialPositionWrong, BoardOrientationWrong, ColoursReversed, ClockSettingWrong], scope: Scope::Unsupervised, articles: &["A.4.a"] },
    Extra { editions: &[Proposal2017, Laws2018], kinds: &[InitialPositionWrong, BoardOrientationWrong], scope: Scope::Unsupervised, articles: &["A.4.1.2"] },
    Extra { editions: &[Laws2023],               kinds: &[InitialPositionWrong, BoardOrientationWrong], scope: Scope::Unsupervised, articles: &["A.5.1.2"] },
    Extra { editions: &[Proposal2017, Laws2018], kinds: &[ClockSettingWrong], scope: Scope::Unsupervised, articles: &["A.4.1.1"] },
    Extra { editions: &[Laws2023],               kinds: &[ClockSettingWrong], scope: Scope::Unsupervised, articles: &["A.5.1.1"] },
    Extra { editions: &[Laws2014],               kinds: &[FlagFall, BothFlags], scope: Scope::Unsupervised, articles: &["A.4.c"] },
    Extra { editions: &[Proposal2017, Laws2018], kinds: &[FlagFall, BothFlags], scope: Scope::Unsupervised, articles: &["A.4.3"] },
    Extra { editions: &[Laws2023],               kinds: &[FlagFall, BothFlags], scope: Scope::Unsupervised, articles: &["A.5.3"] },
    Extra { editions: &[Proposal2017, Laws2018], kinds: &[FlagFall, BothFlags], scope: Scope::UnsupervisedByArbiter, articles: &["A.4.5"] },
    Extra { editions: &[Laws2023],               kinds: &[FlagFall, BothFlags], scope: Scope::UnsupervisedByArbiter, articles: &["A.5.5"] },
    Extra { editions: &[Proposal2017, Laws2018], kinds: &[IllegalPositionObserved], scope: Scope::Unsupervised, articles: &["A.4.4"] },
    Extra { editions: &[Laws2023],               kinds: &[IllegalPositionObserved], scope: Scope::Unsupervised, articles: &["A.5.4"] },
    Extra { editions: &[Laws2023], kinds: &[WrongColourPromotion], scope: Scope::All, articles: &["3.7.3.3"] },
];

/// The additions for a case.
pub fn extras(case: &Case, kind: IrregularityKind) -> impl Iterator<Item = &'static str> + '_ {
    let in_scope = move |scope: Scope| match scope {
        Scope::All => true,
        Scope::Quickplay => case.is_quickplay(),
        Scope::Unsupervised => case.is_unsupervised(),
        Scope::UnsupervisedByArbiter => {
            case.is_unsupervised() && case.facts.raised_by == super::facts::RaisedBy::Arbiter
        }
    };
    EXTRAS
        .iter()
        .filter(move |x| x.editions.contains(&case.edition) && x.kinds.contains(&kind) && in_scope(x.scope))
        .flat_map(|x| x.articles.iter().copied())
}
