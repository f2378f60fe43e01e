//! Boards that feel only which squares are occupied: which way round they lie.

use std::sync::Arc;

use crate::{
    board::{Lines, Orientation, Sensed, Stand},
    dgt::Squares,
    time::Millis,
};

/// What looks like a first move by Black must stand for this long before the watcher takes it for White's, on
/// a board that lies the other way round.
pub(super) const FIRST_MOVE_MS: u64 = 3000;

/// The other way round that the board lies, and the hypotheses then, if the first half-move shows that: White moves first, and
/// the half-move is one of White's only then. The initial position looks the same from both sides where
/// pieces are not known.
pub(super) fn by_first_move(lies: Orientation, raw: &Squares, now: Millis) -> Option<(Orientation, Lines)> {
    let other = match lies {
        Orientation::Normal => Orientation::Turned,
        Orientation::Turned => Orientation::Normal,
        Orientation::QuarterLeft | Orientation::QuarterRight => return None,
    };
    let sensed = Sensed::settled(&other.placement(raw));
    let lines = Lines::new(Arc::new(Stand::initial()), &sensed, now);
    let is_it = lines.best().plies.len() == 1 && lines.best().misplaced(&sensed).is_empty();
    is_it.then_some((other, lines))
}
