//! Decides which of two gateways holds a name that both use at one broker.
//!
//! A gateway that finds in `info` the boot id of another asks for the name's holder, unless the broker says `offline` and that one was
//! a former process of ours: two that come in the same moment both find a holder that is gone. A holder that lives answers. Then the
//! gateway that asked sends nothing else, and asks again at intervals. If both hold the name, as after a broken network, or both ask,
//! the one with the smaller boot id keeps it.
//!
//! A holder whose link stands still cannot answer. If nobody answers, the name is free where the broker says `offline` of the
//! holder, where the holder was a former process of ours, or where the broker would have ended the holder's connection by now. Until
//! then the question is asked again and again. So whoever takes a name has been heard by the broker shortly before, and had time to
//! hear an answer.
//!
//! A process that stood still may have lost its name without a word: nobody answered in its stead. So it asks again before it
//! sends anything, and compares the numbers of its events with those that the other gave out.
//!
//! Where a broker refuses words, only `status` and `health` tell that a holder lives. Some brokers hang up on a word that they do not
//! allow. There the question rests for a while after each such end: the will of the connection says `offline`, and without the
//! rest it would do so again and again while another gateway is online.

mod holder;
mod wait;

pub use holder::journal_at;

use std::time::{Duration, Instant};

use holder::Info;

use super::{
    link::{Arrived, Ticket},
    paced::{PACE, Paced},
    rival::{GONE, Rival},
    topic::Topics,
    word::Word,
};
use crate::journal::LastRun;

/// How long a holder may take to answer, from when the broker has the question.
const ANSWER: Duration = Duration::from_secs(3);
/// How often a gateway that stands by asks again.
const AGAIN: Duration = Duration::from_secs(10);
/// How long the question rests after the broker hung up on one of our words.
const REST: Duration = Duration::from_secs(60);
/// A holder that stood still for less than this has answered in time whoever asked meanwhile, though the answer kept the pace.
pub(super) const STOOD_STILL: Duration = Duration::from_millis(2_250);
const _: () = assert!(STOOD_STILL.as_millis() + PACE.as_millis() < ANSWER.as_millis());

/// What this gateway says of itself.
#[derive(Clone, Debug)]
pub(super) struct Ourselves {
    pub(super) boot: String,
    /// The machine.
    pub(super) host: String,
    /// The identity of our journal.
    pub(super) journal: String,
    /// Which lock this process holds on it, if it does.
    pub(super) journal_at: Option<String>,
    /// True where our journal knew nothing as it was opened.
    pub(super) is_new: bool,
    pub(super) keep_alive: Duration,
}

#[derive(Debug, PartialEq)]
enum Stage {
    /// A connection has begun.
    Unknown,
    /// This gateway is about to ask for the holder.
    Asking,
    /// The question went out, and the broker has not answered it.
    Asked(Ticket),
    /// The broker has answered the question, or is asked nothing. What comes from the holder until then is waited for.
    Awaiting(Instant),
    Holding,
    /// Another gateway holds the name; this one asks again at that time.
    StandingBy(Instant),
}

/// The claim of this gateway.
#[derive(Debug)]
pub(super) struct NameClaim {
    us: Ourselves,
    stage: Stage,
    /// What the broker retains in `status`, and whose word that is, where it tells.
    is_online: bool,
    speaker: Option<String>,
    /// What it retains in `info` of the last holder.
    info: Option<Info>,
    /// The keep-alive that the broker asks for.
    asked_for: Duration,
    /// The question for the holder, and the answer that this gateway is it.
    question: Paced,
    answer: Paced,
    /// The birth, which a holder must publish again where somebody wrote over it.
    birth: Paced,
    rival: Rival,
    /// True where another gateway said that it holds the name, too.
    is_disputed: bool,
    /// True where another had the name, until this gateway takes it: that one may come to this broker, too.
    has_stood_by: bool,
    /// True once events went out under the name since it was taken. Whoever has it next must go on above their numbers.
    has_sent: bool,
    /// Until when the question rests, where the broker hung up on our words and has taken none since.
    rests_until: Option<Instant>,
    /// True where the broker refused our last word.
    is_refused: bool,
    /// Since when nothing is heard of the holder.
    silent_since: Option<Instant>,
    /// The machine of the holder that is waited for, and its boot id, once the log has told of it.
    awaited: Option<(String, String)>,
}

impl NameClaim {
    pub(super) fn new(us: Ourselves) -> Self {
        Self {
            us,
            stage: Stage::Unknown,
            is_online: false,
            speaker: None,
            info: None,
            asked_for: Duration::ZERO,
            question: Paced::default(),
            answer: Paced::default(),
            birth: Paced::default(),
            rival: Rival::default(),
            is_disputed: false,
            has_stood_by: false,
            has_sent: false,
            rests_until: None,
            is_refused: false,
            silent_since: None,
            awaited: None,
        }
    }

