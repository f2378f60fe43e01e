//! The watcher of one board: wires the pure rooms together.
//!
//! It has three kinds of methods, as a protocol core without I/O does. Getters (`status`, `position`, ...)
//! give states. `handle_*` takes what happened and when: bytes, timeouts, commands of the arbiter. `poll_*`
//! gives what to do next. The shell calls `handle_*`, then drains `poll_event`, `poll_transmit` and
//! `poll_wish` until they are empty, and sleeps until `poll_timeout`.

mod arrays;
mod at_rest;
mod backlog;
mod clock;
pub mod command;
mod core;
mod ctx;
pub mod explain;
mod game;
mod gathers;
mod last_correction;
mod late;
mod midway;
mod not_now;
mod onboard_log;
mod outbox;
mod rules;
mod since;
mod standstill;
pub mod state;
mod table;
mod taken_at;
mod talk_time;
#[cfg(test)]
pub(crate) mod testing;
mod timing;
mod whole;
mod wire;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use crate::families::Protocol;
use crate::{
    dgt::CommandBytes,
    event::{Body, Event, notice},
    mate::Verdict,
    time::Millis,
};
pub use command::{Command, CommandError, Expected, Order, Reply, Report};
pub use core::past::Needed;
use core::past::needs;
pub use core::snapshot::Snapshot;
use core::{Core, view};
pub use explain::Account;
pub use gathers::MOST_MS as MOST_GATHERED_MS;
pub use not_now::NotNow;
use outbox::unix_ms;
pub use outbox::{Heard, MateQuestion};
pub use rules::Rules;
use standstill::Standstill;
pub use state::{
    BatteryView, BoardInfo, ClockView, GameView, HardwareView, Model, PositionView, StateSet, Status,
};
pub use table::Table;
use taken_at::TakenAt;
use wire::Wire;

/// Which way round the board lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrientationSetting {
    /// Found from the start position.
    #[default]
    Auto,
    /// The connector is at the a-file. The watcher reports an initial position the other way round as colours
    /// reversed (7.3).
    Normal,
    /// The board is turned by 180 degrees. The watcher reports an initial position the other way round here,
    /// too.
    Turned,
}

/// Which side of the clock is White's, seen from the clock's front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSideSetting {
    /// The watcher finds it: the side whose time runs when the game begins, checked against who moves.
    #[default]
    Auto,
    /// White's time is the left one.
    WhiteLeft,
    /// White's time is the right one.
    WhiteRight,
}

/// The settings of a watcher: its board and its event.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Name of the gateway, first part of event ids.
    pub gateway: String,
    /// The board's id.
    pub board: String,
    /// The protocol of the board.
    pub protocol: Protocol,
    /// For how many milliseconds the line is known to gather the board's bytes; 0 where that is not known.
    pub gathered_ms: u64,
    /// How many boards share the line; 0 where the board has it to itself.
    pub boards_on_line: u64,
    /// The rules of the event, by which the next game is judged.
    pub rules: Rules,
    /// Which way round the board lies.
    pub orientation: OrientationSetting,
    /// Which side of the clock is White's.
    pub clock_side: ClockSideSetting,
    /// Names for the PGN, White's and Black's, where they are known.
    pub players: [Option<String>; 2],
    /// Name of the event, where it is known.
    pub event: Option<String>,
    /// Number of the round, where it is known.
    pub round: Option<u32>,
    /// Unix time in milliseconds at the origin of `Millis`; none when the wall clock is unknown.
    pub epoch_ms: Option<i64>,
}

/// What the watcher wants the shell to do with the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkWish {
    /// The board fell silent: close the port and open it again.
    Reopen,
}

/// The watcher of one board.
#[derive(Debug)]
pub struct Watcher {
    wire: Wire,
    core: Core,
    /// When the snapshot was taken from which the watcher goes on, until the caller first gives the time.
    taken_at: Option<TakenAt>,
    /// The number of milliseconds by which the core's time is ahead of the caller's. Everything before a
    /// restart must be earlier than what comes after it, and messages that had to wait for a log get times of
    /// their own.
    before: u64,
    /// The last time that the caller gave.
    told: Millis,
    /// When the caller last stood still.
    standstill: Standstill,
    /// Messages about lost parts of the snapshot, until the caller first gives the time.
    lost: Vec<String>,
}

