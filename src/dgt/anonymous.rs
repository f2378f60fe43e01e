//! Takes everything that identifies a board out of its bytes: serial number, bus address, identification
//! text.
//!
//! Lengths and all other bytes stay, so that a decoder reads the rest as before.

use super::message::id;

/// The place of the next byte in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Outside of frames, or in a frame that does not identify the board.
    #[default]
    Elsewhere,
    /// In the two bytes of the length. The first number is the byte that replaces the payload; the second
    /// says how many bytes of the length are still to come.
    Length(u8, u8),
    /// In a payload that identifies the board; the number is the byte that replaces it.
    Name(u8),
}

/// Masks everything that identifies a board, byte by byte, in any split.
#[derive(Clone, Debug, Default)]
pub struct Mask(At);

impl Mask {
    /// Takes the next bytes from the board.
    pub fn hide(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            // A frame begins with a byte that has bit 7 set, and no other byte has it.
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

    /// The frames of a board with the number 31415 that identify it, and a half-move.
    const SAID: &[u8] = b"\x91\x00\x0831415\x8e\x00\x05\x24\x01\xa2\x00\x0d3141592653\x90\x00\x05\x3a\x1b\x92\x00\x08No. 3\x8e\x00\x05\x34\x00";

    #[test]
    fn nothing_identifies_the_board_in_any_split_and_the_rest_stays() {
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
