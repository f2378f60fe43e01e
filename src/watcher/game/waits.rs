//! How long the watcher waits after a press before it judges what the board showed.

use super::press::PressQueue;
use crate::{time::Millis, watcher::ctx::Ctx};

/// The watcher looks for an offence this long after the press.
pub(super) const JUDGE_MS: u64 = 900;
/// The same where nobody measured when the readings happened.
const UNMEASURED_JUDGE_MS: u64 = 1600;
/// A lever that goes back within this time of the first press of a game was rather put over first, and then pressed.
pub(super) const TURNED_MS: u64 = 950;
/// Cost of the hypothesis that the players put an illegal act right, compared with letting it stand, in nats.
pub(super) const RESTORED: f32 = 0.6;
/// The board reads a piece that was put down before a press at most this long after the press.
pub(in crate::watcher) const READ_MS: u64 = 250;
/// Updates may arrive up to this long after the press that they belong to.
pub(super) const SCAN_MS: u64 = 450;
/// After this long the watcher stops judging an unexplained press. The next dump or press may explain it.
pub(super) const GIVE_UP_MS: u64 = 20_000;
/// The watcher keeps a placement at rest no sooner than this after the press.
pub(super) const REST_MS: u64 = 300;
/// A board that has not changed for this long is at rest.
const STILL_MS: u64 = 250;
/// For this long after the clock was stopped, late updates may still belong to a half-move.
pub(super) const FREEZE_MS: u64 = 700;
/// On a board that loses updates, the watcher waits this long for a dump before it believes the readings.
const DUMP_MS: u64 = 10_000;

/// How long after a press the watcher looks for an offence. Where nobody measured when readings happened, a
/// reading that belongs to the press may carry a later time. A line that always gathers has an allowance of
/// its own.
pub(super) fn judged_after(ctx: &Ctx<'_>) -> u64 {
    if ctx.timing.catches_up && ctx.sensed.slack() == 0 {
        UNMEASURED_JUDGE_MS
    } else {
        JUDGE_MS
    }
}

impl PressQueue {
    /// Keeps what the board showed once it had come to rest after the press that is being judged, whatever the press is taken for
    /// by then: somebody may put the pieces back before it is judged.
    pub(super) fn keep_rest(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(press) = &mut self.judged
            && press.rest.is_none()
            && ctx.passed(press.at, REST_MS)
            && ctx.still_for(STILL_MS)
        {
            press.rest = Some(ctx.sensed.placement().clone());
        }
    }

    /// Asks the board for a dump, once for each press; this is the press at `pressed`.
    pub(super) fn ask(&mut self, ctx: &mut Ctx<'_>, pressed: Millis) {
        if self.asked.replace(pressed) != Some(pressed) {
            *ctx.dump_wanted = true;
        }
    }

    /// True while a lost update may explain what seems wrong since the press at `pressed`: this board loses
    /// updates, it has sent no dump since, and nobody has stopped the clock.
    pub(super) fn may_have_lost(&mut self, ctx: &mut Ctx<'_>, pressed: Millis) -> bool {
        let told = ctx
            .sensed
            .last_dump()
            .is_some_and(|dump| dump >= pressed + REST_MS);
        if told || ctx.is_stopped_since(pressed) || !ctx.sensed.loses_updates(ctx.now) {
            return false;
        }
        self.ask(ctx, pressed);
        !ctx.passed(pressed, DUMP_MS)
    }
}
