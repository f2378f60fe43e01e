//! The topics of which the log has told that the broker takes no messages on them: it tells so once.

use std::{collections::BTreeSet, time::Instant};

use crate::throttle::Throttle;

/// These topics, and those that are too many to be told one by one.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    told: BTreeSet<String>,
    lines: Throttle,
}

impl Alarms {
    /// Whether the log is to tell of the topic now. Then the answer is how many refusals were not told before. A topic that is left
    /// out is told when it is refused again.
    pub(super) fn raise(&mut self, topic: &str, now: Instant) -> Option<u64> {
        if self.told.contains(topic) {
            return None;
        }
        let left_out = self.lines.pass(now)?;
        self.told.insert(topic.to_owned());
        Some(left_out)
    }

    /// Notes that the broker has taken a message on the topic.
    pub(super) fn end(&mut self, topic: &str) {
        self.told.remove(topic);
    }

    /// Tells how many refusals were not told one by one in the minute that is over.
    pub(super) fn tell_left_out(&self, now: Instant) {
        if let Some(count) = self.lines.overdue(now) {
            tracing::error!(
                "the broker refused {count} more messages on topics that are not told one by one; they are kept and tried again rarely"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn of_many_topics_few_are_told_at_once_each_once_and_the_rest_later() {
        let (mut alarms, start) = (Alarms::default(), Instant::now());
        let raise = |alarms: &mut Alarms, minute: u64| {
            let now = start + Duration::from_secs(60 * minute);
            let lines = (0..50).filter_map(|n| alarms.raise(&format!("topic {n}"), now));
            lines.collect::<Vec<_>>()
        };
        assert_eq!(raise(&mut alarms, 0), [0; 20]);
        let later = raise(&mut alarms, 1);
        assert_eq!((later.len(), later[0]), (20, 30));
        assert_eq!(raise(&mut alarms, 2).len(), 10);
        assert_eq!(raise(&mut alarms, 3), [0; 0]);
        alarms.end("topic 7");
        assert_eq!(raise(&mut alarms, 4), [0], "the broker took it meanwhile");
    }
}
