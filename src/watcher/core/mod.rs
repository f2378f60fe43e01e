//! The core of the watcher: its state, presses of the clock, and the review of everything that can be
//! decided. Readings come in by `reading`, events go out by the outbox. The core knows no bytes.

mod another_board;
mod arbiter;
mod before_game;
mod chips;
mod expected;
mod first_array;
mod first_side;
mod glimpse;
mod hardware;
mod in_step;
mod lifecycle;
mod meanwhile;
mod next_game;
mod occupancy;
pub(super) mod past;
mod reading;
mod recall;
mod results;
mod rules;
mod silence;
pub(super) mod snapshot;
mod start;
mod started;
mod table;
mod unsaid;
pub(super) mod view;

use shakmaty::Color;

use self::{
    before_game::WaitingReport,
    hardware::Hardware,
    meanwhile::Meanwhile,
    start::{REMEMBERED, Setup},
};
use crate::{
    board::{Orientation, Sensed, chips::Chips},
    dgt::{Identity, Squares},
    event::Body,
    mate::Verdict,
    time::Millis,
    watcher::{
        OrientationSetting, Settings, Snapshot,
        clock::{Clock, ClockEvent, Fit},
        ctx::Ctx,
        game::{Game, Press},
        outbox::{Heard, Outbox},
    },
};

/// Most reviews between two messages that came late, however much time lies between them.
const MOST_LOOKS: usize = 8;
/// Presses of one instant get times that are a millisecond apart. There are never as many as would fill this
/// time.
pub(super) const TOLD_APART_MS: u64 = 50;

/// Whether a game goes on at the board.
#[derive(Debug)]
pub(super) enum Phase {
    /// There is no game yet, or the players set up the next one.
    Waiting(Box<Setup>),
    /// A game goes on, or has ended and its pieces still stand.
    Game(Box<Game>),
}

impl Phase {
    /// True while no game goes on.
    fn is_idle(&self) -> bool {
        self.game().is_none_or(|game| !game.is_watched())
    }

    /// The present game; none while there is no game.
    pub(super) fn game(&self) -> Option<&Game> {
        match self {
            Self::Game(game) => Some(game),
            Self::Waiting(_) => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn game_mut(&mut self) -> Option<&mut Game> {
        match self {
            Self::Game(game) => Some(game),
            Self::Waiting(_) => None,
        }
    }
}

/// The state of the watcher for one board.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) settings: Settings,
    pub(super) out: Outbox,
    pub(super) clock: Clock,
    pub(super) phase: Phase,
    pub(super) games: u32,
    /// The readings of the board, in its own order of squares; none before the first dump.
    pub(super) raw: Option<Squares>,
    pub(super) orientation: Orientation,
    /// Pieces whose chip says another piece. `raw` has what they are.
    pub(super) chips: Chips,
    /// An initial position has shown which way round the board lies.
    pub(super) orientation_shown: bool,
    pub(super) sensed: Sensed,
    pub(super) link: Option<String>,
    pub(super) connected: bool,
    /// The watcher goes on from a snapshot, and no link was up since.
    pub(super) succeeds: bool,
    /// The next dump may come before the greeting, in which the board identifies itself.
    before_greeting: bool,
    pub(super) identity: Identity,
    pub(super) played_on: another_board::PlayedOn,
    pub(super) hardware: Hardware,
    /// Since when nobody reads the board: half-moves may be missing before the next dump.
    pub(super) gap: Option<Millis>,
    /// Squares changed in a gap, as the board told before its dump.
    pub(super) gap_changed: bool,
    pub(super) look_again: Option<Millis>,
    pub(super) dump_wanted: bool,
    /// The watcher is about to accuse a player, but a reading that excuses that player may be on its way. So
    /// the board has to give a sign of life.
    pub(super) sign_wanted: bool,
    /// Everything that the board sent before this time has arrived.
    pub(super) told: Millis,
    /// The messages that are being read came in one lump, and nobody knows when each happened.
    pub(super) catches_up: bool,
    /// The bounds within which the messages of the lump happened.
    pub(super) within: Option<(Millis, Millis)>,
    /// The board has told that the next change of a square lies apart from the one before it.
    pub(super) apart: bool,
    /// When the first message of the last lump happened, roughly.
    pub(super) lump_began: Millis,
    /// The end of the last lump: nobody measured the times of its messages.
    pub(super) lumped: Option<Millis>,
    /// When messages last came at once, after a quiet second. They may have waited.
    pub(super) coincided: Option<Millis>,
    /// Until when the line may have gathered, though nobody knew for how long: see `gathers`.
    pub(super) gathered_until: Option<Millis>,
    /// The copy beside a game that has ended, or is parked.
    pub(super) meanwhile: Option<Box<Meanwhile>>,
    /// Reports of what happened before the next game.
    pub(super) reports: Vec<WaitingReport>,
    /// When the last review was.
    pub(super) now: Millis,
}

impl Core {
    pub(super) fn new(settings: Settings, resume: Option<&Snapshot>) -> Self {
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
            chips: Chips::default(),
            orientation_shown: false,
            sensed: Sensed::default(),
            link: None,
            connected: false,
            succeeds: false,
            before_greeting: false,
            identity: Identity::default(),
            played_on: another_board::PlayedOn::default(),
            hardware: Hardware::default(),
            gap: None,
            gap_changed: false,
            look_again: None,
            dump_wanted: false,
            sign_wanted: false,
            told: Millis(u64::MAX),
            catches_up: false,
            within: None,
            apart: false,
            lump_began: Millis(0),
            lumped: None,
            coincided: None,
            gathered_until: None,
            meanwhile: None,
            reports: Vec::new(),
            now: Millis(0),
        };
        if let Some(snapshot) = resume {
            core.resume(snapshot);
        }
        core
    }

