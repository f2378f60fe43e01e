//! Explains the board at a press when no legal half-move does: [`explain`] is the table of what may stand
//! there.

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, CastlingMode, Color, File, Move, Rank, Role, Square, uci::UciMove};

use super::{
    candidate::castled,
    fall::MOST_FALLEN,
    placement::{Code, Placement},
    stand::{Stand, targets},
};
pub use crate::terms::IllegalReason as Reason;

/// An act that is no legal half-move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub struct IllegalAct {
    /// The squares that one piece left and reached, where one piece alone moved.
    from_to: Option<(Square, Square)>,
    /// Why the act is illegal.
    pub reason: Reason,
    /// What stood on the board afterwards.
    left: Placement,
}

/// An act as a snapshot keeps it.
#[derive(Serialize, Deserialize)]
struct Kept {
    squares: Option<(u32, u32)>,
    reason: Reason,
    left: Vec<Code>,
}

impl From<IllegalAct> for Kept {
    fn from(act: IllegalAct) -> Self {
        Self {
            squares: act.from_to.map(|(from, to)| (from.into(), to.into())),
            reason: act.reason,
            left: Square::ALL.iter().map(|square| act.left.at(*square)).collect(),
        }
    }
}

impl TryFrom<Kept> for IllegalAct {
    type Error = String;

    fn try_from(kept: Kept) -> Result<Self, String> {
        let square = |index: u32| {
            let none = || format!("`squares` of an act names square {index}: there are 0 to 63");
            Square::try_from(index).map_err(|_| none())
        };
        let from_to = match kept.squares {
            Some((from, to)) => Some((square(from)?, square(to)?)),
            None => None,
        };
        let codes = kept.left.len();
        if codes != Square::ALL.len() {
            return Err(format!("`left` of an act has {codes} squares: a board has 64"));
        }
        let mut left = Placement::default();
        for (square, code) in Square::ALL.into_iter().zip(kept.left) {
            left.set(square, code);
        }
        Ok(Self {
            from_to,
            reason: kept.reason,
            left,
        })
    }
}

impl IllegalAct {
    pub(super) fn new(from_to: Option<(Square, Square)>, reason: Reason, left: &Placement) -> Self {
        Self {
            from_to,
            reason,
            left: left.clone(),
        }
    }

    /// The act of carrying one piece to a square where it may not go.
    #[must_use]
    pub(super) fn carried(from: Square, to: Square, reason: Reason, left: &Placement) -> Self {
        Self::new(Some((from, to)), reason, left)
    }

    /// An act of which only the result is known: the board shows `left` where the Laws prescribe something
    /// else.
    #[must_use]
    pub fn left(from_to: Option<(Square, Square)>, left: &Placement) -> Self {
        Self::new(from_to, Reason::Unexplained, left)
    }

    /// What stood on the board afterwards, as far as it could be read.
    #[must_use]
    pub fn placement(&self) -> Placement {
        self.left.clone()
    }

    /// The squares that one piece left and reached, where one piece alone moved.
    #[must_use]
    pub fn from_to(&self) -> Option<(Square, Square)> {
        self.from_to
    }

    /// True when a piece was left on `square`.
    #[must_use]
    pub fn stood_on(&self, square: Square) -> bool {
        !self.left.at(square).is_empty()
    }

    /// The act in UCI, where one piece alone moved.
    #[must_use]
    pub fn uci(&self) -> Option<String> {
        self.uci_move().map(|uci| uci.to_string())
    }

    /// [`Self::uci`] before it is written.
    #[must_use]
    pub fn uci_move(&self) -> Option<UciMove> {
        self.from_to().map(|(from, to)| UciMove::Normal {
            from,
            to,
            promotion: None,
        })
    }
}

/// What explains a board on which the player to move has pressed.
#[derive(Clone, Debug, PartialEq)]
pub enum Explanation {
    /// The board stands as before.
    Nothing,
    /// A legal half-move, after all.
    Legal,
    /// A pawn reached the last rank and was not replaced (7.5.2).
    PawnNotReplaced {
        /// The half-move with a queen.
        queen: Move,
        /// The board shows the pawn on the last rank. Otherwise the board shows nothing there.
        seen: bool,
    },
    /// A promotion with a piece of the other colour.
    WrongColour {
        /// The half-move with the piece of the right colour.
        meant: Move,
    },
    /// Castling with the rook left behind, where castling was possible (4.7.2).
    CastlingIncomplete {
        /// The castling.
        castling: Move,
    },
    /// An illegal move.
    Illegal(IllegalAct),
    /// Pieces are missing and nothing else is wrong: a hand holds them, or the board does not read them.
    OnlyMissing(Bitboard),
}

