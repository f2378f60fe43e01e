//! What stood on the board within a lump. A lump tells in which order things happened, and not when. So what a
//! player put right before the lump's end may have stood there for a tenth of a second, or for ten.
//!
//! Before each change in a lump, the watcher looks whether something is on the board that no legal half-move
//! explains. If so, it asks a copy of the game what that copy would report had the board stood still from there
//! on. If the game does not report it by itself after the lump, the watcher reports it as a suspicion: it
//! accuses nobody on times that nobody measured.

use std::mem;

use super::{Open, cases::Cases, course::Course, touch::Hands};
use crate::{
    board::{Line, PlyKind, Sensed},
    event::{Body, Certainty},
    laws::{IrregularityKind, offence},
    time::Millis,
    watcher::ctx::Ctx,
};

/// Number of glimpses that a game keeps.
const MOST_KEPT: usize = 4;
/// The game has so long after a lump to report it by itself.
const OWN_MS: u64 = 3000;
/// After so many readings of a running clock, at least a second has passed since its press.
pub(in crate::watcher) const TICKS: usize = 2;

/// An irregularity that stood on the board within a lump.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct Glimpse {
    /// What the copy reported.
    pub(in crate::watcher) open: Open,
    /// When the act happened, about.
    pub(in crate::watcher) at: Millis,
    /// It stood there for a while: the clock counted seconds, or somebody pressed or stopped it.
    pub(in crate::watcher) stood: bool,
    /// Until when its lump lasted. Another lump may follow soon.
    pub(in crate::watcher) lump: Millis,
}

/// What the watcher keeps of a lump.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct Lump {
    /// Irregularities that stood on the board within it.
    pub(in crate::watcher) glimpses: Vec<Glimpse>,
    /// How often a copy was asked.
    pub(in crate::watcher) copies: usize,
    /// Number of readings of a running clock since it was pressed, stopped or started.
    pub(in crate::watcher) ticks: usize,
}

impl Lump {
    /// Another lump begins: the readings so far came before it.
    pub(in crate::watcher) fn begin(&mut self) {
        (self.copies, self.ticks) = (0, 0);
    }

    /// Keeps what stood on the board, if a moment proves it. Of one half-move it keeps what tells most.
    pub(in crate::watcher) fn keep(&mut self, glimpse: Glimpse) {
        if !glimpse.is_proved() {
            return;
        }
        let is_full = self.glimpses.len() == MOST_KEPT;
        let mut like = self.glimpses.iter_mut();
        match like.find(|known| known.stood == glimpse.stood && known.is_like(&glimpse.open)) {
            Some(known) if known.tells_little() => *known = glimpse,
            Some(_) => {}
            None if is_full => {}
            None => self.glimpses.push(glimpse),
        }
    }

    /// Reports what stood on the board in a lump, unless the game has reported it by itself.
    pub(in crate::watcher) fn tell(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        cases: &mut Cases,
        hands: &mut Hands,
    ) {
        if ctx.timing.catches_up {
            return;
        }
        let (mut due, later): (Vec<_>, _) = mem::take(&mut self.glimpses)
            .into_iter()
            .partition(|glimpse| ctx.passed(glimpse.lump, OWN_MS));
        self.glimpses = later;
        due.sort_by_key(|glimpse| (glimpse.tells_little(), !glimpse.stood));
        for glimpse in due {
            let is_said = cases.all().any(|open| glimpse.is_like(open));
            let ply = glimpse.open.ply;
            let fits = ply <= course.record.plies() + 1
                && glimpse.open.case_file.said.fen_before
                    == course.record.stand_at(ply.saturating_sub(1)).fen();
            if fits && !glimpse.was_read_late(course) && !is_said {
                glimpse.tell(ctx, course, cases, hands);
            }
        }
    }
}

impl Glimpse {
    /// True when `other` is of the same half-move.
    fn is_like(&self, other: &Open) -> bool {
        self.open.ply == other.ply && self.open.offender == other.offender
    }

    /// True for a press without a move: an act that was put right looks the same.
    fn tells_little(&self) -> bool {
        self.open.kind == IrregularityKind::PressWithoutMove
    }

    /// True where the board read a half-move late for which the player had pressed: nothing else was changed.
    fn was_read_late(&self, course: &Course) -> bool {
        let index = self.open.ply.wrapping_sub(1);
        let Some(made) = course.record.get(index).filter(|_| !self.stood) else {
            return false;
        };
        let before = course.record.stand_at(index).placement();
        let changed = before.differing(made.stand.placement());
        let seen = &self.open.case_file.said.squares;
        let is_of_it = |square: &String| square.parse().is_ok_and(|square| changed.contains(square));
        made.at == self.at && made.san.is_some() && seen.iter().all(is_of_it)
    }

    /// True where a moment proves the irregularity. A hand at work may look like displaced pieces or a move out of
    /// turn, so these must have stood for a while.
    fn is_proved(&self) -> bool {
        use IrregularityKind::{MovedOutOfTurn, PiecesDisplaced};
        self.stood || !matches!(self.open.kind, MovedOutOfTurn | PiecesDisplaced)
    }

    fn tell(self, ctx: &mut Ctx<'_>, course: &Course, cases: &mut Cases, hands: &mut Hands) {
        let Self { mut open, at, .. } = self;
        open.case_file.said.certainty = Certainty::Suspected;
        bring_up_to_date(ctx, course, cases, &mut open);
        // A suspicion counts for nothing, and no reply completes it.
        (open.counted, open.may_stand) = (false, false);
        let body = Body::Irregularity(Box::new(open.case_file.said.clone()));
        open.id = course.emit(ctx, Some(at), body);
        open.ended = None;
        // Once play has gone on from there, nobody has to put it right any more.
        let stands = ctx.sensed.placement().fen() == open.case_file.said.placement
            && open.target.is_some()
            && course.record.plies() <= open.plies_at_restoration();
        let question = open.question(course.record.mode()).filter(|_| stands);
        cases.open.push(open);
        if !stands {
            cases.put_right(ctx, course, hands, cases.open.len() - 1);
        }
        ctx.out.questions.extend(question);
    }
}

/// Brings the ruling of `open` up to date. Since the copy found it, the game may have reported or withdrawn
/// offences, and half-moves.
fn bring_up_to_date(ctx: &Ctx<'_>, course: &Course, cases: &Cases, open: &mut Open) {
    let counts = offence::counts(&open.case_file.case, &ctx.rules.contested);
    let facts = &mut open.case_file.case.facts;
    if let Some(side) = open.offender.filter(|_| counts) {
        facts.offence_number = cases.next_offence(side);
    }
    facts.moves_completed = course.record.moves_completed();
    facts.opponent_has_replied = course.record.is_answered(open.offender, open.ply);
    let before = course.record.stand_at(open.ply.saturating_sub(1));
    open.case_file
        .ask_for_mate(ctx, before, open.target.as_deref(), cases.is_past);
    open.case_file
        .rule(ctx, &course.record, open.ply, open.target.as_deref());
}

/// True while something is on the board, or was pressed for, that `best` has no legal half-move for.
pub(in crate::watcher) fn is_open_to_doubt(best: &Line, sensed: &Sensed) -> bool {
    let suspects = best.plies.last();
    best.awaits().is_some()
        || suspects.is_some_and(|ply| matches!(ply.kind, PlyKind::Suspect(_)))
        || best.misplaced(sensed).any()
        || best.promoting(sensed).any()
        || best.faults().fall.is_some()
}
