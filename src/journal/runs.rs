//! The runs of the daemon that may have sent events of this journal.
//!
//! A broker retains which run had our name last. A journal that does not know that run is an older copy, or an image of a card whose
//! other copy went on, or another machine had the name: nobody here knows all numbers that were given out.

use serde::{Deserialize, Serialize};

/// How many are kept, the newest of them: so many may have ended before the broker learned of them.
const MOST: usize = 64;

/// The run that had our name last, as a broker tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// Its boot id.
    pub boot: String,
    /// What tells its journal from any other; none where its program is too old to tell.
    pub journal: Option<String>,
}

/// The boot ids of runs, the oldest first. There are none where nobody knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct KnownRuns(Vec<String>);

impl KnownRuns {
    /// Notes that a run is about to send.
    pub(crate) fn note(&mut self, boot: &str) {
        self.0.retain(|known| known != boot);
        self.0.push(boot.to_owned());
        let too_many = self.0.len().saturating_sub(MOST);
        self.0.drain(..too_many);
    }

    /// True where nobody knows which runs there were.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// False for a run that may have given out numbers of which nobody here knows.
    pub(crate) fn may_know(&self, boot: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|known| known == boot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_runs_are_known_and_nothing_is_said_where_there_are_none() {
        let mut runs = KnownRuns::default();
        assert!(runs.may_know("any"));
        for run in 0..=MOST {
            runs.note(&run.to_string());
        }
        runs.note("1");
        assert!(runs.may_know("1") && runs.may_know("2") && !runs.may_know("0") && !runs.may_know("any"));
    }
}
