//! How far the record and the readings of the board are to be trusted.

use shakmaty::{Color, Square};

use super::{
    Open,
    cases::Cases,
    course::Course,
    doubt::{Doubt, is_noticed},
    flags::Flags,
    gap::{GIVEN_UP_MS, Gap, is_at_rest},
    glimpse::Lump,
    unread::{HELD, Unread},
};
use crate::{
    board::{Code, PlyKind},
    time::Millis,
    watcher::{arrays::is_playable, ctx::Ctx},
};

/// If the board did not read this many pieces where they went, that is more than chance.
const UNLANDED: usize = 2;
/// A piece that had stood for this long when a half-move was made was not on its way elsewhere.
const ASTRAY_MS: u64 = 3000;
/// After so many half-moves nobody has noticed an irregularity.
const OVERLOOKED: usize = 2;
/// A piece that had been gone for this long when its owner pressed for another was not hidden by a sleeve.
const GONE_MS: u64 = 1500;

/// A piece that comes back after so long may have been elsewhere, and not in a hand.
const ELSEWHERE_MS: u64 = 5000;
/// After this long, the watcher takes a press that nothing explains for a half-move that it cannot name.
const EXCUSED_MS: u64 = 2500;
/// An offence that is found this long after its press was found only because a hypothesis fell away.
const HINDSIGHT_MS: u64 = 12_000;
/// If this many pieces are not where the record has them, hands do not hold them all.
const APART: usize = 2;

/// Whether an act is excused.
pub(super) enum Excuse {
    /// It is an offence.
    No,
    /// Nobody knows yet.
    Open,
    /// The watcher cannot name the half-move that was pressed for at this time.
    Untold {
        pressed: Millis,
        /// It would be an offence on a sound board.
        is_excused: bool,
    },
}

/// What tells how far the record and the readings are to be trusted.
#[derive(Clone, Copy)]
pub(in crate::watcher) struct Trust<'g> {
    pub(super) course: &'g Course,
    pub(super) cases: &'g Cases,
    pub(super) doubt: &'g Doubt,
    pub(super) unread: &'g Unread,
    pub(super) gap: &'g Gap,
    pub(super) flags: &'g Flags,
    pub(super) lump: &'g Lump,
}

