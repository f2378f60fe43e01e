//! Watchers and simulated boards that talk to each other in virtual time: over slow lines, with cables that
//! are pulled and daemons that are killed. A rehearsal is no daemon: where something cannot be, it panics.

pub mod kinds;
pub mod line;
pub mod reliability;
pub mod verdict;

use std::collections::VecDeque;

use fastrand::Rng;

use super::{
    mess::SimulatedGame,
    player::{Delivery, Output, Pace, PlayedBoard},
};
use crate::{
    capture::{Act, Capture, Record, replay::settings_of},
    dgt::Command,
    event::Event,
    families::Protocol,
    time::Millis,
    watcher::{Account, Settings, Snapshot, Watcher},
};

/// What becomes of the board's event log on its way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFate {
    /// The board tells it, and it arrives.
    Told,
    /// The board does not know the question.
    Unanswered,
    /// Some bytes are turned into other ones.
    Garbled,
    /// The line breaks off in the middle.
    Short,
}

/// What came of a rehearsal.
#[derive(Debug, Default)]
pub struct Rehearsed {
    /// The events of the watcher.
    pub events: Vec<Event>,
    /// All that went over the line, as a recorder would have it.
    pub capture: Capture,
    /// The size in bytes of the snapshot that a restart would need.
    pub snapshot: usize,
    /// What the watcher weighed for each event, if [`Rehearsal::weighed`] asked for it.
    pub accounts: Vec<Account>,
    /// What the watcher weighed at moments without an event, if [`Rehearsal::weighed`] asked for it.
    pub between: Vec<Account>,
    /// How often the board was asked for its log.
    pub asked: usize,
    /// When the watcher wished to open the link again because the board did not answer.
    pub given_up: Vec<Millis>,
}

/// How often a rehearsal looks at what the watcher weighs, in milliseconds. It is out of step with clocks and
/// scans.
const LOOK_MS: u64 = 3371;
/// A watcher with more events than this in one game never stops.
const MOST_EVENTS: usize = 5000;

/// One byte at 9600 baud, 8N1, in microseconds.
const BYTE_US: u64 = 1042;
/// A byte at 38400 baud, in microseconds.
const FAST_BYTE_US: u64 = 260;
/// A byte by USB, in microseconds.
const USB_BYTE_US: u64 = 10;

/// The wire from the board to the host.
#[derive(Debug)]
struct Wire {
    /// Bytes on their way, and when they arrive.
    queue: VecDeque<(Millis, Vec<u8>)>,
    /// When the wire is free again, in microseconds.
    free: u64,
    /// What a byte takes, in microseconds.
    byte: u64,
}

impl Wire {
    fn send(&mut self, now: Millis, bytes: Vec<u8>) {
        self.free = self.free.max(now.0 * 1000) + bytes.len() as u64 * self.byte;
        self.queue.push_back((Millis(self.free.div_ceil(1000)), bytes));
    }

    fn next(&self) -> Option<Millis> {
        self.queue.front().map(|(at, _)| *at)
    }
}

/// What a daemon writes down of its watcher.
#[derive(Debug, Default)]
struct Journal {
    kept: Option<Snapshot>,
    /// When it writes down what it heard.
    due: Option<Millis>,
}

impl Journal {
    fn keep(&mut self, watcher: &Watcher) {
        self.kept = Some(watcher.snapshot());
        self.due = None;
    }

    /// Writes down a press at once, and updates of squares soon, for the board does not tell them again.
    fn keep_heard(&mut self, now: Millis, watcher: &mut Watcher) {
        let heard = watcher.take_heard().map(|heard| heard.due(now));
        self.due = self.due.into_iter().chain(heard).min();
        if self.due.is_some_and(|due| due <= now) {
            self.keep(watcher);
        }
    }

    /// What a daemon that is started anew finds.
    fn read(&mut self) -> Option<Snapshot> {
        self.due = None;
        self.kept.as_ref().map(through_a_file)
    }
}

