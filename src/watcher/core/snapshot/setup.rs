//! What the watcher knows before a game begins. The snapshot keeps it, so that a restart while the first half-moves are
//! played does not lose them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    super::{
        Core,
        phase::Phase,
        start::{REMEMBERED, Setup},
    },
    parsed::Hex,
};
use crate::{
    board::{KeptLines, Placement, Sensed, orientation::looks_like_start},
    dgt::Squares,
    time::Millis,
    watcher::{arrays::stand_of, midway::KeptMidway},
};

/// The readings of the board, and what the watcher makes of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedSetup {
    /// The readings of the board's squares, in its own order, as one byte each.
    squares: Hex,
    sensed: Box<Sensed>,
    array: Option<Placement>,
    lines: Option<KeptLines>,
    midway: Option<KeptMidway>,
    started: Option<Millis>,
    presses: Vec<Millis>,
    missed_until: Option<Millis>,
    unseen: bool,
    /// An initial position has shown which way round the board lies.
    orientation_shown: bool,
    in_doubt: bool,
    absent: bool,
    /// The end of the last lump.
    lumped: Option<Millis>,
    /// Until when the line may have gathered.
    gathered_until: Option<Millis>,
}

impl SavedSetup {
    /// What the snapshot keeps of `core`; none while nothing is known of a game.
    pub(super) fn of(core: &Core) -> Option<Self> {
        let (Phase::Waiting(setup), Some(raw)) = (&core.play.phase, &core.world.board.raw) else {
            return None;
        };
        setup.is_worth_keeping().then(|| Self {
            squares: Hex::of(raw),
            sensed: Box::new(core.world.board.sensed.clone()),
            array: setup.array.clone(),
            lines: setup
                .lines
                .as_ref()
                .map(|lines| KeptLines::of(lines, &core.world.board.sensed)),
            midway: setup
                .midway
                .as_ref()
                .map(|midway| midway.keep(&core.world.board.sensed)),
            started: setup.started,
            presses: setup.presses.clone(),
            missed_until: setup.missed_until,
            unseen: setup.unseen,
            orientation_shown: core.world.board.orientation_shown,
            in_doubt: setup.in_doubt,
            absent: setup.absent,
            lumped: core.world.timing.lumped,
            gathered_until: core.world.timing.gathered_until,
        })
    }

    /// Parses what was kept. An error says what makes no sense in it.
    pub(super) fn read(kept: serde_json::Value) -> Result<Self, String> {
        let saved: Self = serde_json::from_value(kept).map_err(|error| error.to_string())?;
        saved.restore()?;
        Ok(saved)
    }

    /// Puts this back into `core`, which waits for a game.
    pub(super) fn put_back(&self, core: &mut Core) {
        let Ok((squares, sensed, setup)) = self.restore() else {
            return;
        };
        core.world.board.raw = Some(squares);
        core.world.board.orientation_shown = self.orientation_shown;
        core.world.board.sensed = sensed;
        core.world.timing.lumped = self.lumped;
        core.world.timing.gathered_until = self.gathered_until;
        core.play.phase = Phase::Waiting(Box::new(setup));
        core.world.board.gap = Some(core.now);
    }

    fn restore(&self) -> Result<(Squares, Sensed, Setup), String> {
        let squares = self.squares.squares()?;
        if self.presses.len() > REMEMBERED {
            let count = self.presses.len();
            return Err(format!("{count} presses: at most {REMEMBERED} are kept"));
        }
        if self.array.as_ref().is_some_and(|array| !looks_like_start(array)) {
            return Err("the initial position is none".to_owned());
        }
        let lines = match (&self.array, &self.lines) {
            (Some(array), Some(lines)) => Some(lines.restore(&Arc::new(stand_of(array)), &self.sensed)?),
            (None, Some(_)) => return Err("it has hypotheses without an initial position".to_owned()),
            (_, None) => None,
        };
        let midway = self.midway.as_ref().map(|midway| midway.restore(&self.sensed));
        let setup = Setup {
            read_since: None,
            array: self.array.clone(),
            lines,
            midway: midway.transpose()?,
            started: self.started,
            presses: self.presses.clone(),
            missed_until: self.missed_until,
            unseen: self.unseen,
            in_doubt: self.in_doubt,
            absent: self.absent,
        };
        Ok((squares, (*self.sensed).clone(), setup))
    }
}
