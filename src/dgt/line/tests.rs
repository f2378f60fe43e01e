//! The master against simulated boards, in virtual time.

use super::*;
use crate::{
    capture::Capture,
    dgt::{
        Command, Decoder, Message, PieceCode,
        bus::{BusAnswer, BusCommand, read_command},
    },
    sim::{
        board::SimulatedIdentity,
        line::{SimulatedLine, Troubles},
        player::{Output, Pace, PlayedBoard},
        slave::Slave,
    },
};

mod echoes;
mod finding;
mod restart;
mod rivals;
mod twins;

/// A capture in which a pawn moves from e2 to e4 and the clock is pressed, one second after it began.
const MOVE: &str = "# dgtcap 1\n\
    0.000 < 8d 00 0a 20 03 02 20 03 02 09\n\
    1.000 < 8e 00 05 34 00\n\
    1.200 < 8e 00 05 24 01\n\
    1.400 < 8d 00 0a 20 03 02 20 03 01 13\n\
    9.000 < 8d 00 0a 20 02 55 20 03 01 13\n";

fn address(n: u16) -> Address {
    Address::new(9000 + n).unwrap()
}

/// A board with only a pawn on e2, which then plays `capture`.
fn player(capture: &str, n: u16) -> PlayedBoard {
    let squares = |n: usize| " 00".repeat(n);
    let dump = format!("# dgtcap 1\n0.000 < 86 00 43{} 01{}\n", squares(52), squares(11));
    let capture = capture.replace("# dgtcap 1\n", &dump);
    let capture = Capture::parse(capture.as_bytes()).unwrap();
    let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(n), Pace::default());
    player.on_line(Slave::new(address(n).get()))
}

/// A line with `count` boards that play [`MOVE`], a master that knows them, and its reports.
struct Rig {
    line: SimulatedLine,
    master: Master,
    now: Millis,
    said: Vec<(u64, u16, Said)>,
    /// Bytes of another program, with their times.
    other: Vec<(u64, Vec<u8>)>,
    /// The rig greets each board that comes, as a watcher does.
    is_greeted: bool,
    /// The adapter hands back what is sent through it.
    echoes: bool,
}

impl Rig {
    fn new(count: u16, troubles: Troubles) -> Self {
        Self {
            line: SimulatedLine::new((0..count).map(|n| player(MOVE, n)).collect(), troubles, 7),
            master: Master::new((0..count).map(|n| (address(n), format!("{:05}", address(n).get())))),
            now: Millis(0),
            said: Vec::new(),
            other: Vec::new(),
            is_greeted: true,
            echoes: false,
        }
    }

    fn run(&mut self, until: u64) {
        while self.now.0 < until {
            for (_, words) in self.other.extract_if(.., |(at, _)| *at <= self.now.0) {
                self.line.handle_bytes(self.now, &words);
            }
            self.line.handle_timeout(self.now);
            while let Some(output) = self.line.poll_output() {
                if let Output::Send(bytes) = output {
                    self.master.handle_bytes(self.now, &bytes);
                }
            }
            self.master.handle_timeout(self.now);
            while let Some((address, said)) = self.master.poll_said() {
                if said == Said::Here && self.is_greeted {
                    self.master.handle_watcher(address);
                    for command in [
                        Command::Serial,
                        Command::Firmware,
                        Command::Dump,
                        Command::UpdateNice,
                    ] {
                        self.master.handle_words(self.now, address, &command.bytes());
                    }
                }
                self.said.push((self.now.0, address.get(), said));
            }
            while let Some(question) = self.master.poll_transmit() {
                self.line.handle_bytes(self.now, &question);
                for byte in question.iter().filter(|_| self.echoes) {
                    self.master.handle_bytes(self.now, &[*byte]);
                }
            }
            self.now = self.now + 1;
        }
    }

    fn figures(&mut self) -> Figures {
        self.master.take_figures(self.now)
    }

