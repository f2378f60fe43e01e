//! Commands of people to one board.

use super::{BoardTask, beating};
use crate::{
    event::Event,
    gateway::{commands::BoardCommand, history},
    watcher::{Command, Needed},
};

/// A command that leads to more events than this counts as several: a long record that is corrected is told anew.
const EVENTS_OF_A_COMMAND: usize = 100;

impl BoardTask {
    /// Carries `command` out, and answers once its events are kept.
    pub(super) async fn command(&mut self, command: BoardCommand) {
        let board = self.plan.id.to_string();
        if let Some(answer) = command.answered_before(&self.shared.journal, &board).await {
            self.shared.publisher.reply(answer);
            return;
        }
        let past = match self.watcher.needs(&command.command) {
            Some(needed) => match self.read_past(needed).await {
                Ok(events) => Some(events),
                Err(reason) => {
                    let refused = command.answer.refused("journal_unreadable", &reason);
                    return self.shared.publisher.reply(refused);
                }
            },
            None => None,
        };
        let now = self.catch_up();
        if let Some(wait_s) = self.quota.wait_s(now) {
            let refused = command.refuse_flood(&self.quota, wait_s, &board);
            self.shared.publisher.reply(refused);
            return;
        }
        let is_rules = matches!(command.command, Command::Rules);
        let (reply, record) = command.carry_out(&mut self.watcher, &board, now, past);
        if let Some(tape) = self.tape.as_mut().filter(|_| is_rules) {
            tape.rules_taken(now, self.watcher.rules());
        }
        self.replies.push(reply);
        self.changed |= self.watcher.take_changed();
        let events: Vec<_> = std::iter::from_fn(|| self.watcher.poll_event()).collect();
        for _ in events.chunks(EVENTS_OF_A_COMMAND) {
            self.quota.spend(now);
        }
        self.append(events, Some(record)).await;
    }

    /// Reads the events of a game that the watcher does not keep, in another thread.
    async fn read_past(&self, needed: Needed) -> Result<Vec<Event>, String> {
        let (path, board) = (self.shared.journal_path.clone(), self.plan.id.to_string());
        let reading = tokio::task::spawn_blocking(move || history::game(&path, &board, &needed));
        let read = beating(&self.pulse, reading).await;
        read.unwrap_or_else(|error| Err(error.to_string()))
    }
}
