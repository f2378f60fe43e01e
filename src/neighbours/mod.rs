//! Gateways that announce themselves in the local network, by multicast DNS (RFC 6762) and DNS-SD (RFC 6763): what one
//! tells of itself, how it tells it, and how somebody finds them all.
//!
//! The library works on a thread of its own. What others announce is taken for hostile: see [`Announcement::read`].
#![allow(clippy::disallowed_methods)] // announcing runs on the wall clock.

mod announcement;
mod find;
mod voice;

pub(crate) use announcement::Announcement;
pub(crate) use find::{Neighbours, find};
pub(crate) use voice::Voice;

/// The type of the service.
const SERVICE: &str = "_dgt2mqtt._tcp.local.";
