//! What speaks for a half-move and what against it: a line and a half-move that may continue it are compared
//! with the times at which the squares changed.

use shakmaty::{Bitboard, Move, Role, Square};

use super::{
    candidate::Candidate,
    line::{BEGUN_MS, Line, stood::SLID_MS},
    occupancy,
    placement::Code,
    sensed::{SCAN_MS, Sensed},
    weight,
};
use crate::time::Millis;

/// The piece of a reply, or an illegal act, may be read this long before the half-move that it answers, without a price.
pub(super) const EARLY_MS: u64 = 1500;
/// A piece that is read to leave and to arrive within this time was knocked, or was moved between two scans: no hand lifts a piece and
/// puts it down so quickly.
pub(super) const AT_ONCE_MS: u64 = 60;

/// What the readings say of the half-moves that may continue a line.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) line: &'a Line,
    pub(super) sensed: &'a Sensed,
}

impl<'a> Evidence<'a> {
    /// False when the readings speak for no half-move of this line: no piece of the side to move has arrived
    /// where the line has none, and none has left that may have been taken since ([`Self::taken_at_once`]).
    /// Where the board does not know its pieces, any difference may speak for a half-move. Thanks to this
    /// test most lines need not work out their half-moves.
    pub(super) fn may_go_on(self) -> bool {
        let Self { line, sensed } = self;
        let us = Some(line.turn());
        let unread = line.faults.hidden | sensed.dead();
        unread.any() && line.differing.any()
            || self.answered().any()
            || line.differing.into_iter().any(|square| {
                let left = sensed.since(square).max(line.born);
                sensed.is_felt()
                    || sensed.at(square).color() == us
                    || line.placement().at(square).color() == us && sensed.last_arrival() + SCAN_MS >= left
            })
    }

    /// True when the readings speak for `candidate`: a piece arrived where the half-move puts one.
    #[must_use]
    pub(super) fn speaks_for(self, candidate: &Candidate) -> bool {
        let Self { line, sensed } = self;
        candidate.changes().iter().any(|(square, code)| {
            !code.is_empty() && line.differing.contains(*square) && sensed.at(*square).agrees(*code)
        }) || occupancy::may_have_taken(line, candidate, sensed)
    }

    /// True when `candidate` may be the half-move of a piece that is not read on its new square, and
    /// something tells of it: a hidden piece took a piece that is gone, or a piece left for a square that
    /// reads nothing.
    #[must_use]
    pub(super) fn unread_half_move(self, candidate: &Candidate) -> bool {
        let Self { line, sensed } = self;
        let (Some(from), to) = (candidate.mv.from(), candidate.mv.to()) else {
            return false;
        };
        let gone = |s| line.differing.contains(s) && sensed.at(s).is_empty();
        let victim = match candidate.mv {
            Move::EnPassant { .. } => Square::from_coords(to.file(), from.rank()),
            _ => to,
        };
        let took = line.faults.hidden.contains(from) && candidate.mv.is_capture() && gone(victim);
        took || sensed.dead().contains(to) && gone(from)
    }

    /// The squares whose piece left and is read nowhere, where the opponent has moved since. Nobody presses a clock, so the reply
    /// tells of the half-move.
    fn answered(self) -> Bitboard {
        let Self { line, sensed } = self;
        if line.clock_runs || sensed.is_felt() {
            return Bitboard::EMPTY;
        }
        let left = line.differing & line.stand.board().by_color(line.turn()) & !sensed.placement().occupied();
        let read = |from: Square| {
            let piece = line.placement().at(from);
            line.differing.into_iter().any(|s| sensed.at(s) == piece)
        };
        let replied = |from: Square| {
            let theirs = |s: &Square| sensed.at(*s).color() == Some(!line.turn());
            let mut arrived = line.differing.into_iter().filter(theirs);
            arrived.any(|s| sensed.since(s) > sensed.since(from))
        };
        left.into_iter()
            .filter(|from| !read(*from) && replied(*from))
            .collect()
    }

