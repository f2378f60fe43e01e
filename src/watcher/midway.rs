//! A game that goes on when the daemon comes, before it is taken up: whose move it was and which side of the clock is
//! White's are not known. Each way in which it may be is followed, as lines are in a game, and what the players do tells which it is.

use std::sync::Arc;

use shakmaty::Color;

use super::{arrays::castling_of, clock::Clock};
use crate::{
    board::{Lines, Placement, Sensed, Stand, weight},
    dgt::ClockSide,
    time::Millis,
};

/// A half-move made before the daemon came may be pressed this long after.
pub(super) const STILL_OWED_MS: u64 = 2500;
/// One way must be the likelier by this.
const SURE: f32 = 1.0;
/// Where pieces stand for this long as no way explains, they are taken as they stand.
const ANEW_MS: u64 = 5000;
/// The same where pieces are only missing: they are in hands, or their arrival was lost and a dump will tell.
const IN_HAND_MS: u64 = 20_000;
/// So many half-moves more than are needed tell a game apart from all else, whosever clock it is.
const AGREED: usize = 4;
/// While something goes on it is looked at this often.
const LOOK_MS: u64 = 200;

/// What may go on at the board, all ways of it from the same placement.
#[derive(Debug)]
pub(super) struct Midway {
    /// What stood there.
    pub(super) from: Placement,
    since: Millis,
    /// Since when pieces stand as no way explains.
    astray: Option<Millis>,
    /// Since when no way has explained the board.
    open: Option<Millis>,
    last_press: Option<Millis>,
    ways: Vec<Way>,
}

/// One way in which it may be.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Who was to move.
    pub(super) turn: Color,
    /// White's side of the clock; none while no clock runs.
    pub(super) white: Option<ClockSide>,
    /// What was played since.
    pub(super) lines: Lines,
    /// The time of the player not to move ran: he had not pressed yet.
    unpressed: bool,
    /// And he has not pressed since.
    owed: bool,
}

impl Midway {
    pub(super) fn new(sensed: &Sensed, now: Millis, clock: &Clock) -> Self {
        let mode = castling_of(sensed.placement());
        let way = |turn| {
            let stand = Stand::of_placement(sensed.placement(), turn, mode);
            Way {
                turn,
                white: None,
                lines: Lines::new(Arc::new(stand), sensed, now),
                unpressed: false,
                owed: false,
            }
        };
        let mut midway = Self {
            from: sensed.placement().clone(),
            since: now,
            astray: None,
            open: None,
            last_press: None,
            ways: Color::ALL.map(way).into(),
        };
        midway.hear_clock(clock);
        midway
    }

    /// The clock may have been started: then either side of it may be White's.
    pub(super) fn hear_clock(&mut self, clock: &Clock) {
        let Some(counting) = clock.counting() else { return };
        if self.ways.iter().all(|way| way.white.is_some()) {
            return;
        }
        let sides = [ClockSide::Left, ClockSide::Right];
        let possible = sides
            .into_iter()
            .filter(|side| clock.white_side().is_none_or(|known| known == *side));
        let ways =
            possible.flat_map(|white| self.ways.iter().map(move |way| way.with_clock(white, counting)));
        self.ways = ways.collect();
    }

    /// Squares changed.
    pub(super) fn changed(&mut self, now: Millis, sensed: &Sensed, squares: shakmaty::Bitboard) {
        for way in &mut self.ways {
            way.lines.changed(now, sensed, squares);
        }
    }

    /// A side of the clock was pressed.
    pub(super) fn pressed(&mut self, at: Millis, sensed: &Sensed, side: ClockSide) {
        self.last_press = Some(at);
        for way in &mut self.ways {
            way.pressed(at, sensed, side);
        }
    }

    /// Time passes.
    pub(super) fn tick(&mut self, now: Millis, sensed: &Sensed) {
        for way in &mut self.ways {
            way.lines.tick(now, sensed);
        }
        let astray = !self.ways.iter().any(|way| way.explains_men(sensed));
        self.astray = astray.then(|| self.astray.unwrap_or(now));
        let open = !self.ways.iter().any(Way::explains);
        self.open = open.then(|| self.open.unwrap_or(now));
    }

    /// When what stands on the board is to be taken as it is, if nothing explains it by then.
    pub(super) fn given_up_at(&self) -> Option<Millis> {
        let astray = self.astray.map(|since| since + ANEW_MS);
        let open = self.open.map(|since| since + IN_HAND_MS);
        astray.into_iter().chain(open).min()
    }

