//! Whether what stands on the board may be taken for a position.

use super::not_now::NotNow;
use crate::{board::Sensed, time::Millis};

/// The board is taken as it stands when no square has changed for so long.
const STILL_MS: u64 = 1000;
/// A piece that was lifted is in a hand for so long; then it was taken off the board.
const IN_HAND_MS: u64 = 10_000;

/// Refuses while a piece is in a hand or pieces are moving.
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
