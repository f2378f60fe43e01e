//! After a gap that leaves half-moves ambiguous, the watcher asks the board for its log, and takes the
//! half-moves from there into the record. If it has reported others meanwhile, it corrects them.

use super::{course::Course, doubt::Doubt};
use crate::{
    board::{Bill, Line, Orientation, PlyKind},
    dgt::{ClockSide, Squares, eventlog::LogRecords},
    time::Millis,
    watcher::{
        clock::Presses,
        ctx::Ctx,
        onboard_log::{self, Missed, Unseen},
    },
};

/// How long the watcher waits for a log. A log takes 8.3 s on a slow line, and the request may have to wait
/// for the greeting.
const LOG_MS: u64 = 15_000;
/// A board that sends its log sends nothing else meanwhile. If a board sends something else this long after
/// the request, its log does not come.
const SILENT_MS: u64 = 2500;

/// What the watcher needs to ask a board for its log and to use it.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct Recall {
    /// The record when the watcher last knew it to be complete.
    pub(in crate::watcher) whole: Option<WholeRecord>,
    log: Log,
    /// The board stands as before a gap, and the clock has not shown yet whether pieces moved and came back.
    unproven: bool,
}

/// The state of the request for the board's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Log {
    /// Nothing was missed since the last gap.
    #[default]
    Unneeded,
    /// The log is needed, and not requested yet.
    Wanted(Need),
    /// The log was requested at this time. `speaks` tells whether the board has sent something else since.
    Asked { at: Millis, need: Need, speaks: bool },
    /// The board sent its log after this gap, or has no log.
    Over,
    /// This board did not answer a request for its log.
    Mute,
}

/// What the log is needed for. The later one is the stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// The watcher reports the half-moves at once, and corrects them if the log contradicts them.
    Check,
    /// Some half-moves are ambiguous, and wait for the log.
    Decide,
}

/// A record without a gap.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct WholeRecord {
    /// Number of its half-moves.
    pub(in crate::watcher) plies: usize,
    /// The readings of the board at that time.
    pub(in crate::watcher) squares: Squares,
    /// The last presses before that time, where they were heard.
    pub(in crate::watcher) pressed: Option<Presses>,
}

impl Recall {
    /// Returns true if the board is to be asked for its log now, and notes that it is asked. Only DGT's
    /// boards have a log.
    pub(in crate::watcher) fn take_wanted(&mut self, now: Millis, has_log: bool) -> bool {
        let Log::Wanted(need) = self.log else { return false };
        self.log = if has_log {
            Log::Asked {
                at: now,
                need,
                speaks: false,
            }
        } else {
            Log::Over
        };
        has_log
    }

    /// The board sent something that is not its log.
    pub(in crate::watcher) fn spoken(&mut self, now: Millis) {
        if let Log::Asked { at, speaks, .. } = &mut self.log {
            *speaks |= now.since(*at) >= SILENT_MS;
        }
    }

    /// Keeps the record of `plies` half-moves and the readings `raw` that go with it, while no half-moves are awaited from the log.
    pub(in crate::watcher) fn note_whole(&mut self, plies: usize, raw: &Squares, pressed: Option<Presses>) {
        if !self.is_awaited() && !self.unproven {
            self.whole = Some(WholeRecord {
                plies,
                squares: *raw,
                pressed,
            });
        }
    }

    /// Takes the log of the board, which shows `raw` now. Returns what it tells, and after how many half-moves of the record.
    pub(super) fn told(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        is_watched: bool,
        payload: &[u8],
        orientation: Orientation,
        raw: Option<Squares>,
    ) -> Option<(usize, Vec<Unseen>)> {
        // Another program on the line may have asked for it.
        let Log::Asked { need, .. } = self.log else {
            return None;
        };
        self.log = Log::Over;
        let (whole, present) = self.whole.take().zip(raw).filter(|_| is_watched)?;
        let missed = onboard_log::missed(LogRecords::new(payload), &whole.squares, whole.pressed, &present);
        let told = missed.and_then(|missed| unseen(ctx, course, &whole, &missed, orientation));
        if told.is_none() {
            log_useless(ctx, course, need, "does not fit what stood on the board");
        }
        told.map(|path| (whole.plies, path))
    }

    /// After a new gap nothing is requested yet.
    pub(super) fn anew(&mut self) {
        if self.log != Log::Mute {
            self.log = Log::Unneeded;
        }
    }

    /// After a gap the board stands as before. The clock will show whether pieces moved and came back.
    pub(in crate::watcher) fn stands_as_before(&mut self, clock_used: bool) {
        self.unproven = clock_used;
    }

