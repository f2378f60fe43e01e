//! The broker: topics, the connection, the two lanes, commands.
//!
//! Events are a durable queue: the publisher reads them from the journal and sends them in order, and only the broker's
//! acknowledgement takes one off the outbox. States are a table of last values, which the publisher sends again after
//! every connect. The client library stands behind [`BrokerLink`], one object for each connection. The publisher sends
//! again what was under way on a connection that ended, and uses nothing of what the library remembers of it.
#![allow(clippy::disallowed_methods)] // connections live on the wall clock.

mod alarms;
mod ceilings;
mod claim;
pub mod command;
#[cfg(test)]
mod fake;
mod known;
mod lasting;
pub mod link;
pub mod look;
mod names;
mod older;
mod outbox;
mod paced;
pub mod publisher;
mod readback;
pub mod reply;
mod rival;
pub mod rumqtt;
mod session;
mod short;
pub mod states;
mod suspect;
pub mod topic;
mod unfit;
mod whereabouts;
mod window;
mod word;

pub use claim::{host, journal_at};
pub use command::{
    Bind, History, LogAsked, NextRound, PairingsAsked, Refusal, Renumber, Request, ResultsAsked, Target,
};
pub use lasting::{Beat, BrokerFigures, MOST_PATIENCE, PublisherSettings};
pub use link::{Arrived, BrokerLink, Dial, LinkEvent, Publication, Qos};
pub use publisher::{Publisher, PublisherHandle, Redial};
pub use reply::{CommandReply, ReplyPayload, ReplyTo};
pub use states::{StateKey, States};
pub use topic::{BoardState, Topics};
pub use whereabouts::{Claim, Sign, Whereabouts};

/// Tells how many lines of the log were left out in minutes that are over.
pub(crate) fn tell_left_out(now: std::time::Instant) {
    reply::tell_left_out(now);
    known::tell_left_out(now);
    session::tell_left_out(now);
}
