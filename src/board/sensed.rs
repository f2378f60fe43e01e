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
    felt: bool,
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
            felt: false,
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
        self.felt |= code == Code::MAN;
        true
    }

    /// Several squares changed at once. Returns which.
    pub fn update(&mut self, now: Millis, placement: &Placement) -> Bitboard {
        let mut changed = Bitboard::EMPTY;
        for square in Square::ALL {
            if self.set(now, square, placement.at(square)) {
                changed.add(square);
            }
        }
        changed
    }

    /// A dump replaces the reading. Returns the squares that changed by it.
    pub fn replace(&mut self, now: Millis, placement: &Placement) -> Bitboard {
        let changed = self.update(now, placement);
        self.by_dump |= changed;
        self.last_dump = Some(now);
        changed
    }

    /// What stands on the board.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// True when the board feels only whether something stands on a square.
    #[must_use]
    pub fn is_felt(&self) -> bool {
        self.felt
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

    /// A square from which a man was lifted after `start`, if that man has been put down nowhere since:
    /// it may be in a hand, or was taken off the board.
    #[must_use]
    pub fn lifted_since(&self, start: Millis) -> Option<Square> {
        let changed = || Square::ALL.into_iter().filter(|s| self.since(*s) > start);
        let mut put_down: Vec<_> = changed().filter(|s| !self.at(*s).is_empty()).collect();
        changed().filter(|s| self.at(*s).is_empty()).find(|from| {
            let is_it =
                |to: &Square| self.at(*to).agrees(self.before(*from)) && self.since(*to) >= self.since(*from);
            let place = put_down.iter().position(is_it);
            place.map(|place| put_down.swap_remove(place)).is_none()
        })
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
