//! What the host may say to a board. Commands that write its EEPROM or start its boot loader
//! cannot be expressed, nor can the request for its identification text.

/// One command in single-board mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Back to idle.
    Reset,
    /// The whole board.
    Dump,
}