    /// Begins a new connection: this gateway must hear again who holds the name. `asked_for` is the keep-alive that the broker
    /// asks for, if it does.
    pub(super) fn restart(&mut self, asked_for: Option<Duration>) {
        self.stage = Stage::Unknown;
        (self.is_online, self.speaker, self.info) = (false, None, None);
        (self.is_refused, self.silent_since) = (false, None);
        self.asked_for = asked_for.unwrap_or_default();
        for paced in [&mut self.question, &mut self.answer, &mut self.birth] {
            paced.is_owed = false;
        }
        self.is_disputed = false;
    }

    /// Takes a message that came in, if it is about the name.
    pub(super) fn take(&mut self, topics: &Topics, arrived: &Arrived, now: Instant) {
        let (topic, payload) = (&arrived.topic, &arrived.payload);
        if *topic == topics.status() {
            let may_be = self.may_be_online();
            self.is_online = payload == "online";
            self.speaker.clone_from(&arrived.speaker);
            self.heard_status(may_be, now);
        } else if *topic == topics.info() {
            self.info = serde_json::from_slice(payload).ok();
        } else if *topic == topics.health() && self.is_asking() {
            self.lives(now);
        } else if *topic == topics.claim()
            && let Some(word) = Word::heard(payload)
            && word.boot != self.us.boot
        {
            self.hear(&word, GONE, now);
        }
    }

    /// Acts on `status`. Until now, `may_have_been` says whether the holder could be online.
    fn heard_status(&mut self, may_have_been: bool, now: Instant) {
        match self.stage {
            // This may be the will of a former connection of ours, which the broker gave up late. It may also be a
            // gateway that does not know of us.
            Stage::Holding => {
                self.birth.is_owed = true;
                self.answer.is_owed |= self.is_online;
            }
            Stage::StandingBy(_) if !self.may_be_online() => self.ask(now),
            // Whoever comes back at this time has a moment to say so.
            Stage::Awaiting(_) if may_have_been && !self.may_be_online() => self.ask(now),
            _ if self.is_online && self.is_asking() && self.speaker.as_ref() != Some(&self.us.boot) => {
                self.lives(now);
            }
            _ => {}
        }
    }

    /// Takes a word of a gateway that is there for so long.
    fn hear(&mut self, word: &Word, lasts: Duration, now: Instant) {
        let is_before_us = word.boot < self.us.boot;
        let holds = self.stage == Stage::Holding;
        let yields = match (word.holds, holds) {
            (true, true) => is_before_us,
            (true, false) => true,
            (false, true) => false,
            (false, false) => is_before_us && self.is_asking(),
        };
        self.is_disputed |= word.holds && holds;
        self.rival.heard(&word.host, now + lasts);
        if (yields || holds)
            && let Some(left_out) = self.rival.tells_now(&word.boot, yields, now + lasts, now)
        {
            self.tell_of(word, yields, left_out);
        }
        if yields {
            // The other must go on above what went out here.
            self.answer.is_owed |= holds && self.has_sent;
            self.stand_by(now);
        } else if holds {
            self.answer.is_owed = true;
        } else if self.is_asking() {
            // It may have come after our question, and so would wait for an answer that nobody gives.
            self.question.is_owed = true;
        }
    }

    /// The log's line on another gateway of our name.
    fn tell_of(&self, word: &Word, yields: bool, left_out: u64) {
        let is_copy = word.journal.as_ref() == Some(&self.us.journal);
        let copy = if is_copy {
            ", with a copy of our journal, as after a memory card was copied"
        } else {
            ""
        };
        let more = match left_out {
            0 => String::new(),
            count => format!(" ({count} more words of gateways of our name were not told one by one)"),
        };
        if yields {
            tracing::error!(
                "another gateway has our name: it runs on {}{copy}. This one publishes nothing until that is gone; give each gateway a name of its own{more}",
                word.host
            );
        } else {
            tracing::warn!(
                "another gateway of our name, on {}{copy}, stays away while this one is there; give each a name of its own{more}",
                word.host
            );
        }
    }

    /// Takes note that the broker has delivered all that it retains, or that nothing of it comes.
    pub(super) fn heard(&mut self, now: Instant) {
        if self.stage != Stage::Unknown {
            return;
        }
        // Another may find in the same moment that nobody is there, as after a power cut.
        if self.has_stood_by || self.is_used_by_another() || self.info_is_anothers() && !self.is_known_gone()
        {
            self.ask(now);
        } else {
            self.stage = Stage::Holding;
        }
    }

    /// This process stood still, and an answer may lie unread: a question that runs is asked again.
    pub(super) fn ask_again(&mut self, now: Instant) {
        if self.is_asking() {
            self.ask(now);
        }
    }

