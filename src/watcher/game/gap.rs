//! What may have been played while the board was not read, and squares that are not read at all.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Color, Move};

use super::Game;
use crate::{
    board::{Bill, Item, Line, Lines, Ply, PlyKind, Stand, bridge, lines::shared},
    event::notice,
    time::Millis,
    watcher::ctx::Ctx,
};

/// A square that is not read for this long is worth a notice.
const DEAD_SQUARE_MS: u64 = 30_000;

/// The board must have been at rest this long before a gap is looked at again.
const REST_MS: u64 = 1500;

/// A clock that is attached has spoken by then: it does so every second.
const CLOCK_SPEAKS_MS: u64 = 3000;

/// A piece in a hand when the board came back has been put down by then.
const GIVEN_UP_MS: u64 = 20_000;

/// So many half-moves that alone explain the board need not be looked up in its log: of more, some may have been
/// taken back by others.
const SURELY_FOUND: usize = 2;

/// More half-moves than these that nobody saw are a tale, whatever they explain.
const TALE: usize = 6;

/// More squares than these are wrong where one half-move is under way or a piece is knocked over.
const FAR: usize = 2;

/// What a half-move found by search costs.
const RECOVERED: f32 = 0.8;

/// What it costs a line that a half-move which was said is another in it.
const CONTRADICTED: f32 = 0.5;

/// A gap in the record that is not explained yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::watcher) struct Unbridged {
    /// When the board was read again.
    since: Millis,
    /// When it was said.
    told: Option<Millis>,
    /// It waits until the clock tells whether play goes on.
    waits: bool,
    tried: Millis,
}

/// `root` and then `path`, found by search.
fn recovered(root: &Line, path: Vec<(Move, Arc<Stand>)>, ctx: &Ctx<'_>) -> Line {
    let mut line = root.clone();
    for (mv, stand) in path {
        let step = Bill::of(Item::Recovered, RECOVERED);
        line = line.played(PlyKind::Recovered(mv), stand, ctx.sensed, ctx.now, &step);
    }
    line.forget_presses();
    line
}

