//! A line that many simulated boards share. A board that is asked answers after a while, at the pace of 9600
//! baud. Boards that speak at the same time garble each other. It is pure: time is an argument.

use std::collections::VecDeque;

use fastrand::Rng;

use super::player::{Output, PlayedBoard};
use crate::{
    dgt::{HostDecoder, HostWord},
    time::Millis,
};

/// Microseconds of one byte at 9600 baud.
const BYTE_US: u64 = 1042;
/// Bytes that the host hears at once.
const CHUNK: usize = 8;
/// Microseconds of a question.
const QUESTION_US: u64 = 4 * BYTE_US;
/// The least and the most time from the end of a question to the beginning of its answer.
const ANSWER_US: (u64, u64) = (1_000, 9_000);
/// When all boards are asked at once, their answers begin within this time.
const SPREAD_US: u64 = 1_100_000;
/// The bus command that asks all boards whether they are there.
const PING: [u8; 3] = [0x87, 0, 0];

/// Bytes of one board that are on the wire, or will be.
#[derive(Clone, Debug)]
struct Words {
    /// When the first byte begins, in microseconds.
    begin: u64,
    bytes: Vec<u8>,
    /// How many of the bytes the host has heard.
    told: usize,
}

impl Words {
    /// When `count` of the bytes are on the wire whole.
    fn said(&self, count: usize) -> u64 {
        self.begin + count as u64 * BYTE_US
    }

    fn end(&self) -> u64 {
        self.said(self.bytes.len())
    }

    fn is_told(&self) -> bool {
        self.told == self.bytes.len()
    }

    /// When the host hears more of the bytes: it hears some at once.
    fn due(&self) -> Option<u64> {
        (!self.is_told()).then(|| self.said(self.bytes.len().min(self.told + CHUNK)))
    }
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Troubles {
    /// The chance that an answer is damaged.
    pub noise: f64,
    /// The first board answers so many milliseconds later than the others.
    pub late_ms: u64,
}

/// Boards on one line.
#[derive(Debug)]
pub struct SimulatedLine {
    players: Vec<PlayedBoard>,
    /// Reads what the host says.
    host: HostDecoder,
    words: Vec<Words>,
    troubles: Troubles,
    rng: Rng,
    /// Some boards may have left bus mode because of a word for a board with a line of its own.
    is_mixed: bool,
    /// How many games are over.
    over: usize,
    outputs: VecDeque<Output>,
}

impl SimulatedLine {
    /// A line with these boards ([`PlayedBoard::on_line`]) and these troubles. `seed` decides all that is
    /// left to chance.
    #[must_use]
    pub fn new(players: Vec<PlayedBoard>, troubles: Troubles, seed: u64) -> Self {
        Self {
            players,
            host: HostDecoder::new(),
            words: Vec::new(),
            troubles,
            rng: Rng::with_seed(seed),
            is_mixed: false,
            over: 0,
            outputs: VecDeque::new(),
        }
    }

    /// The boards of the line.
    pub fn players(&mut self) -> &mut [PlayedBoard] {
        &mut self.players
    }

    /// Another board is switched on.
    pub fn add(&mut self, player: PlayedBoard) {
        self.players.push(player);
    }

    /// Bytes from the host.
    pub fn handle_bytes(&mut self, now: Millis, bytes: &[u8]) {
        self.handle_timeout(now);
        let mut all = Vec::new();
        self.host.push(now, bytes, &mut |heard| all.push(heard));
        for heard in all {
            self.hear(now, heard);
        }
    }

    fn hear(&mut self, now: Millis, heard: HostWord) {
        let to = match heard {
            HostWord::Bus([_, high, low, _]) => u16::from(high) << 7 | u16::from(low),
            HostWord::Command(_) | HostWord::Other(_) => 0,
        };
        // A word for a board with a line of its own takes boards out of bus mode. The next bus command brings
        // each of them back, whatever its address.
        let is_bus = matches!(heard, HostWord::Bus(_));
        let to_all = to == 0 || std::mem::replace(&mut self.is_mixed, !is_bus);
        self.is_mixed = !is_bus;
        let spread = matches!(heard, HostWord::Bus([code, high, low, _]) if [code, high, low] == PING);
        for index in 0..self.players.len() {
            if to_all || self.players[index].address() == Some(to) {
                self.players[index].handle_heard(now, heard);
                self.carry_out(now, index, spread);
            }
        }
    }

