//! Whole games on boards that feel only whether something stands on a square.

use std::{env, fs, path::Path};

use dgt2mqtt::{
    board::Code,
    capture::{Capture, Header},
    dgt::PieceCode,
    event::Body,
    families::Protocol,
    sim::{
        games::{from_pgn, made_up},
        hand::Slips,
        sensors::Scan,
        tabletop::{Manner, TableSetting, Tabletop},
        whole::told_by,
    },
};
use fastrand::Rng;
use shakmaty::{CastlingMode, Move, Position, Square};

use crate::told::events;

/// A board is scanned twenty times a second.
const SCAN: Scan = Scan {
    period_ms: 50,
    late_ms: 0..1,
};

/// How often out of a hundred half-moves hands do what makes reading hard.
#[derive(Clone, Copy, Debug, Default)]
struct Habits {
    /// A piece is taken by putting another onto it: its square is hardly empty.
    slide_onto: u8,
    /// Squares on the way of a long move are felt.
    brush: u8,
    /// A piece is lifted and put back before another is moved.
    adjust: u8,
    /// The piece is put on another legal square first.
    waver: u8,
    /// The piece is put on a square where it may not go, for a moment.
    misplace: u8,
    /// The move is taken back after some seconds, and played again.
    take_back: u8,
    /// The reply comes at once.
    hurry: u8,
}

impl Habits {
    /// Of everything a little.
    const MESSY: Self = Self {
        slide_onto: 0,
        brush: 15,
        adjust: 8,
        waver: 4,
        misplace: 4,
        take_back: 1,
        hurry: 20,
    };
}

/// Players with habits, at a table without a clock.
struct Players {
    table: Tabletop,
    habits: Habits,
    rng: Rng,
}

impl Players {
    fn happens(&mut self, percent: u8) -> bool {
        self.rng.u8(0..100) < percent
    }

    fn wait(&mut self, least: u64, most: u64) {
        self.table.wait(self.rng.u64(least..=most));
    }

    /// A half-move with all habits, after some thought.
    fn play(&mut self, mv: Move, ply: usize) {
        if self.happens(self.habits.hurry) {
            self.wait(500, 1200);
        } else {
            self.wait(1500, 9000);
        }
        if self.happens(self.habits.adjust) {
            let own: Vec<Square> = self.table.position().us().into_iter().collect();
            let square = *self.rng.choice(&own).unwrap();
            let piece = self.table.lift(square);
            self.wait(200, 1500);
            self.table.put(square, piece);
            self.wait(300, 1500);
        }
        self.make(mv);
        if self.happens(self.habits.take_back) {
            self.wait(2500, 9000);
            assert!(self.table.take_back(ply));
            self.wait(7000, 9000);
            self.make(mv);
        }
    }

    fn make(&mut self, mv: Move) {
        let wavers = [(self.habits.waver, true), (self.habits.misplace, false)];
        let over: Vec<Square> = wavers
            .into_iter()
            .filter_map(|(percent, is_legal)| self.happens(percent).then(|| self.elsewhere(mv, is_legal))?)
            .collect();
        // What comes for a pawn may come to the last rank at once.
        let comes = mv.is_promotion() && !mv.is_capture() && self.rng.bool();
        if comes || !over.is_empty() {
            return self.waver(mv, &over);
        }
        let slips = Slips {
            drag: self.happens(self.habits.brush),
            lifts_victim: !self.happens(self.habits.slide_onto),
            any_castling: true,
            any_en_passant: true,
            ..Slips::default()
        };
        self.table.make_with(mv, slips).unwrap();
    }

