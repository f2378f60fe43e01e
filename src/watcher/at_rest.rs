//! Whether the readings of the board are a position.

use super::not_now::NotNow;
use crate::{board::Sensed, time::Millis};

/// The readings are a position when no square has changed for this long.
const STILL_MS: u64 = 1000;
/// For this long after a piece was lifted, a hand holds it. After that, it was taken off the board.
const IN_HAND_MS: u64 = 10_000;

/// Refuses a command while a hand holds a piece or pieces are moving.
pub(super) fn at_rest(sensed: &Sensed, now: Millis) -> Result<(), NotNow> {
    let recently = |ms| Millis(now.0.saturating_sub(ms));
    if let Some(square) = sensed.lifted_since(recently(IN_HAND_MS)) {
        return Err(NotNow::PieceInHand {
            square,
            lifted_s: now.since(sensed.since(square)).div_ceil(1000),
            wait_s: IN_HAND_MS / 1000,
        });
    }
    if sensed.last_change() > recently(STILL_MS) {
        return Err(NotNow::PiecesMoving);
    }
    Ok(())
}
