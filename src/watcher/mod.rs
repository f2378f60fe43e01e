//! The watcher of one board: wires the pure rooms together.
//!
//! Four kinds of methods, as in a protocol core without I/O: getters (`status`, `position`, ...);
//! `handle_*`, something happened at a time; commands from the arbiter; `poll_*`, what to do next.
//! The shell feeds it, then drains `poll_event`, `poll_transmit` and `poll_wish` until they are
//! empty, then sleeps until `poll_timeout`.

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
mod late;
mod midway;
mod not_now;
mod onboard_log;
mod outbox;
pub mod state;
mod table;
#[cfg(test)]
mod testing;
mod whole;
mod wire;

use serde::{Deserialize, Serialize};

pub use crate::families::Protocol;
use crate::{
    dgt::CommandBytes,
    event::{Body, Event, notice},
    game::Period,
    laws::{Edition, Options, Supervision, TimeControl},
    mate::Verdict,
    time::Millis,
};
pub use command::{Command, CommandError, Order, Reply, Report};
use core::Core;
pub use core::past::Needed;
pub use core::snapshot::Snapshot;
pub use explain::Account;
pub use gathers::MOST_MS as MOST_GATHERED_MS;
pub use not_now::NotNow;
pub use outbox::{Heard, MateQuestion};
pub use state::{
    BatteryView, BoardInfo, ClockView, GameView, HardwareView, Model, PositionView, StateSet, Status,
};
pub use table::Table;
use wire::Wire;

/// Which way round the board lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrientationSetting {
    /// Found from the start position.
    #[default]
    Auto,
    /// The connector is at the a-file. An array the other way round is told as colours reversed (7.3).
    Normal,
    /// Turned by 180 degrees; the same.
    Turned,
}

/// Which side of the clock is White's, seen from the clock's front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSideSetting {
    /// Found out: the side whose time runs when the game begins, checked against who moves.
    #[default]
    Auto,
    /// White's time is the left one.
    WhiteLeft,
    /// White's time is the right one.
    WhiteRight,
}

/// What a watcher is told of its board and event.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Name of the gateway, first part of event ids.
    pub gateway: String,
    /// The board's id.
    pub board: String,
    /// What the board speaks.
    pub protocol: Protocol,
    /// For how many milliseconds the line is known to gather what the board says; 0 where that is not known.
    pub gathered_ms: u64,
    /// Edition of the Laws.
    pub laws: Edition,
    /// Time control of the event.
    pub time_control: TimeControl,
    /// Supervision of the event.
    pub supervision: Supervision,
    /// Which way round the board lies.
    pub orientation: OrientationSetting,
    /// Which side of the clock is White's.
    pub clock_side: ClockSideSetting,
    /// Periods of the time control, if known.
    pub periods: Vec<Period>,
    /// How contested points of the Laws are read.
    pub contested: Options,
    /// Names for the PGN, White's and Black's, where they are known.
    pub players: [Option<String>; 2],
    /// Name of the event, where it is known.
    pub event: Option<String>,
    /// Number of the round, where it is known.
    pub round: Option<u32>,
    /// Unix time in milliseconds at the origin of `Millis`; none when the wall clock is unknown.
    pub epoch_ms: Option<i64>,
}

/// What the watcher wishes of the link.
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
    /// When the snapshot was taken that it goes on from, until the caller tells the time.
    taken_at: Option<u64>,
    /// By so many milliseconds the core's time is ahead of the caller's: what was before a restart is
    /// earlier than all that comes, and what had to wait for the line is given time.
    before: u64,
    /// What the snapshot could not tell any more, until the caller tells the time.
    lost: Vec<String>,
}

impl Watcher {
    /// A watcher that has seen nothing, or that goes on from `resume`.
    #[must_use]
    pub fn new(settings: Settings, resume: Option<Snapshot>) -> Self {
        Self {
            wire: Wire::new(settings.protocol, settings.gathered_ms),
            taken_at: resume.as_ref().map(Snapshot::taken_at),
            core: Core::new(settings, resume.as_ref()),
            before: 0,
            lost: resume.map_or_else(Vec::new, |snapshot| snapshot.lost().to_vec()),
        }
    }

    /// The core's time at the caller's `now`. It goes on from the snapshot: how long the daemon was away
    /// does not count as stillness.
    fn time(&mut self, now: Millis) -> Millis {
        if let Some(taken_at) = self.taken_at.take() {
            self.before = taken_at.saturating_sub(now.0);
            self.core.out.before = self.before;
        }
        let now = now + self.before;
        for lost in std::mem::take(&mut self.lost) {
            self.core
                .emit(now, Body::notice(notice::SNAPSHOT_SET_ASIDE, lost));
        }
        now
    }

    /// Sets the wall clock at the origin of `Millis`, for `time` of later events.
    pub fn set_epoch(&mut self, epoch_ms: Option<i64>) {
        self.core.settings.epoch_ms = epoch_ms;
    }

    /// Tells who sits at the board from the next game on; a game that has begun keeps its names.
    pub fn set_table(&mut self, now: Millis, table: Table) {
        let now = self.time(now);
        self.core.set_table(now, table);
        self.ask_board(now);
    }

