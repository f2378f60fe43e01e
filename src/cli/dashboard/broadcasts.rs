//! The broadcasts that the page's program writes itself: one, or one for each group of the event. Groups come and go with
//! the configuration, and what is the same of the others goes on.

use std::{collections::BTreeMap, path::PathBuf};

use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::own_round;
use crate::{
    broadcast::{Pacers, Pushed, broadcast},
    config::Broadcast,
    dashboard::{Ask, BoardKey, BroadcastRound, Shared, collect, own_name},
};

/// A broadcast that is written.
struct Written {
    group: String,
    configured: watch::Sender<Option<Broadcast>>,
    asks: mpsc::Sender<Ask>,
    stop: CancellationToken,
    /// Cancelled when all of it has ended.
    ended: CancellationToken,
}

/// How many commands to a broadcast may wait.
const ASKS: usize = 8;

/// Writes the newest of `configured` until `stop`, and hands on what commands of the page `asked` of each.
///
/// # Errors
/// Where a part of a broadcast panicked.
pub(super) async fn write(
    mut configured: watch::Receiver<Vec<Broadcast>>,
    mut asked: mpsc::Receiver<Ask>,
    shared: Shared,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let pacers = Pacers::default();
    let mut parts = JoinSet::new();
    // A folder is of one broadcast at a time.
    let mut written: BTreeMap<PathBuf, Written> = BTreeMap::new();
    while !stop.is_cancelled() {
        let wanted = configured.borrow_and_update().clone();
        end_others(&mut written, &wanted).await;
        for wanted in wanted {
            match written.get(&wanted.folder) {
                // Its file of pairings may be another one, so it counts as changed.
                Some(written) => drop(written.configured.send_replace(Some(wanted))),
                None => {
                    let folder = wanted.folder.clone();
                    written.insert(
                        folder,
                        Written::begin(wanted, &mut parts, &shared, &pacers, &stop),
                    );
                }
            }
        }
        loop {
            tokio::select! {
                changed = configured.changed() => match changed {
                    Ok(()) => break,
                    // There will be no other ones.
                    Err(_) => stop.cancelled().await,
                },
                Some(ask) = asked.recv() => {
                    let of = written.values().find(|written| own_name(&written.group) == ask.gateway);
                    // Who asks hears of a broadcast that is gone or busy: the answer is dropped with the question.
                    let _ = of.map(|of| of.asks.try_send(ask));
                }
                Some(ended) = parts.join_next() => ended?,
                () = stop.cancelled() => {}
            }
            if stop.is_cancelled() {
                break;
            }
        }
    }
    while let Some(ended) = parts.join_next().await {
        ended?;
    }
    Ok(())
}

/// Ends what is not wanted any more, before anything else may take its folder or its name.
async fn end_others(written: &mut BTreeMap<PathBuf, Written>, wanted: &[Broadcast]) {
    let is_wanted = |folder: &PathBuf, group: &str| {
        let mut wanted = wanted.iter();
        wanted.any(|one| one.folder == *folder && one.group.as_deref().unwrap_or_default() == group)
    };
    let others = written
        .iter()
        .filter(|(folder, written)| !is_wanted(folder, &written.group));
    let others: Vec<PathBuf> = others.map(|(folder, _)| folder.clone()).collect();
    for folder in others {
        if let Some(former) = written.remove(&folder) {
            former.stop.cancel();
            former.ended.cancelled().await;
        }
    }
}

impl Written {
    fn begin(
        wanted: Broadcast,
        parts: &mut JoinSet<()>,
        shared: &Shared,
        pacers: &Pacers,
        stop: &CancellationToken,
    ) -> Self {
        let group = wanted.group.clone().unwrap_or_default();
        let (stop, ended) = (stop.child_token(), CancellationToken::new());
        let (configured, receiver) = watch::channel(Some(wanted));
        let (asks, asked) = mpsc::channel(ASKS);
        let (own, settings) = own_round::of(receiver, shared.clone());
        let (pushed_sender, pushed) = watch::channel(None);
        let (of, hall, pacers, end) = (group.clone(), shared.clone(), pacers.clone(), stop.clone());
        let over = ended.clone().drop_guard();
        parts.spawn(async move {
            // Also where one of them panics.
            let _over = over;
            let source =
                |settings: &Broadcast, events, stop| collect(hall.clone(), tables(settings), events, stop);
            tokio::join!(
                own.follow(asked, end.clone()),
                tell_own_round(of.clone(), settings.clone(), hall.clone(), end.clone()),
                tell_pushed(of.clone(), pushed, hall.clone()),
                broadcast(settings.clone(), "", source, pushed_sender, pacers, end.clone()),
            );
        });
        Self {
            group,
            configured,
            asks,
            stop,
            ended,
        }
    }
}

/// The boards of a broadcast. The check of the configuration makes sure that each is `GATEWAY/BOARD`.
fn tables(settings: &Broadcast) -> Vec<BoardKey> {
    settings
        .boards
        .iter()
        .filter_map(|name| BoardKey::named(name))
        .collect()
}

/// Tells the page the round of a broadcast, and its players.
async fn tell_own_round(
    group: String,
    mut settings: watch::Receiver<Option<Broadcast>>,
    shared: Shared,
    stop: CancellationToken,
) {
    let telling = async {
        loop {
            let own = settings.borrow_and_update().clone();
            let round = own.map(|own| BroadcastRound {
                round: own.tournament.round,
                paired: own.players(),
                gateways: tables(&own).into_iter().map(|board| board.gateway).collect(),
            });
            shared.own_round(&group, round);
            if settings.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = telling => {}
        () = stop.cancelled() => {}
    }
    shared.own_round(&group, None);
}

/// Tells the page what lichess says.
async fn tell_pushed(group: String, mut pushed: watch::Receiver<Option<Pushed>>, shared: Shared) {
    while pushed.changed().await.is_ok() {
        let now = pushed.borrow_and_update().clone();
        shared.pushed(&group, now);
    }
    shared.pushed(&group, None);
}
