//! Follows the events of a journal, from the first that it keeps to those that come.

use std::{path::PathBuf, time::Duration};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::writer::Bundle;
use crate::{
    event::Event,
    journal::query::{Filter, each_event},
};

/// How many events are read at a time.
const BATCH: usize = 512;
/// How long to wait before trying again to read a journal.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tells the events of the journal at `path`, and those that are written to it: `news` wakes it up.
///
/// It reads the journal beside the writer instead of listening to the boards. So no board ever waits for a broadcast,
/// and after a restart the broadcast knows what was played before.
pub async fn follow(
    path: PathBuf,
    mut news: watch::Receiver<u64>,
    events: mpsc::Sender<Bundle>,
    stop: CancellationToken,
) {
    let mut after = 0;
    let mut failed = false;
    loop {
        news.mark_unchanged();
        let from = path.clone();
        let read = tokio::task::spawn_blocking(move || batch(&from, after)).await;
        let (read, last) = match read {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => {
                if !failed {
                    tracing::warn!("broadcast: cannot read the journal {}: {error}", path.display());
                }
                failed = true;
                // The loop does not tell half of the earlier events, because the public would see games go back.
                tokio::select! {
                    () = tokio::time::sleep(PATIENCE) => continue,
                    () = stop.cancelled() => return,
                }
            }
            Err(_) => return,
        };
        failed = false;
        let more = read.len() >= BATCH;
        after = last;
        let told = Bundle { events: read, more };
        tokio::select! {
            sent = events.send(told) => if sent.is_err() { return },
            () = stop.cancelled() => return,
        }
        if !more {
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                () = stop.cancelled() => return,
            }
        }
    }
}

/// The next events, and the position of the last.
fn batch(path: &std::path::Path, after: u64) -> rusqlite::Result<(Vec<(Event, i64)>, u64)> {
    let mut told = Vec::new();
    let mut last = after;
    let filter = Filter {
        after: Some(after),
        ..Filter::default()
    };
    each_event(path, &filter, |kept| {
        last = kept.position;
        match serde_json::from_str(kept.json) {
            Ok(event) => told.push((event, kept.written_ms)),
            Err(error) => tracing::warn!("broadcast: an event of the journal cannot be read: {error}"),
        }
        told.len() < BATCH
    })?;
    Ok((told, last))
}
