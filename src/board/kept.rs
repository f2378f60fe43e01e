//! How a snapshot writes values of other crates as JSON: squares, sides, sets of squares. Reading parses each
//! value by itself; whether they make sense together is checked elsewhere.

use serde::{Deserialize, Serialize};
use shakmaty::Square;

use super::placement::{Code, Placement};

/// A square by its index, 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct KeptSquare(pub Square);

impl TryFrom<u8> for KeptSquare {
    type Error = String;

    fn try_from(index: u8) -> Result<Self, String> {
        let none = |_| format!("there is no square {index}: there are 0 to 63");
        Square::try_from(index).map(Self).map_err(none)
    }
}

impl From<KeptSquare> for u8 {
    fn from(kept: KeptSquare) -> Self {
        Self::from(kept.0)
    }
}

/// What stands on the squares, a1 first: two hexadecimal digits each.
impl From<Placement> for String {
    fn from(placement: Placement) -> Self {
        let squares = Square::ALL.into_iter();
        squares
            .map(|square| format!("{:02x}", placement.at(square).0))
            .collect()
    }
}

impl TryFrom<String> for Placement {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let none = || format!("{text:?} is no placement: it has 128 hexadecimal digits");
        let code = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).ok()?;
            let is_hex = pair.bytes().all(|digit| digit.is_ascii_hexdigit());
            u8::from_str_radix(pair, 16).ok().filter(|_| is_hex).map(Code)
        };
        let pairs = text.as_bytes().chunks(2);
        if text.len() != 2 * Square::ALL.len() {
            return Err(none());
        }
        let mut placement = Self::default();
        for (square, pair) in Square::ALL.into_iter().zip(pairs) {
            placement.set(square, code(pair).ok_or_else(none)?);
        }
        Ok(placement)
    }
}

/// A square, for `#[serde(with)]`.
pub(super) mod square {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use shakmaty::Square;

    use super::KeptSquare;

    pub(in crate::board) fn serialize<S: Serializer>(square: &Square, to: S) -> Result<S::Ok, S::Error> {
        KeptSquare(*square).serialize(to)
    }

    pub(in crate::board) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Square, D::Error> {
        KeptSquare::deserialize(from).map(|kept| kept.0)
    }
}

/// A square that may be none, for `#[serde(with)]`.
pub(super) mod some_square {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use shakmaty::Square;

    use super::KeptSquare;

    pub(in crate::board) fn serialize<S: Serializer>(
        square: &Option<Square>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        square.map(KeptSquare).serialize(to)
    }

    pub(in crate::board) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Square>, D::Error> {
        Ok(Option::<KeptSquare>::deserialize(from)?.map(|kept| kept.0))
    }
}

/// A set of squares, a bit each, for `#[serde(with)]`.
pub(super) mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use shakmaty::Bitboard;

    pub(in crate::board) fn serialize<S: Serializer>(squares: &Bitboard, to: S) -> Result<S::Ok, S::Error> {
        squares.0.serialize(to)
    }

    pub(in crate::board) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bitboard, D::Error> {
        u64::deserialize(from).map(Bitboard)
    }
}

/// A player, for `#[serde(with)]`.
pub(crate) mod color {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use shakmaty::Color;

    use crate::terms::Side;

    pub(crate) fn serialize<S: Serializer>(color: &Color, to: S) -> Result<S::Ok, S::Error> {
        Side::from(*color).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Color, D::Error> {
        Side::deserialize(from).map(Color::from)
    }
}
