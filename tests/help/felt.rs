//! Hands at a board that feels only whether something stands on a square: games from moves, with
//! the habits that hands have, as a capture of what such a board says.

use dgt2mqtt::{
    capture::{Act, Capture, Header, Record},
    event::Body,
    families::occ1::Occupancy,
    time::Millis,
    watcher::{Settings, Watcher},
};
use fastrand::Rng;
use shakmaty::{Bitboard, CastlingSide, Chess, Move, Position, Square};

/// A board is scanned twenty times a second.
const SCAN_MS: u64 = 50;
const REPEAT_MS: u64 = 1000;

/// How often out of a hundred half-moves hands do what makes reading hard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// A piece is taken by sliding onto it: its square is hardly empty.
    pub(crate) slide_onto: u8,
    /// Squares on the way of a long move are felt.
    pub(crate) brush: u8,
    /// A piece is lifted and put back before another is moved.
    pub(crate) adjust: u8,
    /// The piece is put on another legal square first.
    pub(crate) waver: u8,
    /// The piece is put on a square where it may not go, for a moment.
    pub(crate) misplace: u8,
    /// The move is taken back after some seconds, and played again.
    pub(crate) take_back: u8,
    /// The reply comes at once.
    pub(crate) hurry: u8,
}

impl Habits {
    /// Of everything a little.
    pub(crate) const MESSY: Self = Self {
        slide_onto: 0,
        brush: 15,
        adjust: 8,
        waver: 4,
        misplace: 4,
        take_back: 1,
        hurry: 20,
    };
}

/// The hands, and what stands where.
pub(crate) struct Hands {
    pub(crate) now: Millis,
    pub(crate) position: Chess,
    rng: Rng,
    habits: Habits,
    occupied: Bitboard,
    /// What the board felt, at each change.
    changes: Vec<(Millis, Bitboard)>,
}

impl Hands {
    pub(crate) fn new(seed: u64, habits: Habits) -> Self {
        let position = Chess::default();
        let occupied = position.board().occupied();
        Self {
            now: Millis(0),
            position,
            rng: Rng::with_seed(seed),
            habits,
            occupied,
            changes: vec![(Millis(0), occupied)],
        }
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        self.now = self.now + ms;
    }

    fn pause(&mut self, least: u64, most: u64) {
        let ms = self.rng.u64(least..=most);
        self.wait(ms);
    }

    fn happens(&mut self, percent: u8) -> bool {
        self.rng.u8(0..100) < percent
    }

    pub(crate) fn lift(&mut self, square: Square) {
        self.occupied.discard(square);
        self.changes.push((self.now, self.occupied));
    }

    pub(crate) fn put(&mut self, square: Square) {
        self.occupied.add(square);
        self.changes.push((self.now, self.occupied));
    }

    /// A legal half-move with all habits, after some thought.
    pub(crate) fn play(&mut self, mv: Move) {
        if self.happens(self.habits.hurry) {
            self.pause(500, 1200);
        } else {
            self.pause(1500, 9000);
        }
        if self.happens(self.habits.adjust) {
            self.adjust();
        }
        let before = self.occupied;
        self.make(mv);
        if self.happens(self.habits.take_back) {
            self.pause(2500, 9000);
            self.put_up(before);
            self.pause(7000, 9000);
            self.make(mv);
        }
        self.position.play_unchecked(mv);
    }

    /// A piece of the player's is lifted and put back.
    fn adjust(&mut self) {
        let own = self.position.us() & self.occupied;
        let squares: Vec<Square> = own.into_iter().collect();
        if let Some(&square) = self.rng.choice(&squares) {
            self.lift(square);
            self.pause(200, 1500);
            self.put(square);
            self.pause(300, 1500);
        }
    }

    /// The board is made to stand as it did.
    pub(crate) fn put_up(&mut self, before: Bitboard) {
        for square in self.occupied & !before {
            self.lift(square);
            self.pause(200, 500);
        }
        for square in before & !self.occupied {
            self.put(square);
            self.pause(200, 500);
        }
    }

    /// The squares of a half-move, in an order that hands may take.
    pub(crate) fn make(&mut self, mv: Move) {
        match mv {
            Move::Castle { king, rook } => self.castle(king, rook),
            Move::EnPassant { from, to } => self.en_passant(from, to),
            Move::Normal {
                from,
                to,
                capture,
                promotion,
                ..
            } => {
                if capture.is_some() {
                    self.take(from, to);
                } else {
                    self.carry(from, to, promotion.is_none());
                }
                if promotion.is_some() && self.rng.bool() {
                    // The pawn stood there and is replaced.
                    self.pause(200, 900);
                    self.lift(to);
                    self.pause(300, 900);
                    self.put(to);
                }
            }
            Move::Put { .. } => {}
        }
    }

    fn carry(&mut self, from: Square, to: Square, wavers: bool) {
        self.lift(from);
        self.pause(200, 700);
        if wavers && self.happens(self.habits.waver) {
            self.stop_over(from, to, true);
        }
        if wavers && self.happens(self.habits.misplace) {
            self.stop_over(from, to, false);
        }
        let way: Vec<Square> = shakmaty::attacks::between(from, to).into_iter().collect();
        if !way.is_empty() && self.happens(self.habits.brush) {
            let square = way[self.rng.usize(0..way.len())];
            if !self.occupied.contains(square) {
                self.put(square);
                self.pause(60, 200);
                self.lift(square);
                self.pause(60, 200);
            }
        }
        self.put(to);
    }

