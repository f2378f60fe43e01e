//! Links to boards: where bytes come from. What they mean is for other rooms.
//!
//! A [`LinkSource`] is a board's port as the configuration names it. [`LinkSource::open`] looks for the port anew each
//! time, so it finds one that came back under another number.
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

/// A live connection to one board. If a read gives 0 bytes or an error, the board is gone: the caller drops the
/// connection and opens the source again. Flushing is not needed and does nothing.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A source that has been opened.
pub struct Opened {
    /// The connection.
    pub io: Box<dyn Io>,
    /// The device, the address or the file that it leads to.
    pub name: String,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
