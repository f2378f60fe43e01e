//! The state of a watcher that must survive a restart during a game. It is opaque to the journal, which keeps
//! it as JSON.
//!
//! It carries a version. The program reads snapshots of older programs. If a newer program wrote a snapshot,
//! or it is damaged or makes no sense, the program sets aside as much of it as it must, and a notice says
//! what was lost.

mod found;
mod parsed;
mod record;
mod saved;
mod setup;
mod weighed;

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use shakmaty::Color;

use super::{Core, before_game::WaitingReport, phase::Phase, play::Play, world::World};
use crate::{
    board::{
        Orientation,
        chips::{Chips, WrongChip},
    },
    dgt::ClockSide,
    watcher::{
        Table, arrays::is_full_array, clock::LastShown, last_correction::LastCorrection, taken_at::TakenAt,
    },
};
pub(super) use found::FoundGames;
use found::{FoundGame, OwnGame};
use parsed::SavedCount;
use parsed::When;
pub(super) use record::stand_of_fen;
use saved::{SavedGame, Wrong};
use setup::SavedSetup;
use weighed::Weighed;

/// The version that this program writes. It also reads version 0, which has the same fields and does not name
/// its version.
const VERSION: u64 = 1;

/// What a watcher needs to go on after a restart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Read")]
pub struct Snapshot {
    version: Present,
    /// The last `seq` given out.
    pub seq: u64,
    #[serde(flatten)]
    besides: Besides,
    game: Option<SavedGame>,
    /// The hypotheses of the time when it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    weighed: Option<Weighed>,
    /// What is known where no game goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    setup: Option<SavedSetup>,
    /// Games that may go on under another number, until the board was read: one of its own, and what others have kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<OwnGame>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found: Vec<FoundGame>,
    /// Messages about kept parts that cannot be used: which part, why, and what to do.
    #[serde(skip)]
    lost: Vec<String>,
}

/// What is kept besides games.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Besides {
    games: SavedCount,
    orientation: Orientation,
    /// True when the left side of the clock is White's.
    white_left: Option<bool>,
    /// True while no press has borne that out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    side_guessed: bool,
    /// While White's side is not known: whether White's time is taken to run when the clock is heard next.
    #[serde(skip_serializing_if = "Option::is_none")]
    white_runs: Option<bool>,
    /// The serial numbers of the board on which the game is played.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    played_on: Vec<String>,
    /// Pieces whose chip says another piece.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wrong_chips: Vec<WrongChip>,
    /// What the clock showed.
    #[serde(rename = "ran", skip_serializing_if = "Option::is_none")]
    shown: Option<LastShown>,
    /// The last event that put a record right.
    #[serde(skip_serializing_if = "Option::is_none")]
    put_right: Option<LastCorrection>,
    /// Reports that wait for the next game.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reports: Vec<WaitingReport>,
    /// When it was taken.
    at: When,
    /// The same by the wall clock, in Unix milliseconds, where that is known. An older program did not keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_ms: Option<i64>,
}

/// The present version: a snapshot in memory has no other.
#[derive(Clone, Copy, Debug, Default)]
struct Present;

impl Serialize for Present {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(VERSION)
    }
}

/// A snapshot as it is read. It may make no sense.
#[derive(Deserialize)]
struct Read {
    #[serde(default)]
    version: u64,
    seq: u64,
    #[serde(flatten)]
    besides: Besides,
    #[serde(default)]
    game: Option<SavedGame>,
    /// The game can go on without it.
    #[serde(default)]
    weighed: Option<serde_json::Value>,
    /// The board can be read anew.
    #[serde(default)]
    setup: Option<serde_json::Value>,
    #[serde(default)]
    own: Option<OwnGame>,
    /// It is from outside. Where it is there, the game beside it is over under its number.
    #[serde(default)]
    found: Option<serde_json::Value>,
}

/// The part that every version has.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    version: u64,
}

/// The numbers, which go on even if the rest cannot be used.
#[derive(Default, Deserialize)]
struct Numbers {
    #[serde(default)]
    games: SavedCount,
}

