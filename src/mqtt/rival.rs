//! The other gateway of our name: when this one last heard of it, and what the log has told of it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::throttle::Throttle;

/// A gateway that has not been heard for this long is gone.
pub(super) const GONE: Duration = Duration::from_secs(30);
/// How often the log tells again of a gateway that stays.
const REMIND: Duration = Duration::from_secs(600);
/// Lines a minute where something changes all the time: no gateway starts so often.
const MOST: u32 = 4;
/// Of how many gateways is kept what the log told. More of one name are not gateways.
const MOST_TOLD: usize = 16;

/// What the log told of a gateway.
#[derive(Debug)]
struct Mention {
    /// Whether this gateway gives way to it.
    gives_way: bool,
    at: Instant,
    /// Until when it is there, if nothing more is heard of it.
    until: Instant,
}

/// The other gateways of our name, as far as they were heard.
#[derive(Debug)]
pub(super) struct Rival {
    /// The machine, and until when it is there.
    last: Option<(String, Instant)>,
    /// What the log told, by boot id.
    told: BTreeMap<String, Mention>,
    said: Throttle,
}

impl Default for Rival {
    fn default() -> Self {
        Self {
            last: None,
            told: BTreeMap::new(),
            said: Throttle::of(MOST),
        }
    }
}

impl Rival {
    /// The machine of the other gateway, if there is one now.
    pub(super) fn host(&self, now: Instant) -> Option<&str> {
        let last = self.last.as_ref().filter(|(_, until)| now < *until);
        last.map(|(host, _)| host.as_str())
    }

    /// Notes a sign of life of a gateway on `host`, which is there until that time.
    pub(super) fn heard(&mut self, host: &str, until: Instant) {
        self.last = Some((host.to_owned(), until));
    }

    /// Whether the log is to tell now of the gateway with that boot id, because it is another one, one that was gone, or the name went
    /// from one to the other; or because the log has not told of it for long. Then the answer is how many words were not told
    /// before. It is there until `until`.
    pub(super) fn tells_now(
        &mut self,
        boot: &str,
        gives_way: bool,
        until: Instant,
        now: Instant,
    ) -> Option<u64> {
        if let Some(told) = self.told.get_mut(boot) {
            let is_reminded = now.saturating_duration_since(told.at) < REMIND;
            if now < told.until && told.gives_way == gives_way && is_reminded {
                told.until = until;
                return None;
            }
            self.told.remove(boot);
        }
        let left_out = self.said.pass(now)?;
        if self.told.len() >= MOST_TOLD
            && let Some(oldest) = self.told.iter().min_by_key(|(_, told)| told.at)
        {
            let oldest = oldest.0.clone();
            self.told.remove(&oldest);
        }
        let told = Mention {
            gives_way,
            at: now,
            until,
        };
        self.told.insert(boot.to_owned(), told);
        Some(left_out)
    }

    /// Notes that nobody answers any more.
    pub(super) fn left(&mut self) {
        let before = self.told.len();
        self.told.retain(|_, told| !told.gives_way);
        if self.told.len() < before {
            tracing::info!("no other gateway answers for our name any more: this one takes it");
        }
    }

    /// Tells how many changes were not told one by one in the minute that is over.
    pub(super) fn tell_left_out(&self, now: Instant) {
        if let Some(count) = self.said.overdue(now) {
            tracing::warn!(
                "{count} more words of gateways of our name came than are told one by one: who writes so much to `claim`? Only gateways should have the right"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_stays_is_told_once_and_then_rarely_and_one_that_comes_back_is_told() {
        let (mut rival, start) = (Rival::default(), Instant::now());
        let at = |s: u64| start + Duration::from_secs(s);
        let mut hears = |gives_way, now| {
            rival.heard("one", now + GONE);
            rival.tells_now("a", gives_way, now + GONE, now).is_some()
        };
        let mut lines = (0..1200).step_by(10).filter(|s| hears(false, at(*s)));
        assert_eq!(
            (lines.next(), lines.next(), lines.next()),
            (Some(0), Some(600), None)
        );
        drop(lines);
        assert!(hears(true, at(1200)), "the name went to it");
        assert!(!hears(true, at(1210)));
        assert!(hears(true, at(1210) + GONE));
        assert_eq!(rival.host(at(1210) + GONE), Some("one"));
        assert_eq!(rival.host(at(1210) + 2 * GONE), None);
    }

    #[test]
    fn of_a_flood_of_strangers_few_are_told_and_the_rest_is_counted() {
        let (mut rival, now) = (Rival::default(), Instant::now());
        let lines = (0..10_000).filter(|n| rival.tells_now(&n.to_string(), false, now + GONE, now).is_some());
        assert_eq!(lines.count(), MOST as usize);
        assert_eq!(rival.said.overdue(now + Duration::from_secs(60)), Some(9_996));
    }

    #[test]
    fn of_a_flood_that_goes_on_each_word_is_told_or_counted_and_little_is_kept() {
        let (mut rival, start) = (Rival::default(), Instant::now());
        let (mut lines, mut counted) = (0, 0);
        for tenth in 0..6_000 {
            let now = start + Duration::from_millis(tenth * 100);
            counted += rival.said.overdue(now).unwrap_or(0);
            if let Some(left_out) = rival.tells_now(&tenth.to_string(), false, now + GONE, now) {
                (lines, counted) = (lines + 1, counted + left_out);
            }
        }
        counted += rival.said.overdue(start + Duration::from_secs(600)).unwrap_or(0);
        assert_eq!((lines, lines + counted), (40, 6_000));
        assert_eq!(rival.told.len(), MOST_TOLD);
    }

    #[test]
    fn a_line_tells_how_many_words_came_before_it_that_were_not_told() {
        let (mut rival, start) = (Rival::default(), Instant::now());
        for n in 0..10 {
            rival.tells_now(&n.to_string(), false, start + GONE, start);
        }
        let later = start + Duration::from_secs(60);
        assert_eq!(rival.tells_now("x", false, later + GONE, later), Some(6));
        assert_eq!(
            rival.tells_now("9", false, later + GONE, later),
            Some(0),
            "one that was left out is told later"
        );
    }

    #[test]
    fn of_three_that_speak_in_turn_each_is_told_once() {
        let (mut rival, start) = (Rival::default(), Instant::now());
        let mut lines = 0;
        for second in 0..60 {
            let now = start + Duration::from_secs(second);
            for boot in ["x", "y", "z"] {
                lines += usize::from(rival.tells_now(boot, false, now + GONE, now).is_some());
            }
        }
        assert_eq!(lines, 3);
        assert_eq!(rival.said.overdue(start + Duration::from_secs(60)), None);
    }
}
