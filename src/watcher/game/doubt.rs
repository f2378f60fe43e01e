//! A record that is in doubt, for a piece is not read that may have gone anywhere, or for nobody saw what was played while
//! the link was down: nobody is accused of what may follow from how it was told.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::Square;

use super::{
    Game, Made, Open,
    advice::{Finding, Scene},
};
use crate::{
    board::{Bill, IllegalAct, Line, Placement, PlyKind},
    event::{CompletedBy, notice},
    time::Millis,
    watcher::{arrays::is_playable, ctx::Ctx},
};

/// A press that nothing explains is taken for a half-move that cannot be told after so long.
const EXCUSED_MS: u64 = 2500;
/// So many half-moves in a row that nobody saw are a tale.
const SEVERAL: usize = 3;
/// So many pieces that are not where the record has them cannot all be in hands.
const APART: usize = 2;
/// And so long after the board was read again: hands have put down what they held.
const APART_MS: u64 = 20_000;
/// Hands are off the board.
const REST_MS: u64 = 1500;
/// After so many half-moves that fit, what was told of a gap is believed.
const BELIEVED: usize = 20;
/// What is only found in hindsight, so long after its press, was found because something else was taken back.
const HINDSIGHT_MS: u64 = 12_000;
/// So many pieces that were not read where they went are more than chance.
const UNLANDED: usize = 2;
/// Among so many half-moves.
const LATELY: usize = 40;

/// Who stops the clock so soon after a press does so because of what was done, if anything was.
const NOTICED_MS: u64 = 8000;
/// A piece that has stood for so long when a half-move was made was not on its way.
const ASTRAY_MS: u64 = 3000;
/// A piece that was gone for so long when its owner pressed for another was not under his sleeve.
const GONE_MS: u64 = 1500;

/// Why the record is in doubt.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::watcher) struct Doubt {
    /// A piece is not read and has moved.
    pub(in crate::watcher) unread: bool,
    /// A piece was not read where it went.
    pub(in crate::watcher) strayed: bool,
    /// Half-moves of the record when it was told what was played in a gap, and nothing has borne that out.
    pub(in crate::watcher) gap: Option<usize>,
    /// The game was taken up in mid-game from what came in a lump, and that is the gap: what is against the record then is
    /// told as a suspicion.
    pub(in crate::watcher) begun_in_lump: bool,
    /// The game was taken up from what was read on a board that does not read all: pieces may stand there that it does not
    /// know, for the rest of the game.
    pub(in crate::watcher) absent: bool,
    /// The record was corrected, or nobody measured when what it tells of happened: accusations are no longer certain, but
    /// they are made.
    pub(in crate::watcher) shaken: bool,
    /// Half-moves of the record when it was last corrected: the last one that was told otherwise.
    pub(in crate::watcher) corrected: Option<usize>,
    /// The number of a half-move that cannot be told, and would be an offence if the board read all: nobody has replied yet.
    pub(in crate::watcher) excused: Option<usize>,
}

impl Doubt {
    /// True when nobody is to be accused of what the record makes of things.
    pub(in crate::watcher) fn any(&self) -> bool {
        self.unread || self.strayed || self.absent || self.gap.is_some() && !self.is_begun_in_lump()
    }

    /// What was played in a gap was told after `plies` half-moves, and nothing bears it out: whatever else is in doubt, it is not
    /// the beginning in a lump alone.
    pub(in crate::watcher) fn of_gap(&mut self, plies: usize) {
        (self.gap, self.begun_in_lump) = (Some(plies), false);
    }

    /// What was told of a gap is in doubt no more.
    pub(in crate::watcher) fn gap_is_known(&mut self) {
        (self.gap, self.begun_in_lump) = (None, false);
    }

    /// True while all that is in doubt is how the game began, for it began in a lump.
    pub(in crate::watcher) fn is_begun_in_lump(&self) -> bool {
        self.begun_in_lump && self.gap == Some(0)
    }
}

/// What speaks against the record and does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::watcher) enum Overruled {
    /// What is read next, if it is a position before the last one.
    Next,
    /// What stands on the board.
    Shown(Placement),
}

impl Game {
    /// True when pieces or squares of this board are known not to be read: what it shows is no proof of an offence.
    pub(in crate::watcher) fn is_board_faulty(&self) -> bool {
        let lately = &self.record[self.record.len().saturating_sub(LATELY)..];
        let unlanded = lately
            .iter()
            .filter(|made| !made.landed && made.kind.legal().is_some());
        let unread = &self.unread;
        !(unread.silent.is_empty() && unread.pieces.is_empty() && unread.squares.is_empty())
            || self.lines.best().faults().hidden.any()
            || unlanded.count() >= UNLANDED
    }

    /// True when what was read since the press at `pressed` proves no offence, for record or board are in doubt. Who stops the
    /// clock has seen what the board may not have shown.
    pub(super) fn is_unproven(&self, ctx: &Ctx<'_>, pressed: Option<Millis>) -> bool {
        let stopped = ctx
            .clock
            .stopped_at
            .is_some_and(|at| pressed.is_some_and(|pressed| at >= pressed));
        self.doubt.any() || (self.is_board_faulty() || self.is_astray(ctx)) && !stopped
    }

