//! The commands to a board, which go out one after the other with a pause between them.

use std::collections::VecDeque;

use crate::{dgt::CommandBytes, time::Millis};

/// Commands that wait, each at most once.
#[derive(Debug)]
pub struct Speech {
    queue: VecDeque<CommandBytes>,
    /// The command that may go out now.
    ready: Option<CommandBytes>,
    next: Millis,
    pause_ms: u64,
}

impl Speech {
    /// No commands yet; `pause_ms` milliseconds pass between two of them.
    #[must_use]
    pub fn new(pause_ms: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            ready: None,
            next: Millis(0),
            pause_ms,
        }
    }

    /// Adds `command`, unless it waits already.
    pub fn ask(&mut self, now: Millis, command: CommandBytes) {
        if self.ready != Some(command) && !self.queue.contains(&command) {
            self.queue.push_back(command);
        }
        self.pump(now);
    }

    /// Makes the next command ready when its time has come.
    pub fn pump(&mut self, now: Millis) {
        if self.ready.is_none() && now >= self.next {
            self.ready = self.queue.pop_front();
            if self.ready.is_some() {
                self.next = now + self.pause_ms;
            }
        }
    }

    /// When the next command may go out.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        (!self.queue.is_empty() && self.ready.is_none()).then_some(self.next)
    }

    /// Takes the command that may go out now.
    pub fn take(&mut self) -> Option<CommandBytes> {
        self.ready.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_wait_for_each_other_and_none_waits_twice() {
        let mut speech = Speech::new(200);
        let [a, b] = [CommandBytes::of(b"a"), CommandBytes::of(b"b")];
        for command in [a, b, b, a] {
            speech.ask(Millis(0), command);
        }
        assert_eq!((speech.take(), speech.take()), (Some(a), None));
        assert_eq!(speech.due(), Some(Millis(200)));
        speech.pump(Millis(199));
        assert_eq!(speech.take(), None);
        speech.pump(Millis(200));
        assert_eq!((speech.take(), speech.due()), (Some(b), None));
    }
}
