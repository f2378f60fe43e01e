//! Drives a watcher through a capture: the same calls at the same times as the gateway makes.

use super::{Act, Capture};
use crate::{
    event::Event,
    mate::{Budget, can_mate},
    time::Millis,
    watcher::Watcher,
};

/// What the watcher is told of the port when there is none.
const PORT: &str = "replay";

/// Runs `watcher` through `capture` and hands each event to `sink` in order. What the host said then
/// (`>`) and what the watcher would say now are both without effect: the board's answers are on record.
///
/// # Errors
/// The first error of `sink` ends the run.
pub fn replay<E>(
    watcher: &mut Watcher,
    capture: &Capture,
    mut sink: impl FnMut(Event) -> Result<(), E>,
) -> Result<Millis, E> {
    let mut up = false;
    for record in &capture.records {
        while let Some(due) = watcher.poll_timeout().filter(|&due| due <= record.at) {
            watcher.handle_timeout(due);
            drain(watcher, due, &mut sink)?;
        }
        // A capture need not say that its link is up: it could not have recorded anything otherwise.
        let link = !matches!(record.act, Act::LinkDown);
        if link != up {
            up = link;
            if up {
                watcher.handle_link_up(record.at, PORT);
            } else {
                watcher.handle_link_down(record.at, "the capture says so");
            }
        }
        if let Act::FromBoard(bytes) = &record.act {
            watcher.handle_bytes(record.at, bytes);
        }
        drain(watcher, record.at, &mut sink)?;
    }
    let end = watcher.handle_end(capture.end());
    drain(watcher, end, &mut sink)?;
    Ok(end)
}

fn drain<E>(
    watcher: &mut Watcher,
    now: Millis,
    sink: &mut impl FnMut(Event) -> Result<(), E>,
) -> Result<(), E> {
    while watcher.poll_transmit().is_some() {}
    while watcher.poll_wish().is_some() {}
    // Here nobody waits: what the gateway asks off the board's task is asked at once.
    while let Some(question) = watcher.poll_question() {
        let verdict = can_mate(&question.position, question.winner, &Budget::default());
        watcher.handle_verdict(now, &question.irregularity, &verdict);
    }
    while let Some(event) = watcher.poll_event() {
        sink(event)?;
    }
    Ok(())
}
