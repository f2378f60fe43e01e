//! Suspicions that only a person can confirm: a player touched one piece and moved another (4.3), or held
//! king and rook in the air at once (7.5.4).

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, CastlingMode, Color, Move, Square};

use super::{
    finding::{Finding, Scene},
    record::GameRecord,
};
use crate::{
    board::{Code, Ply, candidate::castled, kept::KeptSquare},
    event::Certainty,
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// If a piece was off its square for this long, a hand has held it.
const IN_HAND_MS: u64 = 2000;
/// Where nobody measured that time, at least half of it must be proven.
const PROVEN_MS: u64 = IN_HAND_MS / 2;
/// King and rook must both have been in the air for this long.
const TOGETHER_MS: u64 = 150;

/// A change that lies apart from the one before it came at least this long after it (protocol 3.5).
const APART_MS: u64 = 250;
/// A player may lift the king this long before the opponent's press.
const EARLY_MS: u64 = 500;

/// Both players lift no more pieces than these within [`DROP_OUT_MS`].
const MOST_LIFTED: usize = 4;
/// Pieces that vanish within this time vanish at once: two scans, and a margin.
const DROP_OUT_MS: u64 = 300;

/// A piece was lifted and put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) square: Square,
    pub(super) code: Code,
    pub(super) lifted: Millis,
    pub(super) back: Millis,
}

/// The time of a change of a square, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(in crate::watcher) struct ReadAt {
    /// The best estimate of the time.
    pub(in crate::watcher) now: Millis,
    /// The bounds within which the change certainly happened; none where `now` was measured.
    pub(in crate::watcher) within: Option<(Millis, Millis)>,
    /// The change lies apart from the one before it.
    pub(in crate::watcher) apart: bool,
}

/// The least time that has certainly passed.
#[derive(Clone, Copy, Debug, Default)]
struct ProvenTime {
    /// From the first change to the last (milliseconds).
    took: u64,
    /// The last change had happened by then.
    last: Millis,
}

impl ProvenTime {
    /// Takes the next change.
    fn passes(&mut self, at: &ReadAt) {
        let (from, to) = at.within.unwrap_or((at.now, at.now));
        let least = if at.apart { APART_MS } else { 0 };
        self.took += from.since(self.last).max(least);
        self.last = to;
    }
}

/// A king or a rook left a square, or arrived there.
#[derive(Clone, Copy, Debug)]
struct CastlingStep {
    square: Square,
    code: Code,
    at: Millis,
    arrived: bool,
    /// The least time from the first change to this step; none for a step from before a restart.
    proven: Option<u64>,
}

/// What hands did with pieces: lifts, touches, and the steps of kings and rooks.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct Hands {
    /// Pieces that are off their squares. The last item is the least time from the first change to the lift;
    /// none for a lift from before a restart.
    lifted: Vec<(Square, Code, Millis, Option<u64>)>,
    touches: Vec<Touch>,
    steps: Vec<CastlingStep>,
    proven: ProvenTime,
    /// The board tells which changes lie apart. Then only proven times count.
    tells_apart: bool,
    /// When many pieces last vanished at once.
    dropped_out: Option<Millis>,
}

/// The `Hands` of a snapshot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::watcher) struct SavedHands {
    lifted: Vec<(KeptSquare, Code, Millis)>,
    touches: Vec<(KeptSquare, Code, Millis, Millis)>,
    steps: Vec<(KeptSquare, Code, Millis, bool)>,
    /// The board tells which changes lie apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tells_apart: bool,
}

impl SavedHands {
    pub(in crate::watcher) fn of(hands: &Hands) -> Self {
        let lifted = hands.lifted.iter();
        let steps = hands.steps.iter();
        let touches = hands.touches.iter();
        Self {
            lifted: lifted
                .map(|(s, code, at, _)| (KeptSquare(*s), *code, *at))
                .collect(),
            touches: touches
                .map(|t| (KeptSquare(t.square), t.code, t.lifted, t.back))
                .collect(),
            steps: steps
                .map(|s| (KeptSquare(s.square), s.code, s.at, s.arrived))
                .collect(),
            tells_apart: hands.tells_apart,
        }
    }
}

impl From<&SavedHands> for Hands {
    fn from(saved: &SavedHands) -> Self {
        let touch = |(square, code, lifted, back): &(KeptSquare, Code, Millis, Millis)| Touch {
            square: square.0,
            code: *code,
            lifted: *lifted,
            back: *back,
        };
        let steps = saved.steps.iter();
        Self {
            lifted: saved
                .lifted
                .iter()
                .map(|(s, code, at)| (s.0, *code, *at, None))
                .collect(),
            touches: saved.touches.iter().map(touch).collect(),
            steps: steps
                .map(|(s, code, at, arrived)| CastlingStep {
                    square: s.0,
                    code: *code,
                    at: *at,
                    arrived: *arrived,
                    proven: None,
                })
                .collect(),
            proven: ProvenTime::default(),
            tells_apart: saved.tells_apart,
            dropped_out: None,
        }
    }
}

