//! The heart of the watcher: readings of the board and the clock in, events out. Knows no bytes.

use shakmaty::{Bitboard, Color, Square};

use super::{
    OrientationSetting, Settings, Snapshot,
    clock::{Clock, ClockEvent},
    game::{Ctx, Game, Press},
    outbox::Outbox,
    start::Setup,
};
use crate::{
    board::{Code, Orientation, Sensed, bridge},
    dgt::{Identity, Message, PieceCode},
    event::Body,
    mate::Verdict,
    time::Millis,
};

/// After the clock was stopped, updates that were under way are still taken for a half-move.
const FREEZE_MS: u64 = 700;
/// Presses that may wait to be judged.
const MOST_PRESSES: usize = 4;

/// Where a board is in its evening.
#[derive(Debug)]
pub(super) enum Phase {
    /// No game yet, or the next one is being set up.
    Waiting(Box<Setup>),
    /// A game goes on, or is over and has not been cleared away.
    Game(Box<Game>),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) settings: Settings,
    pub(super) out: Outbox,
    pub(super) clock: Clock,
    pub(super) phase: Phase,
    pub(super) games: u32,
    pub(super) raw: Option<[PieceCode; 64]>,
    pub(super) orientation: Orientation,
    /// An array has shown which way round the board lies.
    pub(super) orientation_shown: bool,
    pub(super) sensed: Sensed,
    pub(super) link: Option<String>,
    pub(super) connected: bool,
    pub(super) identity: Identity,
    gap: bool,
    pub(super) look_again: Option<Millis>,
    dump_wanted: bool,
}

impl Core {
    pub(super) fn new(settings: Settings, resume: Option<Snapshot>) -> Self {
        let orientation = match settings.orientation {
            OrientationSetting::Turned => Orientation::Turned,
            _ => Orientation::Normal,
        };
        let mut core = Self {
            clock: Clock::new(settings.clock_side),
            settings,
            out: Outbox::default(),
            phase: Phase::Waiting(Box::default()),
            games: 0,
            raw: None,
            orientation,
            orientation_shown: false,
            sensed: Sensed::default(),
            link: None,
            connected: false,
            identity: Identity::default(),
            gap: false,
            look_again: None,
            dump_wanted: false,
        };
        if let Some(snapshot) = resume {
            core.resume(snapshot);
        }
        core
    }

    pub(super) fn link_up(&mut self, _now: Millis, port: &str) {
        self.link = Some(port.to_string());
        self.out.changed.info = true;
    }

    pub(super) fn link_down(&mut self, now: Millis, reason: &str) {
        self.link = None;
        self.gap = true;
        self.clock.gap();
        if let Phase::Game(game) = &mut self.phase {
            game.gap = true;
            game.press = None;
            game.later_presses.clear();
        }
        if std::mem::take(&mut self.connected) {
            self.emit(
                now,
                Body::BoardDisconnected {
                    reason: reason.into(),
                },
            );
            self.out.changed.status = true;
        }
    }

    /// The game that goes on with what a step of it needs; none when none goes on.
    pub(super) fn game_and_ctx(&mut self, now: Millis) -> Option<(&mut Game, Ctx<'_>)> {
        let Phase::Game(game) = &mut self.phase else {
            return None;
        };
        let ctx = Ctx {
            now,
            settings: &self.settings,
            sensed: &self.sensed,
            clock: &self.clock,
            out: &mut self.out,
            look_again: &mut self.look_again,
        };
        Some((game, ctx))
    }

    /// One message of the board.
    pub(super) fn message(&mut self, now: Millis, message: &Message<'_>, identity: &Identity) {
        self.hear(now, identity, matches!(message, Message::Dump(_)));
        match message {
            Message::EventLog(payload) => return self.log_told(now, payload),
            _ => self.spoken(now),
        }
        match message {
            Message::Dump(squares) => self.dump(now, squares),
            Message::Field { square, piece } => self.field(now, *square, *piece),
            Message::Clock(reading) => {
                if self.clock.attached != Some(true) {
                    self.emit(now, Body::ClockConnected);
                }
                self.clock.heard(now, *reading);
                self.out.changed.clock = true;
                self.clock_events();
            }
            Message::NoClock => {
                if self.clock.attached == Some(true) {
                    self.emit(now, Body::ClockDisconnected);
                }
                self.clock.gone();
                self.out.changed.clock = true;
                self.thaw(now);
            }
            _ => {}
        }
    }

    /// The board answers. It is connected once it shows what stands on it: by then it has said who
    /// it is, if it ever does.
    fn hear(&mut self, now: Millis, identity: &Identity, shows: bool) {
        if self.identity != *identity {
            self.identity = identity.clone();
            self.out.changed.info = true;
        }
        if shows && !self.connected && self.link.is_some() {
            self.connected = true;
            self.out.changed.status = true;
            let firmware = self.identity.firmware.map(|(main, sub)| format!("{main}.{sub}"));
            let body = Body::BoardConnected {
                serial: self.identity.serial().map(str::to_string),
                firmware,
                port: self.link.clone(),
            };
            self.emit(now, body);
        }
    }

