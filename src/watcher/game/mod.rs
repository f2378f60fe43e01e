//! The game at one board: its record, the hypotheses that go on from it, its open irregularities.

mod account;
pub(in crate::watcher) mod accuse;
pub(in crate::watcher) mod advice;
mod after;
mod array;
pub(in crate::watcher) mod case_file;
mod cases;
pub(in crate::watcher) mod correct;
mod displaced;
pub(in crate::watcher) mod doubt;
mod ending;
mod exchanged;
mod fallen;
mod felt;
mod finish;
pub(in crate::watcher) mod flags;
pub(in crate::watcher) mod gap;
pub(in crate::watcher) mod glimpse;
mod judge;
mod made;
mod overruled;
mod periods;
pub(in crate::watcher) mod recall;
pub(in crate::watcher) mod settle;
mod sure;
pub(in crate::watcher) mod touch;
mod turned;
pub(in crate::watcher) mod unclocked;
mod unread;
mod victim;
mod waits;
mod withdrawn;

use std::{collections::VecDeque, sync::Arc};

use serde::{Deserialize, Serialize};
use shakmaty::{CastlingMode, Color, Move};

use self::finish::is_shown;
pub(super) use self::made::{Made, names};
use crate::{
    board::{IllegalAct, Line, Lines, PlyKind, Sensed, Stand},
    event::{Body, ClockState, CompletedBy, GameResult, MoveMade, Resolution},
    laws::{IrregularityKind, MovesCompleted},
    time::Millis,
    watcher::{Table, ctx::Ctx},
};

/// For so many more half-moves room is made at once.
const MORE_HALF_MOVES: usize = 16;

/// An irregularity that was reported. `ended` tells whether it is still open.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) id: String,
    pub(super) kind: IrregularityKind,
    pub(super) offender: Option<Color>,
    pub(super) ply: usize,
    /// The position that should stand on the board, where the players have to put something right.
    pub(super) target: Option<Arc<Stand>>,
    /// The half-move that the ruling completes (a queen for an unreplaced pawn).
    pub(super) ruled: Option<Move>,
    /// The illegal act, where its position may come to stand.
    pub(super) act: Option<IllegalAct>,
    /// It counts among the offences of 7.5.5.
    pub(super) counted: bool,
    /// The Laws let it stand once the opponent has replied.
    pub(super) may_stand: bool,
    /// When the watcher reported it.
    pub(super) said: Millis,
    /// The case behind it, and its last report.
    pub(super) case_file: Box<case_file::CaseFile>,
    /// A person reported or reopened it: only a person closes it.
    pub(super) by_hand: bool,
    /// How it ended; none while it is open.
    pub(super) ended: Option<Ended>,
}

impl Open {
    /// An arbiter said that there was no offence.
    pub(super) fn is_dismissed(&self) -> bool {
        let ended = self.ended.as_ref();
        ended.is_some_and(|ended| ended.how == Resolution::Dismissed)
    }
}

/// How an irregularity ended, and its state before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) how: Resolution,
    /// The name of the person who ended it, where it is known.
    pub(super) by: Option<String>,
    /// It counted among the offences before.
    pub(super) counted: bool,
    /// The first end of a case that was dismissed after it had ended.
    pub(super) before: Option<Resolution>,
}

/// A press that has not been judged yet.
#[derive(Clone, Debug)]
pub(super) struct Press {
    pub(super) side: Color,
    pub(super) at: Millis,
    pub(super) clock: Option<ClockState>,
    /// The placement after the press, once the board had come to rest.
    pub(super) rest: Option<crate::board::Placement>,
}