    /// A free square to which the piece may go, or may not.
    fn elsewhere(&mut self, mv: Move, is_legal: bool) -> Option<Square> {
        let position = self.table.position();
        let legal = position.legal_moves();
        let goes = |to| {
            let mut legal = legal.iter();
            legal.any(|other| other.from() == mv.from() && other.to() == to && !other.is_castle())
        };
        let free = !position.board().occupied() & !shakmaty::Bitboard::from(mv.to());
        let over: Vec<Square> = free.into_iter().filter(|to| goes(*to) == is_legal).collect();
        let is_plain = !mv.is_capture() && !mv.is_castle() && !mv.is_promotion();
        self.rng.choice(over).filter(|_| is_plain)
    }

    /// The piece is put down elsewhere for a while.
    fn waver(&mut self, mv: Move, over: &[Square]) {
        let piece = self.table.lift(mv.from().unwrap());
        self.wait(200, 700);
        for square in over {
            self.table.put(*square, piece);
            self.wait(300, 2500);
            self.table.lift(*square);
            self.wait(150, 500);
        }
        let color = self.table.position().turn();
        let new = mv.promotion().map(|role| PieceCode(Code::from(role.of(color)).0));
        self.table.put(mv.to(), new.unwrap_or(piece));
        self.table.track(mv).unwrap();
    }
}

/// What the board says of a game.
fn told(moves: &[Move], seed: u64, habits: Habits) -> Capture {
    let mut players = Players {
        table: Tabletop::new(TableSetting {
            manner: Manner::Human(seed, SCAN),
            clock: None,
            ..TableSetting::default()
        }),
        habits,
        rng: Rng::with_seed(seed),
    };
    players.table.wait(2000);
    for (ply, mv) in moves.iter().enumerate() {
        players.play(*mv, ply);
    }
    players.table.wait(8000);
    let capture = players.table.finish(Header::default());
    told_by(Protocol::Occ1.family().unwrap(), &capture).unwrap()
}

/// What a watcher made of a capture.
#[derive(Debug, Default)]
struct Heard {
    /// The half-moves that count at the end, as UCI.
    moves: Vec<String>,
    retracted: usize,
    irregularities: Vec<String>,
    notices: Vec<String>,
    games: usize,
}

/// Runs a capture through a watcher.
fn hear(capture: &Capture) -> Heard {
    let mut heard = Heard::default();
    for event in events(capture, "1") {
        match &event.body {
            Body::GameStarted { .. } => {
                heard.games += 1;
                heard.moves.clear();
            }
            Body::Move(made) => heard.moves.push(made.uci.clone()),
            Body::MovesRetracted { to_ply, .. } => {
                heard.retracted += heard.moves.len() - *to_ply as usize;
                heard.moves.truncate(*to_ply as usize);
            }
            Body::Irregularity(said) => heard
                .irregularities
                .push(format!("{:?} {:?} ply {}", said.kind, said.act, said.ply)),
            Body::Notice { code, .. } => heard.notices.push(code.clone()),
            _ => {}
        }
    }
    heard
}

/// Half-moves: all, right, retracted on the way; and accusations.
#[derive(Debug, Default)]
struct Score {
    games: usize,
    exact: usize,
    plies: usize,
    right: usize,
    retracted: usize,
    accused: usize,
}

fn play(moves: &[Move], seed: u64, habits: Habits, score: &mut Score) {
    let names: Vec<String> = moves
        .iter()
        .map(|mv| mv.to_uci(CastlingMode::Standard).to_string())
        .collect();
    let capture = told(moves, seed, habits);
    let heard = hear(&capture);
    let right = names.iter().zip(&heard.moves).filter(|(a, b)| a == b).count();
    score.games += 1;
    score.plies += names.len();
    score.right += right;
    score.exact += usize::from(names == heard.moves);
    score.retracted += heard.retracted;
    score.accused += heard.irregularities.len();
    if names != heard.moves || !heard.irregularities.is_empty() {
        let at = names.iter().zip(&heard.moves).take_while(|(a, b)| a == b).count();
        eprintln!(
            "seed {seed}: {right} of {} right, heard {}, games {}, first wrong {} {:?}, not {:?}; {:?} {:?}",
            names.len(),
            heard.moves.len(),
            heard.games,
            at + 1,
            names.get(at),
            heard.moves.get(at),
            heard.irregularities,
            heard.notices
        );
        if let Ok(folder) = env::var("FELT_KEEP") {
            fs::write(
                Path::new(&folder).join(format!("{seed}.dgtcap")),
                capture.to_string(),
            )
            .unwrap();
        }
    }
}

