//! Asks the broker what it knows of our numbers, before anything is sent to it.
//!
//! The broker retains the last states of the boards, with the last number of each. Where events went out whose numbers
//! no disk secured, it retains a ceiling as well. The publisher sends a message to itself, which comes back after all
//! of these: then it has heard everything. Some brokers, as clusters, send what they retain a moment after that. So where
//! the publisher has heard nothing of a configured board, it waits for a moment more.
//!
//! Where no such message comes back, the publisher waits for a silence, and then has the broker answer something that needs no right. If
//! nothing comes before that answer, there is nothing more: the line did not stand still, and the broker keeps nothing back
//! until we have acknowledged what came before.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{known::KnownBoards, link::Arrived, topic::Topics};
use crate::{
    config::Id,
    journal::{Journal, LastRun},
};

/// How long to wait for a broker that does not let us hear ourselves, from when it has acknowledged what we sent.
const SILENCE: Duration = Duration::from_secs(3);
/// How long a broker may be silent that sends what it retains after our own message, and how long it may go on.
const BELATED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// How many connections may end while the publisher waits for its own message. After that it does without.
const MOST_BROKEN_OFF: u32 = 1;
/// The same at a broker that has let us hear ourselves before: something else ended those connections, as the return of
/// a node of a cluster, unless it goes on.
const MOST_BROKEN_OFF_WHERE_HEARD: u32 = 8;

/// The steps of the question.
#[derive(Debug, Default)]
enum Stage {
    #[default]
    Unasked,
    /// Answers may still come.
    Hearing(Hearing),
    /// The publisher has heard itself and not of all its boards. It waits until then, after each answer anew, but not beyond the second
    /// instant: another may publish there all the time.
    HearingOn(Instant, Instant),
    /// The publisher has heard everything.
    Heard,
    /// The journal compares its numbers with those of the broker, and tells which boards it has left out.
    Comparing(JoinSet<Option<BTreeSet<String>>>),
    /// The publisher may send.
    Over,
}

/// How the publisher knows that nothing more comes, where it does not hear itself.
#[derive(Clone, Copy, Debug)]
enum Hearing {
    /// The broker has not acknowledged what was asked.
    NotYet,
    /// It has, and nothing came since. It is asked again at that time.
    Until(Instant),
    /// It is asked again, and nothing came since. Its answer ends the hearing.
    Asked,
}

/// The question at each connection. Numbers are compared once, and again after another gateway had our name.
#[derive(Debug, Default)]
pub(super) struct ReadBack {
    stage: Stage,
    is_compared: bool,
    is_deaf: bool,
    /// The broker has let us hear ourselves: on this connection, or before.
    hears: bool,
    was_heard: bool,
    /// The broker has refused to let us read something that was asked for on this connection.
    is_kept_from: bool,
    known: KnownBoards,
    /// True where a message to ourselves is under way, or was acknowledged.
    echoes: bool,
    /// Since when the broker owes an answer to a subscription, or to the end of one.
    owes_since: Option<Instant>,
    /// True where it is the end of one.
    is_asked: bool,
    /// True once the log has told that the broker does not let us hear ourselves.
    is_told: bool,
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
        let most = if self.was_heard {
            MOST_BROKEN_OFF_WHERE_HEARD
        } else {
            MOST_BROKEN_OFF
        };
        (self.is_asked, self.hears, self.is_kept_from) = (false, false, false);
        self.owes_since = Some(now);
        self.echoes = self.broken_off < most;
        self.stage = Stage::Hearing(Hearing::NotYet);
        self.known = KnownBoards::default();
        self.echoes
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

    /// Takes what came in at `now`, if it is an answer. `boards` are those that are configured.
    pub(super) fn take(&mut self, topics: &Topics, arrived: &Arrived, boards: &[Id], now: Instant) {
        if arrived.topic == topics.echo() {
            (self.is_deaf, self.is_told) = (false, false);
            (self.hears, self.was_heard, self.broken_off) = (true, true, 0);
            self.owes_since = None;
            return self.heard_itself(boards, now);
        }
        let Some((board, state)) = topics.parse_read_back(&arrived.topic) else {
            return;
        };
        // What comes after the comparison tells nothing that is asked.
        if self.is_compared || matches!(self.stage, Stage::Comparing(_) | Stage::Over) {
            return;
        }
        match &mut self.stage {
            Stage::Hearing(silence @ (Hearing::Until(_) | Hearing::Asked)) => {
                *silence = Hearing::Until(now + SILENCE);
            }
            Stage::HearingOn(until, _) => *until = now + BELATED.0,
            _ => {}
        }
        let is_ours = boards.iter().any(|id| id.as_str() == board);
        self.known.take(board, state, &arrived.payload, is_ours);
    }

