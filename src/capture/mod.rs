//! Capture files, `.dgtcap`: what went over the wire between a host and a board, with its times,
//! as text that can be read, cut and written by hand.
//!
//! ```text
//! # dgtcap 1
//! # board: 7
//! 0.000 > 42
//! 31.460 < 8e 00 05 24 01
//! 40.000 ! down
//! ```

mod flaw;
mod header;
mod parse;
pub mod replay;
mod rules;
mod stood;
pub mod stream;
mod value;
mod write;

pub use flaw::{Flaw, ParseError};
pub use header::{Header, is_board_id};
pub use rules::{RulesChange, spelt};
pub use stood::StoodStill;
pub use write::{write_header, write_record};

use crate::time::Millis;

/// A capture file as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The header of the file.
    pub header: Header,
    /// The records, in order of time.
    pub records: Vec<Record>,
}

/// A record of the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Milliseconds since the start of the capture.
    pub at: Millis,
    /// What happened.
    pub act: Act,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// `<`: bytes from the board, in any split.
    FromBoard(Vec<u8>),
    /// `>`: bytes from the host.
    ToBoard(Vec<u8>),
    /// `! up`: the link came.
    LinkUp,
    /// `! down`: the link went.
    LinkDown,
}

impl Capture {
    /// Time of the last record; 0 when there is none.
    #[must_use]
    pub fn end(&self) -> Millis {
        self.records.last().map_or(Millis(0), |r| r.at)
    }
}
