//! Asks the broker what it knows of our numbers, before anything is sent to it.
//!
//! The broker retains the last states of the boards, with the last number of each. Where events went out whose numbers
//! no disk secured, it retains a ceiling as well. The publisher sends a message to itself, which comes back after all
//! of these: then it has heard everything.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde::Deserialize;
use tokio::task::JoinSet;

use super::{link::Arrived, topic::Topics};
use crate::{
    config::Id,
    journal::{Journal, KnownNumbers},
};

/// How long to wait for a broker that does not let us hear ourselves.
const SILENCE: Duration = Duration::from_secs(3);

/// How many connections may end while the publisher waits for its own message. After that it does without.
const MOST_BROKEN_OFF: u32 = 1;
/// The same at a broker that has let us hear ourselves before: something else ended those connections, as the return of
/// a node of a cluster, unless it goes on.
const MOST_BROKEN_OFF_WHERE_HEARD: u32 = 8;

/// The highest number of a game that a snapshot can hold. A higher one at the broker is not from us.
const MOST_GAMES: u32 = 1_000_000_000;
/// The highest number of an event that the publisher believes. No board comes to it before the year 2100: numbers jump to
/// 64 times the Unix time in milliseconds, `journal/numbers.rs`.
/// Above it, programs that count in floating point would confuse numbers, and soon the journal has none left.
const MOST_EVENTS: u64 = 1 << 48;

/// The fields of a board's `game` that the comparison reads.
#[derive(Deserialize)]
struct Game {
    last_seq: u64,
    /// None before the first game.
    game: Option<u32>,
}

impl Game {
    /// The number of the board's last game; 0 where there is none, or where no board can have come to that number.
    fn number(&self) -> u32 {
        self.game.filter(|number| *number <= MOST_GAMES).unwrap_or(0)
    }
}

/// Payload of a board's `numbers`: the gateway sent no number above the ceiling while no disk could be written.
#[derive(Deserialize, serde::Serialize)]
pub(super) struct Numbers {
    pub(super) ceiling: u64,
}

/// The steps of the question.
#[derive(Debug, Default)]
enum Stage {
    #[default]
    Unasked,
    /// Answers may still come until then.
    Hearing(Instant),
    /// The publisher has heard everything.
    Heard,
    /// The journal compares its numbers with those of the broker.
    Comparing(JoinSet<bool>),
    /// The publisher may send.
    Over,
}

/// The question at each connection. Numbers are compared once, and again after another gateway had our name.
#[derive(Debug, Default)]
pub(super) struct ReadBack {
    stage: Stage,
    is_compared: bool,
    is_deaf: bool,
    /// The broker has let us hear ourselves.
    was_heard: bool,
    known: BTreeMap<String, KnownNumbers>,
    /// Connections that ended during the question, since the broker last let us hear ourselves.
    broken_off: u32,
}

