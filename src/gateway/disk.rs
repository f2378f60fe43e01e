//! The journal's housekeeping on a disk that may hang: the loop that feeds the watchdog does not wait for it.

use std::time::{Duration, Instant};

use tokio::{task::JoinSet, time::timeout};

use crate::{
    event::notice,
    journal::{Journal, JournalStats, Notice},
};

/// How long an answer is waited for at a time.
const WAIT: Duration = Duration::from_millis(500);
/// A disk that takes longer is said to.
const SLOW: Duration = Duration::from_secs(5);
/// The longest that a disk may hang: beyond it the watchdog ends the daemon.
const HOPELESS: Duration = Duration::from_secs(120);

/// What the journal said last, and since when it has been asked again.
#[derive(Debug, Default)]
pub(super) struct Disk {
    question: JoinSet<JournalStats>,
    asked: Option<Instant>,
    said: bool,
    last: JournalStats,
}

impl Disk {
    /// Has the journal do its housekeeping; its figures, or the last ones while it does not answer.
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

    /// True while the disk is waited for, and there is hope.
    pub(super) fn is_slow(&self) -> bool {
        self.asked.is_some() && self.waited() < HOPELESS
    }

    /// What an operator is told of a disk that does not answer.
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
