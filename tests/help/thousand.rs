//! A hall of a thousand boards of eighty gateways, as their topics tell of it: each half-move carries the time at which
//! it was published, and the clocks run.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::teller::Teller;

pub const BOARDS: usize = 1_000;
pub const GATEWAYS: usize = 80;
/// What stands on a board, in turns: a knight goes to and fro.
const PLACES: [&str; 2] = [
    "r1bqkb1r/pppp1ppp/2n2n2/4p3/4P3/2N2N2/PPPP1PPP/R1BQKB1R",
    "r1bqkb1r/pppp1ppp/2n2n2/4p3/4P3/2N5/PPPP1PPP/R1BQKBNR",
];
/// How often clocks are told.
const READING: Duration = Duration::from_secs(1);
/// How often something is told.
const STEP: Duration = Duration::from_millis(20);

/// The name of the board with this number, from 1 on.
pub fn key(number: usize) -> String {
    let gateway = (number - 1) * GATEWAYS / BOARDS + 1;
    format!("hall{gateway:02}/{number}")
}

pub fn white(number: usize) -> String {
    format!("Weiß, Anna {number:04}")
}

/// The time as it is written into a half-move, in milliseconds.
fn mark() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("x{}x", now.as_millis())
}

/// A board.
struct Seat {
    plies: usize,
    seq: u64,
    /// The half-moves as they are written.
    san: Vec<String>,
    open: Vec<String>,
    /// The times of White and Black when the clock was pressed last, and when that was.
    times: [i64; 2],
    pressed: Instant,
}

pub struct Hall {
    teller: Teller,
    seats: Vec<Seat>,
    read: Instant,
    /// Which clock is told next.
    next: usize,
    /// How many half-moves `play_for` has made.
    made: usize,
    /// The mark that was told last.
    pub last: String,
}

impl Hall {
    /// Tells all of it, with `played` half-moves at each board.
    pub fn tell(port: u16, played: usize) -> Self {
        let seat = || Seat {
            plies: 0,
            seq: 0,
            san: Vec::new(),
            open: Vec::new(),
            times: [5_400_000; 2],
            pressed: Instant::now(),
        };
        let mut hall = Self {
            teller: Teller::connect(port),
            seats: (0..BOARDS).map(|_| seat()).collect(),
            read: Instant::now(),
            next: 0,
            made: 0,
            last: String::new(),
        };
        hall.come_online();
        for number in 1..=BOARDS {
            for _ in 0..played {
                hall.play(number);
            }
            hall.tell_states(number);
        }
        hall
    }

    /// All gateways come online and tell the states of their boards.
    pub fn come_online(&mut self) {
        let numbers: Vec<usize> = (1..=BOARDS).collect();
        for boards in numbers.chunk_by(|a, b| gateway(*a) == gateway(*b)) {
            let gateway = gateway(boards[0]);
            let ids: Vec<String> = boards.iter().map(ToString::to_string).collect();
            let info = json!({ "version": "0", "commands": false, "boards": ids });
            self.teller.tell(&format!("{gateway}/info"), &info.to_string());
            self.teller.tell(&format!("{gateway}/status"), "online");
        }
    }

    /// All gateways lose their connection.
    pub fn go_offline(&mut self) {
        for number in (1..=BOARDS).filter(|number| *number == 1 || gateway(*number) != gateway(number - 1)) {
            self.teller
                .tell(&format!("{}/status", gateway(number)), "offline");
        }
    }

    /// All states of a board, as a gateway tells them that comes back.
    pub fn tell_states(&mut self, number: usize) {
        let at = at(number);
        self.teller.tell(&format!("{at}/status"), "online");
        let info = json!({ "model": null, "serial": format!("3.{number:05}"), "firmware": "1.0", "port": "/dev/ttyUSB0" });
        self.teller.tell(&format!("{at}/info"), &info.to_string());
        let names = format!(
            "[White \"{}\"]\n[Black \"Schwarz, Boris {number:04}\"]\n\n*\n",
            white(number)
        );
        self.teller.tell(&format!("{at}/pgn"), &names);
        self.tell_game(number);
        self.tell_position(number);
        self.tell_clock(number);
    }

    fn tell_game(&mut self, number: usize) {
        let seat = &self.seats[number - 1];
        let to_move = if seat.plies.is_multiple_of(2) {
            "white"
        } else {
            "black"
        };
        let state = json!({ "game": 1, "start_fen": null, "chess960": false, "moves": vec!["g1f3"; seat.san.len()],
            "san": seat.san, "fen": format!("{} w KQkq - 0 1", PLACES[seat.plies % 2]), "to_move": to_move, "result": "*",
            "open_irregularities": seat.open, "last_seq": seat.seq });
        self.teller
            .tell(&format!("{}/game", at(number)), &state.to_string());
    }

    fn tell_position(&mut self, number: usize) {
        let place = PLACES[self.seats[number - 1].plies % 2];
        let state = json!({ "placement": place, "fen": null, "problems": [] });
        self.teller
            .tell(&format!("{}/position", at(number)), &state.to_string());
    }

