//! Decides which of two gateways holds a name that both use at one broker.
//!
//! A gateway that finds `status` at `online`, and in `info` the boot id of another, asks for the name's holder. A
//! holder that lives answers. Then the gateway that asked sends nothing else, and asks again at intervals. If nobody
//! answers, the name is free. If both hold the name, as after a broken network, the one with the smaller boot id keeps
//! it.
//!
//! A process that stood still may have lost its name without a word: nobody answered in its stead. So it asks again before it
//! sends anything, and compares the numbers of its events with those that the other gave out.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{link::Arrived, rival::Rival, topic::Topics};

/// How long a holder may take to answer.
const ANSWER: Duration = Duration::from_secs(3);
/// How often a gateway that stands by asks again.
const AGAIN: Duration = Duration::from_secs(10);
/// The time between two answers, between two questions and between two births of one gateway, however many words come in. All who asked
/// meanwhile hear the next answer.
const PACE: Duration = Duration::from_millis(500);
/// A holder that stood still for less than this has answered in time whoever asked meanwhile.
pub(super) const STOOD_STILL: Duration = Duration::from_millis(2_500);
const _: () = assert!(STOOD_STILL.as_millis() < ANSWER.as_millis());

/// What gateways of one name say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Word {
    /// The boot id of the gateway that speaks.
    boot: String,
    /// The machine of the gateway that speaks.
    host: String,
    /// True where it holds the name, false where it asks for the holder.
    holds: bool,
    /// The identity of its journal; none where the program is too old to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    journal: Option<String>,
}

/// A word that is to be said, at a pace.
#[derive(Debug, Default)]
struct Paced {
    is_owed: bool,
    /// When it was said last.
    said_at: Option<Instant>,
}

impl Paced {
    /// When it may be said.
    fn due(&self, now: Instant) -> Option<Instant> {
        let paced = self.said_at.map_or(now, |at| at + PACE);
        self.is_owed.then_some(paced)
    }

    /// True once when it is time.
    fn take(&mut self, now: Instant) -> bool {
        let is_due = self.due(now).is_some_and(|at| at <= now);
        if is_due {
            (self.is_owed, self.said_at) = (false, Some(now));
        }
        is_due
    }
}

/// The fields of `info` that the claim reads.
#[derive(Debug, Deserialize)]
struct Info {
    boot_id: String,
    /// None where the program is too old to tell.
    journal: Option<String>,
}

#[derive(Debug, PartialEq)]
enum Stage {
    /// A connection has begun.
    Unknown,
    /// This gateway asked for the holder, who may answer until then.
    Asking(Instant),
    Holding,
    /// Another gateway holds the name; this one asks again at that time.
    StandingBy(Instant),
}

/// The claim of this gateway.
#[derive(Debug)]
pub(super) struct NameClaim {
    boot: String,
    host: String,
    stage: Stage,
    /// What the broker retains in `status` and in `info` of the last holder.
    is_online: bool,
    info: Option<Info>,
    /// The identity of our journal.
    journal: String,
    /// The question for the holder, and the answer that this gateway is it.
    question: Paced,
    answer: Paced,
    /// The birth, which a holder must publish again where somebody wrote over it.
    birth: Paced,
    rival: Rival,
    /// True where another gateway said that it holds the name, too.
    is_disputed: bool,
}

impl NameClaim {
    pub(super) fn new(boot: String, host: String, journal: String) -> Self {
        Self {
            boot,
            host,
            stage: Stage::Unknown,
            is_online: false,
            info: None,
            journal,
            question: Paced::default(),
            answer: Paced::default(),
            birth: Paced::default(),
            rival: Rival::default(),
            is_disputed: false,
        }
    }

    /// Begins a new connection: this gateway must hear again who holds the name.
    pub(super) fn restart(&mut self) {
        self.stage = Stage::Unknown;
        self.is_online = false;
        self.info = None;
        for paced in [&mut self.question, &mut self.answer, &mut self.birth] {
            paced.is_owed = false;
        }
        self.is_disputed = false;
    }

