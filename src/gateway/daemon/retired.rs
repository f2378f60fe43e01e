//! Boards that are not configured any more: renamed, or taken away. What the journal has of their games is still put right.

use std::collections::BTreeSet;

use super::Daemon;
use crate::{
    gateway::{commands::BoardCommand, history},
    journal::{Entry, Journal, query},
    mqtt::Refusal,
    watcher::{CommandError, Settings, Snapshot, Watcher},
};

impl Daemon {
    /// Looks which boards the journal has and the configuration does not.
    pub(super) fn look_for_retired(&self) {
        let kept = query::boards(&self.config.journal.path).unwrap_or_else(|error| {
            tracing::warn!("boards that are not configured any more cannot be found in the journal: {error}");
            Vec::new()
        });
        let is_gone = |id: &String| !self.plans.keys().any(|known| known.as_str() == id);
        let retired: BTreeSet<String> = kept.into_iter().filter(is_gone).collect();
        self.publisher_handle().retired.send_replace(retired);
    }

    /// Puts something right in a game of a board that is not configured any more, and answers.
    pub(super) async fn put_right_retired(&mut self, board: String, command: BoardCommand) {
        let is_retired = self.publisher_handle().retired.borrow().contains(&board);
        if !is_retired || !command.command.is_about_known() {
            let refused = command.refuse(&Refusal::UnknownBoard(board));
            return self.publisher_handle().reply(refused);
        }
        // Its task has not written all that it knows.
        if self.running.values().any(|id| id.as_str() == board) {
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
        Watcher::of_record(
            settings,
            Snapshot::kept(resume.snapshot.as_deref(), resume.last_seq),
        )
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
                let read = tokio::task::spawn_blocking(move || history::game(&path, &of, &needed)).await;
                match read.unwrap_or_else(|error| Err(error.to_string())) {
                    Ok(events) => Some(events),
                    Err(reason) => {
                        let refused = command.answer.refused("journal_unreadable", &reason);
                        return self.publisher_handle().reply(refused);
                    }
                }
            }
        };
        let (reply, record) = command.carry_out(&mut watcher, &board, self.clock.now(), past);
        let entry = Entry {
            board,
            events: std::iter::from_fn(|| watcher.poll_event()).collect(),
            snapshot: serde_json::to_string(&watcher.snapshot()).ok(),
            command: Some(record),
        };
        let reply = match journal.append(entry).await.await {
            Ok(_) => reply,
            Err(error) => command.answer.refused("not_kept", &error),
        };
        self.publisher_handle().reply(reply);
    }
}