/// Why a snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    /// A later version of the program wrote it.
    #[error("it has version {found}, this program knows {VERSION}")]
    Newer { found: u64 },
    /// It is no snapshot.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// Its game is impossible.
    #[error("it makes no sense: {0}")]
    Senseless(#[from] Wrong),
}

impl TryFrom<Read> for Snapshot {
    type Error = Unusable;

    fn try_from(read: Read) -> Result<Self, Unusable> {
        if read.version > VERSION {
            return Err(Unusable::Newer { found: read.version });
        }
        let game = match &read.game {
            Some(game) => Some(game.restore(read.besides.games.into())?),
            None => None,
        };
        let (goes_on, own, found) = match read.found {
            None => (read.game, read.own, Vec::new()),
            Some(found) => {
                let own = game.as_ref().and_then(OwnGame::of).or(read.own);
                (None, own, FoundGame::read(found))
            }
        };
        let mut snapshot = Self {
            version: Present,
            // The journal's number counts in the end, and it keeps no greater one.
            seq: read.seq.min(i64::MAX as u64),
            besides: read.besides,
            game: goes_on,
            weighed: None,
            setup: None,
            own,
            found,
            lost: Vec::new(),
        };
        match read
            .weighed
            .zip(game)
            .map(|(kept, game)| Weighed::read(kept, game))
        {
            Some(Ok(weighed)) => snapshot.weighed = Some(weighed),
            Some(Err(error)) => snapshot.lost.push(weighed_lost(&error)),
            None => {}
        }
        match read.setup.map(SavedSetup::read) {
            Some(Ok(setup)) if snapshot.game.is_none() => snapshot.setup = Some(setup),
            Some(Err(error)) => snapshot.lost.push(setup_lost(&error)),
            _ => {}
        }
        Ok(snapshot)
    }
}

impl Snapshot {
    /// The snapshot that the journal kept; if that cannot be used, one with nothing but the numbers. Events
    /// go on after `last_seq`, the last number of the journal.
    #[must_use]
    pub fn kept(text: Option<&str>, last_seq: u64) -> Self {
        let read = |text: &str| {
            Self::read(text).unwrap_or_else(|error| {
                let Numbers { games } = serde_json::from_str(text).unwrap_or_default();
                Self {
                    besides: Besides {
                        games,
                        ..Besides::default()
                    },
                    lost: vec![all_lost(&error, last_seq)],
                    ..Self::default()
                }
            })
        };
        Self {
            seq: last_seq,
            ..text.map(read).unwrap_or_default()
        }
    }

