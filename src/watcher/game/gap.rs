//! Gaps: half-moves that may have been played while nobody read the board.

mod search;

pub(in crate::watcher) use self::search::GapSearch;
pub(super) use self::search::recovered;
use self::search::{bridged, distinct, exchanged_unseen, said_otherwise};
use super::{
    cases::Cases,
    course::Course,
    doubt::Doubt,
    positions::Positions,
    recall::{Need, Recall},
    unread::Unread,
};
use crate::{
    board::{Item, Line, Ply, PlyKind, bridge},
    event::notice,
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// The board must have been at rest for this long before the watcher searches a gap again.
const REST_MS: u64 = 1500;

/// An attached clock has sent a frame after this long: it sends one every second.
pub(super) const CLOCK_SPEAKS_MS: u64 = 3000;

/// After this long, a hand has put down the piece that it held when the board came back.
pub(super) const GIVEN_UP_MS: u64 = 20_000;

/// If only one order of play explains the board, and it has no more half-moves than these, the watcher need
/// not read the board's log. In a longer gap pieces may have moved there and back.
const SURELY_FOUND: usize = 2;

/// More unseen half-moves than these are a tale, whatever they explain.
const TALE: usize = 8;
/// The same once a search has found nothing: half-moves that were heard since follow the gap.
const LATE_TALE: usize = 6;

/// If more squares than these are wrong, more happened than a half-move that is under way or a piece that was
/// knocked over.
const FAR: usize = 2;

/// Cost of what a search found after the first, where nothing tells them apart, in nats.
pub(super) const NOT_FIRST: f32 = 2.0;

/// What is known of the present gap, and of the last.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct Gap {
    /// The link broke, and the board has not been read since.
    pub(in crate::watcher) is_open: bool,
    /// The clock, which had stood, was started again in the gap.
    pub(in crate::watcher) restarts: bool,
    /// Since when the board has been read without interruption: since the start, or since the last gap.
    pub(in crate::watcher) read_since: Millis,
    /// When the last gap ended in which pieces moved, and the clock may have been pressed.
    pub(in crate::watcher) missed_until: Option<Millis>,
    /// A gap in the record that is not explained yet.
    pub(in crate::watcher) unbridged: Option<Unbridged>,
    /// Whether the board's log is needed, and how far it is.
    pub(in crate::watcher) recall: Recall,
}

/// A gap in the record that is not explained yet.
#[derive(Clone, Copy, Debug)]
pub(in crate::watcher) struct Unbridged {
    /// When the board was read again.
    pub(in crate::watcher) since: Millis,
    /// When the watcher gave notice of the gap.
    pub(in crate::watcher) told: Option<Millis>,
    pub(in crate::watcher) search: NextSearch,
    /// No half-moves from before the gap are missing, so the presses in it tell how many were missed.
    pub(in crate::watcher) is_first: bool,
}

/// When the watcher searches a gap again.
#[derive(Clone, Copy, Debug)]
pub(in crate::watcher) enum NextSearch {
    /// Once the board changes after the last search, which was at this time.
    AfterChange(Millis),
    /// Also once the clock runs, and so tells that play goes on.
    AfterClock(Millis),
    /// Once the board is at rest: little was missed, and a hand is at the board.
    AtRest,
}

impl NextSearch {
    fn is_due(self, ctx: &Ctx<'_>) -> bool {
        match self {
            Self::AfterChange(last) => last < ctx.sensed.last_change(),
            Self::AfterClock(last) => last < ctx.sensed.last_change() || ctx.clock.runs(),
            Self::AtRest => true,
        }
    }

    /// The same, and also once the clock runs.
    fn or_clock(self, now: Millis) -> Self {
        match self {
            Self::AfterChange(last) | Self::AfterClock(last) => Self::AfterClock(last),
            Self::AtRest => Self::AfterClock(now),
        }
    }
}

impl Unbridged {
    fn is_told(self) -> bool {
        self.told.is_some()
    }
}

impl Gap {
    pub(super) fn new(now: Millis) -> Self {
        Self {
            is_open: false,
            restarts: false,
            read_since: now,
            missed_until: None,
            unbridged: None,
            recall: Recall::default(),
        }
    }

    /// When the board was read again after the last gap, which may have been before the game began.
    pub(super) fn read_again(&self) -> Millis {
        self.missed_until
            .map_or(self.read_since, |until| until.min(self.read_since))
    }

