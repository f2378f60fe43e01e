//! Collects the events of chosen boards in their order, for a broadcast of several gateways.

use std::collections::HashMap;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{key::BoardKey, shared::Shared};
use crate::broadcast::Bundle;

/// Tells the events of `tables` until `stop`, those of each board in order and without a hole: it waits for events that
/// were missed.
pub(crate) async fn collect(
    shared: Shared,
    tables: Vec<BoardKey>,
    events: mpsc::Sender<Bundle>,
    stop: CancellationToken,
) {
    let mut changes = shared.changes();
    let mut sent: HashMap<BoardKey, u64> = HashMap::new();
    // The receiver hears at once that there are no events yet.
    let mut is_first = true;
    loop {
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let mut news = Bundle::default();
        {
            let hall = shared.hall();
            let complete = tables.iter().filter_map(|key| {
                let board = hall.board(key)?;
                board.wanted().is_none().then_some((key, board))
            });
            for (key, board) in complete {
                let last = sent.entry(key.clone()).or_default();
                for (seq, event) in board.events.range(*last + 1..) {
                    *last = *seq;
                    news.events.push((event.clone(), now_ms));
                }
            }
        }
        if is_first || !news.events.is_empty() {
            is_first = false;
            tokio::select! {
                sent = events.send(news) => if sent.is_err() { return },
                () = stop.cancelled() => return,
            }
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = stop.cancelled() => return,
        }
    }
}