    /// The whole board as a board tells it that says all squares at each change.
    pub(super) fn whole_board(&mut self, now: Millis, squares: &[PieceCode; 64], identity: &Identity) {
        self.hear(now, identity, true);
        if self.raw.is_none() || self.gap {
            self.dump(now, squares);
        } else if self.raw.replace(*squares) != Some(*squares) {
            self.scan(now, squares);
        }
    }

    /// Squares changed at the same time.
    fn scan(&mut self, now: Millis, squares: &[PieceCode; 64]) {
        if self.orient() {
            return;
        }
        let placement = self.orientation.placement(squares);
        if let Phase::Game(game) = &mut self.phase {
            game.lines.tick(now, &self.sensed);
        }
        let changed = self.sensed.update(now, &placement);
        self.out.changed.position = true;
        self.explain(now, changed);
    }

    fn dump(&mut self, now: Millis, squares: &[PieceCode; 64]) {
        let first = self.raw.replace(*squares).is_none();
        self.orient();
        let placement = self.orientation.placement(squares);
        self.out.changed.position = true;
        if let Phase::Game(game) = &mut self.phase {
            game.lines.tick(now, &self.sensed);
        }
        let changed = self.sensed.replace(now, &placement);
        if first {
            self.sensed = settled(&placement);
        }
        let gap = std::mem::take(&mut self.gap);
        if gap
            && let Some((game, ctx)) = self.game_and_ctx(now)
            && game.waits_for_clock(&ctx)
        {
            game.lines.frozen = true;
        }
        self.recovering(gap);
        self.explain(now, changed);
        if gap {
            self.after_gap(now);
            self.recovering(false);
        } else if !changed.is_empty() {
            self.lost_updates(now);
        }
    }

    fn field(&mut self, now: Millis, square: u8, piece: PieceCode) {
        // Before the first dump nothing is known of the other squares.
        let Some(raw) = &mut self.raw else {
            self.dump_wanted = true;
            return;
        };
        raw[usize::from(square & 63)] = piece;
        if self.orient() {
            return;
        }
        let square = self.orientation.square(square);
        let (old, new) = (self.sensed.at(square), Code(piece.0));
        if let Phase::Game(game) = &mut self.phase {
            game.lines.tick(now, &self.sensed);
            if self.clock.stopped_at.is_none() {
                game.hands.seen(now, square, old, new);
            }
        }
        if self.sensed.set(now, square, new) {
            self.out.changed.position = true;
            self.explain(now, Bitboard::from_square(square));
        } else if new.is_empty()
            && let Phase::Game(game) = &mut self.phase
        {
            game.lines.left_unseen(now, &self.sensed, square);
        }
    }

    /// Finds out which way round the board lies while no game goes on. Returns true when the
    /// board was read anew for it.
    fn orient(&mut self) -> bool {
        let idle = match &self.phase {
            Phase::Waiting(_) => true,
            Phase::Game(game) => game.result.is_some(),
        };
        let (OrientationSetting::Auto, true, Some(raw)) = (self.settings.orientation, idle, &self.raw) else {
            return false;
        };
        let Some(found) = Orientation::of_start(raw) else {
            return false;
        };
        self.orientation_shown = true;
        if found == self.orientation {
            return false;
        }
        self.turn_to(found);
        true
    }

    /// The board lies another way than was thought: it is read anew.
    pub(super) fn turn_to(&mut self, orientation: Orientation) {
        self.orientation = orientation;
        if let Some(raw) = &self.raw {
            self.sensed = settled(&orientation.placement(raw));
        }
        if let Phase::Waiting(setup) = &mut self.phase {
            **setup = Setup::default();
        }
    }

    /// Squares changed: the lines are to explain them.
    fn explain(&mut self, now: Millis, changed: Bitboard) {
        if changed.is_empty() {
            return;
        }
        match &mut self.phase {
            Phase::Game(game) => game.lines.changed(now, &self.sensed, changed),
            Phase::Waiting(setup) => {
                if let Some(lines) = &mut setup.lines {
                    lines.changed(now, &self.sensed, changed);
                }
            }
        }
    }

    /// The board is read again after the link was down: what was played meanwhile?
    fn after_gap(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        game.gap = false;
        if game.result.is_some() {
            return;
        }
        game.after_gap(&mut ctx);
    }

    /// Half-moves that are found now were made unseen, or not any more.
    fn recovering(&mut self, yes: bool) {
        if let Phase::Game(game) = &mut self.phase {
            game.lines.recovering = yes;
        }
    }

    /// A dump differs from what the updates said: some were lost.
    fn lost_updates(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if game.result.is_some() || game.lines.frozen {
            return;
        }
        let limits = bridge::Limits {
            plies: 3,
            nodes: 20_000,
            most: 8,
        };
        game.bridge_gap(&mut ctx, limits);
    }

    fn clock_events(&mut self) {
        while let Some((at, event)) = self.clock.poll() {
            match event {
                ClockEvent::Started => self.clock_started(at),
                ClockEvent::Stopped => {
                    if let Some((game, mut ctx)) = self.game_and_ctx(at) {
                        game.propose_times(&mut ctx);
                    }
                }
                ClockEvent::Pressed(side) => self.pressed(at, side),
            }
        }
    }

