//! What the watcher keeps before a game begins: the initial position on the board, the start of the clock,
//! the first half-moves.

use std::sync::Arc;

use crate::{
    board::{Lines, Placement, Sensed, orientation::looks_like_start},
    game::periods::Period,
    time::Millis,
    watcher::{
        arrays::{
            Array, MIDDLE, array_named, is_after_first_moves, is_full_array, is_nearly_right, kind_of, rank,
            stand_of,
        },
        clock::Clock,
        midway::Midway,
    },
};

/// The watcher remembers an initial position that has stood for this long.
pub(super) const ARRAY_MS: u64 = 400;

/// Presses before a game that are remembered.
pub(super) const REMEMBERED: usize = 8;

/// A wrong initial position must still stand this long after the clock was started.
pub(super) const WRONG_ARRAY_MS: u64 = 1000;

/// A game comes from an initial position that stood before if no more squares than these differ from it.
const MOST_MOVED: usize = 6;

/// True where a game that is started now may come from `array`, which stood before.
pub(super) fn comes_from(array: &Placement, placement: &Placement) -> bool {
    array.differing(placement).count() <= MOST_MOVED
}

/// What the watcher knows before a game begins.
#[derive(Debug, Default)]
pub(in crate::watcher) struct Setup {
    /// When the board was first read, or read again after a gap.
    pub(super) read_since: Option<Millis>,
    /// The last initial position that stood on the board.
    pub(super) array: Option<Placement>,
    /// Hypotheses from that position while no clock has started the game.
    pub(super) lines: Option<Lines>,
    /// A game in progress that may go on where no initial position stands.
    pub(super) midway: Option<Midway>,
    /// Since when the clock has run.
    pub(super) started: Option<Millis>,
    /// When the clock was last pressed, the oldest press first.
    pub(super) presses: Vec<Millis>,
    /// When the board was read after a gap in which half-moves may have been made that the hypotheses tell of.
    pub(super) missed_until: Option<Millis>,
    /// The first half-moves were made before the watcher read the board.
    pub(super) unseen: bool,
    /// The watcher lost track of the game before, so it does not know all of the position.
    pub(super) in_doubt: bool,
    /// The board did not read all pieces then.
    pub(super) absent: bool,
}

impl Setup {
    /// The initial position, from which first half-moves were made before all pieces stood.
    pub(super) fn of_first_moves(sensed: &Sensed, now: Millis) -> Self {
        Self {
            array: Some(Placement::ARRAY),
            lines: Some(Lines::new(Arc::new(stand_of(&Placement::ARRAY)), sensed, now)),
            ..Self::default()
        }
    }

    /// What the watcher knows of a game that may begin.
    pub(super) fn known(&self) -> (Option<Placement>, bool) {
        (self.array.clone(), self.midway.is_some())
    }

    /// True where a restart would lose more than the board shows.
    pub(super) fn is_worth_keeping(&self) -> bool {
        self.array.is_some() || self.midway.is_some() || self.in_doubt
    }

    /// Squares changed while nobody read the board, on which `before` stood. `unknown` tells whether presses may have come, too, that
    /// nobody knows of. A wrong initial position may have been put right.
    pub(super) fn missed_changes(&mut self, now: Millis, sensed: &Sensed, before: &Placement, unknown: bool) {
        self.missed_until = Some(now);
        self.read_since = Some(now);
        if let Some(midway) = &mut self.midway {
            midway.missed_changes(before, sensed.placement(), unknown);
        }
        let right = |square| sensed.at(square).is_piece() && sensed.at(square) == Placement::ARRAY.at(square);
        if let Some(Array::Wrong(squares)) = self.array.as_ref().map(kind_of)
            && squares.into_iter().any(right)
        {
            self.array = None;
            self.lines = None;
        }
    }

    /// True where a piece has stood in the middle of the board since that was read: it has moved there while nobody looked.
    fn has_moved(&self, placement: &Placement, sensed: &Sensed) -> bool {
        let stood = |square| self.read_since.is_some_and(|since| sensed.since(square) <= since);
        (placement.occupied() & MIDDLE).into_iter().any(stood)
    }

    /// Since when the board has stood as it stands and was read. What it told first may have stood for long.
    pub(super) fn stands_since(&mut self, sensed: &Sensed, now: Millis) -> Millis {
        sensed.last_change().max(*self.read_since.get_or_insert(now))
    }

    /// Remembers the initial position once it stands. If none stood before, and by the clock a game goes on, the
    /// players made the first half-moves before the watcher read the board. The watcher knows that only once it
    /// hears the clock. A position that these few half-moves do not explain is then a game in progress, and no
    /// wrong initial position. `first` is the first period of the game.
    pub(super) fn note(&mut self, sensed: &Sensed, now: Millis, clock: &Clock, first: Option<&Period>) {
        let mut placement = &array_named(sensed.placement());
        let mut unseen = false;
        if self.array.is_none() && !is_nearly_right(placement) {
            let moved = || is_after_first_moves(sensed, now);
            let wrong = matches!(kind_of(placement), Array::Wrong(_));
            let goes_on = clock.is_under_way(first.map_or(0, |period| period.increment));
            // A clock answers within this time. If none does, there is no clock.
            let silent = now.since(self.stands_since(sensed, now)) >= WRONG_ARRAY_MS;
            match clock.attached {
                None if wrong && !silent || moved() => return,
                // Of a game that is further on the clock tells more, once it runs, than half-moves that nobody saw.
                Some(_)
                    if goes_on && (!clock.runs() || comes_from(&Placement::ARRAY, placement)) && moved() =>
                {
                    (placement, unseen) = (&Placement::ARRAY, true);
                }
                Some(_) if wrong && goes_on => return,
                _ if wrong && self.has_moved(placement, sensed) && !clock.is_fresh(first) => return,
                _ => {}
            }
        }
        let untold = |lines: &Lines| !lines.best().plies.is_empty() && lines.best().misplaced(sensed).any();
        let is_known = self.array.as_ref() == Some(placement);
        if is_known && !clock.runs() && self.lines.as_ref().is_some_and(untold) {
            // Players showed some half-moves before the game, and have put the pieces back.
            self.lines = Some(Lines::new(Arc::new(stand_of(placement)), sensed, now));
        }
        let stands_again =
            |lines: &Lines| lines.best().plies.is_empty() && lines.best().differing().is_empty();
        if is_known && !clock.runs() && self.lines.as_ref().is_some_and(stands_again) {
            // Whatever was missed, the game begins from here.
            self.missed_until = None;
            self.unseen = false;
        }
        if is_known || !looks_like_start(placement) || self.is_in_play(placement) {
            return;
        }
        // A board that does not know its pieces cannot tell whether pieces stand on each other's squares.
        if sensed.is_felt() && kind_of(placement) != Array::Standard {
            return;
        }
        // A piece that is in a hand before the first half-move does not make another initial position, nor
        // does a ghost.
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
            self.missed_until = unseen.then_some(now);
            self.unseen = unseen;
            self.lines = Some(Lines::new(Arc::new(stand_of(placement)), sensed, now));
        }
    }

    /// True when `placement` belongs to the game in progress: it looks like an initial position with pieces
    /// missing, but no piece has come to its first square since.
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
