//! A watcher and a simulated board that talk to each other, in a time of their own.
#![allow(clippy::unwrap_used)] // a test panics
#![allow(dead_code)] // who includes it uses a part of it

pub(crate) mod kinds;
pub(crate) mod reliability;
pub(crate) mod verdict;

use std::collections::VecDeque;

use dgt2mqtt::{
    capture::{Act, Capture, Record},
    event::Event,
    families::Protocol,
    sim::{
        board::SimulatedIdentity,
        mess::SimulatedGame,
        player::{Output, Pace, PlayedBoard},
        whole::cues_of,
    },
    time::Millis,
    watcher::{Account, Settings, Watcher},
};

/// What came of it.
pub(crate) struct Rehearsal {
    pub(crate) events: Vec<Event>,
    /// All that went over the line, as a recorder would have it.
    pub(crate) capture: Capture,
    /// Bytes that a restart would need.
    pub(crate) snapshot: usize,
    /// What was weighed for the events, where that is asked for.
    pub(crate) accounts: Vec<Account>,
    /// What was weighed at moments of no event, where that is asked for.
    pub(crate) between: Vec<Account>,
}

/// How often it is looked what is weighed, in milliseconds: out of step with clocks and scans.
const LOOK_MS: u64 = 3371;

/// Between the board and the host.
struct Line {
    queue: VecDeque<(Millis, Vec<u8>)>,
    /// When it is free again, in microseconds.
    free: u64,
    /// What a byte takes, in microseconds.
    byte: u64,
}

/// One byte at 9600 baud, 8N1, in microseconds.
const BYTE: u64 = 1042;
/// The same at 38400 baud, or less.
const FAST_BYTE: u64 = 260;

impl Line {
    fn send(&mut self, now: Millis, bytes: Vec<u8>) {
        self.free = self.free.max(now.0 * 1000) + bytes.len() as u64 * self.byte;
        self.queue.push_back((Millis(self.free.div_ceil(1000)), bytes));
    }

    fn of(protocol: Protocol) -> Self {
        Self {
            queue: VecDeque::new(),
            free: 0,
            byte: if protocol == Protocol::Dgt {
                BYTE
            } else {
                FAST_BYTE
            },
        }
    }

    fn next(&self) -> Option<Millis> {
        self.queue.front().map(|(at, _)| *at)
    }
}

struct Loop {
    watcher: Watcher,
    player: PlayedBoard,
    line: Line,
    up: bool,
    now: Millis,
    events: Vec<Event>,
    records: Vec<Record>,
    weighed: Option<Weighed>,
}

/// What was weighed.
#[derive(Default)]
struct Weighed {
    accounts: Vec<Account>,
    between: Vec<Account>,
    next: Millis,
}

/// Lets a watcher follow `game`.
pub(crate) fn rehearse(game: &SimulatedGame) -> Rehearsal {
    play(game, Protocol::Dgt, None)
}

/// The same on a board that speaks `protocol`.
pub(crate) fn rehearse_on(protocol: Protocol, game: &SimulatedGame) -> Rehearsal {
    play(game, protocol, None)
}

/// The same, and it is kept what the watcher weighed.
pub(crate) fn rehearse_and_weigh(game: &SimulatedGame) -> Rehearsal {
    play(game, Protocol::Dgt, Some(Weighed::default()))
}

