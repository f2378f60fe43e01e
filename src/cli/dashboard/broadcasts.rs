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
    parts: JoinSet<()>,
}

/// How many commands to a broadcast may wait.
const ASKS: usize = 8;

/// Writes the newest of `configured` until `stop`, and hands on what commands of the page `asked` of each.
pub(super) async fn write(
    mut configured: watch::Receiver<Vec<Broadcast>>,
    mut asked: mpsc::Receiver<Ask>,
    shared: Shared,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let pacers = Pacers::default();
    // A folder is of one broadcast at a time.
    let mut written: BTreeMap<PathBuf, Written> = BTreeMap::new();
    loop {
        let wanted = configured.borrow_and_update().clone();
        let gone = written
            .keys()
            .filter(|folder| wanted.iter().all(|one| one.folder != **folder));
        for folder in gone.cloned().collect::<Vec<_>>() {
            if let Some(former) = written.remove(&folder) {
                former.end().await;
            }
        }
        for wanted in wanted {
            let group = wanted.group.clone().unwrap_or_default();
            match written.get(&wanted.folder) {
                // Its file of pairings may be another one, so it counts as changed.
                Some(written) if written.group == group => {
                    drop(written.configured.send_replace(Some(wanted)));
                }
                _ => {
                    if let Some(former) = written.remove(&wanted.folder) {
                        former.end().await;
                    }
                    let folder = wanted.folder.clone();
                    written.insert(folder, Written::begin(wanted, group, &shared, &pacers, &stop));
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
                () = stop.cancelled() => {}
            }
            if stop.is_cancelled() {
                return ended(written).await;
            }
        }
    }
}

async fn ended(written: BTreeMap<PathBuf, Written>) -> anyhow::Result<()> {
    for (_, mut written) in written {
        while written.parts.join_next().await.is_some() {}
    }
    Ok(())
}

impl Written {
    fn begin(
        wanted: Broadcast,
        group: String,
        shared: &Shared,
        pacers: &Pacers,
        stop: &CancellationToken,
    ) -> Self {
        let stop = stop.child_token();
        let (configured, receiver) = watch::channel(Some(wanted));
        let (asks, asked) = mpsc::channel(ASKS);
        let (own, settings) = own_round::of(receiver, shared.clone());
        let (pushed_sender, pushed) = watch::channel(None);
        let mut parts = JoinSet::new();
        parts.spawn(own.follow(asked, stop.clone()));
        parts.spawn(tell_own_round(
            group.clone(),
            settings.clone(),
            shared.clone(),
            stop.clone(),
        ));
        parts.spawn(tell_pushed(group.clone(), pushed, shared.clone()));
        let (hall, pacers, end) = (shared.clone(), pacers.clone(), stop.clone());
        parts.spawn(async move {
            let source =
                |settings: &Broadcast, events, stop| collect(hall.clone(), tables(settings), events, stop);
            broadcast(settings, "", source, pushed_sender, pacers, end).await;
        });
        Self {
            group,
            configured,
            asks,
            stop,
            parts,
        }
    }

    /// Ends it, once its files are written.
    async fn end(mut self) {
        self.stop.cancel();
        while self.parts.join_next().await.is_some() {}
    }
}

/// The boards of a broadcast. The check of the configuration makes sure that each is `GATEWAY/BOARD`.
fn tables(settings: &Broadcast) -> Vec<BoardKey> {
    let key = |name: &String| {
        let (gateway, board) = name.split_once('/')?;
        Some(BoardKey {
            gateway: gateway.to_owned(),
            board: board.to_owned(),
        })
    };
    settings.boards.iter().filter_map(key).collect()
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