impl Watcher {
    /// A watcher that has seen nothing, or that goes on from `resume`.
    #[must_use]
    pub fn new(settings: Settings, resume: Option<Snapshot>) -> Self {
        Self {
            wire: Wire::new(&settings),
            taken_at: resume.as_ref().map(Snapshot::taken_at),
            core: Core::new(settings, resume.as_ref()),
            before: 0,
            told: Millis(0),
            standstill: Standstill::default(),
            lost: resume.map_or_else(Vec::new, |snapshot| snapshot.lost().to_vec()),
        }
    }

    /// A watcher of a board that is there no more: its game keeps its rules, and nobody is told that others wait.
    #[must_use]
    pub fn of_record(settings: Settings, snapshot: Snapshot) -> Self {
        let mut watcher = Self::new(settings, Some(snapshot));
        watcher.core.go_by_rules_of_game();
        watcher
    }

    /// The core's time at the caller's `now`, up to which the caller has had everything done that was due.
    fn time(&mut self, now: Millis) -> Millis {
        self.told = self.told.max(now);
        self.in_core(now)
    }

    /// The core's time at the caller's `now`. It goes on from the snapshot.
    fn in_core(&mut self, now: Millis) -> Millis {
        let taken_at = self.taken_at.take();
        let resumed = taken_at.is_some();
        if let Some(taken_at) = taken_at {
            let by_wall_ms = unix_ms(&self.core.world.settings, now);
            self.before = taken_at.goes_on(by_wall_ms).0.saturating_sub(now.0);
            self.core.play.out.before = self.before;
        }
        let now = now + self.before;
        for lost in std::mem::take(&mut self.lost) {
            self.core
                .emit(now, Body::notice(notice::SNAPSHOT_SET_ASIDE, lost));
        }
        if resumed {
            self.core.tell_rules_that_wait(now);
        }
        now
    }

    /// Sets the wall clock at the origin of `Millis`, for `time` of later events.
    pub fn set_epoch(&mut self, epoch_ms: Option<i64>) {
        self.core.world.settings.epoch_ms = epoch_ms;
    }

    /// Sets the players at the board from the next game on. A game of the same round that has begun gets corrected
    /// names; one of another round keeps its own.
    pub fn set_table(&mut self, now: Millis, table: Table) {
        self.seat(now, table, false);
    }

    /// The same by pairings, in which each board has one game in a round: players with exchanged colours are a
    /// correction, too, and no next game.
    pub fn pair(&mut self, now: Millis, table: Table) {
        self.seat(now, table, true);
    }

    /// The round has this number, and had the `former` ones by mistake: so has the present game.
    pub fn renumber(&mut self, now: Millis, former: &BTreeSet<u32>, round: Option<u32>) {
        let now = self.time(now);
        self.core.renumber(now, former, round);
    }

    /// An earlier game of the board, or one that was put aside, has these names, and not those with which it began.
    pub fn put_table_right(&mut self, now: Millis, game: u32, table: &Table) {
        let now = self.time(now);
        self.core.put_table_right(now, game, table);
    }

    fn seat(&mut self, now: Millis, table: Table, paired: bool) {
        let now = self.time(now);
        self.core.set_table(now, table, paired);
        self.ask_board(now);
    }

    /// Sets the rules from the next game on. A game that goes on keeps its own.
    pub fn set_rules(&mut self, now: Millis, rules: Rules) {
        let now = self.time(now);
        self.core.set_rules(now, rules);
    }

