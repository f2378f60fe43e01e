//! A record that may be wrong. The board does not read a piece, which may have gone anywhere; or nobody saw
//! what was played while the link was down. Then the watcher accuses nobody of what may follow from a mistake
//! in the record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{Color, Square};

use super::{Game, Made, Open};
use crate::{
    board::{Bill, IllegalAct, Line, Placement, PlyKind},
    event::{CompletedBy, notice},
    time::Millis,
    watcher::{arrays::is_playable, ctx::Ctx},
};

/// After this long, the watcher takes a press that nothing explains for a half-move that it cannot name.
const EXCUSED_MS: u64 = 2500;
/// This many half-moves in a row that nobody saw are a tale, and put the record in doubt.
const SEVERAL: usize = 3;
/// If this many pieces are not where the record has them, hands do not hold them all.
const APART: usize = 2;
/// This long after the board is read again, hands have put down what they held.
const APART_MS: u64 = 20_000;
/// After this long without a change, hands are off the board.
const REST_MS: u64 = 1500;
/// After this many half-moves that fit, the watcher believes the tale of a gap.
const BELIEVED: usize = 20;
/// An offence that is found this long after its press was found only because a hypothesis fell away.
const HINDSIGHT_MS: u64 = 12_000;
/// If the board did not read this many pieces where they went, that is more than chance.
const UNLANDED: usize = 2;
/// The number of latest half-moves among which these pieces are counted.
const LATELY: usize = 40;

/// A person who stops the clock within this time after a press has noticed what was done.
pub(super) const NOTICED_MS: u64 = 8000;
/// A piece that had stood for this long when a half-move was made was not on its way elsewhere.
const ASTRAY_MS: u64 = 3000;
/// A piece that had been gone for this long when its owner pressed for another was not hidden by a sleeve.
const GONE_MS: u64 = 1500;

/// Why the record is in doubt.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::watcher) struct Doubt {
    /// The board does not read a piece, and that piece has moved.
    pub(in crate::watcher) unread: bool,
    /// The board did not read a piece where it went.
    pub(in crate::watcher) strayed: bool,
    /// Length of the record when the watcher reported the tale of a gap that later play has not yet borne
    /// out.
    pub(in crate::watcher) gap: Option<usize>,
    /// The watcher took the game up in the middle, from readings that came in one lump, and that is the gap.
    /// Then it reports offences as suspicions.
    pub(in crate::watcher) begun_in_lump: bool,
    /// The watcher took the game up from readings of a board that does not read all pieces. For the rest of
    /// the game, pieces that the record does not have may stand on the board.
    pub(in crate::watcher) absent: bool,
    /// The watcher took the game up in the middle, and no initial position has shown which way round the board lies.
    pub(in crate::watcher) turned: bool,
    /// The record was corrected, or nobody measured when its half-moves happened. The watcher still reports
    /// offences, but none as certain.
    pub(in crate::watcher) shaken: bool,
    /// Length of the record when it was last corrected: the number of the last half-move that changed.
    pub(in crate::watcher) corrected: Option<usize>,
    /// The number of the half-move that the watcher could not name, and that would be an offence on a sound
    /// board. Nobody has replied to it.
    pub(in crate::watcher) excused: Option<usize>,
}

impl Doubt {
    /// True when the record is no ground for an accusation.
    pub(in crate::watcher) fn any(&self) -> bool {
        self.unread || self.strayed || self.absent || self.gap.is_some() && !self.is_begun_in_lump()
    }

    /// What was played in a gap was told after `plies` half-moves, and nothing bears it out: whatever else is in doubt, it is not
    /// the beginning in a lump alone.
    pub(in crate::watcher) fn of_gap(&mut self, plies: usize) {
        (self.gap, self.begun_in_lump) = (Some(plies), false);
    }

    /// The record of `plies` half-moves is corrected: it was wrong, and may be wrong elsewhere.
    pub(super) fn shake(&mut self, plies: usize) {
        self.shaken = true;
        self.corrected = Some(plies);
    }

    /// What was told of a gap is in doubt no more.
    pub(in crate::watcher) fn gap_is_known(&mut self) {
        (self.gap, self.begun_in_lump) = (None, false);
    }

    /// True while only the beginning of the game is in doubt, because the watcher read it in one lump.
    pub(in crate::watcher) fn is_begun_in_lump(&self) -> bool {
        self.begun_in_lump && self.gap == Some(0)
    }
}

/// A reading that contradicts the record and does not count, because a person has put the record right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::watcher) enum Overruled {
    /// The next position that is read, if it is an earlier one of the game.
    Next,
    /// This placement, which stands on the board.
    Shown(Placement),
}

