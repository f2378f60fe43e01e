//! Boards that feel only which squares are occupied. The watcher takes a promotion to a queen for granted and
//! may have to change it; and it reports what occupation alone can prove.

use shakmaty::Role;

use super::{
    Game, Made,
    advice::{Finding, Scene},
};
use crate::{
    board::{Explanation, Lines, Ply, PlyKind, act::Reason, explain},
    event::{Certainty, CompletedBy},
    laws::IrregularityKind,
    watcher::{command::CommandError, ctx::Ctx, not_now::NotNow},
};

/// The board must have been at rest for this long before the watcher doubts a promotion.
const DOUBT_MS: u64 = 1500;
/// Without a clock nothing shows that a half-move is over. So a piece must stand for this long where no legal
/// half-move puts it.
const ILLEGAL_MS: u64 = 10_000;

/// The pieces that a pawn may have become, the likeliest first.
const OTHERWISE: [Role; 4] = [Role::Queen, Role::Knight, Role::Rook, Role::Bishop];

impl Game {
    /// Looks at pieces that stand where no hypothesis has any. A promotion may be another than was taken for
    /// granted, or a player has made an illegal move.
    pub(in crate::watcher) fn look_for_unfelt(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.course.lines.best();
        let stuck = self.is_watched() && ctx.sensed.is_felt() && best.misplaced(ctx.sensed).any();
        if !stuck || !self.course.on_record() || !ctx.still_for(DOUBT_MS) {
            return;
        }
        let all_said = self.course.lines.best().plies.len() == self.course.announced();
        if all_said && self.promoted_otherwise(ctx) {
            return;
        }
        if ctx.still_for(ILLEGAL_MS) {
            self.felt_illegal(ctx);
        }
    }

    /// Changes a promotion of the record if the board is explained by another piece that the pawn became.
    /// Returns true if it did.
    fn promoted_otherwise(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let promotions = (0..self.course.record.plies())
            .rev()
            .filter_map(|i| Some((i, promoted_to(&self.course.record[i])?)));
        let told: Option<Vec<Made>> = promotions
            .flat_map(|(i, said)| OTHERWISE.map(|role| (i, said, role)))
            .filter(|(_, said, role)| said != role)
            .map(|(i, _, role)| (i, role))
            .filter_map(|(i, role)| self.course.record.with_promotion(i, role))
            .find(|told| {
                let last = told.last().map_or(&self.course.record.start, |made| &made.stand);
                let lines = Lines::new(last.clone(), ctx.sensed, ctx.now);
                lines.best().misplaced(ctx.sensed).is_empty()
            });
        let Some(told) = told else { return false };
        self.tell_anew(ctx, told, "promotion_was_another");
        true
    }

    /// Takes back the end of the record, and reports `told` in its place.
    pub(super) fn tell_anew(&mut self, ctx: &mut Ctx<'_>, told: Vec<Made>, reason: &str) {
        self.course
            .retract(ctx, self.course.record.plies() - told.len(), reason);
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
            self.course.announce(ctx, &ply, made.completed_by);
        }
        self.course.restart_lines(ctx);
    }

    /// An arbiter says what the pawn of half-move `ply` became, or that of the last promotion.
    ///
    /// # Errors
    /// An error says that there was no promotion, or that later half-moves are not legal with that piece.
    pub(in crate::watcher) fn promoted(
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
            None => self
                .course
                .record
                .iter()
                .rposition(|made| promoted_to(made).is_some()),
        };
        let known = index.and_then(|i| Some((i, promoted_to(self.course.record.get(i)?)?)));
        let Some((index, said)) = known else {
            return Err(NotNow::NoPromotion.into());
        };
        if said == role {
            return Ok(());
        }
        let Some(told) = self.course.record.with_promotion(index, role) else {
            return Err(NotNow::PlayedOn.into());
        };
        self.tell_anew(ctx, told, "promotion_said_by_arbiter");
        Ok(())
    }

    /// Reports an illegal move if a piece stands where it may not go, and nothing innocent explains that. No
    /// clock was pressed, so the report is never certain.
    fn felt_illegal(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.course.lines.best().clone();
        let (stand, ply) = (best.stand.clone(), self.course.base + best.plies.len() + 1);
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
        if self.cases.at_board().any(|open| open.ply == ply) {
            return;
        }
        // The illegal move came after these half-moves.
        for made in best.plies.iter().skip(self.course.announced()) {
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
        self.go_on_after(ctx, stand, act);
    }
}

/// The piece that a pawn became in a half-move of the record.
fn promoted_to(made: &Made) -> Option<Role> {
    made.kind.legal()?.promotion()
}
