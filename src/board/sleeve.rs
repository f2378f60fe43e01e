//! Pieces that a player's hand or sleeve took along while he moved. A fall is one more hypothesis of why
//! pieces are missing or stand elsewhere at his press. Its rivals are a hand of the opponent and a square
//! that is not read.

use shakmaty::{Bitboard, Color, Move, Role, Square};

use super::{
    bill::Item,
    candidate::{Candidate, castled},
    evidence::AT_ONCE_MS,
    fall::{Fall, Fallen, MOST_FALLEN},
    line::Line,
    placement::Code,
    ply::Ply,
    row::{self, Away},
    sensed::{SCAN_MS, Sensed},
    stand::targets,
    weight,
};
use crate::time::Millis;

/// A square whose piece was taken along is read to be empty this long after the half-move at the latest: a
/// scan, and the time that the hand needs on its way back.
const SLEEVE_MS: u64 = 350;
/// Two things that happen at once may be told by two scans, this far apart.
const NEXT_SCAN_MS: u64 = 100;
/// A piece that came to lie elsewhere before the press is read there this long after the press at the latest.
pub(super) const LIES_MS: u64 = 450;
/// A piece that is knocked is read elsewhere at most this long after it was gone: within a scan.
const KNOCK_MS: u64 = 260;
/// A piece that is read so long after its press was not read on its square before: a scan and the line (milliseconds).
const LATE_MS: u64 = 300;
/// So many of the last half-moves tell whether the players press for every half-move.
const LATELY: usize = 6;

/// So many squares besides are emptied at once by the half-move itself: its own piece's, and that of what it captures.
const HELD: usize = 2;

/// When a piece must have left its square to have been taken along by a hand.
struct Window {
    by: Color,
    pressed: Millis,
    /// When the opponent had completed the half-move before.
    turn_began: Millis,
    /// From when until when the hand was over the board.
    hand: (Millis, Millis),
    /// When the half-move was made.
    done: Millis,
    /// The opponent's hand is at the board.
    is_answered: bool,
}

/// True where so many squares came to read nothing at once with one at `left` that no sleeve emptied them: a part of the board is not
/// read.
fn went_dark(left: Millis, sensed: &Sensed) -> bool {
    // Some of them may read a piece again.
    let emptied = Square::ALL
        .into_iter()
        .filter_map(|square| sensed.emptied_at(square));
    let at_once = |at: &Millis| at.since(left).max(left.since(*at)) <= NEXT_SCAN_MS;
    emptied.filter(at_once).count() > MOST_FALLEN + HELD
}

impl Window {
    fn of(line: &Line, last: &Ply, sensed: &Sensed) -> Option<Self> {
        let pressed = last.pressed?;
        // King and rook arrive one after the other.
        let castled = last.kind.legal().filter(|mv| mv.is_castle());
        let steps = castled.map_or(Bitboard::EMPTY, Candidate::touched);
        let done = steps
            .into_iter()
            .map(|s| sensed.since(s))
            .fold(last.at, Millis::max);
        let before = line.plies.len().checked_sub(2).map(|i| &line.plies[i]);
        let turn_began = before.map_or(last.began, |ply| ply.pressed.unwrap_or(ply.at));
        // A hand may take the captured piece away before it lifts its own.
        let emptied = |to| Some(sensed.since(to) - sensed.was_empty_for(to)?);
        let taken = last.kind.from_to().and_then(|(_, to)| emptied(to));
        let began = taken
            .filter(|taken| *taken > turn_began)
            .map_or(last.began, |taken| taken.min(last.began));
        Some(Self {
            by: !line.turn(),
            pressed,
            turn_began,
            // At the press the hand was at the clock.
            hand: (began, (done + SLEEVE_MS).min(pressed)),
            done,
            is_answered: false,
        })
    }

    /// When `square` came to show what it shows. If nobody read the board then, it may have been while the hand was over the
    /// board, or else in its turn. None if it was at another time.
    fn changed(&self, square: Square, sensed: &Sensed) -> Option<Millis> {
        let unheard = |from, until| sensed.may_be_seen_at(square, from, until);
        let (from, until) = self.hand;
        sensed
            .seen_at(square)
            .or_else(|| unheard(from, until))
            .or_else(|| unheard(self.turn_began, self.pressed))
    }