    /// Asks for the log where the clock was pressed although the board stands as before a gap: pieces may
    /// have moved and come back.
    pub(super) fn look_for_round_trip(&mut self, ctx: &Ctx<'_>) {
        if !self.unproven {
            return;
        }
        let pressed = self.whole.as_ref().and_then(|whole| whole.pressed);
        let gone_on = match pressed {
            Some(pressed) if ctx.clock.attached != Some(false) => ctx.clock.has_gone_on(pressed),
            _ => Some(false),
        };
        let Some(gone_on) = gone_on else { return };
        self.unproven = false;
        if gone_on {
            self.anew();
            self.want(Need::Check);
        }
    }

    /// True where the board's log may tell what was missed, if it is asked for.
    pub(super) fn may_tell(&self) -> bool {
        self.log != Log::Mute && self.whole.is_some()
    }

    /// Asks the board for its log, unless that was done.
    pub(super) fn want(&mut self, new: Need) {
        match &mut self.log {
            log @ Log::Unneeded if self.whole.is_some() => *log = Log::Wanted(new),
            Log::Wanted(need) | Log::Asked { need, .. } => *need = new.max(*need),
            Log::Unneeded | Log::Over | Log::Mute => {}
        }
    }

    /// True while half-moves that a search found wait for the log.
    pub(super) fn is_decisive(&self, ctx: &mut Ctx<'_>) -> bool {
        match self.log {
            Log::Wanted(Need::Decide) => true,
            Log::Asked {
                at,
                need: Need::Decide,
                speaks: false,
            } => !ctx.passed(at, LOG_MS),
            _ => false,
        }
    }

    /// True while the log may still come.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(self.log, Log::Wanted(_) | Log::Asked { .. })
    }

    /// Stops waiting for a log that does not come.
    pub(super) fn look_for_log(&mut self, ctx: &mut Ctx<'_>, course: &Course) {
        if let Log::Asked { at, need, .. } = self.log
            && ctx.passed(at, LOG_MS)
        {
            self.log = Log::Mute;
            log_useless(ctx, course, need, "has not come");
        }
    }
}

fn log_useless(ctx: &mut Ctx<'_>, course: &Course, need: Need, why: &str) {
    if need != Need::Decide {
        return;
    }
    let message = format!(
        "The board was asked for its log, which {why}: half-moves that were missed stay as they were found, or open."
    );
    course.notice(ctx, crate::event::notice::BOARD_LOG_USELESS, &message);
}

/// The half-moves of the log, if they lead to the position on the board.
fn unseen(
    ctx: &Ctx<'_>,
    course: &Course,
    whole: &WholeRecord,
    missed: &Missed,
    orientation: Orientation,
) -> Option<Vec<Unseen>> {
    // A search finds what happened without power as well as the log does, and finds all orders of it.
    if whole.plies > course.record.plies() || missed.is_blind {
        return None;
    }
    let root = course.record.stand_at(whole.plies);
    let white: Option<ClockSide> = ctx.clock.white_side();
    let path = onboard_log::played(root, missed, orientation, white);
    onboard_log::leads_to(&path, root, ctx.sensed.placement()).then_some(path)
}

/// Replaces the half-moves after the first `whole` of the record by those of `path`. Returns false where the record has them.
pub(super) fn retell(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    doubt: &mut Doubt,
    whole: usize,
    path: &[Unseen],
) -> bool {
    let said = &course.record[whole..];
    let right = path
        .iter()
        .zip(said)
        .take_while(|(unseen, made)| made.kind.legal() == Some(unseen.mv))
        .count();
    doubt.gap_is_known();
    if right == path.len() {
        // The record is right, and play may have gone on.
        return false;
    }
    if whole + right < course.record.plies() {
        doubt.shake(course.record.plies());
        course.retract(ctx, whole + right, "correction");
    }
    let mut line = Line::new(course.record.stand().clone(), ctx.sensed, ctx.now);
    let turn = ctx.clock.running();
    for unseen in &path[right..] {
        let pressed = turn.is_some_and(|turn| turn == unseen.stand.turn());
        let kind = if unseen.completed || pressed {
            PlyKind::Recovered(unseen.mv)
        } else {
            PlyKind::Legal(unseen.mv)
        };
        line = line.played(kind, unseen.stand.clone(), ctx.sensed, ctx.now, &Bill::default());
    }
    for (k, unseen) in path[right..].iter().enumerate() {
        // The board itself says where each piece went.
        line.plies[k].landed = true;
        line.plies[k].made_in.clone_from(&unseen.made_in);
    }
    course.base = course.record.plies();
    course.doubted = None;
    course.reset_lines(ctx, vec![line]);
    true
}
