//! A caller that stands still: its machine is busy, or was asleep. What was due waits then, together with what came.
//!
//! The board said what came while the time passed, so the watcher hears it before it does what was due. A capture tells when the
//! caller stood still, so that `replay` says the same of it.

use super::Watcher;
use crate::time::Millis;

/// A caller that is later than this, in milliseconds, stood still. No decision hangs on a shorter time.
const LATE_MS: u64 = 20;
/// What was due waits this long, in milliseconds, after the caller goes on, so that all that came meanwhile is heard.
const HEARD_MS: u64 = 20;

/// Until when the caller last stood still.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standstill(Option<Millis>);

impl Standstill {
    /// When what was `due` is done.
    pub(super) fn done_at(self, due: Millis) -> Millis {
        match self.0 {
            Some(until) if due <= until => until + HEARD_MS,
            _ => due,
        }
    }
}

impl Watcher {
    /// Since when what is due at `now` has waited, if the caller stood still.
    #[must_use]
    pub fn stood_still_since(&self, now: Millis) -> Option<Millis> {
        let due = self.poll_timeout().filter(|_| self.lost.is_empty());
        due.filter(|due| now.since(*due) > LATE_MS)
    }

    /// The caller stood still until then. What was due waits until the watcher has heard what came meanwhile.
    pub fn stood_still(&mut self, until: Millis) {
        self.standstill = Standstill(Some(until));
    }

    /// Does what is due until `now`, each at its time.
    pub fn catch_up(&mut self, now: Millis) {
        while let Some(due) = self.poll_timeout().filter(|due| *due <= now) {
            self.handle_timeout(due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capture::{Act, Capture, Record, replay::replay},
        dgt::{Message, PieceCode},
        event::{Body, CompletedBy, Event},
        watcher::{Settings, testing::initial_pieces},
    };

    /// When White's first half-move is complete, because nobody has touched the board since.
    const DUE: Millis = Millis(6000);

    fn field(square: u8, code: u8) -> Message<'static> {
        let piece = PieceCode(code);
        Message::Field { square, piece }
    }

    /// 1.e4, and between `DUE` and the end 1...e5, without a clock.
    fn capture() -> Capture {
        let squares = initial_pieces();
        let said = [
            (0, Message::Dump(&squares)),
            (1000, field(52, 0)),
            (1300, field(36, 1)),
            (9000, field(12, 0)),
            (9000, field(28, 7)),
        ];
        let records = said.iter().map(|(at, message)| {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            Record {
                at: Millis(*at),
                act: Act::FromBoard(bytes),
            }
        });
        Capture {
            records: records.collect(),
            ..Capture::default()
        }
    }

    fn completed_by(events: &[Event]) -> Vec<CompletedBy> {
        let moves = events.iter().filter_map(|event| match &event.body {
            Body::Move(made) => Some(made.completed_by),
            _ => None,
        });
        moves.collect()
    }

    fn replayed(capture: &Capture) -> Vec<Event> {
        let mut events = Vec::new();
        let mut watcher = Watcher::new(Settings::default(), None);
        let all = replay(&mut watcher, capture, |event| {
            events.push(event);
            Ok::<(), ()>(())
        });
        assert!(all.is_ok());
        events
    }

    #[test]
    fn what_came_is_heard_before_what_was_due_and_replay_says_the_same() {
        let mut capture = capture();
        let in_time = completed_by(&replayed(&capture));
        assert_eq!(in_time.first(), Some(&CompletedBy::Stillness));
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        let mut since = None;
        for record in &capture.records {
            if record.at > DUE && since.is_none() {
                since = watcher.stood_still_since(record.at);
                watcher.stood_still(record.at);
            }
            watcher.catch_up(record.at);
            if let Act::FromBoard(bytes) = &record.act {
                watcher.handle_bytes(record.at, bytes);
            }
        }
        watcher.catch_up(Millis(12_000));
        let events: Vec<_> = std::iter::from_fn(|| watcher.poll_event()).collect();
        assert_eq!(completed_by(&events).first(), Some(&CompletedBy::Reply));
        let since = since.map_or(0, |since| since.0);
        assert!((1300..9000).contains(&since), "{since}");
        let line = format!("{}.{:03} 9.000", since / 1000, since % 1000);
        capture.header.push("stood-still", &line).unwrap();
        let replayed = replayed(&capture);
        let seconds = |event: &Event| event.t;
        assert_eq!(
            events.iter().map(seconds).collect::<Vec<_>>(),
            replayed[..events.len()].iter().map(seconds).collect::<Vec<_>>()
        );
    }

    #[test]
    fn who_is_late_for_a_moment_has_not_stood_still() {
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        let due = watcher.poll_timeout().unwrap();
        assert_eq!(watcher.stood_still_since(due + LATE_MS), None);
        let late = due + LATE_MS + 1;
        assert_eq!(watcher.stood_still_since(late), Some(due));
        watcher.stood_still(late);
        assert_eq!(watcher.poll_timeout(), Some(late + HEARD_MS));
    }
}