    /// When the piece `code` left `home`. What left it while nobody read the board is a piece of the mover: the opponent moves
    /// his own pieces then.
    fn left(&self, home: Square, code: Code, sensed: &Sensed) -> Option<Millis> {
        let own = || code.color() == Some(self.by);
        let heard = sensed.seen_at(home);
        heard.or_else(|| self.changed(home, sensed).filter(|_| own()))
    }

    /// True when a piece that left at `left` and is read nowhere may have been taken along.
    fn has_missing(&self, left: Millis) -> bool {
        self.hand.0 <= left + NEXT_SCAN_MS && left <= self.hand.1
    }

    /// True when a piece that left at `left` and arrived elsewhere at `came` was knocked before the press: no
    /// hand is so quick, and nobody replies while the mover still holds his piece.
    fn has_knocked(&self, left: Millis, came: Millis) -> bool {
        let apart = left.since(came).max(came.since(left));
        let in_hand = self.hand.0 <= left.min(came) && left.max(came) <= self.done;
        let most = if in_hand { KNOCK_MS } else { AT_ONCE_MS };
        apart <= most && left.max(came) <= self.pressed
    }

    /// True when a piece went onto the next square at these times, and left while the mover reached for his own piece or held it: it may
    /// have been pushed there.
    fn has_pushed(&self, (home, lies): (Square, Square), (left, came): (Millis, Millis)) -> bool {
        let in_hand = self.turn_began < left && self.hand.0 <= left + SCAN_MS && left < self.done;
        let in_turn = left <= came && came <= self.pressed + NEXT_SCAN_MS;
        home.distance(lies) == 1 && in_hand && in_turn
    }

    /// True when the piece `code` that left at `left` and arrived elsewhere at `came` was displaced.
    fn has_displaced(&self, code: Code, left: Millis, came: Millis) -> bool {
        // After the press the opponent may move pieces himself, and takes longer to do so than a knock.
        let at_once = left.since(came).max(came.since(left)) <= AT_ONCE_MS;
        let left_by = if code.color() == Some(self.by) && !self.is_answered {
            self.pressed + SCAN_MS
        } else if at_once && !self.is_answered {
            self.pressed + NEXT_SCAN_MS
        } else {
            self.pressed
        };
        self.turn_began <= came && left <= left_by && came <= self.pressed + LIES_MS
    }
}