    /// True when a piece stands where the record has none since before the last half-move, and nothing that was said explains
    /// it: half-moves were missed.
    fn is_astray(&self, ctx: &Ctx<'_>) -> bool {
        let Some(last) = self.record.last() else {
            return false;
        };
        let differing = last.stand.placement().differing(ctx.sensed.placement());
        let lasts = |s: Square| ctx.sensed.at(s).is_man() && ctx.sensed.since(s) + ASTRAY_MS < last.at;
        differing.into_iter().any(lasts) && !self.open.iter().any(|open| open.target.is_some())
    }

    /// True when the act that ends `best` follows from what was not read: a piece went where nothing is read just before, or
    /// one of the player who pressed at `pressed` had been gone while he moved another, and so is in no hand.
    fn rests_on_unread(&self, ctx: &Ctx<'_>, pressed: Millis) -> bool {
        let (best, by) = (self.lines.best(), self.stand().turn());
        let missing = |s: Square| best.differing().contains(s) && ctx.sensed.at(s).is_empty();
        let before = best.plies.iter().take(self.announced());
        let mut strayed = before
            .filter(|ply| !ply.landed)
            .filter_map(|ply| ply.kind.from_to());
        let gone = |s: Square| {
            let own = best.expects(s).color() == Some(by);
            missing(s) && own && ctx.sensed.since(s) + GONE_MS < pressed
        };
        strayed.any(|(_, to)| missing(to)) || best.differing().into_iter().any(gone)
    }

    /// What was told of a gap is believed once play has gone on from it for a while.
    pub(in crate::watcher) fn look_at_doubt(&mut self) {
        let recovered = |made: &Made| matches!(made.kind, PlyKind::Recovered(_));
        if self.record.len() >= SEVERAL && self.record[self.record.len() - SEVERAL..].iter().all(recovered) {
            // Nobody saw them.
            let told = self.doubt.gap.unwrap_or(self.plies());
            self.doubt.of_gap(told);
        }
        let last = || self.record.iter().rposition(recovered).unwrap_or(0);
        if let Some(told) = self.doubt.gap
            && self.plies() >= told.max(last()) + BELIEVED
            && self.lines.best().differing().is_empty()
        {
            self.doubt.gap_is_known();
        }
    }

    /// After a gap the record and the board have gone apart: what was told of it was wrong, and the game is taken up from
    /// what stands there, by half-moves that cannot be told.
    pub(in crate::watcher) fn take_up_what_stands(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.lines.best();
        let apart = best.faults().hidden | best.misplaced(ctx.sensed);
        let Some(turn) = ctx.clock.running().filter(|_| self.doubt.gap.is_some()) else {
            return;
        };
        let displaced = |open: &Open| open.ply <= self.plies() && open.target.is_some();
        // A gap that nothing explains has its own way out.
        if self.unbridged.is_some()
            || self.open.iter().any(displaced)
            || apart.count() < APART
            || self.recalls()
            || !is_playable(ctx.sensed.placement())
        {
            return;
        }
        if !ctx.passed(self.read_since, APART_MS) || !ctx.still_for(REST_MS) || self.doubt.unread {
            return;
        }
        let message = "What was told of the gap does not lead to what stands on the board: the game goes on from there.";
        self.notice(ctx, notice::GAP_NOT_EXPLAINED, message);
        let act = IllegalAct::left(None, ctx.sensed.placement());
        let untold = 1 + usize::from(self.stand().turn() == turn);
        for _ in 0..untold {
            self.announce_untold(ctx, &act, ctx.now);
        }
        self.doubt.absent |= self.is_board_faulty();
        self.unbridged = None;
        self.press = None;
        self.later_presses.clear();
        self.restart_lines(ctx);
    }

    /// A half-move that cannot be told enters the record; `act` is what it left.
    fn announce_untold(&mut self, ctx: &mut Ctx<'_>, act: &IllegalAct, pressed: Millis) {
        let before = Line::new(self.stand().clone(), ctx.sensed, ctx.now);
        let left = Arc::new(self.stand().left_as(&act.placement()));
        let kind = PlyKind::Illegal(Box::new(act.clone()));
        let line = before.played(kind, left, ctx.sensed, ctx.now, &Bill::default());
        if let Some(mut ply) = line.plies.last().cloned() {
            ply.pressed = Some(pressed);
            self.announce(ctx, &ply, CompletedBy::Recovered);
            self.doubt.of_gap(self.plies());
        }
    }