    /// Searches for legal half-moves from the hypotheses to the position on the board.
    pub(in crate::watcher) fn bridge(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &mut Course,
        doubt: &mut Doubt,
        GapSearch {
            limits,
            may_be_put_right,
        }: GapSearch,
    ) {
        course.lines.grow_all(ctx.now, ctx.sensed);
        let best = course.lines.best();
        // Missing pieces may be in hands, or were taken while nobody read the board.
        let explained = best.misplaced(ctx.sensed).is_empty() && !self.rests_on_offence(best);
        let missing = best.differing().any();
        // The clock does not tell at once whose time runs. Once it does, the watcher compares that with the
        // side to move.
        let turn_open = missing && course.clock_used && ctx.clock.is_silent();
        let wrong_turn = missing && ctx.clock.running().is_some_and(|turn| turn != best.turn());
        let unsure = self.unbridged.is_some() && wrong_turn || exchanged_unseen(ctx, course);
        if explained && !unsure {
            let missed = best.plies.len().saturating_sub(course.announced());
            let several_gone = best.differing().count() > 1;
            let told = self.is_told();
            if self.is_tale(course, best) || told && several_gone {
                self.tell(ctx, course, doubt, false);
                self.recall.want(Need::Decide);
            } else if let Some(gap) = self.unbridged.take() {
                self.unbridged = turn_open.then_some(Unbridged {
                    search: gap.search.or_clock(ctx.now),
                    ..gap
                });
                if missed > 1 {
                    self.one_of_several(ctx, course, doubt, missed, limits);
                }
                if several_gone {
                    self.recall.want(Need::Check);
                }
            }
            return;
        }
        let (mut found, cut) = bridged(ctx, course, limits, may_be_put_right);
        found.retain(|line| !self.is_tale(course, line));
        let shortest = found.iter().map(|line| line.plies.len()).min();
        let missed = shortest.map(|plies| (course.base + plies).saturating_sub(course.record.plies()));
        let gap = self.unbridged.is_some();
        let told = self.is_told();
        let several_gone = course.lines.best().differing().count() > 1;
        if found.is_empty()
            && explained
            && !self.is_tale(course, course.lines.best())
            && !(told && several_gone)
        {
            // Most likely a hand holds one piece.
            if gap && several_gone {
                self.recall.want(Need::Check);
            }
            if gap && exchanged_unseen(ctx, course) {
                doubt.of_gap(course.record.plies());
            }
            self.unbridged = None;
            return;
        }
        if found.is_empty() && self.unbridged.is_none() {
            said_otherwise(ctx, course);
        }
        let Some(shortest) = shortest else {
            if !self.is_told()
                && !ctx.still_for(REST_MS)
                && let Some(gap) = &mut self.unbridged
                && !ctx.passed(gap.since, GIVEN_UP_MS)
            {
                gap.search = NextSearch::AtRest;
                return;
            }
            self.tell(ctx, course, doubt, cut);
            if gap {
                self.recall.want(Need::Decide);
            }
            return;
        };
        self.unbridged = None;
        found.retain(|line| line.plies.len() == shortest);
        let found = distinct(found);
        if found.len() > 1 {
            ambiguous_told(ctx, course, doubt, course.base + shortest, found.len());
            if gap {
                self.recall.want(Need::Decide);
            }
        } else if gap && missed > Some(1) {
            // The hypotheses from which the search started may contain half-moves that are themselves one of
            // several possibilities.
            self.one_of_several(ctx, course, doubt, missed.unwrap_or(0), limits);
        }
        for (i, mut line) in found.into_iter().enumerate() {
            // Where nothing tells them apart, the first one found is preferred.
            line.charge(Item::Recovered, if i == 0 { 0.0 } else { NOT_FIRST });
            course.lines.add(ctx.now, ctx.sensed, line);
        }
    }

    /// True when `line` explains a gap, which nothing explained at first, by an offence since, and a piece is missing besides: what was
    /// played in the gap may make that half-move a legal one.
    fn rests_on_offence(&self, line: &Line) -> bool {
        self.unbridged.is_some_and(|gap| {
            let is_since = |ply: &Ply| matches!(ply.kind, PlyKind::Suspect(_)) && gap.since <= ply.at;
            matches!(gap.search, NextSearch::AtRest)
                && line.differing().any()
                && line.plies.iter().any(is_since)
        })
    }

    /// True when `line` explains a gap by too many half-moves that nobody saw. Without a clock nothing else
    /// would show that play goes on, so any hypothesis is better than none.
    fn is_tale(&self, course: &Course, line: &Line) -> bool {
        course.clock_used
            && self
                .unbridged
                .is_some_and(|gap| line.unseen_since(course.announced(), gap.since) > self.most_unseen())
    }

    /// The most half-moves that nobody saw and that are no tale.
    fn most_unseen(&self) -> usize {
        if self.is_told() || self.awaits_rest() {
            LATE_TALE
        } else {
            TALE
        }
    }

