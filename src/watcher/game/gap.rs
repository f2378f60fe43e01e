//! Gaps: half-moves that may have been played while nobody read the board.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Move};

use super::{Game, recall::Need};
use crate::{
    board::{Bill, Item, Line, Lines, Placement, Ply, PlyKind, Sensed, Stand, bridge, lines::shared},
    event::notice,
    time::Millis,
    watcher::ctx::Ctx,
};

/// The board must have been at rest for this long before the watcher searches a gap again.
const REST_MS: u64 = 1500;

/// An attached clock has sent a frame after this long: it sends one every second.
const CLOCK_SPEAKS_MS: u64 = 3000;

/// After this long, a hand has put down the piece that it held when the board came back.
const GIVEN_UP_MS: u64 = 20_000;

/// If only one order of play explains the board, and it has no more half-moves than these, the watcher need
/// not read the board's log. In a longer gap pieces may have moved there and back.
const SURELY_FOUND: usize = 2;

/// More unseen half-moves than these are a tale, whatever they explain.
const TALE: usize = 8;
/// The same once the watcher has said that nothing explains the gap: half-moves that were heard since follow it.
const LATE_TALE: usize = 6;

/// If more squares than these are wrong, more happened than a half-move that is under way or a piece that was
/// knocked over.
const FAR: usize = 2;

/// Cost of a half-move that a search found, in nats.
const RECOVERED: f32 = 0.8;

/// Cost of what a search found after the first, where nothing tells them apart, in nats.
const NOT_FIRST: f32 = 2.0;
/// Cost of each half-move in which a hypothesis contradicts the record, in nats.
const CONTRADICTED: f32 = 0.5;

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

/// `root`, continued by the half-moves of `path` that a search found.
fn recovered(root: &Line, path: Vec<(Move, Arc<Stand>)>, ctx: &Ctx<'_>) -> Line {
    let mut line = root.clone();
    for (mv, stand) in path {
        let step = Bill::of(Item::Recovered, RECOVERED);
        line = line.played(PlyKind::Recovered(mv), stand, ctx.sensed, ctx.now, &step);
    }
    line.forget_presses();
    line
}

/// What stands on the board, as far as `root` tells: pieces that were not read before the gap stand where they stood, unless
/// something else is read there.
fn standing(root: &Line, sensed: &Sensed) -> Placement {
    let mut placement = sensed.placement().clone();
    for square in root.faults().hidden {
        if placement.at(square).is_empty() {
            placement.set(square, root.placement().at(square));
        }
    }
    placement
}

/// `lines` without those whose half-moves repeat an earlier hypothesis.
fn distinct(lines: Vec<Line>) -> Vec<Line> {
    let mut distinct: Vec<Line> = Vec::new();
    for line in lines {
        let known =
            |other: &Line| other.plies.len() == line.plies.len() && shared(other, &line) == line.plies.len();
        if !distinct.iter().any(known) {
            distinct.push(line);
        }
    }
    distinct
}

impl Game {
    /// Takes over a beam that starts where the game starts.
    pub(in crate::watcher) fn take_lines(&mut self, lines: Lines) {
        self.course.lines = lines;
        self.course.base = 0;
    }