    /// The half-moves of hidden pieces of which no reading would tell.
    pub(super) fn unread_half_moves(self) -> impl Iterator<Item = Candidate> + 'a {
        let line = self.line;
        let hidden = line.faults.hidden;
        let silent = move |mv: &&Move| {
            let from = mv.from().is_some_and(|from| hidden.contains(from));
            from && !mv.is_castle() && (!mv.is_capture() || hidden.contains(mv.to()))
        };
        // As a rule no piece is hidden.
        let moves = if hidden.any() { line.moves() } else { &[] };
        moves.iter().filter(silent).map(|mv| line.stand.candidate(*mv))
    }

    /// The squares whose piece was lifted before the press that waits and has been read nowhere since: the
    /// update that told where it went may be lost.
    #[must_use]
    pub(super) fn lifted_unseen(self) -> Bitboard {
        let Self { line, sensed } = self;
        let Some(pressed) = line.awaits() else {
            return Bitboard::EMPTY;
        };
        let lifted = line.differing & !sensed.placement().occupied();
        let unseen = |from: &Square| {
            let in_time = sensed.since(*from).since(pressed) <= BEGUN_MS;
            // If a piece of its kind stands where the line has none, it is the one that was lifted.
            let piece = line.placement().at(*from);
            in_time && !line.differing.into_iter().any(|s| sensed.at(s) == piece)
        };
        lifted.into_iter().filter(unseen).collect()
    }

    /// What it costs that the piece of `candidate` arrived well before the half-move that it answers was
    /// made. It costs more if the piece arrived before that half-move was begun.
    #[must_use]
    pub(super) fn too_early(self, candidate: &Candidate) -> f32 {
        let Self { line, sensed } = self;
        let Some(last) = line.plies.last() else {
            return 0.0;
        };
        let arrived = candidate
            .changes()
            .iter()
            .filter(|(s, code)| !code.is_empty() && sensed.at(*s).agrees(*code) && line.came(*s, sensed));
        // What a dump told had arrived by then.
        let Some(latest) = arrived.map(|(s, _)| sensed.since(*s)).max() else {
            return 0.0;
        };
        let early = last.at.since(latest + EARLY_MS);
        let before = if last.began > latest + SCAN_MS {
            weight::BEFORE
        } else {
            0.0
        };
        // If nothing else tells which of two half-moves a player made first, the order of their readings
        // does.
        let order = last.at.since(latest).min(EARLY_MS);
        before + (weight::EARLY * early.min(3000) as f32 + weight::ORDER * order as f32) / 1000.0
    }

    /// What it costs that the piece of `candidate` went from square to square at once: a hand takes longer, a
    /// knock does not.
    #[must_use]
    pub(super) fn at_once(self, candidate: &Candidate) -> f32 {
        let sensed = self.sensed;
        let Some(from) = candidate.mv.from() else {
            return 0.0;
        };
        let (Some(left), Some(arrived)) = (sensed.seen_at(from), sensed.seen_at(candidate.mv.to())) else {
            return 0.0;
        };
        let both = sensed.at(from).is_empty() && !sensed.at(candidate.mv.to()).is_empty();
        if both && arrived.since(left).max(left.since(arrived)) < AT_ONCE_MS {
            weight::AT_ONCE
        } else {
            0.0
        }
    }

    /// What it costs that `candidate` promotes to another piece than a queen and the board does not show that
    /// piece.
    #[must_use]
    pub(super) fn unseen_role(self, candidate: &Candidate) -> f32 {
        let Self { line, sensed } = self;
        let lesser = candidate.mv.promotion().filter(|role| *role != Role::Queen);
        let seen = |role: Role| sensed.at(candidate.mv.to()) == Code::from(role.of(line.turn()));
        if lesser.is_some_and(|role| !seen(role)) {
            weight::UNDERPROMOTION
        } else {
            0.0
        }
    }

    /// True when the piece that `candidate` moves has left its square and one of the opponent's
    /// has arrived where it goes: it may have been taken there before it was seen. A king is never taken.
    #[must_use]
    pub(super) fn taken_at_once(self, candidate: &Candidate) -> bool {
        let Self { line, sensed } = self;
        let Some(from) = candidate.mv.from() else {
            return false;
        };
        let to = candidate.mv.to();
        let seen = sensed.at(to);
        // `to` shows the opponent's piece, or a piece of the mover that has taken it in turn.
        let arrived = seen.piece().is_some()
            && seen != line.placement().at(from)
            && candidate.mv.role() != Role::King
            && self.may_have_arrived(from, to);
        arrived && line.differing.contains(from) && sensed.at(from) != line.placement().at(from)
    }

    /// What it costs that the piece of `candidate` was taken on its new square before the board read it
    /// there. From the press on it stood there for certain, so each moment beyond a scan costs more.
    #[must_use]
    pub(super) fn unread_until_taken(self, candidate: &Candidate) -> f32 {
        let Self { line, sensed } = self;
        let stood_since = line.awaits();
        let unread = stood_since.map_or(0, |since| sensed.since(candidate.mv.to()).since(since + SCAN_MS));
        let long = weight::TAKEN_UNREAD * unread as f32 / 1000.0;
        (weight::TAKEN_AT_ONCE + long).min(weight::BLIND) + self.read_elsewhere(candidate)
    }

    /// What it costs that the piece of `candidate`, which is not read where it goes, was read elsewhere after the press for it.
    #[must_use]
    pub(super) fn read_elsewhere(self, candidate: &Candidate) -> f32 {
        let pressed = self.line.awaits();
        if pressed.is_some_and(|pressed| self.stood_elsewhere(candidate, pressed)) {
            weight::STOOD_ELSEWHERE
        } else {
            0.0
        }
    }

    /// True when the piece of `candidate` was read for a while on another square, after the press for it and before it was taken, or the
    /// pawn on the square where it was to be replaced.
    fn stood_elsewhere(self, candidate: &Candidate, pressed: Millis) -> bool {
        let Self { line, sensed } = self;
        let (to, Some(from)) = (candidate.mv.to(), candidate.mv.from()) else {
            return false;
        };
        if sensed.slack() > 0 {
            // Nobody measured whether that was after the press.
            return false;
        }
        let (piece, taken) = (line.placement().at(from), sensed.since(to));
        if candidate.mv.is_promotion() && sensed.stood_through(to, piece, pressed) {
            return true;
        }
        let others = !(line.placement().squares_of(piece) | Bitboard::from_square(to));
        others
            .into_iter()
            .any(|square| sensed.has_stood(square, piece, pressed, taken, SLID_MS))
    }

    /// True when the piece that `to` shows may have come there after the piece of `from` left.
    fn may_have_arrived(self, from: Square, to: Square) -> bool {
        let Self { line, sensed } = self;
        sensed.since(to) + SCAN_MS >= sensed.since(from).max(line.born)
    }
}