    /// Ends the hearing, unless numbers are asked for of which the broker may tell yet.
    fn heard_itself(&mut self, boards: &[Id], now: Instant) {
        if !matches!(self.stage, Stage::Hearing(_)) {
            return;
        }
        self.stage = if self.is_compared || self.known.has_all(boards) {
            Stage::Heard
        } else {
            Stage::HearingOn(now + BELATED.0, now + BELATED.1)
        };
    }

    /// When the publisher expects nothing more, or asks whether there is more.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.stage {
            Stage::HearingOn(until, latest) => Some(until.min(latest)),
            Stage::Hearing(Hearing::Until(until)) if !self.is_asked => Some(until),
            _ => None,
        }
    }

    /// Notes that the broker has acknowledged a subscription; where there is a message to ourselves, that is what counts.
    pub(super) fn subscribed(&mut self, now: Instant) {
        self.owes_since = None;
        if !self.echoes {
            self.acknowledged(now);
        }
    }

    /// Notes that the broker has refused a subscription: it may not tell all.
    pub(super) fn refused(&mut self, now: Instant) {
        self.is_kept_from = true;
        self.subscribed(now);
    }

    /// Notes that the broker has acknowledged the message to ourselves.
    pub(super) fn echoed(&mut self, now: Instant) {
        self.acknowledged(now);
    }

    /// Notes that the broker has refused the message to ourselves. What it retains may still be on its way: it waits where we have to
    /// acknowledge others before.
    pub(super) fn echo_refused(&mut self, now: Instant) {
        self.echoes = false;
        self.acknowledged(now);
    }

    /// What the broker retains comes now, if it comes. The publisher does not wait again for one that let it wait in vain.
    fn acknowledged(&mut self, now: Instant) {
        let is_in_vain = self.is_compared && (self.is_deaf || !self.echoes);
        let patience = if is_in_vain { Duration::ZERO } else { SILENCE };
        if let Stage::Hearing(silence @ Hearing::NotYet) = &mut self.stage {
            *silence = Hearing::Until(now + patience);
        }
    }

    /// True where the broker is to be asked whether it has more: after a silence, and by something that needs no right.
    pub(super) fn asks(&self, now: Instant) -> bool {
        let is_silent = matches!(self.stage, Stage::Hearing(Hearing::Until(until)) if until <= now);
        is_silent && !self.is_asked
    }

    /// Notes that the broker is asked.
    pub(super) fn asked(&mut self, now: Instant) {
        (self.is_asked, self.owes_since) = (true, Some(now));
        self.stage = Stage::Hearing(Hearing::Asked);
    }

    /// Notes that the broker has answered. If nothing came since it was asked, nothing more will come.
    pub(super) fn answered(&mut self) {
        (self.is_asked, self.owes_since) = (false, None);
        if !matches!(self.stage, Stage::Hearing(Hearing::Asked)) {
            return;
        }
        self.is_deaf |= self.echoes;
        if !std::mem::replace(&mut self.is_told, true) {
            tracing::warn!(
                "the broker does not let us hear what we published before: if the journal was lost, or another gateway has our name, it may not tell; may we publish on our topic `echo`, and read our own topics?"
            );
        }
        self.stage = Stage::Heard;
    }

    /// Since when the broker owes an answer.
    pub(super) fn owes_since(&self) -> Option<Instant> {
        self.owes_since
    }

    /// True once the publisher has heard everything.
    pub(super) fn has_heard(&mut self, now: Instant) -> bool {
        if matches!(self.stage, Stage::HearingOn(..)) && self.due().is_some_and(|due| due <= now) {
            self.stage = Stage::Heard;
        }
        matches!(self.stage, Stage::Heard)
    }

    /// Has the journal compare the numbers, now that the name is ours. True where it has done so before. `last` is the run that had the
    /// name last: one of another gateway may have ended before this one could know of it.
    pub(super) fn compare(&mut self, journal: &Journal, last: Option<LastRun>) -> bool {
        if self.is_compared {
            self.stage = Stage::Over;
        } else {
            let (journal, known) = (journal.clone(), self.known.numbers().clone());
            let tells_all = self.hears && !self.is_kept_from;
            let known = (tells_all || !known.is_empty()).then_some(known);
            let mut comparing = JoinSet::new();
            comparing.spawn(async move {
                if let Some(last) = last {
                    journal.follow(last).await;
                }
                journal.reconcile(known).await.await.ok()
            });
            self.stage = Stage::Comparing(comparing);
        }
        self.is_compared
    }

    /// True once the publisher may send.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// Notes that the journal has compared. Returns what the broker retains.
    pub(super) fn finish(&mut self) -> KnownBoards {
        self.is_compared = true;
        self.stage = Stage::Over;
        std::mem::take(&mut self.known)
    }

    /// Ends when the publisher may send, with the boards whose numbers the journal has left out.
    pub(super) async fn settled(&mut self) -> BTreeSet<String> {
        if let Stage::Comparing(answer) = &mut self.stage
            && let Some(Ok(Some(left_out))) = answer.join_next().await
        {
            return left_out;
        }
        // The journal is closed, so nothing will be sent any more.
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Entry, JournalSettings};

    fn arrived(topic: String, payload: &'static str) -> Arrived {
        Arrived {
            topic,
            payload: payload.into(),
            retain: true,
            response_topic: None,
            correlation: None,
            speaker: None,
        }
    }

    fn game(board: &str) -> Arrived {
        let topic = format!("dgt2mqtt/gw/board/{board}/game");
        arrived(topic, r#"{"last_seq":5,"game":1}"#)
    }

    /// How many connections in a row that end in the question have a message to ourselves.
    fn echoes(readback: &mut ReadBack) -> usize {
        (0..10).take_while(|_| readback.begin(Instant::now())).count()
    }

    #[test]
    fn a_broker_that_let_us_hear_ourselves_is_asked_again_though_a_connection_ended() {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let echo = arrived(topics.echo(), "");
        assert_eq!(
            echoes(&mut ReadBack::default()),
            1,
            "it may hang up on the message"
        );
        let mut readback = ReadBack::default();
        readback.begin(Instant::now());
        readback.take(&topics, &echo, &[], Instant::now());
        assert_eq!(echoes(&mut readback), 8, "until it goes on");
        readback.finish();
        assert_eq!(
            echoes(&mut readback),
            8,
            "a connection lasted without the message"
        );
        readback.take(&topics, &echo, &[], Instant::now());
        readback.do_without_echo();
        assert_eq!(echoes(&mut readback), 0, "it said that it was the message");
    }

    /// A line may stand still just after the broker has accepted the connection, and just after it has acknowledged.
    #[test]
    fn the_wait_for_ourselves_begins_when_the_broker_has_acknowledged_and_ends_with_its_answer() {
        let start = Instant::now();
        let late = start + 20 * SILENCE;
        let mut readback = ReadBack::default();
        assert!(readback.begin(start));
        readback.subscribed(late);
        assert!(!readback.asks(late + SILENCE), "the session leaves");
        readback.echoed(late);
        assert!(!readback.asks(late + SILENCE / 2));
        assert!(readback.asks(late + SILENCE) && !readback.has_heard(late + SILENCE));
        readback.asked(late + SILENCE);
        assert!(!readback.asks(late + 9 * SILENCE) && !readback.has_heard(late + 9 * SILENCE));
        assert_eq!(readback.owes_since(), Some(late + SILENCE), "the session leaves");
        readback.answered();
        assert!(readback.has_heard(late + SILENCE) && readback.is_deaf);
        let mut without = ReadBack::default();
        without.do_without_echo();
        assert!(!without.begin(start) && !without.asks(late));
        without.subscribed(late);
        assert!(without.asks(late + SILENCE));
        without.asked(late + SILENCE);
        without.answered();
        assert!(without.has_heard(late + SILENCE) && !without.is_deaf);
    }

    /// It keeps back what it retains beyond so many messages, until we have acknowledged those.
    #[test]
    fn what_comes_before_the_brokers_answer_puts_the_end_off() {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let start = Instant::now();
        let later = |silences| start + silences * SILENCE;
        let mut readback = ReadBack::default();
        readback.begin(start);
        readback.subscribed(start);
        readback.echo_refused(start);
        assert!(!readback.has_heard(start), "a refusal ends nothing");
        readback.asked(later(1));
        readback.take(&topics, &game("7"), &[], later(2));
        readback.answered();
        assert!(!readback.has_heard(later(2)) && !readback.asks(later(2)));
        readback.asked(later(3));
        readback.answered();
        assert!(readback.has_heard(later(3)));
        assert_eq!(readback.finish().numbers().len(), 1);
        readback.begin(later(4));
        readback.echo_refused(later(4));
        assert!(readback.asks(later(4)), "it has waited for that once");
    }

    /// It has boards of which it does not tell, for all that we know.
    #[tokio::test]
    async fn a_broker_that_refuses_a_subscription_is_not_taken_for_one_that_has_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        for (is_refused, code) in [(true, Some("numbers_unknown")), (false, None)] {
            let settings = JournalSettings::at(folder.path().join(format!("{is_refused}.sqlite")));
            let (journal, _) = Journal::open(settings, "gw").unwrap();
            let event = serde_json::json!({
                "v": 1, "id": "gw/7/1", "seq": 1, "board": "7", "game": null, "t": 0.0, "time": null,
                "type": "clock_connected"
            });
            let entry = Entry {
                board: "7".to_owned(),
                events: vec![serde_json::from_value(event).unwrap()],
                ..Entry::default()
            };
            journal.append(entry).await.await.unwrap();
            let mut readback = ReadBack::default();
            readback.begin(Instant::now());
            if is_refused {
                readback.refused(Instant::now());
            }
            readback.take(&topics, &arrived(topics.echo(), ""), &[], Instant::now());
            assert!(readback.has_heard(Instant::now()));
            readback.compare(&journal, None);
            let mut disputed = journal.disputed();
            let said = tokio::select! {
                _ = readback.settled() => Vec::new(),
                _ = async { drop(disputed.wait_for(|is| *is).await) } => journal.lift().await,
            };
            assert_eq!(said.first().map(|notice| notice.code), code);
            journal.close().await;
        }
    }

    /// Where it tells of all boards before, nobody waits.
    #[test]
    fn what_a_broker_tells_just_after_our_own_message_counts() {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let boards: [Id; 2] = ["7".parse().unwrap(), "8".parse().unwrap()];
        let echo = arrived(topics.echo(), "");
        let start = Instant::now();
        let later = |ms| start + Duration::from_millis(ms);
        let mut readback = ReadBack::default();
        readback.begin(start);
        readback.take(&topics, &game("7"), &boards, start);
        readback.take(&topics, &echo, &boards, start);
        assert!(!readback.has_heard(later(900)), "it has not told of board 8");
        readback.take(&topics, &game("8"), &boards, later(900));
        assert!(!readback.has_heard(later(1_800)), "it may tell of more");
        assert_eq!(readback.due(), Some(later(1_900)));
        assert!(readback.has_heard(later(1_900)));
        assert_eq!(readback.finish().numbers().len(), 2);
        readback.begin(start);
        readback.take(&topics, &echo, &boards, start);
        assert!(readback.has_heard(start), "the numbers are compared");

        readback.forget();
        readback.begin(start);
        readback.take(&topics, &game("7"), &boards, start);
        readback.take(&topics, &game("8"), &boards, start);
        readback.take(&topics, &echo, &boards, start);
        assert!(readback.has_heard(start), "it has told of all");

        readback.begin(start);
        readback.take(&topics, &echo, &boards, start);
        for ms in (0..=30_000).step_by(500) {
            readback.take(&topics, &game("7"), &boards, later(ms));
        }
        assert!(
            readback.has_heard(later(30_000)),
            "somebody publishes all the time"
        );
    }

    #[test]
    fn what_comes_after_the_comparison_is_not_kept() {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let mut readback = ReadBack::default();
        readback.begin(Instant::now());
        let hears = |readback: &mut ReadBack, board: &str| {
            let game = game(board);
            readback.take(&topics, &game, &[], Instant::now());
        };
        hears(&mut readback, "7");
        assert_eq!(readback.finish().numbers().len(), 1);
        hears(&mut readback, "8");
        assert!(readback.known.numbers().is_empty());
    }
}
