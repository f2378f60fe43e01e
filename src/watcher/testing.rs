//! A board for tests of the watcher.

use super::{Settings, Watcher};
use crate::{
    dgt::{ClockReading, Lever, Message, PieceCode},
    event::{Body, Certainty, Irregularity},
    laws::IrregularityKind,
    time::Millis,
};

/// The watcher holds bytes that come after a silence for a moment. This is longer.
const HELD_MS: u64 = 60;

/// Handles all that is due before `at`, and then gives the watcher `message`.
pub(super) fn hear(watcher: &mut Watcher, at: u64, message: Message<'_>) {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    watcher.catch_up(Millis(at));
    watcher.handle_bytes(Millis(at), &bytes);
    watcher.catch_up(Millis(at + HELD_MS));
}

/// The irregularities that the watcher has reported since the last event was taken.
fn irregularities(watcher: &mut Watcher) -> impl Iterator<Item = Box<Irregularity>> {
    std::iter::from_fn(|| watcher.poll_event()).filter_map(|event| match event.body {
        Body::Irregularity(said) => Some(said),
        _ => None,
    })
}

/// How sure the watcher is of each of them.
pub(super) fn certainties(watcher: &mut Watcher) -> Vec<Certainty> {
    irregularities(watcher).map(|said| said.certainty).collect()
}

/// Of what kind each of them is.
pub(super) fn kinds(watcher: &mut Watcher) -> Vec<IrregularityKind> {
    irregularities(watcher).map(|said| said.kind).collect()
}

/// A frame of a running clock with ten minutes on both sides.
pub(crate) fn clock(lever: Lever) -> Message<'static> {
    Message::Clock(ClockReading::of_seconds(600, 600, true, lever))
}

/// The initial position, in the order of the wire.
pub(super) fn initial_pieces() -> [PieceCode; 64] {
    let mut squares = [PieceCode::EMPTY; 64];
    for (i, code) in [8, 9, 10, 12, 11, 10, 9, 8].into_iter().enumerate() {
        (squares[i], squares[8 + i]) = (PieceCode(code), PieceCode(7));
        (squares[56 + i], squares[48 + i]) = (PieceCode(code - 6), PieceCode(1));
    }
    squares
}

/// A watcher of a board on which White has played 1.e4 and pressed.
pub(super) fn after_e4() -> Watcher {
    after_e4_under(Settings::default())
}

/// The same with these settings.
pub(super) fn after_e4_under(settings: Settings) -> Watcher {
    after_e4_on(settings, None)
}

/// The same on the board with this serial number.
pub(super) fn after_e4_on(settings: Settings, serial: Option<&str>) -> Watcher {
    let mut watcher = Watcher::new(settings, None);
    watcher.handle_link_up(Millis(0), "port");
    if let Some(serial) = serial {
        hear(&mut watcher, 50, Message::Serial(serial));
    }
    let squares = initial_pieces();
    hear(&mut watcher, 100, Message::Dump(&squares));
    hear(&mut watcher, 1500, clock(Lever::LeftHigh));
    for (at, square, piece) in [(3000, 52, PieceCode::EMPTY), (3300, 36, PieceCode(1))] {
        hear(&mut watcher, at, Message::Field { square, piece });
    }
    hear(&mut watcher, 3600, clock(Lever::RightHigh));
    hear(&mut watcher, 5000, clock(Lever::RightHigh));
    assert_eq!(watcher.game().moves, ["e2e4"]);
    watcher
}