    /// Searches for legal half-moves from the hypotheses to the position on the board.
    pub(in crate::watcher) fn bridge_gap(&mut self, ctx: &mut Ctx<'_>, limits: bridge::Limits) {
        self.course.lines.grow_all(ctx.now, ctx.sensed);
        let best = self.course.lines.best();
        // Missing pieces may be in hands, or were taken while nobody read the board.
        let explained = best.misplaced(ctx.sensed).is_empty();
        let missing = best.differing().any();
        // The clock does not tell at once whose time runs. Once it does, the watcher compares that with the
        // side to move.
        let turn_open = missing && self.course.clock_used && ctx.clock.is_silent();
        let wrong_turn = missing && ctx.clock.running().is_some_and(|turn| turn != best.turn());
        let unsure = self.unbridged.is_some() && wrong_turn || self.exchanged_unseen(ctx);
        if explained && !unsure {
            let missed = best.plies.len().saturating_sub(self.course.announced());
            let several_gone = best.differing().count() > 1;
            let told = self.is_gap_told();
            if self.is_tale(best) || told && several_gone {
                self.gap_told(ctx, false);
                self.want_log(Need::Decide);
            } else if let Some(gap) = self.unbridged.take() {
                self.unbridged = turn_open.then_some(Unbridged {
                    search: gap.search.or_clock(ctx.now),
                    ..gap
                });
                if missed > 1 {
                    self.one_of_several(ctx, missed, limits);
                }
                if several_gone {
                    self.want_log(Need::Check);
                }
            }
            return;
        }
        let (mut found, cut) = self.bridged(ctx, limits);
        found.retain(|line| !self.is_tale(line));
        let shortest = found.iter().map(|line| line.plies.len()).min();
        let missed =
            shortest.map(|plies| (self.course.base + plies).saturating_sub(self.course.record.plies()));
        let gap = self.unbridged.is_some();
        let told = self.is_gap_told();
        let several_gone = self.course.lines.best().differing().count() > 1;
        if found.is_empty() && explained && !self.is_tale(self.course.lines.best()) && !(told && several_gone)
        {
            // Most likely a hand holds one piece.
            if gap && several_gone {
                self.want_log(Need::Check);
            }
            if gap && self.exchanged_unseen(ctx) {
                self.doubt.of_gap(self.course.record.plies());
            }
            self.unbridged = None;
            return;
        }
        if found.is_empty() && self.unbridged.is_none() {
            self.said_otherwise(ctx);
        }
        let Some(shortest) = shortest else {
            if self.missed_plies(ctx).is_some()
                && !ctx.still_for(REST_MS)
                && let Some(gap) = &mut self.unbridged
            {
                gap.search = NextSearch::AtRest;
                return;
            }
            self.gap_told(ctx, cut);
            if gap {
                self.want_log(Need::Decide);
            }
            return;
        };
        self.unbridged = None;
        found.retain(|line| line.plies.len() == shortest);
        let found = distinct(found);
        if found.len() > 1 {
            self.ambiguous_told(ctx, self.course.base + shortest, found.len());
            if gap {
                self.want_log(Need::Decide);
            }
        } else if gap && missed > Some(1) {
            // The hypotheses from which the search started may contain half-moves that are themselves one of
            // several possibilities.
            self.one_of_several(ctx, missed.unwrap_or(0), limits);
        }
        for (i, mut line) in found.into_iter().enumerate() {
            // Where nothing tells them apart, the first one found is preferred.
            line.charge(Item::Recovered, if i == 0 { 0.0 } else { NOT_FIRST });
            self.course.lines.add(ctx.now, ctx.sensed, line);
        }
    }

    /// True when `line` explains a gap by too many half-moves that nobody saw. Without a clock nothing else
    /// would show that play goes on, so any hypothesis is better than none.
    fn is_tale(&self, line: &Line) -> bool {
        self.course.clock_used
            && self
                .unbridged
                .is_some_and(|gap| line.unseen_since(self.course.announced(), gap.since) > self.most_unseen())
    }

    /// The most half-moves that nobody saw and that are no tale.
    fn most_unseen(&self) -> usize {
        if self.is_gap_told() { LATE_TALE } else { TALE }
    }

    /// Searches from the best hypotheses, by legal half-moves, to the position on the board. Returns the
    /// hypotheses found, and whether the search was cut short.
    fn bridged(&self, ctx: &Ctx<'_>, limits: bridge::Limits) -> (Vec<Line>, bool) {
        let turn = ctx.clock.running();
        let mut found = Vec::new();
        let mut cut = false;
        for root in self.course.lines.all().take(4) {
            let mut bridges = bridge::bridge(&root.stand, ctx.sensed.placement(), turn, limits);
            if bridges.found.is_empty() && root.faults().hidden.any() {
                bridges = bridge::bridge(&root.stand, &standing(root, ctx.sensed), turn, limits);
            }
            cut |= bridges.cut;
            found.extend(bridges.found.into_iter().map(|path| recovered(root, path, ctx)));
        }
        (found, cut)
    }

