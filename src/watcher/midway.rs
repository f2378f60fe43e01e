//! A game in progress, before the watcher takes it up. The watcher does not know whose move it was, nor which
//! side of the clock is White's. It follows each possible way, with hypotheses as in a game, and what the
//! players do shows which way is right.

mod kept;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::Color;

pub(super) use self::kept::KeptMidway;
use super::{
    arrays::castling_of,
    clock::{Clock, MissedPresses},
};
use crate::{
    board::{Lines, Placement, Ply, Sensed, Stand, weight},
    dgt::ClockSide,
    game::Period,
    time::Millis,
};

/// A half-move that was made before the watcher came may be pressed this long after.
pub(super) const STILL_OWED_MS: u64 = 2500;
/// The right way must be better than the others by this, in nats.
const SURE: f32 = 1.0;
/// If pieces stand for this long as no way explains, the watcher starts anew from where they stand.
const ANEW_MS: u64 = 5000;
/// The same where pieces are only missing: hands hold them, or their arrival was lost and a dump will show
/// them.
const IN_HAND_MS: u64 = 20_000;
/// With this many half-moves more than needed, the play is sure even if the sides of the clock are not.
const AGREED: usize = 4;
/// A hand that draws a piece over a square leaves it there for less than this.
const PASSED_MS: u64 = 300;
/// While play goes on, the watcher looks this often.
const LOOK_MS: u64 = 200;

/// A game in progress, with all possible ways from the same placement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Midway<W = Way> {
    /// The placement when the watcher came.
    pub(super) from: Placement,
    since: Millis,
    /// Since when the board was known to stand so.
    #[serde(default)]
    stood_since: Millis,
    /// Since when pieces stand where no way explains them.
    astray: Option<Millis>,
    /// Since when no way has explained the whole board.
    open: Option<Millis>,
    last_press: Option<Millis>,
    /// By the clock the game went on when the watcher came: nobody saw how it began.
    pub(super) is_late: bool,
    /// By the clock nobody had pressed when the watcher came.
    pub(super) from_first_time: bool,
    /// The clock has stood since the watcher came.
    #[serde(default)]
    stood: bool,
    /// Half-moves may have been made that the hypotheses do not tell of.
    pub(super) is_unsure: bool,
    /// Squares changed in a gap, and the clock has not told yet which presses came in it.
    is_open: bool,
    ways: Vec<W>,
}

/// A game in progress that is taken up.
#[derive(Debug)]
pub(super) struct Begun {
    /// The placement that it goes on from.
    pub(super) from: Placement,
    /// The side to move there.
    pub(super) turn: Color,
    /// White's side of the clock, where it is sure.
    pub(super) white: Option<ClockSide>,
    /// The hypotheses of what was played since.
    pub(super) lines: Lines,
}

/// One possible way: a side to move and White's side of the clock.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// The side to move at the placement.
    turn: Color,
    /// White's side of the clock; none while no clock runs.
    white: Option<ClockSide>,
    /// The hypotheses of what was played since.
    lines: Lines,
    /// The time of the player who does not have the move ran, so that player had not pressed yet.
    unpressed: bool,
    /// That player has not pressed since.
    owed: bool,
}

