//! Acts that no legal half-move explains: a piece is gone from its square and stands where it may not. Each
//! act is one more hypothesis, and the legal ones are its rivals.

use std::sync::Arc;

use shakmaty::{Bitboard, File, Move, Role, Square};

use super::{
    act::{Castled, IllegalAct, Reason, castled_otherwise, is_replaced, passed_by, reason_of},
    candidate::{Candidate, castled},
    evidence::EARLY_MS,
    line::Line,
    placement::{Code, Placement},
    sensed::{LIFTED_MS, SCAN_MS, Sensed},
    stand::Stand,
};
use crate::time::Millis;

/// A hand takes off as many of the opponent's pieces in one act.
const MOST_TAKEN: usize = 2;
/// Where the piece went is read at most this long after the press: a scan or two.
const PLACED_MS: u64 = 600;

/// The acts against the Laws that the player whose press waits in `line` may have done, each with the stand
/// that it leaves.
pub(super) fn suspects(line: &Line, sensed: &Sensed) -> Vec<(IllegalAct, Arc<Stand>)> {
    let Some(pressed) = line.awaits() else {
        return Vec::new();
    };
    // A pawn that still stands on the last rank is the business of [`super::act::explain`].
    if line.promoting(sensed).any() {
        return Vec::new();
    }
    if let Some(left) = pawn_left(line, sensed, pressed) {
        return vec![left];
    }
    let stand = &line.stand;
    let since = line.plies.last().map_or(Millis(0), |ply| ply.at);
    let fresh =
        |s: Square, late: u64| sensed.since(s) + EARLY_MS >= since && sensed.since(s).since(pressed) <= late;
    if let Some(Castled { king, rook }) = castled_otherwise(stand, sensed.placement(), line.differing())
        && [king, rook]
            .into_iter()
            .all(|(from, to)| fresh(from, LIFTED_MS) && fresh(to, PLACED_MS))
    {
        let mut placement: Placement = stand.placement().clone();
        for square in [king.0, rook.0, king.1, rook.1] {
            placement.set(square, sensed.at(square));
        }
        let act = IllegalAct::carried(king.0, king.1, Reason::CastledOtherwise, &placement);
        return vec![(act, Arc::new(stand.left_as(&placement)))];
    }
    let mut found = Vec::new();
    let all_read = line.faults().hidden.is_empty();
    for to in line.differing() {
        let piece = sensed.at(to);
        // The piece that belongs on `to` is hidden. It may stand elsewhere, and perhaps nothing was taken
        // here.
        let unread = line.faults().hidden.contains(to);
        // A dump does not tell when the piece came. It is his own, so the opponent has not put it there.
        let told_late = sensed.seen_at(to).is_none() && sensed.since(to) >= pressed;
        if unread || piece.color() != Some(stand.turn()) || !told_late && !fresh(to, PLACED_MS) {
            continue;
        }
        let left = line.differing().into_iter().filter(|from| {
            let before = stand.placement().at(*from);
            // A piece that was not read for a while may be read again, and the pawn not read.
            let is_it = before == piece || all_read && is_replaced(stand.placement(), *from, to, piece);
            is_it && sensed.at(*from) != before && fresh(*from, LIFTED_MS)
        });
        // A piece that rested on a legal square at the press was knocked on by the opponent, whose time runs.
        for from in left.filter(|from| !is_legal(line, *from, to) && !rested(line, sensed, *from, pressed)) {
            let (act, after) = carried(stand, sensed, from, to);
            let gone = taken_off(line, sensed, pressed);
            let passed = passed_by(stand, from, to).map_or(Bitboard::EMPTY, Bitboard::from_square) & gone;
            for taken in [passed, gone & !Bitboard::from_square(to)] {
                if taken.any() {
                    found.push(without(stand, &act, taken));
                }
            }
            if passed.is_empty() {
                found.push((act, after));
            }
        }
    }
    found.extend(opponents_piece(line, sensed, pressed));
    // If two pieces went astray, no single act explains the board.
    let acts: Vec<_> = found.iter().filter_map(|(act, _)| act.from_to()).collect();
    let apart = |a: &(Square, Square)| acts.iter().any(|b| a.0 != b.0 && a.1 != b.1);
    if acts.iter().any(apart) {
        found.clear();
    }
    found
}