    pub(super) fn pressed(&mut self, at: Millis, side: Color) {
        let game = match &mut self.phase {
            Phase::Game(game) => game,
            Phase::Waiting(setup) => {
                setup.presses.push(at);
                let old = setup.presses.len().saturating_sub(8);
                setup.presses.drain(..old);
                return;
            }
        };
        if game.result.is_some() {
            return;
        }
        let best = game.lines.best();
        let fits = match best.plies.last() {
            Some(last) if last.pressed.is_none() && best.differing().is_empty() => Some(best.turn() != side),
            _ => None,
        };
        if fits.is_some_and(|fits| self.clock.fits(fits)) {
            // The sides of the clock were taken the wrong way round.
            let Phase::Game(game) = &mut self.phase else {
                return;
            };
            game.press = None;
            return;
        }
        game.lines.press(at, &self.sensed, side);
        let press = Press {
            side,
            at,
            clock: self.clock.state(),
            rest: None,
        };
        if game.press.is_none() {
            game.press = Some(press);
        } else if game.later_presses.len() < MOST_PRESSES {
            game.later_presses.push_back(press);
        }
    }

    fn clock_started(&mut self, at: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(at) else {
            return;
        };
        game.lines.frozen = false;
        game.lines.set_clock_runs(true);
        game.clock_used = true;
        if game.result.is_none() && !game.gap {
            game.started_again(&mut ctx);
            game.lines.grow_all(at, ctx.sensed);
        }
    }

    /// Presses are not to be expected any more: the clock is gone.
    fn thaw(&mut self, _now: Millis) {
        if let Phase::Game(game) = &mut self.phase {
            game.lines.frozen = false;
            game.lines.set_clock_runs(false);
            game.press = None;
        }
    }

    /// Looks at everything that may be decided by now.
    pub(super) fn review(&mut self, now: Millis) {
        // Until nothing more follows: how often one looks must not matter.
        for _ in 0..4 {
            let said = self.out.seq;
            self.look_again = None;
            self.clock.tick(now);
            self.clock_events();
            match &mut self.phase {
                Phase::Waiting(_) => self.look_for_start(now),
                Phase::Game(_) => {
                    self.review_game(now);
                    self.take_up(now);
                    self.look_for_next(now);
                }
            }
            if self.out.seq != said {
                self.note_whole();
            }
            // Before a game what is noted in one look counts in the next.
            if self.out.seq == said && matches!(self.phase, Phase::Game(_)) {
                break;
            }
        }
    }

    fn review_game(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if game.result.is_some() {
            return;
        }
        if let Some(stopped) = ctx.clock.stopped_at
            && game.clock_used
            && !game.lines.frozen
            && ctx.passed(stopped, FREEZE_MS)
        {
            game.lines.frozen = true;
        }
        game.lines.tick(now, ctx.sensed);
        if game.gap {
            return;
        }
        game.settle(&mut ctx);
        game.look_for_log(&mut ctx);
        game.try_gap_again(&mut ctx);
        game.judge(&mut ctx);
        game.look_after(&mut ctx);
        game.look_for_unfelt(&mut ctx);
        game.look_for_flags(&mut ctx);
        game.look_for_result(&mut ctx);
        game.look_for_dead_squares(&mut ctx);
    }

    /// Nothing more will come.
    pub(super) fn finish(&mut self, mut now: Millis) -> Millis {
        // What waits for time to pass is given it, within a bound.
        let end = now + 30_000;
        self.review(now);
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            now = at.max(now);
            self.review(now);
        }
        if let Some((game, mut ctx)) = self.game_and_ctx(now)
            && game.result.is_none()
            && !game.gap
        {
            game.settle_rest(&mut ctx);
        }
        now
    }

    pub(super) fn deadline(&self) -> Option<Millis> {
        [self.look_again, self.clock.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn mate_answered(&mut self, now: Millis, irregularity: &str, verdict: &Verdict) {
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            game.mate_answered(&mut ctx, irregularity, verdict);
        }
    }

    pub(super) fn take_dump_wanted(&mut self) -> bool {
        std::mem::take(&mut self.dump_wanted)
    }

    /// What was played before the board is read again is not known.
    pub(super) fn mark_gap(&mut self) {
        self.gap = true;
    }

    pub(super) fn want_dump(&mut self) {
        self.dump_wanted = true;
    }

    pub(super) fn emit(&mut self, now: Millis, body: Body) -> String {
        let game = match &self.phase {
            Phase::Game(game) => Some(game.number),
            Phase::Waiting(_) => None,
        };
        self.out.emit(&self.settings, game, now, None, body)
    }
}

/// A reading that stood there before anything was watched.
pub(super) fn settled(placement: &crate::board::Placement) -> Sensed {
    let mut sensed = Sensed::default();
    for square in Square::ALL {
        sensed.set(Millis(0), square, placement.at(square));
    }
    sensed
}
