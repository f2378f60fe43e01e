//! A board whose pieces a test moves when it wants to, with a clock, on a port of this machine.
#![allow(dead_code)] // shared by several test programs.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    dgt::{ClockSide, HostDecoder, Message, PieceCode},
    sim::{
        board::{SimulatedBoard, SimulatedIdentity},
        clock::SimulatedClock,
    },
    time::Millis,
};
use shakmaty::{Chess, Color, Piece, Position, Role, Square, uci::UciMove};

/// How long a hand takes from one square to another.
const HAND: Duration = Duration::from_millis(120);
/// How long it keeps what it touches.
const IN_HAND: Duration = Duration::from_millis(2_300);
/// How often the line is looked at.
const LOOK: Duration = Duration::from_millis(10);

struct Table {
    board: SimulatedBoard,
    clock: SimulatedClock,
    start: Instant,
    /// What the host has not read yet.
    out: Vec<u8>,
    /// Its cable is pulled out: nobody hears it, and it has no power.
    is_cut_off: bool,
    is_over: bool,
}

impl Table {
    fn now(&self) -> Millis {
        Millis(self.start.elapsed().as_millis() as u64)
    }

    fn say(&mut self, message: &Message<'_>) {
        if self.board.is_listening() {
            message.encode(&mut self.out);
        }
    }

    fn put(&mut self, square: Square, piece: PieceCode) {
        let square = (7 - square.rank() as u8) * 8 + square.file() as u8;
        self.board.set_square(self.now(), square, piece);
        self.say(&Message::Field { square, piece });
    }

    fn show_clock(&mut self) {
        let reading = self.clock.reading();
        self.board.set_clock(Some(reading));
        self.say(&Message::Clock(reading));
    }
}

/// Two players and their board.
pub struct Players {
    number: u16,
    table: Arc<Mutex<Table>>,
    position: Chess,
    /// Where the daemon finds the board.
    pub port: String,
}

fn code(piece: Option<Piece>) -> PieceCode {
    let Some(piece) = piece else {
        return PieceCode::EMPTY;
    };
    let role = match piece.role {
        Role::Pawn => 1,
        Role::Rook => 2,
        Role::Knight => 3,
        Role::Bishop => 4,
        Role::King => 5,
        Role::Queen => 6,
    };
    PieceCode(role + if piece.color == Color::Black { 6 } else { 0 })
}

/// The squares of a position, as a board counts them.
fn squares_of(position: &Chess) -> [PieceCode; 64] {
    let mut squares = [PieceCode::EMPTY; 64];
    for square in Square::ALL {
        let index = (7 - square.rank() as usize) * 8 + square.file() as usize;
        squares[index] = code(position.board().piece_at(square));
    }
    squares
}

