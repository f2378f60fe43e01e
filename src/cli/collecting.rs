//! What the commands have in common that listen to several gateways: `dashboard` and `archive`.

use anyhow::{Context, bail};
use sd_notify::NotifyState;

use crate::{
    config::{BrokerConfig, BrokerUrl},
    descriptors,
    notify::notify,
};

/// What such a program needs beside the connections to brokers and browsers: some files are open for a moment only.
const ALONE: usize = 30;

/// Tells how many files and sockets the program needs, for the message that they run out.
pub(super) fn expect_files(brokers: usize, beside: usize) {
    descriptors::expect(ALONE + brokers + beside);
}

/// Puts the brokers at `urls`, if there are any, in place of the configured ones, with their login and certificates.
/// Gives each a client id of its own with `role`: two commands of one client id would end each other's sessions.
///
/// # Errors
/// When the configuration has no certificates for a broker over TLS.
pub(super) fn name_brokers(
    brokers: &mut Vec<BrokerConfig>,
    urls: &[BrokerUrl],
    role: &str,
) -> anyhow::Result<()> {
    if !urls.is_empty() {
        let common = brokers.first().context("no broker is configured")?;
        *brokers = urls
            .iter()
            .map(|url| at(url, common))
            .collect::<anyhow::Result<_>>()?;
    }
    for broker in brokers {
        broker.client_id = format!("dgt2mqtt-{role}-{:08x}", fastrand::u32(..));
    }
    Ok(())
}

/// The settings for the broker at `url`, with the login and certificates of `common`.
fn at(url: &BrokerUrl, common: &BrokerConfig) -> anyhow::Result<BrokerConfig> {
    if url.tls && common.tls.is_none() {
        bail!(
            "for mqtts:// the configuration must say which authorities to trust: name one with --config whose `urls` begin with mqtts://"
        );
    }
    Ok(BrokerConfig {
        urls: vec![url.clone()],
        tls: common.tls.clone().filter(|_| url.tls),
        ..common.clone()
    })
}

/// Feeds the watchdog of the service manager, if there is one. While this task runs, the program works.
pub(super) async fn feed_watchdog() {
    let Some(period) = sd_notify::watchdog_enabled() else {
        return std::future::pending().await;
    };
    let mut tick = tokio::time::interval(period / 3);
    loop {
        tick.tick().await;
        notify(&NotifyState::Watchdog);
    }
}
