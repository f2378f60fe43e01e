//! Trouble with boards that tell whole positions, on the wire and at the board: the moves are right, and nobody is accused.

use crate::{
    dgt::PieceCode,
    event::{Body, Event},
    families::{BoardEnd, Protocol, chesslink::frame::frame},
    time::Millis,
    watcher::{Settings, Watcher, testing::initial_men},
};

mod seen;

/// From the lift of a piece until it stands elsewhere (milliseconds).
const HAND_MS: u64 = 400;

/// A board, what stands on it, and who watches it.
struct Bench {
    watcher: Watcher,
    board: Box<dyn BoardEnd>,
    squares: [PieceCode; 64],
    /// Its line is towards Black.
    turned: bool,
    now: u64,
    asked: Vec<Vec<u8>>,
    events: Vec<Event>,
    reopened: u32,
}

impl Bench {
    /// A link that was just opened.
    fn silent(protocol: Protocol) -> Self {
        let settings = Settings {
            protocol,
            ..Settings::default()
        };
        let mut watcher = Watcher::new(settings, None);
        watcher.handle_link_up(Millis(0), "port");
        let mut bench = Self {
            watcher,
            board: (protocol.family().unwrap().board)(),
            squares: initial_men(),
            turned: false,
            now: 0,
            asked: Vec::new(),
            events: Vec::new(),
            reopened: 0,
        };
        bench.drain();
        bench
    }

    /// With the initial array.
    fn new(protocol: Protocol) -> Self {
        let mut bench = Self::silent(protocol);
        bench.after(100);
        bench.tell();
        bench.after(2000);
        bench
    }

    /// Time passes.
    fn after(&mut self, ms: u64) {
        let until = self.now + ms;
        while let Some(due) = self.watcher.poll_timeout().filter(|due| due.0 <= until) {
            self.watcher.handle_timeout(due);
            self.drain();
        }
        self.now = until;
    }

    fn drain(&mut self) {
        while let Some(command) = self.watcher.poll_transmit() {
            self.asked.push(command.to_vec());
        }
        self.reopened += u32::from(self.watcher.poll_wish().is_some());
        self.events
            .extend(std::iter::from_fn(|| self.watcher.poll_event()));
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.watcher.handle_bytes(Millis(self.now), bytes);
        self.drain();
    }

    /// What the board would say of what stands on it.
    fn words(&self) -> Vec<u8> {
        let mut squares = self.squares;
        if self.turned {
            squares.reverse();
        }
        self.board.tell(&squares)
    }

    fn tell(&mut self) {
        self.hear(&self.words());
    }

    /// A piece goes from square to square and is read on each of them.
    fn slide(&mut self, squares: &[&str], ms: u64) {
        for pair in squares.windows(2) {
            let piece = std::mem::take(&mut self.squares[raw(pair[0])]);
            self.tell();
            self.after(ms);
            self.squares[raw(pair[1])] = piece;
            self.tell();
            self.after(ms);
        }
    }

    /// A half-move, and some time to think.
    fn play(&mut self, uci: &str) {
        self.slide(&[&uci[..2], &uci[2..]], HAND_MS);
        self.after(2000);
    }

    /// A half-move of which the host is told nothing.
    fn play_unseen(&mut self, uci: &str) {
        self.squares[raw(&uci[2..])] = std::mem::take(&mut self.squares[raw(&uci[..2])]);
    }

    /// After a rest, these half-moves were played, and nothing else was said of the players.
    fn has_played(&mut self, moves: &[&str]) {
        for _ in 0..10 {
            self.after(1000);
            self.tell();
        }
        assert_eq!(self.watcher.game().moves, moves);
        for event in &self.events {
            assert!(!matches!(event.body, Body::Irregularity(_)), "{:?}", event.body);
        }
    }

    fn notices(&self) -> Vec<&str> {
        let code = |event| match event {
            &Event {
                body: Body::Notice { ref code, .. },
                ..
            } => Some(code.as_ref()),
            _ => None,
        };
        self.events.iter().filter_map(code).collect()
    }
}