/// True where somebody stopped the clock soon after the press at `pressed`.
pub(super) fn is_noticed(stopped: Option<Millis>, pressed: Millis) -> bool {
    stopped.is_some_and(|stopped| (pressed..=pressed + NOTICED_MS).contains(&stopped))
}

impl Game {
    /// True when the board is known not to read some pieces or squares. Then its readings do not prove an
    /// offence.
    pub(in crate::watcher) fn is_board_faulty(&self) -> bool {
        let lately = &self.course.record[self.course.record.len().saturating_sub(LATELY)..];
        let unlanded = lately
            .iter()
            .filter(|made| !made.landed && made.kind.legal().is_some());
        let unread = &self.unread;
        !(unread.silent.is_empty() && unread.pieces.is_empty() && unread.squares.is_empty())
            || self.course.lines.best().faults().hidden.any()
            || unlanded.count() >= UNLANDED
    }

    /// True when the readings since the press at `pressed` do not prove an offence, because the record or the
    /// board is in doubt. A person who stopped the clock has seen what the board may not have shown, so a
    /// doubtful board is no reason then.
    pub(super) fn is_unproven(&self, ctx: &Ctx<'_>, pressed: Option<Millis>) -> bool {
        let stopped = ctx
            .clock
            .stopped_at
            .is_some_and(|at| pressed.is_some_and(|pressed| at >= pressed));
        self.doubt.any() || self.awaits_rest() || (self.is_board_faulty() || self.is_astray(ctx)) && !stopped
    }

    /// True when a square shows another piece than the record, that piece had stood there for long when the
    /// last half-move was made, and no open irregularity explains it. Then the watcher missed half-moves.
    fn is_astray(&self, ctx: &Ctx<'_>) -> bool {
        let Some(last) = self.course.record.last() else {
            return false;
        };
        let differing = last.stand.placement().differing(ctx.sensed.placement());
        let lasts = |s: Square| ctx.sensed.at(s).is_piece() && ctx.sensed.since(s) + ASTRAY_MS < last.at;
        differing.into_iter().any(lasts) && !self.cases.open.iter().any(|open| open.target.is_some())
    }

    /// True when the act that ends `best` may follow from a sensor fault. Either a piece went just before to
    /// a square that reads nothing; or a piece of the player who pressed at `pressed` was gone for long while
    /// that player moved another, and so is in no hand.
    fn rests_on_unread(&self, ctx: &Ctx<'_>, pressed: Millis) -> bool {
        let (best, by) = (self.course.lines.best(), self.course.record.stand().turn());
        let missing = |s: Square| best.differing().contains(s) && ctx.sensed.at(s).is_empty();
        let before = best.plies.iter().take(self.course.announced());
        let mut strayed = before
            .filter(|ply| !ply.landed)
            .filter_map(|ply| ply.kind.from_to());
        let gone = |s: Square| {
            let own = best.expects(s).color() == Some(by);
            missing(s) && own && ctx.sensed.since(s) + GONE_MS < pressed
        };
        strayed.any(|(_, to)| missing(to)) || best.differing().into_iter().any(gone)
    }

    /// Believes the tale of a gap once play has gone on from it for a while.
    pub(in crate::watcher) fn look_at_doubt(&mut self) {
        let recovered = |made: &Made| matches!(made.kind, PlyKind::Recovered(_));
        if self.course.record.len() >= SEVERAL
            && self.course.record[self.course.record.len() - SEVERAL..]
                .iter()
                .all(recovered)
        {
            // Nobody saw these half-moves, so the record may be wrong.
            let told = self.doubt.gap.unwrap_or_else(|| self.course.record.plies());
            self.doubt.of_gap(told);
        }
        let last = || self.course.record.iter().rposition(recovered).unwrap_or(0);
        if let Some(told) = self.doubt.gap
            && self.course.record.plies() >= told.max(last()) + BELIEVED
            && self.course.lines.best().differing().is_empty()
        {
            self.doubt.gap_is_known();
        }
    }

    /// After a gap the record and the board have gone apart, so the tale of the gap was wrong. Takes the game
    /// up from what stands on the board, by half-moves that the watcher cannot name.
    pub(in crate::watcher) fn take_up_what_stands(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.course.lines.best();
        let apart = best.faults().hidden | best.misplaced(ctx.sensed);
        let Some(turn) = ctx.clock.running().filter(|_| self.doubt.gap.is_some()) else {
            return;
        };
        let displaced = |open: &Open| open.ply <= self.course.record.plies() && open.target.is_some();
        // `gap` itself takes up a game after a gap that nothing explains.
        if self.unbridged.is_some()
            || self.cases.open.iter().any(displaced)
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
        self.course.notice(ctx, notice::GAP_NOT_EXPLAINED, message);
        let standing = ctx.sensed.placement().clone();
        self.go_on_from(ctx, &standing, turn);
    }

