//! What speaks for a half-move and what against it: a line and a half-move that may continue it are compared
//! with the times at which the squares changed.

use shakmaty::{Bitboard, Move, Role, Square, attacks};

use super::{
    candidate::{Candidate, castled},
    line::{BEGUN_MS, Line},
    placement::Code,
    sensed::{SCAN_MS, Sensed},
    stand::{Stand, targets},
    weight,
};

/// The piece of a reply may be read this long before the half-move that it answers, without a price.
const EARLY_MS: u64 = 1500;
/// A piece that is read to leave and to arrive within this time was knocked, or was moved between two scans.
const AT_ONCE_MS: u64 = 60;

/// The differences of a line that may speak for its half-moves: they show quickly of most half-moves that
/// nothing speaks for them.
pub(super) struct Traces<'a> {
    line: &'a Line,
    sensed: &'a Sensed,
    /// The differing squares that show anything.
    goals: Bitboard,
    /// The squares that differ, and those whose piece is not read: a piece may have left them.
    origins: Bitboard,
    /// [`Line::answered`].
    answered: Bitboard,
}

impl<'a> Traces<'a> {
    pub(super) fn new(line: &'a Line, sensed: &'a Sensed) -> Self {
        Self {
            line,
            sensed,
            goals: line.differing & sensed.placement().occupied(),
            origins: line.differing | line.faults.hidden,
            answered: line.answered(sensed),
        }
    }

    /// True when `mv` may have been made to a square that did not read the piece, and was answered.
    pub(super) fn tell_of_reply_to(&self, mv: &Move) -> bool {
        !mv.is_castle() && mv.from().is_some_and(|from| self.goes_unread(from, mv.to()))
    }

    /// [`Self::tell_of_reply_to`] for a piece that leaves `from`.
    fn goes_unread(&self, from: Square, to: Square) -> bool {
        self.answered.contains(from) && self.sensed.at(to).is_empty()
    }

    /// False when neither [`Line::speaks_for`] nor [`Line::taken_at_once`] can be true of `mv`.
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
            Move::Castle { .. } => (Candidate::touched(*mv) & self.line.differing).any(),
            Move::Put { .. } => false,
        }
    }

    /// [`Self::speak_for`] for a piece that leaves `from` and is a `role` on `to`.
    fn of_piece(&self, role: Role, from: Square, to: Square) -> bool {
        if !self.goals.contains(to) && !self.origins.contains(from) {
            return false;
        }
        let code = Code::from(role.of(self.line.turn()));
        let landed = self.goals.contains(to) && self.sensed.at(to).agrees(code);
        let taken = || {
            let shown = self.sensed.placement().occupied().contains(to);
            shown
                && (self.sensed.at(to) == Code::UNKNOWN || self.line.may_have_arrived(from, to, self.sensed))
        };
        let left = self.line.differing.contains(from);
        landed || left && taken() || self.unread(from, to) || self.goes_unread(from, to)
    }
}

impl Traces<'_> {
    /// True when a piece that is not read may have gone from `from` to `to`: the piece that stood on `to` is
    /// gone, or `to` never reads anything.
    fn unread(&self, from: Square, to: Square) -> bool {
        let gone = |s| self.line.differing.contains(s) && self.sensed.at(s).is_empty();
        self.line.faults.hidden.contains(from) && gone(to) || self.sensed.dead().contains(to) && gone(from)
    }
}

impl Line {
    /// False when the readings speak for no half-move of this line: no piece of the side to move has arrived
    /// where the line has none, and none has left that may have been taken since ([`Self::taken_at_once`]).
    /// Where the board does not know its pieces, any difference may speak for a half-move. Thanks to this
    /// test most lines need not work out their half-moves.
    pub(super) fn may_go_on(&self, sensed: &Sensed) -> bool {
        let us = Some(self.turn());
        let unread = self.faults.hidden | sensed.dead();
        unread.any() && self.differing.any()
            || self.answered(sensed).any()
            || self.differing.into_iter().any(|square| {
                let left = sensed.since(square).max(self.born);
                sensed.is_felt()
                    || sensed.at(square).color() == us
                    || self.placement().at(square).color() == us && sensed.last_arrival() + SCAN_MS >= left
            })
    }

    /// True when the readings speak for `candidate`: a piece arrived where the half-move puts one.
    #[must_use]
    pub(super) fn speaks_for(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        candidate.changes().iter().any(|(square, code)| {
            !code.is_empty() && self.differing.contains(*square) && sensed.at(*square).agrees(*code)
        }) || self.may_have_taken(candidate, sensed)
    }

