//! A record that may be wrong. The board does not read a piece, which may have gone anywhere; or nobody saw
//! what was played while the link was down. Then the watcher accuses nobody of what may follow from a mistake
//! in the record.

use super::{Made, course::Course, record::GameRecord};
use shakmaty::Bitboard;

use crate::{board::PlyKind, event::CompletedBy, time::Millis, watcher::ctx::Ctx};

/// This many half-moves in a row that nobody saw are a tale, and put the record in doubt.
const SEVERAL: usize = 3;
/// After this many half-moves that fit, the watcher believes the tale of a gap.
const BELIEVED: usize = 20;

/// A person who stops the clock within this time after a press has noticed what was done.
pub(super) const NOTICED_MS: u64 = 8000;

/// A gap of which the watcher told what was played, and that later play has not yet borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::watcher) struct Tale {
    /// Length of the record when the watcher told it.
    pub(in crate::watcher) plies: usize,
    pub(in crate::watcher) of: Of,
}

/// Which gap it is that is in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::watcher) enum Of {
    /// One, in the game.
    Gap,
    /// The watcher took the game up in the middle: nothing is known of what was played before.
    Beginning,
    /// The watcher took the game up in the middle, from readings that came in one lump. Then it reports offences as suspicions.
    BeginningInLump,
    /// More than one, or one at several times.
    Several,
}

/// Why the record is in doubt.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::watcher) struct Doubt {
    /// The board does not read a piece, and that piece has moved.
    pub(in crate::watcher) unread: bool,
    /// The board did not read a piece where it went.
    pub(in crate::watcher) strayed: bool,
    pub(in crate::watcher) gap: Option<Tale>,
    /// The watcher took the game up from readings of a board that does not read all pieces. For the rest of
    /// the game, pieces that the record does not have may stand on the board.
    pub(in crate::watcher) absent: bool,
    /// The watcher had lost track of the game and took it up anew: pieces that are off the game may stand on the board.
    pub(in crate::watcher) taken_up_anew: bool,
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
        let of = match self.gap {
            None => Of::Gap,
            Some(told) if told.plies != plies => Of::Several,
            Some(told) if told.of == Of::BeginningInLump => Of::Beginning,
            Some(told) => told.of,
        };
        self.gap = Some(Tale { plies, of });
    }

    /// The record of `plies` half-moves is corrected: it was wrong, and may be wrong elsewhere.
    pub(super) fn shake(&mut self, plies: usize) {
        self.shaken = true;
        self.corrected = Some(plies);
    }

    /// The watcher took the game up in the middle, perhaps from readings that came in one lump.
    pub(in crate::watcher) fn of_beginning(&mut self, in_lump: bool) {
        let of = if in_lump {
            Of::BeginningInLump
        } else {
            Of::Beginning
        };
        self.gap = Some(Tale { plies: 0, of });
    }

    /// What was told of a gap is in doubt no more.
    pub(in crate::watcher) fn gap_is_known(&mut self) {
        self.gap = None;
    }

    /// Believes the tale of a gap once play has gone on from it for a while, or where there is none. The board was read again at `since`.
    pub(super) fn look(&mut self, ctx: &Ctx<'_>, course: &Course, since: Millis) {
        let recovered = |made: &Made| matches!(made.kind, PlyKind::Recovered(_));
        let record = &course.record;
        if record.len() >= SEVERAL && record[record.len() - SEVERAL..].iter().all(recovered) {
            // Nobody saw these half-moves, so the record may be wrong.
            self.of_gap(self.gap.map_or_else(|| record.plies(), |told| told.plies));
        }
        let last = || record.iter().rposition(recovered).unwrap_or(0);
        if let Some(told) = self.gap
            && (record.plies() >= told.plies.max(last()) + BELIEVED || hid_no_tale(ctx, course, told, since))
            && course.lines.best().differing().is_empty()
        {
            self.gap_is_known();
        }
    }

    /// An act that was excused because of the board's faults or of a gap is to be reported after all, if somebody stops the clock
    /// before the opponent has replied. Returns true if so.
    pub(super) fn is_excused_no_more(&mut self, ctx: &mut Ctx<'_>, course: &Course) -> bool {
        let Some(ply) = self.excused else {
            return false;
        };
        let Some(made) = unnamed(&course.record, ply) else {
            self.excused = None;
            return false;
        };
        let Some(stopped) = ctx.clock.stopped_at else {
            if ctx.passed(made.at, NOTICED_MS) {
                self.excused = None;
            }
            return false;
        };
        if course.lines.best().plies.len() > course.announced() || stopped.since(made.at) > NOTICED_MS {
            return false;
        }
        self.excused = None;
        true
    }

    /// True while only the beginning of the game is in doubt, because the watcher read it in one lump.
    pub(in crate::watcher) fn is_begun_in_lump(&self) -> bool {
        self.gap.is_some_and(|told| told.of == Of::BeginningInLump)
    }
}

