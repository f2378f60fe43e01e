//! What stands on a board and what its clock shows, as far as the board has told.

use crate::{
    dgt::{ClockReading, Decoder, Message, PieceCode, Squares},
    time::Millis,
};

/// The squares and the clock of a board, as its bytes have told them.
#[derive(Clone, Debug)]
pub struct ShownBoard {
    decoder: Decoder,
    /// What stands on the squares, in the board's own order.
    pub squares: Squares,
    /// What the clock shows. None if there is no clock.
    pub clock: Option<ClockReading>,
}

impl Default for ShownBoard {
    fn default() -> Self {
        Self {
            decoder: Decoder::new(),
            squares: [PieceCode::EMPTY; 64],
            clock: None,
        }
    }
}

impl ShownBoard {
    /// The board says `bytes`. Returns whether they tell of squares.
    pub fn hear(&mut self, at: Millis, bytes: &[u8]) -> bool {
        let (squares, clock, mut told) = (&mut self.squares, &mut self.clock, false);
        self.decoder.push(at, bytes, &mut |message| match message {
            Message::Dump(all) => (*squares, told) = (*all, true),
            Message::Field { square, piece } => (squares[usize::from(square)], told) = (piece, true),
            Message::Clock(reading) => *clock = Some(reading),
            Message::NoClock => *clock = None,
            _ => {}
        });
        told
    }

    /// The board's answer to a host that asks for squares and clock.
    #[must_use]
    pub fn answers(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        Message::Dump(&self.squares).encode(&mut bytes);
        self.clock
            .map_or(Message::NoClock, Message::Clock)
            .encode(&mut bytes);
        bytes
    }
}
