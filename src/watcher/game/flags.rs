//! Flags that fall, and the half-moves that the players made in time.

use serde::{Deserialize, Serialize};
use shakmaty::Color;

use super::{
    course::Course,
    finding::{Finding, Scene},
    gap::Gap,
    record::GameRecord,
    waits::READ_MS,
};
use crate::{
    board::Placement,
    event::{Body, Certainty, ClockState, notice},
    game::periods::Progress,
    laws::{FirstFlag, IrregularityKind, MovesCompleted},
    time::Millis,
    watcher::ctx::Ctx,
};

/// The watcher reports a fallen flag after this time. It waits longer while half-moves that were pressed for
/// have to go on the record first.
const FLAG_MS: u64 = 300;
const FLAG_OWED_MS: u64 = 2500;
/// A flag beside which the clock shows time must be down for this long: a damaged frame shows that once, and the next one comes
/// within a second.
const WITH_TIME_MS: u64 = 1500;
/// How often the watcher looks whether the half-move that ends the game is on the record.
const LOOK_MS: u64 = 500;
/// A clock shows its flag so long after it fell (milliseconds), at the most: it sends a frame each second.
pub(super) const TOLD_MS: u64 = 1500;
/// A clock that was started so long before a game began runs since the game before.
const BEFORE_MS: u64 = 10_000;
/// Where so many pieces are gone since the last half-move, or no more than these are left, the board is cleared, as a rule after the
/// game.
const SWEPT: usize = 8;
const LEFT: usize = 1;
/// With more time than this a flag does not fall.
const SET_MS: u64 = 5000;

/// The flags of a game. Each pair is White's and Black's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::watcher) struct Flags {
    /// The watcher reported that this flag fell.
    said: [bool; 2],
    /// This flag is down at the end of a period whose moves were made.
    harmless: [bool; 2],
    /// When the clock first showed this flag down.
    #[serde(skip)]
    seen: [Option<Millis>; 2],
    /// The time that the clock showed when it last ran before this flag was down, in milliseconds.
    #[serde(skip)]
    before: [Option<u64>; 2],
    /// How far the players are in the periods of the time control (6.4).
    progress: Progress,
}

fn time_of(clock: &ClockState, side: Color) -> u64 {
    side.fold_wb(clock.white_ms, clock.black_ms)
}

impl Flags {
    /// The flags that are down, in the order in which they fell.
    pub(super) fn down(&mut self, ctx: &Ctx<'_>, record: &GameRecord) -> Vec<Color> {
        self.follow_periods(ctx, record);
        let flags: Vec<Color> = ctx.clock.flags().collect();
        let down: Vec<Color> = flags
            .iter()
            .copied()
            .filter(|side| !self.is_set(ctx, *side))
            .collect();
        if let Some(clock) = ctx.clock.state().filter(|_| ctx.clock.counting().is_some()) {
            for side in Color::ALL.into_iter().filter(|side| !flags.contains(side)) {
                self.before[side as usize] = Some(time_of(&clock, side));
            }
        }
        for side in Color::ALL {
            let seen = &mut self.seen[side as usize];
            if down.contains(&side) {
                seen.get_or_insert(ctx.now);
                continue;
            }
            *seen = None;
            self.harmless[side as usize] = false;
            // The arbiter gave time, and play goes on. If the flag falls again, that is a new fall.
            if ctx.clock.counting().is_some() && ctx.clock.state().is_some_and(|c| time_of(&c, side) > 0) {
                self.said[side as usize] = false;
            }
        }
        let mut in_order = down;
        in_order.sort_by_key(|side| self.seen[*side as usize]);
        in_order
    }

    /// True where the flag of `side` came down while the clock stood, and there had been time: an arbiter sets the clock. It counts
    /// if it is still down when the clock runs.
    fn is_set(&self, ctx: &Ctx<'_>, side: Color) -> bool {
        let stood = ctx.clock.stopped_at.is_some_and(|at| at < ctx.now) && !ctx.clock.runs();
        let had_time = self.before[side as usize].is_some_and(|ms| ms > SET_MS);
        stood && had_time && self.seen[side as usize].is_none()
    }

