//! What must survive a restart in mid-game: opaque to the journal, which keeps it as JSON.

use serde::{Deserialize, Serialize};

use super::core::Core;

/// See the module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// The last `seq` given out.
    pub seq: u64,
}

impl Core {
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { seq: self.out.seq }
    }

    pub(super) fn resume(&mut self, snapshot: Snapshot) {
        self.out.seq = snapshot.seq;
    }
}