/// The fall during the last half-move, if the readings allow one.
fn fallen(line: &Line, sensed: &Sensed) -> Option<Fall> {
    let last = line.plies.last()?;
    last.kind.legal()?;
    let missing = line.differing & !sensed.placement().occupied() & !unread_rows(line, sensed);
    if missing.is_empty() {
        return None;
    }
    let mut window = Window::of(line, last, sensed)?;
    if !missing
        .into_iter()
        .any(|home| may_have_fallen(line, home, &window, sensed))
    {
        return None;
    }
    let moved = last.kind.from_to();
    let king = moved.filter(|_| last.kind.legal().is_some_and(|mv| mv.role() == Role::King));
    // If nobody read that the moved piece left its square, a missing piece of its kind may be the one
    // that moved.
    let left_unread = |from: &Square| sensed.since(*from) < window.turn_began;
    let twin = moved
        .filter(|(from, _)| left_unread(from))
        .map(|(_, to)| sensed.at(to));
    let mut astray: Vec<Square> = line.misplaced(sensed).into_iter().collect();
    window.is_answered = !astray.is_empty() && is_answered(line, &window, &astray, sensed);
    let (mut like_reply, mut carried_like_reply, mut by_either) = (false, false, false);
    let mut first_left = None::<Millis>;
    let mut pieces = Vec::new();
    for home in missing {
        let code = line.expects(home);
        let own = moved.is_some_and(|(from, to)| home == from || home == to);
        if code.is_empty() || own || twin == Some(code) {
            continue;
        }
        let Some(left) = window.left(home, code, sensed) else {
            continue;
        };
        // A piece that lies where a reply of the opponent would put it is that reply, or begins it,
        // unless it came there faster than a hand.
        let displaced = |s: &Square| {
            let came = window.changed(*s, sensed).unwrap_or_else(|| sensed.since(*s));
            let knocked = sensed.slack() == 0 && window.has_knocked(left, came);
            let pushed = sensed.slack() == 0 && window.has_pushed((home, *s), (left, came));
            let window = window.has_displaced(code, left, came);
            // A piece like the one that moved, on the square that this one has left, is rather that one, and the other has moved.
            let is_twin = moved.is_some_and(|(from, to)| *s == from && line.expects(to) == code);
            // A rook that stands where castling with that king puts it has castled.
            let has_castled = king.is_some_and(|(from, to)| castled(from, home) == [to, *s]);
            let is_other = !is_twin && !has_castled;
            let is_displaced = knocked || pushed || !is_reply(line, home, *s, code);
            sensed.at(*s) == code && is_other && window && is_displaced
        };
        let lies = astray.iter().position(displaced);
        let lies = lies.map(|i| astray.swap_remove(i));
        // A player waits to see what he answers, so what was lifted a scan before that was read was not lifted for a reply.
        let is_hasty = |lies| {
            let apart = sensed.since(lies).since(left);
            apart > AT_ONCE_MS && left + SCAN_MS <= window.done
        };
        if let Some(lies) = lies.filter(|lies| is_reply(line, home, *lies, code) && !is_hasty(*lies)) {
            like_reply = true;
            let came = window.changed(lies, sensed).unwrap_or_else(|| sensed.since(lies));
            carried_like_reply |= !window.has_knocked(left, came);
        }
        by_either |= left > window.pressed;
        let carried = || sensed.read_elsewhere(code, line.placement().squares_of(code), left);
        // A king that is read elsewhere has castled or was moved: a sleeve seldom takes a king along, and pushes it at the most.
        let is_king = code.piece().is_some_and(|piece| piece.role == Role::King);
        let theirs = code.color() == Some(!window.by);
        let pushed = |lies| theirs && window.has_pushed((home, lies), (left, sensed.since(lies)));
        if is_king && lies.is_some_and(|lies| !pushed(lies)) {
            return None;
        }
        if lies.is_some() || window.has_missing(left) && !carried() && !went_dark(left, sensed) {
            first_left = Some(first_left.map_or(left, |first| first.min(left)));
            pieces.push(Fallen {
                home,
                code,
                lies,
                back: false,
                lay: None,
                put: false,
            });
        }
    }
    let mut fall = Fall::new(window.by, window.pressed, &pieces)?;
    let two_hands = first_left.is_some_and(|left| is_replying(line, &fall, &window, left, sensed));
    let like_move = |piece: &Fallen| {
        let own = piece.code.color() == Some(window.by);
        own && piece
            .lies
            .is_some_and(|lies| is_far_on_its_way(line, piece, lies))
    };
    let is_heard = |s: Square| sensed.seen_at(s).is_some();
    let unheard = |piece: &Fallen| !is_heard(piece.home) || piece.lies.is_some_and(|s| !is_heard(s));
    let (unheard, like_move) = (fall.pieces().any(unheard), fall.pieces().any(like_move));
    fall.like_reply = like_reply;
    fall.carried_like_reply = carried_like_reply;
    fall.unheard = unheard;
    fall.like_move = like_move;
    fall.by_either = by_either;
    fall.two_hands = two_hands;
    Some(fall)
}

/// The squares of pieces that are not read because nothing is read of their rank or file.
fn unread_rows(line: &Line, sensed: &Sensed) -> Bitboard {
    let occupied = sensed.placement().occupied();
    let pieces = line.stand.placement().occupied();
    // What the last half-move touched tells nothing: the piece may never have been read there.
    let last = line.plies.last().filter(|last| last.kind.legal().is_some());
    let touched = last
        .and_then(|last| last.kind.legal())
        .map_or(Bitboard::EMPTY, Candidate::touched);
    // But where it is read long after its press, its rank or file was not read.
    let came_late = |square: Square| {
        let pressed = last.and_then(|last| last.pressed);
        pressed.is_some_and(|pressed| sensed.since(square) > pressed + LATE_MS)
    };
    let late = last
        .and_then(|last| last.kind.from_to())
        .map(|(_, to)| to)
        .filter(|to| came_late(*to));
    let vanished = |square| sensed.vanished_at(square, line.stand.placement().at(square));
    let away = |square| {
        let from = vanished(square);
        let is_known = occupied.contains(square) && (from.is_some() || late == Some(square));
        let until = sensed.seen_at(square).filter(|_| is_known)?;
        Some(Away { from, until })
    };
    let at_rest = pieces & !touched;
    let of_row = late.map_or(at_rest, |late| at_rest.with(late));
    row::unread(pieces & !occupied, occupied) | row::vanished(at_rest, vanished) | row::blinked(of_row, away)
}

