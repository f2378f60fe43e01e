//! Finds the boards of a line. The discovery asks all boards at once, and each answers at some moment within
//! a second (protocol 2.6). Answers collide. So the discovery tells each board that it understood to be
//! quiet, and asks again, until no new board answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    super::bus::{Address, BusAnswer, BusCommand, BusDecoder},
    echo::Echo,
};
use crate::time::Millis;

/// How long answers to a question to all may take (milliseconds).
const WINDOW: u64 = 1500;
/// How long the answer of one board may take.
const ANSWER: u64 = 105;
/// After this many rounds in a row without a new board, there are no more.
const QUIET: u32 = 2;
/// A board answers in each round, or confirms that it will be quiet: an address that was heard once is two answers that collided.
const HEARD: u32 = 2;
/// Most rounds, whatever comes.
const MOST: u32 = 12;

/// Looks for boards. It is a state machine like the [`Master`](super::Master).
#[derive(Debug, Default)]
pub struct Discovery {
    decoder: BusDecoder,
    echo: Echo,
    /// How often each address has answered.
    found: BTreeMap<Address, u32>,
    /// Boards that answered in this round. No board answers twice.
    answered: BTreeSet<Address>,
    doubled: BTreeSet<Address>,
    /// Boards that the discovery still has to tell to be quiet.
    to_hush: VecDeque<Address>,
    until: Option<Millis>,
    pings: bool,
    rounds: u32,
    quiet: u32,
    is_new: bool,
    damage: u64,
    out: VecDeque<[u8; 4]>,
    is_over: bool,
}

impl Discovery {
    /// A discovery that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The boards that answered.
    #[must_use]
    pub fn found(&self) -> Vec<Address> {
        let heard = self.found.iter().filter(|(_, times)| **times >= HEARD);
        heard.map(|(address, _)| *address).collect()
    }

    /// Addresses from which two boards answered.
    #[must_use]
    pub fn doubled(&self) -> Vec<Address> {
        self.doubled.iter().copied().collect()
    }

    /// True when no new board answers any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes bytes of the line, in any split.
    pub fn handle_bytes(&mut self, now: Millis, bytes: &[u8]) {
        let mut pongs = Vec::new();
        self.decoder
            .push(now, &self.echo.strip(bytes), &mut |address, answer| {
                if answer == BusAnswer::Pong {
                    pongs.extend(Address::new(address));
                }
            });
        for address in pongs {
            let times = self.found.entry(address).or_default();
            *times += 1;
            self.is_new |= *times == 1;
            if self.pings && !self.answered.insert(address) {
                self.doubled.insert(address);
            }
            if !self.pings {
                // The board was told to be quiet, and has confirmed it.
                self.until = None;
            }
        }
        self.handle_timeout(now);
    }

    /// The time of [`Self::poll_timeout`] has come (calling it earlier or later does no harm).
    pub fn handle_timeout(&mut self, now: Millis) {
        if self.is_over || self.until.is_some_and(|until| now < until) {
            return;
        }
        if std::mem::take(&mut self.pings) {
            self.end_round();
            if self.is_over {
                return;
            }
        }
        self.decoder.clear();
        let (command, wait) = match self.to_hush.pop_front() {
            Some(address) => (BusCommand::IgnoreNextPing(address), ANSWER),
            None => {
                self.pings = true;
                self.answered.clear();
                (BusCommand::Ping(None), WINDOW)
            }
        };
        self.out.push_back(command.bytes());
        self.until = Some(now + wait);
    }

    fn end_round(&mut self) {
        self.rounds += 1;
        let damage = self.decoder.stats().damage();
        let collided = std::mem::replace(&mut self.damage, damage) != damage;
        let is_quiet = !std::mem::take(&mut self.is_new) && !collided;
        self.quiet = if is_quiet { self.quiet + 1 } else { 0 };
        self.is_over = self.quiet >= QUIET || self.rounds >= MOST;
        self.to_hush = self.found.keys().copied().collect();
    }

    /// When to call [`Self::handle_timeout`] at the latest; none when it is over.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Millis> {
        (!self.is_over).then(|| self.until.unwrap_or(Millis(0)))
    }

    /// The next bytes for the line.
    pub fn poll_transmit(&mut self) -> Option<[u8; 4]> {
        let question = self.out.pop_front()?;
        self.echo.is_sent(question);
        Some(question)
    }
}
