//! What a board says of itself, taken out of what it says: serial number, bus address, identification text.
//!
//! Lengths and all other bytes stay, so that what is left reads as before.

use super::message::id;

/// Where in a frame the next byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Outside, or in a frame that names nobody.
    #[default]
    Elsewhere,
    /// In the two bytes of the length: what is put in the place of what follows, and how many of them are to come.
    Length(u8, u8),
    /// In what names the board.
    Name(u8),
}

/// Hides who a board is, byte by byte, in any split.
#[derive(Clone, Debug, Default)]
pub struct Mask(At);

impl Mask {
    /// Takes the next bytes from the board.
    pub fn hide(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            // A byte with bit 7 set begins a frame, always and only.
            self.0 = match (*byte, self.0) {
                (id::SERIAL | id::LONG_SERIAL | id::TEXT, _) => At::Length(b'0', 2),
                (id::BUS_ADDRESS, _) => At::Length(1, 2),
                (0x80.., _) => At::Elsewhere,
                (_, At::Length(fill, 1)) => At::Name(fill),
                (_, At::Length(fill, left)) => At::Length(fill, left - 1),
                (_, At::Name(fill)) => {
                    *byte = fill;
                    At::Name(fill)
                }
                (_, At::Elsewhere) => At::Elsewhere,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dgt::{Decoder, Message},
        time::Millis,
    };

    /// What a board with the number 31415 says, and a move.
    const SAID: &[u8] = b"\x91\x00\x0831415\x8e\x00\x05\x24\x01\xa2\x00\x0d3141592653\x90\x00\x05\x3a\x1b\x92\x00\x08No. 3\x8e\x00\x05\x34\x00";

    #[test]
    fn whatever_the_split_nothing_names_the_board_and_the_rest_stays() {
        for size in 1..SAID.len() {
            let (mut mask, mut said) = (Mask::default(), SAID.to_vec());
            said.chunks_mut(size).for_each(|part| mask.hide(part));
            let mut told = Vec::new();
            Decoder::new().push(Millis(0), &said, &mut |message| {
                told.push(match message {
                    Message::Serial(serial) => serial.to_owned(),
                    Message::BusAddress(address) => address.to_string(),
                    Message::Field { square, piece } => format!("{square}:{}", piece.0),
                    other => format!("{other:?}"),
                });
            });
            assert!(
                !told.iter().any(|word| word.contains('3') && !word.contains(':')),
                "{told:?}"
            );
            let fields: Vec<_> = told
                .iter()
                .filter(|word| word.contains(':') && word.len() < 6)
                .collect();
            assert_eq!(fields, ["36:1", "52:0"]);
            assert_eq!((&*told[0], &*told[2]), ("00000", "0000000000"));
            let kept = |byte: &u8| *byte >= 0x80;
            assert_eq!(said.iter().filter(|byte| kept(byte)).count(), 6);
            assert_eq!(said.len(), SAID.len());
        }
    }
}