    /// True when `candidate` may be the half-move of a piece that is not read on its new square, and
    /// something tells of it: a hidden piece took a piece that is gone, or a piece left for a square that
    /// reads nothing.
    #[must_use]
    pub(super) fn unread_half_move(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        let (Some(from), to) = (candidate.mv.from(), candidate.mv.to()) else {
            return false;
        };
        let gone = |s| self.differing.contains(s) && sensed.at(s).is_empty();
        let victim = match candidate.mv {
            Move::EnPassant { .. } => Square::from_coords(to.file(), from.rank()),
            _ => to,
        };
        let took = self.faults.hidden.contains(from) && candidate.mv.is_capture() && gone(victim);
        took || sensed.dead().contains(to) && gone(from)
    }

    /// The squares whose piece left and is read nowhere, where the opponent has moved since. Nobody presses a clock, so the reply
    /// tells of the half-move.
    fn answered(&self, sensed: &Sensed) -> Bitboard {
        if self.clock_runs || sensed.is_felt() {
            return Bitboard::EMPTY;
        }
        let left = self.differing & self.stand.board().by_color(self.turn()) & !sensed.placement().occupied();
        let read = |from: Square| {
            let piece = self.placement().at(from);
            self.differing.into_iter().any(|s| sensed.at(s) == piece)
        };
        let replied = |from: Square| {
            let theirs = |s: &Square| sensed.at(*s).color() == Some(!self.turn());
            let mut arrived = self.differing.into_iter().filter(theirs);
            arrived.any(|s| sensed.since(s) > sensed.since(from))
        };
        left.into_iter()
            .filter(|from| !read(*from) && replied(*from))
            .collect()
    }

