//! The board as the sensors say it stands, and since when.

use shakmaty::{Bitboard, Square};

use super::placement::{Code, Placement};
use crate::time::Millis;

/// The current reading of all squares with the time of each square's last change.
#[derive(Clone, Debug)]
pub struct Sensed {
    placement: Placement,
    since: [Millis; 64],
    before: [Code; 64],
    last_change: Millis,
    last_arrival: Millis,
    by_dump: Bitboard,
    last_dump: Option<Millis>,
}

impl Default for Sensed {
    fn default() -> Self {
        Self {
            placement: Placement::default(),
            since: [Millis(0); 64],
            before: [Code::EMPTY; 64],
            last_change: Millis(0),
            last_arrival: Millis(0),
            by_dump: Bitboard::EMPTY,
            last_dump: None,
        }
    }
}

impl Sensed {
    /// A square changed. Returns false when it showed that already.
    pub fn set(&mut self, now: Millis, square: Square, code: Code) -> bool {
        let old = self.placement.at(square);
        if old == code {
            return false;
        }
        self.before[usize::from(square)] = old;
        self.placement.set(square, code);
        self.since[usize::from(square)] = now;
        self.last_change = now;
        if !code.is_empty() {
            self.last_arrival = now;
        }
        self.by_dump.discard(square);
        true
    }

    /// A dump replaces the reading. Returns the squares that changed by it.
    pub fn replace(&mut self, now: Millis, placement: &Placement) -> Bitboard {
        let changed = self.placement.differing(placement);
        for square in changed {
            self.set(now, square, placement.at(square));
        }
        self.by_dump |= changed;
        self.last_dump = Some(now);
        changed
    }

    /// What stands on the board.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// What stands on `square`.
    #[must_use]
    pub fn at(&self, square: Square) -> Code {
        self.placement.at(square)
    }

    /// Since when `square` shows what it shows.
    #[must_use]
    pub fn since(&self, square: Square) -> Millis {
        self.since[usize::from(square)]
    }

    /// What `square` showed before its last change.
    #[must_use]
    pub fn before(&self, square: Square) -> Code {
        self.before[usize::from(square)]
    }

    /// When `square` came to show what it shows, if an update told; a dump only says that it does.
    #[must_use]
    pub fn seen_at(&self, square: Square) -> Option<Millis> {
        (!self.by_dump.contains(square)).then(|| self.since(square))
    }

    /// When the whole board was last read.
    #[must_use]
    pub fn last_dump(&self) -> Option<Millis> {
        self.last_dump
    }

    /// When any square last came to show something.
    #[must_use]
    pub fn last_arrival(&self) -> Millis {
        self.last_arrival
    }

    /// When any square last changed.
    #[must_use]
    pub fn last_change(&self) -> Millis {
        self.last_change
    }
}