impl Hands {
    /// A square changed from `old` to `new`.
    pub(in crate::watcher) fn seen(&mut self, at: ReadAt, square: Square, old: Code, new: Code) {
        self.tells_apart |= at.apart;
        self.proven.passes(&at);
        let (now, took) = (at.now, self.proven.took);
        for (code, arrived) in [(old, false), (new, true)] {
            if matches!(code.0, 2 | 5 | 8 | 11) {
                self.steps.push(CastlingStep {
                    square,
                    code,
                    at: now,
                    arrived,
                    proven: Some(took),
                });
            }
        }
        if let Some(i) = self.lifted.iter().position(|l| l.0 == square) {
            let (_, code, lifted, before) = self.lifted.remove(i);
            let is_proven = before.is_none_or(|before| took - before >= PROVEN_MS) || !self.tells_apart;
            if code == new && is_proven {
                self.touches.push(Touch {
                    square,
                    code,
                    lifted,
                    back: now,
                });
            }
        }
        if new.is_empty() && old.piece().is_some() && !self.drop_out(now) {
            self.lifted.push((square, old, now, Some(took)));
        }
        for list in [self.steps.len(), self.touches.len(), self.lifted.len()] {
            if list > 64 {
                self.steps.drain(..self.steps.len().saturating_sub(32));
                self.touches.drain(..self.touches.len().saturating_sub(32));
                self.lifted.drain(..self.lifted.len().saturating_sub(32));
            }
        }
    }

    /// True where one more piece that vanishes now is one of many: hands do not lift so many at once, so the board drops out, and
    /// those that vanished with it were not lifted either.
    fn drop_out(&mut self, now: Millis) -> bool {
        let at_once = |at: Millis| now.since(at) <= DROP_OUT_MS;
        let with_it = self.lifted.iter().filter(|(_, _, at, _)| at_once(*at)).count();
        if with_it >= MOST_LIFTED {
            self.lifted.retain(|(_, _, at, _)| !at_once(*at));
            self.dropped_out = Some(now);
        }
        let drops_out = self.dropped_out.is_some_and(at_once);
        if drops_out {
            self.dropped_out = Some(now);
        }
        drops_out
    }

    /// Forgets touches after an illegal move was put right: its report covers them (4.3 applies to the move
    /// that replaces it, 7.5.1).
    pub(super) fn forget_touches(&mut self) {
        self.touches.clear();
    }

    /// Pieces of `color` lifted for a while after `since` and put back before `until`.
    fn touched(&self, color: Color, since: Millis, until: Millis) -> impl Iterator<Item = Touch> + '_ {
        self.touches.iter().copied().filter(move |t| {
            t.code.color() == Some(color)
                && t.lifted >= since
                && t.back <= until
                && t.back.since(t.lifted) >= IN_HAND_MS
        })
    }

    /// How long king and rook were in the air at the same time in a castling since `since`.
    fn together(&self, king: (Square, Square), rook: (Square, Square), since: Millis) -> u64 {
        let time = |square: Square, arrived: bool| {
            let step = self
                .steps
                .iter()
                .rev()
                .find(|s| s.square == square && s.arrived == arrived && s.at >= since);
            step.and_then(|s| if self.tells_apart { s.proven } else { Some(s.at.0) })
        };
        let (Some(king_off), Some(king_on)) = (time(king.0, false), time(king.1, true)) else {
            return 0;
        };
        let (Some(rook_off), Some(rook_on)) = (time(rook.0, false), time(rook.1, true)) else {
            return 0;
        };
        king_on.min(rook_on).saturating_sub(king_off.max(rook_off))
    }

    /// What raises a suspicion in how the completed half-move `ply` was made.
    pub(super) fn suspicions(&self, ctx: &Ctx<'_>, record: &GameRecord, ply: &Ply) -> Vec<Finding> {
        let n = record.plies();
        let since = n.checked_sub(2).map_or(Millis(0), |i| record[i].at);
        // A hand may lift a piece before the opponent has pressed.
        let early = Millis(since.0.saturating_sub(EARLY_MS));
        let mover = record.mover(n);
        let Some(mv) = ply.kind.legal() else {
            return Vec::new();
        };
        let suspicion = |kind, squares| suspicion(ctx, record, kind, squares, ply.at);
        let mut found = Vec::new();
        // In Chess960 king and rook may have to be off the board together.
        if let (Move::Castle { king, rook }, CastlingMode::Standard) = (mv, record.mode()) {
            let [king_to, rook_to] = castled(king, rook);
            let together = self.together((king, king_to), (rook, rook_to), early);
            if together >= TOGETHER_MS {
                let squares = Bitboard::from_square(king).with(rook);
                found.push(suspicion(IrregularityKind::TwoHands, squares));
            }
        }
        let mut touched = self.touched(mover, since, ply.began + 100);
        if let Some(touch) = touched.find(|touch| could_have_moved(record, touch, mv)) {
            let squares = Bitboard::from_square(touch.square);
            found.push(suspicion(IrregularityKind::TouchMove, squares));
        }
        found
    }
}

