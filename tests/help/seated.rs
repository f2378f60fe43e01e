//! A table at which a test plays when it wants to, on a port of this machine: the time of the table is that of the day.
#![allow(dead_code)] // shared by several test programs.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    board::Code,
    config::BrokerUrl,
    dgt::PieceCode,
    sim::{
        board::SimulatedIdentity,
        player::{Output, PlayedBoard},
        tabletop::{TableSetting, Tabletop, codes_of},
    },
    time::Millis,
};
use shakmaty::{Piece, Position, Square};

/// How long a hand takes from one square to another, in milliseconds.
const HAND_MS: u64 = 120;
/// How long it keeps what it touches.
const IN_HAND_MS: u64 = 2_300;
/// How often the line is looked at.
const LOOK: Duration = Duration::from_millis(10);

struct Table {
    top: Tabletop,
    start: Instant,
    board: PlayedBoard,
    /// What the host has not read yet.
    out: Vec<u8>,
    has_host: bool,
    is_over: bool,
}

impl Table {
    fn new(number: u16) -> Self {
        let mut top = Tabletop::new(TableSetting::default());
        let board = PlayedBoard::live(top.take_told(), SimulatedIdentity::synthetic(number));
        Self {
            top,
            start: Instant::now(),
            board,
            out: Vec::new(),
            has_host: false,
            is_over: false,
        }
    }

    fn now(&self) -> Millis {
        Millis(self.start.elapsed().as_millis() as u64)
    }

    /// Lets come what has come by now. What an act has still to do lies ahead, and comes in its time.
    fn pass(&mut self) -> Millis {
        let now = self.now();
        self.top.wait(now.since(self.top.now()));
        self.board.add(self.top.take_told());
        self.board.handle_timeout(now);
        self.gather();
        now
    }

    /// Whether the line has taken all that the board told until `time`.
    fn has_done(&mut self, time: Millis) -> bool {
        self.pass() >= time && self.out.is_empty()
    }

    fn gather(&mut self) {
        while let Some(output) = self.board.poll_output() {
            match output {
                Output::Send(bytes) if self.has_host => self.out.extend(bytes),
                Output::Send(_) | Output::Unplug | Output::Plug | Output::Over => {}
            }
        }
    }

    fn hears(&mut self, bytes: &[u8]) {
        let now = self.now();
        self.board.handle_bytes(now, bytes);
        self.gather();
    }

    fn hang_up(&mut self) {
        let now = self.now();
        self.board.handle_hang_up(now);
        self.out.clear();
        self.has_host = false;
    }
}

/// Two players and their board.
pub struct Players {
    table: Arc<Mutex<Table>>,
    /// Where the daemon finds the board.
    pub port: String,
}

impl Players {
    /// Writes the configuration of a gateway with this board, its journal in a folder `state` of its own. Returns its path.
    pub fn configure(&self, folder: &Path, broker: &BrokerUrl) -> PathBuf {
        let path = folder.join("dgt2mqtt.toml");
        let text = format!(
            "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"{broker}\"]\n[journal]\npath = \"state/journal.sqlite\"\n\
             [[board]]\nid = \"1\"\nport = \"{}\"\n",
            self.port
        );
        fs::write(&path, text).unwrap();
        fs::create_dir(folder.join("state")).unwrap();
        path
    }

    /// At a board in the initial position.
    pub fn sit_down(number: u16) -> Self {
        let table = Arc::new(Mutex::new(Table::new(number)));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = format!("tcp://{}", listener.local_addr().unwrap());
        let served = Arc::clone(&table);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serve(&served, stream.unwrap());
                let table = &mut *served.lock().unwrap();
                table.hang_up();
                if table.is_over {
                    return;
                }
            }
        });
        Self { table, port }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap()
    }

    /// True while a host listens to what changes.
    pub fn are_watched(&self) -> bool {
        let table = self.table();
        // A board whose host is gone goes on reporting.
        table.has_host && table.board.is_listened_to()
    }

    /// Something is done at the table. This returns when its time has passed and the line has taken what the board told,
    /// so that a machine with no time for this thread makes no act shorter than it is.
    fn act(&self, act: impl FnOnce(&mut Tabletop)) {
        let done = {
            let table = &mut *self.table();
            table.pass();
            act(&mut table.top);
            table.top.now()
        };
        while !self.table().has_done(done) {
            std::thread::sleep(LOOK);
        }
    }

    /// Half-moves as UCI, each with a press of the clock.
    pub fn play(&self, moves: &str) {
        self.act(|table| {
            if !table.is_clock_running() {
                table.start(table.position().turn(), 0, 0);
                table.wait(HAND_MS);
            }
        });
        for uci in moves.split(' ') {
            self.act(|table| table.play(table.legal(uci).unwrap()).unwrap());
        }
    }

    /// Half-moves that are shown to somebody: nobody touches the clock.
    pub fn show(&self, moves: &str) {
        for uci in moves.split(' ') {
            self.act(|table| {
                table.make(table.legal(uci).unwrap()).unwrap();
                table.wait(HAND_MS);
            });
        }
    }

    /// A piece is carried and the clock pressed, whatever the Laws say. The game's position stays the one before.
    pub fn carry(&self, from: Square, to: Square) {
        self.act(|table| {
            table.carry(from, to);
            table.wait(HAND_MS);
            table.press_by(table.position().turn());
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
        self.act(|table| {
            table.cable(false);
            table.wait(HAND_MS);
        });
    }

    /// The board has power again. It knows only what stands on it now.
    pub fn plug_in(&self) {
        self.act(|table| table.cable(true));
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

    /// Pieces and clock are set up for the next game.
    pub fn set_up(&self) {
        self.act(|table| {
            table.stop();
            table.begin_anew();
            table.set_clock();
        });
    }
}

impl Drop for Players {
    fn drop(&mut self) {
        self.table().is_over = true;
    }
}

/// Answers a host until it goes, the cable is pulled or the players have gone.
fn serve(table: &Mutex<Table>, mut stream: TcpStream) {
    stream.set_read_timeout(Some(LOOK)).unwrap();
    table.lock().unwrap().has_host = true;
    let mut buffer = [0; 256];
    loop {
        let read = stream.read(&mut buffer);
        let table = &mut *table.lock().unwrap();
        table.pass();
        if table.is_over || !table.board.is_plugged() {
            return;
        }
        match read {
            Ok(0) => return,
            Ok(n) => table.hears(&buffer[..n]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
        if stream.write_all(&std::mem::take(&mut table.out)).is_err() {
            return;
        }
    }
}