/// True when the pieces that fell, as `line` has it, are those of a rank or file that is not read. The last of them may have
/// vanished a scan later.
pub(super) fn takes_row_for_fall(line: &Line, sensed: &Sensed) -> bool {
    let fall = line.faults.fall;
    fall.is_some_and(|fall| (fall.homes() & unread_rows(line, sensed)).any())
}

/// True when at `left` the mover's hand was no longer over the board, and the opponent had lifted a piece for his reply.
fn is_replying(line: &Line, fall: &Fall, window: &Window, left: Millis, sensed: &Sensed) -> bool {
    let lifted = |s: Square| {
        let gone = sensed.at(s).is_empty() && line.expects(s).color() == Some(!window.by);
        gone && (window.done..left).contains(&sensed.since(s))
    };
    let missing = line.differing & !fall.squares();
    left > window.hand.1 && missing.into_iter().any(lifted)
}

/// False when the time at which the piece of `home` left it tells that it has not fallen: as a rule the opponent has lifted it.
fn may_have_fallen(line: &Line, home: Square, window: &Window, sensed: &Sensed) -> bool {
    let code = line.expects(home);
    let Some(left) = window.left(home, code, sensed) else {
        return false;
    };
    let came = |s| window.changed(s, sensed).unwrap_or_else(|| sensed.since(s));
    let mut others = (line.differing & sensed.placement().occupied()).into_iter();
    window.has_missing(left)
        || others.any(|s| sensed.at(s) == code && window.has_displaced(code, left, came(s)))
}

/// True when the opponent's hand is at the board: it has put down a reply, or lifted a piece since the press.
fn is_answered(line: &Line, window: &Window, astray: &[Square], sensed: &Sensed) -> bool {
    let missing = line.differing.into_iter().filter(|s| sensed.at(*s).is_empty());
    missing.into_iter().any(|home| {
        let code = line.expects(home);
        let mut lies = astray.iter().filter(|s| sensed.at(**s) == code).peekable();
        let theirs = code.color() == Some(!window.by) && sensed.since(home) > window.pressed;
        theirs && lies.peek().is_none() || lies.any(|s| is_reply(line, home, *s, code))
    })
}

/// True when a reply puts the piece `code` from `home` onto `to`.
fn is_reply(line: &Line, home: Square, to: Square, code: Code) -> bool {
    let reaches = |mv: &&Move| match **mv {
        Move::Normal { from, to: goal, .. } => (from, goal) == (home, to),
        _ => Candidate::touched(**mv).contains(home),
    };
    let mut replies = line.moves().iter().filter(reaches);
    replies.any(|mv| line.stand.candidate(*mv).changes().contains(&(to, code)))
}

/// `line` with the fall that explains its missing pieces, if there is one.
pub(super) fn with_fall(line: &Line, sensed: &Sensed) -> Option<Line> {
    let known = line.faults.fall.map(|fall| fall.pressed);
    if known.is_some() && known == line.plies.last()?.pressed {
        return None;
    }
    let fall = fallen(line, sensed)?;
    let mut with = line.clone();
    // Two squares of one dump changed in no time as far as anybody knows, as in a lump. A hand takes longer.
    let at_once = |piece: &Fallen, lies: Square| {
        sensed.least_between(sensed.since(piece.home), sensed.since(lies)) <= KNOCK_MS
    };
    let in_error = |piece: &Fallen, lies: Square| is_in_error(line, &fall, piece, lies, sensed);
    let knocked = |piece: &Fallen, lies: Square| {
        (at_once(piece, lies) || in_error(piece, lies)) && !walks(line, &fall, piece, lies)
    };
    let price = |piece: &Fallen| match piece.code.color() {
        _ if piece.lies.is_some_and(|lies| knocked(piece, lies)) => weight::DISPLACED,
        _ if piece.lies.is_some() => weight::CARRIED,
        color if color == Some(fall.by) => weight::FELL_OWN,
        _ => weight::FELL_THEIRS,
    };
    let first = fall.pieces().map(price).fold(0.0, f32::max);
    let more = fall.pieces().count() as f32 - 1.0;
    with.charge(Item::Displaced, first + weight::FELL_TOO * more);
    let in_no_time = |piece: &Fallen| piece.lies.is_none_or(|lies| knocked(piece, lies));
    let is_captured = |piece: &Fallen| {
        let carried = piece.lies.is_some_and(|lies| !at_once(piece, lies));
        carried && line.moves().iter().any(|mv| mv.to() == piece.home)
    };
    let mut assumed = fall;
    assumed.knocked = fall.pieces().all(in_no_time);
    let by_push = |piece: &Fallen| {
        let theirs = piece.code.color() == Some(!fall.by);
        let slowly = |lies| !at_once(piece, lies) && in_error(piece, lies);
        theirs && piece.lies.is_some_and(slowly)
    };
    assumed.by_either |= fall.pieces().any(by_push);
    assumed.like_capture = fall.pieces().any(is_captured);
    with.faults.fall = Some(assumed);
    with.hold_against(fall.squares(), sensed);
    Some(with)
}

