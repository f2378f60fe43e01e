//! What was played while nobody listened comes from the board's own log: a cable out, a daemon down. Boards that do
//! not tell it, or tell it badly, cost the half-moves and nothing else.
//!
//! A watcher and a simulated board talk over a line of 9600 baud, in a time of their own. Games are made up from seeds;
//! `DGT2MQTT_FULL=1` plays a hundred of each.
#![allow(clippy::unwrap_used)] // a test panics

use std::collections::VecDeque;

use dgt2mqtt::{
    capture::{Act, Capture, Header, Record},
    event::{Body, CompletedBy, Event, notice},
    sim::{
        board::Identity,
        games,
        player::{Output, Pace, Player},
    },
    time::Millis,
    watcher::{Settings, Snapshot, Watcher},
};
use fastrand::Rng;
use shakmaty::{CastlingMode, Chess, Move, Position, uci::UciMove};

/// What becomes of the board's log on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Log {
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
enum Away {
    Cable(usize),
    /// The daemon is down, the board has power.
    Daemon(usize),
}

struct Hall {
    watcher: Option<Watcher>,
    player: Player,
    /// Bytes under way with the time of their arrival.
    line: VecDeque<(Millis, Vec<u8>)>,
    free: u64,
    up: bool,
    now: Millis,
    /// When the daemon was started: its own time begins there.
    started: u64,
    log: Log,
    events: Vec<Event>,
    asked: usize,
    rng: Rng,
    /// What the watcher kept with its last event.
    kept: Option<Snapshot>,
    /// Microseconds that a byte takes.
    byte: u64,
}

/// One byte at 9600 baud, in microseconds.
const BYTE: u64 = 1042;
/// Half-moves of a game.
const PLIES: usize = 44;
/// Half-moves that are heard before.
const BEFORE: usize = 10;

fn settings() -> Settings {
    Settings {
        gateway: "hall".into(),
        board: "1".into(),
        ..Settings::default()
    }
}

/// A game with its half-moves, and the times at which they were completed.
struct Game {
    capture: Capture,
    uci: Vec<String>,
    done: Vec<u64>,
}

impl Game {
    fn made_up(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        loop {
            let mut moves = games::made_up(&mut rng);
            moves.truncate(PLIES);
            if moves.len() == PLIES {
                return Self::played(&moves, seed);
            }
        }
    }

    fn of(uci: &[&str], seed: u64) -> Self {
        let mut position = Chess::default();
        let moves = uci.iter().map(|uci| {
            let mv = uci.parse::<UciMove>().unwrap().to_move(&position).unwrap();
            position.play_unchecked(mv);
            mv
        });
        Self::played(&moves.collect::<Vec<_>>(), seed)
    }