    /// Where the record is in doubt, what no half-move explains is no offence: the record is told otherwise, or goes on from
    /// what was seen. Returns true when nobody is to be accused.
    pub(super) fn excuse(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let k = self.announced();
        let best = self.lines.best();
        let suspected = best
            .plies
            .get(k)
            .filter(|ply| matches!(ply.kind, PlyKind::Suspect(_)));
        let pressed = suspected.and_then(|ply| ply.pressed).or_else(|| best.awaits());
        let in_hindsight = pressed.is_some_and(|pressed| ctx.now.since(pressed) > HINDSIGHT_MS);
        let unread = suspected.is_some() && pressed.is_some_and(|pressed| self.rests_on_unread(ctx, pressed));
        let shown = suspected.is_none() && pressed.is_some_and(|pressed| self.shows_up(ctx, pressed));
        if !self.is_unproven(ctx, pressed) && !in_hindsight && !unread && !shown {
            return false;
        }
        let best = self.lines.best();
        // Play went on from it: then it is said, as a suspicion, and the record goes on.
        let answered = best.plies.get(k + 1).is_some_and(|reply| reply.pressed.is_some());
        let said = suspected.is_some() && answered && !unread;
        if said && pressed.is_some_and(|pressed| ctx.passed(pressed, EXCUSED_MS)) {
            return false;
        }
        ctx.wait_for("the record to be beyond doubt");
        let Some(pressed) = pressed.filter(|_| self.on_record()) else {
            return true;
        };
        if !ctx.passed(pressed, EXCUSED_MS) || best.plies.len() > k + 1 {
            return true;
        }
        // What was played is known: only the hardware is in the way.
        let sound = self.doubt.gap.is_none() && !self.doubt.absent && !self.is_astray(ctx);
        let by_hardware = suspected.is_some() && sound && !in_hindsight && !unread;
        self.take_as_it_stands(ctx, pressed);
        self.doubt.excused = by_hardware.then_some(self.plies());
        true
    }

    /// What was excused because the board does not read all is a suspicion after all where somebody stops the clock before
    /// the opponent has replied.
    pub(in crate::watcher) fn look_at_excused(&mut self, ctx: &mut Ctx<'_>) {
        let Some(ply) = self.doubt.excused.filter(|_| self.is_watched()) else {
            return;
        };
        let left = self
            .record
            .get(ply.wrapping_sub(1))
            .filter(|_| ply == self.plies());
        let Some((PlyKind::Illegal(act), made)) = left.map(|made| (made.kind.clone(), made)) else {
            self.doubt.excused = None;
            return;
        };
        let Some(stopped) = ctx.clock.stopped_at else {
            if ctx.passed(made.at, NOTICED_MS) {
                self.doubt.excused = None;
            }
            return;
        };
        if self.lines.best().plies.len() > self.announced() || stopped.since(made.at) > NOTICED_MS {
            return;
        }
        let (at, clock, left) = (made.at, made.clock, made.stand.placement().clone());
        let before = self.stand_at(ply - 1).clone();
        let by = before.turn();
        let scene = Scene {
            ply,
            before,
            seen: left,
            at,
            clock,
        };
        let finding = Finding::illegal(by, &act, scene);
        self.doubt.excused = None;
        self.accuse(ctx, finding, Some(&act));
    }

    /// True when, in the turn that ended with the press at `pressed`, a piece came to be read where it stands by the record
    /// and was not read before: it has rather moved there now, and the record was wrong.
    fn shows_up(&self, ctx: &Ctx<'_>, pressed: Millis) -> bool {
        let Some(last) = self.record.last() else {
            return false;
        };
        let stand = self.stand();
        let shown = |s: Square| {
            let since = ctx.sensed.since(s);
            let emptied = ctx.sensed.was_empty_for(s).map(|gone| since - gone);
            let in_turn = last.at < since && since <= pressed;
            in_turn && ctx.sensed.at(s).is_man() && emptied.is_some_and(|emptied| emptied < last.at)
        };
        stand.board().by_color(stand.turn()).into_iter().any(shown)
    }

    /// A half-move that cannot be told enters the record, and the game goes on from what is seen after it.
    fn take_as_it_stands(&mut self, ctx: &mut Ctx<'_>, pressed: Millis) {
        let best = self.lines.best();
        let suspected = best.plies.get(self.announced()).map(|ply| ply.kind.clone());
        let act = match suspected {
            Some(PlyKind::Suspect(act)) => *act,
            _ => {
                let mut left = ctx.sensed.placement().clone();
                for square in best.faults().hidden {
                    left.set(square, best.placement().at(square));
                }
                IllegalAct::left(None, &left)
            }
        };
        self.press = None;
        self.announce_untold(ctx, &act, pressed);
        self.restart_lines(ctx);
        for press in self.later_presses.clone() {
            self.lines.press(press.at, ctx.sensed, press.side);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Doubt;

    #[test]
    fn a_gap_is_in_doubt_however_the_game_began() {
        let mut doubt = Doubt {
            gap: Some(0),
            begun_in_lump: true,
            ..Doubt::default()
        };
        assert!(!doubt.any() && doubt.is_begun_in_lump());
        // Before the first half-move the cable was out.
        doubt.of_gap(0);
        assert!(doubt.any() && !doubt.is_begun_in_lump());
    }
}
