//! What the public has seen of a round, from which the broadcast goes on after a restart. What was published stays,
//! whatever somebody set the wall clock to meanwhile.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use super::index::json;
use crate::{
    event::{FAR, WITHOUT_CLOCK},
    files::shared,
};

/// The game of a board that was public last, and how far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PublicMark {
    /// Number of the game on its board.
    pub(super) game: u32,
    /// The time in the event that began the game. A journal that was lost may give the number to another game.
    pub(super) began: Option<String>,
    /// Number of the last event that was public.
    pub(super) seq: u64,
    /// The same of the ranges to which numbers jump: by the clock, and without one.
    #[serde(default)]
    pub(super) far: [u64; 2],
}

/// The highest number of a board in each range of numbers. They fall from one to another where a run without a disk is over and the broker
/// has forgotten its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(pub(super) [u64; 3]);

impl Ranges {
    fn of(seq: u64) -> usize {
        usize::from(seq >= FAR) + usize::from(seq >= WITHOUT_CLOCK)
    }

    /// True of a number that is not above the highest of its range.
    pub(super) fn has(self, seq: u64) -> bool {
        seq <= self.0[Self::of(seq)]
    }

    /// Takes note of a number.
    pub(super) fn take(&mut self, seq: u64) {
        let highest = &mut self.0[Self::of(seq)];
        *highest = seq.max(*highest);
    }
}

impl PublicMark {
    /// The highest numbers that were public.
    pub(super) fn public(&self) -> Ranges {
        let [by_clock, without] = self.far;
        Ranges([self.seq, by_clock, without])
    }

    /// True where it is of the game with this number and this time in the event that began it.
    pub(super) fn is_of(&self, game: u32, began: Option<&str>) -> bool {
        self.game == game && self.began.as_deref() == began
    }
}

/// The marks of a round by its boards, `GATEWAY/BOARD`.
pub(super) type Marks = BTreeMap<String, PublicMark>;

/// The name of the file with the marks of `round`. The dot hides it from tools that look for games. It comes before the
/// games, so it is written before them: a crash in between publishes nothing that was not due.
pub(super) fn name(round: u32) -> String {
    format!("round-{round}/.public")
}

/// The text of that file.
pub(super) fn text(marks: &Marks) -> String {
    json(marks)
}

/// The marks of `round` in the folder; none where they cannot be read.
pub(super) fn read(root: &Path, round: u32) -> Marks {
    let text = shared::read(root, &name(round)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
