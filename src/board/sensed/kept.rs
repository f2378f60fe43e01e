//! The readings of a board, as a snapshot keeps them.

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Square};

use super::{EARLIER, Sensed, Unheard, lumps::Lumps};
use crate::{
    board::{
        kept::{KeptSquare, bits},
        placement::{Code, Placement},
    },
    time::Millis,
};

/// The readings as a snapshot keeps them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptSensed {
    placement: Placement,
    /// Of each square, since when it shows what it shows.
    since: Vec<Millis>,
    /// What squares showed earlier, the last first.
    earlier: Vec<(KeptSquare, Vec<(Code, Millis)>)>,
    last_change: Millis,
    last_arrival: Millis,
    #[serde(with = "bits")]
    by_dump: Bitboard,
    #[serde(with = "bits")]
    lifted: Bitboard,
    #[serde(with = "bits")]
    untold: Bitboard,
    lost: bool,
    last_dump: Option<Millis>,
    felt: bool,
    #[serde(with = "bits")]
    dead: Bitboard,
    #[serde(with = "bits")]
    ever_read: Bitboard,
    #[serde(default)]
    unheard: Unheard,
    #[serde(default)]
    lumps: Lumps,
}

impl Sensed {
    /// These readings as a snapshot keeps them.
    #[must_use]
    pub fn keep(&self) -> KeptSensed {
        let earlier = |s: Square| {
            let all = &self.earlier[usize::from(s)];
            let known = all.iter().rposition(|reading| *reading != Default::default())?;
            Some((KeptSquare(s), all[..=known].to_vec()))
        };
        KeptSensed {
            placement: self.placement.clone(),
            since: self.since.to_vec(),
            earlier: Square::ALL.into_iter().filter_map(earlier).collect(),
            last_change: self.last_change,
            last_arrival: self.last_arrival,
            by_dump: self.by_dump,
            lifted: self.lifted,
            untold: self.untold,
            lost: self.lost,
            last_dump: self.last_dump,
            felt: self.felt,
            dead: self.dead,
            ever_read: self.ever_read,
            unheard: self.unheard,
            lumps: self.lumps,
        }
    }
}

impl KeptSensed {
    /// The readings.
    ///
    /// # Errors
    /// The message says what makes no sense in them.
    pub fn restore(&self) -> Result<Sensed, String> {
        let times = self.since.len();
        let since = <[Millis; 64]>::try_from(&self.since[..])
            .map_err(|_| format!("it has the times of {times} squares: a board has 64"))?;
        let mut sensed = Sensed {
            placement: self.placement.clone(),
            since,
            last_change: self.last_change,
            last_arrival: self.last_arrival,
            by_dump: self.by_dump,
            lifted: self.lifted,
            untold: self.untold,
            lost: self.lost,
            last_dump: self.last_dump,
            felt: self.felt,
            dead: self.dead,
            ever_read: self.ever_read,
            unheard: self.unheard,
            lumps: self.lumps,
            ..Sensed::default()
        };
        for (KeptSquare(square), readings) in &self.earlier {
            let slots = &mut sensed.earlier[usize::from(*square)];
            for (slot, reading) in slots.iter_mut().zip(readings.iter().take(EARLIER)) {
                *slot = *reading;
            }
        }
        Ok(sensed)
    }
}
