//! Why the gateway cannot start, or does not go on.

use crate::{config::Id, journal::JournalError, link::SourceSyntaxError};

/// Why the daemon cannot run, or ended before it was told to.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum GatewayError {
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A text that names no port.
    #[error("board {board}: {source}")]
    Source { board: Id, source: SourceSyntaxError },
    /// Two boards have one port.
    #[error("boards {first} and {second} have the same port {port}: each board needs its own")]
    SharedPort { first: Id, second: Id, port: String },
    /// The task of a line ended, which is a defect.
    #[error("a line of boards failed: {0}")]
    Line(String),
    /// The publisher's task ended, which is a defect.
    #[error("the publisher failed: {0}")]
    Publisher(String),
}
