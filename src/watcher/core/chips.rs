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

#[cfg(test)]
mod tests {
    use crate::{
        dgt::{Lever, Message, PieceCode},
        event::{Body, notice},
        time::Millis,
        watcher::{
            Command, Settings, Watcher,
            testing::{clock, hear, initial_pieces},
        },
    };

    /// The numbers of the games in which the watcher told of a wrong chip since the last event was taken.
    fn told(watcher: &mut Watcher) -> Vec<Option<u32>> {
        std::iter::from_fn(|| watcher.poll_event())
            .filter(
                |event| matches!(&event.body, Body::Notice { code, .. } if *code == notice::PIECE_READ_WRONG),
            )
            .map(|event| event.game)
            .collect()
    }

    /// A command begins another game in mid-game, and the one that is put aside is watched on beside it.
    #[test]
    fn a_wrong_chip_is_told_once_in_each_game() {
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        let mut squares = initial_pieces();
        squares[62] = PieceCode(4);
        hear(&mut watcher, 100, Message::Dump(&squares));
        hear(&mut watcher, 1500, clock(Lever::LeftHigh));
        for (at, square, code) in [(4000, 52, 0), (4300, 36, 1)] {
            let piece = PieceCode(code);
            hear(&mut watcher, at, Message::Field { square, piece });
        }
        for at in (4600..9000).step_by(1000) {
            hear(&mut watcher, at, clock(Lever::RightHigh));
        }
        assert_eq!(told(&mut watcher), [Some(1)]);
        watcher.handle_command(Millis(9000), Command::NewGame).unwrap();
        for at in (9100..30_000).step_by(1000) {
            hear(&mut watcher, at, clock(Lever::RightHigh));
        }
        assert_eq!(told(&mut watcher), [Some(2)]);
    }
}