/// A watcher and its board, in virtual time.
#[derive(Debug)]
pub struct Rehearsal {
    /// None while the daemon is down.
    watcher: Option<Watcher>,
    settings: Settings,
    player: PlayedBoard,
    wire: Wire,
    is_up: bool,
    now: Millis,
    /// When the daemon was started, in milliseconds. Its own time begins there.
    started: u64,
    log: LogFate,
    rng: Rng,
    /// What the daemon's journal has, if it keeps one ([`Self::with_journal`]).
    journal: Option<Journal>,
    /// When the rehearsal next looks at what the watcher weighs, if it looks at all.
    looks: Option<Millis>,
    /// When the host has heard the whole game.
    over: Option<Millis>,
    told: Rehearsed,
}

impl Rehearsal {
    /// A rehearsal with a daemon that has `settings` and runs from the beginning.
    #[must_use]
    pub fn new(mut player: PlayedBoard, settings: Settings) -> Self {
        player.handle_connect(Millis(0));
        let byte = match settings.protocol {
            Protocol::Dgt => BYTE_US,
            _ => FAST_BYTE_US,
        };
        let mut rehearsal = Self {
            watcher: None,
            settings,
            player,
            wire: Wire {
                queue: VecDeque::new(),
                free: 0,
                byte,
            },
            is_up: true,
            now: Millis(0),
            started: 0,
            log: LogFate::Told,
            rng: Rng::with_seed(0),
            journal: None,
            looks: None,
            over: None,
            told: Rehearsed::default(),
        };
        rehearsal.start(None);
        rehearsal
    }

    /// A rehearsal of a made-up game on a board that speaks `protocol`.
    #[must_use]
    pub fn of(protocol: Protocol, game: &SimulatedGame) -> Self {
        let mut settings = settings_of(&game.header, "1");
        settings.protocol = protocol;
        Self::new(game.player(protocol.family(), 1, WITHOUT_WAITING), settings)
    }

    /// This rehearsal with a board at a USB port.
    #[must_use]
    pub fn by_usb(mut self) -> Self {
        self.wire.byte = USB_BYTE_US;
        self
    }

    /// This rehearsal with `log` as the fate of the event log. `seed` decides how it is garbled.
    #[must_use]
    pub fn with_log(mut self, log: LogFate, seed: u64) -> Self {
        (self.log, self.rng) = (log, Rng::with_seed(seed));
        self
    }

    /// This rehearsal with a daemon that keeps a snapshot with each event and of what it heard, and goes on from it
    /// when it was killed.
    #[must_use]
    pub fn with_journal(mut self) -> Self {
        self.journal = Some(Journal::default());
        if let Some(watcher) = &mut self.watcher {
            watcher.set_epoch(Some(0));
        }
        self
    }

