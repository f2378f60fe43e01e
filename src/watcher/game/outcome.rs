//! The result of a game, and who or what gave it.

use super::{course::Course, press::PressQueue};
use crate::{
    event::{Body, GameResult},
    watcher::ctx::Ctx,
};

/// The reasons that `game_ended` gives where the board showed the result.
pub(super) const KINGS: &str = "kings_in_the_centre";
pub(super) const SPECIAL_PIECE: &str = "special_piece";

/// True if `reason` says that the board showed the result.
fn is_shown(reason: &str) -> bool {
    matches!(reason, KINGS | SPECIAL_PIECE)
}

/// How a game ended, or stands.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::watcher) struct GameOutcome {
    pub(in crate::watcher) result: Option<GameResult>,
    /// The pieces were set up anew before the game had a result. The watcher reports nothing more of the game
    /// until an arbiter says what was meant.
    pub(in crate::watcher) parked: bool,
    /// A person, or the kings, have just ended the game. The watcher begins a copy to follow what comes.
    pub(in crate::watcher) ended_by_hand: bool,
    /// The board showed the result.
    pub(in crate::watcher) shown: bool,
    /// The watcher has already used the result that the board shows. The board must show something else
    /// before it can show a result again.
    pub(in crate::watcher) show_spent: bool,
    /// An arbiter entered the result.
    pub(in crate::watcher) confirmed: bool,
}

impl GameOutcome {
    /// True while the game has no result and is not parked.
    pub(in crate::watcher) fn is_open(self) -> bool {
        self.result.is_none() && !self.parked
    }

    /// Ends the game, or gives it another result, with a person's remark.
    pub(super) fn end(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &mut Course,
        presses: &mut PressQueue,
        result: GameResult,
        reason: &str,
        note: Option<String>,
    ) {
        if self.result.is_none() && !course.record.withdrawn.is_empty() {
            course.reinstate(ctx, course.record.withdrawn.len());
        }
        self.result = Some(result);
        self.parked = false;
        self.confirmed = reason == "arbiter";
        self.shown = is_shown(reason);
        self.ended_by_hand = self.confirmed || self.shown;
        presses.clear();
        let reason = reason.into();
        course.emit(ctx, None, Body::GameEnded { result, reason, note });
    }

    /// Lets a game go on that had ended or was parked.
    pub(in crate::watcher) fn take_up_again(&mut self, ctx: &mut Ctx<'_>, course: &Course) {
        if !self.is_open() {
            self.result = None;
            self.show_spent = true;
            self.parked = false;
            course.emit(ctx, None, Body::GameResumed { reason: None });
        }
    }
}