    /// The present game, with the context of a step; none while there is no game.
    pub(super) fn game_and_ctx(&mut self, now: Millis) -> Option<(&mut Game, Ctx<'_>)> {
        let Phase::Game(game) = &mut self.phase else {
            return None;
        };
        let ctx = Ctx {
            now,
            settings: &self.settings,
            rules: game.rules.clone(),
            sensed: &self.sensed,
            clock: &self.clock,
            out: &mut self.out,
            look_again: &mut self.look_again,
            dump_wanted: &mut self.dump_wanted,
            sign_wanted: &mut self.sign_wanted,
            told: self.told,
            catches_up: self.catches_up,
            lump_began: self.lump_began,
            lumped: self.lumped,
            coincided: self.coincided,
            gathered_until: self.gathered_until,
        };
        Some((game, ctx))
    }

    pub(super) fn clock_events(&mut self) {
        while let Some((at, event)) = self.clock.poll() {
            self.heard(Heard::Press);
            match event {
                ClockEvent::Started => self.each(|core| core.clock_started(at)),
                ClockEvent::Stopped => self.each(|core| {
                    if let Some((game, mut ctx)) = core.game_and_ctx(at) {
                        game.course.lines.clock_stopped(at, ctx.sensed);
                        game.cases.propose_times(&mut ctx, &game.course);
                    }
                }),
                ClockEvent::Pressed(side) => self.each(|core| core.pressed(at, side)),
                ClockEvent::Turned(side) => self.each(|core| {
                    if let Phase::Game(game) = &mut core.phase
                        && game.course.clock_used
                        && game.is_watched()
                    {
                        game.unclocked.lever_turned(at, side);
                    }
                }),
            }
        }
    }

    pub(super) fn pressed(&mut self, at: Millis, side: Color) {
        let game = match &mut self.phase {
            Phase::Game(game) => game,
            Phase::Waiting(setup) => {
                if let Some(midway) = &mut setup.midway {
                    midway.pressed(at, &self.sensed, self.clock.side_of(side));
                }
                setup.presses.push(at);
                let old = setup.presses.len().saturating_sub(REMEMBERED);
                setup.presses.drain(..old);
                return;
            }
        };
        if !game.is_watched() {
            return;
        }
        if game.presses.bounced(&mut game.course, at, side, &self.sensed) {
            return;
        }
        let fit = Fit::of(game.course.lines.best(), side, at);
        if fit.is_some_and(|fit| self.clock.fits(fit)) {
            // The watcher had assigned the sides of the clock the wrong way round.
            let Phase::Game(game) = &mut self.phase else {
                return;
            };
            game.presses.judged = None;
            return;
        }
        game.course.lines.press(at, &self.sensed, side);
        game.silence.pressed(side);
        game.presses.add(Press {
            side,
            at,
            clock: self.clock.state(),
            rest: None,
        });
    }

    /// Returns true if the board is to be asked for its log now, and notes that it is asked.
    pub(super) fn take_log_wanted(&mut self, now: Millis) -> bool {
        recall::take_wanted(&mut self.phase, self.settings.protocol, now)
    }

    /// Notes what was heard, if it belongs to a game that goes on or may begin.
    pub(super) fn heard(&mut self, heard: Heard) {
        let belongs = match &self.phase {
            Phase::Game(game) => game.is_watched(),
            Phase::Waiting(setup) => setup.is_worth_keeping(),
        };
        if belongs {
            self.out.heard = self.out.heard.max(Some(heard));
        }
    }

    /// The next messages happened some time ago, in this order, the last one at `until`.
    pub(super) fn unmeasured(&mut self, until: Millis) {
        let goes_on = self.lumped.is_some_and(|lumped| until <= lumped);
        // A line that always gathers has an allowance of its own.
        if self.sensed.slack() == 0 {
            self.lumped = self.lumped.max(Some(until + TOLD_APART_MS));
        }
        self.each(|core| {
            if let Some(game) = core.phase.game_mut() {
                game.doubt.shaken = true;
            }
        });
        if !goes_on {
            self.begin_lump();
        }
    }

    /// The next messages waited in one lump. They get estimated times, the first one `from` and the last one
    /// `until`.
    pub(super) fn catch_up(&mut self, from: Millis, until: Millis) {
        self.catches_up = true;
        self.lump_began = from;
        self.unmeasured(until);
        // Another lump may have ended just before.
        self.begin_lump();
    }

