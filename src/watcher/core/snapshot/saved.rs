//! A game as a snapshot keeps it: to JSON, and back where it makes sense.

use std::{collections::VecDeque, sync::Arc};

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, CastlingMode, Square};

use super::{
    parsed::{SavedCount, SavedPlies, Shown},
    record::{SavedOpen, SavedPly, fen},
};
use crate::{
    board::{Bill, Code, Item, Line, Placement, PlyKind, Sensed, Stand, kept::KeptSquare, weight},
    dgt::ClockSide,
    event::GameResult,
    time::Millis,
    watcher::{
        Rules, Table,
        clock::Presses,
        game::{
            Game, Open,
            accuse::promotion_ways,
            cases::Cases,
            course::Course,
            doubt::{Of, Tale},
            flags::Flags,
            overruled::Overruled,
            recall::WholeRecord,
            record::Former,
            unclocked::Unclocked,
        },
    },
};

/// What makes no sense in a saved game, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub(super) struct Wrong {
    place: String,
    what: String,
}

impl Wrong {
    fn at(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
        }
    }
}

/// A game as a snapshot keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedGame {
    start: String,
    chess960: bool,
    plies: Vec<SavedPly>,
    /// Half-moves that were taken back while the clock stood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    withdrawn: Vec<SavedPly>,
    /// What is known of half-moves that are off the record.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    former: VecDeque<Former>,
    /// Half-moves after which the lever was turned although the clock stood.
    #[serde(default, skip_serializing_if = "is_zero")]
    unclocked: u32,
    open: Vec<SavedOpen>,
    #[serde(default)]
    closed: Vec<SavedOpen>,
    offences: [SavedCount; 2],
    result: Option<GameResult>,
    /// The pieces were set up anew before the game had a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    parked: bool,
    /// The players and the round; none in a snapshot of an older program.
    #[serde(default)]
    pub(super) table: Option<Table>,
    /// The rules; none in a snapshot of an older program.
    #[serde(default)]
    pub(super) rules: Option<Rules>,
    /// Other rules, of which a notice has said that they wait for the next game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rules_waiting: Option<Rules>,
    /// An arbiter entered the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    confirmed: bool,
    /// The board showed the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shown: bool,
    /// The watcher has already used the result that the board shows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    show_spent: bool,
    #[serde(default)]
    flags: Flags,
    clock_used: bool,
    /// The record when it was last complete: its number of half-moves, and the readings of the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<(SavedPlies, Shown)>,
    /// The last presses before that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pressed: Option<SavedPresses>,
    /// A placement that does not count, because a person has put the record right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overruled: Option<Overruled>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set_up: Option<Placement>,
    /// Sensor faults, and the doubts that they cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread: Option<SavedUnread>,
}

/// Sensor faults, and the doubts that they cause.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SavedUnread {
    /// Squares whose piece is not read.
    hidden: Vec<KeptSquare>,
    /// Squares that read nothing.
    dead: Vec<KeptSquare>,
    /// Squares on which a piece was not read that was read elsewhere, with the number of times.
    silent: Vec<(KeptSquare, u8)>,
    /// Kinds of pieces for which the watcher gave notice, with the number of pieces of that kind that were
    /// read then.
    pieces: Vec<(Code, SavedPlies)>,
    /// Squares that read nothing for a while.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    healed: Vec<KeptSquare>,
    /// Squares for which the watcher gave notice.
    noticed: Vec<KeptSquare>,
    /// Number of half-moves of the record that were searched for silent squares.
    #[serde(default)]
    looked: SavedPlies,
    /// The board does not read a piece, and that piece has moved.
    moved: bool,
    /// The board did not read a piece where it went.
    #[serde(default)]
    strayed: bool,
    /// Length of the record when the watcher reported the tale of a gap that later play has not borne out.
    gap: Option<SavedPlies>,
    /// More than one gap is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    several: bool,
    /// That gap is the beginning of the game.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    begun_unheard: bool,
    /// That gap is the beginning of the game, which was read in one lump.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    begun_in_lump: bool,
    /// Pieces that the record does not have may stand on the board.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    absent: bool,
    /// The watcher had lost track of the game and took it up anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    taken_up_anew: bool,
    /// Nobody knows which way round the board lies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    turned: bool,
    /// The record was corrected, or nobody measured when its half-moves happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    corrected: bool,
    /// Length of the record when it was last corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    corrected_at: Option<SavedPlies>,
    /// The half-move that the watcher could not name, and that would be an offence on a sound board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    excused: Option<SavedPlies>,
}