    /// Moves on where an answer is overdue or it is time to ask again.
    pub(super) fn tick(&mut self, now: Instant) {
        self.rival.tell_left_out(now);
        match self.stage {
            Stage::Awaiting(until) if until <= now => self.end_wait(now),
            Stage::StandingBy(again) if again <= now => self.ask(now),
            _ => {}
        }
    }

    fn info_is_anothers(&self) -> bool {
        self.info
            .as_ref()
            .is_some_and(|info| info.boot_id != self.us.boot)
    }

    /// True where the broker says `online` of another gateway, whatever it says in `info`.
    fn is_used_by_another(&self) -> bool {
        self.is_online && self.speaker.as_ref().is_some_and(|boot| *boot != self.us.boot)
    }

    /// True where another gateway had the name, or has it, since this one took it. A process before this one had it earlier: then a
    /// connection ended before the broker had our `info`.
    pub(super) fn was_taken(&self) -> bool {
        let is_taken = self.info_is_anothers() && !self.was_ours();
        self.holds() && (self.is_disputed || is_taken)
    }

    /// Takes the name. Returns the run that had it last, where the broker tells: what `info` says from now on is of another that came
    /// meanwhile.
    pub(super) fn take_over(&mut self) -> Option<LastRun> {
        self.info.take().as_ref().map(Info::run)
    }

    /// Notes that an event goes out under the name.
    pub(super) fn sends(&mut self) {
        self.has_sent = true;
    }

    /// True where events went out under the name since it was taken.
    pub(super) fn has_sent(&self) -> bool {
        self.has_sent
    }

    /// Gives the name up. Returns whether events went out under it.
    pub(super) fn give_up(&mut self) -> bool {
        std::mem::take(&mut self.has_sent)
    }

    /// True while this gateway holds the name.
    pub(super) fn holds(&self) -> bool {
        self.stage == Stage::Holding
    }

    /// True while another gateway holds the name.
    pub(super) fn stands_by(&self) -> bool {
        matches!(self.stage, Stage::StandingBy(_))
    }

    /// The next word to the other gateways of this name, if it is time for one. It is owed until [`Self::said`].
    pub(super) fn next_word(&self, now: Instant) -> Option<Word> {
        if self.question.is_due(now) && !self.rests(now) {
            return Some(self.word(false));
        }
        self.answer.is_due(now).then(|| self.word(true))
    }

    /// Notes that a word was handed over to the connection.
    pub(super) fn said(&mut self, word: &Word, ticket: Ticket, now: Instant) {
        if word.holds {
            return self.answer.said(now);
        }
        self.question.said(now);
        if self.stage == Stage::Asking {
            self.stage = Stage::Asked(ticket);
        }
    }

    /// Notes that the broker has taken a word, or refused it. Only then does the time run in which a holder may answer: on a slow line a
    /// question is under way for long. A question that was asked before counts no more, and one that is repeated does not put the
    /// time off.
    pub(super) fn answered(&mut self, ticket: Ticket, is_taken: bool, now: Instant) {
        if is_taken {
            self.rests_until = None;
        }
        self.is_refused = !is_taken;
        if self.stage == Stage::Asked(ticket) {
            self.stage = self.wait(now);
            if !is_taken {
                self.tell_wait(now);
            }
        }
    }

    /// Notes that the broker hangs up on our words.
    pub(super) fn hung_up_on(&mut self, now: Instant) {
        self.rests_until = Some(now + REST);
    }

    /// True where the broker hung up on our words before.
    pub(super) fn is_hung(&self) -> bool {
        self.rests_until.is_some()
    }

    /// True once when this gateway must publish its birth again.
    pub(super) fn takes_birth(&mut self, now: Instant) -> bool {
        let is_due = self.birth.is_due(now);
        if is_due {
            self.birth.said(now);
        }
        is_due && self.holds()
    }

    /// When there is something to say, if nothing comes in before.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let paced = [&self.question, &self.answer, &self.birth];
        paced.into_iter().filter_map(|paced| paced.due(now)).min()
    }

    /// The machine of another gateway of our name, if there is one.
    pub(super) fn rival(&self, now: Instant) -> Option<&str> {
        self.rival.host(now)
    }

    fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking | Stage::Asked(_) | Stage::Awaiting(_))
    }

    /// Asks for the holder. While the question rests, only other signs of life are waited for.
    fn ask(&mut self, now: Instant) {
        self.question.is_owed = true;
        self.stage = Stage::Asking;
        if self.rests(now) {
            self.stage = self.wait(now);
            self.tell_wait(now);
        }
    }

    fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    fn word(&self, holds: bool) -> Word {
        Word {
            boot: self.us.boot.clone(),
            host: self.us.host.clone(),
            holds,
            journal: Some(self.us.journal.clone()),
        }
    }
}

/// The name of this machine, for people.
#[must_use]
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "another machine".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
