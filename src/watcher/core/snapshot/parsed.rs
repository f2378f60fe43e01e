//! Numbers and texts of a snapshot, parsed before they become indices, times or squares.

use serde::{Deserialize, Serialize};

use crate::{
    dgt::{PieceCode, Squares},
    time::Millis,
    watcher::onboard_log::{squares_of_text, squares_to_text},
};

/// A number that is no larger than `MOST`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub(in crate::watcher) struct UpTo<const MOST: u64>(u64);

/// A number of half-moves. No game has more.
pub(in crate::watcher) type SavedPlies = UpTo<1_000_000>;
/// A number of games of a board, or of offences of a player.
pub(super) type SavedCount = UpTo<1_000_000_000>;
/// A time of the watcher in milliseconds that a double holds exactly.
type Moment = UpTo<{ 1 << 53 }>;

impl<const MOST: u64> UpTo<MOST> {
    /// The number, or the largest allowed one, so that a written number can be read again.
    pub(super) fn of(number: u64) -> Self {
        Self(number.min(MOST))
    }
}

impl<const MOST: u64> TryFrom<u64> for UpTo<MOST> {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        if number > MOST {
            return Err(format!(
                "{number} is more than {MOST}, the most that there can be"
            ));
        }
        Ok(Self(number))
    }
}

impl<const MOST: u64> From<UpTo<MOST>> for u64 {
    fn from(number: UpTo<MOST>) -> Self {
        number.0
    }
}

impl From<usize> for SavedPlies {
    fn from(plies: usize) -> Self {
        Self::of(plies as u64)
    }
}

impl From<SavedPlies> for usize {
    fn from(plies: SavedPlies) -> Self {
        plies.0 as Self
    }
}

impl From<u32> for SavedCount {
    fn from(count: u32) -> Self {
        Self::of(count.into())
    }
}

impl From<SavedCount> for u32 {
    fn from(count: SavedCount) -> Self {
        count.0 as Self
    }
}

/// A time of the watcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Moment", into = "u64")]
pub(in crate::watcher) struct When(pub(in crate::watcher) Millis);

impl From<Moment> for When {
    fn from(moment: Moment) -> Self {
        Self(Millis(moment.0))
    }
}

impl From<When> for u64 {
    fn from(when: When) -> Self {
        Moment::of(when.0.0).0
    }
}

/// The readings of the board's squares, in its own order, as one hexadecimal digit each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(in crate::watcher) struct Shown(pub(in crate::watcher) Squares);

impl TryFrom<String> for Shown {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let none = || format!("{text:?} are no squares of a board: 64 hexadecimal digits are");
        squares_of_text(&text).map(Self).ok_or_else(none)
    }
}

impl From<Shown> for String {
    fn from(shown: Shown) -> Self {
        squares_to_text(&shown.0)
    }
}

/// Bytes in hex, as in a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(in crate::watcher) struct Hex(pub(in crate::watcher) Vec<u8>);

impl Hex {
    /// The readings of a board's squares, one byte each.
    pub(super) fn of(squares: &Squares) -> Self {
        Self(squares.iter().map(|code| code.0).collect())
    }

    /// The readings again. The message of an error says how many there are instead.
    pub(super) fn squares(&self) -> Result<Squares, String> {
        let codes: Vec<PieceCode> = self.0.iter().copied().map(PieceCode).collect();
        Squares::try_from(&codes[..]).map_err(|_| format!("it has {} squares: a board has 64", codes.len()))
    }
}

impl TryFrom<String> for Hex {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let byte = |pair: &[u8]| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        let none = || format!("{text:?} are no bytes: two hexadecimal digits each are");
        bytes.map(Self).ok_or_else(none)
    }
}

impl From<Hex> for String {
    fn from(hex: Hex) -> Self {
        hex.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