    /// What was counted in the lump before counts no more.
    fn begin_lump(&mut self) {
        self.each(|core| {
            if let Phase::Game(game) = &mut core.phase {
                game.lump.begin();
            }
        });
    }

    /// The clock is gone, so no press is to be expected.
    pub(super) fn thaw(&mut self, _now: Millis) {
        self.each(|core| {
            if let Phase::Game(game) = &mut core.phase {
                game.course.lines.frozen = false;
                game.course.lines.set_clock_runs(false);
                game.presses.judged = None;
            }
        });
    }

    /// Decides everything that can be decided by now.
    pub(super) fn review(&mut self, now: Millis) {
        self.now = now;
        self.out.waits.clear();
        // Repeats until nothing more follows, so that it does not matter how often the shell calls.
        for _ in 0..4 {
            let said = self.out.seq;
            self.look_again = None;
            self.clock.tick(now);
            self.clock_events();
            match &mut self.phase {
                Phase::Waiting(setup) => {
                    let knew = setup.known();
                    self.sign_wanted = false;
                    self.look_for_start(now);
                    if matches!(&self.phase, Phase::Waiting(setup) if setup.known() != knew) {
                        self.heard(Heard::Update);
                    }
                }
                Phase::Game(_) => {
                    self.review_game(now);
                    self.take_up_anew(now);
                    self.look_for_next(now);
                }
            }
            if self.out.seq != said {
                recall::note_whole(&mut self.phase, self.raw.as_ref(), &self.clock);
            }
            // Before a game, a review may use what the one before it noted.
            if self.out.seq == said && matches!(self.phase, Phase::Game(_)) {
                break;
            }
        }
        self.review_meanwhile(now);
        self.tell_reports(now);
    }

    pub(super) fn review_game(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if let Some(first) = first_side::pressed_first(game, &mut ctx) {
            first_side::runs_first(&mut self.clock, first);
            // No event tells of it.
            self.heard(Heard::Press);
        }
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if let Some(white) = first_array::begin_otherwise(game, &mut ctx) {
            self.clock.guess(white);
        }
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if game.review(&mut ctx) {
            let silent = game.unread.squares;
            self.sensed.give_up(silent);
            let (bodies, due) = chips::notices(&mut self.chips, self.orientation, self.games, now);
            for body in bodies {
                self.emit(now, body);
            }
            if let Some(due) = due {
                self.look_at(due);
            }
        }
    }

    /// Decides the rest, because nothing more will come.
    pub(super) fn finish(&mut self, mut now: Millis) -> Millis {
        self.told = Millis(u64::MAX);
        // Decisions that wait for time to pass get that time, within a bound.
        let end = now + 30_000;
        self.review(now);
        self.unwatch_all();
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            now = at.max(now);
            self.review(now);
        }
        if let Some((game, mut ctx)) = self.game_and_ctx(now)
            && game.is_watched()
            && !game.gap.is_open
        {
            game.settle_rest(&mut ctx);
        }
        now
    }

    /// Lets time pass until `until`. Reviews what becomes due meanwhile, roughly when it does.
    pub(super) fn pass(&mut self, until: Millis) {
        for _ in 0..MOST_LOOKS {
            let Some(due) = self.deadline().filter(|due| *due < until) else {
                return;
            };
            self.review(due.max(self.now + 1));
        }
    }

    /// Asks to be called again at `at`, or earlier if that was asked for.
    pub(super) fn look_at(&mut self, at: Millis) {
        self.look_again = Some(self.look_again.map_or(at, |known| known.min(at)));
    }

    pub(super) fn deadline(&self) -> Option<Millis> {
        let meanwhile = self
            .meanwhile
            .as_ref()
            .and_then(|meanwhile| meanwhile.look_again());
        Millis::earliest([self.look_again, self.clock.deadline(), meanwhile])
    }

    pub(super) fn mate_answered(&mut self, now: Millis, irregularity: &str, verdict: &Verdict) {
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            game.cases
                .mate_answered(&mut ctx, &game.course, irregularity, verdict);
        }
    }

    pub(super) fn take_dump_wanted(&mut self) -> bool {
        std::mem::take(&mut self.dump_wanted)
    }

    /// Everything that the board sent before `then` has arrived. Decides what waited for that.
    pub(super) fn tell_until(&mut self, then: Millis) {
        self.told = then;
        if self.wants_sign() {
            self.review(then);
        }
    }

    /// True while the board has to give a sign of life.
    pub(super) fn wants_sign(&self) -> bool {
        let meanwhile = self.meanwhile.as_ref();
        self.sign_wanted || meanwhile.is_some_and(|meanwhile| meanwhile.wants_sign())
    }

    pub(super) fn emit(&mut self, now: Millis, body: Body) -> String {
        let game = self.phase.game().map(|game| game.course.number);
        self.out.emit(&self.settings, game, now, None, body)
    }
}
