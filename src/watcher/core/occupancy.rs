//! Boards that feel only which squares are occupied. The watcher takes a promotion to a queen for granted and
//! may have to change it; and it reports what occupation alone can prove.

use std::sync::Arc;

use shakmaty::{Move, Role};

use super::{Core, Phase};
use crate::{
    board::{Bill, Explanation, Line, Lines, Orientation, Ply, PlyKind, Sensed, Stand, act::Reason, explain},
    event::{Certainty, CompletedBy, notice},
    laws::IrregularityKind,
    time::Millis,
    watcher::{
        OrientationSetting,
        command::CommandError,
        ctx::Ctx,
        game::advice::{Finding, Scene},
        game::settle::REVISABLE,
        game::{Game, Made},
        not_now::NotNow,
    },
};

/// The board must have been at rest for this long before the watcher doubts a promotion.
const DOUBT_MS: u64 = 1500;
/// Without a clock nothing shows that a half-move is over. So a piece must stand for this long where no legal
/// half-move puts it.
const ILLEGAL_MS: u64 = 10_000;

/// What looks like a first move by Black must stand for this long before the watcher takes it for White's, on
/// a board that lies the other way round.
const FIRST_MOVE_MS: u64 = 3000;

/// For this many half-moves it stays open what a promoted pawn became, if it has not moved since.
const HELD: usize = 40;

/// The pieces that a pawn may have become, the likeliest first.
const OTHERWISE: [Role; 4] = [Role::Queen, Role::Knight, Role::Rook, Role::Bishop];

impl Core {
    /// Turns the board if the first half-move shows that it lies the other way round: White moves first, and
    /// the half-move is one of White's only then. The initial position looks the same from both sides where
    /// pieces are not known.
    pub(super) fn lie_by_first_move(&mut self, now: Millis) {
        let (OrientationSetting::Auto, Some(raw)) = (self.settings.orientation, &self.raw) else {
            return;
        };
        let other = match self.orientation {
            Orientation::Normal => Orientation::Turned,
            Orientation::Turned => Orientation::Normal,
            Orientation::QuarterLeft | Orientation::QuarterRight => return,
        };
        if !self.sensed.is_felt() {
            return;
        }
        let due = self.sensed.last_change() + FIRST_MOVE_MS;
        if now < due {
            self.look_at(due);
            return;
        }
        let stand = Stand::initial();
        let sensed = Sensed::settled(&other.placement(raw));
        let lines = Lines::new(Arc::new(stand.clone()), &sensed, now);
        if lines.best().plies.len() == 1 && lines.best().misplaced(&sensed).is_empty() {
            self.turn_to(other);
            if let Phase::Waiting(setup) = &mut self.phase {
                setup.array = Some(stand.placement().clone());
                setup.lines = Some(lines);
            }
        }
    }
}

impl Game {
    /// Looks at pieces that stand where no hypothesis has any. A promotion may be another than was taken for
    /// granted, or a player has made an illegal move.
    pub(super) fn look_for_unfelt(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.lines.best();
        let stuck = self.is_watched() && ctx.sensed.is_felt() && best.misplaced(ctx.sensed).any();
        if !stuck || !self.on_record() || !ctx.still_for(DOUBT_MS) {
            return;
        }
        let all_said = self.lines.best().plies.len() == self.announced();
        if all_said && self.promoted_otherwise(ctx) {
            return;
        }
        if ctx.still_for(ILLEGAL_MS) {
            self.felt_illegal(ctx);
        }
    }

    /// Number of half-moves since the base that may be closed to correction. A promotion stays open until the
    /// piece has moved, and then for as long as any half-move does.
    pub(in crate::watcher) fn held(&self, ctx: &Ctx<'_>) -> usize {
        if !ctx.sensed.is_felt() {
            return usize::MAX;
        }
        let said = &self.record[self.base..];
        let open = |i: &usize| {
            let Some(promotion) = said[*i].kind.legal().filter(|mv| mv.is_promotion()) else {
                return false;
            };
            let touches = |made: &Made| {
                let mv = made.kind.legal();
                mv.is_some_and(|mv| mv.from() == Some(promotion.to()) || mv.to() == promotion.to())
            };
            let moved = said[i + 1..].iter().position(touches);
            said.len() - i <= HELD && moved.is_none_or(|after| said.len() - (i + 1 + after) <= REVISABLE)
        };
        (0..said.len()).find(open).unwrap_or(usize::MAX)
    }

    /// Changes a promotion of the record if the board is explained by another piece that the pawn became.
    /// Returns true if it did.
    fn promoted_otherwise(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let promotions = (0..self.plies())
            .rev()
            .filter_map(|i| Some((i, promoted_to(&self.record[i])?)));
        let told: Option<Vec<Made>> = promotions
            .flat_map(|(i, said)| OTHERWISE.map(|role| (i, said, role)))
            .filter(|(_, said, role)| said != role)
            .map(|(i, _, role)| (i, role))
            .filter_map(|(i, role)| self.with_promotion(i, role))
            .find(|told| {
                let last = told.last().map_or(&self.start, |made| &made.stand);
                let lines = Lines::new(last.clone(), ctx.sensed, ctx.now);
                lines.best().misplaced(ctx.sensed).is_empty()
            });
        let Some(told) = told else { return false };
        self.tell_anew(ctx, told, "promotion_was_another");
        true
    }