/// The game at one board.
#[derive(Clone, Debug)]
pub(super) struct Game {
    pub(super) number: u32,
    /// The players and the round.
    pub(super) table: Table,
    pub(super) mode: CastlingMode,
    pub(super) start: Arc<Stand>,
    /// When the game began, or the daemon took it up.
    pub(super) began: Millis,
    pub(super) record: Vec<Made>,
    /// Half-moves that were taken back while the clock stood, the oldest first.
    pub(super) withdrawn: Vec<Made>,
    /// What players do who play on although the clock stands.
    pub(super) unclocked: unclocked::Unclocked,
    pub(super) lines: Lines,
    /// Number of half-moves of the record before the position where the hypotheses start.
    pub(super) base: usize,
    pub(super) open: Vec<Open>,
    /// Irregularities that ended. An arbiter may still dismiss them, or open them again.
    pub(super) closed: Vec<Open>,
    /// Number of offences of 7.5 that count, White's and Black's.
    pub(super) offences: [u32; 2],
    /// The press that is being judged.
    pub(super) press: Option<Press>,
    /// Presses that wait until that one is judged, the oldest first.
    pub(super) later_presses: VecDeque<Press>,
    pub(super) result: Option<GameResult>,
    /// The pieces were set up anew before the game had a result. The watcher reports nothing more of the game
    /// until an arbiter says what was meant.
    pub(super) parked: bool,
    /// A person, or the kings, have just ended the game. The watcher begins a copy to follow what comes.
    pub(super) ended_by_hand: bool,
    /// The board showed the result.
    pub(super) shown: bool,
    /// The watcher has already used the result that the board shows. The board must show something else
    /// before it can show a result again.
    pub(super) show_spent: bool,
    /// An arbiter entered the result.
    pub(super) confirmed: bool,
    /// Since when the best hypothesis contradicts the record.
    pub(super) doubted: Option<Millis>,
    /// Since when the best hypothesis has not contained the record, by however little.
    pub(super) left_since: Option<Millis>,
    /// Squares for which the watcher gave notice that they are not read.
    pub(super) noticed: shakmaty::Bitboard,
    /// Squares whose piece the board did not read before a restart.
    pub(super) hidden_before: shakmaty::Bitboard,
    /// Why the record may be wrong.
    pub(super) doubt: doubt::Doubt,
    /// Pieces and squares that the board does not read, as far as they are known.
    pub(super) unread: unread::Unread,
    pub(super) flags: flags::Flags,
    /// The clock has run in this game.
    pub(super) clock_used: bool,
    /// What hands did with pieces, for suspicions.
    pub(super) hands: touch::Hands,
    /// The link broke, and the board has not been read since.
    pub(super) gap: bool,
    /// The clock, which had stood, was started again in the gap.
    pub(super) restarts: bool,
    /// Since when the board has been read without interruption: since the start, or since the last gap.
    pub(super) read_since: Millis,
    /// When the last gap ended in which pieces moved, and the clock may have been pressed.
    pub(super) missed_until: Option<Millis>,
    /// When a player pressed with whose hand pieces fell, as the watcher suspects and has said.
    pub(super) suspected_fall: Option<Millis>,
    /// When a player pressed who had left on the board what he captured en passant, as the watcher suspects and has said.
    pub(super) suspected_victim: Option<Millis>,
    /// A gap in the record that is not explained yet.
    pub(super) unbridged: Option<gap::Unbridged>,
    /// The press for which the watcher last asked the board for a dump.
    pub(super) asked: Option<Millis>,
    /// A placement that does not count, because a person has put the record right.
    pub(super) overruled: Option<doubt::Overruled>,
    /// Whether the board's log is needed, and how far it is.
    pub(super) recall: recall::Recall,
    /// Irregularities that stood on the board within a lump.
    pub(in crate::watcher) glimpses: Vec<glimpse::Glimpse>,
    /// How often a copy was asked within a lump.
    pub(in crate::watcher) copies: usize,
    /// Number of readings of a running clock within a lump since it was pressed, stopped or started.
    pub(in crate::watcher) ticks: usize,
}

impl Game {
    pub(super) fn new(number: u32, start: Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        let lines = Lines::new(start.clone(), sensed, now);
        Self {
            number,
            table: Table::default(),
            mode: start.mode(),
            start,
            began: now,
            record: Vec::new(),
            withdrawn: Vec::new(),
            unclocked: unclocked::Unclocked::default(),
            lines,
            base: 0,
            open: Vec::new(),
            closed: Vec::new(),
            offences: [0; 2],
            press: None,
            later_presses: VecDeque::new(),
            result: None,
            parked: false,
            ended_by_hand: false,
            shown: false,
            show_spent: false,
            confirmed: false,
            doubted: None,
            left_since: None,
            noticed: shakmaty::Bitboard::EMPTY,
            hidden_before: shakmaty::Bitboard::EMPTY,
            doubt: doubt::Doubt::default(),
            unread: unread::Unread::default(),
            flags: flags::Flags::default(),
            clock_used: false,
            hands: touch::Hands::default(),
            gap: false,
            restarts: false,
            read_since: now,
            missed_until: None,
            suspected_fall: None,
            suspected_victim: None,
            unbridged: None,
            asked: None,
            overruled: None,
            recall: recall::Recall::default(),
            glimpses: Vec::new(),
            copies: 0,
            ticks: 0,
        }
    }