/// The act against the Laws of the player to move in `line` that his opponent has answered, where no press tells of either: one
/// piece was carried where it may not go, and what stands on the board follows from that by one legal half-move of the opponent. Or,
/// without a clock, castling that is not allowed, which nobody has answered yet.
pub(super) fn answered(line: &Line, sensed: &Sensed) -> Option<(IllegalAct, Arc<Stand>)> {
    let (stand, hidden) = (&line.stand, line.faults().hidden);
    // One of its kind is read elsewhere: it has gone there, although the line takes it for unread.
    let has_gone = |from: Square| {
        let piece = stand.placement().at(from);
        line.differing().into_iter().any(|to| sensed.at(to) == piece)
    };
    let differing = line.differing() | hidden;
    let went = line.plies.last().and_then(|last| last.kind.from_to());
    let is_taken_back = stands_back(went, line.placement(), sensed);
    if differing.count() < 3 || !hidden.into_iter().all(has_gone) || is_taken_back {
        return None;
    }
    let left = differing & stand.board().by_color(stand.turn());
    let emptied = left.into_iter().filter(|from| sensed.at(*from).is_empty());
    let pairs = emptied.flat_map(|from| differing.into_iter().map(move |to| (from, to)));
    let mut acts = pairs.filter_map(|(from, to)| {
        let piece = stand.placement().at(from);
        let stands = sensed.at(to) == piece;
        // It may have been taken there.
        let theirs = sensed.at(to).color() == Some(!stand.turn());
        let stood = theirs && sensed.has_shown(to, piece, sensed.since(from));
        if !(stands || stood) || sensed.since(to) < sensed.since(from) || may_go(line, from, to) {
            return None;
        }
        let mut left = carried(stand, sensed, from, to);
        // A pawn captured as in passing.
        if let Some(passed) = passed_by(stand, from, to).filter(|passed| sensed.at(*passed).is_empty()) {
            left = without(stand, &left.0, Bitboard::from_square(passed));
        }
        let (act, after) = left;
        let replied = |reply: &Candidate| {
            let lands = reply.mv.to();
            let later = sensed.since(lands) > sensed.since(from);
            later && reply.after(after.placement()) == *sensed.placement()
        };
        // Nothing else looks like castling, and without a clock no press is to be waited for.
        let castled = act.reason.is_of_castling() && !line.clock_runs;
        let stands = castled && after.placement() == sensed.placement();
        let is_answered = || after.candidates().any(|reply| replied(&reply));
        (stands || is_answered()).then_some((act, after))
    });
    let act = acts.next()?;
    acts.next().is_none().then_some(act)
}

/// True where the piece that went from one square to the other last, and belongs on the second in `placement`, stands again where it
/// came from: the players take half-moves back.
#[must_use]
pub fn stands_back(went: Option<(Square, Square)>, placement: &Placement, sensed: &Sensed) -> bool {
    went.is_some_and(|(from, to)| {
        let piece = placement.at(to);
        sensed.at(from) == piece && sensed.at(to) != piece
    })
}

/// The act of leaving a pawn on the last rank at the press at `pressed`, where it was taken since: by the opponent, or by the player
/// himself, too late.
fn pawn_left(line: &Line, sensed: &Sensed, pressed: Millis) -> Option<(IllegalAct, Arc<Stand>)> {
    let stand = &line.stand;
    let was_left = |mv: &Move, from: Square| {
        let pawn = stand.placement().at(from);
        sensed.at(from) != pawn && sensed.stood_through(mv.to(), pawn, pressed)
    };
    let promotion = line.moves().iter().find(|mv| {
        let is_queen = mv.promotion() == Some(Role::Queen);
        is_queen && mv.from().is_some_and(|from| was_left(mv, from))
    })?;
    let (from, to) = (promotion.from()?, promotion.to());
    let mut placement = stand.placement().clone();
    placement.set(to, placement.at(from));
    placement.set(from, Code::EMPTY);
    let act = IllegalAct::left(Some((from, to)), &placement);
    Some((act, Arc::new(stand.left_as(&placement))))
}

/// True when the piece on `from` comes to `to` by a legal half-move, be it a part of castling.
fn may_go(line: &Line, from: Square, to: Square) -> bool {
    let comes = |candidate: Candidate| {
        let piece = line.placement().at(from);
        candidate.squares().contains(from) && candidate.changes().contains(&(to, piece))
    };
    is_legal(line, from, to) || line.moves().iter().any(|mv| comes(line.stand.candidate(*mv)))
}

/// When the turn began of the player who is to move in `line`.
fn turn_began(line: &Line) -> Millis {
    let last = line.plies.last();
    last.map_or(Millis(0), |ply| ply.pressed.unwrap_or(ply.at))
}

