//! What must hold on a line that boards share for any bytes at any time.

use dgt2mqtt::{
    dgt::{
        Decoder, Message, PieceCode,
        bus::{Address, BusAnswer, BusDecoder, read_command},
        line::{Master, Said, discovery::Discovery},
    },
    time::Millis,
};

/// The boards of the line.
const BOARDS: [u16; 3] = [1, 1025, 0x3fff];
/// Nobody is asked again sooner, unless something was heard (milliseconds, as below).
const PATIENCE: u64 = 100;
/// All boards are heard again after so long, whatever was before.
const RECOVERY: u64 = 15_000;
/// A board that is there tells all its squares within this time.
const DUMP: u64 = 5000;
/// An honest board answers so long after its question.
const ANSWER: u64 = 10;
/// A search for boards takes no longer, and for each that answers so much more.
const SEARCH: u64 = 20_000;
const SEARCH_A_BOARD: u64 = 1500;

/// Asserts every property for these bytes: a script of what happens on the line.
///
/// # Panics
/// When one does not hold.
pub(crate) fn line(data: &[u8]) {
    checksums(data);
    discovery(data);
    let mut line = SharedLine::new();
    for chunk in split(data) {
        line.play(chunk);
    }
    line.comes_back();
}

/// Chunks of a size that the data themselves choose.
fn split(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let size = usize::from(*rest.first()? >> 3) + 1;
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        Some(chunk)
    })
}

/// Whatever is told stands in a frame whose sum is right.
fn checksums(data: &[u8]) {
    let frame = |at: usize| {
        let [_, high, low, ..] = *data.get(at..)? else {
            return None;
        };
        let frame = data.get(at..at + (usize::from(high) << 7 | usize::from(low)))?;
        let (sum, summed) = frame.split_last()?;
        let right = summed.iter().map(|byte| u32::from(*byte)).sum::<u32>() % 128 == u32::from(*sum);
        let [_, _, _, high, low, ..] = *summed else {
            return None;
        };
        right.then_some(u16::from(high) << 7 | u16::from(low))
    };
    let mut right = (0..data.len()).filter_map(frame);
    BusDecoder::new().push(Millis(0), data, &mut |address, answer| {
        assert!(
            right.any(|is| is == address),
            "{answer:?} of {address} was not said"
        );
    });
}

/// A search for boards comes to its end, and finds nobody twice.
fn discovery(data: &[u8]) {
    let mut discovery = Discovery::new();
    let mut now = Millis(0);
    discovery.handle_timeout(now);
    for chunk in split(data) {
        now = now + u64::from(chunk[0]);
        while discovery.poll_transmit().is_some() {}
        discovery.handle_bytes(now, chunk);
        let due = discovery.poll_timeout();
        assert!(
            due.is_none_or(|due| due > now),
            "discovery: a deadline that does not pass"
        );
    }
    let found = discovery.found().len() as u64;
    let end = now + SEARCH + found * SEARCH_A_BOARD;
    while let Some(due) = discovery.poll_timeout() {
        assert!(due <= end, "a search without an end");
        discovery.handle_timeout(due);
        while discovery.poll_transmit().is_some() {}
    }
    let found = discovery.found();
    assert!(
        found.is_sorted_by(|a, b| a < b) && discovery.doubled().iter().all(|board| found.contains(board))
    );
}

/// A line, its boards and who watches them.
struct SharedLine {
    master: Master,
    now: Millis,
    /// The last question, until it is answered, and when it was asked.
    question: Option<[u8; 4]>,
    asked: Millis,
    /// Something was heard since.
    heard: bool,
    here: [bool; BOARDS.len()],
    /// The squares that each board last told.
    dumps: [Option<[PieceCode; 64]>; BOARDS.len()],
}

impl SharedLine {
    fn new() -> Self {
        let address = |number: u16| Some((Address::new(number)?, format!("{number:05}")));
        Self {
            master: Master::new(BOARDS.into_iter().filter_map(address)),
            now: Millis(0),
            question: None,
            asked: Millis(0),
            heard: true,
            here: [false; BOARDS.len()],
            dumps: [None; BOARDS.len()],
        }
    }

    /// The first byte of a chunk chooses what happens, the others with what.
    fn play(&mut self, chunk: &[u8]) {
        let (what, rest) = (chunk[0], &chunk[1..]);
        let first = rest.first().copied().unwrap_or_default();
        match what % 8 {
            0 => {
                self.now = self
                    .master
                    .poll_timeout()
                    .map_or(self.now, |due| due.max(self.now));
            }
            1 => self.answer(rest, false),
            2 => self.answer(rest, true),
            3 => {
                // An answer with a bit that is wrong.
                let mut bytes = self.words(rest);
                if let Some(byte) = bytes.get_mut(usize::from(first)) {
                    *byte ^= 1 << (what >> 5);
                }
                self.hear(&bytes);
            }
            4 => {
                self.now = self.now + u64::from(first);
                self.hear(rest);
            }
            5 => {
                // One that nobody asked.
                let mut bytes = Vec::new();
                BusAnswer::Changes(rest).encode(BOARDS[usize::from(first) % BOARDS.len()], &mut bytes);
                self.hear(&bytes);
            }
            6 => {
                let board = BOARDS[usize::from(first) % BOARDS.len()];
                if let Some(board) = Address::new(board) {
                    self.master.handle_words(self.now, board, rest);
                }
            }
            _ if first == 0 => {
                self.master.handle_lost();
                (self.question, self.heard) = (None, true);
            }
            _ => self.now = self.now + u64::from(first) * 50,
        }
        self.master.handle_timeout(self.now);
        self.drain();
    }

