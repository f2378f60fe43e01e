//! [`BrokerLink`] by rumqttc (MQTT 5).
//!
//! The library keeps unacknowledged and unsent messages over reconnects, drops them silently in some cases and resends
//! them in others. So every connection gets a client of its own, which ends with it, and only the journal knows what is
//! still to be sent. The link pins the poll future and keeps it until it completes, because dropping it can lose a
//! packet.

use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    pin::Pin,
    time::Duration,
};

use rumqttc::{
    Outgoing, TlsConfiguration, Transport,
    v5::{
        AsyncClient, ConnectionError, Event, EventLoop, MqttOptions, StateError,
        mqttbytes::{
            Error as PacketError, QoS,
            v5::{
                ConnAck, ConnectProperties, Filter, LastWill, LastWillProperties, Packet, PubAck,
                PubAckReason, Publish, PublishProperties, RetainForwardRule, SubscribeReasonCode,
            },
        },
    },
};

use super::{
    link::{Arrived, BrokerLink, Busy, Cause, Closed, Dial, LinkEvent, Publication, Qos, Ticket},
    names,
    older::{Answerer, OlderQuestion},
    unfit,
};
use crate::{
    config::{BrokerConfig, BrokerUrl},
    tls,
};

/// Room for packet ids, for each of which the library reserves memory. It is twice the window, so that ids cannot wrap
/// onto one that is still unacknowledged.
const INFLIGHT_LIMIT: u16 = 32;
/// The window: how many messages lie between the oldest unacknowledged one and the newest.
const WINDOW: usize = 16;
/// How many requests may wait for the library.
const REQUESTS: usize = 64;
/// The largest packet that the gateway takes, in bytes. It is well above the largest command, so that the gateway can
/// still answer one that is a little too large.
pub const MAX_INCOMING_PACKET: u32 = 256 << 10;

/// The user property of `status` that names the boot id of the gateway that it is about.
const SPEAKER: &str = "boot_id";

/// What the library says, and the reason of an error that it does not name.
type Polled = (EventLoop, Result<Event, ConnectionError>, Option<String>);

/// What is asked where a connection ends before the broker has accepted us.
#[derive(Clone, Debug)]
struct Questions {
    host: String,
    /// None over TLS.
    older: Option<OlderQuestion>,
}

impl Questions {
    /// Why there is no connection, if an answer says so.
    async fn reason(&self, error: &ConnectionError) -> Option<String> {
        if unfit::may_be_nameless(error) {
            return names::missing(&self.host).await;
        }
        let older = self.older.as_ref().filter(|_| unfit::may_be_older(error))?;
        Some(match older.answerer().await? {
            Answerer::OlderBroker => unfit::older(),
            Answerer::WebServer => unfit::web_server(older.port),
        })
    }
}

/// Makes connections with rumqttc.
#[derive(Clone, Debug)]
pub struct RumqttDial {
    broker: BrokerConfig,
    will_topic: Option<String>,
    /// Whose the will is.
    speaker: Option<String>,
    connect_timeout: Duration,
}

impl RumqttDial {
    /// Connections to `broker` with the will `offline` on `will_topic`; an attempt may take `connect_timeout`,
    /// TCP, TLS and MQTT together.
    #[must_use]
    pub fn new(broker: BrokerConfig, will_topic: String, connect_timeout: Duration) -> Self {
        Self {
            broker,
            will_topic: Some(will_topic),
            speaker: None,
            connect_timeout,
        }
    }

    /// Has the will name the boot id of the gateway that it is about.
    #[must_use]
    pub fn speaking_as(self, boot_id: &str) -> Self {
        let speaker = Some(boot_id.to_owned());
        Self { speaker, ..self }
    }

    /// Connections without a will, for a command that only listens and asks.
    #[must_use]
    pub fn without_will(broker: BrokerConfig, connect_timeout: Duration) -> Self {
        Self {
            broker,
            will_topic: None,
            speaker: None,
            connect_timeout,
        }
    }