impl Explanation {
    /// True for a pawn, or a piece of the opponent, that is read on the last rank: it is seen, so no doubt about the board or the record
    /// excuses it.
    #[must_use]
    pub fn stands_where_it_may_not(&self) -> bool {
        matches!(
            self,
            Self::PawnNotReplaced { seen: true, .. } | Self::WrongColour { .. }
        )
    }
}

/// Explains why the board shows `seen` after the player to move in `stand` has pressed.
#[must_use]
pub fn explain(stand: &Stand, seen: &Placement) -> Explanation {
    let seen = &readable(stand.placement(), seen);
    let us = stand.turn();
    let differing = stand.placement().differing(seen);
    if differing.is_empty() {
        return Explanation::Nothing;
    }
    if stand
        .candidates()
        .any(|c| is_lifted_only(&c.after(stand.placement()), seen, !us))
    {
        return Explanation::Legal;
    }
    if let Some(promotion) = promotion(stand, seen, differing) {
        return promotion;
    }
    let arrived: Bitboard = differing
        .into_iter()
        .filter(|s| !seen.at(*s).is_empty())
        .collect();
    if arrived.is_empty() {
        return Explanation::OnlyMissing(differing);
    }
    if let Some(castling) = castling(stand, seen, differing) {
        return castling;
    }
    if is_with_victim_left(stand, seen) {
        return Explanation::Legal;
    }
    if let Some(Castled { king, .. }) = castled_otherwise(stand, seen, differing) {
        let left = with_lifted(stand, seen, !us, None);
        return Explanation::Illegal(IllegalAct::new(Some(king), Reason::CastledOtherwise, &left));
    }
    if let Some((from, to)) = displaced(stand, seen, differing, us) {
        let reason = reason_of(stand, from, to);
        let left = with_lifted(stand, seen, !us, passed_by(stand, from, to));
        return Explanation::Illegal(IllegalAct::carried(from, to, reason, &left));
    }
    if let Some((from, to)) = displaced(stand, seen, differing, !us) {
        let reason = Reason::OpponentsPieceMoved;
        return Explanation::Illegal(IllegalAct::carried(from, to, reason, seen));
    }
    Explanation::Illegal(IllegalAct::new(None, Reason::Unexplained, seen))
}

/// True when a capture en passant explains `seen`, but for the captured pawn, which is still there: a hand is about to take it off,
/// or has forgotten to.
fn is_with_victim_left(stand: &Stand, seen: &Placement) -> bool {
    stand.candidates().filter(|c| c.mv.is_en_passant()).any(|c| {
        let mut left = c.after(stand.placement());
        let victim =
            c.mv.from()
                .map(|from| Square::from_coords(c.mv.to().file(), from.rank()));
        if let Some(victim) = victim {
            left.set(victim, stand.placement().at(victim));
        }
        is_lifted_only(&left, seen, !stand.turn())
    })
}

/// The one piece of `color` that went from one square to another, if that is all that `color` did
/// and the other side has at most lifted pieces.
#[must_use]
pub fn displaced(
    stand: &Stand,
    seen: &Placement,
    differing: Bitboard,
    color: Color,
) -> Option<(Square, Square)> {
    let placement = stand.placement();
    let mut arrived = differing.into_iter().filter(|s| seen.at(*s).color().is_some());
    let to = arrived.next()?;
    if arrived.next().is_some() {
        return None;
    }
    let code = seen.at(to);
    if code.color() != Some(color) {
        return None;
    }
    let left: Bitboard = differing
        .into_iter()
        .filter(|s| *s != to && seen.at(*s).is_empty() && placement.at(*s).color() == Some(color))
        .collect();
    let from = left.single_square()?;
    let is_it = placement.at(from) == code || is_replaced(placement, from, to, code);
    is_it.then_some((from, to))
}

/// True when `code` on the last rank may have come for the pawn of `from`, which was carried straight on, or to the next file.
pub(super) fn is_replaced(before: &Placement, from: Square, to: Square, code: Code) -> bool {
    let (Some(pawn), Some(piece)) = (before.at(from).piece(), code.piece()) else {
        return false;
    };
    let on_last_rank = to.rank() == pawn.color.fold_wb(Rank::Eighth, Rank::First);
    let may_be_put = !matches!(piece.role, Role::Pawn | Role::King);
    let is_near = from.distance(to) == 1 || from.file() == to.file();
    pawn.role == Role::Pawn && pawn.color == piece.color && on_last_rank && may_be_put && is_near
}