#[test]
fn made_up_games_are_followed() {
    let mut score = Score::default();
    for seed in 0..20 {
        let moves = made_up(&mut Rng::with_seed(seed));
        play(&moves, seed, Habits::MESSY, &mut score);
    }
    eprintln!("{score:?}");
    assert!(score.right * 100 >= score.plies * 99, "{score:?}");
    assert_eq!(score.accused, 0, "{score:?}");
}

/// Games from the corpus; none when it is not there.
fn games(file: &str, many: usize) -> Vec<Vec<Move>> {
    let Ok(corpus) = env::var("DGT2MQTT_CORPUS") else {
        skipped!("DGT2MQTT_CORPUS is not set");
        return Vec::new();
    };
    let many = env::var("FELT_GAMES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(many);
    let text = fs::read_to_string(Path::new(&corpus).join("games").join(file)).unwrap();
    let mut games = from_pgn(&text).unwrap();
    games.truncate(many);
    games
}

#[test]
fn games_of_masters_are_followed() {
    for (seed, file) in [(1000, "candidates2020.pgn"), (3000, "underpromotions-slice.pgn")] {
        let mut score = Score::default();
        for (seed, moves) in (seed..).zip(games(file, 4)) {
            play(&moves, seed, Habits::MESSY, &mut score);
        }
        eprintln!("{file}: {score:?}");
        assert!(score.right * 100 >= score.plies * 99, "{score:?}");
        assert_eq!(score.accused, 0, "{score:?}");
    }
}

/// Each habit alone, on every half-move or nearly so, and blitz.
fn kinds() -> [(&'static str, Habits); 9] {
    let none = Habits::default();
    [
        ("tidy", none),
        (
            "slide_onto",
            Habits {
                slide_onto: 100,
                ..none
            },
        ),
        ("brush", Habits { brush: 100, ..none }),
        ("adjust", Habits { adjust: 100, ..none }),
        ("waver", Habits { waver: 100, ..none }),
        (
            "misplace",
            Habits {
                misplace: 100,
                ..none
            },
        ),
        (
            "take_back",
            Habits {
                take_back: 20,
                ..none
            },
        ),
        ("hurry", Habits { hurry: 100, ..none }),
        (
            "blitz",
            Habits {
                hurry: 100,
                slide_onto: 30,
                brush: 20,
                adjust: 3,
                misplace: 5,
                ..none
            },
        ),
    ]
}

/// Nobody is accused, and so many of a hundred half-moves are right.
fn assert_each_habit_is_forgiven(games: &[Vec<Move>], percent: usize) {
    for (name, habits) in kinds() {
        let mut score = Score::default();
        for (seed, moves) in (2000..).zip(games) {
            play(moves, seed, habits, &mut score);
        }
        eprintln!("{name}: {score:?}");
        assert!(score.right * 100 >= score.plies * percent, "{name}: {score:?}");
        assert_eq!(score.accused, 0, "{name}: {score:?}");
    }
}

#[test]
fn each_habit_alone_is_forgiven() {
    for file in ["candidates2022.pgn", "candidates2018.pgn"] {
        assert_each_habit_is_forgiven(&games(file, 8), 98);
    }
}

#[test]
fn each_habit_alone_is_forgiven_in_made_up_games() {
    let games: Vec<_> = (0..12).map(|seed| made_up(&mut Rng::with_seed(seed))).collect();
    assert_each_habit_is_forgiven(&games, 95);
}