    fn played(moves: &[Move], seed: u64) -> Self {
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
    fn new(capture: Capture, log: Log, seed: u64, speed: f64) -> Self {
        let pace = Pace { speed, wait: false };
        let mut watcher = Watcher::new(settings(), None);
        watcher.handle_link_up(Millis(0), "hall");
        Self {
            watcher: Some(watcher),
            player: Player::new(capture, Identity::synthetic(1), pace),
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

    fn run_until(&mut self, end: u64) {
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
    fn settle(&mut self) {
        loop {
            if let Some(command) = self.watcher.as_mut().and_then(Watcher::poll_transmit) {
                let bytes = command.bytes().to_vec();
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

    fn carry_out(&mut self, output: Output) {
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

    fn harm(&mut self, bytes: &mut Vec<u8>, start: usize) {
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
    fn restart(&mut self, back: u64) {
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
struct Told {
    /// The record at the end.
    moves: Vec<String>,
    recovered: usize,
    notices: Vec<String>,
    /// Seconds from the return of the board to the last half-move recovered.
    after: f64,
    asked: usize,
    /// The game was taken up in the middle.
    taken_up: bool,
}

fn play(game: &Game, away: Away, log: Log, seed: u64) -> Told {
    play_faster(game, away, log, seed, 1.0)
}

/// `speed` times as fast as the game was.
fn play_faster(game: &Game, away: Away, log: Log, seed: u64, speed: f64) -> Told {
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

fn seeds() -> std::ops::Range<u64> {
    let first = std::env::var("DGT2MQTT_SEED").map_or(1, |text| text.parse().unwrap());
    let full = std::env::var_os("DGT2MQTT_FULL").is_some();
    first..first + if full { 100 } else { 5 }
}

/// The first half of them.
fn half_of_seeds() -> std::ops::Range<u64> {
    let all = seeds();
    all.start..all.start + (all.end - all.start).div_ceil(2)
}

fn nothing_is_lost(away: Away) {
    let mut longest: f64 = 0.0;
    for seed in seeds() {
        let game = Game::made_up(seed);
        let told = play(&game, away, Log::Told, seed);
        assert_eq!(told.moves, game.uci, "seed {seed}, {away:?}: {:?}", told.notices);
        assert_eq!(told.asked, 1, "seed {seed}");
        longest = longest.max(told.after);
    }
    println!(
        "{away:?}: {} games, nothing lost; the last {longest:.1} s after the return",
        seeds().count()
    );
    assert!(longest < 15.0);
}

#[test]
fn a_cable_out_for_twenty_plies_loses_no_move() {
    nothing_is_lost(Away::Cable(20));
}

#[test]
fn a_daemon_down_for_ten_minutes_loses_no_move() {
    nothing_is_lost(Away::Daemon(30));
}

/// Often before the board has answered, sometimes long after.
#[test]
fn a_daemon_that_is_killed_again_and_again_loses_no_move_and_accuses_nobody() {
    let mut kills = 0;
    for seed in half_of_seeds() {
        let game = Game::made_up(seed);
        let (mut hall, mut rng) = (
            Hall::new(game.capture.clone(), Log::Told, seed, 1.0),
            Rng::with_seed(seed),
        );
        // By USB.
        hall.byte = 10;
        let end = game.capture.end().0.min(200_000);
        while hall.now.0 < end {
            let lives = if rng.u8(0..4) == 0 { 4000 } else { 1200 };
            hall.run_until(hall.now.0 + rng.u64(20..lives));
            hall.restart(hall.now.0 + rng.u64(50..500));
            kills += 1;
        }
        hall.run_until(game.capture.end().0 + 60_000);
        let mut moves = Vec::new();
        for event in hall.events {
            match event.body {
                Body::Move(made) => moves.push(made.uci),
                Body::MovesRetracted { to_ply, .. } => moves.truncate(to_ply as usize),
                Body::Irregularity(said) => panic!("seed {seed}, {} s: {said:?}", event.t),
                // Hands hold men; every square is read.
                Body::Notice { code, .. } if code == notice::SQUARE_NOT_READ => {
                    panic!("seed {seed}, {} s: {code}", event.t)
                }
                _ => {}
            }
        }
        assert_eq!(moves, game.uci, "seed {seed}");
    }
    println!("{} games, {kills} kills, nothing lost", half_of_seeds().count());
}

#[test]
fn a_daemon_that_comes_after_the_first_half_move_has_the_whole_game() {
    for seed in seeds().take(20) {
        let game = Game::made_up(seed);
        let mut hall = Hall::new(game.capture.clone(), Log::Told, seed, 1.0);
        hall.restart(game.done[0] + 300);
        hall.run_until(game.capture.end().0 + 30_000);
        let moves = hall.events.iter().filter_map(|event| match &event.body {
            Body::Move(made) => Some(made.uci.clone()),
            Body::Irregularity(said) => panic!("seed {seed}: {said:?}"),
            _ => None,
        });
        assert_eq!(moves.collect::<Vec<_>>(), game.uci, "seed {seed}");
    }
}

#[test]
fn what_is_played_while_the_log_is_told_is_followed() {
    for seed in half_of_seeds() {
        let game = Game::made_up(seed);
        let told = play_faster(&game, Away::Cable(8), Log::Told, seed, 2.0);
        assert_eq!(told.moves, game.uci, "seed {seed}: {:?}", told.notices);
    }
}

#[test]
fn a_board_that_does_not_tell_its_log_costs_half_moves_and_no_more() {
    let mut taken_up = 0;
    for (log, away) in [
        (Log::Unanswered, Away::Cable(20)),
        (Log::Garbled, Away::Daemon(20)),
        (Log::Short, Away::Cable(20)),
    ] {
        for seed in half_of_seeds() {
            let game = Game::made_up(seed);
            let told = play(&game, away, log, seed);
            let said = |code: &str| told.notices.iter().any(|notice| notice == code);
            if said("gap_not_explained") {
                // Damage that is as legal as what was played cannot be told from it.
                assert!(
                    told.moves.len() == PLIES || told.taken_up || !said("board_log_useless"),
                    "{log:?}, seed {seed}: {:?}\n{:?}\n{:?}",
                    told.notices,
                    told.moves,
                    game.uci
                );
                taken_up += usize::from(told.taken_up);
            }
            // Whatever became of the missed ones, those after them are right.
            let rest = &game.uci[BEFORE + 24..];
            assert!(
                told.moves.ends_with(rest),
                "{log:?}, seed {seed}: {:?}\n{:?}\n{rest:?}",
                told.notices,
                told.moves
            );
            assert!(
                told.asked <= 1,
                "{log:?}, seed {seed}: asked {} times",
                told.asked
            );
        }
    }
    println!("{taken_up} games taken up from what stood on the board");
    assert!(taken_up > 0);
}

#[test]
fn no_tale_is_told_of_what_nobody_saw() {
    // Lines that grew from what stood there, with hands on some squares: sixteen half-moves, eleven, thirteen, all
    // invented, and accusations that came of them.
    for seed in [16, 41, 56, 101] {
        let game = Game::made_up(seed);
        let told = play(&game, Away::Cable(20), Log::Unanswered, seed);
        assert!(told.taken_up, "seed {seed}: {:?}", told.notices);
        assert!(game.uci.ends_with(&told.moves), "seed {seed}: {:?}", told.moves);
    }
}

#[test]
fn six_half_moves_are_bridged_without_a_log_where_only_one_order_explains_them() {
    // Each needs the one before it.
    let moves =
        "e2e4 e7e5 a2a3 a7a6 h2h3 h7h6 b2b3 b7b6 g2g3 g7g6 d2d4 e5d4 d1d4 b8c6 d4a4 c6e5 f1g2 f8g7 g1f3 g8f6";
    let moves: Vec<_> = moves.split_whitespace().collect();
    let game = Game::of(&moves, 1);
    let told = play(&game, Away::Cable(6), Log::Unanswered, 1);
    assert_eq!(told.moves, game.uci, "{:?}", told.notices);
    assert_eq!(told.recovered, 6);
    // The log would have been asked for; nothing waits for it.
    assert!(told.notices.is_empty() && told.after < 5.0, "{:?}", told.notices);
}

#[test]
fn men_that_move_and_come_back_while_nobody_listens_are_in_the_record() {
    let moves =
        "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f3g5 f6g8 g5f3 g8f6 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8";
    let moves: Vec<_> = moves.split_whitespace().collect();
    for seed in seeds().take(5) {
        let game = Game::of(&moves, seed);
        for away in [Away::Cable(4), Away::Daemon(4)] {
            let told = play(&game, away, Log::Told, seed);
            assert_eq!(told.moves, game.uci, "seed {seed}, {away:?}: {:?}", told.notices);
            assert_eq!((told.asked, told.recovered), (1, 4), "seed {seed}, {away:?}");
        }
        // Where nothing was played, nothing is asked.
        let told = play(&game, Away::Cable(0), Log::Told, seed);
        assert_eq!((told.moves, told.asked), (game.uci.clone(), 0), "seed {seed}");
    }
}
