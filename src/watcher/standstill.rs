//! A caller that stands still: its machine is busy, or the process is stopped. What was due waits then, together with what came.
//!
//! The board said what came while the time passed, so the watcher hears it before it does what was due. A capture tells when the
//! caller stood still, so that `replay` says the same of it.

use super::Watcher;
use crate::time::Millis;

/// When what was due is done, of which the caller was kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standstill(Option<Millis>);

impl Standstill {
    /// When what was `due` is done.
    pub(super) fn done_at(self, due: Millis) -> Millis {
        self.0.map_or(due, |until| until.max(due))
    }
}

impl Watcher {
    /// Since when something has been due at `now`, if it has been for longer than `late_ms` milliseconds.
    #[must_use]
    pub fn late_since(&self, now: Millis, late_ms: u64) -> Option<Millis> {
        self.due().filter(|due| now.since(*due) > late_ms)
    }

    /// The caller stood still: what was due between `since` and `until` is done then, after what the watcher hears before. That has
    /// waited, and nobody knows when it happened.
    pub fn stood_still(&mut self, since: Millis, until: Millis) {
        self.standstill = Standstill(Some(until));
        self.wire.stood_still(since + self.before, until + self.before);
    }

    /// Does what is due until `now`, each at its time.
    pub fn catch_up(&mut self, now: Millis) {
        while let Some(due) = self.due().filter(|due| *due <= now) {
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
    /// When the caller does it, after a standstill.
    const UNTIL: Millis = Millis(9020);

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
                since = watcher.late_since(record.at, 20);
                watcher.stood_still(since.unwrap_or(DUE), UNTIL);
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
        let line = format!("{}.{:03} 9.020", since / 1000, since % 1000);
        capture.header.push("stood-still", &line).unwrap();
        let replayed = replayed(&capture);
        let seconds = |event: &Event| event.t;
        assert_eq!(
            events.iter().map(seconds).collect::<Vec<_>>(),
            replayed[..events.len()].iter().map(seconds).collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_waited_is_done_when_the_caller_goes_on() {
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        let due = watcher.poll_timeout().unwrap();
        assert_eq!(watcher.late_since(due + 20, 20), None);
        assert_eq!(watcher.late_since(due + 21, 20), Some(due));
        watcher.stood_still(due, due + 40);
        assert_eq!(watcher.poll_timeout(), Some(due + 40));
        watcher.handle_bytes(due + 60, &[]);
        assert_eq!(watcher.poll_timeout(), Some(due + 60), "time does not go back");
    }

    #[test]
    fn who_asks_what_the_board_can_have_heard_puts_nothing_off() {
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        let due = watcher.poll_timeout();
        watcher.hold_talk(Millis(10_000), false);
        assert_eq!(watcher.poll_timeout(), due);
    }
}
