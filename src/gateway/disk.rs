//! Has the journal do its housekeeping on a disk that may hang. The loop that feeds the watchdog does not wait for the
//! disk.

use std::time::{Duration, Instant};

use tokio::{task::JoinSet, time::timeout};

use crate::{
    event::notice,
    journal::{Journal, JournalStats, Notice},
};

/// How long to wait for the journal's answer at a time.
const WAIT: Duration = Duration::from_millis(500);
/// A notice tells of a disk that takes longer than this.
const SLOW: Duration = Duration::from_secs(5);
/// The longest that a disk excuses a task which does not answer. A disk may hang for longer where all tasks answer: a new process
/// would wait for it as well, and would not have what waits in memory.
const HOPELESS: Duration = Duration::from_secs(120);

/// The journal's last figures, and the time of the question that it has not answered.
#[derive(Debug, Default)]
pub(super) struct Disk {
    question: JoinSet<JournalStats>,
    asked: Option<Instant>,
    said: bool,
    last: JournalStats,
}

impl Disk {
    /// Has the journal do its housekeeping. Returns its figures, or the last ones while it does not answer.
    pub(super) async fn tick(&mut self, journal: &Journal) -> JournalStats {
        if self.question.is_empty() {
            let journal = journal.clone();
            self.question.spawn(async move { journal.tick().await });
            self.asked = Some(Instant::now());
        }
        if let Ok(Some(answer)) = timeout(WAIT, self.question.join_next()).await {
            self.last = answer.unwrap_or(self.last);
            if std::mem::take(&mut self.said) {
                tracing::info!("the disk of the journal answers again, after {:?}", self.waited());
            }
            self.asked = None;
        } else if self.waited() >= SLOW && !self.said {
            self.said = true;
            let notice = slow();
            tracing::error!(code = notice.code, "{}", notice.message);
        }
        self.last
    }

    /// True while the daemon waits for the disk, for less than [`HOPELESS`].
    pub(super) fn is_slow(&self) -> bool {
        self.asked.is_some() && self.waited() < HOPELESS
    }

    /// The notice on a disk that does not answer.
    pub(super) fn trouble(&self) -> Option<Notice> {
        self.said.then(slow)
    }

    fn waited(&self) -> Duration {
        self.asked.map_or(Duration::ZERO, |asked| asked.elapsed())
    }
}

fn slow() -> Notice {
    Notice::new(
        notice::JOURNAL_SLOW,
        format!(
            "the disk of the journal has not answered for {SLOW:?}: no event is sent until it does; see to the disk (`dmesg`)"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_the_watchdog_of_the_unit_a_disk_excuses_a_stuck_task_for_two_and_a_half_minutes() {
        let unit = include_str!("../../systemd/dgt2mqtt.service");
        let watchdog = unit.lines().find_map(|line| line.strip_prefix("WatchdogSec="));
        let watchdog = watchdog.and_then(|period| period.strip_suffix('s')).unwrap();
        let watchdog = Duration::from_secs(watchdog.parse().unwrap());
        assert_eq!(HOPELESS + watchdog, Duration::from_secs(150));
        // The daemon feeds it three times in each period, also where each look at the disk takes as long as it may.
        assert!(WAIT < watchdog / 3);
        // `docs/reliability.md` promises that a disk may hang for 40 s.
        assert!(HOPELESS >= 3 * Duration::from_secs(40));
    }

    /// A question that was asked so many seconds ago, and is not answered.
    fn asked_before(seconds: u64) -> Disk {
        let mut question = JoinSet::new();
        question.spawn(std::future::pending());
        Disk {
            question,
            asked: Instant::now().checked_sub(Duration::from_secs(seconds)),
            ..Disk::default()
        }
    }

    /// The unit's watchdog is fed while the disk is slow, also where a task does not answer: then it ends the daemon some 30 s after
    /// that.
    #[tokio::test]
    async fn a_disk_is_slow_for_two_minutes_and_hopeless_after_them() {
        assert!(!Disk::default().is_slow(), "nothing is asked");
        assert!(asked_before(1).is_slow() && asked_before(119).is_slow());
        assert!(!asked_before(121).is_slow());
    }
}