/// True if the touched piece had a legal move and another piece moved.
fn could_have_moved(record: &GameRecord, touch: &Touch, mv: Move) -> bool {
    let before = record.stand_at(record.plies() - 1);
    mv.from() != Some(touch.square)
        && before.placement().at(touch.square) == touch.code
        && before.moves().iter().any(|mv| mv.from() == Some(touch.square))
}

/// A suspicion of the player who made the last half-move of the record, at `at`.
fn suspicion(
    ctx: &Ctx<'_>,
    record: &GameRecord,
    kind: IrregularityKind,
    squares: Bitboard,
    at: Millis,
) -> Finding {
    let n = record.plies();
    let scene = Scene::shown(ctx, n, record.stand_at(n - 1).clone(), at);
    let mut finding = Finding::new(kind, Certainty::Suspected, Some(record.mover(n)), scene);
    finding.squares = squares;
    finding.act = (kind == IrregularityKind::TwoHands).then(|| record[n - 1].uci.to_string());
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    /// White's king and rook.
    const PIECES: [Code; 2] = [Code(5), Code(2)];

    /// How long king and rook were certainly in the air together in a castling with these readings. On a
    /// shared line, the master visits the board once in `visits` milliseconds.
    fn together(read: [(u64, bool); 4], visits: Option<u64>) -> u64 {
        let mut hands = Hands::default();
        let squares = [Square::E1, Square::H1, Square::G1, Square::F1];
        for (n, ((at, apart), square)) in read.into_iter().zip(squares).enumerate() {
            let within = visits.map(|every| (Millis(at / every * every), Millis(at / every * every + every)));
            let read = ReadAt {
                now: Millis(at),
                within,
                apart,
            };
            let (piece, none) = (PIECES[n % 2], Code::EMPTY);
            let (old, new) = if n < 2 { (piece, none) } else { (none, piece) };
            hands.seen(read, square, old, new);
        }
        hands.together((Square::E1, Square::G1), (Square::H1, Square::F1), Millis(0))
    }

    #[test]
    fn only_proven_time_counts_for_king_and_rook_in_the_air_together() {
        let at = |ms: [u64; 4]| ms.map(|ms| (ms, false));
        assert_eq!(together(at([5000, 5200, 5700, 5800]), None), 500);
        let visits = Some(2000);
        assert_eq!(
            together(at([5000, 5200, 5700, 5800]), visits),
            500,
            "without marks of what lies apart, the estimate counts"
        );
        let known = |ms: [u64; 4], apart| {
            let mut read = at(ms);
            (read[0].1, read[2].1) = (true, apart);
            together(read, visits)
        };
        assert_eq!(known([5000, 5200, 5700, 5800], false), 0);
        assert_eq!(known([5000, 5200, 6700, 6800], false), 0);
        let seen = known([5000, 5200, 8700, 8800], false);
        assert_eq!(seen, 2000, "a visit found both in the air");
        assert_eq!(known([5000, 5200, 5700, 5800], true), APART_MS);
    }

    #[test]
    fn a_piece_was_in_a_hand_if_its_time_was_measured_or_proven_by_a_visit() {
        let touched = |off: u64, on: u64, visits: Option<u64>| {
            let mut hands = Hands::default();
            let read = |at: u64| ReadAt {
                now: Millis(at),
                within: visits.map(|every| (Millis(at / every * every), Millis(at / every * every + every))),
                apart: visits.is_some(),
            };
            hands.seen(read(off), Square::A1, PIECES[1], Code::EMPTY);
            hands.seen(read(on), Square::A1, Code::EMPTY, PIECES[1]);
            let touched = hands.touched(Color::White, Millis(0), Millis(20_000)).count();
            hands.forget_touches();
            assert_eq!(hands.touched(Color::White, Millis(0), Millis(20_000)).count(), 0);
            touched == 1
        };
        assert!(touched(5000, 7100, None) && !touched(5000, 6900, None));
        assert!(
            !touched(5000, 7100, Some(2000)),
            "the piece may have been gone for an instant only"
        );
        assert!(touched(5000, 8100, Some(2000)));
    }
}
