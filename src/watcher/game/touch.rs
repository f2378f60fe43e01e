//! Suspicions that only a person can confirm: a piece touched and another moved (4.3), king and
//! rook in the air together (7.5.4).

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, CastlingMode, Color, Move, Square};

use super::{
    Game,
    advice::{Finding, Scene},
};
use crate::{
    board::{Code, Ply, kept::KeptSquare},
    event::Certainty,
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// A piece must have been off its square for this long to have been taken in hand.
const IN_HAND_MS: u64 = 2000;
/// King and rook must both have been in the air for this long.
const TOGETHER_MS: u64 = 150;

/// A castling hand may be this much ahead of the opponent's press.
const EARLY_MS: u64 = 500;

/// A piece was lifted and put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) square: Square,
    pub(super) code: Code,
    pub(super) lifted: Millis,
    pub(super) back: Millis,
}

/// Lifts that have not ended, and what is needed of castling.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct Hands {
    lifted: Vec<(Square, Code, Millis)>,
    touches: Vec<Touch>,
    /// Kings and rooks: when they left and when they arrived.
    steps: Vec<(Square, Code, Millis, bool)>,
}

/// The same as a snapshot keeps it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::watcher) struct SavedHands {
    lifted: Vec<(KeptSquare, Code, Millis)>,
    touches: Vec<(KeptSquare, Code, Millis, Millis)>,
    steps: Vec<(KeptSquare, Code, Millis, bool)>,
}

impl SavedHands {
    pub(in crate::watcher) fn of(hands: &Hands) -> Self {
        let lifted = hands.lifted.iter();
        let steps = hands.steps.iter();
        let touches = hands.touches.iter();
        Self {
            lifted: lifted.map(|(s, code, at)| (KeptSquare(*s), *code, *at)).collect(),
            touches: touches
                .map(|t| (KeptSquare(t.square), t.code, t.lifted, t.back))
                .collect(),
            steps: steps
                .map(|(s, code, at, arrived)| (KeptSquare(*s), *code, *at, *arrived))
                .collect(),
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
                .map(|(s, code, at)| (s.0, *code, *at))
                .collect(),
            touches: saved.touches.iter().map(touch).collect(),
            steps: steps
                .map(|(s, code, at, arrived)| (s.0, *code, *at, *arrived))
                .collect(),
        }
    }
}

impl Hands {
    /// A square changed from `old` to `new`.
    pub(in crate::watcher) fn seen(&mut self, now: Millis, square: Square, old: Code, new: Code) {
        if matches!(old.0, 2 | 5 | 8 | 11) {
            self.steps.push((square, old, now, false));
        }
        if matches!(new.0, 2 | 5 | 8 | 11) {
            self.steps.push((square, new, now, true));
        }
        if let Some(i) = self.lifted.iter().position(|l| l.0 == square) {
            let (_, code, lifted) = self.lifted.remove(i);
            if code == new {
                self.touches.push(Touch {
                    square,
                    code,
                    lifted,
                    back: now,
                });
            }
        }
        if new.is_empty() && old.piece().is_some() {
            self.lifted.push((square, old, now));
        }
        for list in [self.steps.len(), self.touches.len(), self.lifted.len()] {
            if list > 64 {
                self.steps.drain(..self.steps.len().saturating_sub(32));
                self.touches.drain(..self.touches.len().saturating_sub(32));
                self.lifted.drain(..self.lifted.len().saturating_sub(32));
            }
        }
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
                .find(|s| s.0 == square && s.3 == arrived && s.2 >= since);
            step.map(|s| s.2)
        };
        let (Some(king_off), Some(king_on)) = (time(king.0, false), time(king.1, true)) else {
            return 0;
        };
        let (Some(rook_off), Some(rook_on)) = (time(rook.0, false), time(rook.1, true)) else {
            return 0;
        };
        king_on.min(rook_on).since(king_off.max(rook_off))
    }
}

impl Game {
    /// A half-move was completed: is there something to suspect in how it was made?
    pub(super) fn suspect(&mut self, ctx: &mut Ctx<'_>, ply: &Ply) {
        let n = self.plies();
        let since = n.checked_sub(2).map_or(Millis(0), |i| self.record[i].at);
        // A hand may lift before the opponent has pressed.
        let early = Millis(since.0.saturating_sub(EARLY_MS));
        let mover = self.mover(n);
        let Some(mv) = ply.kind.legal() else { return };
        // In Chess960 king and rook may have to be off the board together.
        if let (Move::Castle { king, rook }, CastlingMode::Standard) = (mv, self.mode) {
            let short = rook > king;
            let (k, r) = if short { (6, 5) } else { (2, 3) };
            let at = |file| Square::from_coords(shakmaty::File::new(file), king.rank());
            let together = self.hands.together((king, at(k)), (rook, at(r)), early);
            if together >= TOGETHER_MS {
                let squares = Bitboard::from_square(king).with(rook);
                self.suspicion(ctx, IrregularityKind::TwoHands, mover, squares, ply.at);
            }
        }
        let touched = self
            .hands
            .touched(mover, since, ply.began + 100)
            .find(|t| self.could_have_moved(t, mv));
        if let Some(touch) = touched {
            self.suspicion(
                ctx,
                IrregularityKind::TouchMove,
                mover,
                Bitboard::from_square(touch.square),
                ply.at,
            );
        }
    }

    /// The touched piece had legal moves and is not the one that moved.
    fn could_have_moved(&self, touch: &Touch, mv: Move) -> bool {
        let before = self.stand_at(self.plies() - 1);
        mv.from() != Some(touch.square)
            && before.placement().at(touch.square) == touch.code
            && before.moves().iter().any(|mv| mv.from() == Some(touch.square))
    }

    fn suspicion(
        &mut self,
        ctx: &mut Ctx<'_>,
        kind: IrregularityKind,
        by: Color,
        squares: Bitboard,
        at: Millis,
    ) {
        let n = self.plies();
        let scene = Scene {
            ply: n,
            before: self.stand_at(n - 1).clone(),
            seen: ctx.sensed.placement().clone(),
            at,
            clock: ctx.clock.state(),
        };
        let mut finding = Finding::new(kind, Certainty::Suspected, Some(by), scene);
        finding.squares = squares;
        finding.act = (kind == IrregularityKind::TwoHands).then(|| self.record[n - 1].uci.clone());
        self.accuse(ctx, finding, None);
    }
}