    /// This rehearsal, with a record of what the watcher weighs.
    #[must_use]
    pub fn weighed(mut self) -> Self {
        self.looks = Some(Millis(0));
        self.watcher.iter_mut().for_each(Watcher::keep_whole_accounts);
        self
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Runs until `end`.
    pub fn run_until(&mut self, end: Millis) {
        self.run(|_| end);
        self.now = end;
    }

    /// Runs until the host has heard the whole game, but not beyond `latest`.
    pub fn run_out(&mut self, latest: Millis) {
        self.run(|rehearsal| rehearsal.over.map_or(latest, |over| over.min(latest)));
    }

    fn run(&mut self, end: impl Fn(&Self) -> Millis) {
        loop {
            self.settle();
            let due = [
                self.wire.next(),
                self.next_of_watcher(),
                self.player.poll_timeout(),
                self.journal.as_ref().and_then(|journal| journal.due),
            ];
            match due.into_iter().flatten().min().filter(|due| *due <= end(self)) {
                Some(due) => self.step(self.now.max(due)),
                None => break,
            }
        }
    }

    /// The daemon ends, and another one goes on at `back` from what it has kept, if it keeps a journal.
    pub fn restart(&mut self, back: Millis) {
        let own = self.own();
        self.watcher
            .iter_mut()
            .for_each(|watcher| watcher.handle_stop(own));
        self.settle();
        if let (Some(journal), Some(watcher)) = (&mut self.journal, &self.watcher) {
            journal.keep(watcher);
        }
        self.kill(back);
    }

    /// Kills the daemon and starts it again at `back`. It then knows what it kept with its last event, and
    /// nothing else.
    pub fn kill(&mut self, back: Millis) {
        self.watcher = None;
        let kept = self.journal.as_mut().and_then(Journal::read);
        self.wire.queue.clear();
        self.player.handle_hang_up(self.now);
        self.run_until(back);
        self.started = self.now.0;
        self.start(kept);
    }

    /// Ends the rehearsal and returns what came of it.
    #[must_use]
    pub fn end(mut self) -> Rehearsed {
        let own = self.own();
        self.watcher.iter_mut().for_each(|watcher| {
            watcher.handle_end(own);
        });
        self.settle();
        self.record(Act::ToBoard(Command::Reset.bytes().to_vec()));
        self.told.snapshot = self
            .watcher
            .as_ref()
            .map_or(0, |watcher| as_text(&watcher.snapshot()).len());
        self.told
    }

    fn start(&mut self, kept: Option<Snapshot>) {
        let mut watcher = Watcher::new(self.settings.clone(), kept);
        if self.journal.is_some() {
            // A daemon that goes on knows by the wall clock for how long it was away.
            watcher.set_epoch(i64::try_from(self.started).ok());
        }
        watcher.handle_link_up(Millis(0), "rehearsal");
        self.watcher = Some(watcher);
    }

    /// The daemon's own time.
    fn own(&self) -> Millis {
        self.now - self.started
    }

    fn next_of_watcher(&self) -> Option<Millis> {
        let due = self.watcher.as_ref()?.poll_timeout()?;
        Some(due + self.started)
    }

    fn step(&mut self, now: Millis) {
        if let (Some(looks), Some(watcher)) = (&mut self.looks, &self.watcher)
            && *looks <= now
        {
            self.told.between.extend(watcher.account(now));
            *looks = now + LOOK_MS;
        }
        self.now = now;
        let own = self.own();
        if let Some((_, bytes)) = self.wire.queue.pop_front_if(|(at, _)| *at <= now) {
            if let Some(watcher) = &mut self.watcher {
                watcher.handle_bytes(own, &bytes);
            }
            self.record(Act::FromBoard(bytes));
        }
        if let Some(watcher) = &mut self.watcher
            && watcher.poll_timeout().is_some_and(|due| due <= own)
        {
            watcher.handle_timeout(own);
        }
        if self.player.poll_timeout().is_some_and(|due| due <= now) {
            self.player.handle_timeout(now);
        }
    }

    fn record(&mut self, act: Act) {
        self.told.capture.records.push(Record { at: self.now, act });
    }

    /// Passes on what watcher and board say until neither has more to say.
    fn settle(&mut self) {
        loop {
            if let Some(command) = self.watcher.as_mut().and_then(Watcher::poll_transmit) {
                self.ask(command.to_vec());
            } else if let Some(output) = self.player.poll_output() {
                self.carry_out(output);
            } else if self.watcher.as_mut().and_then(Watcher::poll_wish).is_some() {
                self.told.given_up.push(self.now);
                self.link(false);
                self.link(true);
            } else {
                break;
            }
        }
        let Some(watcher) = &mut self.watcher else { return };
        while let Some(mut event) = watcher.poll_event() {
            if self.looks.is_some() {
                self.told.accounts.extend(watcher.account_of(event.seq));
            }
            if let Some(journal) = &mut self.journal {
                journal.keep(watcher);
            }
            event.t += self.started as f64 / 1000.0;
            self.told.events.push(event);
        }
        if let Some(journal) = &mut self.journal {
            journal.keep_heard(self.now, watcher);
        }
        assert!(
            self.told.events.len() < MOST_EVENTS,
            "the watcher never stops reporting events"
        );
    }

    /// The host says `bytes`.
    fn ask(&mut self, bytes: Vec<u8>) {
        let for_log = *bytes == *Command::EventLog.bytes();
        self.told.asked += usize::from(for_log);
        if self.is_up && !(for_log && self.log == LogFate::Unanswered) {
            self.player.handle_bytes(self.now, &bytes);
            self.record(Act::ToBoard(bytes));
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Send(mut bytes) if self.is_up && self.watcher.is_some() => {
                self.harm(&mut bytes);
                self.wire.send(self.now, bytes);
            }
            Output::Send(_) => {}
            Output::Over => self.over = Some(self.now.max(Millis(self.wire.free.div_ceil(1000)))),
            Output::Unplug => self.link(false),
            Output::Plug => self.link(true),
        }
    }

    fn link(&mut self, is_up: bool) {
        self.is_up = is_up;
        self.wire.queue.clear();
        self.wire.free = 0;
        let own = self.own();
        match &mut self.watcher {
            Some(watcher) if is_up => watcher.handle_link_up(own, "rehearsal"),
            Some(watcher) => watcher.handle_link_down(own, "the cable is out"),
            None => {}
        }
        self.record(if is_up { Act::LinkUp } else { Act::LinkDown });
    }

    /// Does to an answer with the event log what its fate says.
    fn harm(&mut self, bytes: &mut Vec<u8>) {
        let log = bytes.iter().position(|byte| *byte == EVENT_LOG);
        match (log, self.log) {
            (None, _) | (_, LogFate::Told | LogFate::Unanswered) => {}
            (Some(start), LogFate::Garbled) => {
                for _ in 0..40 {
                    let place = self.rng.usize(start + 3..bytes.len());
                    bytes[place] = self.rng.u8(..128);
                }
            }
            (Some(start), LogFate::Short) => bytes.truncate((start + bytes.len()) / 2),
        }
    }
}

/// The pace of a game that goes on whether a host listens or not.
pub const WITHOUT_WAITING: Pace = Pace {
    speed: 1.0,
    wait: false,
};

/// The first byte of a frame with the event log.
const EVENT_LOG: u8 = 0x8f;

/// The snapshot after a journal has written and read it.
fn through_a_file(snapshot: &Snapshot) -> Snapshot {
    serde_json::from_str(&as_text(snapshot)).expect("a snapshot that was written can be read")
}

fn as_text(snapshot: &Snapshot) -> String {
    serde_json::to_string(snapshot).expect("a snapshot can be written")
}

/// Lets a watcher follow `game`.
#[must_use]
pub fn rehearse(game: &SimulatedGame) -> Rehearsed {
    rehearse_on(Protocol::Dgt, game)
}

/// Lets a watcher follow `game` on a board that speaks `protocol`.
#[must_use]
pub fn rehearse_on(protocol: Protocol, game: &SimulatedGame) -> Rehearsed {
    whole(Rehearsal::of(protocol, game), game)
}

/// Lets a watcher follow `game`, with a record of what it weighed.
#[must_use]
pub fn rehearse_and_weigh(game: &SimulatedGame) -> Rehearsed {
    whole(Rehearsal::of(Protocol::Dgt, game).weighed(), game)
}

fn whole(mut rehearsal: Rehearsal, game: &SimulatedGame) -> Rehearsed {
    rehearsal.told.capture.header = game.header.clone();
    rehearsal.run_until(game.cues.last().map_or(Millis(0), |cue| cue.record.at));
    let told = rehearsal.end();
    let mut given_up = told.given_up.iter().filter(|at| !is_held_back(game, **at));
    assert_eq!(
        given_up.next(),
        None,
        "the board answers, and the watcher took it for one that does not"
    );
    told
}

/// What was held back has come over the wire so long after its release.
const ARRIVES_MS: u64 = 1000;

/// True where the line holds back at `at` what the board says.
fn is_held_back(game: &SimulatedGame, at: Millis) -> bool {
    let before = game
        .cues
        .iter()
        .take_while(|cue| cue.record.at + ARRIVES_MS <= at);
    let turns = before
        .map(|cue| cue.way)
        .filter(|way| matches!(way, Delivery::Hold | Delivery::Release));
    turns.last() == Some(Delivery::Hold)
}