    /// The reports about board `n`, in order.
    fn told(&self, n: u16) -> Vec<String> {
        let mut decoder = Decoder::new();
        let mut told = Vec::new();
        for (at, of, said) in &self.said {
            match said {
                _ if *of != address(n).get() => {}
                Said::Here => told.push("here".to_owned()),
                Said::Gone => told.push("gone".to_owned()),
                Said::Bytes(bytes) => decoder.push(Millis(*at), bytes, &mut |message| {
                    told.push(word(&message));
                }),
            }
        }
        told
    }

    /// The changes and the presses of board `n`.
    fn moves(&self, n: u16) -> Vec<String> {
        let told = self.told(n);
        let is_move = |word: &&String| word.starts_with("square") || word.starts_with("RightHigh");
        let mut moves: Vec<String> = told.iter().filter(is_move).cloned().collect();
        moves.dedup();
        moves
    }
}

fn word(message: &Message<'_>) -> String {
    match message {
        Message::Field { square, piece } => format!("square {square} {}", piece.0),
        Message::Clock(reading) => format!("{:?} {}", reading.lever, reading.left.seconds),
        Message::Dump(squares) => format!(
            "dump {}",
            squares.iter().filter(|p| **p != PieceCode::EMPTY).count()
        ),
        Message::Serial(serial) => format!("serial {serial}"),
        Message::Firmware(main, sub) => format!("firmware {main}.{sub}"),
        _ => "other".to_owned(),
    }
}

const PLAYED: [&str; 3] = ["square 52 0", "square 36 1", "RightHigh 181"];

#[test]
fn each_board_is_heard_as_if_it_had_a_line_of_its_own() {
    let mut rig = Rig::new(12, Troubles::default());
    rig.run(12_000);
    for n in 0..12 {
        let told = rig.told(n);
        // Old firmware tells no number. Newer boards alternate the ids of their changes.
        let firmware = if address(n).get().is_multiple_of(3) {
            "firmware 1.2"
        } else {
            "firmware 1.8"
        };
        assert_eq!(
            told[..3],
            [
                "here".to_owned(),
                format!("serial {:05}", 9000 + n),
                firmware.to_owned()
            ]
        );
        assert!(told.iter().any(|word| word.starts_with("dump")), "{told:?}");
        assert_eq!(rig.moves(n), PLAYED, "{told:?}");
    }
    let figures = rig.figures();
    assert!(
        figures
            .boards
            .iter()
            .all(|board| board.is_here && board.errors == Errors::default())
    );
    assert_eq!(figures.unasked, 0);
}

/// The master asks for each clock in each round, as in blitz.
#[test]
fn a_round_takes_no_longer_than_the_documents_say() {
    for (boards, most_ms) in [(12, 800), (24, 1600), (40, 2700)] {
        let mut rig = Rig::new(boards, Troubles::default());
        rig.run(20_000);
        rig.figures();
        rig.run(30_000);
        let figures = rig.figures();
        assert!(
            (1..=most_ms).contains(&figures.cycle_ms),
            "{boards} boards: {figures:?}"
        );
        assert!(figures.longest_ms <= most_ms, "{boards} boards: {figures:?}");
    }
}

#[test]
fn noise_costs_nothing_but_time() {
    let mut rig = Rig::new(
        6,
        Troubles {
            noise: 0.1,
            late_ms: 0,
        },
    );
    rig.run(30_000);
    for n in 0..6 {
        assert_eq!(rig.moves(n), PLAYED);
        assert!(!rig.told(n).contains(&"gone".to_owned()));
    }
    let damaged: u64 = rig
        .figures()
        .boards
        .iter()
        .map(|board| board.errors.damaged)
        .sum();
    assert!(damaged > 10, "{damaged}");
}

#[test]
fn the_master_waits_for_a_slow_board() {
    let mut rig = Rig::new(
        3,
        Troubles {
            noise: 0.0,
            late_ms: 80,
        },
    );
    rig.run(12_000);
    for n in 0..3 {
        assert_eq!(rig.moves(n), PLAYED);
    }
}