impl Midway {
    /// The game that may go on from what has stood on the board since `stood_since`, as far as is known. `first` is the first period,
    /// where it is known.
    pub(super) fn new(
        sensed: &Sensed,
        (stood_since, now): (Millis, Millis),
        clock: &Clock,
        first: Option<&Period>,
    ) -> Self {
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
            stood_since,
            astray: None,
            open: None,
            last_press: None,
            is_late: clock.shows_used_time(first.map_or(0, |first| first.increment)),
            from_first_time: false,
            stood: false,
            is_unsure: false,
            is_open: false,
            ways: Color::ALL.map(way).into(),
        };
        midway.hear_clock(clock, first);
        midway
    }

    /// Looks whether the clock runs now. If it does, either side of it may be White's.
    pub(super) fn hear_clock(&mut self, clock: &Clock, first: Option<&Period>) {
        let Some(counting) = clock.counting() else {
            self.stood |= clock.reading().is_some();
            return;
        };
        if self.ways.iter().all(|way| way.white.is_some()) {
            return;
        }
        self.is_late |= clock.was_found_running();
        self.stood |= !clock.was_found_running();
        self.from_first_time = clock.has_just_begun(first);
        let sides = [ClockSide::Left, ClockSide::Right];
        let possible = sides
            .into_iter()
            .filter(|side| clock.white_side().is_none_or(|known| known == *side));
        let ways =
            possible.flat_map(|white| self.ways.iter().map(move |way| way.with_clock(white, counting)));
        self.ways = ways.collect();
    }

    /// `before` became `after` while nobody read the board, and `unknown` presses may have come. The hypotheses tell a change
    /// that one piece makes.
    pub(super) fn missed_changes(&mut self, before: &Placement, after: &Placement, unknown: bool) {
        self.is_open = true;
        self.is_unsure |= unknown || !self.is_of_one_piece(before, after);
    }

    /// True where no more than one piece went from its square to another, was lifted, or was put down that was in a hand.
    fn is_of_one_piece(&self, before: &Placement, after: &Placement) -> bool {
        let in_hand = |piece| before.squares_of(piece).count() < self.from.squares_of(piece).count();
        let changed = before.differing(after);
        let mut left = changed.into_iter().filter(|square| after.at(*square).is_empty());
        let (from, None) = (left.next(), left.next()) else {
            return false;
        };
        let mut others = changed.into_iter().filter(|square| Some(*square) != from);
        let (to, None) = (others.next(), others.next()) else {
            return false;
        };
        to.is_none_or(|to| match from {
            Some(from) => after.at(to) == before.at(from),
            None => in_hand(after.at(to)),
        })
    }

    /// The clock tells which presses came while nobody heard it. The hypotheses tell a single one.
    pub(super) fn missed_presses(&mut self, now: Millis, sensed: &Sensed, missed: MissedPresses) {
        let is_open = std::mem::take(&mut self.is_open);
        self.is_unsure |= missed.count.map_or(is_open, |count| count > 1);
        if let Some(side) = missed.once {
            self.pressed(now, sensed, side);
        }
    }

    /// Tells the hypotheses whether half-moves that they find now were made unseen.
    pub(super) fn recovering(&mut self, yes: bool) {
        for way in &mut self.ways {
            way.lines.recovering = yes;
        }
    }

    /// Squares changed.
    pub(super) fn changed(&mut self, now: Millis, sensed: &Sensed, squares: shakmaty::Bitboard) {
        // While nobody knows which presses came in the gap, nobody knows before which of them this was.
        self.is_unsure |= self.is_open && !self.ways.iter().any(|way| way.lines.recovering);
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
        let astray = !self.ways.iter().any(|way| way.explains_pieces(sensed));
        self.astray = astray.then(|| self.astray.unwrap_or(now));
        let open = !self.ways.iter().any(Way::explains);
        self.open = open.then(|| self.open.unwrap_or(now));
    }

    /// When the watcher starts anew from what stands on the board, if nothing explains it by then.
    pub(super) fn given_up_at(&self) -> Option<Millis> {
        let astray = self.astray.map(|since| since + ANEW_MS);
        let open = self.open.map(|since| since + IN_HAND_MS);
        astray.into_iter().chain(open).min()
    }

    /// True when nothing was played yet.
    fn is_idle(&self) -> bool {
        let idle = |way: &Way| way.explains() && way.lines.best().plies.is_empty();
        self.ways.iter().all(idle)
    }

    /// When no press can come any more for a half-move from before the watcher came, if nothing was played
    /// since.
    fn quiet_at(&self) -> Millis {
        self.since.max(self.last_press.unwrap_or_default()) + STILL_OWED_MS
    }

    /// True when nothing was played, and no press can come any more for a half-move from before the watcher
    /// came.
    pub(super) fn is_quiet(&self, now: Millis) -> bool {
        self.is_idle() && now >= self.quiet_at()
    }

    /// The time of the next look, as far as time alone may decide more.
    pub(super) fn deadline(&self, now: Millis) -> Option<Millis> {
        if self.is_idle() {
            Some(self.quiet_at()).filter(|at| *at > now)
        } else {
            Some(now + LOOK_MS)
        }
    }

    /// The game as the likeliest way has it, if that has `needed` half-moves and no other way is nearly as likely. Once there are
    /// many half-moves, a way with the same ones is no rival; then White's side of the clock stays open.
    pub(super) fn decided(&self, now: Millis, sensed: &Sensed, needed: usize) -> Option<Begun> {
        // Hardly anybody makes a half-move, and owes its press, before the clock is started for the first time.
        let owed_since = Some(self.since).filter(|_| !(self.stood && self.from_first_time));
        let cost = |way: &Way| way.cost(now, sensed, owed_since);
        let best = self.ways.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        let line = best.lines.best();
        let likely = |other: &&Way| !std::ptr::eq(*other, best) && cost(other) < cost(best) + SURE;
        let mut others = self.ways.iter().filter(likely).peekable();
        let sure = others.peek().is_none();
        let unsaid = usize::from(self.began_in_passing(best));
        let needed = needed + unsaid;
        let agreed = line.plies.len() >= needed + AGREED && others.all(|other| other.is_same_play(best));
        // Players need not press, but most do. A press shows whose half-move it was.
        let pressed = line.plies.iter().any(|ply| ply.pressed.is_some());
        let told = best.white.is_none() || pressed || line.plies.len() > needed;
        let shown = line.plies.len() >= needed && best.explains();
        let offended = line.plies.len() > needed && best.ends_in_an_offence() && sure;
        (offended || shown && told && (sure || agreed)).then(|| Begun {
            white: best.white.filter(|_| sure),
            ..self.begun(best, unsaid)
        })
    }

    /// True where the first piece of `way` left its square so soon after the board was first read that it may have been on its way
    /// there: nobody knows where its half-move began.
    fn began_in_passing(&self, way: &Way) -> bool {
        let plies = &way.lines.best().plies;
        plies.first().is_some_and(|first| {
            let before = Stand::of_placement(&self.from, way.turn, castling_of(&self.from));
            first.began.since(self.stood_since) < PASSED_MS && first.kind.may_have_slid_from_behind(&before)
        })
    }

    /// The game from after the first `unsaid` half-moves of `way` on.
    fn begun(&self, way: &Way, unsaid: usize) -> Begun {
        let mut lines = way.lines.clone();
        let after = unsaid
            .checked_sub(1)
            .and_then(|last| lines.best().plies.get(last));
        let (from, turn) = after.map_or_else(
            || (self.from.clone(), way.turn),
            |ply| (ply.stand.placement().clone(), ply.stand.turn()),
        );
        lines.advance(unsaid);
        Begun {
            from,
            turn,
            white: way.white,
            lines,
        }
    }
}