    fn options(&self, url: &BrokerUrl) -> Result<MqttOptions, String> {
        let broker = &self.broker;
        let seconds = self.connect_timeout.as_secs().max(1);
        let mut options = MqttOptions::new(&broker.client_id, &url.host, url.port);
        options
            // The library panics below five seconds.
            .set_keep_alive(broker.keep_alive.max(Duration::from_secs(5)))
            .set_clean_start(true)
            .set_connection_timeout(seconds)
            .set_outgoing_inflight_upper_limit(INFLIGHT_LIMIT);
        if let Some(topic) = &self.will_topic {
            let properties = self.speaker.as_deref().map(of_speaker);
            options.set_last_will(LastWill::new(
                topic,
                "offline",
                QoS::AtLeastOnce,
                true,
                properties,
            ));
        }
        let mut properties = ConnectProperties::new();
        properties.session_expiry_interval = Some(0);
        properties.max_packet_size = Some(MAX_INCOMING_PACKET);
        options.set_connect_properties(properties);
        let mut network = options.network_options();
        network.set_tcp_nodelay(true);
        network.set_connection_timeout(seconds);
        options.set_network_options(network);
        if let Some(login) = &broker.login {
            let password = login.password.as_ref().map_or("", |secret| secret.reveal());
            options.set_credentials(&login.username, password);
        }
        if let Some(tls) = &broker.tls {
            let config = tls::client_config(tls).map_err(|error| error.to_string())?;
            options.set_transport(Transport::Tls(TlsConfiguration::Rustls(config)));
        }
        Ok(options)
    }
}

impl Dial for RumqttDial {
    type Link = RumqttLink;

    fn dial(&mut self, url: &BrokerUrl) -> Result<RumqttLink, String> {
        let (client, events) = AsyncClient::new(self.options(url)?, REQUESTS);
        let older = self.broker.tls.is_none().then(|| OlderQuestion {
            host: url.host.clone(),
            port: url.port,
            client_id: format!("{}-ask", self.broker.client_id),
        });
        let questions = Some(Questions {
            host: url.host.clone(),
            older,
        });
        Ok(RumqttLink {
            client,
            poll: Some(Box::pin(poll(events, questions.clone()))),
            questions,
            connected: false,
            max_packet: None,
            handed: VecDeque::new(),
            inflight: HashMap::new(),
            closed: None,
        })
    }
}

async fn poll(mut events: EventLoop, questions: Option<Questions>) -> Polled {
    let event = events.poll().await;
    let reason = match (&event, &questions) {
        (Err(error), Some(questions)) => questions.reason(error).await,
        _ => None,
    };
    (events, event, reason)
}

/// One connection by rumqttc.
pub struct RumqttLink {
    client: AsyncClient,
    poll: Option<Pin<Box<dyn Future<Output = Polled> + Send>>>,
    /// None once the broker has accepted us.
    questions: Option<Questions>,
    connected: bool,
    /// The largest packet that the broker takes, if it says so.
    max_packet: Option<usize>,
    /// Messages that the library has, in its own order, and whose packet id is not known yet.
    handed: VecDeque<(Qos, Ticket)>,
    inflight: HashMap<u16, Ticket>,
    closed: Option<Closed>,
}

impl BrokerLink for RumqttLink {
    async fn next(&mut self) -> LinkEvent {
        loop {
            let Some(pending) = &mut self.poll else {
                let closed = self.closed.clone();
                return LinkEvent::Closed(
                    closed.unwrap_or_else(|| Closed::because("the connection is over")),
                );
            };
            let (events, polled, reason) = pending.await;
            self.poll = None;
            match polled {
                Ok(event) => {
                    let event = self.translate(event);
                    // The translation of an event may have closed the link.
                    if self.closed.is_none() {
                        self.poll = Some(Box::pin(poll(events, self.questions.clone())));
                    }
                    if let Some(event) = event {
                        return event;
                    }
                }
                Err(error) => {
                    self.closed = Some(Closed {
                        reason: reason.unwrap_or_else(|| unfit::explain(&error, self.connected)),
                        cause: cause(&error),
                    });
                }
            }
        }
    }