#[test]
fn a_board_that_is_pulled_out_is_gone_and_comes_back_while_the_others_go_on() {
    let pulled = "# dgtcap 1\n0.000 < 8d 00 0a 20 03 02 20 03 02 08\n4.000 ! down\n10.000 ! up\n20.0 < 8e 00 05 34 00\n";
    let mut rig = Rig::new(3, Troubles::default());
    rig.line.players()[1] = player(pulled, 1);
    rig.run(40_000);
    let gone: Vec<_> = rig
        .said
        .iter()
        .filter(|(.., said)| !matches!(said, Said::Bytes(_)))
        .collect();
    assert_eq!(gone.len(), 5, "{gone:?}");
    let links = |n: u16| {
        rig.told(n)
            .iter()
            .filter(|word| ["here", "gone"].contains(&word.as_str()))
            .count()
    };
    assert_eq!((links(0), links(1), links(2)), (1, 3, 1));
    let told = rig.told(1);
    let back = told.iter().rposition(|word| word == "here").unwrap();
    assert!(told[back..].contains(&"square 52 0".to_owned()), "{told:?}");
    assert_eq!(
        (rig.moves(0), rig.moves(2)),
        (
            PLAYED.map(str::to_owned).to_vec(),
            PLAYED.map(str::to_owned).to_vec()
        )
    );
}

#[test]
fn another_programs_commands_of_single_board_mode_lose_nothing() {
    let mut rig = Rig::new(4, Troubles::default());
    // Each command takes all boards off the bus, until the next question for any of them.
    rig.other = (0..40).map(|n| (2000 + n * 50, b"B".to_vec())).collect();
    rig.run(20_000);
    for n in 0..4 {
        assert_eq!(rig.moves(n), PLAYED);
        assert_eq!(rig.told(n).iter().filter(|word| *word == "gone").count(), 0);
    }
}

#[test]
fn the_master_uses_changes_that_another_program_asks_for() {
    let mut rig = Rig::new(2, Troubles::default());
    rig.other = (0..60)
        .map(|n| (1500 + n * 37, BusCommand::Changes(address(0)).bytes().to_vec()))
        .collect();
    rig.run(20_000);
    let told = rig.told(0);
    // A dump makes good what that cost, at the latest.
    let last = told.iter().rfind(|word| word.starts_with("dump")).unwrap();
    assert_eq!(last, "dump 1", "{told:?}");
    assert_eq!(rig.moves(1), PLAYED);
    assert!(rig.figures().unasked > 0);
}

/// The other program asks again and again, and mostly so soon after the master that a twin of the board could
/// have answered.
#[test]
fn another_program_is_not_taken_for_two_boards_of_one_address() {
    let mut rig = Rig::new(3, Troubles::default());
    let asks = |n: u64| BusCommand::Changes(address((n % 3) as u16)).bytes().to_vec();
    rig.other = (0..600).map(|n| (5000 + n * 100, asks(n))).collect();
    rig.run(66_000);
    for n in 0..3 {
        assert!(!rig.told(n).contains(&"gone".to_owned()), "board {n}");
    }
    let figures = rig.figures();
    assert!(figures.is_shared && figures.unasked > 100, "{figures:?}");
    assert!(
        figures.boards.iter().all(|board| !board.is_garbled),
        "{figures:?}"
    );
    // The other program has ended.
    rig.run(130_000);
    assert!(!rig.figures().is_shared);
}

/// One of two boards announces, byte by byte, a long answer with changes.
#[test]
fn a_board_that_sends_byte_by_byte_does_not_keep_the_others_waiting() {
    let (mut master, mut now) = (Rig::new(2, Troubles::default()).master, Millis(0));
    ask(&mut master, &mut now, Millis(5000), answer);
    let (mut asked, mut longest, mut said) = (now, 0, None);
    while now < Millis(60_000) {
        if let Some(question) = master.poll_transmit() {
            let (_, to) = read_command(question).unwrap();
            said = (to == address(0).get()).then_some(0);
            if said.is_none() {
                longest = longest.max(now.since(asked));
                asked = now;
                now = now + 10;
                master.handle_bytes(now, &answer(question));
            }
            continue;
        }
        let due = master.poll_timeout().unwrap().max(now);
        match &mut said {
            Some(count) if now + 30 < due => {
                now = now + 30;
                let byte = [0x85, 0x3e, 0x00].get(*count).copied().unwrap_or_default();
                *count += 1;
                master.handle_bytes(now, &[byte]);
            }
            _ => {
                now = due;
                master.handle_timeout(now);
            }
        }
    }
    assert!((1..1500).contains(&longest), "{longest} ms");
}

