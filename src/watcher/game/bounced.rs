//! A lever that springs back, and other second thoughts about presses.

use shakmaty::{Color, Square};

use super::{Press, course::Course, press::PressQueue, record::REACTION_MS, waits::READ_MS};
use crate::{
    board::{Lines, Placement, Sensed},
    event::CompletedBy,
    time::Millis,
};

/// A lever that springs back does so within this time after a press, and its player, if he notices it, presses again within this
/// time after that.
const BOUNCE_MS: u64 = 700;
/// A lever that has sprung back sooner than anybody reacts may be pressed again as late as this.
const PRESSED_AGAIN_MS: u64 = 3000;
/// A lever springs back within this time as a rule; few hands press so soon without a half-move.
const SPRING_MS: u64 = 500;
/// A hand that has pressed may rest on the lever for as long.
const HELD_MS: u64 = 1000;
/// Nobody sees that his opponent has pressed, and reaches the lever, within this time.
const STILL_THERE_MS: u64 = 300;
/// Such a lever may be pressed again as late as this.
const AGAIN_SOON_MS: u64 = 1500;

/// How long after a press the player before may press again because his lever has sprung back, where the press came `gap` ms after his.
fn again_within(gap: u64, slack: u64) -> u64 {
    match gap {
        _ if gap <= REACTION_MS + slack => PRESSED_AGAIN_MS,
        _ if gap <= SPRING_MS + slack => AGAIN_SOON_MS,
        _ => BOUNCE_MS,
    }
}

/// How long after a press at `pressed` another one of the player before may show that his lever has sprung back; 0 where it cannot be
/// the lever.
pub(super) fn pressed_again_within(course: &Course, pressed: Millis, slack: u64) -> u64 {
    let gap = course.record.after_press(pressed);
    let gap = gap.filter(|gap| *gap <= BOUNCE_MS + slack);
    gap.map_or(0, |gap| again_within(gap, slack).max(AGAIN_SOON_MS))
}

impl PressQueue {
    /// True where nobody knows whether `press` was one or the lever that sprang back: it came so soon, and the other player pressed again.
    pub(super) fn may_have_sprung(&self, course: &Course, press: &Press, slack: u64) -> bool {
        let within = pressed_again_within(course, press.at, slack);
        let again = self.later.front().filter(|next| next.side != press.side);
        again.is_some_and(|next| next.at.since(press.at) <= within + slack)
    }

    /// Returns true if the press of `side` at `at` is the second half of an earlier press: the lever had
    /// sprung back, and what looked like a press of the opponent was none.
    pub(in crate::watcher) fn bounced(
        &mut self,
        course: &mut Course,
        at: Millis,
        side: Color,
        sensed: &Sensed,
    ) -> bool {
        let sprung = self.last().cloned();
        let best = course.lines.best();
        let made = course
            .record
            .last()
            .filter(|made| made.completed_by == CompletedBy::Clock);
        let pressed = match best.plies.last() {
            Some(ply) => ply.pressed,
            None => made.map(|made| made.at),
        };
        let (Some(sprung), Some(pressed)) = (sprung, pressed) else {
            return false;
        };
        let (gap, slack) = (sprung.at.since(pressed), sensed.slack());
        // Whoever presses again sooner than anybody reacts still had his hand on the lever.
        let at_once = at.since(sprung.at) <= STILL_THERE_MS && gap <= HELD_MS;
        let soon = at.since(sprung.at) <= again_within(gap, slack) + slack && gap <= BOUNCE_MS + slack;
        // A reading between the presses, other than of the first one's half-move, shows that a hand was at work. Where nobody measured
        // the time of a reading, a piece of the opponent's shows it. What is read after the second press tells nothing: that may be
        // known late.
        let until_then = |square: &Square| sensed.since(*square) <= at;
        let mut changed = sensed.changed_since(pressed).into_iter().filter(until_then);
        let is_opponents = |square| best.placement().at(square).color() == Some(sprung.side);
        let touched = changed.any(|square| match sensed.since(square).since(pressed) {
            late if late <= READ_MS => false,
            late => late > READ_MS + slack || is_opponents(square),
        });
        if sprung.side == side || !soon && !at_once || touched || best.awaits() != Some(sprung.at) {
            return false;
        }
        self.forget_last(&mut course.lines);
        true
    }

    /// The link was down for a while, and now the time of `side` runs. If the last press that was heard was
    /// by `side`, the lever has gone back since.
    pub(in crate::watcher) fn sprang_back(&mut self, lines: &mut Lines, side: Color) {
        let last = self.last();
        if last.is_some_and(|press| press.side == side) {
            self.forget_last(lines);
        }
    }

    /// The press of `side` at `at` was none.
    pub(in crate::watcher) fn was_none(&mut self, lines: &mut Lines, at: Millis, side: Color) {
        if self
            .last()
            .is_some_and(|press| (press.side, press.at) == (side, at))
        {
            self.take_last();
        }
        lines.take_back_press(at);
    }

    fn forget_last(&mut self, lines: &mut Lines) {
        if let Some(press) = self.take_last() {
            lines.forget_press(press.at);
        }
    }

    /// A dump shows `after` where updates had told `before`. If the watcher kept `before` as the placement at
    /// rest after a press, it corrects that.
    pub(in crate::watcher) fn stood_at_press(&mut self, before: &Placement, after: &Placement) {
        let rest = self.judged.as_mut().and_then(|press| press.rest.as_mut());
        if let Some(rest) = rest.filter(|rest| *rest == before) {
            rest.clone_from(after);
        }
    }
}
