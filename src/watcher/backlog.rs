//! A log takes the line for seconds, so the messages that wait for it come after it, all at once. Their order
//! is right, but their times are not, and without times nobody can tell whose hand did what. So the watcher
//! gives them times: the core's time goes on between two such messages, and is ahead of the line's time from
//! then on.

use crate::{dgt::Message, time::Millis};

/// Time between two changes of squares. The board may have read them in one scan, in the wrong order.
const FIELD_MS: u64 = 200;
/// Time before a frame of the clock, which comes with each second and each press.
const CLOCK_MS: u64 = 150;
/// After the line was silent for this long, a message is new.
const SILENT_MS: u64 = 150;
/// A log takes no more time than this.
const MOST_MS: u64 = 12_000;

/// The times of messages that had to wait for a log.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// When the last waiting message came, in the line's time.
    last: Option<Millis>,
    /// How many milliseconds may still be given to messages.
    left: u64,
    /// By how many milliseconds the core's time is ahead of the line's.
    ahead: u64,
}

impl Backlog {
    /// These messages come at `now`, and waited as for a log. Returns how many milliseconds pass in the core's time before
    /// the last one.
    pub(super) fn waited(&mut self, now: Millis, messages: &[Message<'_>]) -> u64 {
        (self.last, self.left) = (Some(now), messages.iter().map(time_before).sum());
        self.left
    }

    /// How many milliseconds pass in the core's time before `message`.
    pub(super) fn heard(&mut self, now: Millis, message: &Message<'_>) -> u64 {
        if matches!(message, Message::EventLog(_)) {
            self.last = Some(now);
            self.left = MOST_MS;
            return 0;
        }
        self.last = self.last.filter(|last| now.since(*last) < SILENT_MS);
        let Some(last) = &mut self.last else { return 0 };
        *last = now;
        let waited = time_before(message).min(self.left);
        self.left -= waited;
        self.ahead += waited;
        waited
    }

    /// The link is a new one.
    pub(super) fn end(&mut self) {
        self.last = None;
    }

    /// The line's time at the core's time `now`.
    pub(super) fn on_line(&self, now: Millis) -> Millis {
        now - self.ahead
    }

    /// The core's time at the line's time `now`.
    pub(super) fn in_core(&self, now: Millis) -> Millis {
        now + self.ahead
    }
}

/// The time before a message that waited with the one before it.
fn time_before(message: &Message<'_>) -> u64 {
    match message {
        Message::Field { .. } => FIELD_MS,
        Message::Clock(_) => CLOCK_MS,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::dgt::PieceCode;

    #[test]
    fn a_board_that_never_stops_runs_no_further_ahead_than_its_log_took() {
        let mut backlog = Backlog::default();
        backlog.heard(Millis(0), &Message::EventLog(&[]));
        let field = Message::Field {
            square: 0,
            piece: PieceCode::EMPTY,
        };
        let waited: u64 = (1..1000).map(|at| backlog.heard(Millis(at * 100), &field)).sum();
        assert_eq!(waited, MOST_MS);
        assert_eq!(backlog.in_core(Millis(0)), Millis(MOST_MS));
    }
}
