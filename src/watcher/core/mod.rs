//! The core of the watcher: its state, presses of the clock, and the review of everything that can be
//! decided. Readings come in by `reading`, commands by `arbiter`, events go out by the outbox. The core knows no bytes.

mod anew;
mod another_board;
mod arbiter;
mod before_game;
mod begin;
mod beside;
mod board_seen;
mod chips;
mod contact;
mod first_side;
mod glimpse;
mod hardware;
mod in_step;
mod lifecycle;
mod meanwhile;
mod next_game;
mod occupancy;
pub(super) mod past;
mod phase;
mod play;
mod presses;
mod reading;
mod reread;
mod results;
mod rules;
pub(super) mod snapshot;
mod start;
mod started;
mod table;
mod take_over;
mod unsaid;
pub(super) mod view;
mod world;

use std::collections::BTreeSet;

use self::{
    before_game::WaitingReport, beside::Beside, contact::Contact, hardware::Hardware,
    lifecycle::look_for_start, next_game::look_for_next, phase::Phase, play::Play, presses::pressed,
    snapshot::FoundGames, start::Setup, started::clock_started, world::World,
};
use crate::{
    event::Body,
    families::Protocol,
    mate::Verdict,
    time::Millis,
    watcher::{
        Rules, Settings, Snapshot, Table,
        clock::ClockEvent,
        outbox::{Heard, Outbox},
    },
};

/// Most reviews between two messages that came late, however much time lies between them.
const MOST_LOOKS: usize = 8;

/// The state of the watcher for one board.
#[derive(Debug)]
pub(super) struct Core {
    /// What the board and the clock show.
    pub(super) world: World,
    /// The present game, or the wait for one.
    pub(super) play: Play,
    /// The copy beside a game that has ended, or is parked.
    beside: Beside,
    pub(super) contact: Contact,
    pub(super) hardware: Hardware,
    /// Reports of what happened before the next game.
    reports: Vec<WaitingReport>,
    /// A game that somebody else has kept, until the board was read.
    found: FoundGames,
    /// When the last review was.
    pub(super) now: Millis,
}

impl Core {
    pub(super) fn new(settings: Settings, resume: Option<&Snapshot>) -> Self {
        let mut core = Self {
            world: World::new(settings),
            play: Play::new(Phase::Waiting(Box::default()), Outbox::default(), 0),
            beside: Beside::default(),
            contact: Contact::default(),
            hardware: Hardware::default(),
            reports: Vec::new(),
            found: FoundGames::default(),
            now: Millis(0),
        };
        if let Some(snapshot) = resume {
            snapshot.resume(&mut core);
        }
        core
    }

    /// Takes a step of the present game, and keeps the copy up with it.
    fn step<T>(&mut self, step: impl FnOnce(&mut World, &mut Play) -> T) -> T {
        self.beside.keep_up(&mut self.world, &mut self.play, step)
    }

    /// Takes a step of the copy.
    fn step_beside(&mut self, step: impl FnOnce(&mut World, &mut Play)) {
        self.beside.step(&mut self.world, self.play.out.before, step);
    }

    /// Takes the same step of the game and of the copy.
    fn each(&mut self, mut step: impl FnMut(&mut World, &mut Play)) {
        self.step(&mut step);
        self.step_beside(step);
    }

    /// Watches the next game, of which `setup` has what is known, beside the present one that waits for its result.
    fn watch_set_up(&mut self, setup: Option<Setup>) {
        if let Some(setup) = setup {
            self.beside
                .watch_set_up(setup, self.play.games, &self.world.clock);
        }
    }

    fn clock_events(&mut self) {
        while let Some((at, event)) = self.world.clock.poll() {
            self.play.heard(Heard::Press);
            match event {
                ClockEvent::Started => {
                    let next = self.step(|world, play| clock_started(world, play, at));
                    self.watch_set_up(next);
                    // Nothing is watched beside the copy.
                    self.step_beside(|world, play| drop(clock_started(world, play, at)));
                }
                ClockEvent::Stopped => self.each(|world, play| {
                    if let Some((game, mut ctx)) = play.game_and_ctx(world, at) {
                        game.course.lines.clock_stopped(at, ctx.sensed);
                        game.cases.propose_times(&mut ctx, &game.course);
                    }
                }),
                ClockEvent::Pressed(side) => self.each(|world, play| pressed(world, play, at, side)),
                ClockEvent::Misread(side) => self.each(|_, play| {
                    if let Phase::Game(game) = &mut play.phase {
                        game.presses.was_none(&mut game.course.lines, at, side);
                    }
                }),
                ClockEvent::Turned(side) => self.each(|_, play| {
                    if let Phase::Game(game) = &mut play.phase
                        && game.course.clock_used
                        && game.is_watched()
                    {
                        game.unclocked.lever_turned(at, side);
                    }
                }),
            }
        }
    }

    /// Returns true if the board is to be asked for its log now, and notes that it is asked.
    pub(super) fn take_log_wanted(&mut self, now: Millis) -> bool {
        let has_log = self.world.settings.protocol == Protocol::Dgt;
        let game = self.play.phase.game_mut();
        game.is_some_and(|game| game.gap.recall.take_wanted(now, has_log))
    }