impl ReadBack {
    /// Begins the question on a new connection. True where the publisher is to send a message to itself: some brokers
    /// hang up on a message that they do not allow.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        match self.stage {
            Stage::Hearing(_) => self.broken_off += 1,
            // The last connection went on after the question: it was not the question that ended those before.
            Stage::Over if self.was_heard => self.broken_off = 0,
            _ => {}
        }
        // The publisher does not wait again for a broker that let it wait in vain.
        let patience = if self.is_deaf { Duration::ZERO } else { SILENCE };
        self.stage = Stage::Hearing(now + patience);
        self.known.clear();
        let most = if self.was_heard {
            MOST_BROKEN_OFF_WHERE_HEARD
        } else {
            MOST_BROKEN_OFF
        };
        self.broken_off < most
    }

    /// Sends no message to ourselves again, because the broker hangs up on it.
    pub(super) fn do_without_echo(&mut self) {
        self.broken_off = MOST_BROKEN_OFF;
        self.was_heard = false;
    }

    /// True while numbers must be compared before the publisher sends anything.
    pub(super) fn wants_numbers(&self) -> bool {
        !self.is_compared
    }

    /// Has the numbers compared again, because another gateway has our name and gives out numbers.
    pub(super) fn forget(&mut self) {
        self.is_compared = false;
    }

    /// Takes what came in, if it is an answer.
    pub(super) fn take(&mut self, topics: &Topics, arrived: &Arrived) {
        if arrived.topic == topics.echo() {
            (self.is_deaf, self.was_heard, self.broken_off) = (false, true, 0);
            return self.end();
        }
        let Some((board, state)) = topics.parse_read_back(&arrived.topic) else {
            return;
        };
        if let Stage::Hearing(until) = &mut self.stage {
            *until = Instant::now() + SILENCE;
        }
        let known = self.known.entry(board.to_owned()).or_default();
        let payload = &arrived.payload;
        let believed = |number: u64| {
            let is_possible = number <= MOST_EVENTS;
            if !is_possible {
                tracing::warn!(
                    "the broker retains number {number} on {}, to which no board can have come: somebody else wrote there, and it is not believed; only the gateway should have the right to write there",
                    arrived.topic
                );
            }
            if is_possible { number } else { 0 }
        };
        if state == "numbers" {
            known.ceiling =
                serde_json::from_slice::<Numbers>(payload).map_or(0, |numbers| believed(numbers.ceiling));
        } else if let Ok(game) = serde_json::from_slice::<Game>(payload) {
            (known.last, known.game) = (believed(game.last_seq), game.number());
            known.shown = (known.game > 0)
                .then(|| serde_json::from_slice(payload).ok())
                .flatten();
        } else {
            (known.last, known.game, known.shown) = (0, 0, None);
        }
    }

    /// Ends the hearing: nothing more will come.
    pub(super) fn end(&mut self) {
        if matches!(self.stage, Stage::Hearing(_)) {
            self.stage = Stage::Heard;
        }
    }

    /// True once the publisher has heard everything, or expects nothing more.
    pub(super) fn has_heard(&mut self, now: Instant) -> bool {
        if let Stage::Hearing(until) = self.stage
            && until <= now
        {
            if !std::mem::replace(&mut self.is_deaf, true) {
                tracing::warn!(
                    "the broker does not let us hear what we published before: if the journal was lost, or another gateway has our name, it cannot tell; may we read our own topics?"
                );
            }
            self.stage = Stage::Heard;
        }
        matches!(self.stage, Stage::Heard)
    }

    /// False where the broker does not let us hear ourselves.
    pub(super) fn can_hear(&self) -> bool {
        !self.is_deaf
    }

    /// Has the journal compare the numbers, now that the name is ours. True where it has done so before. `is_anothers` where
    /// another gateway had the name last: it may have ended before this one could know of it.
    pub(super) fn compare(&mut self, journal: &Journal, is_anothers: bool) -> bool {
        if self.is_compared {
            self.stage = Stage::Over;
        } else {
            let (journal, known) = (journal.clone(), self.known.clone());
            let mut comparing = JoinSet::new();
            comparing.spawn(async move {
                if is_anothers {
                    journal.stand_by(false).await;
                }
                journal.reconcile(known).await.await.is_ok()
            });
            self.stage = Stage::Comparing(comparing);
        }
        self.is_compared
    }

    /// True once the publisher may send.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// Notes that the journal has compared.
    pub(super) fn finish(&mut self) {
        self.is_compared = true;
        self.stage = Stage::Over;
    }

    /// Ends when the publisher may send.
    pub(super) async fn settled(&mut self) {
        if let Stage::Comparing(answer) = &mut self.stage
            && matches!(answer.join_next().await, Some(Ok(true)))
        {
            return;
        }
        // The journal is closed, so nothing will be sent any more.
        std::future::pending::<()>().await;
    }

    /// Boards that the broker retains and that are not among `ours`: they were renamed or removed.
    pub(super) fn former(&self, ours: &[Id]) -> Vec<Id> {
        let is_former = |id: &Id| !ours.contains(id);
        let boards = self.known.keys().filter_map(|board| board.parse().ok());
        boards.filter(is_former).collect()
    }

    /// The ceilings that the broker retains.
    pub(super) fn ceilings(&self) -> BTreeMap<String, u64> {
        let known = self.known.iter();
        let ceilings = known.map(|(board, known)| (board.clone(), known.ceiling));
        ceilings.filter(|(_, ceiling)| *ceiling > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many connections in a row that end in the question have a message to ourselves.
    fn echoes(readback: &mut ReadBack) -> usize {
        (0..10).take_while(|_| readback.begin(Instant::now())).count()
    }

    #[test]
    fn a_broker_that_let_us_hear_ourselves_is_asked_again_though_a_connection_ended() {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let echo = Arrived {
            topic: topics.echo(),
            payload: tokio_util::bytes::Bytes::new(),
            retain: false,
            response_topic: None,
            correlation: None,
        };
        assert_eq!(
            echoes(&mut ReadBack::default()),
            1,
            "it may hang up on the message"
        );
        let mut readback = ReadBack::default();
        readback.begin(Instant::now());
        readback.take(&topics, &echo);
        assert_eq!(echoes(&mut readback), 8, "until it goes on");
        readback.finish();
        assert_eq!(
            echoes(&mut readback),
            8,
            "a connection lasted without the message"
        );
        readback.take(&topics, &echo);
        readback.do_without_echo();
        assert_eq!(echoes(&mut readback), 0, "it said that it was the message");
    }

    #[test]
    fn a_number_that_no_game_can_have_is_not_believed() {
        let number = |game| Game { last_seq: 1, game }.number();
        assert_eq!([number(Some(3)), number(None), number(Some(u32::MAX))], [3, 0, 0]);
    }

    #[test]
    fn a_number_that_no_event_can_have_is_not_believed() {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let known = |state: &str, payload: String| {
            let mut readback = ReadBack::default();
            let arrived = Arrived {
                topic: format!("dgt2mqtt/gw/board/7/{state}"),
                payload: payload.into(),
                retain: true,
                response_topic: None,
                correlation: None,
            };
            readback.take(&topics, &arrived);
            let known = &readback.known["7"];
            known.last.max(known.ceiling)
        };
        for number in [7, MOST_EVENTS, MOST_EVENTS + 1, i64::MAX as u64, u64::MAX] {
            let believed = if number <= MOST_EVENTS { number } else { 0 };
            assert_eq!(known("numbers", format!("{{\"ceiling\":{number}}}")), believed);
            assert_eq!(
                known("game", format!("{{\"last_seq\":{number},\"game\":1}}")),
                believed
            );
        }
    }
}