impl SavedUnread {
    /// The faults and doubts of `game`; none where nothing is wrong.
    fn of(game: &Game) -> Option<Self> {
        let unread = &game.unread;
        // The watcher will find faults again of which it has not given notice yet.
        let best = game.course.lines.best();
        let told = |s: &Square| {
            let code = best.placement().at(*s);
            unread.squares.contains(*s) || unread.pieces.iter().any(|(known, _)| *known == code)
        };
        let hidden: Bitboard = best.faults().hidden.into_iter().filter(told).collect();
        // A daemon that is killed before the board has answered knows them from the snapshot alone.
        let hidden = hidden | unread.hidden_before;
        let doubted = game.doubt.any() || game.doubt.gap.is_some() || game.doubt.shaken || game.doubt.turned;
        let is_of = |of| game.doubt.gap.is_some_and(|told| told.of == of);
        let sound = hidden.is_empty() && unread.is_empty() && !doubted && game.unread.noticed.is_empty();
        (!sound).then(|| Self {
            hidden: indices(hidden),
            dead: indices(unread.squares),
            silent: unread.silent.iter().map(|(s, n)| (KeptSquare(*s), *n)).collect(),
            pieces: unread
                .pieces
                .iter()
                .map(|(code, n)| (*code, (*n).into()))
                .collect(),
            healed: indices(unread.healed),
            noticed: indices(game.unread.noticed),
            looked: unread.looked.into(),
            moved: game.doubt.unread,
            strayed: game.doubt.strayed,
            gap: game.doubt.gap.map(|told| told.plies.into()),
            several: is_of(Of::Several),
            begun_unheard: is_of(Of::Beginning) || is_of(Of::BeginningInLump),
            begun_in_lump: is_of(Of::BeginningInLump),
            absent: game.doubt.absent,
            taken_up_anew: game.doubt.taken_up_anew,
            turned: game.doubt.turned,
            corrected: game.doubt.shaken,
            corrected_at: game.doubt.corrected.map(Into::into),
            excused: game.doubt.excused.map(Into::into),
        })
    }

    /// Which gap is in doubt. Several first: an older snapshot keeps beside it how the game began.
    fn gap_of(&self) -> Of {
        match self {
            Self { several: true, .. } => Of::Several,
            Self {
                begun_in_lump: true, ..
            } => Of::BeginningInLump,
            Self {
                begun_unheard: true, ..
            } => Of::Beginning,
            _ => Of::Gap,
        }
    }