    /// The beam explains the gap by `missed` half-moves. Looks whether other half-moves explain it as well.
    fn one_of_several(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        doubt: &mut Doubt,
        missed: usize,
        limits: bridge::Limits,
    ) {
        let turn = ctx.clock.running();
        let limits = bridge::Limits {
            plies: limits.plies.max(missed).min(self.most_unseen()),
            ..limits
        };
        let orders = bridge::bridge(course.record.stand(), ctx.sensed.placement(), turn, limits);
        let as_long = orders.found.iter().filter(|path| path.len() == missed).count();
        // The search does not go as deep as that.
        let cut = orders.cut || missed > limits.plies;
        if as_long > 1 {
            ambiguous_told(ctx, course, doubt, course.record.plies() + missed, as_long);
        } else if cut {
            course.notice(
                ctx,
                notice::GAP_AMBIGUOUS,
                "Moves were missed; one order of play explains the board, and the search for others was cut short.",
            );
        }
        let open = as_long > 1 || cut;
        if open || missed > SURELY_FOUND {
            self.recall.want(if open { Need::Decide } else { Need::Check });
        }
    }

    /// The board is read again after the link was down. Searches for what was played meanwhile.
    pub(in crate::watcher) fn look_after(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &mut Course,
        doubt: &mut Doubt,
        cases: &Cases,
        unread: &Unread,
    ) {
        self.recall.anew();
        let waits = waits_for_clock(ctx, &Positions::of(course, cases, unread));
        self.unbridged = Some(Unbridged {
            since: ctx.now,
            told: None,
            is_first: self.unbridged.is_none(),
            search: if waits {
                NextSearch::AfterClock(ctx.now)
            } else {
                NextSearch::AfterChange(ctx.now)
            },
        });
        if waits {
            return;
        }
        self.bridge(ctx, course, doubt, self.reach(ctx, cases));
    }

    /// What is searched after a gap. Where an irregularity is open, the players have hardly played on, so the search
    /// is short. So it is where the clock shows that there was no time for more: all half-moves but the last were
    /// pressed.
    fn reach(&self, ctx: &Ctx<'_>, cases: &Cases) -> GapSearch {
        let mut at_work = cases.at_board();
        let may_be_put_right = !at_work.all(|open| open.kind == IrregularityKind::PressWithoutMove);
        let plies = if may_be_put_right { 2 } else { self.most_unseen() };
        let limits = bridge::Limits {
            plies: self.missed_plies(ctx).map_or(plies, |missed| plies.min(missed)),
            ..bridge::Limits::default()
        };
        GapSearch {
            limits,
            may_be_put_right,
        }
    }

    /// How many half-moves were missed at the most, where the presses in the gap are known: all but the last were pressed.
    fn missed_plies(&self, ctx: &Ctx<'_>) -> Option<usize> {
        self.unbridged.filter(|gap| gap.is_first && !gap.is_told())?;
        Some(ctx.clock.presses_since_gap()? + 1)
    }

    /// True while the watcher waits for hands to leave the board before it says whether anything explains a gap.
    pub(super) fn awaits_rest(&self) -> bool {
        let waits = |gap: Unbridged| matches!(gap.search, NextSearch::AtRest) && !gap.is_told();
        self.unbridged.is_some_and(waits)
    }

    /// Searches an unexplained gap again whenever the board has come to rest. A hand may have held a piece
    /// before.
    pub(super) fn try_again(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &mut Course,
        doubt: &mut Doubt,
        cases: &Cases,
        unread: &Unread,
    ) {
        let Some(gap) = self.unbridged else { return };
        if self.is_in_turn(ctx, course) {
            self.bridge(ctx, course, doubt, self.reach(ctx, cases));
            return;
        }
        if gap.search.is_due(ctx)
            && !waits_for_clock(ctx, &Positions::of(course, cases, unread))
            && (ctx.still_for(REST_MS) || self.awaits_rest() && ctx.passed(gap.since, GIVEN_UP_MS))
        {
            // `bridge` looks whether a search that found nothing came before.
            let waited = matches!(gap.search, NextSearch::AtRest);
            let search = NextSearch::AfterChange(ctx.now);
            if !waited {
                self.unbridged = Some(Unbridged { search, ..gap });
            }
            self.bridge(ctx, course, doubt, self.reach(ctx, cases));
            if let Some(gap) = &mut self.unbridged
                && matches!(gap.search, NextSearch::AtRest)
            {
                gap.search = search;
            }
        }
    }

