//! Jumps of numbers that no event may tell of yet.
//!
//! A notice says of each jump why numbers are missing, and a board tells it before anything else. A process that ends before
//! that leaves it to the next one: the jump is kept with the number at which its board stood then, and is said again
//! where the board still stands there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::entry::{Notice, Resume};
use crate::event::notice;

/// A jump of a board's numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Jump {
    /// The last number of the board after it.
    pub(crate) last_seq: u64,
    /// The notice of it.
    pub(crate) code: String,
    pub(crate) message: String,
}

/// The last jump of each board.
pub(crate) type Jumps = BTreeMap<String, Jump>;

impl Jump {
    pub(crate) fn new(last_seq: u64, notice: &Notice) -> Self {
        Self {
            last_seq,
            code: notice.code.to_owned(),
            message: notice.message.clone(),
        }
    }

    /// The notice that `board` has not told yet; none if it has told something since.
    pub(crate) fn untold(self, board: &str, resumes: &BTreeMap<String, Resume>) -> Option<Notice> {
        let code = notice::ALL.iter().find(|code| **code == self.code)?;
        let stands = resumes.get(board)?.last_seq == self.last_seq;
        stands.then(|| Notice {
            board: Some(board.to_owned()),
            ..Notice::new(code, self.message)
        })
    }
}
