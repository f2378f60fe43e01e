//! Collects the events of chosen boards in their order, and what their clocks show, for a broadcast of several gateways.

use std::{collections::HashMap, time::Duration};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{board::Board, clock::Reading, key::BoardKey, shared::Shared};
use crate::{
    broadcast::{Bundle, TimedClock},
    event::GameResult,
};

/// How often clocks are looked at though nothing has changed.
const LOOK: Duration = Duration::from_secs(10);

/// Tells the events of `tables` until `stop`, those of each board in order and without a hole: it waits for events that
/// were missed. It tells their clocks between the events as well.
pub(crate) async fn collect(
    shared: Shared,
    tables: Vec<BoardKey>,
    events: mpsc::Sender<Bundle>,
    stop: CancellationToken,
) {
    let mut changes = shared.changes();
    let mut sent: HashMap<BoardKey, u64> = HashMap::new();
    let mut read: HashMap<BoardKey, u64> = HashMap::new();
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
                // What the broker has kept of a gateway that is away is of another time.
                let is_new = |reading: &&Reading| read.get(key) != Some(&reading.at_ms);
                let fresh = board
                    .clock
                    .as_ref()
                    .filter(is_new)
                    .filter(|_| hall.is_online(&key.gateway));
                let Some(reading) = fresh else { continue };
                if let Some(clock) = clock(board, reading, now_ms, shared.now_ms()) {
                    read.insert(key.clone(), reading.at_ms);
                    news.clocks
                        .push((format!("{}/{}", key.gateway, key.board), clock));
                }
            }
        }
        if is_first || !news.events.is_empty() || !news.clocks.is_empty() {
            is_first = false;
            tokio::select! {
                sent = events.send(news) => if sent.is_err() { return },
                () = stop.cancelled() => return,
            }
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            // A clock that runs on as it did is no change.
            () = tokio::time::sleep(LOOK) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// What the clock of a board shows, if a game goes on there. `now_ms` is Unix time in milliseconds, `hall_ms` the same
/// moment by the hall's own clock.
fn clock(board: &Board, reading: &Reading, now_ms: i64, hall_ms: u64) -> Option<TimedClock> {
    let goes_on = board.online == Some(true) && board.game.result == Some(GameResult::Open);
    let age_ms = i64::try_from(hall_ms.saturating_sub(reading.at_ms)).ok()?;
    Some(TimedClock {
        game: board.game.game.filter(|_| goes_on)?,
        clock: reading.clock,
        at_ms: now_ms.checked_sub(age_ms)?,
    })
}
