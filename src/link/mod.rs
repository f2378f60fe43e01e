//! Links to boards: where bytes come from, not what they mean.
//!
//! A [`LinkSource`] is what the configuration says of a board's port. [`LinkSource::open`] finds it anew
//! each time, so a port that came back under another number is found again.
#![allow(clippy::disallowed_methods)] // links live on the wall clock.

mod allowance;
pub mod ask;
mod backoff;
mod denied;
pub mod enumerate;
mod error;
pub mod file;
pub mod line;
mod playback;
mod probe;
mod reports;
mod serial;
mod source;

use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use allowance::Allowance;
pub use ask::{ask, hear_position};
pub use backoff::Backoff;
pub use denied::{Denied, Node, Owner};
pub use error::OpenError;
pub use playback::Playback;
pub(crate) use probe::same_number;
pub use source::{LineMember, LinkSource, PortMatch, SourceSyntaxError};

/// A live connection to one board. Reading 0 bytes or an error means that it is gone: drop it, then
/// open the source again. There is no need to flush it, and flushing does nothing.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A source that has been opened.
pub struct Opened {
    /// The connection.
    pub io: Box<dyn Io>,
    /// Where it leads: the device, the address or the file.
    pub name: String,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
