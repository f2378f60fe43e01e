//! What a daemon that is struck now and then could hear of an offence: by the times at which the board did it and was asked, not by
//! how long a start takes as a rule.

use std::{
    ops::RangeInclusive,
    sync::{Arc, Mutex},
};

use dgt2mqtt::{
    capture::Capture,
    dgt::{Command, HostDecoder, HostWord},
    sim::{player::Output, serve::Device},
    time::Millis,
    watcher::Heard,
};
use serde_json::Value;

use super::play::accusations;
use crate::wire::{changes, presses};

/// What was sent so many milliseconds before a daemon ended may not have come to it.
const ON_THE_WAY_MS: u64 = 50;

/// What a host asks that needs to know a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Pieces,
    /// To be told of changes, or over a line to be told of those since it asked last.
    Changes,
    Clock,
    Other,
    /// To be quiet.
    Quiet,
    HungUp,
}

impl Asked {
    fn of(word: HostWord) -> Self {
        match word {
            HostWord::Command(Command::Dump) | HostWord::Bus([0x82, ..]) => Self::Pieces,
            HostWord::Command(Command::UpdateNice) | HostWord::Bus([0x83 | 0x84, ..]) => Self::Changes,
            HostWord::Command(Command::Clock) | HostWord::Bus([0x81, ..]) => Self::Clock,
            HostWord::Command(Command::Reset) => Self::Quiet,
            _ => Self::Other,
        }
    }
}

/// When a board was at work, and what it was asked.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// What was due by then had happened on the board.
    at_work: Vec<Millis>,
    asked: Vec<(Millis, Asked)>,
}

pub(super) type SharedLog = Arc<Mutex<Log>>;

/// A board, or a line of boards, whose host is overheard.
#[derive(Debug)]
pub(super) struct Overheard<D> {
    device: D,
    host: HostDecoder,
    log: SharedLog,
}

impl<D> Overheard<D> {
    pub(super) fn new(device: D, log: &SharedLog) -> Self {
        Self {
            device,
            host: HostDecoder::new(),
            log: log.clone(),
        }
    }
}

impl<D: Device> Device for Overheard<D> {
    fn handle_bytes(&mut self, now: Millis, bytes: &[u8]) {
        let mut log = self.log.lock().unwrap();
        log.at_work.push(now);
        self.host
            .push(now, bytes, &mut |word| log.asked.push((now, Asked::of(word))));
        drop(log);
        self.device.handle_bytes(now, bytes);
    }

    fn handle_hang_up(&mut self, now: Millis) {
        self.host = HostDecoder::new();
        self.log.lock().unwrap().asked.push((now, Asked::HungUp));
        self.device.handle_hang_up(now);
    }

    fn handle_timeout(&mut self, now: Millis) {
        self.log.lock().unwrap().at_work.push(now);
        self.device.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Millis> {
        self.device.poll_timeout()
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.device.poll_output()
    }
}

impl Log {
    /// When a daemon that came after the one that was struck at `begun` and was gone at `gone` had asked for all that it needs to
    /// follow the game.
    fn listens_again(&self, begun: Millis, gone: Millis) -> Millis {
        let mut seen = Vec::new();
        for (at, asked) in self.asked.iter().filter(|(at, _)| *at >= begun) {
            match asked {
                Asked::HungUp | Asked::Quiet => seen.clear(),
                asked => seen.push(*asked),
            }
            let needed = [Asked::Pieces, Asked::Changes, Asked::Clock];
            if *at >= gone && needed.iter().all(|one| seen.contains(one)) {
                return *at;
            }
        }
        Millis(u64::MAX)
    }

    /// When a board of a line was first asked for changes, from an instant on.
    fn asked_for_changes(&self, from: Millis) -> Millis {
        let mut asked = self.asked.iter();
        let next = asked.find(|(at, asked)| *at >= from && *asked == Asked::Changes);
        next.map_or(Millis(u64::MAX), |(at, _)| *at)
    }

    /// When something that the capture has at `at` happened on the board.
    fn happened(&self, at: Millis) -> Millis {
        let ran = self.at_work.iter().find(|ran| **ran >= at);
        ran.copied().unwrap_or(Millis(u64::MAX))
    }