impl Players {
    /// At a board in the initial position.
    pub fn sit_down(number: u16) -> Self {
        let position = Chess::default();
        let squares = squares_of(&position);
        let clock = SimulatedClock::new(5_400_000, 30_000);
        let table = Table {
            board: SimulatedBoard::new(
                SimulatedIdentity::synthetic(number),
                squares,
                Some(clock.reading()),
            ),
            clock,
            start: Instant::now(),
            out: Vec::new(),
            is_cut_off: false,
            is_over: false,
        };
        let table = Arc::new(Mutex::new(table));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = format!("tcp://{}", listener.local_addr().unwrap());
        let served = Arc::clone(&table);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if !serve(&served, stream.unwrap()) {
                    return;
                }
            }
        });
        Self {
            number,
            table,
            position,
            port,
        }
    }

    /// True while a host listens to what changes.
    pub fn are_watched(&self) -> bool {
        self.table.lock().unwrap().board.is_listening()
    }

    fn change(&self, change: impl FnOnce(&mut Table)) {
        change(&mut self.table.lock().unwrap());
        std::thread::sleep(HAND);
    }

    /// Half-moves as UCI, each with a press of the clock.
    pub fn play(&mut self, moves: &str) {
        if !self.table.lock().unwrap().clock.reading().running {
            self.start_clock();
        }
        for uci in moves.split(' ') {
            let mover = self.position.turn();
            self.make(uci);
            self.press(mover);
        }
    }

    /// Half-moves that are shown to somebody: nobody touches the clock.
    pub fn show(&mut self, moves: &str) {
        moves.split(' ').for_each(|uci| self.make(uci));
    }

    /// The pieces of a half-move are moved.
    fn make(&mut self, uci: &str) {
        let mv = uci.parse::<UciMove>().unwrap().to_move(&self.position).unwrap();
        let before = self.position.clone();
        self.position.play_unchecked(mv);
        let changed = |empties: bool| {
            let differs = |square: &Square| {
                let after = self.position.board().piece_at(*square);
                before.board().piece_at(*square) != after && after.is_none() == empties
            };
            Square::ALL.into_iter().filter(differs).collect::<Vec<_>>()
        };
        let (left, came) = (changed(true), changed(false));
        for square in left {
            self.change(|table| table.put(square, PieceCode::EMPTY));
        }
        for square in came {
            let piece = code(self.position.board().piece_at(square));
            self.change(|table| table.put(square, piece));
        }
    }

    /// A piece is carried and the clock pressed, whatever the Laws say. The game's position stays the one before.
    pub fn carry(&mut self, from: Square, to: Square) {
        let piece = code(self.position.board().piece_at(from));
        self.change(|table| table.put(from, PieceCode::EMPTY));
        self.change(|table| table.put(to, piece));
        self.press(self.position.turn());
    }

    /// A piece is put where it belongs in the game's position.
    pub fn put_back(&self, squares: &[Square]) {
        for square in squares {
            let piece = code(self.position.board().piece_at(*square));
            self.change(|table| table.put(*square, piece));
        }
    }

    /// A piece is taken in hand.
    pub fn lift(&self, square: Square) {
        self.change(|table| table.put(square, PieceCode::EMPTY));
    }

    /// A piece is put on a square where it does not belong.
    pub fn put(&self, square: Square, piece: Piece) {
        self.change(|table| table.put(square, code(Some(piece))));
    }

    /// The board's cable is pulled out. A clock has a battery of its own.
    pub fn pull_out(&self) {
        self.change(|table| table.is_cut_off = true);
    }

    /// The board has power again, and remembers nothing.
    pub fn plug_in(&self) {
        let (identity, squares) = (
            SimulatedIdentity::synthetic(self.number),
            squares_of(&self.position),
        );
        self.change(|table| {
            table.board = SimulatedBoard::new(identity, squares, Some(table.clock.reading()));
            table.out.clear();
            table.is_cut_off = false;
        });
    }

    /// A piece is taken in hand for so long that everybody sees it, and put back.
    pub fn touch(&self, square: Square) {
        self.lift(square);
        std::thread::sleep(IN_HAND);
        self.put_back(&[square]);
    }

    /// White sits at the left of the clock.
    fn press(&mut self, mover: Color) {
        self.change(|table| {
            let now = table.now();
            let side = mover.fold_wb(ClockSide::Left, ClockSide::Right);
            table.clock.press(now, side);
            table.show_clock();
        });
    }

    /// The clock is stopped, as an arbiter does it.
    pub fn stop_clock(&self) {
        self.change(|table| {
            let now = table.now();
            table.clock.stop(now);
            table.show_clock();
        });
    }

    /// And runs again, for the side that has the move.
    fn start_clock(&self) {
        let side = self.position.turn().fold_wb(ClockSide::Left, ClockSide::Right);
        self.change(|table| {
            let now = table.now();
            table.clock.set_and_start(now, side, 0, 0);
            table.show_clock();
        });
    }

    /// The pieces are set up for the next game.
    pub fn set_up(&mut self) {
        self.stop_clock();
        let before = std::mem::take(&mut self.position);
        for square in Square::ALL {
            let piece = self.position.board().piece_at(square);
            if before.board().piece_at(square) != piece {
                self.change(|table| table.put(square, code(piece)));
            }
        }
        let table = &mut *self.table.lock().unwrap();
        table.clock = SimulatedClock::new(5_400_000, 30_000);
        table.show_clock();
    }
}

impl Drop for Players {
    fn drop(&mut self) {
        self.table.lock().unwrap().is_over = true;
    }
}

/// Answers a host until it goes; false when the players have gone.
fn serve(table: &Mutex<Table>, mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(LOOK)).unwrap();
    let mut decoder = HostDecoder::new();
    let mut buffer = [0; 256];
    loop {
        let read = stream.read(&mut buffer);
        let mut table = table.lock().unwrap();
        if table.is_over || table.is_cut_off {
            return !table.is_over;
        }
        let table = &mut *table;
        let now = table.now();
        match read {
            Ok(0) => return true,
            Ok(n) => decoder.push(now, &buffer[..n], &mut |heard| {
                table.board.hear(heard, &mut table.out);
            }),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return true,
        }
        if table.clock.next_tick().is_some_and(|tick| tick <= now) {
            table.clock.advance(now);
            table.show_clock();
        }
        let out = std::mem::take(&mut table.out);
        if stream.write_all(&out).is_err() {
            return true;
        }
    }
}
