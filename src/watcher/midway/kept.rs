//! A game in progress, before the watcher takes it up, as a snapshot keeps it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Midway, Way};
use crate::{
    board::{KeptLines, Sensed, Stand},
    dgt::ClockSide,
    laws::Side,
    watcher::arrays::{castling_of, is_playable},
};

/// Two sides may have the move, and either side of the clock may be White's.
const MOST_WAYS: usize = 4;

/// A game in progress as a snapshot keeps it.
pub(in crate::watcher) type KeptMidway = Midway<KeptWay>;

/// One possible way as a snapshot keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::watcher) struct KeptWay {
    turn: Side,
    /// True when the left side of the clock is White's.
    white_left: Option<bool>,
    lines: KeptLines,
    unpressed: bool,
    owed: bool,
}

impl<W> Midway<W> {
    /// The same with these ways.
    fn with<V>(&self, ways: Vec<V>) -> Midway<V> {
        Midway {
            from: self.from.clone(),
            since: self.since,
            stood_since: self.stood_since,
            astray: self.astray,
            open: self.open,
            last_press: self.last_press,
            is_late: self.is_late,
            from_first_time: self.from_first_time,
            stood: self.stood,
            is_unsure: self.is_unsure,
            is_open: self.is_open,
            ways,
        }
    }
}

impl Midway {
    /// What a snapshot keeps of it.
    pub(in crate::watcher) fn keep(&self, sensed: &Sensed) -> KeptMidway {
        let kept = |way: &Way| KeptWay {
            turn: way.turn.into(),
            white_left: way.white.map(|side| side == ClockSide::Left),
            lines: KeptLines::of(&way.lines, sensed),
            unpressed: way.unpressed,
            owed: way.owed,
        };
        self.with(self.ways.iter().map(kept).collect())
    }
}

impl KeptMidway {
    /// The game in progress. The message of an error says what makes no sense in it.
    pub(in crate::watcher) fn restore(&self, sensed: &Sensed) -> Result<Midway, String> {
        let count = self.ways.len();
        if !(1..=MOST_WAYS).contains(&count) {
            return Err(format!("{count} ways: 1 to {MOST_WAYS} are possible"));
        }
        if self
            .ways
            .iter()
            .any(|way| way.white_left.is_some() != self.ways[0].white_left.is_some())
        {
            return Err("in some ways a clock runs, and in others none".to_owned());
        }
        if !is_playable(&self.from) {
            return Err("each player has one king, and not in the position it goes on from".to_owned());
        }
        let side = |left| if left { ClockSide::Left } else { ClockSide::Right };
        let mode = castling_of(&self.from);
        let restored = |kept: &KeptWay| {
            let turn = kept.turn.into();
            let stand = Stand::of_placement(&self.from, turn, mode);
            Ok(Way {
                turn,
                white: kept.white_left.map(side),
                lines: kept.lines.restore(&Arc::new(stand), sensed)?,
                unpressed: kept.unpressed,
                owed: kept.owed,
            })
        };
        let ways: Result<Vec<Way>, String> = self.ways.iter().map(restored).collect();
        Ok(self.with(ways?))
    }
}