/// Where a square is, in the order of the wire.
fn raw(square: &str) -> usize {
    let [file, rank] = *square.as_bytes() else {
        panic!("{square}")
    };
    usize::from(b'8' - rank) * 8 + usize::from(file - b'a')
}

#[test]
fn chesslink_with_wrong_parity_is_not_believed() {
    let mut bench = Bench::new(Protocol::Chesslink);
    bench.play("e2e4");
    let stands = bench.squares;
    bench.play_unseen("d2d4");
    let mut wrong = bench.words();
    wrong[40] ^= 0x80;
    for _ in 0..20 {
        bench.hear(&wrong);
        bench.after(500);
    }
    bench.squares = stands;
    bench.play("e7e5");
    bench.has_played(&["e2e4", "e7e5"]);
    assert_eq!(bench.watcher.hardware().line_errors, 1, "one piece of garbage");
}

#[test]
fn chesslink_with_half_a_frame_costs_that_frame() {
    let mut bench = Bench::new(Protocol::Chesslink);
    bench.play("e2e4");
    let whole = bench.words();
    for cut in [1, 30, 65, 66] {
        bench.hear(&whole[..cut]);
        bench.after(100);
    }
    bench.play("e7e5");
    bench.hear(&whole[40..]);
    bench.play("g1f3");
    bench.has_played(&["e2e4", "e7e5", "g1f3"]);
    assert_eq!(
        bench.watcher.hardware().line_errors,
        2,
        "twice something that was no frame"
    );
}

/// Another program lights lamps: its command comes back over the line, with the board's answer.
#[test]
fn chesslink_with_an_echo_of_a_command_for_lamps() {
    let mut bench = Bench::new(Protocol::Chesslink);
    let lamps = frame(&format!("L32{}", "0F".repeat(81)));
    for uci in ["e2e4", "e7e5", "g1f3"] {
        for echo in [&lamps, &frame("l"), &frame("X"), &frame("x"), &frame("S")] {
            bench.hear(echo);
        }
        bench.play(uci);
        bench.hear(&[&lamps[..], &bench.words(), &lamps].concat());
    }
    bench.has_played(&["e2e4", "e7e5", "g1f3"]);
    let is_lamps = |asked: &Vec<u8>| matches!(asked[0] & 0x7f, b'L' | b'X');
    assert!(!bench.asked.iter().any(is_lamps));
}

#[test]
fn chesslink_that_is_turned_is_read_the_other_way_round() {
    let mut bench = Bench::silent(Protocol::Chesslink);
    bench.turned = true;
    bench.tell();
    bench.after(2000);
    for uci in ["e2e4", "e7e5", "g1f3", "b8c6"] {
        bench.play(uci);
    }
    bench.has_played(&["e2e4", "e7e5", "g1f3", "b8c6"]);
}

#[test]
fn boards_that_are_unplugged_in_mid_game_go_on_where_they_stand() {
    for protocol in [Protocol::Chesslink, Protocol::Chessnut] {
        for unseen in [&[][..], &["g1f3"], &["g1f3", "b8c6"]] {
            let mut bench = Bench::new(protocol);
            bench.play("e2e4");
            bench.play("e7e5");
            bench.after(8000);
            bench.hear(&bench.words()[..20]);
            bench
                .watcher
                .handle_link_down(Millis(bench.now), "the cable is out");
            for uci in unseen {
                bench.play_unseen(uci);
            }
            bench.after(30_000);
            bench.watcher.handle_link_up(Millis(bench.now), "port");
            bench.after(300);
            bench.tell();
            bench.after(2000);
            let next = if unseen.len() == 1 { "b8c6" } else { "f1c4" };
            bench.play(next);
            let all = [&["e2e4", "e7e5"], unseen, &[next]].concat();
            bench.has_played(&all);
        }
    }
}

