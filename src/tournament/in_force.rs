//! The round that a command put in force. It is kept beside the journal, so that it outlives the daemon.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{
    beside,
    entered::EnteredResults,
    pairings::{Mistake, Pairings, PairingsError},
};

/// The ending of the file's name, behind that of the journal.
const ENDING: &str = "round";

/// The last event of a journal at some time, so that what came later can be told from what came before whatever the wall clock
/// does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastEvent {
    /// Its place in the order of the journal.
    pub position: u64,
    /// When it was written, as Unix time in milliseconds: another journal has another event in that place.
    pub written_ms: i64,
}

/// A round in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InForce {
    /// Number of the round.
    pub round: u32,
    /// Wrong numbers that it had before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub formerly: BTreeSet<u32>,
    /// When it got the number that it has instead of those, as Unix time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renumbered_ms: Option<i64>,
    /// The later round that the configuration names, where an arbiter has gone back below that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<u32>,
    /// The pairings; none where the configuration has them.
    pub pairings: Option<Pairings>,
    /// The text that the pairings are from, where it says of its games which round they are of: a later round begins
    /// from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// True where the pairings are from the file that the configuration names.
    #[serde(default)]
    pub is_from_file: bool,
    /// FEN of the position with which all games of the round begin, if that is not the initial array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Id of the round on lichess, if it differs from the configured one.
    pub lichess: Option<String>,
    /// Results that were entered for games of which no board tells.
    #[serde(default, skip_serializing_if = "EnteredResults::is_empty")]
    pub results: EnteredResults,
    /// When it began, as Unix time in milliseconds.
    pub since_ms: i64,
    /// The last event that the journal had then; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event: Option<LastEvent>,
    /// True once it was closed, so that the next may follow.
    pub closed: bool,
    /// The other rounds that were in force, by their numbers: people still put right what is wrong in them. None of these
    /// has others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<u32, Self>,
}

impl InForce {
    /// The round kept beside the journal at `path`; none where none was ever put in force.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn kept(path: &Path) -> io::Result<Option<Self>> {
        beside::read(path, ENDING)
    }

    /// This round where `former` was in force before it. Nothing that is known of that round and of others is lost.
    #[must_use]
    pub fn after(mut self, mut former: Self) -> Self {
        self.others = std::mem::take(&mut former.others);
        self.others.remove(&self.round);
        if former.round != self.round {
            // No round begins from the text of another one again.
            former.text = None;
            self.others.insert(former.round, former);
        }
        self
    }

    /// This round where `mistaken` was begun too early after it, and is left at `now_ms`. The games that have begun since are of this
    /// one, and that one has yet to begin: what is known of it is kept for then.
    #[must_use]
    pub fn again_after(mut self, mut mistaken: Self, now_ms: i64) -> Self {
        self.formerly.extend(mistaken.numbers());
        self.formerly.remove(&self.round);
        self.renumbered_ms = Some(now_ms);
        self.text = self.text.or_else(|| mistaken.text.take());
        (mistaken.since_ms, mistaken.last_event, mistaken.closed) = (0, None, false);
        self.after(mistaken)
    }

    /// True where it goes before the round that the configuration names: a later one, or one below which an arbiter has gone
    /// back.
    #[must_use]
    pub fn goes_before(&self, configured: u32) -> bool {
        self.round > configured || self.below == Some(configured)
    }

    /// Its number, and those that it had by mistake.
    #[must_use]
    pub fn numbers(&self) -> BTreeSet<u32> {
        let mut numbers = self.formerly.clone();
        numbers.insert(self.round);
        numbers
    }

    /// This round under the right number `to`, which it gets at `now_ms`.
    #[must_use]
    pub fn numbered(mut self, to: u32, now_ms: i64) -> Self {
        self.formerly.insert(self.round);
        self.formerly.remove(&to);
        (self.round, self.renumbered_ms) = (to, Some(now_ms));
        self
    }

    /// True where a gateway that says round `round`, and that it began at `began_ms`, means this one by a wrong number.
    #[must_use]
    pub fn is_wrong(&self, round: u32, began_ms: Option<i64>) -> bool {
        let since_then = self.renumbered_ms.zip(began_ms);
        self.formerly.contains(&round)
            && since_then.is_none_or(|(renumbered_ms, began_ms)| began_ms < renumbered_ms)
    }

    /// The round with this number: this one, or another that was in force.
    #[must_use]
    pub fn of_round(&self, round: u32) -> Option<&Self> {
        match self.round == round {
            true => Some(self),
            false => self.others.get(&round),
        }
    }

    /// Takes `pairings` that put the `former` ones right. The results that were entered follow the players; what is worth
    /// a look in that is told.
    pub fn put_right(&mut self, former: &Pairings, pairings: Pairings) -> Vec<Mistake> {
        let noted = self.results.follow(former, &pairings);
        self.pairings = Some(pairings);
        noted
    }

    /// Has the results that were entered follow the players to pairings that put the `former` ones right in a file. The log
    /// has what is worth a look in that.
    pub fn follow(&mut self, former: &Pairings, pairings: &Pairings) {
        for noted in self.results.follow(former, pairings) {
            tracing::warn!("round {} is put right: {noted}", self.round);
        }
    }

    /// The pairings of the other rounds, with the results that were entered.
    #[must_use]
    pub fn pairings_of_others(&self) -> BTreeMap<u32, Pairings> {
        let shown = |(round, other): (&u32, &Self)| {
            let mut pairings = other.pairings.clone()?;
            other.results.put_into(&mut pairings);
            Some((*round, pairings))
        };
        self.others.iter().filter_map(shown).collect()
    }

    /// Reads the pairings again from the `file` that they are from, which may have been corrected; `boards` is their
    /// number. True when they are others now.
    ///
    /// # Errors
    /// When the file has no such round any more, or mistakes in it. The pairings are then as they were.
    pub fn read_again(&mut self, file: &Path, boards: usize) -> Result<bool, PairingsError> {
        let pairings = Pairings::of_round(&Pairings::text(file)?, self.round, boards)?;
        let is_new = self.pairings.as_ref() != Some(&pairings);
        let former = self.pairings.take().unwrap_or_else(|| pairings.clone());
        self.follow(&former, &pairings);
        self.pairings = Some(pairings);
        Ok(is_new)
    }

    /// Keeps the round beside the journal at `path`. When this returns, a loss of power does not undo it.
    ///
    /// # Errors
    /// When the file cannot be written. The former round is then still kept.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        beside::write(path, ENDING, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_what_is_damaged_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.sqlite");
        assert_eq!(InForce::kept(&journal).unwrap(), None);
        let in_force = InForce {
            round: 4,
            pairings: Pairings::parse("board,white,black\n1,A,B\n", 4).ok(),
            since_ms: 7,
            ..InForce::default()
        };
        in_force.keep(&journal).unwrap();
        assert_eq!(InForce::kept(&journal).unwrap(), Some(in_force));
        std::fs::write(folder.path().join("journal.sqlite.round"), "{").unwrap();
        assert!(InForce::kept(&journal).is_err());
    }
}
