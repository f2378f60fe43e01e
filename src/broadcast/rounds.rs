//! The round that is played, and the one before it while something of it may still become public.

use std::collections::BTreeMap;

use super::{
    clocks::TimedClock,
    index::RoundCount,
    round::{Files, Published, Round},
    runs::HeardAt,
};
use crate::event::Event;

/// Rounds of one tournament.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    current: Round,
    former: Option<Round>,
    /// Rounds before these that somebody put right.
    older: Vec<Round>,
}

/// What is public of the rounds at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    pub(super) files: Files,
    pub(super) current: Vec<Published>,
    pub(super) former: Vec<Published>,
}

impl Rounds {
    /// The rounds of a tournament; `counts` are those of all rounds, according to the folder.
    pub(super) fn new(
        mut current: Round,
        former: Option<Round>,
        older: Vec<Round>,
        counts: BTreeMap<u32, RoundCount>,
    ) -> Self {
        for (number, count) in counts {
            current.know_other(number, count);
        }
        Self {
            current,
            former,
            older,
        }
    }

    /// Number of the present round, and of the one before it if that goes on.
    pub(super) fn numbers(&self) -> (u32, Option<u32>) {
        (self.current.number(), self.former.as_ref().map(Round::number))
    }

    /// Takes an event of any board. True when files may change.
    pub(super) fn take(&mut self, event: &Event, heard: impl Into<HeardAt>) -> bool {
        let heard = heard.into();
        let mut changed = false;
        for round in self.all_mut() {
            changed |= round.take(event, heard);
        }
        changed
    }

    /// Takes a reading of the clock of a board. Returns when it becomes public at the earliest, as Unix time in
    /// milliseconds.
    pub(super) fn take_clock(&mut self, board: &str, clock: TimedClock) -> Option<i64> {
        let rounds = self.all_mut();
        rounds.filter_map(|round| round.take_clock(board, clock)).min()
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Round> {
        [&mut self.current]
            .into_iter()
            .chain(&mut self.former)
            .chain(&mut self.older)
    }

    /// What is public at `now_ms`.
    pub(super) fn picture(&mut self, now_ms: i64) -> Picture {
        let mut picture = Picture::default();
        for before in self.former.iter_mut().chain(&mut self.older) {
            let mut files = before.files(now_ms);
            // All rounds share this file, and the present round knows more.
            files.remove("tournament.json");
            self.current.know_other(before.number(), before.count(now_ms));
            picture.files.extend(files);
        }
        if let Some(former) = &self.former {
            picture.former = former.published(&picture.files);
        }
        let files = self.current.files(now_ms);
        picture.current = self.current.published(&files);
        picture.files.extend(files);
        picture
    }

    /// When the passing of time next makes something public, as Unix time in milliseconds.
    pub(super) fn next_change_ms(&self, now_ms: i64) -> Option<i64> {
        let rounds = [&self.current].into_iter().chain(&self.former).chain(&self.older);
        rounds.filter_map(|round| round.next_change_ms(now_ms)).min()
    }
}
