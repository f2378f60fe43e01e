//! Hands at a board and a clock: plays a script of acts and writes down, as a capture, what a board
//! would have told of it.

use fastrand::Rng;
use shakmaty::{CastlingMode, CastlingSide, Chess, Color, Move, Piece, Position, Role, Square, uci::UciMove};

use super::{
    clock::SimulatedClock,
    sensors::{Change, Scan, scan},
};
use crate::{
    capture::{self, Capture, Header, Record},
    dgt::{ClockReading, ClockSide, Message, PieceCode},
    event::GameResult,
    time::Millis,
};

/// One thing that hands do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandAct {
    /// Nothing for so many milliseconds.
    Wait(u64),
    /// A legal move and the press.
    Play(Move),
    /// A legal move without the press.
    Move(Move),
    /// A piece is carried from one square to another, whatever the Laws say; what stood there goes.
    Carry(Square, Square),
    /// A piece falls over: to another square, or off the board.
    Knock(Square, Option<Square>),
    /// The board is put as the game's position stands.
    PutBack,
    /// The player whose time runs presses the clock.
    Press,
    /// The arbiter stops the clock.
    Stop,
    /// The arbiter sets who is to move, adds seconds to White's and Black's time, and starts.
    Start(Color, u64, u64),
    /// The kings are put on the centre to say the result.
    Result(GameResult),
}

/// A script that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// There is no piece to carry.
    #[error("nothing stands on {0}")]
    NothingThere(Square),
    /// The move is not legal in the position that the script has reached.
    #[error("{0} is not legal here")]
    Illegal(String),
}

/// How hands and board are.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Seed of everything that is left to chance.
    pub seed: u64,
    /// Milliseconds of each side at the start, and for each move; none: no clock on the table.
    pub clock: Option<(u64, u64)>,
    /// The board lies with the connector at the h-file.
    pub turned: bool,
}

/// Plays a script from the start position.
///
/// # Errors
/// The first act that cannot be done.
pub fn perform(manner: &Manner, acts: &[HandAct], header: Header) -> Result<Capture, ScriptError> {
    let mut hands = Hands::new(manner);
    for act in acts {
        hands.act(act)?;
    }
    hands.wait(1500);
    Ok(hands.into_capture(header))
}

/// `uci` in `position`.
///
/// # Errors
/// When it is no legal move there.
pub fn legal(position: &Chess, uci: &str) -> Result<Move, ScriptError> {
    let illegal = || ScriptError::Illegal(uci.to_owned());
    let parsed: UciMove = uci.parse().map_err(|_| illegal())?;
    parsed.to_move(position).map_err(|_| illegal())
}

struct Hands {
    now: Millis,
    rng: Rng,
    turned: bool,
    position: Chess,
    initial: [PieceCode; 64],
    squares: [Option<Piece>; 64],
    changes: Vec<Change>,
    clock: Option<SimulatedClock>,
    frames: Vec<(Millis, ClockReading)>,
}

impl Hands {
    fn new(manner: &Manner) -> Self {
        let position = Chess::default();
        let mut hands = Self {
            now: Millis(0),
            rng: Rng::with_seed(manner.seed),
            turned: manner.turned,
            squares: std::array::from_fn(|i| position.board().piece_at(Square::new(i as u32))),
            position,
            initial: [PieceCode::EMPTY; 64],
            changes: Vec::new(),
            clock: manner
                .clock
                .map(|(each, increment)| SimulatedClock::new(each, increment)),
            frames: Vec::new(),
        };
        for square in Square::ALL {
            hands.initial[hands.index(square)] = code(hands.squares[square as usize]);
        }
        hands.wait(400);
        hands.show_clock(0);
        hands
    }

    /// The board's own number of a square.
    fn index(&self, square: Square) -> usize {
        let index = (7 - square.rank() as usize) * 8 + square.file() as usize;
        if self.turned { 63 - index } else { index }
    }

