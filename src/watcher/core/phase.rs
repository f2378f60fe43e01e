//! Whether a game goes on at the board.

use super::start::Setup;
use crate::watcher::game::Game;

/// Whether a game goes on at the board.
#[derive(Debug)]
pub(in crate::watcher) enum Phase {
    /// There is no game yet, or the players set up the next one.
    Waiting(Box<Setup>),
    /// A game goes on, or has ended and its pieces still stand.
    Game(Box<Game>),
}

impl Phase {
    /// True while no game goes on.
    pub(super) fn is_idle(&self) -> bool {
        self.game().is_none_or(|game| !game.is_watched())
    }

    /// The present game; none while there is no game.
    pub(in crate::watcher) fn game(&self) -> Option<&Game> {
        match self {
            Self::Game(game) => Some(game),
            Self::Waiting(_) => None,
        }
    }

    /// The same, to be changed.
    pub(in crate::watcher) fn game_mut(&mut self) -> Option<&mut Game> {
        match self {
            Self::Game(game) => Some(game),
            Self::Waiting(_) => None,
        }
    }

    /// True for a game that goes on, or one that may begin.
    pub(super) fn is_worth_keeping(&self) -> bool {
        match self {
            Self::Game(game) => game.is_watched(),
            Self::Waiting(setup) => setup.is_worth_keeping(),
        }
    }

    /// True for a game whose pieces were set up anew before it had a result.
    pub(super) fn is_parked(&self) -> bool {
        self.game().is_some_and(|game| game.outcome.parked)
    }

    /// What is known of a game that may begin holds no more: the board lies another way.
    pub(super) fn start_over(&mut self) {
        if let Self::Waiting(setup) = self {
            **setup = Setup {
                in_doubt: setup.in_doubt,
                absent: setup.absent,
                ..Setup::default()
            };
        }
    }
}
