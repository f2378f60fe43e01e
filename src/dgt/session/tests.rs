use super::{
    dumps::{MEND, SETTLED},
    *,
};
use crate::dgt::{
    Decoder,
    clock::{ClockReading, Lever},
};

mod haste;
mod log;

/// Whether the scripted board answers commands.
#[derive(Clone, Copy, PartialEq)]
enum Power {
    On,
    Off,
}

/// A board as a session sees it. It answers at once, and reports only in its mode.
struct Board {
    power: Power,
    reports: bool,
    squares: [PieceCode; 64],
    /// Until when bytes fill the line. What the board sends meanwhile waits.
    log_until: Option<Millis>,
    /// The line holds the bytes back. Commands still reach the board.
    line_is_still: bool,
    held_back: Vec<Vec<u8>>,
}

impl Board {
    fn new() -> Self {
        Self {
            power: Power::On,
            reports: false,
            squares: [PieceCode::EMPTY; 64],
            log_until: None,
            line_is_still: false,
            held_back: Vec::new(),
        }
    }
}

/// A session and a board, joined in virtual time.
struct Bench {
    now: Millis,
    session: Session,
    decoder: Decoder,
    board: Board,
    said: Vec<(u64, Command)>,
    wishes: Vec<u64>,
    /// Number of changes of squares that came through.
    fields: usize,
    /// Number of gaps that the session reported.
    gaps: usize,
}

impl Bench {
    fn new() -> Self {
        Self {
            now: Millis(0),
            session: Session::new(),
            decoder: Decoder::new(),
            board: Board::new(),
            said: Vec::new(),
            wishes: Vec::new(),
            fields: 0,
            gaps: 0,
        }
    }

    fn connected() -> Self {
        let mut bench = Self::new();
        bench.session.link_up(bench.now);
        bench.run(5000);
        assert_eq!(bench.session.state(), SessionState::Up);
        bench
    }

    /// Lets time pass, from deadline to deadline.
    fn run(&mut self, ms: u64) {
        let end = self.now + ms;
        for _ in 0..10_000 {
            self.drain();
            let log = self.board.log_until;
            let next = [self.session.poll_timeout(), log].into_iter().flatten().min();
            match next.filter(|next| *next <= end) {
                Some(next) => self.now = self.now.max(next),
                None => {
                    self.now = end;
                    return;
                }
            }
            if log.is_some_and(|until| self.now >= until) {
                self.come_late();
            }
            self.session.handle_timeout(self.now);
            let next = self.session.poll_timeout();
            assert!(
                next.is_none_or(|next| next > self.now),
                "a deadline that does not pass"
            );
        }
        panic!("the session does not come to rest");
    }

    /// Delivers the bytes that were held back, and then the answers to them.
    fn come_late(&mut self) {
        let line_is_still = self.board.line_is_still;
        while !self.board.held_back.is_empty() {
            self.board.log_until = self.board.log_until.filter(|_| line_is_still);
            for bytes in std::mem::take(&mut self.board.held_back) {
                self.deliver(&bytes);
            }
        }
        self.board.log_until = None;
        self.board.line_is_still = false;
    }

    fn drain(&mut self) {
        while let Some(command) = self.session.poll_transmit() {
            self.said.push((self.now.0, command));
            self.answer(command);
        }
        if self.session.poll_wish().is_some() {
            self.wishes.push(self.now.0);
        }
    }

    fn answer(&mut self, command: Command) {
        if self.board.power == Power::Off {
            return;
        }
        assert!(
            self.board.log_until.is_none() || self.board.line_is_still,
            "{command:?} while the log fills the line"
        );
        let stopped = ClockReading::of_seconds(0, 0, false, Lever::LeftHigh);
        let squares = self.board.squares;
        match command {
            Command::Reset => self.board.reports = false,
            Command::UpdateNice => self.board.reports = true,
            Command::Firmware => self.send(&Message::Firmware(1, 8)),
            Command::Serial => self.send(&Message::Serial("01025")),
            Command::LongSerial => self.send(&Message::Serial("3000000001")),
            Command::Dump => self.send(&Message::Dump(&squares)),
            Command::Clock => self.send(&Message::Clock(stopped)),
            Command::EventLog => {
                self.board.log_until = Some(self.now + 8270);
                self.send(&Message::EventLog(&[0x6f, 0x6b]));
            }
            // This board has no battery.
            Command::Battery => {}
            other => panic!("{other:?}"),
        }
    }

    fn send(&mut self, message: &Message<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        if self.board.log_until.is_some() {
            self.board.held_back.push(bytes);
        } else {
            self.deliver(&bytes);
        }
    }

    fn deliver(&mut self, bytes: &[u8]) {
        let Self {
            now,
            session,
            decoder,
            fields,
            gaps,
            ..
        } = self;
        decoder.push(*now, bytes, &mut |message| {
            *fields += usize::from(matches!(message, Message::Field { .. }));
            session.heard(*now, &message);
            *gaps += usize::from(session.take_gap());
        });
        session.check_line(*now, decoder.stats());
        self.drain();
    }

