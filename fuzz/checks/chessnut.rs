//! What must hold of any bytes that a Chessnut board may have said.

use super::family::{all, family};
use dgt2mqtt::families::{Protocol, Told};

/// What the codes 0 to 12 mean: empty q k b p n R P r B N Q K.
const MEANS: [u8; 13] = [0, 12, 11, 10, 7, 9, 2, 1, 8, 4, 3, 6, 5];

/// Asserts what holds of each family, that what is told was said, and that no byte is read twice.
///
/// # Panics
/// When one does not hold.
pub(crate) fn chessnut(data: &[u8]) {
    family(Protocol::Chessnut, data);
    let mut rest = data;
    for told in all(Protocol::Chessnut, data) {
        let says = |at| Some(at + report(&rest[at..], &told)?);
        let end = (0..rest.len()).find_map(says);
        assert!(end.is_some(), "{told:?} was not said");
        rest = &rest[end.unwrap_or_default()..];
    }
}

/// The bytes of a report that begins here and says this.
fn report(bytes: &[u8], says: &Told) -> Option<usize> {
    match (says, bytes) {
        (Told::Squares(squares), [0x01, 0x24, said @ ..]) if said.len() >= 36 => {
            let codes = said[..32].iter().flat_map(|byte| [byte & 0x0f, byte >> 4]);
            let pieces = codes.map(|code| MEANS.get(usize::from(code)).copied());
            // From the h-file to the a-file.
            let stand = squares.chunks(8).flat_map(|rank| rank.iter().rev());
            pieces.eq(stand.map(|piece| Some(piece.0))).then_some(38)
        }
        (Told::Battery(battery), [0x2a, 0x02, percent, _, ..]) => {
            (battery.percent == *percent.min(&100)).then_some(4)
        }
        (Told::Battery(battery), [0x41, 0x03, 0x0c, _, percent, ..]) => {
            (battery.percent == *percent.min(&100)).then_some(5)
        }
        _ => None,
    }
}