#[test]
fn what_is_told_twice_is_played_once() {
    for protocol in [Protocol::Chesslink, Protocol::Chessnut] {
        let mut bench = Bench::new(protocol);
        for uci in ["e2e4", "e7e5", "g1f3", "b8c6", "f3g1", "c6b8", "g1f3", "b8c6"] {
            let piece = bench.squares[raw(&uci[..2])];
            for (square, stands) in [(&uci[..2], PieceCode::EMPTY), (&uci[2..], piece)] {
                bench.squares[raw(square)] = stands;
                bench.hear(&[bench.words(), bench.words()].concat());
                // As at each scan.
                for _ in 0..10 {
                    bench.after(41);
                    bench.tell();
                }
            }
            bench.after(2000);
        }
        bench.has_played(&["e2e4", "e7e5", "g1f3", "b8c6", "f3g1", "c6b8", "g1f3", "b8c6"]);
    }
}

#[test]
fn a_piece_that_is_slid_through_squares_goes_to_the_last() {
    for protocol in [Protocol::Chesslink, Protocol::Chessnut] {
        for ms in [40, 150, 300] {
            let mut bench = Bench::new(protocol);
            bench.slide(&["e2", "e3", "e4"], ms);
            bench.after(2000);
            bench.play("e7e5");
            bench.slide(&["d1", "e2", "f3", "g4", "h5"], ms);
            bench.after(2000);
            bench.play("b8c6");
            bench.slide(&["f1", "e2", "d3", "c4"], ms);
            bench.after(2000);
            bench.play("d7d6");
            bench.has_played(&["e2e4", "e7e5", "d1h5", "b8c6", "f1c4", "d7d6"]);
        }
    }
}

#[test]
fn chessnut_with_a_low_battery_is_said_once() {
    let mut bench = Bench::new(Protocol::Chessnut);
    for (percent, charging) in [(40, 0), (15, 0), (14, 0), (0, 0), (14, 0)] {
        bench.hear(&[0x2a, 0x02, percent, charging]);
        bench.after(60_000);
    }
    assert_eq!(bench.notices(), ["board_battery_low"]);
    let battery = bench.watcher.info().battery.unwrap();
    assert_eq!(
        (battery.percent, battery.charging),
        (14, false),
        "0 is told by boards that do not know"
    );
}

/// Its firmware takes its time: it tells its position only when it was told to thrice, and its battery much later.
#[test]
fn chessnut_that_answers_late_is_waited_for() {
    let mut bench = Bench::silent(Protocol::Chessnut);
    bench.after(5500);
    let tells = bench.asked.iter().filter(|asked| asked[0] == 0x21).count();
    assert_eq!(tells, 3, "{:?}", bench.asked);
    bench.tell();
    bench.after(2000);
    bench.play("e2e4");
    bench.hear(&[0x2a, 0x02, 88, 0]);
    bench.play("e7e5");
    bench.has_played(&["e2e4", "e7e5"]);
    assert_eq!(
        (bench.reopened, bench.watcher.info().battery.unwrap().percent),
        (0, 88)
    );
}

/// As over a bridge from Bluetooth: reports come in pieces of twenty bytes, break off, and stay away for seconds.
#[test]
fn chessnut_with_gaps_is_read() {
    let mut bench = Bench::new(Protocol::Chessnut);
    for uci in ["e2e4", "e7e5"] {
        let piece = bench.squares[raw(&uci[..2])];
        for (square, stands) in [(&uci[..2], PieceCode::EMPTY), (&uci[2..], piece)] {
            bench.squares[raw(square)] = stands;
            for piece in bench.words().chunks(20) {
                bench.hear(piece);
                bench.after(30);
            }
            bench.after(300);
        }
        bench.after(2000);
    }
    // Half a report, and nothing for as long as two half-moves take.
    bench.hear(&bench.words()[..20]);
    bench.after(1000);
    bench.play_unseen("g1f3");
    bench.after(1500);
    bench.play_unseen("b8c6");
    bench.after(1500);
    bench.tell();
    bench.after(2000);
    bench.play("f1c4");
    bench.has_played(&["e2e4", "e7e5", "g1f3", "b8c6", "f1c4"]);
    assert_eq!(bench.reopened, 0);
}
