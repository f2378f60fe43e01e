//! The arbiter's page: all boards of the hall, what is wrong on them, and the arbiter's answers.
//!
//! [`Hall`] is pure: topics in, views out. It holds nothing that it cannot get again: the broker retains the states,
//! and `history` tells events that were missed. A `Listener` feeds the hall, and the web server shows it.
#![allow(clippy::disallowed_methods)] // connections and pages live on the wall clock.

mod access;
mod assets;
mod board;
mod cases;
mod clock;
mod collect;
mod earlier;
mod games;
mod guesses;
mod hall;
mod key;
mod legal;
mod listener;
pub(crate) mod livechess;
mod owners;
mod people;
mod portions;
mod pushed;
mod server;
mod shared;
mod shares;
mod stream;
mod view;

pub(crate) use access::Access;
pub(crate) use board::Board;
pub(crate) use collect::collect;
pub(crate) use hall::{BroadcastRound, GatewayRound, Hall, own_name};
pub(crate) use key::BoardKey;
pub(crate) use listener::{Ask, Asks, Listener, OWN};
pub(crate) use server::serve;
pub(crate) use shared::Shared;
