//! The part of a played board that boards of other families have: they tell whole positions, and answer in
//! their own way.

use crate::{
    capture::{Act, Record},
    dgt::PieceCode,
    families::{BoardEnd, Driver, Family, Told},
    time::Millis,
};

/// The wire of a board of another family.
#[derive(Debug)]
pub(super) struct Other {
    family: &'static Family,
    board: Box<dyn BoardEnd>,
    /// Reads what the board says, so that what stands on it is known.
    reader: Box<dyn Driver>,
    /// What stands on the board. None while nothing is known of it.
    squares: Option<[PieceCode; 64]>,
    /// A host is there.
    pub(super) here: bool,
}

impl Other {
    pub(super) fn new(family: &'static Family) -> Self {
        Self {
            family,
            board: (family.board)(),
            reader: (family.driver)(),
            squares: None,
            here: false,
        }
    }

    /// Whether the board tells unasked what stands on it.
    pub(super) fn speaks(&self) -> bool {
        self.board.speaks()
    }

    /// The power came back: the board has forgotten what the host told it.
    pub(super) fn power_up(&mut self) {
        self.board = (self.family.board)();
    }

    /// Takes for the position of the board what `records` tell first, if they tell one before the cable is
    /// out.
    pub(super) fn look_ahead<'a>(&mut self, records: impl Iterator<Item = &'a Record>) {
        let mut reader = (self.family.driver)();
        let squares = &mut self.squares;
        let mut found = false;
        for record in records {
            match &record.act {
                Act::FromBoard(bytes) => reader.bytes(record.at, bytes, &mut |told| {
                    if let (Told::Squares(all), false) = (told, found) {
                        (*squares, found) = (Some(all), true);
                    }
                }),
                Act::LinkDown => return,
                Act::LinkUp | Act::ToBoard(_) => {}
            }
            if found {
                return;
            }
        }
    }

    /// What the board says to a host that comes.
    pub(super) fn greeting(&self) -> Option<Vec<u8>> {
        let squares = self.squares.filter(|_| self.speaks())?;
        Some(self.board.tell(&squares))
    }

    /// The host says `bytes`; the board appends to `answers`.
    pub(super) fn hear(&mut self, bytes: &[u8], answers: &mut Vec<u8>) {
        let squares = self.squares.unwrap_or([PieceCode::EMPTY; 64]);
        self.board.hear(bytes, &squares, answers);
    }

    /// The board says `bytes`; the position follows.
    pub(super) fn follow(&mut self, at: Millis, bytes: &[u8]) {
        let squares = &mut self.squares;
        self.reader.bytes(at, bytes, &mut |told| {
            if let Told::Squares(all) = told {
                *squares = Some(all);
            }
        });
    }
}
