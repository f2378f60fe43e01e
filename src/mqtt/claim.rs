//! Decides which of two gateways holds a name that both use at one broker.
//!
//! A gateway that finds `status` at `online`, and in `info` the boot id of another, asks for the name's holder. A
//! holder that lives answers. Then the gateway that asked sends nothing else, and asks again at intervals. If nobody
//! answers, the name is free. If both hold the name, as after a broken network, the one with the smaller boot id keeps
//! it.
//!
//! A process that stood still may have lost its name without a word: nobody answered in its stead. So it asks again before it
//! sends anything, and compares the numbers of its events with those that the other gave out.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{link::Arrived, topic::Topics};

/// How long a holder may take to answer.
const ANSWER: Duration = Duration::from_secs(3);
/// How often a gateway that stands by asks again.
const AGAIN: Duration = Duration::from_secs(10);
/// A gateway that has not been heard for this long is gone.
const GONE: Duration = Duration::from_secs(30);
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
    words: VecDeque<Word>,
    /// The machine of another gateway of our name, and when this gateway last heard of it.
    rival: Option<(String, Instant)>,
    /// True where this gateway holds the name and must publish its birth again.
    wants_birth: bool,
    /// True where another gateway said that it holds the name, too.
    is_disputed: bool,
}

impl NameClaim {
    pub(super) fn new(boot: String, host: String) -> Self {
        Self {
            boot,
            host,
            stage: Stage::Unknown,
            is_online: false,
            info: None,
            words: VecDeque::new(),
            rival: None,
            wants_birth: false,
            is_disputed: false,
        }
    }

    /// Begins a new connection: this gateway must hear again who holds the name.
    pub(super) fn restart(&mut self) {
        self.stage = Stage::Unknown;
        self.is_online = false;
        self.info = None;
        self.words.clear();
        self.wants_birth = false;
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
                self.wants_birth = true;
                if self.is_online {
                    self.speak(true);
                }
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
        self.rival = Some((word.host.clone(), now));
        self.is_disputed |= word.holds && holds;
        if yields {
            if !matches!(self.stage, Stage::StandingBy(_)) {
                tracing::error!(
                    "another gateway has our name: it runs on {}. This one publishes nothing until that is gone; give each gateway a name of its own",
                    word.host
                );
            }
            self.stage = Stage::StandingBy(now + AGAIN);
        } else if holds {
            tracing::warn!(
                "another gateway of our name, on {}, stays away while this one is there; give each a name of its own",
                word.host
            );
            self.speak(true);
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
        match self.stage {
            Stage::Asking(until) if until <= now => self.stage = Stage::Holding,
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

    /// The next word to the other gateways of this name.
    pub(super) fn next_word(&mut self) -> Option<Word> {
        self.words.pop_front()
    }

    /// True once when this gateway must publish its birth again.
    pub(super) fn takes_birth(&mut self) -> bool {
        std::mem::take(&mut self.wants_birth) && self.holds()
    }

    /// The machine of another gateway of our name, if there is one.
    pub(super) fn rival(&self, now: Instant) -> Option<&str> {
        let is_there = |at: &Instant| now.saturating_duration_since(*at) < GONE;
        self.rival
            .as_ref()
            .filter(|(_, at)| is_there(at))
            .map(|(host, _)| host.as_str())
    }

    fn ask(&mut self, now: Instant) {
        self.stage = Stage::Asking(now + ANSWER);
        self.speak(false);
    }

    fn speak(&mut self, holds: bool) {
        self.words.push_back(Word {
            boot: self.boot.clone(),
            host: self.host.clone(),
            holds,
        });
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
            let mut claim = NameClaim::new("b".to_owned(), "one".to_owned());
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
        while let Some(word) = from.next_word() {
            hears(to, topics().claim(), &serde_json::to_vec(&word).unwrap(), now);
        }
    }

    #[test]
    fn a_name_that_nobody_holds_is_taken_at_once_and_our_own_too() {
        let now = Instant::now();
        let mut claim = NameClaim::new("b".to_owned(), "one".to_owned());
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
        let mut first = NameClaim::new("z".to_owned(), "one".to_owned());
        let mut second = NameClaim::new("a".to_owned(), "two".to_owned());
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
        let mut first = NameClaim::new("a".to_owned(), "one".to_owned());
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
        let mut first = NameClaim::new("a".to_owned(), "one".to_owned());
        let mut second = NameClaim::new("b".to_owned(), "two".to_owned());
        first.heard(true, now);
        second.heard(true, now);
        hears(&mut first, topics().status(), b"online", now);
        tell(&mut first, &mut second, now);
        assert!(first.takes_birth() && first.holds() && !second.holds());
    }
}