    fn act(&mut self, act: &HandAct) -> Result<(), ScriptError> {
        match act {
            HandAct::Wait(ms) => self.wait(*ms),
            HandAct::Play(mv) => {
                self.make(*mv)?;
                self.pause(80, 350);
                self.press();
            }
            HandAct::Move(mv) => self.make(*mv)?,
            HandAct::Carry(from, to) => self.carry(*from, *to)?,
            HandAct::Knock(from, to) => {
                let piece = self.squares[*from as usize].ok_or(ScriptError::NothingThere(*from))?;
                self.put(*from, None);
                if let Some(to) = to {
                    self.pause(20, 60);
                    self.put(*to, Some(piece));
                }
            }
            HandAct::PutBack => self.put_back(),
            HandAct::Press => self.press(),
            HandAct::Stop => self.clock_act(SimulatedClock::stop),
            HandAct::Start(to_move, white, black) => {
                let side = clock_side(*to_move);
                self.clock_act(|clock, now| clock.set_and_start(now, side, white * 1000, black * 1000));
            }
            HandAct::Result(result) => self.centre_kings(*result)?,
        }
        Ok(())
    }

    fn wait(&mut self, ms: u64) {
        let until = self.now + ms;
        while let Some(tick) = self
            .clock
            .as_ref()
            .and_then(SimulatedClock::next_tick)
            .filter(|&t| t <= until)
        {
            self.now = tick;
            self.clock_act(SimulatedClock::advance);
        }
        self.now = until;
    }

    fn pause(&mut self, least: u64, most: u64) {
        let ms = self.rng.u64(least..=most);
        self.wait(ms);
    }

    fn clock_act(&mut self, act: impl FnOnce(&mut SimulatedClock, Millis)) {
        let now = self.now;
        if let Some(clock) = &mut self.clock {
            act(clock, now);
        }
        let late = self.rng.u64(5..120);
        self.show_clock(late);
    }

    /// The clock tells the board what it shows, a little late.
    fn show_clock(&mut self, late: u64) {
        let Some(clock) = &self.clock else { return };
        // Frames keep their order.
        let last = self.frames.last().map_or(Millis(0), |(at, _)| *at + 11);
        self.frames.push(((self.now + late).max(last), clock.reading()));
    }

    fn press(&mut self) {
        self.clock_act(|clock, now| clock.press(now, clock.to_move()));
    }

    fn put(&mut self, square: Square, piece: Option<Piece>) {
        if self.squares[square as usize] == piece {
            return;
        }
        self.squares[square as usize] = piece;
        let (square, piece) = (self.index(square) as u8, code(piece));
        let at = self.now;
        self.changes.push(Change { at, square, piece });
    }