    /// Takes a message that came in, if it is about the name.
    pub(super) fn take(&mut self, topics: &Topics, arrived: &Arrived, now: Instant) {
        let (topic, payload) = (&arrived.topic, &arrived.payload);
        if *topic == topics.status() {
            self.is_online = payload == "online";
            self.other_came_or_went(now);
        } else if *topic == topics.info() {
            self.info = serde_json::from_slice(payload).ok();
        } else if *topic == topics.claim()
            && let Ok(word) = serde_json::from_slice::<Word>(payload)
            && word.boot != self.boot
        {
            self.hear(&word, now);
        }
    }

    fn other_came_or_went(&mut self, now: Instant) {
        match self.stage {
            // This may be the will of a former connection of ours, which the broker gave up late. It may also be a
            // gateway that does not know of us.
            Stage::Holding => {
                self.birth.is_owed = true;
                self.answer.is_owed |= self.is_online;
            }
            Stage::StandingBy(_) if !self.is_online => self.ask(now),
            _ => {}
        }
    }

    fn hear(&mut self, word: &Word, now: Instant) {
        let is_before_us = word.boot < self.boot;
        let holds = self.stage == Stage::Holding;
        let yields = match (word.holds, holds) {
            (true, true) => is_before_us,
            (true, false) => true,
            (false, true) => false,
            (false, false) => is_before_us && matches!(self.stage, Stage::Asking(_)),
        };
        self.is_disputed |= word.holds && holds;
        if self.rival.heard(&word.host, &word.boot, yields, now) {
            self.tell_of(word, yields, holds);
        }
        if yields {
            self.stage = Stage::StandingBy(now + AGAIN);
        } else if holds {
            self.answer.is_owed = true;
        }
    }

    /// The log's line on another gateway of our name.
    fn tell_of(&self, word: &Word, yields: bool, holds: bool) {
        let is_copy = word.journal.as_ref() == Some(&self.journal);
        let copy = if is_copy {
            ", with a copy of our journal, as after a memory card was copied"
        } else {
            ""
        };
        if yields {
            tracing::error!(
                "another gateway has our name: it runs on {}{copy}. This one publishes nothing until that is gone; give each gateway a name of its own",
                word.host
            );
        } else if holds {
            tracing::warn!(
                "another gateway of our name, on {}{copy}, stays away while this one is there; give each a name of its own",
                word.host
            );
        }
    }

    /// Takes note that the broker has delivered all that it retains. A gateway that cannot hear itself cannot hear
    /// another either.
    pub(super) fn heard(&mut self, can_hear: bool, now: Instant) {
        if self.stage != Stage::Unknown {
            return;
        }
        if can_hear && self.is_online && self.info_is_anothers() {
            self.ask(now);
        } else {
            self.stage = Stage::Holding;
        }
    }

    /// Moves on where an answer is overdue or it is time to ask again.
    pub(super) fn tick(&mut self, now: Instant) {
        self.rival.tell_left_out(now);
        match self.stage {
            Stage::Asking(until) if until <= now => {
                self.stage = Stage::Holding;
                self.rival.left();
            }
            Stage::StandingBy(again) if again <= now => self.ask(now),
            _ => {}
        }
    }