    /// True when only the clock could tell whether anything was missed, and it tells now that nothing was: the time of the player runs
    /// whose turn it is. Play goes on, and what comes later is none of the gap, so the watcher waits for no rest.
    fn is_in_turn(&self, ctx: &Ctx<'_>, course: &Course) -> bool {
        let asks_clock = |gap: Unbridged| matches!(gap.search, NextSearch::AfterClock(_)) && !gap.is_told();
        let best = course.lines.best();
        self.unbridged.is_some_and(asks_clock)
            && ctx.clock.running() == Some(best.turn())
            && best.misplaced(ctx.sensed).is_empty()
            && !self.is_tale(course, best)
            && !exchanged_unseen(ctx, course)
    }

    /// True until a gap that is not explained was searched with the board at rest.
    pub(super) fn searches_soon(&self, now: Millis) -> bool {
        let soon = |gap: Unbridged| !gap.is_told() && now.since(gap.since) <= REST_MS;
        self.unbridged.is_some_and(soon)
    }

    /// True while a gap is open of which the watcher has said that nothing explains it.
    pub(super) fn is_told(&self) -> bool {
        self.unbridged.is_some_and(Unbridged::is_told)
    }

    /// True when the board is far from the record, because nobody knows what was played. Then the watcher
    /// reports no half-moves and judges no press.
    pub(super) fn lost_track(&self, course: &Course) -> bool {
        let best = course.lines.best();
        self.is_told() && best.differing().count() > FAR || self.is_tale(course, best)
    }

    /// True while nobody knows what was played in a gap, however near to the record the board may be just now.
    pub(in crate::watcher) fn is_unexplained(&self, course: &Course) -> bool {
        self.is_told() || self.is_tale(course, course.lines.best())
    }

    /// True when play goes on, and nothing explains the gap so far.
    pub(in crate::watcher) fn is_lost(&self, ctx: &Ctx<'_>, course: &Course) -> bool {
        self.lost_track(course) && ctx.clock.runs()
    }

    /// True when neither the search nor the board's log has explained the gap for long. Then the watcher gives up what it
    /// missed, and takes the game up from the position on the board.
    pub(in crate::watcher) fn given_up(&self, ctx: &mut Ctx<'_>) -> bool {
        let told = self.unbridged.and_then(|gap| gap.told);
        !self.recall.is_awaited() && told.is_some_and(|told| ctx.passed(told, GIVEN_UP_MS))
    }

    /// Gives notice, once, that a gap is not explained.
    fn tell(&mut self, ctx: &mut Ctx<'_>, course: &Course, doubt: &mut Doubt, cut: bool) {
        let plies = course.record.plies();
        let Some(gap) = &mut self.unbridged else { return };
        doubt.of_gap(plies);
        if gap.told.replace(gap.told.unwrap_or(ctx.now)).is_some() {
            return;
        }
        let why = if cut {
            "the search was cut short"
        } else {
            "no few legal moves lead to what stands there"
        };
        let message = format!("Moves were missed and could not be reconstructed: {why}.");
        course.notice(ctx, notice::GAP_NOT_EXPLAINED, &message);
    }
}

/// Gives notice of the half-moves that are ambiguous.
fn ambiguous_told(ctx: &mut Ctx<'_>, course: &Course, doubt: &mut Doubt, last: usize, orders: usize) {
    doubt.of_gap(course.record.plies());
    let first = course.record.plies() + 1;
    let message =
        format!("Half-moves {first} to {last} were missed; {orders} orders of play explain the board.");
    course.notice(ctx, notice::GAP_AMBIGUOUS, &message);
}

/// True while an earlier position on the board may be a takeback: the clock is stopped, or has not sent a
/// frame yet.
pub(in crate::watcher) fn waits_for_clock(ctx: &Ctx<'_>, positions: &Positions<'_>) -> bool {
    !ctx.clock.runs()
        && ctx.clock.attached != Some(false)
        && positions.earlier(ctx.sensed.placement()).is_some()
}

/// True while a half-move that was found after a gap may not be finished, with its piece on a square
/// between: the time of the player who makes it runs, or the clock has not sent a frame yet. A piece that
/// rests for long has arrived.
pub(super) fn is_under_way(ctx: &mut Ctx<'_>, clock_used: bool, ply: &Ply) -> bool {
    if !clock_used || ctx.still_for(GIVEN_UP_MS) {
        return false;
    }
    match ctx.clock.running() {
        Some(turn) => turn != ply.stand.turn(),
        None => ctx.clock.is_silent() && !ctx.passed(ply.at, CLOCK_SPEAKS_MS),
    }
}

/// True when no hand is at work. If one is, looks again later.
pub(in crate::watcher) fn is_at_rest(ctx: &mut Ctx<'_>) -> bool {
    ctx.still_for(REST_MS)
}

#[cfg(test)]
mod tests;