/// True when the mover's hand, before the press, has displaced a piece, however long it took: it has put back on the wrong square what it
/// had knocked over, where no half-move of that piece leads, or has pushed it.
fn is_in_error(line: &Line, fall: &Fall, piece: &Fallen, lies: Square, sensed: &Sensed) -> bool {
    let (left, came) = (sensed.since(piece.home), sensed.since(lies));
    let in_turn = left <= came && left < fall.pressed && came <= fall.pressed + NEXT_SCAN_MS;
    let last = line.plies.last().and_then(|ply| ply.kind.legal());
    let castled = last.filter(|mv| mv.is_castle());
    // The rook of a castling may never have come to where it belongs.
    let was_read = sensed.before(piece.home) == piece.code
        || castled.is_some_and(|mv| Candidate::touched(mv).contains(piece.home));
    let is_own = piece.code.color() == Some(fall.by);
    let is_put = is_own && !is_on_its_way(line, piece, lies);
    (is_put || is_pushed(line, piece, lies, sensed)) && in_turn && was_read && !fall.two_hands
}

/// True when a piece lies on the square next to its own, and the mover's hand was over the board as it left: a push takes longer than a
/// knock. A piece that lies where its own way leads was pushed if the mover had not put down his own piece, another one if his hand was
/// beside it.
fn is_pushed(line: &Line, piece: &Fallen, lies: Square, sensed: &Sensed) -> bool {
    let last = line.plies.last();
    let Some((last, (from, to))) = last.and_then(|last| Some((last, last.kind.from_to()?))) else {
        return false;
    };
    let Some(window) = Window::of(line, last, sensed) else {
        return false;
    };
    let (left, came) = (sensed.since(piece.home), sensed.since(lies));
    if is_on_its_way(line, piece, lies) {
        return sensed.slack() == 0 && window.has_pushed((piece.home, lies), (left, came));
    }
    let mut ends = [from, to].into_iter();
    let is_beside = ends.any(|square| square.distance(piece.home) <= 1);
    let in_hand = window.turn_began < left && window.has_missing(left);
    is_beside && piece.home.distance(lies) == 1 && in_hand
}

/// True when `piece` rather made a half-move than fell: it lies where its own way leads it, further than
/// on the next square, and this line is behind what was played or out of step with it. A line is behind
/// if squares differ that are no part of `fall`. It is out of step if an earlier half-move lacks its
/// press, or if the last half-move was read before one that it follows.
fn walks(line: &Line, fall: &Fall, piece: &Fallen, lies: Square) -> bool {
    let behind = (line.differing & !fall.squares()).any();
    let mut answered = Millis::default();
    let mut lately = line.plies.backwards().take(LATELY);
    let read = lately.next().map(|last| last.at);
    let mut unpressed = false;
    for ply in lately {
        answered = answered.max(ply.at);
        unpressed |= ply.pressed.is_none();
    }
    let out_of_step = unpressed || read.is_some_and(|read| read < answered);
    (behind || out_of_step) && is_far_on_its_way(line, piece, lies)
}

/// True when `piece` lies where its own way leads it, further than on the next square.
fn is_far_on_its_way(line: &Line, piece: &Fallen, lies: Square) -> bool {
    piece.home.distance(lies) > 1 && is_on_its_way(line, piece, lies)
}

/// True when `piece` lies where its own way leads it.
fn is_on_its_way(line: &Line, piece: &Fallen, lies: Square) -> bool {
    let way = |piece_of| targets(line.stand.board(), piece.home, piece_of).contains(lies);
    piece.code.piece().is_some_and(way)
}

#[cfg(test)]
mod tests;