    /// What is asked is answered, with what another master asked `besides` in the same piece.
    fn answer(&mut self, changes: &[u8], besides: bool) {
        let mut bytes = self.words(changes);
        if let Some((_, to)) = self.question.and_then(read_command).filter(|_| besides) {
            BusAnswer::Changes(changes).encode(to, &mut bytes);
        }
        self.now = self.now + ANSWER;
        self.question = None;
        self.hear(&bytes);
    }

    /// What an honest board says to the last question.
    fn words(&self, changes: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Some((code, to)) = self.question.and_then(read_command) else {
            return bytes;
        };
        let squares = stands();
        let answer = match code {
            0x81 => clock_of(changes),
            0x82 => BusAnswer::Said(Message::Dump(&squares)),
            0x83 | 0x84 => BusAnswer::Changes(changes),
            0x87 => BusAnswer::Pong,
            _ => BusAnswer::Said(Message::Firmware(1, 8)),
        };
        answer.encode(to, &mut bytes);
        bytes
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.heard |= !bytes.is_empty();
        self.master.handle_bytes(self.now, bytes);
        self.drain();
    }

    /// Whatever came: one question at a time, which harms nobody, and what is told of a board is what a board says.
    fn drain(&mut self) {
        let due = self.master.poll_timeout();
        assert!(
            due.is_some_and(|due| due > self.now),
            "a deadline that does not pass"
        );
        if let Some(question) = self.master.poll_transmit() {
            let (code, to) = read_command(question).unwrap_or_default();
            assert!(
                [0x81, 0x82, 0x83, 0x84, 0x87, 0x8b].contains(&code) && BOARDS.contains(&to),
                "{question:02x?} is asked"
            );
            let waited = self.heard || self.now.since(self.asked) >= PATIENCE;
            assert!(waited, "{question:02x?} is asked into an answer");
            (self.question, self.asked, self.heard) = (Some(question), self.now, false);
        }
        assert_eq!(self.master.poll_transmit(), None, "two questions at once");
        while let Some((board, said)) = self.master.poll_said() {
            let at = BOARDS.iter().position(|number| *number == board.get());
            let at = at.expect("a board of this line");
            match said {
                Said::Here => {
                    self.here[at] = true;
                    self.master.handle_watcher(board);
                    self.master.handle_words(self.now, board, b"MEBKA");
                }
                Said::Gone => self.here[at] = false,
                Said::Bytes(bytes) => {
                    let mut decoder = Decoder::new();
                    decoder.push(self.now, &bytes, &mut |message| {
                        if let Message::Dump(squares) = message {
                            self.dumps[at] = Some(*squares);
                        }
                    });
                    assert_eq!(decoder.stats().damage(), 0, "what is told is damaged");
                }
            }
        }
    }

    /// From now on all boards answer, and nothing else is heard: each is there, and tells what stands on it.
    fn comes_back(&mut self) {
        self.goes_well(RECOVERY);
        assert_eq!(self.here, [true; BOARDS.len()], "who answers is heard");
        self.dumps = [None; BOARDS.len()];
        for board in BOARDS.into_iter().filter_map(Address::new) {
            self.master.handle_watcher(board);
            self.master.handle_words(self.now, board, b"B");
        }
        self.goes_well(DUMP);
        assert_eq!(
            self.dumps,
            [Some(stands()); BOARDS.len()],
            "what stands there is told"
        );
        let boards = self.master.take_figures(self.now).boards;
        assert!(boards.iter().all(|board| board.is_here && !board.is_garbled));
    }

    fn goes_well(&mut self, ms: u64) {
        let end = self.now + ms;
        while self.now < end {
            if self.question.is_some() {
                self.answer(&[], false);
            } else if let Some(due) = self.master.poll_timeout() {
                self.now = due;
                self.master.handle_timeout(due);
                self.drain();
            }
        }
    }
}

/// What stands on all boards.
fn stands() -> [PieceCode; 64] {
    std::array::from_fn(|square| PieceCode(square as u8 % 13))
}

/// A clock that shows what the data choose, or none.
fn clock_of(data: &[u8]) -> BusAnswer<'static> {
    let mut told = Message::NoClock;
    if let Some(bytes) = data.first_chunk::<7>() {
        let payload = bytes.map(|byte| byte & 0x7f);
        let frame = [&[0x8d, 0, 10][..], &payload].concat();
        Decoder::new().push(Millis(0), &frame, &mut |message| {
            if let Message::Clock(reading) = message {
                told = Message::Clock(reading);
            }
        });
    }
    BusAnswer::Said(told)
}