impl Way {
    /// This way with a running clock on which White's side is `white`.
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
        // An owed press belongs to a half-move from before the watcher came.
        if !std::mem::take(&mut self.owed) {
            self.lines.press(at, sensed, player(white, side));
        }
    }

    /// True when legal half-moves explain the whole board. What looks like an offence may be the rest of a
    /// half-move that was under way when the watcher came.
    fn explains(&self) -> bool {
        self.is_whole() && self.lines.best().plies.iter().all(is_legal)
    }

    /// True when legal half-moves and a last one, which is illegal and completed by a press, explain the whole board.
    fn ends_in_an_offence(&self) -> bool {
        let plies = &self.lines.best().plies;
        let pressed = plies.last().is_some_and(|last| last.pressed.is_some());
        pressed && self.is_whole() && plies.iter().position(|ply| !is_legal(ply)) == Some(plies.len() - 1)
    }

    /// True when the hypothesis explains each square, and no piece has fallen.
    fn is_whole(&self) -> bool {
        let line = self.lines.best();
        line.differing().is_empty() && line.faults().fall.is_none()
    }

    /// The same, except for missing pieces.
    fn explains_pieces(&self, sensed: &Sensed) -> bool {
        let line = self.lines.best();
        line.misplaced(sensed).is_empty() && line.plies.iter().all(is_legal)
    }

    /// True when both have the same half-moves from the same position.
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

    /// What this way pays, in nats. A press of a half-move from before may be owed `owed_since`.
    fn cost(&self, now: Millis, sensed: &Sensed, owed_since: Option<Millis>) -> f32 {
        let line = self.lines.best();
        let is_soon = |at: Millis| owed_since.is_some_and(|since| at.since(since) < STILL_OWED_MS);
        let soon = |first: &Ply| is_soon(first.at);
        // A player who replies at once may do so before the opponent's press.
        let forgotten = self.unpressed && !line.plies.first().is_some_and(soon);
        line.total(sensed, now) + if forgotten { weight::UNPRESSED } else { 0.0 }
    }
}

