//! A subscriber like any other, so that its events have gone the whole way.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use rumqttc::v5::{
    AsyncClient, Event as MqttEvent, EventLoop, Incoming, MqttOptions,
    mqttbytes::{QoS, v5::Publish},
};

use crate::event::Event;

/// Topics of the events of all boards of all gateways.
const TOPICS: &str = "dgt2mqtt/+/board/+/event/+";

/// A connection that receives events.
pub(super) struct Subscriber {
    client: AsyncClient,
    events: EventLoop,
    /// The number of the last event. Events come at least once, and earlier numbers are dropped.
    last_seq: u64,
}

impl Subscriber {
    /// Connects and subscribes.
    pub(super) async fn connect(broker: SocketAddr) -> anyhow::Result<Self> {
        let mut options = MqttOptions::new("demo-subscriber", broker.ip().to_string(), broker.port());
        options.set_keep_alive(Duration::from_secs(30));
        // The library's limit is 10 KiB, and an irregularity in two languages comes near it.
        options.set_max_packet_size(Some(256 * 1024));
        let (client, events) = AsyncClient::new(options, 16);
        let mut subscriber = Self {
            client,
            events,
            last_seq: 0,
        };
        subscriber
            .until_subscribed()
            .await
            .context("cannot subscribe to the demo's own broker")?;
        Ok(subscriber)
    }

    async fn until_subscribed(&mut self) -> anyhow::Result<()> {
        loop {
            match self.events.poll().await? {
                MqttEvent::Incoming(Incoming::ConnAck(_)) => {
                    self.client.try_subscribe(TOPICS, QoS::AtLeastOnce)?;
                }
                MqttEvent::Incoming(Incoming::SubAck(_)) => return Ok(()),
                _ => {}
            }
        }
    }

    /// The next event. The caller must not cancel this future but hold it, because the library would lose its place.
    pub(super) async fn next(&mut self) -> anyhow::Result<Event> {
        loop {
            let polled = self
                .events
                .poll()
                .await
                .context("the demo's own broker is gone")?;
            let MqttEvent::Incoming(Incoming::Publish(Publish { payload, .. })) = polled else {
                continue;
            };
            let event: Event = serde_json::from_slice(&payload).context("cannot read an event")?;
            if event.seq > self.last_seq {
                self.last_seq = event.seq;
                return Ok(event);
            }
        }
    }
}
