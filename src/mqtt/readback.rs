//! Asks the broker what it knows of our numbers, before anything is sent to it.
//!
//! The broker retains the last states of the boards, with the last number of each. Where events went out whose numbers
//! no disk secured, it retains a ceiling as well. The publisher sends a message to itself, which comes back after all
//! of these: then it has heard everything. Some brokers, as clusters, send what they retain a moment after that. So where
//! the publisher has heard nothing of a configured board, or of who had the name last, it waits for a moment more.
//!
//! Where no such message comes back, the publisher waits for a silence, and then has the broker answer something that needs no right. If
//! nothing comes before that answer, there is nothing more: the line did not stand still, and the broker keeps nothing back
//! until we have acknowledged what came before.

use std::{
    collections::{BTreeMap, BTreeSet},
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
    /// The publisher has heard itself, and not of all its boards or not who had the name last. It waits until then, after each answer
    /// anew, but not beyond the second instant: another may publish there all the time.
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
    /// The highest numbers that were told on former connections, also by another broker.
    heard: BTreeMap<String, u64>,
    /// The broker has told on this connection who had the name last.
    knows_holder: bool,
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
        self.remember();
        self.knows_holder = false;
        self.echoes
    }

    /// Begins anew, at another broker.
    pub(super) fn at_another(&mut self) {
        self.remember();
        *self = Self {
            heard: std::mem::take(&mut self.heard),
            ..Self::default()
        };
    }

    /// Keeps the highest of the numbers that were told: another broker may not know them, nor a clock that is behind.
    fn remember(&mut self) {
        let known = std::mem::take(&mut self.known);
        for (board, told) in known.highest() {
            let heard = self.heard.entry(board.clone()).or_default();
            *heard = told.max(*heard);
        }
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
        let is_info = arrived.topic == topics.info();
        let board = topics.parse_read_back(&arrived.topic);
        if !is_info && board.is_none() {
            return;
        }
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
        self.knows_holder |= is_info;
        if let Some((board, state)) = board {
            let is_ours = boards.iter().any(|id| id.as_str() == board);
            self.known.take(board, state, &arrived.payload, is_ours);
        }
    }

    /// Ends the hearing, unless something is asked for of which the broker may tell yet.
    fn heard_itself(&mut self, boards: &[Id], now: Instant) {
        if !matches!(self.stage, Stage::Hearing(_)) {
            return;
        }
        let has_all = self.knows_holder && self.known.has_all(boards);
        self.stage = if self.is_compared || has_all {
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
            let heard = self.heard.clone();
            let mut comparing = JoinSet::new();
            comparing.spawn(async move {
                journal.heard(heard).await;
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
mod tests;