    fn read(text: &str) -> Result<Self, Unusable> {
        let head: Head = serde_json::from_str(text)?;
        if head.version > VERSION {
            return Err(Unusable::Newer { found: head.version });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The messages about kept parts that cannot be used. The watcher gives them as notices.
    #[must_use]
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// When it was taken.
    pub(in crate::watcher) fn taken_at(&self) -> TakenAt {
        TakenAt {
            own: self.besides.at.0,
            by_wall_ms: self.besides.at_ms,
        }
    }

    /// What is to be kept of `core`, the wall clock showing `at_ms` at its time.
    pub(in crate::watcher) fn of(core: &Core, at_ms: Option<i64>) -> Self {
        let (clock, board) = (&core.world.clock, &core.world.board);
        let serials = core.contact.played_on.board.serials();
        Self {
            version: Present,
            seq: core.play.out.seq,
            besides: Besides {
                games: core.play.games.into(),
                orientation: board.orientation,
                white_left: clock.white_side().map(|side| side == ClockSide::Left),
                side_guessed: clock.is_guessed(),
                white_runs: clock.is_to_run_for().map(Color::is_white),
                played_on: serials.map(str::to_owned).collect(),
                wrong_chips: board.chips.keep(),
                shown: clock.shown(),
                put_right: core.play.out.put_right.clone(),
                reports: core.reports.clone(),
                at: When(core.now),
                at_ms,
            },
            weighed: Weighed::of(core),
            setup: SavedSetup::of(core),
            game: core.play.phase.game().map(SavedGame::of),
            own: core.found.own.clone(),
            found: core.found.others.clone(),
            lost: Vec::new(),
        }
    }

    /// Has `core` go on from here. The watcher finds what was played since when it reads the board.
    pub(super) fn resume(&self, core: &mut Core) {
        let besides = &self.besides;
        core.contact.succeeds = true;
        core.play.out.seq = self.seq;
        core.play.games = besides.games.into();
        core.play.out.put_right.clone_from(&besides.put_right);
        core.reports.clone_from(&besides.reports);
        if core.world.settings.orientation == crate::watcher::OrientationSetting::Auto {
            core.world.board.orientation = besides.orientation;
        }
        if let Some(left) = besides.white_left {
            let side = if left { ClockSide::Left } else { ClockSide::Right };
            if besides.side_guessed {
                core.world.clock.guess(side);
            } else {
                core.world.clock.found(side);
            }
        }
        if let Some(white) = besides.white_runs {
            core.world.clock.runs_for(Color::from_white(white));
        }
        core.now = self.taken_at().own;
        core.world.board.chips = Chips::restore(&besides.wrong_chips, besides.orientation);
        core.world.clock.go_on(besides.shown, core.now);
        for serial in &besides.played_on {
            core.contact.played_on.board.learn_serial(serial);
        }
        let Some(saved) = &self.game else {
            core.found = FoundGames {
                own: self.own.clone(),
                others: self.found.clone(),
            };
            // It holds only if the board lies the same way.
            let kept = self.setup.as_ref();
            if let Some(setup) = kept.filter(|_| core.world.board.orientation == besides.orientation) {
                setup.put_back(core);
            }
            return;
        };
        take_up(&mut core.world, &mut core.play, saved, besides.orientation);
        if let Phase::Game(game) = &mut core.play.phase {
            // The kept hypotheses hold only if the board lies the same way.
            let weighed = self
                .weighed
                .as_ref()
                .filter(|_| core.world.board.orientation == besides.orientation);
            core.world.timing.lumped = weighed.and_then(|weighed| weighed.lumped);
            core.world.timing.gathered_until = weighed.and_then(|weighed| weighed.gathered_until);
            if let Some(Ok((squares, sensed))) = weighed.map(|weighed| weighed.restore(game)) {
                core.world.board.raw = Some(squares);
                core.world.board.sensed = sensed;
            }
            core.play
                .out
                .questions
                .extend(game.cases.questions(game.course.record.mode()));
            core.world.board.gap = Some(core.now);
        }
    }
}

fn all_lost(error: &Unusable, last_seq: u64) -> String {
    format!(
        "What was kept of the game over the restart is set aside: {error}. The game is taken up from what stands on the \
         board; half-moves, counts of offences and open irregularities from before are known no more. They are in the \
         events up to number {last_seq}: hold them against the score sheets. Please report it, unless an older program was \
         started on purpose."
    )
}

fn weighed_lost(error: &str) -> String {
    format!(
        "What was heard last before the restart is set aside: {error}. The game goes on; a press or a half-move that was \
         under way then may be missed. Look at the board and the score sheets, and please report it."
    )
}

fn setup_lost(error: &str) -> String {
    format!(
        "What was known before the restart of a game that is about to begin is set aside: {error}. The board is read anew; \
         first half-moves that were not told yet may be missing. Look at the score sheets, and please report it."
    )
}

/// Goes on with the game as it was saved. `TryFrom<Read>` has checked that it makes sense.
fn take_up(world: &mut World, play: &mut Play, saved: &SavedGame, orientation: Orientation) {
    let Ok(mut game) = saved.restore(play.games) else {
        return;
    };
    // An older program did not keep the table, and took the names from the configuration.
    if saved.table.is_none() {
        game.table = Table::of(&world.settings);
    }
    // Nor did it keep the rules.
    if saved.rules.is_none() {
        game.rules = Arc::new(world.settings.rules.clone());
    }
    // The initial position of this game showed which way round the board lies, whatever the configuration
    // says.
    if is_full_array(game.course.record.start.placement()) {
        world.board.orientation = orientation;
    }
    play.phase = Phase::Game(Box::new(game));
}
#[cfg(test)]
mod tests;
