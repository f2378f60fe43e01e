//! A simulated board. It tells each change by itself, the setting of many such boards.

use super::{
    REPORTS_ADDRESS,
    frame::{Frames, Kind, frame},
    letter,
};
use crate::{dgt::PieceCode, families};

/// The version that the maker's text was written for.
const VERSION: &str = "0104";
/// The memory's value with which a board reports each change.
const ON_CHANGE: u8 = 0b011;

/// A simulated board of this family.
#[derive(Debug)]
pub(super) struct Simulated {
    frames: Frames,
}

impl Default for Simulated {
    fn default() -> Self {
        Self {
            frames: Frames::new(Kind::of_command),
        }
    }
}

impl families::BoardEnd for Simulated {
    fn hear(&mut self, bytes: &[u8], squares: &[PieceCode; 64], answers: &mut Vec<u8>) {
        self.frames.push(bytes, &mut |kind, body| {
            match kind {
                Kind::Status => answers.extend(status(squares)),
                Kind::Version => answers.extend(frame(&format!("v{VERSION}"))),
                // All other bytes of the memory are as the maker set them.
                Kind::Memory if body == format!("{REPORTS_ADDRESS:02X}").as_bytes() => {
                    answers.extend(frame(&format!("r{REPORTS_ADDRESS:02X}{ON_CHANGE:02X}")));
                }
                Kind::Memory | Kind::Other => {}
            }
        });
    }

    fn tell(&self, squares: &[PieceCode; 64]) -> Vec<u8> {
        status(squares)
    }

    fn speaks(&self) -> bool {
        true
    }
}

fn status(squares: &[PieceCode; 64]) -> Vec<u8> {
    let letters: String = squares.iter().map(|piece| letter(*piece)).collect();
    frame(&format!("s{letters}"))
}
