//! A watcher and a simulated board over a slow line, in a time of their own: cables that are out, daemons that are down.

use std::collections::VecDeque;

use dgt2mqtt::{
    capture::{Act, Capture, Header, Record},
    event::{Body, CompletedBy, Event},
    sim::{
        board::SimulatedIdentity,
        games,
        player::{Output, Pace, PlayedBoard},
    },
    time::Millis,
    watcher::{Settings, Snapshot, Watcher},
};
use fastrand::Rng;
use shakmaty::{CastlingMode, Chess, Move, Position, uci::UciMove};

/// What becomes of the board's log on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Log {
    Told,
    /// The board does not know the question.
    Unanswered,
    /// Some bytes are other ones.
    Garbled,
    /// The line breaks off in the middle.
    Short,
}

/// Nobody hears the board from the first half-move on until so many have been played unheard.
#[derive(Clone, Copy, Debug)]
pub enum Away {
    Cable(usize),
    /// The daemon is down, the board has power.
    Daemon(usize),
}

pub struct Hall {
    pub watcher: Option<Watcher>,
    pub player: PlayedBoard,
    /// Bytes under way with the time of their arrival.
    pub line: VecDeque<(Millis, Vec<u8>)>,
    pub free: u64,
    pub up: bool,
    pub now: Millis,
    /// When the daemon was started: its own time begins there.
    pub started: u64,
    pub log: Log,
    pub events: Vec<Event>,
    pub asked: usize,
    pub rng: Rng,
    /// What the watcher kept with its last event.
    pub kept: Option<Snapshot>,
    /// Microseconds that a byte takes.
    pub byte: u64,
}

/// One byte at 9600 baud, in microseconds.
pub const BYTE: u64 = 1042;
/// Half-moves of a game.
pub const PLIES: usize = 44;
/// Half-moves that are heard before.
pub const BEFORE: usize = 10;

pub fn settings() -> Settings {
    Settings {
        gateway: "hall".into(),
        board: "1".into(),
        ..Settings::default()
    }
}

/// A game with its half-moves, and the times at which they were completed.
pub struct Game {
    pub capture: Capture,
    pub uci: Vec<String>,
    pub done: Vec<u64>,
}

impl Game {
    pub fn made_up(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        loop {
            let mut moves = games::made_up(&mut rng);
            moves.truncate(PLIES);
            if moves.len() == PLIES {
                return Self::played(&moves, seed);
            }
        }
    }

    pub fn of(uci: &[&str], seed: u64) -> Self {
        let mut position = Chess::default();
        let moves = uci.iter().map(|uci| {
            let mv = uci.parse::<UciMove>().unwrap().to_move(&position).unwrap();
            position.play_unchecked(mv);
            mv
        });
        Self::played(&moves.collect::<Vec<_>>(), seed)
    }

    pub fn played(moves: &[Move], seed: u64) -> Self {
        let capture = games::play(moves, Header::default(), seed).unwrap();
        let mut watcher = Watcher::new(settings(), None);
        let mut done = Vec::new();
        let run = dgt2mqtt::capture::replay::replay(&mut watcher, &capture, |event| {
            if let Body::Move(made) = &event.body {
                assert_eq!(made.completed_by, CompletedBy::Clock);
                done.push((event.at.unwrap_or(event.t) * 1000.0) as u64);
            }
            Ok::<(), ()>(())
        });
        assert!(
            run.is_ok() && done.len() == moves.len(),
            "seed {seed}: the game itself is read"
        );
        let uci = moves
            .iter()
            .map(|mv| mv.to_uci(CastlingMode::Standard).to_string());
        Self {
            uci: uci.collect(),
            capture,
            done,
        }
    }
}

impl Hall {
    pub fn new(capture: Capture, log: Log, seed: u64, speed: f64) -> Self {
        let pace = Pace { speed, wait: false };
        let mut watcher = Watcher::new(settings(), None);
        watcher.handle_link_up(Millis(0), "hall");
        Self {
            watcher: Some(watcher),
            player: PlayedBoard::new(capture, SimulatedIdentity::synthetic(1), pace),
            line: VecDeque::new(),
            free: 0,
            up: true,
            now: Millis(0),
            started: 0,
            log,
            events: Vec::new(),
            asked: 0,
            rng: Rng::with_seed(seed),
            kept: None,
            byte: BYTE,
        }
    }

    pub fn run_until(&mut self, end: u64) {
        loop {
            self.settle();
            let due = [
                self.line.front().map(|(at, _)| *at),
                self.watcher
                    .as_ref()
                    .and_then(Watcher::poll_timeout)
                    .map(|due| due + self.started),
                self.player.poll_timeout(),
            ];
            match due.into_iter().flatten().min().filter(|due| due.0 <= end) {
                Some(due) => self.now = self.now.max(due),
                None => break,
            }
            let now = self.now;
            if self.line.front().is_some_and(|(at, _)| *at <= now) {
                let (_, bytes) = self.line.pop_front().unwrap();
                if let Some(watcher) = &mut self.watcher {
                    watcher.handle_bytes(now - self.started, &bytes);
                }
            }
            let own = now - self.started;
            if let Some(watcher) = &mut self.watcher
                && watcher.poll_timeout().is_some_and(|due| due <= own)
            {
                watcher.handle_timeout(own);
            }
            self.player.handle_timeout(now);
        }
        self.now = Millis(end);
    }

