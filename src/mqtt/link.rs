//! One connection to a broker, as the lanes see it. The library behind it can be replaced, and tests put a scripted
//! broker in its place.

use std::{future::Future, time::Duration};

use tokio_util::bytes::Bytes;

use crate::config::BrokerUrl;

/// Names a message until it is acknowledged; the caller chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Delivery guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qos {
    /// At most once: no acknowledgement.
    AtMostOnce,
    /// At least once.
    AtLeastOnce,
}

/// A message to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Full topic.
    pub topic: String,
    /// Payload.
    pub payload: Bytes,
    /// Guarantee.
    pub qos: Qos,
    /// Kept by the broker as last value.
    pub retain: bool,
    /// Seconds after which the broker forgets it.
    pub expiry: Option<u32>,
    /// Correlation data of the request it answers.
    pub correlation: Option<Bytes>,
    /// The boot id of the gateway that speaks, where the message is about that.
    pub speaker: Option<String>,
}

impl Publication {
    /// A message that the broker acknowledges and does not forget, with no correlation data.
    pub(super) fn plain(topic: String, payload: impl Into<Bytes>, retain: bool) -> Self {
        Self {
            topic,
            payload: payload.into(),
            qos: Qos::AtLeastOnce,
            retain,
            expiry: None,
            correlation: None,
            speaker: None,
        }
    }

    /// Upper bound of the packet's size in bytes, to compare with the broker's limit.
    #[must_use]
    pub fn packet_bound(&self) -> usize {
        // The property that names the speaker has a name of its own.
        let speaker = self.speaker.as_ref().map_or(0, |boot| 16 + boot.len());
        let correlation = self.correlation.as_ref().map_or(0, Bytes::len);
        64 + self.topic.len() + self.payload.len() + correlation + speaker
    }
}

/// A message that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its topic.
    pub topic: String,
    /// Its payload.
    pub payload: Bytes,
    /// True where the sender published it with the retain flag; for who [`listen`](BrokerLink::listen)s, where the broker
    /// had retained it.
    pub retain: bool,
    /// The topic on which the sender wants the answer.
    pub response_topic: Option<String>,
    /// The correlation data that the answer carries.
    pub correlation: Option<Bytes>,
    /// The boot id of the gateway that speaks, if it tells.
    pub speaker: Option<String>,
}

/// What happens on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// The broker accepted us.
    Connected {
        /// How many messages may be under way: from the oldest without acknowledgement to the newest.
        window: usize,
        /// The largest packet the broker takes, if it says so.
        max_packet: Option<usize>,
        /// The keep-alive that the broker asks for, if it does.
        keep_alive: Option<Duration>,
    },
    /// The broker acknowledged the message.
    Acked(Ticket),
    /// The broker answered, but refused the message.
    Refused(Ticket, String),
    /// A message came in.
    Arrived(Arrived),
    /// The broker granted a subscription.
    Subscribed,
    /// The broker refused a subscription.
    SubscriptionRefused(String),
    /// The broker has ended a subscription.
    Unsubscribed,
    /// The connection is over; nothing follows.
    Closed(Closed),
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Why it ended, for a person.
    pub reason: String,
    /// What ended it.
    pub cause: Cause,
}

impl Closed {
    /// An end of which nothing is known but the reason.
    #[must_use]
    pub fn because(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            cause: Cause::Unknown,
        }
    }
}

/// What ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nobody knows. It may be a message of ours.
    Unknown,
    /// A message came in that is larger than the gateway takes.
    Oversize,
    /// The broker said that it ended the connection of its own accord.
    Broker,
}

/// The link cannot take a message now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// One connection, from the attempt to its end.
pub trait BrokerLink: Send {
    /// The next event of the connection. Dropping the future loses nothing.
    fn next(&mut self) -> impl Future<Output = LinkEvent> + Send;

    /// Hands a message over; only between `Connected` and `Closed`.
    ///
    /// # Errors
    /// [`Busy`] when too many are waiting already: try again after the next event.
    fn publish(&mut self, ticket: Ticket, message: &Publication) -> Result<(), Busy>;

    /// Subscribes without hearing the messages that we send from now on; with `retained` the broker sends what it
    /// retains on these topics.
    ///
    /// # Errors
    /// [`Busy`] as above.
    fn subscribe_to_others(&mut self, filters: &[String], retained: bool) -> Result<(), Busy>;

    /// Subscribes; with `retained` the broker sends what it retains on these topics.
    ///
    /// # Errors
    /// [`Busy`] as above.
    fn subscribe(&mut self, filters: &[String], retained: bool) -> Result<(), Busy>;

    /// Ends a subscription. That needs no right, and the broker's answer comes behind all that it has sent before.
    ///
    /// # Errors
    /// [`Busy`] as above.
    fn unsubscribe(&mut self, filter: &str) -> Result<(), Busy>;

    /// Subscribes; the broker sends what it retains on these topics, and says of each message whether it had retained it.
    ///
    /// # Errors
    /// [`Busy`] as above.
    fn listen(&mut self, filters: &[String]) -> Result<(), Busy>;

    /// Says good-bye after what was handed over; `Closed` follows.
    fn disconnect(&mut self);

    /// Ends the connection without sending what was handed over and has not left yet; `Closed` follows, with this reason. Where nothing
    /// waits, it says good-bye.
    fn abandon(&mut self, reason: &str);
}

/// Makes connections.
pub trait Dial: Send {
    /// The connections that it makes.
    type Link: BrokerLink;

    /// Begins a connection. Nothing is sent before the link's `next` is awaited.
    ///
    /// # Errors
    /// When the settings cannot work (an unreadable certificate), with what to do.
    fn dial(&mut self, url: &BrokerUrl) -> Result<Self::Link, String>;
}