    fn publish(&mut self, ticket: Ticket, message: &Publication) -> Result<(), Busy> {
        let properties = PublishProperties {
            message_expiry_interval: message.expiry,
            correlation_data: message.correlation.clone(),
            user_properties: message.speaker.iter().map(|boot| named(boot)).collect(),
            ..PublishProperties::default()
        };
        let qos = match message.qos {
            Qos::AtMostOnce => QoS::AtMostOnce,
            Qos::AtLeastOnce => QoS::AtLeastOnce,
        };
        let (topic, payload) = (message.topic.clone(), message.payload.clone());
        self.client
            .try_publish_with_properties(topic, qos, message.retain, payload, properties)
            .map_err(|_| Busy)?;
        self.handed.push_back((message.qos, ticket));
        Ok(())
    }

    fn subscribe_to_others(&mut self, filters: &[String], retained: bool) -> Result<(), Busy> {
        self.subscribe_to(filters, retained, true, true)
    }

    fn subscribe(&mut self, filters: &[String], retained: bool) -> Result<(), Busy> {
        self.subscribe_to(filters, retained, false, true)
    }

    fn unsubscribe(&mut self, filter: &str) -> Result<(), Busy> {
        self.client.try_unsubscribe(filter).map_err(|_| Busy)
    }

    fn listen(&mut self, filters: &[String]) -> Result<(), Busy> {
        self.subscribe_to(filters, true, false, false)
    }

    fn disconnect(&mut self) {
        // If the library's queue is full, the caller's bound ends the connection instead.
        let _ = self.client.try_disconnect();
    }

    fn abandon(&mut self, reason: &str) {
        if self.handed.is_empty() {
            return self.disconnect();
        }
        // The library would send what waits in its queue before the good-bye.
        self.poll = None;
        self.closed = Some(Closed::because(reason));
    }
}

impl RumqttLink {
    /// With `preserve_retain` the gateway can tell apart a command that somebody left on the broker.
    fn subscribe_to(
        &mut self,
        filters: &[String],
        retained: bool,
        nolocal: bool,
        preserve_retain: bool,
    ) -> Result<(), Busy> {
        let filter = |path: &String| Filter {
            nolocal,
            preserve_retain,
            retain_forward_rule: if retained {
                RetainForwardRule::OnEverySubscribe
            } else {
                RetainForwardRule::Never
            },
            ..Filter::new(path, QoS::AtLeastOnce)
        };
        let mut packets = in_packets(filters, self.max_packet).into_iter();
        packets.try_for_each(|filters| {
            let filters = filters.iter().map(filter);
            self.client.try_subscribe_many(filters).map_err(|_| Busy)
        })
    }

    fn translate(&mut self, event: Event) -> Option<LinkEvent> {
        match event {
            Event::Incoming(Packet::ConnAck(connack)) => {
                self.connected = true;
                self.questions = None;
                if let Some(reason) = unfit::lacks(&connack) {
                    let closed = Closed::because(reason);
                    self.closed = Some(closed.clone());
                    return Some(LinkEvent::Closed(closed));
                }
                let event = connected(&connack);
                if let LinkEvent::Connected { max_packet, .. } = &event {
                    self.max_packet = *max_packet;
                }
                Some(event)
            }
            _ if !self.connected => None,
            Event::Outgoing(Outgoing::Publish(id)) => {
                let (_, ticket) = self.handed.pop_front()?;
                if id != 0 {
                    self.inflight.insert(id, ticket);
                }
                None
            }
            Event::Incoming(Packet::PubAck(ack)) => {
                let ticket = self.inflight.remove(&ack.pkid)?;
                Some(verdict(ticket, &ack))
            }
            Event::Incoming(Packet::Publish(publish)) => Some(LinkEvent::Arrived(arrived(publish))),
            Event::Incoming(Packet::UnsubAck(_)) => Some(LinkEvent::Unsubscribed),
            Event::Incoming(Packet::SubAck(ack)) => {
                let refused = |code: &&SubscribeReasonCode| !matches!(code, SubscribeReasonCode::Success(_));
                let refusal = ack.return_codes.iter().find(refused);
                Some(refusal.map_or(LinkEvent::Subscribed, |refusal| {
                    LinkEvent::SubscriptionRefused(format!("{refusal:?}"))
                }))
            }
            _ => None,
        }
    }
}

