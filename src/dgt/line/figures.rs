//! How a line does, for people.

use super::member::Errors;

/// How a line does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Milliseconds of the last round in which every board that is there was visited.
    pub cycle_ms: u64,
    /// The longest time between two visits of one board.
    pub longest_ms: u64,
    /// Answers to nothing that was asked.
    pub unasked: u64,
    /// Another program asks boards of this line, or did within a minute.
    pub is_shared: bool,
    /// Each board's address, whether it is there, and its errors.
    pub boards: Vec<Figure>,
    /// Addresses of boards that answer and are none of these, where they are looked for.
    pub strangers: Vec<u16>,
}

/// How one board of a line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its address.
    pub address: u16,
    /// It answers.
    pub is_here: bool,
    /// What answers at its address has not been understood for a while: two boards may have that address.
    pub is_garbled: bool,
    /// Its errors.
    pub errors: Errors,
}