    /// Looks at the flag of `side`, which is down, once the half-moves are on the record that were pressed for before: returns the
    /// finding if it has fallen (6.9).
    pub(super) fn look(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        gap: &Gap,
        side: Color,
    ) -> Option<Finding> {
        let i = side as usize;
        let harmless = self.period_is_complete(ctx, side, course.record.moves_completed());
        let said = self.said[i] || harmless && self.harmless[i];
        let at = self.seen[i].filter(|_| !said)?;
        if has_ended_before(ctx, course, gap, at) {
            ctx.at(ctx.now + LOOK_MS);
            return None;
        }
        let with_time = ctx.clock.state().is_some_and(|clock| time_of(&clock, side) > 0);
        let wait = match owes_half_moves(course) {
            true => FLAG_OWED_MS,
            false if with_time && !harmless => WITH_TIME_MS,
            false => FLAG_MS,
        };
        if !ctx.passed(at, wait) {
            return None;
        }
        if harmless {
            self.period_ended(ctx, course, side, at);
            return None;
        }
        Some(self.flag_fell(ctx, course, gap, side, at))
    }

    /// Gives notice that the flag of `side` ends a period whose moves were made in time (6.4).
    fn period_ended(&mut self, ctx: &mut Ctx<'_>, course: &Course, side: Color, at: Millis) {
        let made = course.record.moves_completed().by(side);
        self.harmless[side as usize] = true;
        let message = format!("the flag of {side} is down; the {made} moves due in the period are made");
        course.emit(ctx, Some(at), Body::notice(notice::PERIOD_COMPLETE, message));
    }

    fn flag_fell(&mut self, ctx: &Ctx<'_>, course: &Course, gap: &Gap, side: Color, at: Millis) -> Finding {
        let other = !side as usize;
        // One reading showed both flags down, so the clock does not say which fell first.
        let together = !self.said[other]
            && self.seen[other] == Some(at)
            && !self.period_is_complete(ctx, !side, course.record.moves_completed());
        let other_first = self.said[other];
        self.said[side as usize] = true;
        self.said[other] |= together;
        let record = &course.record;
        let scene = Scene::shown(ctx, record.plies() + 1, record.stand().clone(), at);
        let (kind, offender) = if other_first || together {
            (IrregularityKind::BothFlags, None)
        } else {
            (IrregularityKind::FlagFall, Some(side))
        };
        // Moves that the watcher did not see, for instance before the daemon started, may have completed the
        // period.
        let counted = began_at_a_known_move(&course.record) && gap.unbridged.is_none();
        let has_next = ctx.rules.periods.len() > 1;
        let has_time = scene.clock.is_some_and(|clock| time_of(&clock, side) > 0);
        // Nobody has stopped the clock since the game before, which was given up.
        let runs_on = course.record.is_empty() && ctx.clock.started_at + BEFORE_MS < course.began;
        let certainty = if runs_on || is_swept(ctx, course) {
            Certainty::Suspected
        } else if ctx.rules.periods.is_empty() || counted {
            Certainty::Certain
        } else if has_next && has_time {
            // The clock has gone on to another period, as it does once the moves are made.
            Certainty::Suspected
        } else {
            Certainty::Probable
        };
        let mut finding = Finding::new(kind, certainty, offender, scene);
        if other_first && !together {
            finding.first_flag = match !side {
                Color::White => FirstFlag::White,
                Color::Black => FirstFlag::Black,
            };
        }
        finding
    }

    /// True if `side`, who has completed as many moves as `made` says, has made those of the period that ends with this flag
    /// (6.4).
    pub(super) fn period_is_complete(&self, ctx: &Ctx<'_>, side: Color, made: MovesCompleted) -> bool {
        self.progress.complete(&ctx.rules.periods, side, made.by(side))
    }

    /// True when both players are known to be in the last period.
    pub(super) fn in_last_period(&self, ctx: &Ctx<'_>) -> bool {
        let mut sides = Color::ALL.into_iter();
        sides.all(|side| self.progress.is_last(&ctx.rules.periods, side))
    }

    /// Notes that a new period began, from the main time that the clock adds for it.
    fn follow_periods(&mut self, ctx: &Ctx<'_>, record: &GameRecord) {
        let Some(clock) = ctx.clock.state().filter(|_| !ctx.rules.periods.is_empty()) else {
            return;
        };
        let made = record.moves_completed();
        for (side, ms) in [(Color::White, clock.white_ms), (Color::Black, clock.black_ms)] {
            let periods = &ctx.rules.periods;
            self.progress.shows(periods, side, made.by(side), ms);
        }
    }
}

/// True where so many pieces are gone that the board was cleared.
fn is_swept(ctx: &Ctx<'_>, course: &Course) -> bool {
    let gone = course.record.stand().placement().occupied() & !ctx.sensed.placement().occupied();
    let last = course.record.last().map_or(course.began, |made| made.at);
    let since = gone.into_iter().filter(|s| ctx.sensed.since(*s) > last);
    let left = ctx.sensed.placement().occupied().count();
    since.count() >= SWEPT || left <= LEFT
}

