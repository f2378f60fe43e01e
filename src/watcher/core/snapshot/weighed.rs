//! What the watcher weighs while a game goes on: the readings, the hypotheses that explain them, the presses
//! that are not judged yet, what hands did. The snapshot keeps all of it, so that after a restart the watcher
//! goes on as if it had never stopped. The game can go on without it.

use std::{collections::VecDeque, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    super::{Core, phase::Phase},
    parsed::{Hex, SavedPlies},
    record::SavedOpen,
};
use crate::{
    board::{KeptLines, Sensed},
    dgt::Squares,
    time::Millis,
    watcher::game::{
        Game, Press,
        gap::{NextSearch, Unbridged},
        glimpse::Glimpse,
        touch::{Hands, SavedHands},
    },
};

/// The readings of a game and what the watcher makes of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Weighed {
    /// The readings of the board's squares, in its own order, as one byte each.
    squares: Hex,
    sensed: Box<Sensed>,
    lines: KeptLines,
    /// Number of half-moves of the record before the position where the hypotheses start.
    base: SavedPlies,
    began: Millis,
    read_since: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missed_until: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suspected_fall: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suspected_victim: Option<Millis>,
    /// The press that is being judged, and later ones.
    press: Option<Press>,
    later_presses: VecDeque<Press>,
    doubted: Option<Millis>,
    left_since: Option<Millis>,
    asked: Option<Millis>,
    unbridged: Option<SavedGap>,
    hands: SavedHands,
    /// The end of the last lump.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lumped: Option<Millis>,
    /// Until when the line may have gathered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) gathered_until: Option<Millis>,
    /// What stood on the board within it, and is not told yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    glimpses: Vec<SavedGlimpse>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedGlimpse {
    open: SavedOpen,
    at: Millis,
    stood: bool,
    lump: Millis,
}

impl SavedGlimpse {
    fn of(glimpse: &Glimpse, game: &Game) -> Self {
        Self {
            open: SavedOpen::of(&glimpse.open, game.course.record.mode()),
            at: glimpse.at,
            stood: glimpse.stood,
            lump: glimpse.lump,
        }
    }

    fn restore(&self, game: &Game) -> Result<Glimpse, String> {
        Ok(Glimpse {
            open: self.open.restore(game)?,
            at: self.at,
            stood: self.stood,
            lump: self.lump,
        })
    }
}

/// A gap that is not explained yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SavedGap {
    since: Millis,
    told: Option<Millis>,
    /// The next search waits for the clock, too.
    waits: bool,
    tried: Millis,
    /// It waits for hands to leave the board.
    #[serde(default)]
    at_rest: bool,
    #[serde(default)]
    is_first: bool,
}

impl SavedGap {
    fn of(gap: Unbridged) -> Self {
        let (tried, waits) = match gap.search {
            NextSearch::AfterChange(tried) => (tried, false),
            NextSearch::AfterClock(tried) => (tried, true),
            NextSearch::AtRest => (gap.since, true),
        };
        Self {
            since: gap.since,
            told: gap.told,
            waits,
            tried,
            at_rest: matches!(gap.search, NextSearch::AtRest),
            is_first: gap.is_first,
        }
    }

    fn restore(self) -> Unbridged {
        Unbridged {
            since: self.since,
            told: self.told,
            is_first: self.is_first,
            search: if self.at_rest {
                NextSearch::AtRest
            } else if self.waits {
                NextSearch::AfterClock(self.tried)
            } else {
                NextSearch::AfterChange(self.tried)
            },
        }
    }
}

impl Weighed {
    /// What the snapshot keeps of `core`; none if the board was not read yet, or no game goes on.
    pub(super) fn of(core: &Core) -> Option<Self> {
        let (Phase::Game(game), Some(raw)) = (&core.play.phase, &core.world.board.raw) else {
            return None;
        };
        game.is_watched().then(|| Self {
            squares: Hex::of(raw),
            sensed: Box::new(core.world.board.sensed.clone()),
            lines: KeptLines::of(&game.course.lines, &core.world.board.sensed),
            base: game.course.base.into(),
            began: game.course.began,
            read_since: game.gap.read_since,
            missed_until: game.gap.missed_until,
            suspected_fall: game.suspected_fall,
            suspected_victim: game.suspected_victim,
            press: game.presses.judged.clone(),
            later_presses: game.presses.later.clone(),
            doubted: game.course.doubted,
            left_since: game.course.left_since,
            asked: game.presses.asked,
            unbridged: game.gap.unbridged.map(SavedGap::of),
            hands: SavedHands::of(&game.hands),
            lumped: core.world.timing.lumped,
            gathered_until: core.world.timing.gathered_until,
            glimpses: game
                .lump
                .glimpses
                .iter()
                .map(|glimpse| SavedGlimpse::of(glimpse, game))
                .collect(),
        })
    }

    /// Parses what was kept with `game`. An error says what makes no sense in it.
    pub(super) fn read(kept: serde_json::Value, mut game: Game) -> Result<Self, String> {
        let weighed: Self = serde_json::from_value(kept).map_err(|error| error.to_string())?;
        weighed.restore(&mut game)?;
        Ok(weighed)
    }

    /// Puts this back into `game`. Returns the readings in the board's order and as the hypotheses use them.
    pub(super) fn restore(&self, game: &mut Game) -> Result<(Squares, Sensed), String> {
        let squares = self.squares.squares()?;
        let base = usize::from(self.base);
        if base > game.course.record.plies() {
            return Err(format!(
                "it goes on from half-move {base} of {}",
                game.course.record.plies()
            ));
        }
        let stand = game.course.record.stand_at(base);
        game.course.lines = self.lines.restore(stand, &self.sensed).or_else(|error| {
            // Hypotheses that contradict the record may begin with another capture en passant.
            let believed = stand.as_believed().ok_or(error)?;
            self.lines.restore(&Arc::new(believed), &self.sensed)
        })?;
        game.course.base = base;
        game.course.began = self.began;
        game.gap.read_since = self.read_since;
        game.gap.missed_until = self.missed_until;
        game.suspected_fall = self.suspected_fall;
        game.suspected_victim = self.suspected_victim;
        game.presses.judged.clone_from(&self.press);
        game.presses.later.clone_from(&self.later_presses);
        game.course.doubted = self.doubted;
        game.course.left_since = self.left_since;
        game.presses.asked = self.asked;
        game.gap.unbridged = self.unbridged.map(SavedGap::restore);
        game.hands = Hands::from(&self.hands);
        let glimpses: Result<_, String> = self.glimpses.iter().map(|kept| kept.restore(game)).collect();
        game.lump.glimpses = glimpses?;
        // The hypotheses already hide these pieces.
        game.unread.hidden_before = shakmaty::Bitboard::EMPTY;
        Ok((squares, (*self.sensed).clone()))
    }
}