fn is_legal(ply: &Ply) -> bool {
    ply.kind.legal().is_some()
}

/// The player to whom `side` of the clock belongs.
fn player(white: ClockSide, side: ClockSide) -> Color {
    Color::from_white(side == white)
}

#[cfg(test)]
mod tests {
    use shakmaty::Square;

    use super::*;

    /// A game in the middle, from the array, with a clock that runs.
    fn midway() -> Midway {
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), &Placement::ARRAY);
        Midway::new(&sensed, (Millis(0), Millis(1000)), &Clock::default(), None)
    }

    fn placement(text: &str) -> Placement {
        let fen: shakmaty::fen::Fen = text.parse().unwrap();
        Placement::from(&fen.as_setup().board)
    }

    #[test]
    fn a_gap_leaves_a_beginning_sure_if_one_piece_went_in_it() {
        const ARRAY: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
        const LIFTED: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPP1PPP/RNBQKBNR";
        const MOVED: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR";
        const OTHER: &str = "rnbqkbnr/pppppppp/8/8/4N3/8/PPPP1PPP/RNBQKBNR";
        for (before, after, unknown, unsure) in [
            (ARRAY, ARRAY, false, false),
            (ARRAY, LIFTED, false, false),
            (ARRAY, MOVED, false, false),
            (LIFTED, MOVED, false, false),
            (LIFTED, OTHER, false, true),
            (ARRAY, MOVED, true, true),
            (
                ARRAY,
                "rnbqkbnr/pppp1ppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR",
                false,
                true,
            ),
            (ARRAY, OTHER, false, true),
        ] {
            let mut midway = midway();
            midway.missed_changes(&placement(before), &placement(after), unknown);
            let what = format!("{before} became {after}, unknown presses: {unknown}");
            assert_eq!(midway.is_unsure, unsure, "{what}");
        }
    }

    /// A square changes before the clock has told which presses came in the gap: nobody knows in which order they were.
    #[test]
    fn what_changes_before_the_clock_speaks_leaves_a_beginning_unsure() {
        let moved = placement("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR");
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), &Placement::ARRAY);
        let mut midway = midway();
        midway.missed_changes(&Placement::ARRAY, &moved, false);
        midway.recovering(true);
        midway.changed(Millis(2000), &sensed, Square::E4.into());
        midway.recovering(false);
        assert!(!midway.is_unsure, "this is the gap itself");
        midway.changed(Millis(2100), &sensed, Square::E7.into());
        assert!(midway.is_unsure);
    }

    #[test]
    fn so_it_does_if_the_clock_tells_of_one_press_at_most() {
        let missed = |count, once| MissedPresses { once, count };
        for (changed, missed, unsure) in [
            (true, missed(Some(0), None), false),
            (true, missed(Some(1), Some(ClockSide::Left)), false),
            (true, missed(Some(2), None), true),
            (true, missed(None, None), true),
            (false, missed(None, None), false),
        ] {
            let mut midway = midway();
            if changed {
                midway.missed_changes(&Placement::ARRAY, &Placement::ARRAY, false);
            }
            midway.missed_presses(Millis(2000), &Sensed::default(), missed);
            assert_eq!(midway.is_unsure, unsure, "{missed:?}");
        }
    }
}
