//! Half-moves that are played although the clock stands, because nobody has started it again. The players turn the lever after
//! them, and nothing runs.

use shakmaty::Color;

use super::{cases::Cases, course::Course, positions::Positions, unread::Unread};
use crate::{board::Lines, event::notice, time::Millis, watcher::ctx::Ctx};

/// The board may show a half-move as long after the lever was turned.
const LATE_MS: u64 = 1500;
/// After as many half-moves in a row for which nobody turned the lever, hands only show something.
const SHOWN: usize = 3;
/// Both players have moved and turned the lever: they believe that the clock runs.
const BOTH: u32 = 2;

/// What players do who play on although the clock stands.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::watcher) struct Unclocked {
    /// When the lever was turned last, and by whom, while the half-move before it is not found.
    turned: Option<(Millis, Color)>,
    /// Number of half-moves after which the lever was turned, since the clock was stopped.
    turns: u32,
    /// The arbiter was told that the clock stands.
    told: bool,
}

impl Unclocked {
    /// As a snapshot kept it.
    pub(in crate::watcher) fn after(turns: u32) -> Self {
        Self {
            turns,
            told: turns >= BOTH,
            ..Self::default()
        }
    }

    pub(in crate::watcher) fn turns(self) -> u32 {
        self.turns
    }

    /// `side` turned the lever of a clock that stands.
    pub(in crate::watcher) fn lever_turned(&mut self, now: Millis, side: Color) {
        self.turned = Some((now, side));
    }

    /// True while half-moves count although the clock stands.
    pub(in crate::watcher) fn is_played(self) -> bool {
        self.turns > 0
    }

    /// True while only one player has turned the lever: somebody may have shown a half-move, or set the lever.
    pub(super) fn is_once(self) -> bool {
        self.is_played() && self.turns < BOTH
    }

    /// True while the other player has to turn the lever, too, before any of this counts. A mate ends the game at once (5.1.1).
    pub(super) fn awaits_other_lever(self, course: &Course) -> bool {
        self.is_once() && !course.lines.best().moves().is_empty()
    }

    /// Looks for the half-move after which a player turned the lever of a clock that stands.
    pub(super) fn look(&mut self, ctx: &mut Ctx<'_>, course: &mut Course, cases: &Cases, unread: &Unread) {
        self.only_shown(ctx, course);
        let Some((turned, side)) = self.turned else {
            return;
        };
        // While an irregularity is open, an arbiter is at work on the board.
        if ctx.clock.runs() || ctx.passed(turned, LATE_MS) || cases.at_board().next().is_some() {
            self.turned = None;
        } else if let Some(lines) = self.played(ctx, &Positions::of(course, cases, unread), side) {
            course.lines = lines;
            *self = Self {
                turns: self.turns + 1,
                told: self.told,
                ..Self::default()
            };
            if !self.is_once() {
                course.record.withdrawn.clear();
                self.tell(ctx, course);
            }
        }
    }

    /// The hypotheses that go on from the record, if the best of them explains the board by a half-move of `side`, and the lever was
    /// turned for most of those before.
    fn played(self, ctx: &Ctx<'_>, positions: &Positions<'_>, side: Color) -> Option<Lines> {
        let course = positions.course;
        if positions.put_up_again(ctx.sensed.placement()).is_some() {
            return None;
        }
        let mut lines = course.lines.clone();
        lines.frozen = false;
        lines.grow_all(ctx.now, ctx.sensed);
        lines.press(ctx.now, ctx.sensed, side);
        let best = lines.best();
        let more = best.plies.len().checked_sub(course.announced())?;
        // The opponent may have replied already.
        let replied = usize::from(best.turn() == side);
        let own = best.plies.backwards().nth(replied)?;
        let later = || best.plies.backwards().take(more).skip(replied);
        let unturned = later().filter(|ply| ply.pressed.is_none()).count();
        // Nobody turns the lever first for what was shown before.
        let is_new = more > replied || self.is_played();
        // A hand may be at the board again.
        let is_lifted = |square| ctx.sensed.at(square).is_empty();
        let fits = is_new
            && unturned <= SHOWN
            && own.pressed == Some(ctx.now)
            && own.kind.legal().is_some()
            && best.differing().into_iter().all(is_lifted)
            && course.is_kept_by(best);
        fits.then_some(lines)
    }

    /// Nobody has turned the lever for a while, and pieces are moved: the hands only show something.
    fn only_shown(&mut self, ctx: &Ctx<'_>, course: &mut Course) {
        let best = course.lines.best();
        let unturned = best.plies.backwards().take_while(|ply| ply.pressed.is_none());
        if self.is_played() && !course.lines.frozen && unturned.count() >= SHOWN {
            *self = Self {
                told: self.told,
                ..Self::default()
            };
            course.restart_lines(ctx);
            course.lines.frozen = true;
        }
    }

