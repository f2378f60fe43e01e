//! Trouble with boards that tell whole positions, on the wire and at the board. The record is right, and
//! nobody is accused.

use crate::{
    dgt::PieceCode,
    event::{Body, Event},
    families::{BoardEnd, Protocol, chesslink::frame::frame},
    time::Millis,
    watcher::{Settings, Watcher, testing::initial_pieces},
};

mod seen;

/// From the lift of a piece until it stands elsewhere (milliseconds).
const HAND_MS: u64 = 400;

/// A board, its squares, and its watcher.
struct Bench {
    watcher: Watcher,
    board: Box<dyn BoardEnd>,
    squares: [PieceCode; 64],
    /// The board lies turned by 180 degrees.
    turned: bool,
    now: u64,
    asked: Vec<Vec<u8>>,
    events: Vec<Event>,
    reopened: u32,
}

impl Bench {
    /// A bench whose link was just opened.
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
            squares: initial_pieces(),
            turned: false,
            now: 0,
            asked: Vec::new(),
            events: Vec::new(),
            reopened: 0,
        };
        bench.drain();
        bench
    }

    /// A bench with the initial position on the board.
    fn new(protocol: Protocol) -> Self {
        let mut bench = Self::silent(protocol);
        bench.after(100);
        bench.tell();
        bench.after(2000);
        bench
    }

    /// Lets time pass.
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

    /// The bytes that the board would send about its squares.
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

    /// Moves a piece from square to square. The board reads it on each.
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

    /// Plays a half-move, and lets some time pass.
    fn play(&mut self, uci: &str) {
        self.slide(&[&uci[..2], &uci[2..]], HAND_MS);
        self.after(2000);
    }

    /// Plays a half-move that the board does not tell.
    fn play_unseen(&mut self, uci: &str) {
        self.squares[raw(&uci[2..])] = std::mem::take(&mut self.squares[raw(&uci[..2])]);
    }

    /// Lets the board come to rest, and asserts that the record has `moves` and that nobody was accused.
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

/// The index of a square in the order of the wire.
fn raw(square: &str) -> usize {
    let [file, rank] = *square.as_bytes() else {
        panic!("{square}")
    };
    usize::from(b'8' - rank) * 8 + usize::from(file - b'a')
}

#[test]
fn chesslink_frames_with_wrong_parity_do_not_count() {
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
    assert_eq!(
        bench.watcher.hardware().line_errors,
        1,
        "the wrong frames count as one piece of garbage"
    );
}

#[test]
fn half_a_chesslink_frame_costs_only_that_frame() {
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
        "there were two pieces of garbage"
    );
}

/// Another program lights lamps. The line echoes its command, with the board's answer.
#[test]
fn echoes_of_commands_for_lamps_do_not_disturb_chesslink() {
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
fn a_turned_chesslink_board_is_read_the_other_way_round() {
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
fn a_game_goes_on_after_its_board_was_unplugged() {
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
fn a_position_that_is_told_twice_counts_once() {
    for protocol in [Protocol::Chesslink, Protocol::Chessnut] {
        let mut bench = Bench::new(protocol);
        for uci in ["e2e4", "e7e5", "g1f3", "b8c6", "f3g1", "c6b8", "g1f3", "b8c6"] {
            let piece = bench.squares[raw(&uci[..2])];
            for (square, stands) in [(&uci[..2], PieceCode::EMPTY), (&uci[2..], piece)] {
                bench.squares[raw(square)] = stands;
                bench.hear(&[bench.words(), bench.words()].concat());
                // The board tells the position again at each scan.
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
fn a_piece_that_slides_through_squares_goes_to_the_last_one() {
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
fn a_low_battery_of_chessnut_is_noticed_once() {
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
        "0 means that the board does not know"
    );
}

/// The firmware is slow: it tells its position only after the third command, and its battery much later.
#[test]
fn the_driver_waits_for_a_slow_chessnut() {
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

/// Over a Bluetooth bridge, reports come in pieces of twenty bytes, break off, and stay away for seconds.
#[test]
fn chessnut_reports_with_gaps_are_read() {
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
    // Half a report comes, and then nothing for as long as two half-moves take.
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
