//! Looks whether a broker accepts us and which gateway holds our name there. A daemon may be running meanwhile: so the
//! look has a client id of its own and publishes nothing.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::bytes::Bytes;

use super::{
    link::{BrokerLink, Dial, LinkEvent},
    rumqtt::{RumqttDial, RumqttLink},
    topic::Topics,
};
use crate::config::{BrokerConfig, BrokerUrl};

/// How long a broker may take to deliver the messages that it retains.
const TELLING: Duration = Duration::from_secs(5);
/// How long the connection may take to close.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long after its answer a broker may still deliver retained messages.
const LATER: Duration = Duration::from_secs(1);

/// The gateway that is online under our name, as its `info` says.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Holder {
    /// The boot id: another one after each start of its daemon.
    pub boot_id: String,
    /// The machine that it runs on.
    pub host: String,
}

/// Tries whether `broker` accepts us at `url`, and finds which gateway holds our name there.
///
/// # Errors
/// Why the broker does not accept us, for a person.
pub async fn holder(
    broker: &BrokerConfig,
    url: &BrokerUrl,
    topics: &Topics,
    patience: Duration,
) -> Result<Option<Holder>, String> {
    let mut link = connect(broker, url, patience).await?;
    let found = look(&mut link, topics).await;
    leave(link).await;
    Ok(found)
}

async fn connect(broker: &BrokerConfig, url: &BrokerUrl, patience: Duration) -> Result<RumqttLink, String> {
    let broker = BrokerConfig {
        client_id: format!("{}-check", broker.client_id),
        ..broker.clone()
    };
    let mut link = RumqttDial::without_will(broker, patience).dial(url)?;
    loop {
        match link.next().await {
            LinkEvent::Connected { .. } => return Ok(link),
            LinkEvent::Closed(closed) => return Err(closed.reason),
            _ => {}
        }
    }
}

/// Reads what the broker retains of our name, if we may read it.
async fn look(link: &mut RumqttLink, topics: &Topics) -> Option<Holder> {
    let (status, info) = (topics.status(), topics.info());
    let told = gather(link, &[status.clone(), info.clone()]).await;
    let is_online = told.get(&status).is_some_and(|payload| payload == "online");
    let holder = told
        .get(&info)
        .map(|payload| serde_json::from_slice(payload).ok());
    is_online.then(|| holder.flatten().unwrap_or_default())
}

/// Reads what the broker at `url` retains at `topics`, as far as it lets us.
///
/// # Errors
/// Why the broker does not accept us, for a person.
pub async fn retained(
    broker: &BrokerConfig,
    url: &BrokerUrl,
    topics: &[String],
    patience: Duration,
) -> Result<BTreeMap<String, Bytes>, String> {
    let mut link = connect(broker, url, patience).await?;
    let told = gather(&mut link, topics).await;
    leave(link).await;
    Ok(told)
}

/// Reads what the broker retains. A broker answers in order, so retained messages come before the answer to what is
/// asked next. Some brokers deliver them a little later.
async fn gather(link: &mut RumqttLink, topics: &[String]) -> BTreeMap<String, Bytes> {
    let mut told = BTreeMap::new();
    let last = topics.len().saturating_sub(1)..;
    if link.subscribe(topics, true).is_err() || link.subscribe(&topics[last], false).is_err() {
        return told;
    }
    let mut answers = 0;
    let mut until = Instant::now() + TELLING;
    while told.len() < topics.len() {
        match timeout_at(until, link.next()).await {
            Ok(LinkEvent::Arrived(arrived)) if topics.contains(&arrived.topic) => {
                told.insert(arrived.topic, arrived.payload);
            }
            Ok(LinkEvent::Subscribed | LinkEvent::SubscriptionRefused(_)) => {
                answers += 1;
                if answers == 2 {
                    until = Instant::now() + LATER;
                }
            }
            Err(_) | Ok(LinkEvent::Closed(_)) => break,
            Ok(_) => {}
        }
    }
    told
}

/// Waits until the broker has closed the connection, so that the broker does not log a broken one.
async fn leave(mut link: RumqttLink) {
    link.disconnect();
    let farewell = async { while !matches!(link.next().await, LinkEvent::Closed(_)) {} };
    // It does not matter whether the connection closes in time: the broker has accepted us.
    let _ = timeout(FAREWELL, farewell).await;
}