    /// Does what a board wants. It begins to speak after a while.
    fn carry_out(&mut self, now: Millis, index: usize, spread: bool) {
        while let Some(output) = self.players[index].poll_output() {
            match output {
                Output::Send(bytes) => self.send(now, index, bytes, spread),
                Output::Over => self.over += 1,
                // The board's own cable is no part of the line.
                Output::Unplug | Output::Plug => continue,
            }
            if self.over == self.players.len() {
                self.outputs.push_back(Output::Over);
                self.over = 0;
            }
        }
    }

    fn send(&mut self, now: Millis, index: usize, mut bytes: Vec<u8>, spread: bool) {
        let (least, most) = if spread { (0, SPREAD_US) } else { ANSWER_US };
        let late = if index == 0 {
            self.troubles.late_ms * 1000
        } else {
            0
        };
        let begin = now.0 * 1000 + QUESTION_US + late + self.rng.u64(least..most);
        if self.rng.f64() < self.troubles.noise {
            self.damage(&mut bytes);
        }
        self.words.push(Words {
            begin,
            bytes,
            told: 0,
        });
    }

    /// Damages `bytes`: a byte is lost, or turned into another one, or comes from nowhere.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.rng.usize(0..bytes.len());
        match self.rng.u8(0..3) {
            0 => drop(bytes.remove(at)),
            1 => bytes[at] ^= 1 << self.rng.u8(0..8),
            _ => bytes.insert(at, self.rng.u8(..)),
        }
    }

    /// The time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Millis) {
        for index in 0..self.players.len() {
            if self.players[index].poll_timeout().is_some_and(|due| due <= now) {
                self.players[index].handle_timeout(now);
            }
            self.carry_out(now, index, false);
        }
        self.tell(now.0 * 1000);
    }

    /// Lets the host hear what has been said by `now` (microseconds).
    fn tell(&mut self, now: u64) {
        let is_due = |words: &Words| words.due().is_some_and(|due| due <= now);
        let mut due: Vec<usize> = (0..self.words.len())
            .filter(|index| is_due(&self.words[*index]))
            .collect();
        due.sort_by_key(|index| self.words[*index].due());
        for index in due {
            let words = &self.words[index];
            let said = (now.saturating_sub(words.begin) / BYTE_US) as usize;
            let part = words.told..said.min(words.bytes.len());
            let heard = part.clone().map(|place| self.heard(index, place)).collect();
            self.words[index].told = part.end;
            self.outputs.push_back(Output::Send(heard));
        }
        let open = self
            .words
            .iter()
            .filter(|words| !words.is_told())
            .map(|words| words.begin)
            .min();
        // Bytes that begin after these have ended cannot garble them, so these are kept no longer.
        self.words
            .retain(|words| !words.is_told() || open.is_some_and(|open| words.end() > open));
    }

    /// What the host hears of a byte while others speak, too. Where any of them pulls the line low, it is
    /// low.
    fn heard(&self, index: usize, place: usize) -> u8 {
        let at = self.words[index].said(place);
        let others = self.words.iter().enumerate().filter(|(other, _)| *other != index);
        let spoken = others.filter_map(|(_, other)| {
            let since = at.checked_sub(other.begin)?;
            other.bytes.get((since / BYTE_US) as usize)
        });
        spoken.fold(self.words[index].bytes[place], |heard, byte| heard & byte)
    }

    /// When something happens next if nobody speaks to the line.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Millis> {
        let words = self.words.iter().filter_map(Words::due);
        let words = words.map(|due| Millis(due.div_ceil(1000)));
        let players = self.players.iter().filter_map(PlayedBoard::poll_timeout);
        words.chain(players).min()
    }

    /// The next thing to do: [`Output::Send`], or [`Output::Over`] when all games are over.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The host closed the port.
    pub fn handle_hang_up(&mut self, now: Millis) {
        self.host = HostDecoder::new();
        self.words.clear();
        self.players
            .iter_mut()
            .for_each(|player| player.handle_hang_up(now));
    }
}