    /// The rules by which the present game is judged; between games, those of the next one.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        self.core.rules()
    }

    /// Another board may answer at the port, as where the machine was started since and its ports got their names anew. So the board
    /// identifies itself before its position is read, also where a game goes on.
    pub fn expect_another_board(&mut self) {
        self.core.contact.expect_another();
    }

    /// The link to the board is open on `port`.
    pub fn handle_link_up(&mut self, now: Millis, port: &str) {
        let now = self.time(now);
        self.wire.link_up(now);
        let core = &mut self.core;
        core.contact.link_up(&mut core.play.out.changed, port);
        // A game that goes on cannot wait for the greeting.
        if core.contact.take_succession(&core.play.phase) && self.wire.make_haste(now) {
            core.contact.expect_before_greeting();
        }
    }

    /// The link to the board is gone.
    pub fn handle_link_down(&mut self, now: Millis, reason: &str) {
        let now = self.release(now);
        self.wire.link_down(now);
        self.core.link_down(now, reason);
    }

    /// Bytes from the board, in any split.
    pub fn handle_bytes(&mut self, now: Millis, bytes: &[u8]) {
        let now = self.time(now);
        let ahead = self.wire.bytes(now, bytes, &mut self.core);
        self.before += ahead;
        self.ask_board(now + ahead);
    }

    /// A deadline of [`Self::poll_timeout`] has passed.
    pub fn handle_timeout(&mut self, now: Millis) {
        let now = self.time(now);
        let ahead = self.wire.handle_timeout(now, &mut self.core);
        self.before += ahead;
        self.ask_board(now + ahead);
    }

    /// Works off the held bytes before something else happens. Returns the core's time at the caller's `now`.
    fn release(&mut self, now: Millis) -> Millis {
        let now = self.time(now);
        let ahead = self.wire.release(&mut self.core);
        self.before += ahead;
        now + ahead
    }

    /// Works off the held bytes, because the caller ends and another will go on from the [`Self::snapshot`].
    pub fn handle_stop(&mut self, now: Millis) {
        self.release(now);
    }

    fn ask_board(&mut self, now: Millis) {
        if self.core.wants_sign() {
            self.wire.request_sign(now);
        }
        if self.core.take_dump_wanted() {
            self.wire.request_dump(now);
        }
        if self.core.take_log_wanted(now) {
            self.wire.request_event_log(now);
        }
    }

    /// Decides what is still open, as if the board stayed at rest, because no more will come (the end of a
    /// capture). Returns the time of the last decision.
    pub fn handle_end(&mut self, now: Millis) -> Millis {
        let now = self.release(now);
        self.core.finish(now) - self.before
    }

    /// Carries out a command of the arbiter, or refuses it with a reason.
    ///
    /// # Errors
    /// An error says why the command was refused. Nothing has changed then.
    pub fn handle_command(&mut self, now: Millis, order: impl Into<Order>) -> Result<Reply, CommandError> {
        let now = self.time(now);
        let reply = self.core.carry_out(now, order.into());
        self.ask_board(now);
        reply
    }

    /// The number of the last game of the board, 0 before the first.
    #[must_use]
    pub fn games(&self) -> u32 {
        self.core.play.games
    }

    /// The events of the journal that the caller has to give with `command` ([`Order::past`]), because the
    /// watcher does not keep them.
    #[must_use]
    pub fn needs(&self, command: &Command) -> Option<Needed> {
        needs(&self.core, command)
    }

    /// Gives a notice of the shell. It becomes a numbered event like all others.
    pub fn handle_notice(&mut self, now: Millis, code: &'static str, message: &str) {
        let now = self.time(now);
        self.core.emit(now, Body::notice(code, message));
    }

    /// The next question about a mate. [`Self::handle_verdict`] takes its answer.
    pub fn poll_question(&mut self) -> Option<MateQuestion> {
        self.core.play.out.questions.pop_front()
    }

    /// Takes the verdict on which the ruling on `irregularity` depends, and amends or confirms that ruling.
    /// It has no effect where the irregularity has ended.
    pub fn handle_verdict(&mut self, now: Millis, irregularity: &str, verdict: &Verdict) {
        let now = self.time(now);
        self.core.mate_answered(now, irregularity, verdict);
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.core.play.out.events.pop_front()
    }

    /// From now on, keeps with each event the hypotheses that the watcher weighed as it decided
    /// ([`Self::account_of`]).
    pub fn keep_accounts(&mut self) {
        self.core.play.out.accounts = Some(std::collections::VecDeque::new());
    }

    /// The same with all hypotheses, and not only the likeliest. A fit of the weights needs them.
    pub fn keep_whole_accounts(&mut self) {
        self.keep_accounts();
        self.core.play.out.whole_accounts = true;
    }

    /// The hypotheses behind event `seq`, if it is one of a game and [`Self::keep_accounts`] was called.
    /// Forgets those of earlier events.
    pub fn account_of(&mut self, seq: u64) -> Option<Account> {
        let accounts = self.core.play.out.accounts.as_mut()?;
        while accounts.front().is_some_and(|account| account.seq < Some(seq)) {
            accounts.pop_front();
        }
        accounts.pop_front_if(|account| account.seq == Some(seq))
    }

    /// The hypotheses at `now`; none where there is no game. No later call may have an earlier time.
    #[must_use]
    pub fn account(&self, now: Millis) -> Option<Account> {
        view::account(&self.core, now + self.before)
    }

    /// The next command to send to the board, never split.
    pub fn poll_transmit(&mut self) -> Option<CommandBytes> {
        self.wire.poll_transmit()
    }

    /// When to call [`Self::handle_timeout`] at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Millis> {
        if !self.lost.is_empty() {
            return Some(Millis(0));
        }
        self.due()
    }

    /// When something is due. Nothing is before what the caller told last, nor before the end of a standstill.
    fn due(&self) -> Option<Millis> {
        let due = self.wire.poll_timeout(self.core.deadline());
        due.map(|due| self.standstill.done_at(due - self.before).max(self.told))
    }

    /// On a line that tells its own times: with `hold`, it still tells what happened before the board can have heard what was asked.
    /// The conversation stands still until then, and no answer is overdue. The recogniser goes on.
    pub fn hold_talk(&mut self, now: Millis, hold: bool) {
        // What is due before is still to be done.
        let now = self.in_core(now);
        self.wire.hold_talk(now, hold);
    }

    /// What the shell should do with the link.
    pub fn poll_wish(&mut self) -> Option<LinkWish> {
        self.wire.poll_wish()
    }

    /// The weightiest input since the last call, of a game or of one that may begin. A caller that wants to go on from there after a
    /// crash takes a [`Self::snapshot`].
    pub fn take_heard(&mut self) -> Option<Heard> {
        self.core.play.out.heard.take()
    }

    /// Which states have changed since the last call.
    pub fn take_changed(&mut self) -> StateSet {
        std::mem::take(&mut self.core.play.out.changed)
    }

    /// The state that must survive a restart.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        // Until the first time is given, that of the snapshot before goes on.
        let by_wall_ms = match self.taken_at {
            Some(taken_at) => taken_at.by_wall_ms,
            None => self
                .core
                .play
                .out
                .wall_ms(&self.core.world.settings, self.core.now),
        };
        Snapshot::of(&self.core, by_wall_ms)
    }

    /// Whether the board answers.
    #[must_use]
    pub fn status(&self) -> Status {
        view::status(&self.core)
    }

    /// The board itself, as far as it is known.
    #[must_use]
    pub fn info(&self) -> BoardInfo {
        view::info(&self.core)
    }

    /// Its hardware, as far as it is known.
    #[must_use]
    pub fn hardware(&self) -> HardwareView {
        view::hardware(&self.core)
    }

    /// The position on the board now.
    #[must_use]
    pub fn position(&self) -> PositionView {
        view::position(&self.core)
    }

    /// The game as it is recorded.
    #[must_use]
    pub fn game(&self) -> GameView {
        view::game(&self.core)
    }

    /// The clock as it stands.
    #[must_use]
    pub fn clock(&self) -> ClockView {
        ClockView {
            clock: self.core.world.clock.state(),
        }
    }

    /// The game as PGN with `%clk`; none before the first game.
    #[must_use]
    pub fn pgn(&self) -> Option<String> {
        view::pgn(&self.core)
    }
}
