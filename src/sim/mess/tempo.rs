//! How fast hands are.

use std::ops::Range;

use fastrand::Rng;

use super::fault::{Fault, FaultRates};
use crate::laws::TimeControl;

/// How long everything takes, in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Tempo {
    pub(super) control: TimeControl,
    /// From the opponent's press until the hand goes up.
    pub(super) think: Range<u64>,
    /// How long a piece is in the hand.
    pub(super) hand: Range<u64>,
    /// From the last piece to the press.
    pub(super) press: Range<u64>,
    /// Main time and increment.
    pub(super) clock: (u64, u64),
    /// The share of half-moves for which the player does not wait for the opponent's press.
    pub(super) overlap: f64,
}

/// The least time between two presses: the hand must get there.
pub(super) const PRESSES_APART: u64 = 250;

impl Tempo {
    pub(super) fn chosen(faults: &FaultRates, clock: bool, rng: &mut Rng) -> Self {
        let drawn = |fault, rng: &mut Rng| rng.f64() < faults.of(fault);
        if !clock {
            // Nobody hurries.
            return Self::standard();
        }
        if drawn(Fault::Bullet, rng) {
            return Self::bullet();
        }
        if drawn(Fault::Blitz, rng) {
            return Self::blitz();
        }
        if drawn(Fault::Rapid, rng) {
            return Self::rapid();
        }
        Self::standard()
    }

    fn standard() -> Self {
        Self {
            control: TimeControl::Standard,
            think: 1800..6000,
            hand: 400..1100,
            press: 200..1400,
            clock: (5_400_000, 30_000),
            overlap: 0.0,
        }
    }

    fn rapid() -> Self {
        Self {
            control: TimeControl::Rapid,
            think: 900..4000,
            hand: 300..700,
            press: 100..500,
            clock: (900_000, 10_000),
            overlap: 0.02,
        }
    }

    pub(super) fn blitz() -> Self {
        Self {
            control: TimeControl::Blitz,
            think: 100..2000,
            hand: 180..450,
            press: 40..220,
            clock: (300_000, 3000),
            overlap: 0.1,
        }
    }

    fn bullet() -> Self {
        Self {
            control: TimeControl::Blitz,
            think: 50..700,
            hand: 150..300,
            press: 20..150,
            clock: (180_000, 2000),
            overlap: 0.3,
        }
    }
}