    /// A legal move, as hands make it.
    fn make(&mut self, mv: Move) -> Result<(), ScriptError> {
        let uci = mv.to_uci(CastlingMode::Standard).to_string();
        let position = self.position.clone();
        self.position = position.play(mv).map_err(|_| ScriptError::Illegal(uci))?;
        match mv {
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                let color = self.squares[king as usize].map_or(Color::White, |p| p.color);
                self.carry(king, side.king_to(color))?;
                self.pause(100, 300);
                self.carry(rook, side.rook_to(color))
            }
            Move::EnPassant { from, to } => {
                self.carry(from, to)?;
                self.pause(50, 200);
                self.put(Square::from_coords(to.file(), from.rank()), None);
                Ok(())
            }
            Move::Normal {
                from,
                to,
                promotion: Some(role),
                ..
            } => {
                let color = self.squares[from as usize].map_or(Color::White, |p| p.color);
                self.put(from, None);
                self.pause(150, 400);
                self.put(to, None);
                self.pause(150, 400);
                self.put(to, Some(role.of(color)));
                Ok(())
            }
            Move::Normal { from, to, .. } => self.carry(from, to),
            Move::Put { .. } => Err(ScriptError::Illegal("a drop".to_owned())),
        }
    }

    fn carry(&mut self, from: Square, to: Square) -> Result<(), ScriptError> {
        let piece = self.squares[from as usize].ok_or(ScriptError::NothingThere(from))?;
        let taken_first = self.squares[to as usize].is_some() && self.rng.bool();
        if taken_first {
            self.put(to, None);
            self.pause(120, 300);
        }
        self.put(from, None);
        self.slide(piece, from, to);
        self.pause(150, 400);
        self.put(to, Some(piece));
        Ok(())
    }

    /// Now and then a long piece brushes over a square on its way.
    fn slide(&mut self, piece: Piece, from: Square, to: Square) {
        let way = shakmaty::attacks::between(from, to);
        let long = matches!(piece.role, Role::Rook | Role::Bishop | Role::Queen);
        if !long || self.rng.u8(0..6) > 0 {
            return;
        }
        let over: Vec<Square> = way
            .into_iter()
            .filter(|&s| self.squares[s as usize].is_none())
            .collect();
        if let Some(&square) = self.rng.choice(&over) {
            self.pause(60, 150);
            self.put(square, Some(piece));
            self.pause(40, 120);
            self.put(square, None);
        }
    }

    fn put_back(&mut self) {
        let board = self.position.board().clone();
        let wrong = |hands: &Self, s: &Square| hands.squares[*s as usize] != board.piece_at(*s);
        for emptied in [true, false] {
            // First away with what stands wrong, then back with what is missing.
            for square in Square::ALL
                .into_iter()
                .filter(|s| board.piece_at(*s).is_none() == emptied)
            {
                if wrong(self, &square) {
                    self.put(square, board.piece_at(square));
                    self.pause(200, 450);
                }
            }
        }
    }

    fn centre_kings(&mut self, result: GameResult) -> Result<(), ScriptError> {
        let (white, black) = match result {
            GameResult::WhiteWins => (Square::E4, Square::D5),
            GameResult::BlackWins => (Square::D4, Square::E5),
            _ => (Square::E4, Square::E5),
        };
        for (color, to) in [(Color::White, white), (Color::Black, black)] {
            let king = Role::King.of(color);
            let Some(from) = Square::ALL
                .into_iter()
                .find(|&s| self.squares[s as usize] == Some(king))
            else {
                continue;
            };
            if from != to {
                self.carry(from, to)?;
                self.pause(300, 600);
            }
        }
        Ok(())
    }

    fn into_capture(mut self, header: Header) -> Capture {
        let told = scan(
            &Scan::default(),
            &self.initial,
            &self.changes,
            self.now,
            &mut self.rng,
        );
        let mut said: Vec<_> = told.iter().map(|(at, change)| (*at, change.message())).collect();
        let encoded = |message: Message<'_>| {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            bytes
        };
        said.push((Millis(100), encoded(Message::Dump(&self.initial))));
        if self.clock.is_none() {
            said.push((Millis(200), encoded(Message::NoClock)));
        }
        said.extend(
            self.frames
                .iter()
                .map(|(at, reading)| (*at, encoded(Message::Clock(*reading)))),
        );
        said.sort_by_key(|(at, _)| *at);
        let records = said.into_iter().map(|(at, bytes)| Record {
            at,
            act: capture::Act::FromBoard(bytes),
        });
        Capture {
            header,
            records: records.collect(),
        }
    }
}

/// White sits at the left of the clock.
fn clock_side(color: Color) -> ClockSide {
    color.fold_wb(ClockSide::Left, ClockSide::Right)
}

/// The code of a piece: P R N B K Q from 1, Black's from 7 (protocol reference, 3.2).
pub(super) fn code(piece: Option<Piece>) -> PieceCode {
    PieceCode(piece.map_or(0, |piece| {
        let role = match piece.role {
            Role::Pawn => 1,
            Role::Rook => 2,
            Role::Knight => 3,
            Role::Bishop => 4,
            Role::King => 5,
            Role::Queen => 6,
        };
        role + piece.color.fold_wb(0, 6)
    }))
}
