//! A table at which a test plays when it wants to, on a port of this machine: the time of the table is that of the day.
#![allow(dead_code)] // shared by several test programs.

use std::{
    collections::VecDeque,
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    board::Code,
    capture::{Act, Record},
    dgt::{HostDecoder, PieceCode},
    sim::{
        board::{SimulatedBoard, SimulatedIdentity},
        shown::ShownBoard,
        tabletop::{TableSetting, Tabletop, codes_of},
    },
    time::Millis,
};
use shakmaty::{Piece, Position, Square};

/// How long a hand keeps what it touches, in milliseconds.
const IN_HAND_MS: u64 = 2_300;
/// The same from one square to another.
const HAND_MS: u64 = 120;
/// How often the line is looked at.
const LOOK: Duration = Duration::from_millis(10);

struct Table {
    top: Tabletop,
    start: Instant,
    /// What is still to be told.
    told: VecDeque<Record>,
    number: u16,
    board: SimulatedBoard,
    shown: ShownBoard,
    /// What the host has not read yet.
    out: Vec<u8>,
    /// Its cable is pulled out: nobody hears it, and it has no power.
    is_cut_off: bool,
    is_over: bool,
}

impl Table {
    fn set(number: u16) -> Self {
        let mut table = Self {
            top: Tabletop::new(TableSetting::default()),
            start: Instant::now(),
            told: VecDeque::new(),
            number,
            board: new_board(number, &ShownBoard::default()),
            shown: ShownBoard::default(),
            out: Vec::new(),
            is_cut_off: false,
            is_over: false,
        };
        table.told.extend(table.top.take_told());
        table.tell(table.top.now());
        table.power_up();
        table
    }

    fn power_up(&mut self) {
        self.board = new_board(self.number, &self.shown);
        self.out.clear();
    }

    fn now(&self) -> Millis {
        Millis(self.start.elapsed().as_millis() as u64)
    }

    /// Lets come what has come by now.
    fn pass(&mut self) {
        let now = self.now();
        self.top.wait(now.since(self.top.now()));
        self.told.extend(self.top.take_told());
        self.tell(now);
    }

    fn tell(&mut self, now: Millis) {
        while let Some(record) = self.told.pop_front_if(|record| record.at <= now) {
            let Act::FromBoard(bytes) = record.act else {
                continue;
            };
            self.shown.hear(now, &bytes);
            self.board.set_squares(&self.shown.squares);
            self.board.set_clock(self.shown.clock);
            if self.board.is_listening() {
                self.out.extend(bytes);
            }
        }
    }
}

fn new_board(number: u16, shown: &ShownBoard) -> SimulatedBoard {
    SimulatedBoard::new(SimulatedIdentity::synthetic(number), shown.squares, shown.clock)
}

/// Two players and their board.
pub struct Players {
    table: Arc<Mutex<Table>>,
    /// Where the daemon finds the board.
    pub port: String,
}

impl Players {
    /// At a board in the initial position.
    pub fn sit_down(number: u16) -> Self {
        let table = Arc::new(Mutex::new(Table::set(number)));
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
        Self { table, port }
    }

    /// True while a host listens to what changes.
    pub fn are_watched(&self) -> bool {
        self.table.lock().unwrap().board.is_listening()
    }

    /// Something is done at the table, which takes its time.
    fn act(&self, act: impl FnOnce(&mut Tabletop)) {
        let done = {
            let table = &mut *self.table.lock().unwrap();
            table.pass();
            act(&mut table.top);
            table.top.now()
        };
        while self.table.lock().unwrap().now() < done {
            std::thread::sleep(LOOK);
        }
        self.table.lock().unwrap().pass();
    }

    /// Half-moves as UCI, each with a press of the clock.
    pub fn play(&self, moves: &str) {
        if !self
            .table
            .lock()
            .unwrap()
            .shown
            .clock
            .is_some_and(|clock| clock.running)
        {
            self.act(|table| table.start(table.position().turn(), 0, 0));
        }
        for uci in moves.split(' ') {
            self.act(|table| table.play(table.legal(uci).unwrap()).unwrap());
        }
    }

    /// Half-moves that are shown to somebody: nobody touches the clock.
    pub fn show(&self, moves: &str) {
        for uci in moves.split(' ') {
            self.act(|table| table.make(table.legal(uci).unwrap()).unwrap());
        }
    }

    /// A piece is carried and the clock pressed, whatever the Laws say. The game's position stays the one before.
    pub fn carry(&self, from: Square, to: Square) {
        self.act(|table| {
            table.carry(from, to);
            table.wait(HAND_MS);
            table.press();
        });
    }

    /// A piece is put where it belongs in the game's position.
    pub fn put_back(&self, squares: &[Square]) {
        self.act(|table| {
            let codes = codes_of(table.position());
            for square in squares {
                table.put(*square, codes[usize::from(*square)]);
                table.wait(HAND_MS);
            }
        });
    }

    /// A piece is taken in hand.
    pub fn lift(&self, square: Square) {
        self.act(|table| {
            table.lift(square);
            table.wait(HAND_MS);
        });
    }

    /// A piece is put on a square where it does not belong.
    pub fn put(&self, square: Square, piece: Piece) {
        self.act(|table| {
            table.put(square, PieceCode(Code::from(piece).0));
            table.wait(HAND_MS);
        });
    }

    /// The board's cable is pulled out. A clock has a battery of its own.
    pub fn pull_out(&self) {
        self.table.lock().unwrap().is_cut_off = true;
        self.act(|table| table.wait(HAND_MS));
    }

    /// The board has power again, and remembers nothing.
    pub fn plug_in(&self) {
        let table = &mut *self.table.lock().unwrap();
        table.power_up();
        table.is_cut_off = false;
    }

    /// A piece is taken in hand for so long that everybody sees it, and put back.
    pub fn touch(&self, square: Square) {
        self.lift(square);
        self.act(|table| table.wait(IN_HAND_MS));
        self.put_back(&[square]);
    }

    /// The clock is stopped, as an arbiter does it.
    pub fn stop_clock(&self) {
        self.act(Tabletop::stop);
    }

    /// The pieces and the clock are set up for the next game.
    pub fn set_up(&self) {
        self.stop_clock();
        self.act(|table| {
            table.begin_anew();
            table.set_clock();
        });
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
        table.pass();
        match read {
            Ok(0) => return true,
            Ok(n) => decoder.push(table.now(), &buffer[..n], &mut |heard| {
                table.board.hear(heard, &mut table.out);
            }),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return true,
        }
        let out = std::mem::take(&mut table.out);
        if stream.write_all(&out).is_err() {
            return true;
        }
    }
}