/// True when `seen` is `expected`, but for pieces of `color` that a hand may hold.
#[must_use]
pub fn is_lifted_only(expected: &Placement, seen: &Placement, color: Color) -> bool {
    let mut differing = expected.differing(seen).into_iter();
    differing.all(|s| seen.at(s).is_empty() && expected.at(s).color() == Some(color))
}

/// `seen`, but with what stood there `before` on squares that show a code of no chess piece.
fn readable(before: &Placement, seen: &Placement) -> Placement {
    let mut readable = seen.clone();
    for square in seen.occupied() {
        if seen.at(square).piece().is_none() {
            readable.set(square, before.at(square));
        }
    }
    readable
}

/// True when the pieces of `squares` are missing or lie on other squares of `squares`, and no more are
/// missing than a sleeve takes along.
fn only_fell(stand: &Stand, seen: &Placement, squares: Bitboard) -> bool {
    let (lying, missing): (Vec<_>, Vec<_>) = squares.into_iter().partition(|s| !seen.at(*s).is_empty());
    let mut homes: Vec<_> = missing.iter().map(|s| stand.placement().at(*s)).collect();
    let fell = |s: &Square| {
        let home = homes.iter().position(|code| *code == seen.at(*s));
        home.map(|i| homes.swap_remove(i)).is_some()
    };
    missing.len() <= MOST_FALLEN && lying.iter().all(fell)
}

/// The square of the pawn that is taken if a pawn went from `from` to `to` as in a capture en passant.
pub(super) fn passed_by(stand: &Stand, from: Square, to: Square) -> Option<Square> {
    let pawn = stand.board().role_at(from) == Some(Role::Pawn);
    let aside = pawn && from.file() != to.file() && stand.placement().at(to).is_empty();
    aside.then(|| Square::from_coords(to.file(), from.rank()))
}

/// `seen` with the missing pieces of `color` put back. The time of their player runs, and he has lifted them
/// to reply. The piece on the square `taken` was captured and stays away.
fn with_lifted(stand: &Stand, seen: &Placement, color: Color, taken: Option<Square>) -> Placement {
    let before = stand.placement();
    let mut left = seen.clone();
    for square in before.differing(seen) {
        let lifted = seen.at(square).is_empty() && before.at(square).color() == Some(color);
        if lifted && taken != Some(square) {
            left.set(square, before.at(square));
        }
    }
    left
}

/// `seen` with the pieces put back that are missing on `squares` and lie on none of these: the act has nothing to do with them, and
/// they are read again.
fn with_missing(stand: &Stand, seen: &Placement, squares: Bitboard) -> Placement {
    let mut left = seen.clone();
    for square in squares.into_iter().filter(|s| seen.at(*s).is_empty()) {
        let code = stand.placement().at(square);
        if squares.into_iter().all(|s| seen.at(s) != code) {
            left.set(square, code);
        }
    }
    left
}

fn promotion(stand: &Stand, seen: &Placement, differing: Bitboard) -> Option<Explanation> {
    let us = stand.turn();
    let pawn = Code::from(us.pawn());
    let queens = stand
        .candidates()
        .filter(|c| c.mv.promotion() == Some(Role::Queen));
    let mut unseen = None;
    for candidate in queens {
        let (Some(from), to) = (candidate.mv.from(), candidate.mv.to()) else {
            continue;
        };
        let rest = differing.without(from).without(to);
        let there = seen.at(to);
        if there == pawn && seen.at(from).is_empty() && only_fell(stand, seen, rest) {
            return Some(Explanation::PawnNotReplaced {
                queen: candidate.mv,
                seen: true,
            });
        }
        let rest_is_theirs = rest
            .into_iter()
            .all(|s| seen.at(s).is_empty() && stand.placement().at(s).color() == Some(!us));
        if !rest_is_theirs || !seen.at(from).is_empty() {
            continue;
        }
        if there.color() == Some(!us) && differing.contains(to) {
            return Some(Explanation::WrongColour {
                meant: promotion_like(stand, candidate.mv, there),
            });
        }
        if there.is_empty() && rest.is_empty() && (differing.contains(to) || !candidate.mv.is_capture()) {
            unseen = Some(candidate.mv);
        }
    }
    unseen.map(|queen| Explanation::PawnNotReplaced { queen, seen: false })
}

