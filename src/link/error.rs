//! Why a source cannot be opened, in words from which a person can put it right.

use std::{io, path::PathBuf};

use super::{denied::Denied, file::CaptureFileError};

/// Why a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such device now. That is no error of the configuration, because a cable may be out.
    #[error("no port {0}: is the board plugged in? `dgt2mqtt ports` lists what is there")]
    NotFound(String),
    /// The operating system refuses.
    #[error(transparent)]
    Denied(#[from] Box<Denied>),
    /// Another program has the port.
    #[error("{} is in use by another program; close that one (`fuser -v {}` names it)", .0.display(), .0.display())]
    Busy(PathBuf),
    /// Two devices carry the same USB serial number, as cheap converters do.
    #[error("the USB serial number {number} belongs to {}: configure one by its path", .ports.join(" and "))]
    Ambiguous {
        /// The USB serial number.
        number: String,
        /// The ports that carry it.
        ports: Vec<String>,
    },
    /// No port that may be asked leads to this board.
    #[error("no board says that its serial number is {serial}; asked: {}", if .asked.is_empty() { "no port at all".to_owned() } else { .asked.join(", ") })]
    NoSuchBoard {
        /// The number looked for.
        serial: String,
        /// The ports that were asked, and the answer of each.
        asked: Vec<String>,
    },
    /// Two boards tell the same serial number.
    #[error(
        "the serial number {serial} is said by the boards at {}, and neither is taken, so that their games are not mixed: configure each by its port (`dgt2mqtt ports` names them)",
        .ports.join(" and ")
    )]
    BoardDoubled {
        /// The number looked for.
        serial: String,
        /// The ports whose boards tell it.
        ports: Vec<String>,
    },
    /// The port cannot be used.
    #[error("cannot open {}: {reason}", path.display())]
    Port {
        /// The port.
        path: PathBuf,
        /// The reason that the system gives.
        reason: String,
    },
    /// The network address cannot be reached.
    #[error("cannot reach tcp://{address}: {source}")]
    Unreachable {
        /// `host:port`.
        address: String,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// The line opens, and this board does not answer there.
    #[error(
        "{0}: the board does not answer on its line: is it switched on, and is this its serial number? `dgt2mqtt ports --line PORT` asks who is there"
    )]
    NotOnLine(String),
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureFileError),
    /// The capture was played to its end.
    #[error("the capture {} is over", .0.display())]
    CaptureOver(PathBuf),
}

impl OpenError {
    /// Stable code for logs and notices.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "port_not_found",
            Self::Denied(_) => "port_denied",
            Self::Busy(_) => "port_busy",
            Self::Ambiguous { .. } => "port_ambiguous",
            Self::NoSuchBoard { .. } => "board_not_found",
            Self::BoardDoubled { .. } => "board_doubled",
            Self::Port { .. } => "port_unusable",
            Self::Unreachable { .. } => "tcp_unreachable",
            Self::NotOnLine(_) => "board_not_on_line",
            Self::Capture(_) => "capture_unreadable",
            Self::CaptureOver(_) => "capture_over",
        }
    }
}