    /// When a board of a line had told of it: it was asked, and then the host went on to the next question.
    fn told_over_line(&self, happened: Millis, what: Asked) -> Millis {
        let mut asked = self.asked.iter().skip_while(|(at, _)| *at < happened);
        let is_asked = asked.any(|(_, asked)| *asked == what);
        let next = asked.next().filter(|_| is_asked);
        next.map_or(Millis(u64::MAX), |(at, _)| *at)
    }
}

/// A time in which something of an offence was not heard.
#[derive(Clone, Debug)]
pub(super) enum Away {
    /// What came to the daemon then is lost.
    Deaf(RangeInclusive<Millis>),
    /// An act that goes on over that instant is told in one with what came before.
    Across(Millis),
    /// The board keeps its changes, and nobody sees a press: the clock tells only how it stands when somebody asks again.
    NoPress(RangeInclusive<Millis>),
}

impl Away {
    /// A daemon that was killed, or told to end, from `begun` on, and was gone at `gone`. What one that is killed heard last is not on
    /// the disk.
    pub(super) fn struck(log: &SharedLog, begun: Millis, gone: Millis, is_killed: bool) -> Self {
        let unwritten = if is_killed { Heard::UPDATES_MS } else { 0 };
        let back = log.lock().unwrap().listens_again(begun, gone);
        Self::Deaf(begun - ON_THE_WAY_MS - unwritten..=back)
    }

    /// A daemon that did not run between these instants, and asks a line of boards. What a board of its own says waits for the daemon.
    pub(super) fn suspended(log: &SharedLog, begun: Millis, back: Millis) -> [Self; 3] {
        let asked = log.lock().unwrap().asked_for_changes(back);
        [
            Self::Across(begun),
            Self::Across(asked),
            Self::NoPress(begun..=back),
        ]
    }
}

/// What `replay` accuses somebody of.
#[derive(Clone, Debug)]
pub(super) struct Act {
    pub(super) name: String,
    /// When each change of the board and the press happened, and when the daemon had been told, if one listened.
    told: Vec<RangeInclusive<Millis>>,
    pressed: Millis,
    away: Vec<Away>,
}

impl Act {
    /// True where each change of the board from the press before, and the press, came to a daemon that kept it.
    pub(super) fn is_heard(&self) -> bool {
        let begun = self.told.iter().map(|told| *told.start()).min();
        let done = self.told.iter().map(|told| *told.start()).max();
        self.away.iter().all(|away| match away {
            Away::Deaf(deaf) => {
                let mut told = self.told.iter();
                told.all(|told| told.end() < deaf.start() || deaf.end() < told.start())
            }
            Away::Across(instant) => done < Some(*instant) || Some(*instant) < begun,
            Away::NoPress(suspended) => !suspended.contains(&self.pressed),
        })
    }

    /// What was done when, and when nobody listened.
    pub(super) fn account(&self) -> String {
        let Self { name, told, away, .. } = self;
        format!("{name}, done and told at {told:?}, of {away:?}")
    }
}

/// What `expected` accuses anybody of.
pub(super) fn acts(
    capture: &Capture,
    expected: &[Value],
    log: &SharedLog,
    over_line: bool,
    away: &[Away],
) -> Vec<Act> {
    let log = log.lock().unwrap();
    let presses = presses(capture);
    let ms = |seconds: &Value| seconds.as_f64().map(|seconds| (seconds * 1000.0).round() as u64);
    let accused = expected
        .iter()
        .filter(|event| !accusations(std::slice::from_ref(event)).is_empty());
    let act = |event: &Value| {
        let said = ms(&event["t"]).unwrap();
        let at = ms(&event["at"]).unwrap_or(said);
        let pressed = presses.iter().copied().rfind(|press| press.0 <= at);
        let pressed = pressed.expect("an offence is completed by a press");
        let before = presses.iter().copied().rfind(|press| *press < pressed);
        let is_own = |change: &Millis| Some(*change) > before && change.0 <= said;
        let own = changes(capture).into_iter().filter(is_own);
        let own = own.map(|change| (change, Asked::Changes));
        let told = own.chain([(pressed, Asked::Clock)]).map(|(at, what)| {
            let happened = log.happened(at);
            let told = if over_line {
                log.told_over_line(happened, what)
            } else {
                happened
            };
            happened..=told
        });
        Act {
            name: accusations(std::slice::from_ref(event)).remove(0),
            told: told.collect(),
            pressed: log.happened(pressed),
            away: away.to_vec(),
        }
    };
    accused.map(act).collect()
}

/// By how many milliseconds the board itself was late at the most, as the machine that plays it is busy.
pub(super) fn lateness(capture: &Capture, log: &SharedLog) -> u64 {
    let log = log.lock().unwrap();
    let acts = [changes(capture), presses(capture)].concat();
    let late = acts.into_iter().map(|at| log.happened(at).since(at));
    late.max().unwrap_or(0)
}