    /// The game goes on from `standing`, with `turn` to move, by half-moves that the watcher cannot name.
    pub(super) fn go_on_from(&mut self, ctx: &mut Ctx<'_>, standing: &Placement, turn: Color) {
        let act = IllegalAct::left(None, standing);
        let untold = 1 + usize::from(self.course.record.stand().turn() == turn);
        for _ in 0..untold {
            self.announce_untold(ctx, &act, ctx.now);
        }
        self.doubt.absent |= self.is_board_faulty();
        self.unbridged = None;
        self.presses.clear();
        self.course.restart_lines(ctx);
    }

    /// Enters a half-move into the record that the watcher cannot name; `act` is what it left.
    fn announce_untold(&mut self, ctx: &mut Ctx<'_>, act: &IllegalAct, pressed: Millis) {
        let before = Line::new(self.course.record.stand().clone(), ctx.sensed, ctx.now);
        let left = Arc::new(self.course.record.stand().left_as(&act.placement()));
        let kind = PlyKind::Illegal(Box::new(act.clone()));
        let line = before.played(kind, left, ctx.sensed, ctx.now, &Bill::default());
        if let Some(mut ply) = line.plies.last().cloned() {
            ply.pressed = Some(pressed);
            self.course.announce(ctx, &ply, CompletedBy::Recovered);
            self.doubt.of_gap(self.course.record.plies());
        }
    }

    /// Returns true when nobody is to be accused. Where the record is in doubt, an act that no half-move
    /// explains is no offence: the watcher corrects the record, or lets it go on from what the board showed.
    pub(super) fn excuse(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let k = self.course.announced();
        let best = self.course.lines.best();
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
        let best = self.course.lines.best();
        // Play went on after the act, or somebody stopped the clock because of it. Then the watcher reports it as a suspicion, and
        // the record goes on.
        let answered = best.plies.get(k + 1).is_some_and(|reply| reply.pressed.is_some());
        // Where nothing is in doubt but what was played in a gap, and the watcher has not said that nothing explains it, at least.
        let faulty = self.doubt.unread || self.doubt.strayed || self.doubt.absent || self.is_board_faulty();
        let is_explained = !self.is_gap_told();
        let noticed = !faulty
            && is_explained
            && pressed.is_some_and(|pressed| is_noticed(ctx.clock.stopped_at, pressed));
        let said = suspected.is_some() && (answered || noticed) && !unread;
        if said && pressed.is_some_and(|pressed| noticed || ctx.passed(pressed, EXCUSED_MS)) {
            return false;
        }
        ctx.wait_for("the record to be beyond doubt");
        let Some(pressed) = pressed.filter(|_| self.course.on_record()) else {
            return true;
        };
        if !ctx.passed(pressed, EXCUSED_MS) || best.plies.len() > k + 1 {
            return true;
        }
        // What was played is known, or may be. Only the board's faults or a gap speak against an accusation.
        let sound = is_explained && !self.doubt.absent && !self.is_astray(ctx);
        let is_excused = suspected.is_some() && sound && !in_hindsight && !unread;
        self.take_as_it_stands(ctx, pressed);
        self.doubt.excused = is_excused.then_some(self.course.record.plies());
        true
    }

    /// True when, in the turn that ended with the press at `pressed`, a square began to read a piece that the
    /// record had there before. The piece has rather moved there now, and the record was wrong.
    fn shows_up(&self, ctx: &Ctx<'_>, pressed: Millis) -> bool {
        let Some(last) = self.course.record.last() else {
            return false;
        };
        let stand = self.course.record.stand();
        let shown = |s: Square| {
            let since = ctx.sensed.since(s);
            let emptied = ctx.sensed.was_empty_for(s).map(|gone| since - gone);
            let in_turn = last.at < since && since <= pressed;
            in_turn && ctx.sensed.at(s).is_piece() && emptied.is_some_and(|emptied| emptied < last.at)
        };
        stand.board().by_color(stand.turn()).into_iter().any(shown)
    }

    /// Enters a half-move into the record that the watcher cannot name. The game goes on from what the board
    /// shows after it.
    fn take_as_it_stands(&mut self, ctx: &mut Ctx<'_>, pressed: Millis) {
        let best = self.course.lines.best();
        let suspected = best
            .plies
            .get(self.course.announced())
            .map(|ply| ply.kind.clone());
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
        self.presses.judged = None;
        self.announce_untold(ctx, &act, pressed);
        self.course.restart_lines(ctx);
        for press in self.presses.later.clone() {
            self.course.lines.press(press.at, ctx.sensed, press.side);
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
