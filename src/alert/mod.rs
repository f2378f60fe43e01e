//! Notices pushed to phones: an event that an arbiter must hear of goes to a webhook or to ntfy.
//!
//! Each place reads the events in the journal beside all other work, as a broadcast does, so no board ever waits for a
//! phone. The file of positions beside the journal keeps how far each place was told. A restart repeats only the
//! message that was under way. The file keeps also of which irregularities the place was told: it hears when one of them
//! is off.
#![allow(clippy::disallowed_methods)] // phones live on the wall clock.

mod message;
mod place;
#[cfg(test)]
mod tests;
mod told;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use fastrand::Rng;
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use self::{
    message::AlertMessage,
    place::{Recipient, SendError},
    told::ToldAlerts,
};
use crate::{
    config::AlertConfig,
    event::Event,
    journal::{
        alerted,
        query::{Filter, each_event, last_position},
        wall_ms,
    },
    link::Backoff,
    time::Millis,
};

/// How many events are read at a time.
const BATCH: usize = 256;
/// How long to wait before trying again to read a journal.
const PATIENCE: Duration = Duration::from_secs(5);
/// An event older than this (in milliseconds) is no news for a phone: the arbiter sees it on the page.
const OLDEST_MS: i64 = 15 * 60_000;
/// First and longest wait after a failure that may pass.
const RETRY_MS: (u64, u64) = (1_000, 60_000);

/// An event that may be worth a message: its position, when it was written, and what it says.
type Kept = (u64, i64, Event);

/// Pushes to `alert`'s place the events written to the journal at `path`, until `stop`; `news` wakes it up.
pub(crate) async fn tell(
    alert: AlertConfig,
    path: PathBuf,
    mut news: watch::Receiver<u64>,
    stop: CancellationToken,
) {
    let mut teller = Teller {
        key: alert.key(),
        place: Recipient::new(&alert),
        alert,
        path,
        told: ToldAlerts::default(),
        oldest_ms: OLDEST_MS,
        failing: false,
        stale: 0,
    };
    let mut after = teller.begin().await;
    loop {
        news.mark_unchanged();
        let work = async {
            let Some(batch) = teller.read(after).await else {
                sleep(PATIENCE).await;
                return (after, true);
            };
            let more = batch.len() >= BATCH;
            let mut last = after;
            for (position, written_ms, event) in batch {
                teller.consider(position, written_ms, &event).await;
                last = position;
            }
            (last, more)
        };
        let (last, more) = tokio::select! {
            done = work => done,
            () = stop.cancelled() => return,
        };
        after = last;
        if !more {
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                () = stop.cancelled() => return,
            }
        }
    }
}

struct Teller {
    alert: AlertConfig,
    /// The name of the place in the file of positions.
    key: String,
    place: Recipient,
    path: PathBuf,
    /// Of which irregularities the place was told.
    told: ToldAlerts,
    /// [`OLDEST_MS`], or less in tests.
    oldest_ms: i64,
    /// True once the log has told that the place cannot be reached.
    failing: bool,
    /// How many messages became too old in the meantime.
    stale: u64,
}

impl Teller {
    /// The position to go on from: that of the last event told, or at the first time the end of the journal.
    async fn begin(&mut self) -> u64 {
        let (path, key) = (self.path.clone(), self.key.clone());
        let begin = move || {
            let last = last_position(&path).unwrap_or(0);
            // A journal that was restored may end before that position.
            let (position, told) = alerted::read(&path, &key).unwrap_or((last, String::new()));
            let (position, told) = (position.min(last), ToldAlerts::parse(&told));
            note(&path, &key, position, &told);
            (position, told)
        };
        let (position, told) = tokio::task::spawn_blocking(begin).await.unwrap_or_default();
        self.told = told;
        position
    }

    /// The next events; none where the journal cannot be read now.
    async fn read(&self, after: u64) -> Option<Vec<Kept>> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || batch(&path, after))
            .await
            .ok()?;
        read.inspect_err(|error| tracing::debug!("alerts: cannot read the journal: {error}"))
            .ok()
    }

    /// Pushes the event, if the place asks for it and it is still news. What changes a message that the place has is
    /// news until the place has refused it for as long.
    async fn consider(&mut self, position: u64, written_ms: i64, event: &Event) {
        let follow_up = self.told.follow_up(event, self.alert.language);
        // What the place must hear waits as long as it is away, but not for ever if it is there and refuses that.
        let mut since_ms = follow_up.is_none().then_some(written_ms);
        let Some(message) = follow_up.or_else(|| AlertMessage::of(event, &self.alert)) else {
            return;
        };
        let mut backoff = Backoff::new(RETRY_MS.0, RETRY_MS.1, 0);
        let mut rng = Rng::new();
        loop {
            if since_ms.is_some_and(|since_ms| wall_ms().saturating_sub(since_ms) > self.oldest_ms) {
                self.stale += 1;
                break;
            }
            match self.place.send(&message).await {
                Ok(()) => {
                    self.told.note(event, self.alert.language);
                    self.worked();
                    break;
                }
                Err(error) => {
                    self.failed(&error);
                    if error.is_final() {
                        break;
                    }
                    if matches!(error, SendError::Refused { .. }) {
                        since_ms.get_or_insert_with(wall_ms);
                    }
                    let wait = backoff.failed(Millis(0), &mut rng);
                    let wait = Duration::from_millis(wait).max(error.peace().unwrap_or_default());
                    sleep(wait).await;
                }
            }
        }
        let (path, key, told) = (self.path.clone(), self.key.clone(), self.told.clone());
        // The write ends with the runtime at the latest.
        let _ = tokio::task::spawn_blocking(move || note(&path, &key, position, &told)).await;
    }

    fn worked(&mut self) {
        if std::mem::take(&mut self.failing) {
            let left_out = match std::mem::take(&mut self.stale) {
                0 => String::new(),
                count => format!(
                    "; {count} messages grew older than a quarter of an hour meanwhile and were left out"
                ),
            };
            tracing::info!("alerts: {} takes messages again{left_out}", self.place.name());
        }
    }

    /// Writes one line to the log for a failure, and none for each attempt.
    fn failed(&mut self, error: &SendError) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!("alerts: a message is not taken: {error}");
        }
    }
}

fn note(path: &Path, key: &str, position: u64, told: &ToldAlerts) {
    if let Err(error) = alerted::keep(path, key, position, &told.text()) {
        tracing::debug!("alerts: cannot keep how far {key} was told: {error}");
    }
}

/// The next events.
fn batch(path: &Path, after: u64) -> rusqlite::Result<Vec<Kept>> {
    let mut batch = Vec::new();
    let filter = Filter {
        after: Some(after),
        ..Filter::default()
    };
    each_event(path, &filter, |kept| {
        match serde_json::from_str(kept.json) {
            Ok(event) => batch.push((kept.position, kept.written_ms, event)),
            Err(error) => tracing::warn!("alerts: an event of the journal cannot be read: {error}"),
        }
        batch.len() < BATCH
    })?;
    Ok(batch)
}
