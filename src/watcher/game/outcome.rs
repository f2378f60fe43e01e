//! The result of a game, and who or what gave it.

use crate::event::GameResult;

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
}