    /// The half-moves of hidden pieces of which no reading would tell.
    pub(super) fn unread_half_moves(&self) -> impl Iterator<Item = Candidate> + '_ {
        let hidden = self.faults.hidden;
        let silent = move |mv: &&Move| {
            let from = mv.from().is_some_and(|from| hidden.contains(from));
            from && !mv.is_castle() && (!mv.is_capture() || hidden.contains(mv.to()))
        };
        // As a rule no piece is hidden.
        let moves = if hidden.any() { self.moves() } else { &[] };
        moves.iter().filter(silent).map(|mv| self.stand.candidate(*mv))
    }

    /// The squares whose piece was lifted before the press that waits and has been read nowhere since: the
    /// update that told where it went may be lost.
    #[must_use]
    pub(super) fn lifted_unseen(&self, sensed: &Sensed) -> Bitboard {
        let Some(pressed) = self.awaits() else {
            return Bitboard::EMPTY;
        };
        let lifted = self.differing & !sensed.placement().occupied();
        let unseen = |from: &Square| {
            let in_time = sensed.since(*from).since(pressed) <= BEGUN_MS;
            // If a piece of its kind stands where the line has none, it is the one that was lifted.
            let piece = self.placement().at(*from);
            in_time && !self.differing.into_iter().any(|s| sensed.at(s) == piece)
        };
        lifted.into_iter().filter(unseen).collect()
    }

    /// What it costs that the piece of `candidate` arrived well before the half-move that it answers was
    /// made. It costs more if the piece arrived before that half-move was begun.
    #[must_use]
    pub(super) fn too_early(&self, candidate: &Candidate, sensed: &Sensed) -> f32 {
        let Some(last) = self.plies.last() else {
            return 0.0;
        };
        let arrived = candidate
            .changes()
            .iter()
            .filter(|(s, code)| !code.is_empty() && sensed.at(*s).agrees(*code) && self.came(*s, sensed));
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
    pub(super) fn at_once(&self, candidate: &Candidate, sensed: &Sensed) -> f32 {
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
    pub(super) fn unseen_role(&self, candidate: &Candidate, sensed: &Sensed) -> f32 {
        let lesser = candidate.mv.promotion().filter(|role| *role != Role::Queen);
        let seen = |role: Role| sensed.at(candidate.mv.to()) == Code::from(role.of(self.turn()));
        if lesser.is_some_and(|role| !seen(role)) {
            weight::UNDERPROMOTION
        } else {
            0.0
        }
    }

    /// True when the piece that `candidate` moves has left its square and one of the opponent's
    /// has arrived where it goes: it may have been taken there before it was seen. A king is never taken.
    #[must_use]
    pub(super) fn taken_at_once(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        let Some(from) = candidate.mv.from() else {
            return false;
        };
        let to = candidate.mv.to();
        let seen = sensed.at(to);
        // `to` shows the opponent's piece, or a piece of the mover that has taken it in turn.
        let arrived = seen.piece().is_some()
            && seen != self.placement().at(from)
            && candidate.mv.role() != Role::King
            && self.may_have_arrived(from, to, sensed);
        arrived && self.differing.contains(from) && sensed.at(from) != self.placement().at(from)
    }

    /// What it costs that the piece of `candidate` was taken on its new square before the board read it
    /// there. From the press on it stood there for certain, so each moment beyond a scan costs more.
    #[must_use]
    pub(super) fn unread_until_taken(&self, candidate: &Candidate, sensed: &Sensed) -> f32 {
        let stood_since = self.awaits();
        let unread = stood_since.map_or(0, |since| sensed.since(candidate.mv.to()).since(since + SCAN_MS));
        let long = weight::TAKEN_UNREAD * unread as f32 / 1000.0;
        (weight::TAKEN_AT_ONCE + long).min(weight::BLIND)
    }

    /// True when the piece of half-move `k`, played on `before`, could have gone further on the same way: where it was read
    /// last may be a square between.
    #[must_use]
    pub fn may_slide_on(&self, k: usize, before: &Stand) -> bool {
        let Some(ply) = self.plies.get(k) else {
            return false;
        };
        let Some((from, to)) = ply.kind.from_to() else {
            return false;
        };
        let Some(piece) = before.board().piece_at(from) else {
            return false;
        };
        // A piece that has captured goes no further than the square of the captured piece.
        if ply.kind.legal().is_some_and(Move::is_capture) {
            return false;
        }
        let passes = |end: Square| attacks::between(from, end).contains(to);
        let ends = targets(before.board(), from, piece) & !before.board().by_color(piece.color);
        let is_castling =
            |mv: &Move| matches!(*mv, Move::Castle { king, rook } if passes(castled(king, rook)[0]));
        ends.into_iter().any(passes) || piece.role == Role::King && before.moves().iter().any(is_castling)
    }

    /// True when the piece that `to` shows may have come there after the piece of `from` left.
    fn may_have_arrived(&self, from: Square, to: Square, sensed: &Sensed) -> bool {
        sensed.since(to) + SCAN_MS >= sensed.since(from).max(self.born)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shakmaty::CastlingMode;

    use super::*;
    use crate::{
        board::{bill::Bill, ply::PlyKind},
        time::Millis,
    };

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
        line.taken_at_once(&to_d1.expect("a legal half-move"), &sensed)
    }

    /// Whether the piece that went from `from` to `to` could have gone further on the same way.
    fn slides_on(fen: &str, from: Square, to: Square) -> bool {
        let before = Arc::new(Stand::of_start(fen.parse().unwrap(), CastlingMode::Standard));
        let sensed = Sensed::settled(before.placement());
        let mut moves = before.candidates();
        let found = moves.find(|c| c.mv.from() == Some(from) && c.mv.to() == to && !c.mv.is_castle());
        let candidate = found.expect("a legal half-move");
        let after = Arc::new(before.after(&candidate));
        let line = Line::new(before.clone(), &sensed, Millis(0));
        let step = Bill::half_move();
        let line = line.played(PlyKind::Legal(candidate.mv), after, &sensed, Millis(0), &step);
        line.may_slide_on(0, &before)
    }

    #[test]
    fn a_piece_slides_on_where_its_own_way_leads() {
        const ARRAY: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert!(slides_on(ARRAY, Square::E2, Square::E3));
        assert!(!slides_on(ARRAY, Square::E2, Square::E4));
        assert!(!slides_on(ARRAY, Square::G1, Square::F3));
        let ways = "4k3/8/8/8/8/4P3/p3K3/R2n2B1 w - - 0 1";
        assert!(!slides_on(ways, Square::E3, Square::E4));
        assert!(!slides_on(ways, Square::E2, Square::F3));
        assert!(slides_on(ways, Square::A1, Square::B1));
        assert!(slides_on(ways, Square::A1, Square::C1), "it may take on d1");
        assert!(!slides_on(ways, Square::A1, Square::A2), "it has taken");
        assert!(!slides_on(ways, Square::G1, Square::F2), "his own pawn is next");
    }

    #[test]
    fn a_king_slides_on_to_castle() {
        let home = "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1";
        assert!(slides_on(home, Square::E1, Square::D1));
        assert!(!slides_on(home, Square::E1, Square::F1));
        let no_more = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1";
        assert!(!slides_on(no_more, Square::E1, Square::D1));
    }

    #[test]
    fn a_king_is_not_taken_where_a_rook_stands_that_castled_with_it() {
        assert!(!taken_on_d1("4k3/8/8/8/8/2b5/8/R3K3 w Q - 0 1", Square::E1));
        assert!(taken_on_d1("4k3/8/8/8/8/8/8/R3Q1K1 w - - 0 1", Square::E1));
    }
}