    fn restore(&self, game: &mut Game) {
        game.unread.squares = squares(&self.dead);
        game.unread.silent = self.silent.iter().map(|(KeptSquare(s), n)| (*s, *n)).collect();
        game.unread.pieces = self.pieces.iter().map(|(code, n)| (*code, (*n).into())).collect();
        game.unread.healed = squares(&self.healed);
        game.unread.noticed = squares(&self.noticed);
        game.unread.looked = self.looked.into();
        game.doubt.unread = self.moved;
        game.doubt.strayed = self.strayed;
        game.doubt.gap = self.gap.map(|plies| Tale {
            plies: plies.into(),
            of: self.gap_of(),
        });
        game.doubt.absent = self.absent;
        game.doubt.taken_up_anew = self.taken_up_anew;
        game.doubt.turned = self.turned;
        game.doubt.shaken = self.corrected;
        game.doubt.corrected = self.corrected_at.map(Into::into);
        game.doubt.excused = self.excused.map(Into::into);
        game.unread.hidden_before = squares(&self.hidden);
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(many: &u32) -> bool {
    *many == 0
}

fn indices(squares: Bitboard) -> Vec<KeptSquare> {
    squares.into_iter().map(KeptSquare).collect()
}

fn squares(indices: &[KeptSquare]) -> Bitboard {
    indices.iter().map(|kept| kept.0).collect()
}

/// Presses: whether the last one was on the left, and for each side, the left one first, the seconds that the
/// clock showed before and after.
type SavedPresses = (bool, [Option<(u32, u32)>; 2]);

impl SavedGame {
    pub(super) fn of(game: &Game) -> Self {
        Self {
            start: game.course.record.start.fen(),
            chess960: game.course.record.mode() == CastlingMode::Chess960,
            plies: game.course.record.iter().map(SavedPly::of).collect(),
            withdrawn: game.course.record.withdrawn.iter().map(SavedPly::of).collect(),
            former: game.course.record.former.clone(),
            unclocked: game.unclocked.turns(),
            open: game
                .cases
                .open
                .iter()
                .map(|open| SavedOpen::of(open, game.course.record.mode()))
                .collect(),
            closed: game
                .cases
                .closed
                .iter()
                .map(|open| SavedOpen::of(open, game.course.record.mode()))
                .collect(),
            offences: game.cases.offences.map(Into::into),
            result: game.outcome.result,
            parked: game.outcome.parked,
            table: Some(game.table.clone()),
            rules: Some((*game.rules).clone()),
            rules_waiting: game.rules_waiting.clone(),
            confirmed: game.outcome.confirmed,
            shown: game.outcome.shown,
            show_spent: game.outcome.show_spent,
            flags: game.flags.clone(),
            clock_used: game.course.clock_used,
            whole: game
                .gap
                .recall
                .whole
                .as_ref()
                .map(|whole| (whole.plies.into(), Shown(whole.squares))),
            pressed: game
                .gap
                .recall
                .whole
                .as_ref()
                .and_then(|whole| whole.pressed)
                .map(|pressed| (pressed.last == ClockSide::Left, pressed.times)),
            overruled: game.overruled.clone(),
            set_up: game.set_up.clone(),
            unread: SavedUnread::of(game),
        }
    }

    /// The game as it was saved.
    pub(super) fn restore(&self, number: u32) -> Result<Game, Wrong> {
        let mode = CastlingMode::from_chess960(self.chess960);
        let fen = fen(&self.start).map_err(|what| Wrong::at("`start` of the game", what))?;
        let start = Arc::new(Stand::of_start(fen, mode));
        let unread = Sensed::default();
        let mut game = Game::new(number, start, &unread, Millis(0));
        for (i, saved) in self.plies.iter().enumerate() {
            let made = saved.restore(game.course.record.stand(), mode);
            game.course
                .record
                .push(made.map_err(|what| Wrong::at(format!("half-move {}", i + 1), what))?);
        }
        let mut before = game.course.record.stand().clone();
        for saved in &self.withdrawn {
            let made = saved.restore(&before, mode);
            let made = made.map_err(|what| Wrong::at("a half-move that was taken back", what))?;
            before = made.stand.clone();
            game.course.record.withdrawn.push(made);
        }
        game.course.record.former.clone_from(&self.former);
        game.unclocked = Unclocked::after(self.unclocked);
        game.cases.open = restored(&self.open, &game)?;
        game.cases.closed = restored(&self.closed, &game)?;
        game.cases.offences = self.offences.map(Into::into);
        game.outcome.result = self.result;
        game.outcome.parked = self.parked;
        game.table = self.table.clone().unwrap_or_default();
        game.rules = Arc::new(self.rules.clone().unwrap_or_default());
        game.rules_waiting.clone_from(&self.rules_waiting);
        game.outcome.confirmed = self.confirmed;
        // The watcher begins a copy again for what is played on.
        game.outcome.shown = self.shown;
        game.outcome.show_spent = self.show_spent;
        game.outcome.ended_by_hand = (self.confirmed || self.shown) && self.result.is_some();
        game.flags = self.flags.clone();
        game.course.clock_used = self.clock_used;
        game.gap.recall.whole = self.whole.as_ref().map(|(plies, shown)| WholeRecord {
            plies: (*plies).into(),
            squares: shown.0,
            pressed: self.pressed.map(|(left, times)| Presses {
                last: if left { ClockSide::Left } else { ClockSide::Right },
                times,
            }),
        });
        game.overruled.clone_from(&self.overruled);
        game.set_up.clone_from(&self.set_up);
        if let Some(saved) = &self.unread {
            saved.restore(&mut game);
        }
        game.gap.is_open = true;
        lines_after_restart(&mut game.course, &game.cases, &unread);
        Ok(game)
    }
}

fn restored(saved: &[SavedOpen], game: &Game) -> Result<Vec<Open>, Wrong> {
    let place = |open: &SavedOpen| format!("irregularity {:?}", open.id);
    saved
        .iter()
        .map(|open| open.restore(game).map_err(|what| Wrong::at(place(open), what)))
        .collect()
}

/// Starts the beam as it was after the report of the last irregularity, or from the record alone.
fn lines_after_restart(course: &mut Course, cases: &Cases, unread: &Sensed) {
    let now = Millis(0);
    course.base = course.record.plies();
    let stand = course.record.stand().clone();
    let line = Line::new(stand.clone(), unread, now);
    let next = course.record.plies() + 1;
    let mut nothing_done = line.clone();
    if cases
        .open
        .iter()
        .any(|open| open.ply == next && open.act.is_some())
    {
        // The press completed the act, so a hypothesis in which nothing was done pays for an empty press.
        nothing_done.charge(Item::EmptyPress, weight::EMPTY_PRESS);
    }
    let mut lines = vec![nothing_done];
    for open in cases.open.iter().filter(|open| open.ply == next) {
        if let (Some(mv), Some(act)) = (open.ruled, &open.act) {
            let ways = promotion_ways(&stand, mv, true, act.clone(), unread, now);
            lines.extend(ways.into_iter().map(|(mut line, nats)| {
                line.charge(Item::PutRight, nats);
                line
            }));
            continue;
        }
        if let (Some(mv), Some(target)) = (open.ruled, &open.target) {
            lines.push(line.played(PlyKind::Ruled(mv), target.clone(), unread, now, &Bill::default()));
        }
        if let Some(act) = &open.act {
            lines.push(line.after_act(act.clone(), unread, now));
        }
    }
    course.lines.frozen = true;
    course.lines.reset(now, unread, lines);
    course.lines.frozen = false;
}
