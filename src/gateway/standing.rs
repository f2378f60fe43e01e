//! The standing of the boards, for the parts that look at all of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    config::Id,
    event::GameResult,
    watcher::{GameView, Status},
};

/// The standing of one board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BoardStanding {
    /// True while the board answers.
    pub(super) online: bool,
    /// The number of its game, or of the last one while none goes on.
    pub(super) game: Option<u32>,
    /// True while a game goes on.
    pub(super) playing: bool,
    /// The number of half-moves of its game.
    pub(super) plies: u64,
    /// The number of open irregularities.
    pub(super) open: u64,
    /// The number of its last event.
    pub(super) last_seq: u64,
}

impl BoardStanding {
    pub(super) fn of(status: Status, game: &GameView) -> Self {
        Self {
            online: status == Status::Online,
            game: game.game,
            playing: game.game.is_some() && game.result == Some(GameResult::Open),
            plies: game.moves.len() as u64,
            open: game.open_irregularities.len() as u64,
            last_seq: game.last_seq,
        }
    }
}

/// The standings of all boards.
#[derive(Clone, Debug, Default)]
pub(super) struct Standings(Arc<Mutex<BTreeMap<Id, BoardStanding>>>);

impl Standings {
    pub(super) fn set(&self, board: &Id, standing: BoardStanding) {
        self.lock().insert(board.clone(), standing);
    }

    /// Forgets a board that is not watched any more.
    pub(super) fn forget(&self, board: &Id) {
        self.lock().remove(board);
    }

    pub(super) fn of(&self, board: &Id) -> BoardStanding {
        self.lock().get(board).copied().unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Id, BoardStanding>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
