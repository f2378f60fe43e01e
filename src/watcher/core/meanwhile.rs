//! The copy of a game with which the watcher goes on after a result, or after the pieces were set up anew
//! before a result. Nobody hears of its events unless an arbiter says that the game went on, or that another
//! has begun. Then nothing of it is missing. There is one, too, beside a game that is lost in a gap: what stands on
//! the board goes on as a game of its own, and is told once the watcher gives the gap up.

use super::{
    phase::Phase,
    play::Play,
    start::Setup,
    unsaid::{FIRST_UNSAID, Unsaid},
};
use crate::{
    dgt::ClockSide,
    event::CompletedBy,
    watcher::{
        clock::Clock,
        game::{Game, Made},
        outbox::Outbox,
    },
};

/// A copy with more events than these is no game, and is dropped.
const MOST_EVENTS: usize = 400;
/// After this many half-moves that the clock completed, the players play a game and do not analyse.
const SURELY_A_GAME: usize = 4;

/// After this many, in a game that has a result, the players may have gone on.
const PLAYED_ON: usize = 2;

/// Why there is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// The game has a result that a person, or the kings, gave.
    Ended,
    /// The pieces were set up anew, and the game has no result.
    SetUpAnew,
    /// Nothing explains so far what was played in a gap.
    Lost,
    /// A command has begun another game in place of the one with this number, perhaps by mistake.
    PutAside(u32),
}

/// The copy, and what is kept for it.
#[derive(Debug)]
pub(in crate::watcher) struct Meanwhile {
    pub(super) occasion: Occasion,
    /// Its outbox has what it has just said.
    pub(super) play: Play,
    /// What it would have said before.
    pub(super) unsaid: Vec<Unsaid>,
    /// White's side of the clock in the game that ended or is parked.
    white_side: Option<ClockSide>,
    /// An arbiter was asked whether the game goes on.
    pub(super) asked: bool,
}

impl Meanwhile {
    /// A copy that goes on from `phase`, after so many `games`.
    pub(super) fn new(occasion: Occasion, phase: Phase, games: u32, clock: &Clock) -> Box<Self> {
        let out = Outbox {
            seq: FIRST_UNSAID,
            ..Outbox::default()
        };
        Box::new(Self {
            occasion,
            play: Play::new(phase, out, games),
            unsaid: Vec::new(),
            white_side: clock.white_side(),
            asked: false,
        })
    }

    /// A copy that waits for a game, as `setup` has it.
    pub(super) fn waiting(occasion: Occasion, setup: Setup, games: u32, clock: &Clock) -> Box<Self> {
        Self::new(occasion, Phase::Waiting(Box::new(setup)), games, clock)
    }

    pub(super) fn is_put_aside(&self) -> bool {
        matches!(self.occasion, Occasion::PutAside(_))
    }

    /// The game that a command has put aside.
    pub(super) fn game_put_aside(&self) -> Option<&Game> {
        let Occasion::PutAside(number) = self.occasion else {
            return None;
        };
        self.play.phase.game().filter(|game| game.course.number == number)
    }

    /// Notes how the players sit in a game that was put aside, as long as it is watched.
    pub(super) fn sit_as_now(&mut self, clock: &Clock) {
        if self.is_put_aside() {
            self.white_side = clock.white_side();
        }
    }

    /// Presses in the copy have shown nothing of the sides of the clock.
    pub(super) fn sit_as_before(&self, clock: &mut Clock) {
        if let Some(side) = self.white_side
            && clock.white_side() != Some(side)
        {
            clock.found(side);
        }
    }

    /// Keeps what it has just said as what it would have said. Returns false where that is too much for a game.
    pub(super) fn keep_unsaid(&mut self) -> bool {
        let said = self.play.out.events.drain(..).map(Unsaid::from);
        self.unsaid.reserve_exact(said.len());
        self.unsaid.extend(said);
        self.unsaid.len() <= MOST_EVENTS
    }

    /// How many half-moves after the first `from` the clock completed.
    fn pressed_since(&self, from: usize) -> usize {
        let Some(game) = self.play.phase.game() else {
            return 0;
        };
        let pressed = |made: &&Made| made.completed_by == CompletedBy::Clock;
        game.course.record.iter().skip(from).filter(pressed).count()
    }

    pub(super) fn is_surely_a_game(&self) -> bool {
        self.occasion == Occasion::SetUpAnew && self.pressed_since(0) >= SURELY_A_GAME
    }

    /// True where a game that has a result after so many half-moves is played on by the clock.
    pub(super) fn is_played_on(&self, plies: usize) -> bool {
        self.occasion == Occasion::Ended && self.pressed_since(plies) >= PLAYED_ON
    }

    /// True if players only showed half-moves since the pieces were set up: the clock stands and nobody
    /// pressed it, though the game that is `parked` was played with it. One half-move alone may be the first of a game
    /// that waits for its press.
    pub(super) fn is_analysis(&self, parked: &Game, clock: &Clock) -> bool {
        let Some(shown) = self.play.phase.game() else {
            return false;
        };
        let half_moves = shown.course.base + shown.course.lines.best().plies.len();
        parked.course.clock_used && !clock.runs() && half_moves > 1 && self.pressed_since(0) == 0
    }
}