/// True while a half-move that ends the game is not on the record yet, and was made before `at`. It ends the game at once,
/// pressed for or not (5.1.1, 5.2.1).
fn has_ended_before(ctx: &Ctx<'_>, course: &Course, gap: &Gap, at: Millis) -> bool {
    // In a gap or a lump nobody knows which came first.
    let unheard = gap
        .missed_until
        .max(ctx.timing.lumped)
        .is_some_and(|until| at <= until + TOLD_MS);
    let ahead = course.lines.best().plies.iter().skip(course.announced());
    let mut before = ahead.filter(|ply| unheard || ply.at <= at + READ_MS);
    before.any(|ply| ply.kind.legal().is_some() && ply.stand.moves().is_empty())
        || unheard && shows_end(ctx, &course.record)
}

/// True where the board shows a half-move from the record that ends the game, whatever the hypotheses have found by now.
fn shows_end(ctx: &Ctx<'_>, record: &GameRecord) -> bool {
    let (stand, seen) = (record.stand(), ctx.sensed.placement());
    stand.candidates().any(|candidate| {
        let after = stand.after(&candidate);
        after.placement() == seen && after.moves().is_empty()
    })
}

/// True while some half-moves that were pressed for are not on the record.
fn owes_half_moves(course: &Course) -> bool {
    let mut ahead = course.lines.best().plies.iter().skip(course.announced());
    ahead.any(|ply| ply.pressed.is_some())
}

/// False if the watcher took up a game in progress and nobody told it the number of the move.
fn began_at_a_known_move(record: &GameRecord) -> bool {
    let is_array = record.start.placement().occupied() == Placement::ARRAY.occupied();
    record.start.setup().fullmoves.get() > 1 || is_array
}

#[cfg(test)]
mod tests {
    use crate::{
        dgt::{ClockReading, ClockTime, Lever, Message},
        laws::IrregularityKind,
        watcher::{
            Watcher,
            testing::{after_e4, hear, kinds},
        },
    };

    /// A frame of the clock with these seconds for White and Black, left and right. A flag is down at 0.
    fn show(watcher: &mut Watcher, at: u64, seconds: [u32; 2], running: bool) {
        let mut reading = ClockReading::of_seconds(seconds[0], seconds[1], running, Lever::RightHigh);
        for (time, seconds) in [(&mut reading.left, seconds[0]), (&mut reading.right, seconds[1])] {
            *time = ClockTime {
                flag: seconds == 0,
                ..*time
            };
        }
        hear(watcher, at, Message::Clock(reading));
    }

    #[test]
    fn who_sets_the_clock_and_passes_zero_lets_no_flag_fall() {
        let mut watcher = after_e4();
        show(&mut watcher, 7000, [600, 590], true);
        show(&mut watcher, 8000, [600, 590], false);
        show(&mut watcher, 10_000, [600, 0], false);
        show(&mut watcher, 14_000, [600, 650], false);
        show(&mut watcher, 16_000, [600, 650], true);
        show(&mut watcher, 20_000, [600, 646], true);
        assert_eq!(kinds(&mut watcher), []);
    }

    #[test]
    fn a_flag_that_stops_the_clock_has_fallen_and_so_has_one_that_is_down_when_it_runs() {
        let mut watcher = after_e4();
        show(&mut watcher, 7000, [600, 1], true);
        show(&mut watcher, 8000, [600, 0], false);
        show(&mut watcher, 10_000, [600, 0], false);
        assert_eq!(kinds(&mut watcher), [IrregularityKind::FlagFall]);

        let mut watcher = after_e4();
        show(&mut watcher, 7000, [600, 590], true);
        show(&mut watcher, 8000, [600, 590], false);
        show(&mut watcher, 10_000, [600, 0], false);
        show(&mut watcher, 14_000, [600, 0], true);
        show(&mut watcher, 20_000, [600, 0], true);
        assert_eq!(kinds(&mut watcher), [IrregularityKind::FlagFall]);
    }

    #[test]
    fn a_damaged_frame_with_a_flag_beside_time_lets_no_flag_fall() {
        let mut watcher = after_e4();
        show(&mut watcher, 7000, [600, 590], true);
        let mut reading = ClockReading::of_seconds(600, 589, true, Lever::RightHigh);
        reading.right.flag = true;
        hear(&mut watcher, 8000, Message::Clock(reading));
        show(&mut watcher, 9000, [600, 588], true);
        show(&mut watcher, 12_000, [600, 585], true);
        assert_eq!(kinds(&mut watcher), []);
    }
}
