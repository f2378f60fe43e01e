//! How a game begins: the array on the board, the clock started or a first move made; and what is said of
//! an array, a board or colours that are wrong.

use std::sync::Arc;

use crate::{
    board::{Lines, Placement, Sensed, orientation::looks_like_start},
    time::Millis,
    watcher::{
        arrays::{Array, array_named, is_after_first_moves, is_full_array, kind_of, rank, stand_of},
        clock::Clock,
        midway::Midway,
    },
};

/// The array must have stood this long to be remembered.
pub(super) const ARRAY_MS: u64 = 400;

/// A wrong array must still stand this long after the clock was started.
pub(super) const WRONG_ARRAY_MS: u64 = 1000;

/// What is known before a game begins.
#[derive(Debug, Default)]
pub(in crate::watcher) struct Setup {
    /// The last array that stood on the board.
    pub(super) array: Option<Placement>,
    /// Lines from it while no clock has started the game.
    pub(super) lines: Option<Lines>,
    /// What may go on where no array stands.
    pub(super) midway: Option<Midway>,
    /// Since when the clock has run.
    pub(super) started: Option<Millis>,
    /// When the clock was pressed, of late.
    pub(super) presses: Vec<Millis>,
    /// What went on before was lost track of: what stands there may not be all.
    pub(super) in_doubt: bool,
    /// And the board did not read all that stood there.
    pub(super) absent: bool,
}

impl Setup {
    /// Takes note of the array once it stands. Where no array stood before and the clock runs, the first half-moves were
    /// made before anybody looked: that is told by the clock, once it is heard. What these few do not explain is
    /// no wrong array then, but a game.
    pub(super) fn note(&mut self, sensed: &Sensed, now: Millis, clock: &Clock) {
        let mut placement = &array_named(sensed.placement());
        if self.array.is_none() && !is_full_array(placement) {
            let moved = is_after_first_moves(sensed, now);
            let wrong = matches!(kind_of(placement), Array::Wrong(_));
            // A clock answers within this time; where there is none, nothing else tells.
            let silent = now.since(sensed.last_change()) >= WRONG_ARRAY_MS;
            match clock.attached {
                None if moved || wrong && !silent => return,
                Some(_) if moved && clock.runs() => placement = &Placement::ARRAY,
                Some(_) if wrong && clock.runs() => return,
                _ => {}
            }
        }
        let untold = |lines: &Lines| !lines.best().plies.is_empty() && lines.best().misplaced(sensed).any();
        if self.array.as_ref() == Some(placement) && !clock.runs() && self.lines.as_ref().is_some_and(untold)
        {
            // Something was shown before the game, and the pieces are back.
            self.lines = Some(Lines::new(Arc::new(stand_of(placement)), sensed, now));
        }
        if !looks_like_start(placement)
            || self.array.as_ref() == Some(placement)
            || self.is_in_play(placement)
        {
            return;
        }
        // A board that does not know its pieces cannot tell which of them stand wrong.
        if sensed.is_felt() && kind_of(placement) != Array::Standard {
            return;
        }
        // A piece in a hand before the first move does not make another array, nor does a ghost.
        let better = self
            .array
            .as_ref()
            .is_none_or(|known| rank(placement) >= rank(known));
        let moved = self
            .lines
            .as_ref()
            .is_some_and(|lines| !lines.best().plies.is_empty() && lines.best().differing().is_empty());
        if better && !moved {
            self.array = Some(placement.clone());
            self.midway = None;
            self.lines = Some(Lines::new(Arc::new(stand_of(placement)), sensed, now));
        }
    }

    /// True when `placement` is what hands have made of a game that goes on: an array with pieces missing, though none has come to
    /// its first square since.
    fn is_in_play(&self, placement: &Placement) -> bool {
        let away = |of: &Placement| of.differing(&Placement::ARRAY) & Placement::ARRAY.occupied();
        let none_came_home = |from: &Placement| (away(from) & !away(placement)).is_empty();
        !is_full_array(placement)
            && self
                .midway
                .as_ref()
                .is_some_and(|midway| none_came_home(&midway.from))
    }
}