    /// The beam explains the gap by `missed` half-moves. Looks whether other half-moves explain it as well.
    fn one_of_several(&mut self, ctx: &mut Ctx<'_>, missed: usize, limits: bridge::Limits) {
        let turn = ctx.clock.running();
        let limits = bridge::Limits {
            plies: limits.plies.max(missed).min(self.most_unseen()),
            ..limits
        };
        let orders = bridge::bridge(self.course.record.stand(), ctx.sensed.placement(), turn, limits);
        let as_long = orders.found.iter().filter(|path| path.len() == missed).count();
        // The search does not go as deep as that.
        let cut = orders.cut || missed > limits.plies;
        if as_long > 1 {
            self.ambiguous_told(ctx, self.course.record.plies() + missed, as_long);
        } else if cut {
            self.course.notice(
                ctx,
                notice::GAP_AMBIGUOUS,
                "Moves were missed; one order of play explains the board, and the search for others was cut short.",
            );
        }
        let open = as_long > 1 || cut;
        if open || missed > SURELY_FOUND {
            self.want_log(if open { Need::Decide } else { Need::Check });
        }
    }

    /// Gives notice of the half-moves that are ambiguous.
    fn ambiguous_told(&mut self, ctx: &mut Ctx<'_>, last: usize, orders: usize) {
        self.doubt.of_gap(self.course.record.plies());
        let first = self.course.record.plies() + 1;
        let message =
            format!("Half-moves {first} to {last} were missed; {orders} orders of play explain the board.");
        self.course.notice(ctx, notice::GAP_AMBIGUOUS, &message);
    }

    /// True when pieces of both players are missing that the board has not read since the gap. A hand lifts
    /// one piece; an exchange takes one of each player off the board.
    fn exchanged_unseen(&self, ctx: &Ctx<'_>) -> bool {
        let best = self.course.lines.best();
        let gone = |s: &shakmaty::Square| ctx.sensed.at(*s).is_empty() && ctx.sensed.seen_at(*s).is_none();
        let gone: Bitboard = best.differing().into_iter().filter(gone).collect();
        let of = |color| {
            gone.into_iter()
                .any(|s| best.placement().at(s).color() == Some(color))
        };
        of(Color::White) && of(Color::Black)
    }

    /// Searches for other half-moves in place of the last ones of the record, up to what a dump shows: the
    /// record may be wrong if updates were lost.
    fn said_otherwise(&mut self, ctx: &mut Ctx<'_>) {
        let said = self.course.announced();
        let root = Line::new(
            self.course.record.stand_at(self.course.base).clone(),
            ctx.sensed,
            ctx.now,
        );
        let limits = bridge::Limits {
            plies: said + 1,
            nodes: 30_000,
            most: 8,
        };
        let paths = bridge::bridge(&root.stand, ctx.sensed.placement(), ctx.clock.running(), limits).found;
        let before = self.course.lines.best().cost_before_plies();
        for path in paths.into_iter().filter(|path| path.len() >= said) {
            let other = path.iter().zip(&self.course.record[self.course.base..]);
            let contradicted = other
                .filter(|((mv, _), made)| made.kind.legal() != Some(*mv))
                .count();
            let mut line = recovered(&root, path, ctx);
            line.charge(Item::Shared, before);
            line.charge(Item::Contradicted, CONTRADICTED * contradicted as f32);
            self.course.lines.add(ctx.now, ctx.sensed, line);
        }
    }

    /// The board is read again after the link was down. Searches for what was played meanwhile.
    pub(in crate::watcher) fn after_gap(&mut self, ctx: &mut Ctx<'_>) {
        self.recall_anew();
        let waits = self.waits_for_clock(ctx);
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
        self.bridge_gap(ctx, self.gap_limits(ctx));
    }

    /// True while an earlier position on the board may be a takeback: the clock is stopped, or has not sent a
    /// frame yet.
    pub(in crate::watcher) fn waits_for_clock(&self, ctx: &Ctx<'_>) -> bool {
        !ctx.clock.runs()
            && ctx.clock.attached != Some(false)
            && self.earlier(ctx.sensed.placement()).is_some()
    }

