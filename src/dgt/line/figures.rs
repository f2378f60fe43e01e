//! Figures on the state of a line, for people.

use super::member::Errors;

/// Figures on the state of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Milliseconds of the last round, in which the master visited every board that answers.
    pub cycle_ms: u64,
    /// The longest time between two visits of one board.
    pub longest_ms: u64,
    /// Number of answers that the master had not asked for.
    pub unasked: u64,
    /// Another program asks boards of this line, or did so within the last minute.
    pub is_shared: bool,
    /// The figures of each board.
    pub boards: Vec<Figure>,
    /// Addresses of boards that answer and are not among these, if the master searches for them.
    pub strangers: Vec<u16>,
}

/// Figures on one board of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its address.
    pub address: u16,
    /// The board answers.
    pub is_here: bool,
    /// The master has not understood the answers from its address for a while: two boards may have that
    /// address.
    pub is_garbled: bool,
    /// Its errors.
    pub errors: Errors,
}