    /// Half-move `made` of the record, changed to `mv`, which is played on `before`.
    pub(super) fn made_otherwise(&self, made: &Made, before: &Stand, mv: Move, after: Arc<Stand>) -> Made {
        let kind = PlyKind::Legal(mv);
        let (uci, san) = names(before, &kind, self.mode);
        Made {
            kind,
            uci,
            san,
            stand: after,
            ..made.clone()
        }
    }

    /// Number of half-moves on the record.
    pub(super) fn plies(&self) -> usize {
        self.record.len()
    }

    /// Number of moves that each player has completed, with those before the watcher took the game up.
    pub(super) fn moves_completed(&self) -> MovesCompleted {
        let before = self.start.setup().fullmoves.get() - 1;
        let black_began = u32::from(self.start.turn() == Color::Black);
        let plies = self.plies() as u32 + black_began;
        MovesCompleted {
            white: before + plies.div_ceil(2),
            black: before + plies / 2,
        }
    }

    /// The position after `ply` half-moves of the record.
    pub(super) fn stand_at(&self, ply: usize) -> &Arc<Stand> {
        match ply.checked_sub(1).and_then(|i| self.record.get(i)) {
            Some(made) => &made.stand,
            None => &self.start,
        }
    }

    /// The position after the last half-move of the record.
    pub(super) fn stand(&self) -> &Arc<Stand> {
        self.stand_at(self.plies())
    }

    /// Number of half-moves of the hypotheses that are on the record.
    pub(super) fn announced(&self) -> usize {
        self.plies() - self.base
    }

    /// Emits an event of this game.
    pub(super) fn emit(&self, ctx: &mut Ctx<'_>, at: Option<Millis>, body: Body) -> String {
        if ctx.out.accounts.is_some() {
            let account = self.account(ctx.sensed, ctx.now, Some(ctx.out.seq + 1), ctx.out);
            ctx.out.accounts.get_or_insert_default().push_back(account);
        }
        ctx.out.emit(ctx.settings, Some(self.number), ctx.now, at, body)
    }

    /// Adds a half-move to the record and reports it.
    pub(super) fn announce(&mut self, ctx: &mut Ctx<'_>, ply: &crate::board::Ply, completed_by: CompletedBy) {
        let shown = ply.kind.legal().filter(|_| self.record.is_empty());
        if let Some(start) = shown.and_then(|mv| self.start.allowing(mv)) {
            self.start = Arc::new(start);
        }
        let before = self.stand().clone();
        let (uci, san) = names(&before, &ply.kind, self.mode);
        let clock = ctx.clock.state();
        let made = Made {
            kind: ply.kind.clone(),
            uci,
            san,
            stand: ply.stand.clone(),
            completed_by,
            clock,
            at: ply.pressed.unwrap_or(ply.at),
            accepted: false,
            landed: ply.landed,
        };
        self.withdrawn.clear();
        self.enter(ctx, made);
    }

    /// Enters `made` into the record.
    fn enter(&mut self, ctx: &mut Ctx<'_>, made: Made) {
        let body = Body::Move(MoveMade {
            ply: self.plies() as u32 + 1,
            uci: made.uci.to_string(),
            san: made.san_text(),
            fen: made.stand.fen(),
            completed_by: made.completed_by,
            clock: made.clock,
            illegal: made.san.is_none(),
        });
        let at = made.at;
        if self.record.len() == self.record.capacity() {
            // A game has a hundred, and many games are watched.
            self.record.reserve_exact(MORE_HALF_MOVES);
        }
        self.record.push(made);
        self.emit(ctx, Some(at), body);
    }

    /// Takes the half-moves after the first `to` off the record.
    pub(super) fn retract(&mut self, ctx: &mut Ctx<'_>, to: usize, reason: &str) {
        if to >= self.plies() {
            return;
        }
        if reason == "correction" {
            self.doubt.shaken = true;
            self.doubt.corrected = Some(self.plies());
        }
        self.withdrawn.clear();
        self.record.truncate(to);
        self.base = self.base.min(to);
        let body = Body::MovesRetracted {
            to_ply: to as u32,
            reason: reason.into(),
            fen: None,
        };
        self.emit(ctx, None, body);
    }