    /// Puts a piece on a square. The board reports it only in a mode that reports.
    fn put(&mut self, square: u8, piece: u8) {
        let piece = PieceCode(piece);
        self.board.squares[usize::from(square)] = piece;
        if self.board.power == Power::On && self.board.reports {
            self.send(&Message::Field { square, piece });
        }
    }

    fn commands_since(&self, since: u64) -> Vec<Command> {
        self.said
            .iter()
            .filter(|(at, _)| *at >= since)
            .map(|(_, command)| *command)
            .collect()
    }

    fn times_of(&self, wanted: Command) -> Vec<u64> {
        self.said
            .iter()
            .filter(|(_, command)| *command == wanted)
            .map(|(at, _)| *at)
            .collect()
    }
}

#[test]
fn the_handshake_of_a_board_that_answers() {
    let bench = Bench::connected();
    let expected = [
        (300, Command::Reset),
        (400, Command::Firmware),
        (500, Command::Serial),
        (600, Command::LongSerial),
        (700, Command::Dump),
        (800, Command::UpdateNice),
        (900, Command::Clock),
        // This dump shows changes between the first dump and the mode.
        (1200, Command::Dump),
    ];
    assert_eq!(bench.said[..8], expected);
    assert_eq!(bench.session.identity().serial(), Some("3000000001"));
    assert_eq!(bench.session.identity().firmware, Some((1, 8)));
    assert_eq!(bench.wishes, [0_u64; 0]);
}

#[test]
fn commands_keep_their_distance() {
    let mut bench = Bench::connected();
    for round in 0..50 {
        bench.put(52, round % 2);
        bench.session.request_dump(bench.now);
        bench.run(u64::from(round) * 37);
    }
    for pair in bench.said.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= PACE, "{pair:?}");
    }
}

#[test]
fn a_board_that_never_answers_is_asked_again_and_then_reopened() {
    let mut bench = Bench::new();
    bench.board.power = Power::Off;
    bench.session.link_up(Millis(0));
    bench.run(30_000);
    assert_eq!(bench.session.state(), SessionState::Greeting);
    assert_eq!(bench.times_of(Command::Firmware)[..3], [400, 2300, 4300]);
    assert_eq!(bench.times_of(Command::Dump), [0_u64; 0]);
    assert_eq!(bench.wishes[0], 6300);
    // The session repeats its wish until the caller reopens the port.
    assert!(bench.wishes.len() >= 4, "{:?}", bench.wishes);
    // The board is switched on at last.
    bench.board.power = Power::On;
    bench.run(4000);
    assert_eq!(bench.session.state(), SessionState::Up);
}

#[test]
fn a_board_that_talks_but_does_not_tell_its_firmware_is_accepted() {
    let mut session = Session::new();
    session.link_up(Millis(0));
    let mut asked = Vec::new();
    for second in 1..10 {
        let now = Millis(second * 1000);
        session.handle_timeout(now);
        session.heard(
            now,
            &Message::Field {
                square: 0,
                piece: PieceCode(1),
            },
        );
        asked.extend(session.poll_transmit());
        assert_eq!(session.poll_wish(), None);
    }
    assert!(asked.contains(&Command::Serial), "{asked:?}");
}

#[test]
fn a_board_that_is_streaming_already_gets_the_same_handshake() {
    let mut bench = Bench::new();
    bench.board.reports = true;
    bench.session.link_up(Millis(0));
    for square in 0..10 {
        bench.put(square, 1);
        bench.run(50);
    }
    bench.run(2000);
    assert_eq!(bench.session.state(), SessionState::Up);
    assert!(bench.board.reports);
    // The second dump shows changes of the time in which the board did not report.
    assert!(bench.times_of(Command::Dump).len() >= 2);
}

#[test]
fn a_quiet_board_is_dumped_every_five_seconds_and_a_change_is_verified() {
    let mut bench = Bench::connected();
    bench.run(20_000);
    let dumps = bench.times_of(Command::Dump);
    for pair in dumps[1..].windows(2) {
        assert!((4900..5200).contains(&(pair[1] - pair[0])), "{dumps:?}");
    }
    let changed = bench.now.0;
    bench.put(52, 0);
    bench.run(200);
    bench.put(36, 1);
    bench.run(1500);
    let dumps: Vec<u64> = bench.times_of(Command::Dump);
    assert_eq!(dumps.last(), Some(&(changed + 200 + SETTLED)));
}

#[test]
fn silence_replays_the_handshake_and_then_asks_to_reopen() {
    let mut bench = Bench::connected();
    bench.run(10_000);
    let dark = bench.now.0;
    bench.board.power = Power::Off;
    bench.run(6000);
    assert_eq!(bench.session.state(), SessionState::Greeting);
    assert_eq!(bench.wishes, [0_u64; 0]);
    let called = |at: &&u64| **at > dark + KEEP_ALIVE;
    let modes = bench.times_of(Command::UpdateNice);
    let greeted = modes.iter().find(called).copied().unwrap();
    assert!(greeted - dark <= 5000 + PACE, "{}", greeted - dark);
    bench.run(10_000);
    assert!(!bench.wishes.is_empty());
    bench.session.link_down(bench.now);
    assert_eq!(bench.session.poll_timeout(), None);
    assert_eq!(bench.session.identity().serial(), Some("3000000001"));
    bench.session.link_up(bench.now);
    assert_eq!(
        bench.session.identity().serial(),
        None,
        "the new link may lead to another board"
    );
    bench.board.power = Power::On;
    bench.run(3000);
    assert_eq!(bench.session.state(), SessionState::Up);
}