/// The promotion to the kind of piece that was put there, in the right colour.
fn promotion_like(stand: &Stand, queen: Move, there: Code) -> Move {
    let role = there.piece().map(|p| p.role);
    stand
        .moves()
        .into_iter()
        .find(|m| m.from() == queen.from() && m.to() == queen.to() && m.promotion() == role)
        .unwrap_or(queen)
}

fn castling(stand: &Stand, seen: &Placement, differing: Bitboard) -> Option<Explanation> {
    let us = stand.turn();
    let rank = us.fold_wb(Rank::First, Rank::Eighth);
    let (king, rook) = (Code::from(us.king()), Code::from(us.rook()));
    let home = Square::from_coords(File::E, rank);
    if stand.placement().at(home) != king || !seen.at(home).is_empty() {
        return None;
    }
    for rook_from in [File::H, File::A].map(|file| Square::from_coords(file, rank)) {
        let [king_to, rook_to] = castled(home, rook_from);
        if seen.at(king_to) != king || stand.placement().at(rook_from) != rook {
            continue;
        }
        let king_went = Bitboard::EMPTY.with(home).with(king_to);
        let rook_went = Bitboard::EMPTY.with(rook_from).with(rook_to);
        let others = differing & !king_went & !rook_went;
        if !only_fell(stand, seen, others) {
            continue;
        }
        let at_home = rook_went & !differing;
        let both_went = at_home.is_empty() && seen.at(rook_to) == rook && seen.at(rook_from).is_empty();
        if !both_went && at_home != rook_went {
            continue;
        }
        let possible = stand
            .moves()
            .into_iter()
            .find(|m| matches!(m, Move::Castle { rook, .. } if *rook == rook_from));
        return Some(match possible {
            // Only another piece stands wrong.
            Some(_) if both_went => Explanation::Legal,
            Some(castling) => Explanation::CastlingIncomplete { castling },
            None => {
                let (reason, left) = (Reason::CastlingNotAllowed, with_missing(stand, seen, others));
                Explanation::Illegal(IllegalAct::carried(home, king_to, reason, &left))
            }
        });
    }
    None
}

/// From where to where king and rook went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Castled {
    pub(super) king: (Square, Square),
    pub(super) rook: (Square, Square),
}

/// King and a rook of the player to move, where both went along the back rank in one turn, and not as castling moves them (3.8.2): no
/// half-move moves both otherwise. The opponent has at most lifted pieces.
pub(super) fn castled_otherwise(stand: &Stand, seen: &Placement, differing: Bitboard) -> Option<Castled> {
    let us = stand.turn();
    let before = stand.placement();
    let went = |piece: Code| {
        let is_at = |placement: &Placement, square: &Square| placement.at(*square) == piece;
        let left = differing
            .into_iter()
            .filter(|s| is_at(before, s) && !is_at(seen, s));
        let came = differing
            .into_iter()
            .filter(|s| is_at(seen, s) && !is_at(before, s));
        let (left, came) = (left.collect::<Bitboard>(), came.collect::<Bitboard>());
        Some((left.single_square()?, came.single_square()?))
    };
    let king = went(Code::from(us.king()))?;
    let rook = went(Code::from(us.rook()))?;
    let theirs = [king.0, king.1, rook.0, rook.1].into_iter().collect::<Bitboard>();
    let is_lifted = |s: Square| seen.at(s).is_empty() && before.at(s).color() == Some(!us);
    // A king that stands where castling puts him has castled, and his rook may still be on its way.
    let may_castle_from = king.0.file() == File::E || stand.mode() == CastlingMode::Chess960;
    if may_castle_from && matches!(king.1.file(), File::C | File::G) {
        return None;
    }
    let at_home = theirs.into_iter().all(|s| s.rank() == us.backrank());
    let alone = (differing & !theirs).into_iter().all(is_lifted);
    (at_home && alone).then_some(Castled { king, rook })
}

/// Why no legal half-move carries the piece on `from` to `to`.
#[must_use]
pub fn reason_of(stand: &Stand, from: Square, to: Square) -> Reason {
    let board = stand.board();
    let Some(piece) = board.piece_at(from) else {
        return Reason::Unexplained;
    };
    match board.piece_at(to) {
        Some(taken) if taken.color == piece.color => return Reason::OwnPieceCaptured,
        Some(taken) if taken.role == Role::King => return Reason::KingCaptured,
        _ => {}
    }
    if targets(board, from, piece).contains(to) {
        Reason::KingLeftInCheck
    } else {
        Reason::PieceCannotMoveSo
    }
}

#[cfg(test)]
mod tests;