fn play(game: &SimulatedGame, protocol: Protocol, weighed: Option<Weighed>) -> Rehearsal {
    let settings = Settings {
        gateway: "soak".into(),
        board: "1".into(),
        protocol,
        laws: game.header.laws().unwrap_or_default(),
        time_control: game.header.time_control().unwrap_or_default(),
        supervision: game.header.supervision().unwrap_or_default(),
        gathered_ms: game.header.gathered_ms().unwrap_or_default(),
        ..Settings::default()
    };
    let end = game.cues.last().unwrap().record.at;
    let pace = Pace {
        speed: 1.0,
        wait: false,
    };
    let identity = SimulatedIdentity::synthetic(1);
    let mut player = match protocol.family() {
        Some(family) => PlayedBoard::staged(cues_of(family, &game.cues), identity, pace).of(family),
        None => PlayedBoard::staged(game.cues.clone(), identity, pace),
    };
    // The host is there from the first.
    player.handle_connect(Millis(0));
    let mut hall = Loop {
        watcher: Watcher::new(settings, None),
        player: if game.log { player } else { player.without_log() },
        line: Line::of(protocol),
        up: true,
        now: Millis(0),
        events: Vec::new(),
        records: Vec::new(),
        weighed,
    };
    if hall.weighed.is_some() {
        hall.watcher.keep_whole_accounts();
    }
    hall.watcher.handle_link_up(Millis(0), "rehearsal");
    loop {
        hall.settle();
        let due = [
            hall.line.next(),
            hall.watcher.poll_timeout(),
            hall.player.poll_timeout(),
        ];
        match due.into_iter().flatten().min().filter(|&due| due <= end) {
            Some(due) => hall.step(hall.now.max(due)),
            None => break,
        }
    }
    hall.watcher.handle_end(end);
    hall.settle();
    hall.record(Act::ToBoard(vec![0x40])); // says how long the silence was
    let snapshot = serde_json::to_string(&hall.watcher.snapshot()).unwrap().len();
    let capture = Capture {
        header: game.header.clone(),
        records: hall.records,
    };
    let weighed = hall.weighed.unwrap_or_default();
    Rehearsal {
        events: hall.events,
        capture,
        snapshot,
        accounts: weighed.accounts,
        between: weighed.between,
    }
}

impl Loop {
    fn step(&mut self, now: Millis) {
        if let Some(weighed) = self.weighed.as_mut().filter(|weighed| weighed.next <= now) {
            weighed.between.extend(self.watcher.account(now));
            weighed.next = now + LOOK_MS;
        }
        self.now = now;
        if self.line.next().is_some_and(|at| at <= now) {
            let (_, bytes) = self.line.queue.pop_front().unwrap();
            self.watcher.handle_bytes(now, &bytes);
            self.record(Act::FromBoard(bytes));
        }
        if self.watcher.poll_timeout().is_some_and(|due| due <= now) {
            self.watcher.handle_timeout(now);
        }
        if self.player.poll_timeout().is_some_and(|due| due <= now) {
            self.player.handle_timeout(now);
        }
    }

    fn record(&mut self, act: Act) {
        self.records.push(Record { at: self.now, act });
    }

    /// Until nobody has anything more to say.
    fn settle(&mut self) {
        loop {
            if let Some(command) = self.watcher.poll_transmit() {
                if self.up {
                    let bytes = command.to_vec();
                    self.player.handle_bytes(self.now, &bytes);
                    self.record(Act::ToBoard(bytes));
                }
            } else if let Some(output) = self.player.poll_output() {
                self.carry_out(output);
            } else if self.watcher.poll_wish().is_some() {
                panic!(
                    "the board answers, and the watcher says that it does not: {}",
                    self.now.seconds()
                );
            } else {
                break;
            }
        }
        while let Some(event) = self.watcher.poll_event() {
            if let Some(weighed) = &mut self.weighed {
                weighed.accounts.extend(self.watcher.account_of(event.seq));
            }
            self.events.push(event);
        }
        assert!(self.events.len() < 5000, "events without end");
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Send(bytes) if self.up => self.line.send(self.now, bytes),
            Output::Send(_) | Output::Over => {}
            Output::Unplug => {
                self.up = false;
                self.line.queue.clear();
                self.line.free = 0;
                self.watcher.handle_link_down(self.now, "the cable is out");
                self.record(Act::LinkDown);
            }
            Output::Plug => {
                self.up = true;
                self.watcher.handle_link_up(self.now, "rehearsal");
                self.record(Act::LinkUp);
            }
        }
    }
}
