//! The runs of the daemon that may have sent events of this journal.
//!
//! A broker retains which run had our name last. A journal that does not know that run is an older copy, or an image of a card whose
//! other copy went on, or another machine had the name: nobody here knows all numbers that were given out.

use serde::{Deserialize, Serialize};

/// How many names are kept, the newest of them. A run has two and one more for each further time that it took the name: so many may have
/// ended before the broker learned of them.
const MOST: usize = 128;

/// Stands among them for those of which nobody noted anything: an older program wrote the journal, or the list cannot be read.
const UNNOTED: &str = "";

/// The run that had our name last, as a broker tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// Its boot id.
    pub boot: String,
    /// What tells its journal from any other; none where its program is too old to tell.
    pub journal: Option<String>,
    /// What tells the time since it took the name from any other; none where its program is too old to tell.
    pub era: Option<String>,
}

/// The boot ids of runs, and what tells the times in which they had the name, the oldest first. There are none where any run may be known: the journal is new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct KnownRuns(Vec<String>);

impl KnownRuns {
    /// Notes that a run is about to send, or when.
    pub(crate) fn note(&mut self, name: &str) {
        self.0.retain(|known| known != name);
        self.0.push(name.to_owned());
        let too_many = self.0.len().saturating_sub(MOST);
        self.0.drain(..too_many);
    }

    /// Those of a journal that does not tell them.
    pub(crate) fn unnoted() -> Self {
        Self(vec![UNNOTED.to_owned()])
    }

    /// These; where any may be known, those of which nobody noted anything.
    pub(crate) fn or_unnoted(self) -> Self {
        if self.is_empty() { Self::unnoted() } else { self }
    }

    /// True where any run may be known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// False for a run that may have given out numbers of which nobody here knows.
    pub(crate) fn may_know(&self, run: &LastRun) -> bool {
        let has = |name: &str| self.0.iter().any(|known| known == name);
        // A copy may have been made in the run, before it lost the name and took it again.
        let is_of_time = run.era.as_ref().is_none_or(|era| has(era));
        // A run that tells its journal would be in the list.
        let is_of_before = run.journal.is_none() && has(UNNOTED);
        self.0.is_empty() || is_of_before || (run.boot != UNNOTED && has(&run.boot) && is_of_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_runs_are_known_and_nothing_is_said_where_there_are_none() {
        let may_know = |runs: &KnownRuns, boot: &str| {
            runs.may_know(&LastRun {
                boot: boot.to_owned(),
                journal: Some("ours".to_owned()),
                era: None,
            })
        };
        let mut runs = KnownRuns::default();
        assert!(may_know(&runs, "any"));
        for run in 0..=MOST {
            runs.note(&run.to_string());
        }
        runs.note("1");
        let known = ["1", "2", "0", "any"].map(|boot| may_know(&runs, boot));
        assert_eq!(known, [true, true, false, false]);
    }

    /// The card was imaged before the program was updated, and the run is one of the other copy, or the program was updated in place.
    #[test]
    fn where_an_older_program_noted_none_a_run_is_known_that_does_not_tell_its_journal() {
        let mut runs = KnownRuns::unnoted();
        runs.note("ours");
        let may_know = |boot: &str, journal: Option<&str>| {
            runs.may_know(&LastRun {
                boot: boot.to_owned(),
                journal: journal.map(str::to_owned),
                era: None,
            })
        };
        assert!(may_know("before", None) && may_know("ours", Some("journal")));
        assert!(!may_know("another", Some("journal")) && !may_know("", Some("journal")));
    }
}
