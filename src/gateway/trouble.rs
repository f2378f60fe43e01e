//! The troubles of a board's link, for the log.

use crate::link::OpenError;

/// Why a board cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub(super) enum Trouble {
    /// The port does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another board of the configuration has the port.
    #[error(
        "{port} is the port of board {other} already: two boards cannot share one, correct `port` of one of them"
    )]
    Taken { port: String, other: String },
    /// The port opens, and no board answers.
    #[error(
        "{port} opens, but no board answers there ({reason}): is the board switched on, and is this its port?"
    )]
    Silent { port: String, reason: String },
}

impl Trouble {
    /// Stable code for the log.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Open(error) => error.code(),
            Self::Taken { .. } => "port_taken",
            Self::Silent { .. } => "board_silent",
        }
    }
}
