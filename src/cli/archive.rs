//! `dgt2mqtt archive`: keeps the events of all gateways in a database.

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use clap::Args;
use sd_notify::NotifyState;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{collecting, exit, logging};
use crate::{
    archive::{SharedIntake, Subscription, keep},
    config::{ArchiveConfig, BrokerUrl, Config, Env},
    mqtt::rumqtt::RumqttDial,
    notify::notify,
};

/// How long an attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Keep the events of all gateways of a broker, or of several, in a PostgreSQL database.
#[derive(Debug, Args)]
pub(super) struct Archive {
    /// The broker, mqtt://HOST[:PORT] or mqtts://; else that of the configuration, else localhost. May
    /// be given several times: login and certificates are the same for all
    #[arg(long, value_name = "URL")]
    broker: Vec<BrokerUrl>,
    /// Configuration with [archive], and for login and certificates; that of a gateway will do
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Archive {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let env = Env::from_process();
        let path = Config::find(self.config.as_deref(), &env)?;
        let mut archive = Config::load_archive(&path, &env)?;
        collecting::name_brokers(&mut archive.brokers, &self.broker, "archive")?;
        logging::init();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        runtime.block_on(serve(archive))
    }
}

async fn serve(archive: ArchiveConfig) -> anyhow::Result<()> {
    // One connection to the database, and one that takes its place.
    collecting::expect_files(archive.brokers.len(), 2);
    let shared = SharedIntake::default();
    // Whatever the subscriptions heard before the end is written down.
    let (listening, writing) = (CancellationToken::new(), CancellationToken::new());
    let mut subscriptions = JoinSet::new();
    for (place, broker) in archive.brokers.into_iter().enumerate() {
        let urls = broker.urls.clone();
        let dial = RumqttDial::without_will(broker, CONNECT_TIMEOUT);
        let subscription = Subscription::new(dial, urls, archive.base_topic.clone(), shared.clone(), place);
        subscriptions.spawn(subscription.run(listening.clone()));
    }
    let mut writer = tokio::spawn(keep(
        archive.database,
        archive.tournament,
        shared,
        writing.clone(),
    ));
    notify(&NotifyState::Ready);
    tokio::select! {
        stopped = exit::stopped() => stopped.context("cannot wait for signals")?,
        () = collecting::feed_watchdog() => {}
        ended = &mut writer => ended?,
        Some(ended) = subscriptions.join_next() => ended?,
    }
    notify(&NotifyState::Stopping);
    listening.cancel();
    while subscriptions.join_next().await.is_some() {}
    writing.cancel();
    if !writer.is_finished() {
        writer.await?;
    }
    Ok(())
}