    /// The link to the board is open on `port`.
    pub fn handle_link_up(&mut self, now: Millis, port: &str) {
        let now = self.time(now);
        self.wire.link_up(now);
        self.core.link_up(port);
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

    /// The core's time at the caller's `now`, after what came and was held: something else happens.
    fn release(&mut self, now: Millis) -> Millis {
        let now = self.time(now);
        let ahead = self.wire.release(&mut self.core);
        self.before += ahead;
        now + ahead
    }

    /// The caller ends, and another will go on from the [`Self::snapshot`]: what came and was held is heard.
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

    /// No more will come (the end of a capture): what is still open is decided as stillness would.
    /// Returns the time at which the last decision was made.
    pub fn handle_end(&mut self, now: Millis) -> Millis {
        let now = self.release(now);
        self.core.finish(now) - self.before
    }

    /// A command of the arbiter. Refused with a reason when it makes no sense.
    ///
    /// # Errors
    /// Says why the command was refused; nothing has changed then.
    pub fn handle_command(&mut self, now: Millis, order: impl Into<Order>) -> Result<Reply, CommandError> {
        let now = self.time(now);
        let reply = self.core.carry_out(now, order.into());
        self.ask_board(now);
        reply
    }

    /// What of the journal the caller is to give with `command` ([`Order::past`]): it speaks of what the watcher does
    /// not keep.
    #[must_use]
    pub fn needs(&self, command: &Command) -> Option<Needed> {
        self.core.needs(command)
    }

    /// The shell has something to say to the operator: it becomes a numbered event like all others.
    pub fn handle_notice(&mut self, now: Millis, code: &'static str, message: &str) {
        let now = self.time(now);
        self.core.emit(now, Body::notice(code, message));
    }

    /// The next question about a mate: where it goes on is decided by [`Self::handle_verdict`].
    pub fn poll_question(&mut self) -> Option<MateQuestion> {
        self.core.out.questions.pop_front()
    }

    /// The verdict on the question that the ruling on `irregularity` depends on: the ruling is
    /// amended, or confirmed. Without effect where the irregularity is over.
    pub fn handle_verdict(&mut self, now: Millis, irregularity: &str, verdict: &Verdict) {
        let now = self.time(now);
        self.core.mate_answered(now, irregularity, verdict);
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.core.out.events.pop_front()
    }

    /// Keeps with each event the explanations that were weighed when it was decided ([`Self::account_of`]).
    pub fn keep_accounts(&mut self) {
        self.core.out.accounts = Some(std::collections::VecDeque::new());
    }

    /// The same with all explanations, not only the likeliest: what a fit of the weights needs.
    pub fn keep_whole_accounts(&mut self) {
        self.keep_accounts();
        self.core.out.whole_accounts = true;
    }

    /// The explanations behind event `seq`, if it is one of a game and [`Self::keep_accounts`] was called. Those of
    /// earlier events are forgotten.
    pub fn account_of(&mut self, seq: u64) -> Option<Account> {
        let accounts = self.core.out.accounts.as_mut()?;
        while accounts.front().is_some_and(|account| account.seq < Some(seq)) {
            accounts.pop_front();
        }
        accounts.pop_front_if(|account| account.seq == Some(seq))
    }

    /// The explanations that are weighed at `now`, which no later call may precede; none where no game goes on.
    #[must_use]
    pub fn account(&self, now: Millis) -> Option<Account> {
        self.core.account(now + self.before)
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
        let due = self.wire.poll_timeout(self.core.deadline());
        due.map(|due| due - self.before)
    }

    /// What the shell should do with the link.
    pub fn poll_wish(&mut self) -> Option<LinkWish> {
        self.wire.poll_wish()
    }

    /// The weightiest of what was heard in a game since the last call: who wants to go on from there after a crash takes a
    /// [`Self::snapshot`].
    pub fn take_heard(&mut self) -> Option<Heard> {
        self.core.out.heard.take()
    }

    /// Which states have changed since the last call.
    pub fn take_changed(&mut self) -> StateSet {
        std::mem::take(&mut self.core.out.changed)
    }

    /// What must survive a restart.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.core.snapshot()
    }

    /// Whether the board answers.
    #[must_use]
    pub fn status(&self) -> Status {
        self.core.status()
    }

    /// What is known of the board itself.
    #[must_use]
    pub fn info(&self) -> BoardInfo {
        self.core.info()
    }

    /// What is known of its hardware.
    #[must_use]
    pub fn hardware(&self) -> HardwareView {
        self.core.hardware_view()
    }

    /// What stands on the board now.
    #[must_use]
    pub fn position(&self) -> PositionView {
        self.core.position()
    }

    /// The game as it is recorded.
    #[must_use]
    pub fn game(&self) -> GameView {
        self.core.game_view()
    }

    /// The clock as it stands.
    #[must_use]
    pub fn clock(&self) -> ClockView {
        ClockView {
            clock: self.core.clock.state(),
        }
    }

    /// The game as PGN with `%clk`; none before the first game.
    #[must_use]
    pub fn pgn(&self) -> Option<String> {
        self.core.pgn()
    }
}