/// The squares of the opponent's pieces that were gone when the press came at `pressed`: the mover may have taken them off.
fn taken_off(line: &Line, sensed: &Sensed, pressed: Millis) -> Bitboard {
    let began = turn_began(line);
    let theirs = line.differing() & line.stand.board().by_color(!line.turn()) & !line.faults().hidden;
    let gone = |square: &Square| {
        let left = sensed.seen_at(*square);
        sensed.at(*square).is_empty() && left.is_some_and(|left| began < left && left <= pressed)
    };
    let gone: Bitboard = theirs.into_iter().filter(gone).collect();
    // A hand takes one piece too many. Where more are gone, a part of the board is not read.
    if gone.count() > MOST_TAKEN {
        Bitboard::EMPTY
    } else {
        gone
    }
}

/// `act`, with the pieces on `taken` taken off as well.
fn without(stand: &Stand, act: &IllegalAct, taken: Bitboard) -> (IllegalAct, Arc<Stand>) {
    let mut placement = act.placement();
    for square in taken {
        placement.set(square, Code::EMPTY);
    }
    let after = Arc::new(stand.left_as(&placement));
    (IllegalAct::new(act.from_to(), act.reason, &placement), after)
}

/// True when the piece of `from` rested on a square where it may go when the press at `pressed` came, and
/// left that square only after the press.
fn rested(line: &Line, sensed: &Sensed, from: Square, pressed: Millis) -> bool {
    let piece = line.placement().at(from);
    let mut moves = line.moves().iter().filter(|mv| mv.from() == Some(from));
    moves.any(|mv| {
        let to = mv.to();
        let gone = sensed.at(to).is_empty() && sensed.since(to) > pressed;
        gone && sensed.before(to) == piece && sensed.stood_for(to) >= SCAN_MS
    })
}

/// The act of moving a piece of the opponent's before the press at `pressed`. After the press the opponent
/// may be making his half-move with it.
fn opponents_piece(line: &Line, sensed: &Sensed, pressed: Millis) -> Option<(IllegalAct, Arc<Stand>)> {
    let stand = &line.stand;
    let since = turn_began(line);
    let differing = line.differing();
    let mut arrived = differing.into_iter().filter(|s| sensed.at(*s).is_piece());
    let (to, None) = (arrived.next()?, arrived.next()) else {
        return None;
    };
    let piece = sensed.at(to);
    let from = differing.without(to).single_square()?;
    let (left, came) = (sensed.since(from), sensed.since(to));
    let theirs = piece.color() == Some(!stand.turn()) && stand.placement().at(from) == piece;
    let in_time = since <= left.min(came) && left.min(came) <= pressed && left.max(came) <= pressed + SCAN_MS;
    if !theirs || !in_time || !sensed.at(from).is_empty() {
        return None;
    }
    let mut placement: Placement = stand.placement().clone();
    placement.set(to, piece);
    placement.set(from, Code::EMPTY);
    let act = IllegalAct::carried(from, to, Reason::OpponentsPieceMoved, &placement);
    Some((act, Arc::new(stand.left_as(&placement))))
}

/// True when carrying the piece on `from` to `to` is a legal half-move, or a part of castling that is legal.
fn is_legal(line: &Line, from: Square, to: Square) -> bool {
    let castled_with = |king: Square| king_castles(&line.stand, king, to).map(|(rook, _)| rook);
    line.moves().iter().any(|mv| match *mv {
        Move::Castle { king, rook } => king == from && castled_with(king) == Some(rook),
        _ => mv.from() == Some(from) && mv.to() == to,
    })
}

/// The act of carrying the piece on `from` to `to`, which is not legal.
fn carried(stand: &Arc<Stand>, sensed: &Sensed, from: Square, to: Square) -> (IllegalAct, Arc<Stand>) {
    let castles = king_castles(stand, from, to);
    let mut placement: Placement = stand.placement().clone();
    let came_for_pawn = is_replaced(&placement, from, to, sensed.at(to));
    placement.set(
        to,
        if came_for_pawn {
            sensed.at(to)
        } else {
            placement.at(from)
        },
    );
    placement.set(from, Code::EMPTY);
    let mut reason = reason_of(stand, from, to);
    if let Some((rook_from, rook_to)) = castles {
        reason = Reason::CastlingNotAllowed;
        let rook = placement.at(rook_from);
        if sensed.at(rook_to) == rook && sensed.at(rook_from) != rook {
            placement.set(rook_to, rook);
            placement.set(rook_from, Code::EMPTY);
        }
    }
    let left = Arc::new(stand.left_as(&placement));
    (IllegalAct::carried(from, to, reason, &placement), left)
}