/// The answer of a healthy board that is alone at its address.
fn answer(question: [u8; 4]) -> Vec<u8> {
    let (code, to) = read_command(question).unwrap();
    let mut bytes = Vec::new();
    match code {
        0x81 => BusAnswer::Said(Message::NoClock),
        0x82 => BusAnswer::Said(Message::Dump(&[PieceCode::EMPTY; 64])),
        0x83 | 0x84 => BusAnswer::Changes(&[]),
        0x87 => BusAnswer::Pong,
        _ => BusAnswer::Said(Message::Firmware(1, 8)),
    }
    .encode(to, &mut bytes);
    bytes
}

/// Lets `master` ask until `until`, and gives it what `heard` makes of each question.
fn ask(master: &mut Master, now: &mut Millis, until: Millis, heard: impl Fn([u8; 4]) -> Vec<u8>) {
    while *now < until {
        match master.poll_transmit() {
            Some(question) => {
                assert_eq!(master.poll_transmit(), None, "two questions at once");
                *now = *now + 10;
                master.handle_bytes(*now, &heard(question));
            }
            None => {
                *now = master.poll_timeout().unwrap().max(*now);
                master.handle_timeout(*now);
            }
        }
    }
}

/// Another program has asked as well, and both answers come at once. The second one does not answer a
/// question that was not sent yet.
#[test]
fn the_master_asks_one_question_at_a_time_though_two_answers_come_at_once() {
    let (mut master, mut now) = (Rig::new(2, Troubles::default()).master, Millis(0));
    ask(&mut master, &mut now, Millis(5000), |question| {
        let mut bytes = answer(question);
        let (_, to) = read_command(question).unwrap();
        BusAnswer::Changes(&[]).encode(to, &mut bytes);
        bytes
    });
    assert!(master.take_figures(now).unasked > 0);
}

#[test]
fn a_line_that_was_noisy_for_hours_is_understood_soon_after() {
    let (mut master, mut now) = (Rig::new(3, Troubles::default()).master, Millis(0));
    ask(&mut master, &mut now, Millis(5000), answer);
    let noise = Millis(4 * 3_600_000);
    ask(&mut master, &mut now, noise, |_| vec![0x85, 0x00, 0x33, 0x11]);
    assert!(master.take_figures(now).boards.iter().all(|board| !board.is_here));
    ask(&mut master, &mut now, noise + 10_000, answer);
    let said: Vec<_> = std::iter::from_fn(|| master.poll_said()).collect();
    let here = said.iter().rev().take_while(|(_, said)| *said == Said::Here);
    assert_eq!(here.count(), 3, "{said:?}");
}

/// The master finds a board that nobody has configured while the others play. The search costs them no more
/// than a round has room for.
#[test]
fn a_board_that_comes_later_is_found_while_the_others_go_on() {
    let mut rig = Rig::new(12, Troubles::default());
    rig.master = std::mem::replace(&mut rig.master, Master::new([])).searching();
    rig.run(20_000);
    rig.figures();
    let late = player(MOVE, 40);
    rig.line.add(late);
    rig.run(260_000);
    let figures = rig.figures();
    assert_eq!(figures.strangers, [address(40).get()]);
    assert!(figures.longest_ms <= 800, "{figures:?}");
    assert!(
        figures
            .boards
            .iter()
            .all(|board| board.is_here && !board.is_garbled),
        "{figures:?}"
    );
    for n in 0..12 {
        assert_eq!(rig.moves(n), PLAYED);
    }
    // A master that does not search finds no strangers.
    let mut quiet = Rig::new(2, Troubles::default());
    quiet.line.add(player(MOVE, 40));
    quiet.run(70_000);
    assert!(quiet.figures().strangers.is_empty());
}