/// True when a gap hid no tale: one half-move at most was made in it, the next ones were heard and pressed for, and they account for all
/// that has moved since the board was read again, at `since`. Hands held pieces then.
fn hid_no_tale(ctx: &Ctx<'_>, course: &Course, Tale { plies: told, of }: Tale, since: Millis) -> bool {
    let (record, best) = (&course.record, course.lines.best());
    // No press is open that may be the other player's.
    let is_in_step = ctx.clock.running() == Some(course.to_move())
        && best.plies.len() == course.announced()
        && best.awaits().is_none();
    let is_unseen = |made: &Made| made.completed_by == CompletedBy::Recovered;
    let is_heard = |made: &Made| {
        matches!(made.kind, PlyKind::Legal(_)) && made.completed_by == CompletedBy::Clock && made.landed
    };
    let before = told.checked_sub(1).and_then(|i| record.get(i));
    let Some((first, next)) = record.get(told..).and_then(<[Made]>::split_first) else {
        return false;
    };
    let is_known = is_heard(first) || is_unseen(first) && first.kind.legal().is_some();
    // Where nobody knows what was played before, two half-moves may have been made in the other order.
    let is_in_order = match of {
        Of::Gap => true,
        Of::Beginning => next.is_empty(),
        Of::BeginningInLump | Of::Several => false,
    };
    let placement = |ply: usize| record.stand_at(ply).placement();
    let is_shown = placement(record.plies()) == ctx.sensed.placement();
    let moved = (told..record.plies())
        .map(|ply| placement(ply).differing(placement(ply + 1)))
        .fold(Bitboard::EMPTY, |moved, ply| moved | ply);
    let is_all = (ctx.sensed.changed_since(since + 1) & !moved).is_empty();
    is_in_step
        && is_in_order
        && is_known
        && !before.is_some_and(is_unseen)
        && next.iter().all(is_heard)
        && is_shown
        && is_all
}

/// The half-move `ply`, where it is the last of the record and an act that the watcher took as it stood.
fn unnamed(record: &GameRecord, ply: usize) -> Option<&Made> {
    let made = record.last().filter(|_| ply == record.plies())?;
    matches!(made.kind, PlyKind::Illegal(_)).then_some(made)
}

/// True where the half-move `ply` was excused after a gap, and somebody stopped the clock because of it.
pub(super) fn was_noticed(ctx: &Ctx<'_>, record: &GameRecord, ply: usize) -> bool {
    let noticed = |made: &Made| is_noticed(ctx, made.at);
    let named = |made: &Made| matches!(&made.kind, PlyKind::Illegal(act) if act.from_to().is_some());
    unnamed(record, ply).is_some_and(|made| noticed(made) && named(made))
}

/// True where somebody stopped the clock soon after the press at `pressed`.
pub(super) fn is_noticed(ctx: &Ctx<'_>, pressed: Millis) -> bool {
    ctx.is_stopped_since(pressed) && ctx.clock.stopped_at <= Some(pressed + NOTICED_MS)
}

#[cfg(test)]
mod tests {
    use super::{Doubt, Of};

    #[test]
    fn a_gap_is_in_doubt_however_the_game_began() {
        let mut doubt = Doubt::default();
        doubt.of_beginning(true);
        assert!(!doubt.any() && doubt.is_begun_in_lump());
        // Before the first half-move the cable was out.
        doubt.of_gap(0);
        assert!(doubt.any() && !doubt.is_begun_in_lump());
        doubt.of_gap(4);
        assert_eq!(doubt.gap.map(|told| told.of), Some(Of::Several));
    }
}