    /// True while a half-move that was found after a gap may not be finished, with its piece on a square
    /// between: the time of the player who makes it runs, or the clock has not sent a frame yet. A piece that
    /// rests for long has arrived.
    pub(super) fn is_under_way(&self, ctx: &mut Ctx<'_>, ply: &Ply) -> bool {
        if !self.course.clock_used || ctx.still_for(GIVEN_UP_MS) {
            return false;
        }
        match ctx.clock.running() {
            Some(turn) => turn != ply.stand.turn(),
            None => ctx.clock.is_silent() && !ctx.passed(ply.at, CLOCK_SPEAKS_MS),
        }
    }

    /// Bounds of the search. Where an irregularity is open, the players have hardly played on, so the search
    /// is short. So it is where the clock shows that there was no time for more: all half-moves but the last were
    /// pressed.
    fn gap_limits(&self, ctx: &Ctx<'_>) -> bridge::Limits {
        let plies = if self.cases.at_board().next().is_none() {
            self.most_unseen()
        } else {
            2
        };
        bridge::Limits {
            plies: self.missed_plies(ctx).map_or(plies, |missed| plies.min(missed)),
            ..bridge::Limits::default()
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
    pub(in crate::watcher) fn try_gap_again(&mut self, ctx: &mut Ctx<'_>) {
        let Some(gap) = self.unbridged else { return };
        if gap.search.is_due(ctx) && !self.waits_for_clock(ctx) && ctx.still_for(REST_MS) {
            self.unbridged = Some(Unbridged {
                search: NextSearch::AfterChange(ctx.now),
                ..gap
            });
            self.bridge_gap(ctx, self.gap_limits(ctx));
        }
    }

    /// True until a gap that is not explained was searched with the board at rest.
    pub(super) fn searches_soon(&self, now: Millis) -> bool {
        let soon = |gap: Unbridged| !gap.is_told() && now.since(gap.since) <= REST_MS;
        self.unbridged.is_some_and(soon)
    }

    /// True while a gap is open of which the watcher has said that nothing explains it.
    pub(super) fn is_gap_told(&self) -> bool {
        self.unbridged.is_some_and(Unbridged::is_told)
    }

    /// True when the board is far from the record, because nobody knows what was played. Then the watcher
    /// reports no half-moves and judges no press.
    pub(super) fn lost_track(&self) -> bool {
        let best = self.course.lines.best();
        self.is_gap_told() && best.differing().count() > FAR || self.is_tale(best)
    }

    /// True while nobody knows what was played in a gap, however near to the record the board may be just now.
    pub(in crate::watcher) fn is_unexplained(&self) -> bool {
        self.is_gap_told() || self.is_tale(self.course.lines.best())
    }

    /// True when play goes on, and nothing explains the gap so far.
    pub(in crate::watcher) fn is_lost(&self, ctx: &Ctx<'_>) -> bool {
        self.lost_track() && ctx.clock.runs()
    }

    /// True when no hand is at work. If one is, looks again later.
    pub(in crate::watcher) fn is_at_rest(&self, ctx: &mut Ctx<'_>) -> bool {
        ctx.still_for(REST_MS)
    }

    /// True when neither the search nor the board's log has explained the gap for long. Then the watcher gives up what it
    /// missed, and takes the game up from the position on the board.
    pub(in crate::watcher) fn given_up(&self, ctx: &mut Ctx<'_>) -> bool {
        let told = self.unbridged.and_then(|gap| gap.told);
        !self.recalls() && told.is_some_and(|told| ctx.passed(told, GIVEN_UP_MS))
    }

    /// Gives notice, once, that a gap is not explained.
    fn gap_told(&mut self, ctx: &mut Ctx<'_>, cut: bool) {
        let plies = self.course.record.plies();
        let Some(gap) = &mut self.unbridged else { return };
        self.doubt.of_gap(plies);
        if gap.told.replace(gap.told.unwrap_or(ctx.now)).is_some() {
            return;
        }
        let why = if cut {
            "the search was cut short"
        } else {
            "no few legal moves lead to what stands there"
        };
        let message = format!("Moves were missed and could not be reconstructed: {why}.");
        self.course.notice(ctx, notice::GAP_NOT_EXPLAINED, &message);
    }
}

#[cfg(test)]
mod tests;
