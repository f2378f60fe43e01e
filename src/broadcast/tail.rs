//! Follows the events of a journal, from the first that it keeps to those that come, and the clocks between them.

use std::{path::PathBuf, time::Duration};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    clocks::{LatestClocks, TimedClock},
    writer::Bundle,
};
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
/// and after a restart the broadcast knows what was played before. What the clocks show between half-moves is in no
/// journal, which would be written every second for it: the boards leave it in `clocks`, and after a restart they show it
/// again.
pub async fn follow(
    path: PathBuf,
    mut news: watch::Receiver<u64>,
    mut clocks: watch::Receiver<LatestClocks>,
    events: mpsc::Sender<Bundle>,
    stop: CancellationToken,
) {
    let mut after = 0;
    let mut failed = false;
    let mut shown = LatestClocks::new();
    clocks.mark_changed();
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
        let mut told = Bundle {
            events: read,
            more,
            clocks: Vec::new(),
        };
        loop {
            tokio::select! {
                sent = events.send(told) => if sent.is_err() { return },
                () = stop.cancelled() => return,
            }
            if more {
                break;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                changed = news.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                Ok(()) = clocks.changed() => told = fresh(&clocks.borrow_and_update(), &mut shown),
            }
        }
    }
}

/// The clocks that have been read since they were last `shown`.
fn fresh(clocks: &LatestClocks, shown: &mut LatestClocks) -> Bundle {
    let is_fresh = |(board, clock): &(&String, &TimedClock)| shown.get(*board) != Some(*clock);
    let fresh = clocks.iter().filter(is_fresh);
    let fresh: Vec<_> = fresh.map(|(board, clock)| (board.clone(), *clock)).collect();
    shown.extend(fresh.iter().cloned());
    Bundle {
        clocks: fresh,
        ..Bundle::default()
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