/// The filters of a subscription in as few packets as the broker's limit allows. A filter that is above the limit by itself has a packet
/// of its own.
fn in_packets(filters: &[String], max_packet: Option<usize>) -> Vec<&[String]> {
    /// The packet's own fields, and those of each filter, at the most.
    const PACKET: usize = 16;
    const FILTER: usize = 3;
    let most = max_packet.unwrap_or(usize::MAX);
    let (mut packets, mut begin, mut size) = (Vec::new(), 0, PACKET);
    for (n, filter) in filters.iter().enumerate() {
        if n > begin && size + FILTER + filter.len() > most {
            packets.push(&filters[begin..n]);
            (begin, size) = (n, PACKET);
        }
        size += FILTER + filter.len();
    }
    packets.push(&filters[begin..]);
    packets
}

fn connected(connack: &ConnAck) -> LinkEvent {
    let properties = connack.properties.as_ref();
    // The library reuses packet ids from 1 to the broker's limit. The link keeps one of them free for subscribing.
    let receive_max = properties
        .and_then(|p| p.receive_max)
        .map_or(INFLIGHT_LIMIT, |max| max);
    LinkEvent::Connected {
        window: WINDOW.min(usize::from(receive_max.saturating_sub(1))).max(1),
        max_packet: properties
            .and_then(|p| p.max_packet_size)
            .map(|max| usize::try_from(max).unwrap_or(usize::MAX)),
        keep_alive: properties
            .and_then(|p| p.server_keep_alive)
            .map(|seconds| Duration::from_secs(u64::from(seconds))),
    }
}

fn named(boot: &str) -> (String, String) {
    (SPEAKER.to_owned(), boot.to_owned())
}

/// The properties of a will that names whose it is.
fn of_speaker(boot: &str) -> LastWillProperties {
    LastWillProperties {
        delay_interval: None,
        payload_format_indicator: None,
        message_expiry_interval: None,
        content_type: None,
        response_topic: None,
        correlation_data: None,
        user_properties: vec![named(boot)],
    }
}

fn verdict(ticket: Ticket, ack: &PubAck) -> LinkEvent {
    match ack.reason {
        PubAckReason::Success | PubAckReason::NoMatchingSubscribers => LinkEvent::Acked(ticket),
        reason => LinkEvent::Refused(ticket, format!("{reason:?}")),
    }
}

fn arrived(publish: Publish) -> Arrived {
    let properties = publish.properties.unwrap_or_default();
    Arrived {
        topic: String::from_utf8_lossy(&publish.topic).into_owned(),
        payload: publish.payload,
        retain: publish.retain,
        response_topic: properties.response_topic,
        correlation: properties.correlation_data,
        speaker: properties
            .user_properties
            .into_iter()
            .find_map(|(name, boot)| (name == SPEAKER).then_some(boot)),
    }
}

fn cause(error: &ConnectionError) -> Cause {
    let ConnectionError::MqttState(error) = error else {
        return Cause::Unknown;
    };
    match error {
        StateError::Deserialization(PacketError::PayloadSizeLimitExceeded { .. })
        | StateError::IncomingPacketTooLarge { .. } => Cause::Oversize,
        StateError::ServerDisconnect { reason_code, .. } if unfit::is_of_its_own_accord(*reason_code) => {
            Cause::Broker
        }
        _ => Cause::Unknown,
    }
}

#[cfg(test)]
mod tests;