    fn tell_clock(&mut self, number: usize) {
        let seat = &self.seats[number - 1];
        let mut times = seat.times;
        times[seat.plies % 2] -= seat.pressed.elapsed().as_millis() as i64;
        // Clocks show whole seconds.
        let [white, black] = times.map(|ms| ms.max(0) / 1000 * 1000);
        let running = ["white", "black"][seat.plies % 2];
        let clock = json!({ "clock": { "white_ms": white, "black_ms": black, "running": running } });
        self.teller
            .tell(&format!("{}/clock", at(number)), &clock.to_string());
    }

    fn event(&mut self, number: usize, body: &Value) -> String {
        let seat = &mut self.seats[number - 1];
        seat.seq += 1;
        let id = format!("{}/{}", key(number), seat.seq);
        let mut event = json!({ "v": 1, "id": id, "seq": seat.seq, "board": number.to_string(), "game": 1, "t": 1.0,
            "time": jiff::Timestamp::now().to_string() });
        event
            .as_object_mut()
            .unwrap()
            .extend(body.as_object().unwrap().clone());
        let kind = body["type"].as_str().unwrap();
        self.teller
            .say(&format!("{}/event/{kind}", at(number)), &event.to_string());
        id
    }

    /// A half-move without the states after it.
    fn play(&mut self, number: usize) {
        self.last = mark();
        let seat = &mut self.seats[number - 1];
        seat.times[seat.plies % 2] -= seat.pressed.elapsed().as_millis() as i64;
        seat.pressed = Instant::now();
        seat.plies += 1;
        // Only the last of them is read.
        if let Some(before) = seat.san.last_mut() {
            *before = "Nf3".into();
        }
        seat.san.push(self.last.clone());
        let made = json!({ "type": "move", "ply": seat.plies, "uci": "g1f3", "san": self.last,
            "fen": format!("{} w KQkq - 0 1", PLACES[seat.plies % 2]), "completed_by": "clock", "clock": null, "illegal": false });
        self.event(number, &made);
    }

    /// A half-move: a piece is lifted and put down, the clock is pressed.
    pub fn half_move(&mut self, number: usize) {
        let lifted = json!({ "placement": "r1bqkb1r/pppp1ppp/2n2n2/4p3/4P3/2N5/PPPP1PPP/R1BQKB1R", "fen": null, "problems": [] });
        self.teller
            .tell(&format!("{}/position", at(number)), &lifted.to_string());
        self.play(number);
        self.tell_position(number);
        self.tell_game(number);
        self.tell_clock(number);
    }

    /// An irregularity, with the time in its title.
    pub fn case(&mut self, number: usize) {
        self.last = mark();
        let text = json!({ "title": format!("Illegal move {}", self.last), "advice": "Put it back." });
        let ruling = json!({ "penalty": { "kind": "time", "seconds": 120, "to": "black" }, "position": "reinstate_before",
            "articles": ["7.5.1"], "target_fen": null, "clock_proposal": null });
        let case = json!({ "type": "irregularity", "kind": "illegal_move", "offender": "white", "ply": 1, "certainty": "certain",
            "articles": ["7.5.1"], "squares": ["d4"], "move": "b1d4", "reason": null, "fen_before": format!("{} w KQkq - 0 31", PLACES[0]),
            "placement": PLACES[0], "clock": null, "offence_number": 1, "ruling": ruling, "text": { "en": text, "ru": text } });
        let id = self.event(number, &case);
        self.seats[number - 1].open.push(id);
        self.tell_game(number);
    }

    /// What was open at a board was put right.
    pub fn resolve(&mut self, number: usize) {
        for id in std::mem::take(&mut self.seats[number - 1].open) {
            self.event(
                number,
                &json!({ "type": "irregularity_resolved", "irregularity": id, "how": "restored" }),
            );
        }
        self.tell_game(number);
    }

    /// The board's game ends.
    pub fn end(&mut self, number: usize) {
        let state = json!({ "game": 1, "start_fen": null, "chess960": false, "moves": [], "san": [], "fen": format!("{} w KQkq - 0 1", PLACES[0]),
            "to_move": "white", "result": "1/2-1/2", "open_irregularities": [], "last_seq": self.seats[number - 1].seq });
        self.teller
            .tell(&format!("{}/game", at(number)), &state.to_string());
    }

    /// The board does not answer any more.
    pub fn lose(&mut self, number: usize) {
        self.teller.tell(&format!("{}/status", at(number)), "offline");
    }

    /// Plays `per_second` half-moves each second for some time, at one board after the other, while all clocks run.
    pub fn play_for(&mut self, time: Duration, per_second: usize) {
        let start = Instant::now();
        let mut made = 0;
        while start.elapsed() < time {
            let due = (start.elapsed().as_secs_f64() * per_second as f64) as usize;
            for _ in made..due {
                // Neighbours in the list are not neighbours in time.
                self.half_move(self.made * 7 % BOARDS + 1);
                self.made += 1;
            }
            made = due;
            self.run_clocks();
            std::thread::sleep(STEP);
        }
    }

    /// Tells the clocks whose time it is.
    fn run_clocks(&mut self) {
        let each = READING / BOARDS as u32;
        while self.read.elapsed() > each {
            self.read += each;
            self.tell_clock(self.next % BOARDS + 1);
            self.next += 1;
        }
    }
}

fn gateway(number: usize) -> String {
    key(number).split_once('/').unwrap().0.to_owned()
}

fn at(number: usize) -> String {
    key(number).replace('/', "/board/")
}
