//! The archive: the events of all gateways of one or several brokers, kept in PostgreSQL.
//!
//! A [`Subscription`] at each broker hands what it hears to the [`SharedIntake`]. The intake queues events that the
//! database does not have, and knows which numbers of each board are missing. The subscriptions ask the gateways for
//! those by `history`. [`keep`] writes the queue into the database.
//!
//! The archive acknowledges a message when it comes in, and not when its row is committed. A broker's queue is bounded,
//! and it forgets the queue of a session that ends. The journal of the gateway is the queue that lasts, and each event
//! says by its number what came before it. So whatever the archive did not commit is a gap, and it fills gaps after its
//! own death, after the database's and after the broker's in one way.
#![allow(clippy::disallowed_methods)] // brokers and databases live on the wall clock.

mod database;
mod holding;
mod intake;
mod migrations;
mod named;
mod row;
mod shared;
mod stretches;
mod subscription;
mod tls;
mod trouble;
mod writer;

pub(crate) use shared::SharedIntake;
pub(crate) use subscription::Subscription;
pub(crate) use writer::keep;
