//! Who plays at the board, in which round and by which rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{BoardTask, beating};
use crate::{
    config::Id,
    gateway::desk::Misnumbered,
    watcher::{Rules, Table},
};

/// What is to be played at the boards, for the next game of each.
pub(in crate::gateway) type Tables = Arc<BTreeMap<Id, Seating>>;

/// What is to be played at one board.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::gateway) struct Seating {
    pub(in crate::gateway) players: Table,
    /// True where the players are those of pairings.
    pub(in crate::gateway) paired: bool,
    /// Wrong numbers that the round had before.
    pub(in crate::gateway) formerly: BTreeSet<u32>,
    /// How to find the earlier games that still have one of them.
    pub(in crate::gateway) misnumbered: Option<Misnumbered>,
    pub(in crate::gateway) rules: Rules,
}

impl BoardTask {
    /// Tells the watcher the players and the rules of its next games.
    pub(super) fn seat(&mut self) {
        let seating = self.shared.tables.borrow_and_update().get(&self.plan.id).cloned();
        let Some(seating) = seating else { return };
        let now = self.catch_up();
        if let Some(tape) = &mut self.tape {
            tape.rules_wait(now, &seating.rules);
        }
        self.watcher.set_rules(now, seating.rules);
        self.watcher
            .renumber(now, &seating.formerly, seating.players.round);
        self.misnumbered = seating.misnumbered;
        if seating.paired {
            self.watcher.pair(now, seating.players);
        } else {
            self.watcher.set_table(now, seating.players);
        }
    }

    /// Tells the right number of their round of games that the watcher does not keep. Another thread reads which ones. If the
    /// journal cannot be read now, the next start of the daemon looks again.
    pub(super) async fn renumber_earlier(&mut self, misnumbered: Misnumbered) {
        let (path, board) = (self.shared.journal_path.clone(), self.plan.id.to_string());
        let reading = tokio::task::spawn_blocking(move || misnumbered.games(&path, Some(&board)));
        let read = beating(&self.pulse, reading).await;
        let games = match read.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(games) => games,
            Err(reason) => {
                let board = self.plan.id.as_str();
                return tracing::error!(
                    board,
                    "board {board}: earlier games of the round keep its wrong number: {reason}"
                );
            }
        };
        let (now, present) = (self.catch_up(), self.watcher.game().game);
        for right in games.into_iter().filter(|right| Some(right.game) != present) {
            self.watcher.put_table_right(now, right.game, &right.table);
        }
        self.drain().await;
    }
}