    /// True when nothing has been done yet.
    fn is_idle(&self) -> bool {
        let idle = |way: &Way| way.explains() && way.lines.best().plies.is_empty();
        self.ways.iter().all(idle)
    }

    /// When no press is owed any more, nothing having been done since.
    fn quiet_at(&self) -> Millis {
        self.since.max(self.last_press.unwrap_or_default()) + STILL_OWED_MS
    }

    /// True when the players are at rest: no press is owed for what was made before the daemon came.
    pub(super) fn is_quiet(&self, now: Millis) -> bool {
        self.is_idle() && now >= self.quiet_at()
    }

    /// When it is to be looked at again, as far as time alone may tell more.
    pub(super) fn deadline(&self, now: Millis) -> Option<Millis> {
        if self.is_idle() {
            Some(self.quiet_at()).filter(|at| *at > now)
        } else {
            Some(now + LOOK_MS)
        }
    }

    /// The likeliest way, if `needed` half-moves show it, and no other way is nearly as likely: but for one with the same
    /// half-moves, once they are many; then White's side of the clock stays open.
    pub(super) fn decided(&self, now: Millis, sensed: &Sensed, needed: usize) -> Option<Way> {
        let cost = |way: &Way| way.cost(now, sensed, self.since);
        let best = self.ways.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        let line = best.lines.best();
        let likely = |other: &&Way| !std::ptr::eq(*other, best) && cost(other) < cost(best) + SURE;
        let mut others = self.ways.iter().filter(likely).peekable();
        let sure = others.peek().is_none();
        let agreed = line.plies.len() >= needed + AGREED && others.all(|other| other.is_same_play(best));
        // Nobody need press, but most do: then it is known whose half-move it was.
        let pressed = line.plies.iter().any(|ply| ply.pressed.is_some());
        let told = best.white.is_none() || pressed || line.plies.len() > needed;
        let shown = line.plies.len() >= needed && best.explains();
        (shown && told && (sure || agreed)).then(|| Way {
            white: best.white.filter(|_| sure),
            ..best.clone()
        })
    }
}

impl Way {
    /// The same with a clock that runs, White's side being `white`.
    fn with_clock(&self, white: ClockSide, counting: ClockSide) -> Self {
        let mut way = self.clone();
        way.white = Some(white);
        way.lines.set_clock_runs(true);
        way.unpressed = player(white, counting) != way.lines.best().turn();
        way.owed = way.unpressed;
        way
    }

    fn pressed(&mut self, at: Millis, sensed: &Sensed, side: ClockSide) {
        let Some(white) = self.white else { return };
        // It was for what was played before anybody looked.
        if !std::mem::take(&mut self.owed) {
            self.lines.press(at, sensed, player(white, side));
        }
    }

    /// True when what stands there was played by the Laws. What looks like an offence may be half of what was under way when
    /// the daemon came.
    fn explains(&self) -> bool {
        let line = self.lines.best();
        line.differing().is_empty() && line.plies.iter().all(|ply| ply.kind.legal().is_some())
    }

    /// The same, but for pieces that are missing.
    fn explains_men(&self, sensed: &Sensed) -> bool {
        let line = self.lines.best();
        line.misplaced(sensed).is_empty() && line.plies.iter().all(|ply| ply.kind.legal().is_some())
    }

    /// True when the same was played from the same position, whosever clock it is.
    fn is_same_play(&self, other: &Self) -> bool {
        let played = |way: &Self| -> Vec<_> {
            way.lines
                .best()
                .plies
                .iter()
                .map(|ply| ply.kind.legal())
                .collect()
        };
        self.turn == other.turn && played(self) == played(other)
    }

    /// What speaks against it.
    fn cost(&self, now: Millis, sensed: &Sensed, since: Millis) -> f32 {
        let line = self.lines.best();
        let soon = |first: &crate::board::Ply| first.at.since(since) < STILL_OWED_MS;
        // Who replies at once may reply before the press.
        let forgotten = self.unpressed && !line.plies.first().is_some_and(soon);
        line.total(sensed, now) + if forgotten { weight::UNPRESSED } else { 0.0 }
    }
}

/// Whose `side` of the clock is.
fn player(white: ClockSide, side: ClockSide) -> Color {
    Color::from_white(side == white)
}