/// `lines` without those that have the half-moves of an earlier one.
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
    /// Lines that go on from those found before the lines existed.
    pub(in crate::watcher) fn take_lines(&mut self, lines: Lines) {
        self.lines = lines;
        self.base = 0;
    }

    /// Looks for legal half-moves from the lines to what stands on the board.
    pub(in crate::watcher) fn bridge_gap(&mut self, ctx: &mut Ctx<'_>, limits: bridge::Limits) {
        self.lines.grow_all(ctx.now, ctx.sensed);
        let best = self.lines.best();
        // Pieces that are missing may be in hands, or have been taken while nobody saw it.
        let explained = best.misplaced(ctx.sensed).is_empty();
        let missing = best.differing().any();
        // Whose time runs is not known at once: then it is looked whether he is to move.
        let turn_open = missing && self.clock_used && ctx.clock.is_silent();
        let wrong_turn = missing && ctx.clock.running().is_some_and(|turn| turn != best.turn());
        let unsure = self.unbridged.is_some() && (wrong_turn || self.exchanged_unseen(ctx));
        if explained && !unsure {
            let missed = best.plies.len().saturating_sub(self.announced());
            let several_gone = best.differing().count() > 1;
            let told = self.unbridged.is_some_and(|gap| gap.told.is_some());
            if self.is_tale(best) || told && several_gone {
                self.gap_told(ctx, false);
                self.want_log(true);
            } else if let Some(gap) = self.unbridged.take() {
                self.unbridged = turn_open.then_some(Unbridged { waits: true, ..gap });
                if missed > 1 {
                    self.one_of_several(ctx, missed, limits);
                }
                if several_gone {
                    self.want_log(false);
                }
            }
            return;
        }
        let (mut found, cut) = self.bridged(ctx, limits);
        found.retain(|line| !self.is_tale(line));
        let shortest = found.iter().map(|line| line.plies.len()).min();
        let missed = shortest.map(|plies| (self.base + plies).saturating_sub(self.plies()));
        let gap = self.unbridged.is_some();
        let told = self.unbridged.is_some_and(|gap| gap.told.is_some());
        let several_gone = self.lines.best().differing().count() > 1;
        if found.is_empty() && explained && !self.is_tale(self.lines.best()) && !(told && several_gone) {
            // One piece is in a hand, most likely.
            if gap && several_gone {
                self.want_log(false);
            }
            self.unbridged = None;
            return;
        }
        if found.is_empty() && self.unbridged.is_none() {
            self.said_otherwise(ctx);
        }
        let Some(shortest) = shortest else {
            self.gap_told(ctx, cut);
            if gap {
                self.want_log(true);
            }
            return;
        };
        self.unbridged = None;
        found.retain(|line| line.plies.len() == shortest);
        let found = distinct(found);
        if found.len() > 1 {
            self.ambiguous_told(ctx, self.base + shortest, found.len());
            if gap {
                self.want_log(true);
            }
        } else if gap && missed > Some(1) {
            // The lines from which it was found may have begun with one of several half-moves.
            self.one_of_several(ctx, missed.unwrap_or(0), limits);
        }
        for (i, mut line) in found.into_iter().enumerate() {
            // The first found goes first where nothing tells them apart.
            line.charge(Item::Recovered, if i == 0 { 0.0 } else { 2.0 });
            self.lines.add(ctx.now, ctx.sensed, line);
        }
    }

    /// True when `line` explains a gap with too many half-moves that nobody saw. Without a clock nothing would tell that play
    /// goes on: any explanation is better than none then.
    fn is_tale(&self, line: &Line) -> bool {
        self.clock_used
            && self
                .unbridged
                .is_some_and(|gap| line.unseen_since(self.announced(), gap.since) > TALE)
    }

    /// Lines that go on from the best ones, by legal half-moves found by search, to what stands on the board;
    /// and whether the search was cut short.
    fn bridged(&self, ctx: &Ctx<'_>, limits: bridge::Limits) -> (Vec<Line>, bool) {
        let turn = ctx.clock.running();
        let mut found = Vec::new();
        let mut cut = false;
        for root in self.lines.all().iter().take(4) {
            let bridges = bridge::bridge(&root.stand, ctx.sensed.placement(), turn, limits);
            cut |= bridges.cut;
            found.extend(bridges.found.into_iter().map(|path| recovered(root, path, ctx)));
        }
        (found, cut)
    }

    /// The lines have found `missed` half-moves by themselves: were they the only ones?
    fn one_of_several(&mut self, ctx: &mut Ctx<'_>, missed: usize, limits: bridge::Limits) {
        let turn = ctx.clock.running();
        let orders = bridge::bridge(self.stand(), ctx.sensed.placement(), turn, limits);
        let as_long = orders.found.iter().filter(|path| path.len() == missed).count();
        // So many are not searched for at all.
        let cut = orders.cut || missed > limits.plies;
        if as_long > 1 {
            self.ambiguous_told(ctx, self.plies() + missed, as_long);
        } else if cut {
            self.notice(
                ctx,
                notice::GAP_AMBIGUOUS,
                "Moves were missed; one order of play explains the board, and the search for others was cut short.",
            );
        }
        let open = as_long > 1 || cut;
        if open || missed > SURELY_FOUND {
            self.want_log(open);
        }
    }

    /// Says which half-moves are open.
    fn ambiguous_told(&mut self, ctx: &mut Ctx<'_>, last: usize, orders: usize) {
        self.doubt.of_gap(self.plies());
        let first = self.plies() + 1;
        let message =
            format!("Half-moves {first} to {last} were missed; {orders} orders of play explain the board.");
        self.notice(ctx, notice::GAP_AMBIGUOUS, &message);
    }

    /// True when pieces of both players are gone from where the best line has them since the board was last
    /// read: a hand takes one of them up, an exchange takes one of each off.
    fn exchanged_unseen(&self, ctx: &Ctx<'_>) -> bool {
        let best = self.lines.best();
        let gone = |s: &shakmaty::Square| ctx.sensed.at(*s).is_empty() && ctx.sensed.seen_at(*s).is_none();
        let gone: Bitboard = best.differing().into_iter().filter(gone).collect();
        let of = |color| {
            gone.into_iter()
                .any(|s| best.placement().at(s).color() == Some(color))
        };
        of(Color::White) && of(Color::Black)
    }

    /// The last half-moves may have been others than was said, if updates were lost: looks for legal
    /// ways from before them to what a dump shows.
    fn said_otherwise(&mut self, ctx: &mut Ctx<'_>) {
        let said = self.announced();
        let root = Line::new(self.stand_at(self.base).clone(), ctx.sensed, ctx.now);
        let limits = bridge::Limits {
            plies: said + 1,
            nodes: 30_000,
            most: 8,
        };
        let paths = bridge::bridge(&root.stand, ctx.sensed.placement(), ctx.clock.running(), limits).found;
        let before = self.lines.best().cost_before_plies();
        for path in paths.into_iter().filter(|path| path.len() >= said) {
            let other = path.iter().zip(&self.record[self.base..]);
            let contradicted = other
                .filter(|((mv, _), made)| made.kind.legal() != Some(*mv))
                .count();
            let mut line = recovered(&root, path, ctx);
            line.charge(Item::Shared, before);
            line.charge(Item::Contradicted, CONTRADICTED * contradicted as f32);
            self.lines.add(ctx.now, ctx.sensed, line);
        }
    }

    /// The board was read again after the link was down: what was played meanwhile?
    pub(in crate::watcher) fn after_gap(&mut self, ctx: &mut Ctx<'_>) {
        self.recall_anew();
        self.unbridged = Some(Unbridged {
            since: ctx.now,
            told: None,
            waits: self.waits_for_clock(ctx),
            tried: ctx.now,
        });
        if self.waits_for_clock(ctx) {
            return;
        }
        self.bridge_gap(ctx, self.gap_limits());
    }

    /// With a stopped clock, or one not heard of yet, an earlier position on the board is a takeback
    /// rather than play.
    pub(in crate::watcher) fn waits_for_clock(&self, ctx: &Ctx<'_>) -> bool {
        !ctx.clock.runs()
            && ctx.clock.attached != Some(false)
            && self.earlier(ctx.sensed.placement()).is_some()
    }

    /// The last half-move found after a gap may be under way, its piece on a square between: the time of the player
    /// who makes it runs, or the clock has not spoken yet. A piece that rests for long has arrived.
    pub(super) fn is_under_way(&self, ctx: &mut Ctx<'_>, ply: &Ply) -> bool {
        if !self.clock_used || ctx.still_for(GIVEN_UP_MS) {
            return false;
        }
        match ctx.clock.running() {
            Some(turn) => turn != ply.stand.turn(),
            None => ctx.clock.is_silent() && !ctx.passed(ply.at, CLOCK_SPEAKS_MS),
        }
    }

    /// Where something is to be put right, it is likelier to stand there still than that much was
    /// played on.
    fn gap_limits(&self) -> bridge::Limits {
        let plies = if self.open_at_board().next().is_none() {
            6
        } else {
            2
        };
        bridge::Limits {
            plies,
            ..bridge::Limits::default()
        }
    }

    /// A gap that could not be explained at once (a piece was in a hand) is tried again whenever
    /// the board has come to rest.
    pub(in crate::watcher) fn try_gap_again(&mut self, ctx: &mut Ctx<'_>) {
        let Some(gap) = self.unbridged else { return };
        let due = gap.tried < ctx.sensed.last_change() || gap.waits && ctx.clock.runs();
        if due && !self.waits_for_clock(ctx) && ctx.still_for(REST_MS) {
            self.unbridged = Some(Unbridged {
                tried: ctx.now,
                waits: false,
                ..gap
            });
            self.bridge_gap(ctx, self.gap_limits());
        }
    }

    /// What stands on the board is far from the record, for nobody knows what was played: a part of it is
    /// not believed, and no press is judged.
    pub(super) fn lost_track(&self) -> bool {
        let best = self.lines.best();
        let told = self.unbridged.is_some_and(|gap| gap.told.is_some());
        told && best.differing().count() > FAR || self.is_tale(best)
    }

    /// Play goes on, and neither search nor the board's log tells how it came to this: what was missed is
    /// lost, and the game is to be taken up from what stands there.
    pub(in crate::watcher) fn given_up(&self, ctx: &mut Ctx<'_>) -> bool {
        let told = self.unbridged.and_then(|gap| gap.told);
        told.is_some_and(|told| {
            self.lost_track()
                && ctx.clock.runs()
                && !self.recalls()
                && ctx.passed(told, GIVEN_UP_MS)
                && ctx.still_for(REST_MS)
        })
    }

    /// Says once that a gap is not explained.
    fn gap_told(&mut self, ctx: &mut Ctx<'_>, cut: bool) {
        let plies = self.plies();
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
        self.notice(ctx, notice::GAP_NOT_EXPLAINED, &message);
    }

    /// Gives notice of squares that are not read although a piece must stand there.
    pub(in crate::watcher) fn look_for_dead_squares(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.lines.best();
        let unread = best.differing() | best.faults().hidden;
        let missing: Bitboard = unread
            .into_iter()
            .filter(|s| {
                let code = self.stand().placement().at(*s);
                let named = self.unread.pieces.iter().any(|(known, _)| *known == code);
                ctx.sensed.at(*s).is_empty() && !code.is_empty() && !named
            })
            .collect::<Bitboard>()
            & !self.noticed;
        for square in missing {
            let since = ctx.sensed.since(square).max(self.stands_since(square));
            let since = since.max(self.read_since);
            if ctx.passed(since, DEAD_SQUARE_MS) {
                self.noticed.add(square);
                let message = format!("Nothing is read on {square}, where a piece should stand.");
                self.notice(ctx, notice::SQUARE_NOT_READ, &message);
            }
        }
    }

    /// When the half-move was made that last changed `square` in the record.
    fn stands_since(&self, square: shakmaty::Square) -> Millis {
        let now = self.stand().placement().at(square);
        let before = |ply: usize| self.stand_at(ply).placement().at(square);
        let ply = (0..self.plies()).rev().find(|ply| before(*ply) != now);
        ply.map_or(self.began, |ply| self.record[ply].at)
    }
}
