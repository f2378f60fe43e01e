//! Presses of the clock that wait to be judged.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use shakmaty::Color;

use crate::{
    board::{Placement, kept::color},
    event::ClockState,
    time::Millis,
};

/// Most presses that may wait to be judged, besides the one that is being judged.
const MOST_LATER: usize = 4;

/// A press that has not been judged yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::watcher) struct Press {
    #[serde(with = "color")]
    pub(in crate::watcher) side: Color,
    pub(in crate::watcher) at: Millis,
    pub(in crate::watcher) clock: Option<ClockState>,
    /// The placement after the press, once the board had come to rest.
    pub(in crate::watcher) rest: Option<Placement>,
}

/// The presses of a game that have not been judged yet.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct PressQueue {
    /// The press that is being judged.
    pub(in crate::watcher) judged: Option<Press>,
    /// Presses that wait until that one is judged, the oldest first.
    pub(in crate::watcher) later: VecDeque<Press>,
    /// The time of the press by which the player to move may have let the opponent take his half-move back, and the half-move.
    pub(in crate::watcher) gave_back: Option<(Millis, usize)>,
    /// The time of the press for which the watcher last asked the board for a dump.
    pub(in crate::watcher) asked: Option<Millis>,
    /// When the watcher last looked for an offence.
    pub(in crate::watcher) looked_at: Millis,
}

impl PressQueue {
    /// Takes in a press. Beyond the most that may wait, presses are not judged.
    pub(in crate::watcher) fn add(&mut self, press: Press) {
        if self.is_empty() {
            self.judged = Some(press);
        } else if self.later.len() < MOST_LATER {
            self.later.push_back(press);
        }
    }

    /// True while no press waits. A later one may wait although the one before it has just been judged.
    pub(in crate::watcher) fn is_empty(&self) -> bool {
        self.judged.is_none() && self.later.is_empty()
    }

    /// The press that is being judged, and those that wait.
    pub(in crate::watcher) fn all(&self) -> impl Iterator<Item = &Press> {
        self.judged.iter().chain(&self.later)
    }

    /// The press that is being judged, where no later one waits.
    pub(in crate::watcher) fn only(&self) -> Option<&Press> {
        self.judged.as_ref().filter(|_| self.later.is_empty())
    }

    /// The last press.
    pub(in crate::watcher) fn last(&self) -> Option<&Press> {
        self.later.back().or(self.judged.as_ref())
    }

    /// Takes the last press out.
    pub(in crate::watcher) fn take_last(&mut self) -> Option<Press> {
        self.later.pop_back().or_else(|| self.judged.take())
    }

    /// Where none is being judged, the oldest is the next.
    pub(in crate::watcher) fn advance(&mut self) {
        if self.judged.is_none() {
            self.judged = self.later.pop_front();
        }
    }

    /// Judges none of them.
    pub(in crate::watcher) fn clear(&mut self) {
        self.judged = None;
        self.later.clear();
    }
}