    /// The open irregularities that players may have to put right on the board.
    pub(super) fn open_at_board(&self) -> impl Iterator<Item = &Open> {
        self.open.iter().filter(|open| !open.kind.is_conduct())
    }

    /// Number of half-moves of the record that the best hypothesis contains.
    fn kept(&self) -> usize {
        self.kept_by(self.lines.best())
    }

    /// Number of half-moves of the record that `line` contains.
    fn kept_by(&self, line: &Line) -> usize {
        let (plies, said) = (&line.plies, &self.record[self.base..]);
        let both = plies.len().min(said.len());
        let pairs = plies
            .backwards()
            .skip(plies.len() - both)
            .zip(said[..both].iter().rev());
        let unlike = pairs
            .enumerate()
            .filter(|(_, (ply, made))| !ply.kind.same_as(&made.kind));
        unlike.last().map_or(both, |(from_end, _)| both - 1 - from_end)
    }

    /// Gives a notice.
    pub(in crate::watcher) fn notice(&self, ctx: &mut Ctx<'_>, code: &'static str, message: &str) {
        self.emit(ctx, None, Body::notice(code, message));
    }

    /// True when the best hypothesis contains the record.
    pub(in crate::watcher) fn on_record(&self) -> bool {
        self.kept() == self.announced()
    }

    /// The player who made half-move `ply` (from 1).
    pub(in crate::watcher) fn mover(&self, ply: usize) -> Color {
        if ply % 2 == 1 {
            self.start.turn()
        } else {
            !self.start.turn()
        }
    }

    /// True while nobody has touched a piece, and nothing was reported.
    fn is_unplayed(&self) -> bool {
        let best = self.lines.best();
        let is_silent = self.record.is_empty() && self.open.is_empty() && self.closed.is_empty();
        is_silent && best.plies.is_empty() && best.differing().is_empty()
    }

    /// The same while nobody has pressed either.
    pub(super) fn is_untouched(&self) -> bool {
        self.is_unplayed() && self.press.is_none() && self.later_presses.is_empty()
    }

    /// True when the first that anybody did was to press, and no half-move came with it.
    pub(super) fn was_pressed_first_of_all(&self, ctx: &mut Ctx<'_>) -> bool {
        let Some(press) = self.press.as_ref().filter(|_| self.later_presses.is_empty()) else {
            return false;
        };
        let waits = waits::JUDGE_MS + ctx.sensed.slack();
        self.is_unplayed() && press.side == self.stand().turn() && ctx.is_told(press.at, waits)
    }

    /// True while the game has no result and is not parked.
    pub(super) fn is_watched(&self) -> bool {
        self.result.is_none() && !self.parked
    }

    /// Starts the beam anew, with the record as its only hypothesis.
    pub(super) fn restart_lines(&mut self, ctx: &Ctx<'_>) {
        let line = Line::new(self.stand().clone(), ctx.sensed, ctx.now);
        self.base = self.plies();
        self.reset_lines(ctx, vec![line]);
        self.doubted = None;
    }

    /// Replaces the beam. Pieces that were hidden before stay hidden.
    pub(super) fn reset_lines(&mut self, ctx: &Ctx<'_>, lines: Vec<Line>) {
        let hidden = self.lines.best().faults().hidden;
        self.lines.reset(ctx.now, ctx.sensed, lines);
        if hidden.any() {
            self.lines.hide(hidden, ctx.now, ctx.sensed);
        }
    }

    /// Ends the game, unless it has a result.
    pub(super) fn end(&mut self, ctx: &mut Ctx<'_>, result: GameResult, reason: &str) {
        if self.result.is_none() {
            self.end_with(ctx, result, reason, None);
        }
    }

    /// Ends the game, or gives it another result, with a person's remark.
    pub(super) fn end_with(
        &mut self,
        ctx: &mut Ctx<'_>,
        result: GameResult,
        reason: &str,
        note: Option<String>,
    ) {
        if self.result.is_none() && !self.withdrawn.is_empty() {
            self.reinstate(ctx, self.withdrawn.len());
        }
        self.result = Some(result);
        self.parked = false;
        self.confirmed = reason == "arbiter";
        self.shown = is_shown(reason);
        self.ended_by_hand = self.confirmed || self.shown;
        self.press = None;
        self.later_presses.clear();
        self.emit(
            ctx,
            None,
            Body::GameEnded {
                result,
                reason: reason.into(),
                note,
            },
        );
    }
}