/// From where to where the rook goes if a king goes from `from` to `to` in order to castle.
fn king_castles(stand: &Stand, from: Square, to: Square) -> Option<(Square, Square)> {
    let king = stand.board().piece_at(from).filter(|p| p.role == Role::King)?;
    if from.file() != File::E || from.rank() != to.rank() || !from.rank().eq(&king.color.backrank()) {
        return None;
    }
    let mut corners = [File::A, File::H]
        .map(|file| Square::from_coords(file, from.rank()))
        .into_iter();
    let rook = corners.find(|rook| castled(from, *rook)[0] == to)?;
    let rooks = stand.board().rooks() & stand.board().by_color(king.color);
    rooks.contains(rook).then(|| (rook, castled(from, rook)[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    use shakmaty::Color;

    use crate::board::Lines;

    /// The acts that are suspected after White has changed the initial position as `changes` say, and has
    /// pressed.
    fn found(changes: &[(Square, u8)]) -> Vec<String> {
        let stand = Arc::new(Stand::initial());
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), stand.placement());
        let mut lines = Lines::new(stand, &sensed, Millis(0));
        let mut now = Millis(5000);
        for (square, code) in changes {
            now = now + 200;
            sensed.set(now, *square, Code(*code));
            lines.changed(now, &sensed, Bitboard::from_square(*square));
        }
        let waits = {
            lines.press(now, &sensed, Color::White);
            let mut waiting = lines.all().filter(|l| l.awaits().is_some());
            waiting.next().cloned()
        };
        let acts = waits.map_or(Vec::new(), |line| suspects(&line, &sensed));
        acts.iter().filter_map(|(act, _)| act.uci()).collect()
    }

    #[test]
    fn a_piece_where_it_may_not_go_is_suspected() {
        assert_eq!(found(&[(Square::G1, 0), (Square::G3, 3)]), ["g1g3"]);
        assert_eq!(found(&[(Square::E1, 0), (Square::E2, 5)]), ["e1e2"]);
    }

    #[test]
    fn what_a_dump_shows_long_after_the_press_is_suspected() {
        let stand = Arc::new(Stand::initial());
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), stand.placement());
        let mut lines = Lines::new(stand.clone(), &sensed, Millis(0));
        sensed.set(Millis(5000), Square::G1, Code(0));
        lines.changed(Millis(5000), &sensed, Bitboard::from_square(Square::G1));
        lines.press(Millis(5500), &sensed, Color::White);
        let mut shown = stand.placement().clone();
        shown.set(Square::G1, Code(0));
        shown.set(Square::E3, Code(3));
        sensed.replace(Millis(8500), &shown);
        lines.changed(Millis(8500), &sensed, Bitboard::from_square(Square::E3));
        let mut acts = lines
            .all()
            .filter(|line| line.awaits().is_some())
            .flat_map(|line| suspects(line, &sensed));
        assert_eq!(
            acts.next().and_then(|(act, _)| act.uci()).as_deref(),
            Some("g1e3")
        );
    }

    #[test]
    fn an_illegal_move_is_told_by_an_answer_that_captures_its_piece() {
        let stand = Arc::new(Stand::initial());
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), stand.placement());
        let mut line = Line::new(stand, &sensed, Millis(0));
        let mut read = |at: u64, square: Square, code: u8| {
            sensed.set(Millis(at), square, Code(code));
            line.hold_against(Bitboard::FULL, &sensed);
            answered(&line, &sensed).and_then(|(act, _)| act.uci())
        };
        // White's rook goes from h1 to h6, and Black's pawn captures it.
        assert_eq!(read(1000, Square::H1, 0), None);
        assert_eq!(read(1400, Square::H6, 2), None);
        assert_eq!(read(4000, Square::H6, 0), None);
        assert_eq!(read(4200, Square::G7, 0), None);
        assert_eq!(read(4500, Square::H6, 7).as_deref(), Some("h1h6"));
    }

    #[test]
    fn a_legal_half_move_is_not_suspected() {
        assert_eq!(found(&[(Square::G1, 0), (Square::F3, 3)]), [""; 0]);
    }

    #[test]
    fn a_piece_of_another_kind_is_not_suspected() {
        assert_eq!(found(&[(Square::G1, 0), (Square::G3, 4)]), [""; 0]);
    }
}
