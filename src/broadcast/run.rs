//! Runs a broadcast, and begins it anew when its settings change.

use std::{future::Future, pin::pin};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    lichess::{Pacer, Pacers, Pushed, push},
    lock::Lock,
    patient::patiently,
    public,
    writer::{Bundle, Writer},
};
use crate::config::Broadcast;

/// How many batches of events may wait for the folder.
const TOLD: usize = 4;

/// Broadcasts as `settings` say until `stop`. When they change it begins anew, as after a restart, and `source` tells
/// all events from the first. `pushed` gets the answers of lichess, which is called at the pace of `pacers`.
pub async fn broadcast<F>(
    mut settings: watch::Receiver<Option<Broadcast>>,
    gateway: &str,
    source: impl Fn(&Broadcast, mpsc::Sender<Bundle>, CancellationToken) -> F,
    pushed: watch::Sender<Option<Pushed>>,
    pacers: Pacers,
    stop: CancellationToken,
) where
    F: Future<Output = ()>,
{
    while !stop.is_cancelled() {
        let now = settings.borrow_and_update().clone();
        let lichess = now.as_ref().and_then(|now| now.lichess.as_ref());
        let pacer = lichess.map(|lichess| pacers.of(lichess));
        pushed.send_if_modified(|pushed| pushed.take().is_some());
        let end = stop.child_token();
        let mut work = pin!(async {
            if let Some(now) = &now {
                once(now, gateway, &source, pacer.as_ref(), &pushed, &end).await;
            }
            end.cancelled().await;
        });
        tokio::select! {
            () = &mut work => return,
            changed = settings.changed() => {
                // The writer finishes what it is writing.
                if changed.is_ok() {
                    end.cancel();
                }
                work.await;
            }
        }
    }
}

/// Broadcasts until `stop`, once no other process writes the folder.
async fn once<F>(
    settings: &Broadcast,
    gateway: &str,
    source: &impl Fn(&Broadcast, mpsc::Sender<Bundle>, CancellationToken) -> F,
    pacer: Option<&Pacer>,
    pushed: &watch::Sender<Option<Pushed>>,
    stop: &CancellationToken,
) where
    F: Future<Output = ()>,
{
    let Some(_lock) = Lock::wait(&settings.folder, stop).await else {
        return;
    };
    let (own, of) = (settings.clone(), gateway.to_owned());
    let opened = patiently(&settings.folder, move || Writer::new(&own, &of)).await;
    let (writer, readers) = match opened {
        Ok(opened) => opened,
        Err(error) => return tracing::error!("broadcast: it cannot begin: {error}"),
    };
    let public_games = readers.current.clone();
    let (sender, events) = mpsc::channel(TOLD);
    let pushing = async {
        if let (Some(lichess), Some(pacer)) = (&settings.lichess, pacer) {
            let (lichess, pacer) = (lichess.clone(), pacer.clone());
            push(lichess, pacer, readers.current, pushed.clone(), stop.clone()).await;
        }
    };
    let pushing_former = async {
        // Its token is that of the present round.
        if let (Some((lichess, games)), Some(pacer)) = (readers.former, pacer) {
            // The page and `health` show the present round; the log has the rest.
            push(
                lichess,
                pacer.clone(),
                games,
                watch::Sender::new(None),
                stop.clone(),
            )
            .await;
        }
    };
    let showing = async {
        if let Some(listen) = settings.listen {
            public::show(listen, public_games, stop.clone()).await;
        }
    };
    tokio::join!(
        source(settings, sender, stop.clone()),
        showing,
        writer.run(events, stop.clone()),
        pushing,
        pushing_former,
    );
}
