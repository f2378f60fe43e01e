//! Takes what comes over a board's line, and sends what the watcher asks for.

use super::{BoardTask, Line, MAX_UNSENT};
use crate::{
    capture::{Act, ParseError},
    gateway::timed::{Timed, to_board},
    time::Millis,
    watcher::LinkWish,
};

impl BoardTask {
    /// Gives the watcher the bytes from the line, at the times that the line tells, or at the present time.
    pub(super) fn hear(&mut self, timed: Option<&mut Timed>, bytes: &[u8]) -> Result<(), ParseError> {
        let Some(timed) = timed else {
            self.record(self.now(), || Act::FromBoard(bytes.to_vec()));
            self.watcher.handle_bytes(self.now(), bytes);
            return Ok(());
        };
        for heard in timed.hear(self.shared.clock.now(), bytes)? {
            // The watcher acts first on what is due before these bytes. Each action may ask for a later one.
            while let Some(due) = self.watcher.poll_timeout().filter(|due| *due <= heard.at) {
                let due = self.told.map_or(due, |told| due.max(told));
                self.watcher.handle_timeout(due);
            }
            if !heard.bytes.is_empty() {
                self.record(heard.at, || Act::FromBoard(heard.bytes.clone()));
                self.watcher.handle_bytes(heard.at, &heard.bytes);
            }
            self.told = Some(heard.at);
        }
        Ok(())
    }

    pub(super) fn record(&mut self, at: Millis, act: impl FnOnce() -> Act) {
        if let Some(tape) = &mut self.tape {
            tape.take(at, &act());
        }
    }

    /// When the task may read the line again, if the line has cost the others too much time; none when it may now.
    pub(super) fn waits(&self, line: &mut Line) -> Option<Millis> {
        let again = line.allowance.wait(self.shared.clock.now())?;
        if !std::mem::replace(&mut line.floods, true) {
            let board = self.plan.id.as_str();
            tracing::warn!(
                board,
                code = "board_floods",
                "board {board}: it sends more than any board has to say and is read slowly: is another device on this port?"
            );
        }
        Some(again)
    }

    /// Sends what the watcher asks for. Returns a reason when the line cannot be used any more.
    pub(super) fn transmit(&mut self, line: Option<&mut Line>) -> Option<String> {
        let wish = std::iter::from_fn(|| self.watcher.poll_wish()).last();
        let Some(line) = line else {
            // Without a line the watcher's bytes have no receiver.
            while self.watcher.poll_transmit().is_some() {}
            return None;
        };
        while let Some(command) = self.watcher.poll_transmit() {
            self.record(self.now(), || Act::ToBoard(command.to_vec()));
            match line.timed {
                Some(_) => line.unsent.extend(to_board(&command).bytes()),
                None => line.unsent.extend(command.iter()),
            }
        }
        if line.unsent.len() > MAX_UNSENT {
            return Some("the port takes no more".to_owned());
        }
        wish.map(|LinkWish::Reopen| "the board does not answer".to_owned())
    }
}
