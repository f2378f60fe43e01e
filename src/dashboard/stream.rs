//! Server-sent events: at first the whole hall, then each change.

use std::{convert::Infallible, time::Duration};

use axum::response::sse::{Event, Sse};
use futures_util::{Stream, stream};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::shared::Shared;

/// Changes within this time go out together: a full hall has several in it, and no eye sees the difference.
const TOGETHER: Duration = Duration::from_millis(25);
/// How often a page hears something. A page that hears nothing for much longer knows that the connection is dead.
const ALIVE: Duration = Duration::from_secs(5);

/// What one page has been told.
struct Told {
    shared: Shared,
    changes: watch::Receiver<u64>,
    revision: Option<u64>,
    /// How often the page hears something.
    alive: Duration,
    /// The end of the server, and the end of the guest's stay.
    ends: [CancellationToken; 2],
}

/// The changes of the hall for one page, until one of `ends`. There is no queue: a page that is slow gets fewer
/// messages, each with the newest state.
pub(super) fn changes(
    shared: Shared,
    ends: [CancellationToken; 2],
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let told = Told {
        changes: shared.changes(),
        shared,
        revision: None,
        alive: ALIVE,
        ends,
    };
    Sse::new(stream::unfold(told, async |mut told| {
        let [stop, gone] = told.ends.clone();
        let event = tokio::select! {
            // A guest who must go hears nothing more.
            biased;
            () = stop.cancelled() => return None,
            () = gone.cancelled() => return None,
            event = told.next() => event,
        };
        Some((Ok(event), told))
    }))
}

impl Told {
    async fn next(&mut self) -> Event {
        let Some(revision) = self.revision else {
            return self.whole();
        };
        let alive = Instant::now() + self.alive;
        let mut since = revision;
        // Where clocks run there is always a change, and no page need hear of it.
        while Instant::now() < alive {
            match timeout_at(alive, self.changes.changed()).await {
                Ok(Ok(())) => sleep(TOGETHER).await,
                // No change can come any more.
                Ok(Err(_)) => sleep_until(alive).await,
                Err(_) => break,
            }
            if let Some(event) = self.news(since) {
                return event;
            }
            since = self.revision.unwrap_or(since);
        }
        message("alive", &Value::Null)
    }

    /// The hall as it is now.
    fn whole(&mut self) -> Event {
        let view = {
            let now = self.shared.now_ms();
            let hall = self.shared.hall();
            self.revision = Some(hall.revision());
            hall.view(now)
        };
        message("hall", &view)
    }

    /// What has changed since a revision, if a page shows it.
    fn news(&mut self, revision: u64) -> Option<Event> {
        let change = {
            let now = self.shared.now_ms();
            let hall = self.shared.hall();
            if hall.gone.revision > revision {
                drop(hall);
                return Some(self.whole());
            }
            self.revision = Some(hall.revision());
            hall.change(revision, now)
        };
        Some(message("change", &change?))
    }
}

fn message(name: &str, data: &impl Serialize) -> Event {
    // JSON of texts and numbers is one line.
    let text = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).data(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_hears_something_though_nothing_but_a_clock_runs() {
        let shared = Shared::default();
        let read = |shared: &Shared| {
            let clock = br#"{"clock":{"white_ms":9000,"black_ms":9000,"running":null}}"#;
            shared.change(|hall, now| {
                hall.take("gw/board/1/clock", clock, now);
            });
        };
        read(&shared);
        let mut told = Told {
            changes: shared.changes(),
            shared: shared.clone(),
            revision: None,
            alive: Duration::from_millis(200),
            ends: [CancellationToken::new(), CancellationToken::new()],
        };
        let whole = format!("{:?}", told.next().await);
        assert!(whole.contains("black_ms"), "{whole}");
        let clock = tokio::spawn(async move {
            loop {
                read(&shared);
                sleep(Duration::from_millis(10)).await;
            }
        });
        let event = tokio::time::timeout(Duration::from_secs(60), told.next()).await;
        assert!(format!("{event:?}").contains("alive"), "{event:?}");
        clock.abort();
    }
}
