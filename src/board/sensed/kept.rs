//! How a snapshot writes what squares have shown.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use shakmaty::{Bitboard, Square};

use super::EARLIER;
use crate::{
    board::{kept::KeptSquare, placement::Code},
    time::Millis,
};

/// After a restart any square may have changed lately.
pub(super) fn all() -> Bitboard {
    Bitboard::FULL
}

/// A time for each square, for `#[serde(with)]`.
pub(super) mod times {
    use super::*;

    pub(in crate::board::sensed) fn serialize<S: Serializer>(
        since: &[Millis; 64],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        since.as_slice().serialize(to)
    }

    pub(in crate::board::sensed) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<[Millis; 64], D::Error> {
        let since = Vec::<Millis>::deserialize(from)?;
        let wrong = |since: Vec<_>| format!("it has the times of {} squares: a board has 64", since.len());
        since.try_into().map_err(|since| D::Error::custom(wrong(since)))
    }
}

/// What squares showed earlier, as far as that is known, for `#[serde(with)]`.
pub(super) mod earlier {
    use super::*;

    type Earlier = [[(Code, Millis); EARLIER]; 64];

    pub(in crate::board::sensed) fn serialize<S: Serializer>(
        earlier: &Earlier,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let known = |square: Square| {
            let all = &earlier[usize::from(square)];
            let last = all.iter().rposition(|reading| *reading != Default::default())?;
            Some((KeptSquare(square), &all[..=last]))
        };
        to.collect_seq(Square::ALL.into_iter().filter_map(known))
    }

    pub(in crate::board::sensed) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Earlier, D::Error> {
        let mut earlier = Earlier::from([[Default::default(); EARLIER]; 64]);
        for (KeptSquare(square), readings) in Vec::<(KeptSquare, Vec<(Code, Millis)>)>::deserialize(from)? {
            let slots = &mut earlier[usize::from(square)];
            slots
                .iter_mut()
                .zip(readings)
                .for_each(|(slot, reading)| *slot = reading);
        }
        Ok(earlier)
    }
}