    /// The half-moves of the record from the promotion `index` on, with `role` as the new piece; none if they
    /// are not legal then.
    fn with_promotion(&self, index: usize, role: Role) -> Option<Vec<Made>> {
        let mut stand = self.stand_at(index).clone();
        let mut told = Vec::new();
        for (i, made) in self.record.iter().enumerate().skip(index) {
            let mv = made.kind.legal()?;
            let promotion = if i == index { Some(role) } else { mv.promotion() };
            let same = |c: &Move| c.from() == mv.from() && c.to() == mv.to() && c.promotion() == promotion;
            let candidate = stand.candidates().find(|c| same(&c.mv))?;
            let after = Arc::new(stand.after(&candidate));
            told.push(Made {
                accepted: false,
                ..self.made_otherwise(made, &stand, candidate.mv, after.clone())
            });
            stand = after;
        }
        Some(told)
    }

    /// Takes back the end of the record, and reports `told` in its place.
    pub(super) fn tell_anew(&mut self, ctx: &mut Ctx<'_>, told: Vec<Made>, reason: &str) {
        self.retract(ctx, self.plies() - told.len(), reason);
        for made in told {
            let ply = Ply {
                kind: made.kind,
                at: made.at,
                began: made.at,
                seen: true,
                landed: made.landed,
                pressed: None,
                missed: 0.0,
                stand: made.stand,
            };
            self.announce(ctx, &ply, made.completed_by);
        }
        self.restart_lines(ctx);
    }

    /// An arbiter says what the pawn of half-move `ply` became, or that of the last promotion.
    ///
    /// # Errors
    /// An error says that there was no promotion, or that later half-moves are not legal with that piece.
    pub(super) fn promoted(
        &mut self,
        ctx: &mut Ctx<'_>,
        ply: Option<u32>,
        role: Role,
    ) -> Result<(), CommandError> {
        if self.is_watched() {
            // The promotion may not be on the record yet.
            self.settle_rest(ctx);
        }
        let index = match ply {
            Some(ply) => (ply as usize).checked_sub(1),
            None => self.record.iter().rposition(|made| promoted_to(made).is_some()),
        };
        let known = index.and_then(|i| Some((i, promoted_to(self.record.get(i)?)?)));
        let Some((index, said)) = known else {
            return Err(NotNow::NoPromotion.into());
        };
        if said == role {
            return Ok(());
        }
        let Some(told) = self.with_promotion(index, role) else {
            return Err(NotNow::PlayedOn.into());
        };
        self.tell_anew(ctx, told, "promotion_said_by_arbiter");
        Ok(())
    }

    /// Gives notice that the watcher takes a queen for granted, where the board cannot tell what a pawn
    /// became.
    pub(in crate::watcher) fn promotion_taken_for_granted(&self, ctx: &mut Ctx<'_>, ply: &Ply) {
        let promoted = ply.kind.legal().filter(|mv| mv.promotion() == Some(Role::Queen));
        if let Some(mv) = promoted.filter(|_| ctx.sensed.is_felt()) {
            let message = format!(
                "The board cannot tell what the pawn on {} became: a queen is taken for granted. If it is another piece, say so by the command `promotion`.",
                mv.to()
            );
            self.notice(ctx, notice::PROMOTION_NOT_TOLD, &message);
        }
    }

    /// Reports an illegal move if a piece stands where it may not go, and nothing innocent explains that. No
    /// clock was pressed, so the report is never certain.
    fn felt_illegal(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.lines.best().clone();
        let (stand, ply) = (best.stand.clone(), self.base + best.plies.len() + 1);
        let seen = ctx.sensed.placement().named_by(stand.placement());
        let Explanation::Illegal(act) = explain(&stand, &seen) else {
            return;
        };
        let Some((from, to)) = act
            .from_to()
            .filter(|_| act.reason != Reason::OpponentsPieceMoved)
        else {
            return;
        };
        if self.open_at_board().any(|open| open.ply == ply) {
            return;
        }
        // The illegal move came after these half-moves.
        for made in best.plies.iter().skip(self.announced()) {
            if !matches!(made.kind, PlyKind::Legal(_)) || !self.is_watched() {
                return;
            }
            self.say(ctx, made, CompletedBy::Reply);
        }
        let scene = Scene {
            ply,
            before: stand.clone(),
            seen: seen.clone(),
            at: ctx.sensed.since(to),
            clock: None,
        };
        let kind = IrregularityKind::IllegalMove;
        let mut finding = Finding::new(kind, Certainty::Probable, Some(stand.turn()), scene);
        finding.reason = Some(act.reason);
        finding.act = act.uci();
        finding.squares = [from, to].into_iter().collect();
        finding.target = Some(stand.clone());
        self.accuse(ctx, finding, Some(&act));
        let left = Arc::new(stand.left_as(&act.placement()));
        let base = Line::new(stand, ctx.sensed, ctx.now);
        let stands = base.played(
            PlyKind::Illegal(Box::new(act)),
            left,
            ctx.sensed,
            ctx.now,
            &Bill::default(),
        );
        self.rebase(ctx, vec![(base, 0.6), (stands, 0.0)]);
    }
}

/// The piece that a pawn became in a half-move of the record.
fn promoted_to(made: &Made) -> Option<Role> {
    made.kind.legal()?.promotion()
}
