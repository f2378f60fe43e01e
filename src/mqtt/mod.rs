//! The broker: topics, the connection, the two lanes, commands.
//!
//! Events are a durable queue: read from the journal, sent in order, and off the outbox only by the
//! broker's acknowledgement. States are a table of last values, sent again after every connect.
//! The client library stands behind [`BrokerLink`], one object per connection: what was in flight
//! on a connection that died is simply unsent again, and nothing of the library's own memory of it
//! survives.
#![allow(clippy::disallowed_methods)] // connections live on the wall clock.

mod ceilings;
mod claim;
pub mod command;
#[cfg(test)]
mod fake;
mod lasting;
pub mod link;
pub mod look;
mod older;
mod outbox;
pub mod publisher;
mod readback;
pub mod reply;
pub mod rumqtt;
mod session;
mod short;
pub mod states;
mod suspect;
pub mod topic;
mod unfit;
mod window;

pub use claim::host;
pub use command::{Bind, History, LogAsked, NextRound, PairingsAsked, Refusal, Request, Target};
pub use lasting::{Beat, BrokerFigures, MOST_PATIENCE, PublisherSettings};
pub use link::{Arrived, BrokerLink, Dial, LinkEvent, Publication, Qos};
pub use publisher::{Publisher, PublisherHandle, Redial};
pub use reply::{CommandReply, ReplyPayload, ReplyTo};
pub use states::{StateKey, States};
pub use topic::{BoardState, Topics};
