//! The other gateway of our name: when this one last heard of it, and what the log has told of it.

use std::time::{Duration, Instant};

use crate::throttle::Throttle;

/// A gateway that has not been heard for this long is gone.
pub(super) const GONE: Duration = Duration::from_secs(30);
/// How often the log tells again of a gateway that stays.
const REMIND: Duration = Duration::from_secs(600);
/// Lines a minute where something changes all the time: no gateway starts so often.
const MOST: u32 = 4;

/// The other gateways of our name, as far as they were heard.
#[derive(Debug)]
pub(super) struct Rival {
    /// The machine, and when it was last heard.
    last: Option<(String, Instant)>,
    /// What the log told last, and when: the boot id, and whether this gateway gives way to it.
    told: Option<(String, bool, Instant)>,
    said: Throttle,
}

impl Default for Rival {
    fn default() -> Self {
        Self {
            last: None,
            told: None,
            said: Throttle::of(MOST),
        }
    }
}

impl Rival {
    /// The machine of the other gateway, if there is one now.
    pub(super) fn host(&self, now: Instant) -> Option<&str> {
        let is_there = |at: &Instant| now.saturating_duration_since(*at) < GONE;
        let last = self.last.as_ref().filter(|(_, at)| is_there(at));
        last.map(|(host, _)| host.as_str())
    }

    /// Notes a word of a gateway on `host`. True where the log is to tell of it, because it is another one than before, one that was
    /// gone, or the name went from one to the other; or because the log has not told of it for long.
    pub(super) fn heard(&mut self, host: &str, boot: &str, gives_way: bool, now: Instant) -> bool {
        let was_gone = self.host(now).is_none();
        self.last = Some((host.to_owned(), now));
        let is_told = self.told.as_ref().is_some_and(|(told, way, at)| {
            told == boot && *way == gives_way && now.saturating_duration_since(*at) < REMIND
        });
        if is_told && !was_gone {
            return false;
        }
        self.told = Some((boot.to_owned(), gives_way, now));
        self.said.pass(now).is_some()
    }

    /// Notes that nobody answers any more.
    pub(super) fn left(&mut self) {
        if matches!(self.told.take(), Some((_, true, _))) {
            tracing::info!("no other gateway answers for our name any more: this one takes it");
        }
    }

    /// Tells how many changes were not told one by one in the minute that is over.
    pub(super) fn tell_left_out(&self, now: Instant) {
        if let Some(count) = self.said.overdue(now) {
            tracing::warn!(
                "{count} more gateways of our name spoke than are told one by one: who writes so much to `claim`? Only gateways should have the right"
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
        let mut lines = (0..1200)
            .step_by(10)
            .filter(|s| rival.heard("one", "a", false, at(*s)));
        assert_eq!(
            (lines.next(), lines.next(), lines.next()),
            (Some(0), Some(600), None)
        );
        drop(lines);
        assert!(rival.heard("one", "a", true, at(1200)), "the name went to it");
        assert!(!rival.heard("one", "a", true, at(1210)));
        assert_eq!(rival.host(at(1210) + GONE), None);
        assert!(rival.heard("one", "a", true, at(1210) + GONE));
    }

    #[test]
    fn of_a_flood_of_strangers_few_are_told_and_the_rest_is_counted() {
        let (mut rival, now) = (Rival::default(), Instant::now());
        let lines = (0..10_000).filter(|n| rival.heard("one", &n.to_string(), false, now));
        assert_eq!(lines.count(), MOST as usize);
        assert_eq!(rival.said.overdue(now + Duration::from_secs(60)), Some(9_996));
    }
}