/// The differences of a line that may speak for its half-moves: they show quickly of most half-moves that
/// nothing speaks for them.
pub(super) struct Traces<'a> {
    evidence: Evidence<'a>,
    /// The differing squares that show anything.
    goals: Bitboard,
    /// The squares that differ, and those whose piece is not read: a piece may have left them.
    origins: Bitboard,
    /// [`Evidence::answered`].
    answered: Bitboard,
}

impl<'a> Traces<'a> {
    pub(super) fn new(evidence: Evidence<'a>) -> Self {
        let Evidence { line, sensed } = evidence;
        Self {
            evidence,
            goals: line.differing & sensed.placement().occupied(),
            origins: line.differing | line.faults.hidden,
            answered: evidence.answered(),
        }
    }

    /// True when `mv` may have been made to a square that did not read the piece, and was answered.
    pub(super) fn tell_of_reply_to(&self, mv: &Move) -> bool {
        !mv.is_castle() && mv.from().is_some_and(|from| self.goes_unread(from, mv.to()))
    }

    /// [`Self::tell_of_reply_to`] for a piece that leaves `from`.
    fn goes_unread(&self, from: Square, to: Square) -> bool {
        self.answered.contains(from) && self.evidence.sensed.at(to).is_empty()
    }

    /// False when neither [`Evidence::speaks_for`] nor [`Evidence::taken_at_once`] can be true of `mv`.
    pub(super) fn speak_for(&self, mv: &Move) -> bool {
        match *mv {
            Move::Normal {
                role,
                from,
                to,
                promotion,
                ..
            } => self.of_piece(promotion.unwrap_or(role), from, to),
            Move::EnPassant { from, to } => self.of_piece(Role::Pawn, from, to),
            Move::Castle { .. } => (Candidate::touched(*mv) & self.evidence.line.differing).any(),
            Move::Put { .. } => false,
        }
    }

    /// [`Self::speak_for`] for a piece that leaves `from` and is a `role` on `to`.
    fn of_piece(&self, role: Role, from: Square, to: Square) -> bool {
        if !self.goals.contains(to) && !self.origins.contains(from) {
            return false;
        }
        let code = Code::from(role.of(self.evidence.line.turn()));
        let landed = self.goals.contains(to) && self.evidence.sensed.at(to).agrees(code);
        let taken = || {
            let shown = self.evidence.sensed.placement().occupied().contains(to);
            shown
                && (self.evidence.sensed.at(to) == Code::UNKNOWN || self.evidence.may_have_arrived(from, to))
        };
        let left = self.evidence.line.differing.contains(from);
        landed || left && taken() || self.unread(from, to) || self.goes_unread(from, to)
    }

    /// True when a piece that is not read may have gone from `from` to `to`: the piece that stood on `to` is
    /// gone, or `to` never reads anything.
    fn unread(&self, from: Square, to: Square) -> bool {
        let gone = |s| self.evidence.line.differing.contains(s) && self.evidence.sensed.at(s).is_empty();
        self.evidence.line.faults.hidden.contains(from) && gone(to)
            || self.evidence.sensed.dead().contains(to) && gone(from)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shakmaty::CastlingMode;

    use super::*;
    use crate::{board::stand::Stand, time::Millis};

    /// Whether White's piece that went from `from` to d1 may have been taken there. White's rook of a1 stands
    /// on d1 now.
    fn taken_on_d1(fen: &str, from: Square) -> bool {
        let stand = Arc::new(Stand::of_start(fen.parse().unwrap(), CastlingMode::Standard));
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), stand.placement());
        for (square, code) in [(from, 0), (Square::A1, 0), (Square::D1, 2)] {
            sensed.set(Millis(2000), square, Code(code));
        }
        let mut line = Line::new(stand, &sensed, Millis(0));
        line.hold_against(Bitboard::FULL, &sensed);
        let mut moves = line.stand.candidates();
        let to_d1 = moves.find(|c| c.mv.from() == Some(from) && c.mv.to() == Square::D1);
        let evidence = Evidence {
            line: &line,
            sensed: &sensed,
        };
        evidence.taken_at_once(&to_d1.expect("a legal half-move"))
    }

    #[test]
    fn a_king_is_not_taken_where_a_rook_stands_that_castled_with_it() {
        assert!(!taken_on_d1("4k3/8/8/8/8/2b5/8/R3K3 w Q - 0 1", Square::E1));
        assert!(taken_on_d1("4k3/8/8/8/8/8/8/R3Q1K1 w - - 0 1", Square::E1));
    }
}
