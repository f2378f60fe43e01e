//! Boards that are not configured any more: renamed, or taken away. What the journal has of their games is still put right.

use std::collections::BTreeSet;

use super::Daemon;
use crate::{
    gateway::{commands::BoardCommand, desk::Misnumbered, history},
    journal::{CommandRecord, Entry, Journal, query},
    mqtt::Refusal,
    watcher::{CommandError, Settings, Snapshot, Watcher},
};

impl Daemon {
    /// Looks which boards the journal has and the configuration does not.
    pub(super) async fn look_for_retired(&mut self) {
        let path = self.config.journal.path.clone();
        let kept = elsewhere(move || query::boards(&path).map_err(|error| error.to_string())).await;
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!("boards that are not configured any more cannot be found in the journal: {error}");
            Vec::new()
        });
        let is_gone = |id: &String| !self.plans.keys().any(|known| known.as_str() == id);
        let retired: BTreeSet<String> = kept.into_iter().filter(is_gone).collect();
        self.publisher_handle().retired.send_replace(retired);
        self.renumber_retired().await;
    }

    /// Tells the right number of their round of games at boards that are not configured any more.
    pub(super) async fn renumber_retired(&mut self) {
        let in_force = self.config.in_force.as_ref();
        let retired = self.publisher_handle().retired.borrow().clone();
        let Some(misnumbered) = in_force.and_then(Misnumbered::of).filter(|_| !retired.is_empty()) else {
            return;
        };
        let path = self.config.journal.path.clone();
        let games = elsewhere(move || misnumbered.games(&path, None)).await;
        let mut games = games.unwrap_or_else(|reason| {
            tracing::error!("games of boards that are not configured any more keep the wrong number of their round: {reason}");
            Vec::new()
        });
        games.retain(|right| retired.contains(&right.board) && !self.is_running(&right.board));
        let journal = self.shared.journal.clone();
        for games in games.chunk_by(|one, other| one.board == other.board) {
            let board = &games[0].board;
            let mut watcher = self.watcher_of(&journal, board).await;
            let (now, present) = (self.clock.now(), watcher.game().game);
            for right in games {
                match present == Some(right.game) {
                    true => watcher.renumber(now, &self.config.formerly(), right.table.round),
                    false => watcher.put_table_right(now, right.game, &right.table),
                }
            }
            if let Err(error) = journal.append(entry_of(board, &mut watcher, None)).await.await {
                tracing::error!("board {board}: its games keep the wrong number of their round: {error}");
            }
        }
    }

    /// True while the task of a board has not written all that it knows.
    fn is_running(&self, board: &str) -> bool {
        self.running.values().any(|id| id.as_str() == board)
    }

    /// Puts something right in a game of a board that is not configured any more, and answers.
    pub(super) async fn put_right_retired(&mut self, board: String, command: BoardCommand) {
        let is_retired = self.publisher_handle().retired.borrow().contains(&board);
        if !is_retired || !command.command.is_about_known() {
            let refused = command.refuse(&Refusal::UnknownBoard(board));
            return self.publisher_handle().reply(refused);
        }
        if self.is_running(&board) {
            return self.publisher_handle().reply(command.refuse(&Refusal::Busy));
        }
        if let Some(wait_s) = self.quota.wait_s(self.clock.now()) {
            let refused = command.refuse_flood(&self.quota, wait_s, &board);
            return self.publisher_handle().reply(refused);
        }
        self.quota.spend(self.clock.now());
        let journal = self.shared.journal.clone();
        if let Some(answer) = command.answered_before(&journal, &board).await {
            return self.publisher_handle().reply(answer);
        }
        let watcher = self.watcher_of(&journal, &board).await;
        let last = watcher.games();
        // It has no next game.
        if let Some(asked) = command.command.game().filter(|asked| *asked > last) {
            let error = CommandError::NoSuchGame { asked, last };
            let refused = command.answer.refused(error.code(), &error);
            return self.publisher_handle().reply(refused);
        }
        self.carry_out_retired(watcher, journal, board, command).await;
    }

    /// A watcher of the board as the journal has it. No link is opened.
    async fn watcher_of(&self, journal: &Journal, board: &str) -> Watcher {
        let resume = journal.resume(board).await;
        let settings = Settings {
            gateway: self.config.gateway.to_string(),
            board: board.to_owned(),
            epoch_ms: self.clock.epoch_ms(),
            ..Settings::default()
        };
        let snapshot = Snapshot::kept(resume.snapshot.as_deref(), resume.last_seq);
        let mut watcher = Watcher::of_record(settings, snapshot);
        for notice in resume.untold {
            watcher.handle_notice(self.clock.now(), notice.code, &notice.message);
        }
        watcher
    }

    async fn carry_out_retired(
        &self,
        mut watcher: Watcher,
        journal: Journal,
        board: String,
        command: BoardCommand,
    ) {
        let past = match watcher.needs(&command.command) {
            None => None,
            Some(needed) => {
                let (path, of) = (self.config.journal.path.clone(), board.clone());
                match elsewhere(move || history::game(&path, &of, &needed)).await {
                    Ok(events) => Some(events),
                    Err(reason) => {
                        let refused = command.answer.refused("journal_unreadable", &reason);
                        return self.publisher_handle().reply(refused);
                    }
                }
            }
        };
        let (reply, record) = command.carry_out(&mut watcher, &board, self.clock.now(), past);
        let entry = entry_of(&board, &mut watcher, Some(record));
        let reply = match journal.append(entry).await.await {
            Ok(_) => reply,
            Err(error) => command.answer.refused("not_kept", &error),
        };
        self.publisher_handle().reply(reply);
    }
}

/// What the watcher of a board said.
fn entry_of(board: &str, watcher: &mut Watcher, command: Option<CommandRecord>) -> Entry {
    Entry {
        board: board.to_owned(),
        events: std::iter::from_fn(|| watcher.poll_event()).collect(),
        snapshot: serde_json::to_string(&watcher.snapshot()).ok(),
        command,
    }
}

/// Reads the journal in another thread, so that no board waits for the disk.
async fn elsewhere<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let reading = tokio::task::spawn_blocking(read);
    reading.await.unwrap_or_else(|error| Err(error.to_string()))
}
