//! Runs the broadcast of the daemon's own boards. It reads the journal and the newest clocks beside all other work, so its
//! troubles delay nobody.

use std::time::Duration;

use tokio::{sync::watch, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::clocks::NewestClocks;
use crate::{
    broadcast::{self, Pacers, Pushed, broadcast},
    config::{Broadcast, Config},
    journal::Journal,
};

/// How long the end waits for a file that is being written.
const FAREWELL: Duration = Duration::from_secs(1);

/// The task of a broadcast, or of one that may begin later; it ends with this value.
pub(super) struct Caster {
    settings: watch::Sender<Option<Broadcast>>,
    pushed: watch::Receiver<Option<Pushed>>,
    work: JoinSet<()>,
}

impl Caster {
    /// Starts a broadcast as `config` says, until `stop`.
    pub(super) fn start(
        config: &Config,
        journal: &Journal,
        clocks: &NewestClocks,
        stop: CancellationToken,
    ) -> Self {
        let (settings, receiver) = watch::channel(config.broadcast.clone());
        let (sender, pushed) = watch::channel(None);
        let (path, news, clocks) = (config.journal.path.clone(), journal.news(), clocks.listen());
        let gateway = config.gateway.to_string();
        let mut work = JoinSet::new();
        work.spawn(async move {
            let source = |_: &Broadcast, events, stop| {
                broadcast::follow(path.clone(), news.clone(), clocks.clone(), events, stop)
            };
            broadcast(receiver, &gateway, source, sender, Pacers::default(), stop).await;
        });
        Self {
            settings,
            pushed,
            work,
        }
    }

    /// Changes to other settings, if they differ.
    pub(super) fn change(&self, settings: Option<Broadcast>) {
        self.settings.send_if_modified(|present| {
            let changed = *present != settings;
            *present = settings;
            changed
        });
    }

    /// What lichess said last; none where nothing is pushed.
    pub(super) fn pushed(&self) -> Option<Pushed> {
        self.pushed.borrow().clone()
    }

    /// Waits until the files are written, after the task was told to stop.
    pub(super) async fn stop(mut self) {
        let ended = async { while self.work.join_next().await.is_some() {} };
        let _ = timeout(FAREWELL, ended).await;
    }
}