    /// The next messages happened some time ago, in this order, the last one at `until`.
    pub(super) fn unmeasured(&mut self, until: Millis) {
        let timing = &mut self.world.timing;
        let goes_on = timing.lumped.is_some_and(|lumped| until <= lumped);
        // A line that always gathers has an allowance of its own.
        if self.world.board.sensed.slack() == 0 {
            timing.lump_until(until);
        }
        self.each(|_, play| {
            if let Some(game) = play.phase.game_mut() {
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
        self.world.timing.catches_up = true;
        self.world.timing.lump_began = from;
        self.unmeasured(until);
        // Another lump may have ended just before.
        self.begin_lump();
    }

    /// What was counted in the lump before counts no more.
    fn begin_lump(&mut self) {
        self.each(|_, play| {
            if let Some(game) = play.phase.game_mut() {
                game.lump.begin();
            }
        });
    }

    /// Decides everything that can be decided by now.
    pub(super) fn review(&mut self, now: Millis) {
        self.now = now;
        self.play.out.waits.clear();
        // Repeats until nothing more follows, so that it does not matter how often the shell calls.
        for _ in 0..4 {
            let said = self.play.out.seq;
            self.play.look_again = None;
            self.world.clock.tick(now);
            self.clock_events();
            match &mut self.play.phase {
                Phase::Waiting(setup) => {
                    let knew = setup.known();
                    self.play.sign_wanted = false;
                    self.step(|world, play| look_for_start(world, play, now));
                    if matches!(&self.play.phase, Phase::Waiting(setup) if setup.known() != knew) {
                        self.play.heard(Heard::Update);
                    }
                }
                Phase::Game(_) => {
                    self.step(|world, play| play.review(world, now));
                    take_over::take_up_anew(&mut self.world, &mut self.play, &mut self.beside, now);
                    let next = self.step(|world, play| look_for_next(world, play, now));
                    self.watch_set_up(next);
                }
            }
            if self.play.out.seq != said
                && let (Some(game), Some(raw)) = (self.play.phase.game_mut(), &self.world.board.raw)
            {
                game.note_whole(raw, &self.world.clock);
            }
            // Before a game, a review may use what the one before it noted.
            if self.play.out.seq == said && matches!(self.play.phase, Phase::Game(_)) {
                break;
            }
        }
        take_over::review(&mut self.world, &mut self.play, &mut self.beside, now);
        before_game::tell_due(&mut self.reports, &self.world, &mut self.play, now);
    }

    /// Decides the rest, because nothing more will come.
    pub(super) fn finish(&mut self, mut now: Millis) -> Millis {
        self.world.timing.told = Millis(u64::MAX);
        // Decisions that wait for time to pass get that time, within a bound.
        let end = now + 30_000;
        self.review(now);
        self.beside.unwatch_all();
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            now = at.max(now);
            self.review(now);
        }
        if let Some((game, mut ctx)) = self.play.game_and_ctx(&self.world, now)
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

    pub(super) fn deadline(&self) -> Option<Millis> {
        let beside = self.beside.look_again();
        Millis::earliest([self.play.look_again, self.world.clock.deadline(), beside])
    }

    pub(super) fn mate_answered(&mut self, now: Millis, irregularity: &str, verdict: &Verdict) {
        if let Some((game, mut ctx)) = self.play.game_and_ctx(&self.world, now) {
            game.cases
                .mate_answered(&mut ctx, &game.course, irregularity, verdict);
        }
    }

    pub(super) fn take_dump_wanted(&mut self) -> bool {
        std::mem::take(&mut self.play.dump_wanted)
    }

    /// Everything that the board sent before `then` has arrived. Decides what waited for that.
    pub(super) fn tell_until(&mut self, then: Millis) {
        self.world.timing.told = then;
        if self.wants_sign() {
            self.review(then);
        }
    }

    /// True while the board has to give a sign of life.
    pub(super) fn wants_sign(&self) -> bool {
        self.play.sign_wanted || self.beside.wants_sign()
    }

    pub(super) fn emit(&mut self, now: Millis, body: Body) -> String {
        self.play.emit(&self.world.settings, now, body)
    }

    /// Sets the rules from the next game on. A notice says so where a game goes on by others.
    pub(super) fn set_rules(&mut self, now: Millis, rules: Rules) {
        self.world.settings.rules = rules;
        self.tell_rules_that_wait(now);
    }

    /// Says once that other rules wait for the next game.
    pub(super) fn tell_rules_that_wait(&mut self, now: Millis) {
        rules::tell_that_wait(&self.world, &mut self.play, now);
    }

    /// The rules by which the present game is judged; between games, those of the next one.
    pub(super) fn rules(&self) -> &Rules {
        rules::present(&self.world.settings, &self.play.phase)
    }

    /// Has the next game go by the rules of the present one.
    pub(super) fn go_by_rules_of_game(&mut self) {
        let rules = self.rules().clone();
        self.set_rules(self.now, rules);
    }

    /// Sets the players and the round from the next game on. With `paired` each board plays one game in a round.
    pub(super) fn set_table(&mut self, now: Millis, table: Table, paired: bool) {
        let Self {
            world, play, beside, ..
        } = self;
        table::set_table(world, play, beside, now, table, paired);
    }

    /// Gives the present game the right number of its round, where it has one of the `former` ones.
    pub(super) fn renumber(&mut self, now: Millis, former: &BTreeSet<u32>, round: Option<u32>) {
        let Self {
            world, play, beside, ..
        } = self;
        table::renumber(world, play, beside, now, former, round);
    }

    /// Tells the right names of a game that is not the present one.
    pub(super) fn put_table_right(&mut self, now: Millis, game: u32, table: &Table) {
        let corrected = table.corrected();
        self.play
            .out
            .emit(&self.world.settings, Some(game), now, None, corrected);
    }
}