impl Trust<'_> {
    /// True when the board is known not to read some pieces or squares. Then its readings do not prove an
    /// offence.
    pub(in crate::watcher) fn is_board_faulty(&self) -> bool {
        let lately = &self.course.record[self.course.record.len().saturating_sub(HELD)..];
        let unlanded = lately
            .iter()
            .filter(|made| !made.landed && made.kind.legal().is_some());
        let unread = &self.unread;
        !(unread.silent.is_empty() && unread.pieces.is_empty() && unread.squares.is_empty())
            || self.course.lines.best().faults().hidden.any()
            || unlanded.count() >= UNLANDED
    }

    /// True where no known fault of the board hides a half-move of `by`: only pieces of his opponent's are not read, and nothing else is
    /// in doubt.
    pub(super) fn reads_all_of(&self, ctx: &Ctx<'_>, by: Color) -> bool {
        let (best, unread) = (self.course.lines.best(), self.unread);
        let is_own = |code: Code| code.color() == Some(by);
        let hidden = best.faults().hidden.into_iter();
        let mut not_read = hidden.map(|square| best.placement().at(square));
        let mut named = unread.pieces.iter().map(|(code, _)| *code);
        let is_read = !not_read.any(is_own) && !named.any(is_own);
        is_read
            && unread.silent.is_empty()
            && unread.squares.is_empty()
            && !self.doubt.any()
            && !self.gap.awaits_rest()
            && !self.is_astray(ctx)
    }

    /// True when the readings since the press at `pressed` do not prove an offence, because the record or the
    /// board is in doubt. A person who stopped the clock has seen what the board may not have shown, so a
    /// doubtful board is no reason then.
    pub(super) fn is_unproven(&self, ctx: &Ctx<'_>, pressed: Option<Millis>) -> bool {
        let stopped = pressed.is_some_and(|pressed| ctx.is_stopped_since(pressed));
        self.doubt.any()
            || self.gap.awaits_rest()
            || (self.is_board_faulty() || self.is_astray(ctx)) && !stopped
    }

    /// True when a square shows another piece than the record, that piece had stood there for long when the
    /// last half-move was made, and no open irregularity explains it. Then the watcher missed half-moves.
    pub(super) fn is_astray(&self, ctx: &Ctx<'_>) -> bool {
        let Some(last) = self.course.record.last() else {
            return false;
        };
        let (sensed, expected) = (ctx.sensed, last.stand.placement());
        let stood_until = |at: Millis| at + ASTRAY_MS < last.at;
        let stands = |s: Square| sensed.at(s).is_piece() && stood_until(sensed.since(s));
        // It was moved on since.
        let stood = |s: Square| {
            let (left, before) = (sensed.since(s), sensed.before(s));
            let is_strange = before.is_piece() && !before.agrees(expected.at(s));
            sensed.at(s).is_empty() && is_strange && last.at < left && stood_until(sensed.before_since(s))
        };
        // What both players have let stand is put right no more.
        let open = || self.cases.open.iter().filter(|open| open.target.is_some());
        let is_explained = open().any(|open| open.ply + OVERLOOKED > self.course.record.plies());
        let mut differing = expected.differing(sensed.placement()).into_iter();
        let mut is_strange =
            || differing.any(stands) || open().count() > 0 && Square::ALL.into_iter().any(stood);
        !is_explained && is_strange()
    }

    /// True when the act that ends `best` may follow from a sensor fault. Either a piece went just before to
    /// a square that reads nothing; or a piece of the player who pressed at `pressed` was gone for long while
    /// that player moved another, and so is in no hand.
    pub(super) fn rests_on_unread(&self, ctx: &Ctx<'_>, pressed: Millis) -> bool {
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

    /// True when, in the turn that ended with the press at `pressed`, a square began to read a piece that the
    /// record had there before. The piece has rather moved there now, and the record was wrong.
    pub(super) fn shows_up(&self, ctx: &Ctx<'_>, pressed: Millis) -> bool {
        let Some(last) = self.course.record.last() else {
            return false;
        };
        let stand = self.course.record.stand();
        let shown = |s: Square| {
            let since = ctx.sensed.since(s);
            // One that was gone for less had been there before.
            let gone = ctx.sensed.was_empty_for(s).filter(|gone| *gone >= ELSEWHERE_MS);
            let in_turn = last.at < since && since <= pressed;
            in_turn && ctx.sensed.at(s).is_piece() && gone.is_some_and(|gone| since - gone < last.at)
        };
        stand.board().by_color(stand.turn()).into_iter().any(shown)
    }

    /// Whether the act that no legal half-move explains is an offence; `is_bare` says that the board has not changed at all. Where the record
    /// is in doubt, it is none: the watcher corrects the record, or lets it go on from what the board showed.
    pub(super) fn excuse(&self, ctx: &mut Ctx<'_>, is_bare: bool) -> Excuse {
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
        let is_read = is_bare && self.reads_all_of(ctx, self.course.record.stand().turn());
        let is_unproven = !is_read && self.is_unproven(ctx, pressed);
        if !is_unproven && !in_hindsight && !unread && !shown {
            return Excuse::No;
        }
        // Play went on after the act, or somebody stopped the clock because of it. Then the watcher reports it as a suspicion, and
        // the record goes on.
        let answered = best.plies.get(k + 1).is_some_and(|reply| reply.pressed.is_some());
        // Where nothing is in doubt but what was played in a gap, and the watcher has not said that nothing explains it, at least.
        let faulty = self.doubt.unread || self.doubt.strayed || self.doubt.absent || self.is_board_faulty();
        let is_explained = !self.gap.is_told();
        let noticed = !faulty && is_explained && pressed.is_some_and(|pressed| is_noticed(ctx, pressed));
        let said = suspected.is_some() && (answered || noticed) && !unread;
        if said && pressed.is_some_and(|pressed| noticed || ctx.passed(pressed, EXCUSED_MS)) {
            return Excuse::No;
        }
        ctx.wait_for("the record to be beyond doubt");
        let Some(pressed) = pressed.filter(|_| self.course.on_record()) else {
            return Excuse::Open;
        };
        if !ctx.passed(pressed, EXCUSED_MS) || best.plies.len() > k + 1 {
            return Excuse::Open;
        }
        // What was played is known, or may be. Only the board's faults or a gap speak against an accusation.
        let sound = is_explained && !self.doubt.absent && !self.is_astray(ctx);
        let is_excused = suspected.is_some() && sound && !in_hindsight && !unread;
        Excuse::Untold { pressed, is_excused }
    }

    /// Whose move it is where, after a gap, the record and the board have gone apart, so that the tale of the gap was wrong: the game can
    /// only be taken up from what stands on the board.
    pub(super) fn stands_apart(&self, ctx: &mut Ctx<'_>) -> Option<Color> {
        let best = self.course.lines.best();
        let apart = best.faults().hidden | best.misplaced(ctx.sensed);
        let turn = ctx.clock.running().filter(|_| self.doubt.gap.is_some())?;
        let displaced = |open: &Open| open.ply <= self.course.record.plies() && open.target.is_some();
        // `gap` itself takes up a game after a gap that nothing explains.
        let is_open = self.gap.unbridged.is_some()
            || self.cases.open.iter().any(displaced)
            || apart.count() < APART
            || self.gap.recall.is_awaited()
            || !is_playable(ctx.sensed.placement());
        let is_due =
            !is_open && ctx.passed(self.gap.read_since, GIVEN_UP_MS) && is_at_rest(ctx) && !self.doubt.unread;
        is_due.then_some(turn)
    }
}