    /// The piece is put down elsewhere for a while.
    fn stop_over(&mut self, from: Square, to: Square, legal: bool) {
        let moves = self.position.legal_moves();
        let goes = |s: Square| {
            moves
                .iter()
                .any(|m| m.from() == Some(from) && m.to() == s && !m.is_castle())
        };
        let free: Vec<Square> = Square::ALL
            .into_iter()
            .filter(|s| !self.occupied.contains(*s) && *s != to && *s != from && goes(*s) == legal)
            .collect();
        if let Some(&square) = self.rng.choice(&free) {
            self.put(square);
            self.pause(300, 2500);
            self.lift(square);
            self.pause(150, 500);
        }
    }

    fn take(&mut self, from: Square, to: Square) {
        if self.happens(self.habits.slide_onto) {
            self.lift(from);
            self.pause(200, 600);
            self.lift(to);
            self.pause(5, 60);
        } else if self.rng.bool() {
            self.lift(to);
            self.pause(150, 900);
            self.lift(from);
            self.pause(200, 700);
        } else {
            self.lift(from);
            self.pause(150, 700);
            self.lift(to);
            self.pause(100, 600);
        }
        self.put(to);
    }

    fn castle(&mut self, king: Square, rook: Square) {
        let side = CastlingSide::from_king_side(king < rook);
        let color = self.position.turn();
        let steps = [(king, side.king_to(color)), (rook, side.rook_to(color))];
        match self.rng.u8(0..4) {
            0 => {
                for (from, _) in steps {
                    self.lift(from);
                    self.pause(100, 400);
                }
                for (_, to) in steps {
                    self.put(to);
                    self.pause(100, 400);
                }
            }
            1 => {
                for (from, to) in [steps[1], steps[0]] {
                    self.carry(from, to, false);
                    self.pause(200, 700);
                }
            }
            _ => {
                for (from, to) in steps {
                    self.carry(from, to, false);
                    self.pause(200, 700);
                }
            }
        }
    }

    fn en_passant(&mut self, from: Square, to: Square) {
        let victim = Square::from_coords(to.file(), from.rank());
        match self.rng.u8(0..3) {
            0 => {
                self.lift(victim);
                self.pause(150, 600);
                self.carry(from, to, false);
            }
            1 => {
                self.lift(from);
                self.pause(150, 400);
                self.lift(victim);
                self.pause(150, 400);
                self.put(to);
            }
            _ => {
                self.carry(from, to, false);
                self.pause(150, 900);
                self.lift(victim);
            }
        }
    }

    /// What the board said: a line at each change that a scan finds, and one a second.
    pub(crate) fn into_capture(self, end: u64) -> Capture {
        let mut header = Header::default();
        header.push("protocol", "occ1").expect("a good value");
        let mut records = Vec::new();
        let (mut next, mut said) = (0, None::<(u64, Bitboard)>);
        let mut stands = self.occupied;
        for at in (0..self.now.0 + end).step_by(SCAN_MS as usize) {
            while let Some((_, occupied)) = self.changes.get(next).filter(|(when, _)| when.0 <= at) {
                stands = *occupied;
                next += 1;
            }
            if said.is_none_or(|(when, told)| told != stands || at >= when + REPEAT_MS) {
                said = Some((at, stands));
                let line = format!("{}\r\n", Occupancy(wire(stands)));
                records.push(Record {
                    at: Millis(at),
                    act: Act::FromBoard(line.into_bytes()),
                });
            }
        }
        Capture { header, records }
    }
}

/// From a1 lowest, rank by rank, to a8 highest.
fn wire(occupied: Bitboard) -> u64 {
    Square::ALL
        .into_iter()
        .filter(|s| occupied.contains(*s))
        .map(|s| 1u64 << (u32::from(s.rank()) * 8 + 7 - u32::from(s.file())))
        .sum()
}

/// What a watcher made of a capture.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The half-moves that count at the end, as UCI.
    pub(crate) moves: Vec<String>,
    pub(crate) retracted: usize,
    pub(crate) irregularities: Vec<String>,
    pub(crate) notices: Vec<String>,
    pub(crate) games: usize,
}

/// Runs a capture through a watcher.
pub(crate) fn hear(capture: &Capture) -> Heard {
    let settings = Settings {
        protocol: capture.header.protocol().unwrap_or_default(),
        ..Settings::default()
    };
    let mut heard = Heard::default();
    let mut watcher = Watcher::new(settings, None);
    let run = dgt2mqtt::capture::replay::replay(&mut watcher, capture, |event| {
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
            Body::Irregularity(irregularity) => heard.irregularities.push(format!(
                "{:?} {:?} ply {}",
                irregularity.kind, irregularity.act, irregularity.ply
            )),
            Body::Notice { code, .. } => heard.notices.push(code.clone()),
            _ => {}
        }
        Ok::<(), ()>(())
    });
    assert!(run.is_ok());
    heard
}