    fn info_is_anothers(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.boot_id != self.boot)
    }

    /// True where another gateway had the name, or has it, since this one took it.
    pub(super) fn was_taken(&self) -> bool {
        self.holds() && (self.is_disputed || self.info_is_anothers())
    }

    /// Takes the name: what former holders told does not count any more.
    pub(super) fn take_over(&mut self) {
        self.info = None;
    }

    /// True where the last holder wrote another journal than `ours`.
    pub(super) fn was_of_another(&self, ours: &str) -> bool {
        let theirs = self.info.as_ref().and_then(|info| info.journal.as_deref());
        theirs.is_some_and(|theirs| theirs != ours)
    }

    /// True while this gateway holds the name.
    pub(super) fn holds(&self) -> bool {
        self.stage == Stage::Holding
    }

    /// True while another gateway holds the name.
    pub(super) fn stands_by(&self) -> bool {
        matches!(self.stage, Stage::StandingBy(_))
    }

    /// The next word to the other gateways of this name, if it is time for one.
    pub(super) fn next_word(&mut self, now: Instant) -> Option<Word> {
        if self.question.take(now) {
            return Some(self.word(false));
        }
        self.answer.take(now).then(|| self.word(true))
    }

    /// True once when this gateway must publish its birth again.
    pub(super) fn takes_birth(&mut self, now: Instant) -> bool {
        self.birth.take(now) && self.holds()
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

    fn ask(&mut self, now: Instant) {
        self.stage = Stage::Asking(now + ANSWER);
        self.question.is_owed = true;
    }

    fn word(&self, holds: bool) -> Word {
        Word {
            boot: self.boot.clone(),
            host: self.host.clone(),
            holds,
            journal: Some(self.journal.clone()),
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
mod tests {
    use super::*;
    use crate::mqtt::rival::GONE;

    fn claim(boot: &str, host: &str) -> NameClaim {
        NameClaim::new(boot.to_owned(), host.to_owned(), format!("journal of {host}"))
    }

    fn topics() -> Topics {
        Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap())
    }

    fn hears(claim: &mut NameClaim, topic: String, payload: &[u8], now: Instant) {
        let arrived = Arrived {
            topic,
            payload: payload.to_vec().into(),
            retain: true,
            response_topic: None,
            correlation: None,
        };
        claim.take(&topics(), &arrived, now);
    }

    fn found(claim: &mut NameClaim, boot: &str, now: Instant) {
        hears(claim, topics().status(), b"online", now);
        let info = format!("{{\"boot_id\":\"{boot}\"}}");
        hears(claim, topics().info(), info.as_bytes(), now);
        claim.heard(true, now);
    }

    #[test]
    fn who_wrote_another_journal_was_another() {
        let now = Instant::now();
        let told = |info: &str| {
            let mut claim = claim("b", "one");
            hears(&mut claim, topics().status(), b"offline", now);
            hears(&mut claim, topics().info(), info.as_bytes(), now);
            claim.was_of_another("ours")
        };
        assert!(told(r#"{"boot_id":"a","journal":"theirs"}"#));
        assert!(!told(r#"{"boot_id":"a","journal":"ours"}"#));
        assert!(!told(r#"{"boot_id":"a"}"#), "an older program does not tell");
        assert!(!told(""));
    }

    /// Passes on what one gateway says to the other.
    fn tell(from: &mut NameClaim, to: &mut NameClaim, now: Instant) {
        while let Some(word) = from.next_word(now) {
            hears(to, topics().claim(), &serde_json::to_vec(&word).unwrap(), now);
        }
    }

    #[test]
    fn a_name_that_nobody_holds_is_taken_at_once_and_our_own_too() {
        let now = Instant::now();
        let mut claim = claim("b", "one");
        claim.heard(true, now);
        assert!(claim.holds());
        claim.restart();
        found(&mut claim, "b", now);
        assert!(claim.holds());
        claim.restart();
        found(&mut claim, "gone", now);
        assert!(!claim.holds());
        claim.tick(now + ANSWER);
        assert!(claim.holds(), "nobody answered");
    }

    #[test]
    fn the_second_stays_away_until_the_first_is_gone() {
        let now = Instant::now();
        let mut first = claim("z", "one");
        let mut second = claim("a", "two");
        first.heard(true, now);
        found(&mut second, "z", now);
        tell(&mut second, &mut first, now);
        tell(&mut first, &mut second, now);
        second.tick(now + ANSWER);
        assert!(first.holds() && !second.holds());
        assert_eq!((first.rival(now), second.rival(now)), (Some("two"), Some("one")));
        assert_eq!(first.rival(now + GONE), None);
        hears(&mut second, topics().status(), b"offline", now);
        second.tick(now + ANSWER);
        assert!(second.holds());
        // The first gateway connects again and finds that it no longer holds the name.
        first.restart();
        found(&mut first, "a", now);
        tell(&mut first, &mut second, now);
        tell(&mut second, &mut first, now);
        first.tick(now + ANSWER);
        assert!(second.holds() && !first.holds());
    }

    #[test]
    fn a_holder_notices_that_another_had_the_name() {
        let now = Instant::now();
        let mut first = claim("a", "one");
        let info = |boot: &str| format!("{{\"boot_id\":\"{boot}\"}}");
        hears(&mut first, topics().info(), info("before").as_bytes(), now);
        first.heard(true, now);
        first.take_over();
        assert!(
            first.holds() && !first.was_taken(),
            "it asked for the numbers of its former run"
        );
        // It hears that another came while it stood still.
        hears(&mut first, topics().info(), info("b").as_bytes(), now);
        assert!(first.was_taken());
        // Or the other is gone when it connects again.
        first.restart();
        hears(&mut first, topics().status(), b"offline", now);
        hears(&mut first, topics().info(), info("b").as_bytes(), now);
        first.heard(true, now);
        assert!(first.was_taken());
        first.restart();
        hears(&mut first, topics().info(), info("a").as_bytes(), now);
        first.heard(true, now);
        assert!(first.holds() && !first.was_taken());
    }

    #[test]
    fn of_two_holders_one_remains() {
        let now = Instant::now();
        let mut first = claim("a", "one");
        let mut second = claim("b", "two");
        first.heard(true, now);
        second.heard(true, now);
        hears(&mut first, topics().status(), b"online", now);
        tell(&mut first, &mut second, now);
        assert!(first.takes_birth(now) && first.holds() && !second.holds());
    }

    #[test]
    fn a_flood_of_words_has_two_answers_a_second_and_whoever_asks_is_answered_in_time() {
        let start = Instant::now();
        let mut holder = claim("h", "one");
        holder.heard(true, start);
        let mut answers = 0;
        for ms in 0..10_000 {
            let now = start + Duration::from_millis(ms);
            let word = format!(r#"{{"boot":"{ms}","host":"two","holds":false}}"#);
            hears(&mut holder, topics().claim(), word.as_bytes(), now);
            hears(&mut holder, topics().status(), b"online", now);
            answers += std::iter::from_fn(|| holder.next_word(now)).count();
            let late = holder.due(now).is_some_and(|at| at > now + PACE);
            assert!(!late, "an answer is owed for longer than {PACE:?}");
        }
        assert_eq!(answers, 20);
        assert!(
            holder.takes_birth(start) && !holder.takes_birth(start),
            "and one birth"
        );
    }

    #[test]
    fn a_word_of_an_older_program_is_understood_and_ours_tells_the_journal() {
        let older: Word = serde_json::from_str(r#"{"boot":"a","host":"one","holds":true}"#).unwrap();
        assert_eq!(older.journal, None);
        let now = Instant::now();
        let mut asks = claim("b", "two");
        found(&mut asks, "z", now);
        let said = serde_json::to_value(asks.next_word(now).unwrap()).unwrap();
        assert_eq!(said["journal"], "journal of two");
    }

    #[test]
    fn one_that_stands_by_takes_a_name_that_fell_silent_within_thirteen_seconds() {
        let start = Instant::now();
        let (mut first, mut second) = (claim("z", "one"), claim("a", "two"));
        first.heard(true, start);
        found(&mut second, "z", start);
        tell(&mut second, &mut first, start);
        tell(&mut first, &mut second, start);
        // The first falls silent, and no will is set right.
        let mut took = None;
        for tenth in 0..300 {
            let now = start + Duration::from_millis(tenth * 100);
            second.tick(now);
            while second.next_word(now).is_some() {}
            took = took.or_else(|| second.holds().then_some(now - start));
        }
        assert_eq!(took, Some(AGAIN + ANSWER));
    }
}