    /// Until nobody has anything more to say.
    pub fn settle(&mut self) {
        loop {
            if let Some(command) = self.watcher.as_mut().and_then(Watcher::poll_transmit) {
                let bytes = command.to_vec();
                self.asked += usize::from(bytes == [0x49]);
                let known = bytes != [0x49] || self.log != Log::Unanswered;
                if self.up && known {
                    self.player.handle_bytes(self.now, &bytes);
                }
            } else if let Some(output) = self.player.poll_output() {
                self.carry_out(output);
            } else {
                break;
            }
        }
        if let Some(watcher) = &mut self.watcher {
            while watcher.poll_wish().is_some() {}
            while let Some(mut event) = watcher.poll_event() {
                event.t += self.started as f64 / 1000.0;
                self.events.push(event);
                self.kept = Some(watcher.snapshot());
            }
        }
    }

    pub fn carry_out(&mut self, output: Output) {
        match output {
            Output::Send(mut bytes) if self.up && self.watcher.is_some() => {
                if let Some(start) = bytes.iter().position(|byte| *byte == 0x8f) {
                    self.harm(&mut bytes, start);
                }
                self.free = self.free.max(self.now.0 * 1000) + bytes.len() as u64 * self.byte;
                self.line.push_back((Millis(self.free.div_ceil(1000)), bytes));
            }
            Output::Send(_) | Output::Over => {}
            Output::Unplug => {
                self.up = false;
                self.line.clear();
                if let Some(watcher) = &mut self.watcher {
                    watcher.handle_link_down(self.now - self.started, "the cable is out");
                }
            }
            Output::Plug => {
                self.up = true;
                self.free = 0;
                if let Some(watcher) = &mut self.watcher {
                    watcher.handle_link_up(self.now - self.started, "hall");
                }
            }
        }
    }

    pub fn harm(&mut self, bytes: &mut Vec<u8>, start: usize) {
        match self.log {
            Log::Told | Log::Unanswered => {}
            Log::Garbled => {
                for _ in 0..40 {
                    let place = self.rng.usize(start + 3..bytes.len());
                    bytes[place] = self.rng.u8(..128);
                }
            }
            Log::Short => bytes.truncate((start + bytes.len()) / 2),
        }
    }

    /// The daemon is killed: what it knows is what it kept with its last event.
    pub fn restart(&mut self, back: u64) {
        self.watcher = None;
        self.line.clear();
        self.player.handle_hang_up(self.now);
        self.run_until(back);
        let kept = serde_json::to_string(&self.kept).unwrap();
        let mut watcher = Watcher::new(settings(), serde_json::from_str(&kept).unwrap());
        self.started = self.now.0;
        watcher.handle_link_up(Millis(0), "hall");
        self.watcher = Some(watcher);
    }
}

/// What came of it.
pub struct Told {
    /// The record at the end.
    pub moves: Vec<String>,
    pub recovered: usize,
    pub notices: Vec<String>,
    /// Seconds from the return of the board to the last half-move recovered.
    pub after: f64,
    pub asked: usize,
    /// The game was taken up in the middle.
    pub taken_up: bool,
}

pub fn play(game: &Game, away: Away, log: Log, seed: u64) -> Told {
    play_faster(game, away, log, seed, 1.0)
}

/// `speed` times as fast as the game was.
pub fn play_faster(game: &Game, away: Away, log: Log, seed: u64, speed: f64) -> Told {
    let n = match away {
        Away::Cable(n) | Away::Daemon(n) => n,
    };
    // Out when the last one that is heard has been said, back when the last unheard one is done.
    let out = game.done[BEFORE - 1] + 700;
    let back = (game.done[BEFORE + n - 1] + 300).max(out + 500);
    let mut capture = game.capture.clone();
    if let Away::Cable(_) = away {
        for (at, act) in [(back, Act::LinkUp), (out, Act::LinkDown)] {
            let place = capture.records.partition_point(|record| record.at.0 <= at);
            capture.records.insert(place, Record { at: Millis(at), act });
        }
    }
    let end = capture.end().0;
    let mut hall = Hall::new(capture, log, seed, speed);
    if let Away::Daemon(_) = away {
        hall.run_until(out);
        hall.restart(back);
    }
    hall.run_until(end + 30_000);
    let mut told = Told {
        moves: Vec::new(),
        recovered: 0,
        notices: Vec::new(),
        after: 0.0,
        asked: hall.asked,
        taken_up: false,
    };
    for (i, event) in hall.events.iter().enumerate() {
        assert_eq!(event.seq, i as u64 + 1, "no gap in the numbers");
        match &event.body {
            Body::Move(made) => {
                told.moves.push(made.uci.clone());
                if made.completed_by == CompletedBy::Recovered {
                    told.recovered += 1;
                    told.after = event.t - back as f64 / 1000.0;
                }
            }
            Body::MovesRetracted { to_ply, .. } => told.moves.truncate(*to_ply as usize),
            Body::GameStarted { .. } => {
                told.taken_up = !told.moves.is_empty();
                told.moves.clear();
            }
            Body::Notice { code, .. } => told.notices.push(code.clone()),
            // All that is played is legal: nobody is accused, whatever is open.
            Body::Irregularity(said) => {
                let before: Vec<_> = hall.events[i.saturating_sub(9)..=i]
                    .iter()
                    .map(|event| {
                        serde_json::to_string(event)
                            .unwrap()
                            .chars()
                            .take(240)
                            .collect::<String>()
                    })
                    .collect();
                panic!(
                    "{away:?}, {log:?}, seed {seed}: {said:?}\n{}\nplayed {:?}",
                    before.join("\n"),
                    game.uci
                );
            }
            _ => {}
        }
    }
    told
}