#[test]
fn the_first_dump_after_a_board_was_told_to_be_quiet_comes_after_a_gap() {
    let mut bench = Bench::connected();
    bench.run(10_000);
    assert_eq!(bench.gaps, 0, "the first dump of a link comes after no gap");
    bench.board.power = Power::Off;
    bench.run(6000);
    bench.board.power = Power::On;
    bench.run(3000);
    assert_eq!(bench.session.state(), SessionState::Up);
    assert_eq!(bench.gaps, 1);
}

/// A line stands still for longer than a board may be silent. Commands still reach the board at once.
#[test]
fn a_board_whose_bytes_are_late_is_not_told_to_be_quiet() {
    for silence in [5500, 7500, 9500] {
        let mut bench = Bench::connected();
        bench.run(10_000);
        let still = bench.now.0;
        bench.board.log_until = Some(bench.now + silence);
        bench.board.line_is_still = true;
        bench.run(1000);
        bench.put(52, 0);
        bench.run(silence - 2000);
        bench.put(36, 1);
        bench.run(4000);
        assert_eq!(bench.session.state(), SessionState::Up, "{silence}");
        let said = bench.commands_since(still);
        assert!(!said.contains(&Command::Reset), "{silence}: {said:?}");
        assert_eq!((bench.gaps, bench.fields), (0, 2), "{silence}: all changes came");
    }
}

#[test]
fn a_power_cycle_that_nobody_noticed_shows_in_the_next_dump() {
    let mut bench = Bench::connected();
    bench.put(52, 1);
    bench.run(7000);
    bench.board.reports = false;
    let lost = bench.now.0;
    bench.put(52, 0);
    bench.run(6000);
    assert!(bench.board.reports, "{:?}", bench.commands_since(lost));
    bench.put(36, 1);
    assert_eq!(bench.fields, 2);
}

#[test]
fn a_running_clock_that_stops_talking_has_its_mode_restored() {
    let mut bench = Bench::connected();
    let running = ClockReading::of_seconds(100, 0, true, Lever::LeftHigh);
    for _ in 0..10 {
        bench.send(&Message::Clock(running));
        bench.run(1000);
    }
    let modes = bench.times_of(Command::UpdateNice).len();
    assert_eq!(
        modes, 1,
        "while the clock sends frames, the mode is not set again"
    );
    bench.run(CLOCK_SILENCE);
    assert_eq!(bench.times_of(Command::UpdateNice).len(), 2);
}

#[test]
fn damage_on_the_line_asks_for_a_dump_soon() {
    let mut bench = Bench::connected();
    bench.run(600);
    let hit = bench.now.0;
    bench.deliver(&[0x8e, 0x00, 0x05, 0x34, 0x8e]);
    bench.run(MEND + PACE);
    assert!(bench.commands_since(hit).contains(&Command::Dump));
}

#[test]
fn a_board_stuck_at_nothing_is_greeted_anew() {
    let mut bench = Bench::connected();
    let stuck = bench.now.0;
    bench.deliver(&[0x80, 0, 0].repeat(NOTHINGS as usize));
    bench.run(1000);
    assert!(bench.commands_since(stuck).contains(&Command::Reset));
    assert_eq!(bench.session.state(), SessionState::Up);
}

#[test]
fn without_a_link_nothing_is_wanted() {
    let mut session = Session::new();
    session.heard(Millis(5), &Message::Firmware(1, 8));
    session.request_dump(Millis(6));
    session.request_event_log(Millis(7));
    session.handle_timeout(Millis(8));
    assert_eq!(session.poll_transmit(), None);
    assert_eq!(session.poll_timeout(), None);
    assert_eq!(session.poll_wish(), None);
}

#[test]
fn a_board_with_a_battery_is_asked_for_it_again_and_again_and_others_once() {
    let mut bench = Bench::connected();
    bench.run(200_000);
    assert_eq!(
        bench.times_of(Command::Battery).len(),
        1,
        "the board has no battery"
    );
    let mut bench = Bench::connected();
    for _ in 0..20 {
        bench.run(10_000);
        if !bench.times_of(Command::Battery).is_empty() {
            break;
        }
    }
    let battery = crate::dgt::Battery {
        percent: 84,
        ..crate::dgt::Battery::default()
    };
    let mut frame = Vec::new();
    Message::Battery(battery).encode(&mut frame);
    bench.deliver(&frame);
    bench.run(59_000);
    assert_eq!(bench.times_of(Command::Battery).len(), 1);
    bench.run(2000);
    assert_eq!(bench.times_of(Command::Battery).len(), 2);
}
