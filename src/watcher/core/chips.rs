//! Tells of pieces whose chip says another piece.

use super::start::WRONG_ARRAY_MS;
use crate::{
    board::{
        Orientation,
        chips::{Chips, WrongChip},
    },
    event::{Body, notice},
    time::Millis,
    watcher::game::in_words,
};

/// The notices of wrong chips that are due in game `number`, and when another one is.
pub(super) fn notices(
    chips: &mut Chips,
    orientation: Orientation,
    number: u32,
    now: Millis,
) -> (Vec<Body>, Option<Millis>) {
    let due = chips.to_tell(now, number, WRONG_ARRAY_MS);
    let bodies = due.iter().filter_map(|chip| body(chip, orientation)).collect();
    (bodies, chips.due(number, WRONG_ARRAY_MS))
}

/// None where a snapshot had a code that is no piece.
fn body(chip: &WrongChip, orientation: Orientation) -> Option<Body> {
    let square = orientation.square(chip.at());
    let (is, reads) = (in_words(chip.is().piece()?), in_words(chip.reads().piece()?));
    let message = format!(
        "{is} on {square} is read as {reads}: it has the chip of another piece. The game is followed by what it is. If the piece that is \
         read does stand on {square}, the initial position is wrong (7.2.1)."
    );
    Some(Body::notice(notice::PIECE_READ_WRONG, message))
}