    fn tell(&mut self, ctx: &mut Ctx<'_>, course: &Course) {
        if !std::mem::replace(&mut self.told, true) {
            let message = "The players move and turn the lever, and the clock stands: nobody's time runs.";
            course.notice(ctx, notice::CLOCK_STANDS, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        dgt::{ClockReading, Lever, Message, PieceCode},
        event::{Body, notice},
        time::Millis,
        watcher::{
            Watcher,
            testing::{after_e4, hear},
        },
    };

    const NONE: u8 = 0;

    /// A board beside whose clock, which stands after 1.e4, hands go on.
    struct Table {
        watcher: Watcher,
        now: u64,
        lever: Lever,
    }

    impl Table {
        fn new() -> Self {
            let mut table = Self {
                watcher: after_e4(),
                now: 6000,
                lever: Lever::RightHigh,
            };
            table.clock(false);
            table
        }

        fn clock(&mut self, running: bool) {
            self.now += 1000;
            let reading = ClockReading::of_seconds(600, 595, running, self.lever);
            hear(&mut self.watcher, self.now, Message::Clock(reading));
        }

        fn turn(&mut self) {
            self.lever = match self.lever {
                Lever::LeftHigh => Lever::RightHigh,
                Lever::RightHigh => Lever::LeftHigh,
            };
            self.clock(false);
        }

        /// A hand moves the piece of this code, by squares in the order of the wire.
        fn moves(&mut self, from: u8, to: u8, piece: u8) {
            for (square, code) in [(from, NONE), (to, piece)] {
                self.now += 400;
                let piece = PieceCode(code);
                hear(&mut self.watcher, self.now, Message::Field { square, piece });
            }
        }

        fn record(&mut self) -> String {
            self.now += 30_000;
            self.watcher.catch_up(Millis(self.now));
            self.watcher.game().moves.join(" ")
        }

        fn notices(&mut self) -> usize {
            let events = std::iter::from_fn(|| self.watcher.poll_event());
            let is_it =
                |body: &Body| matches!(body, Body::Notice { code, .. } if *code == notice::CLOCK_STANDS);
            events.filter(|event| is_it(&event.body)).count()
        }
    }

    #[test]
    fn half_moves_after_which_the_lever_is_turned_count_although_the_clock_stands() {
        let mut table = Table::new();
        table.moves(12, 28, 7);
        table.turn();
        table.moves(62, 45, 3);
        table.turn();
        table.moves(1, 18, 9);
        table.turn();
        assert_eq!(table.record(), "e2e4 e7e5 g1f3 b8c6");
        assert_eq!(table.notices(), 1);
        table.clock(true);
        assert_eq!(table.record(), "e2e4 e7e5 g1f3 b8c6");
    }

    #[test]
    fn the_first_of_them_may_come_without_the_lever() {
        let mut table = Table::new();
        table.moves(12, 28, 7);
        table.moves(62, 45, 3);
        table.turn();
        table.turn();
        table.moves(1, 18, 9);
        table.turn();
        table.moves(61, 34, 4);
        table.turn();
        table.clock(true);
        assert_eq!(table.record(), "e2e4 e7e5 g1f3 b8c6 f1c4");
    }

    #[test]
    fn a_half_move_that_is_read_after_the_lever_was_turned_counts() {
        let mut table = Table::new();
        table.turn();
        table.moves(12, 28, 7);
        assert_eq!(table.record(), "e2e4", "one may be an accident");
        table.clock(true);
        assert_eq!(table.record(), "e2e4 e7e5");
        assert_eq!(table.notices(), 0);
    }

    #[test]
    fn what_hands_show_beside_a_clock_that_stands_is_no_half_move() {
        let mut table = Table::new();
        table.moves(12, 28, 7);
        table.moves(62, 45, 3);
        table.moves(1, 18, 9);
        assert_eq!(table.record(), "e2e4");
    }

    #[test]
    fn nor_is_it_where_an_arbiter_turns_the_lever_to_let_the_right_time_run() {
        let mut table = Table::new();
        table.turn();
        table.now += 3000;
        table.moves(12, 28, 7);
        table.moves(28, 12, 7);
        table.turn();
        assert_eq!(table.record(), "e2e4");
    }

    #[test]
    fn after_half_moves_without_the_lever_hands_only_show_something() {
        let mut table = Table::new();
        table.moves(12, 28, 7);
        table.turn();
        table.moves(62, 45, 3);
        table.turn();
        table.moves(1, 18, 9);
        table.moves(61, 34, 4);
        table.moves(5, 26, 10);
        assert_eq!(table.record(), "e2e4 e7e5 g1f3");
        assert_eq!(table.notices(), 1);
    }
}
