//! A line that many boards share (protocol 2.5, 2.6). No board on it sends anything unasked, and one master
//! asks.
//!
//! The [`Master`] visits the boards in turn. To a watcher each looks like a board on a line of its own: the
//! master takes the watcher's commands (greeting, questions, mode), and gives the frames that such a board
//! would send, in the order in which things happened. Only the times are lost: everything that a visit brings
//! happened since the visit before. A line that gathers does the same ([`budget::gathered_ms`]), so watcher,
//! captures and replay can deal with it.
//!
//! The master is a state machine without I/O, like [`Session`](super::Session): tell it what happened, drain
//! [`Master::poll_transmit`] and [`Master::poll_said`], then sleep until [`Master::poll_timeout`].
//!
//! `exchange` has the possible questions and how long the master waits for an answer. `member` decides which
//! questions a board gets and when, and `visit` asks them. `order` puts the answers of a visit in order, and
//! `stand_in` talks with the watcher. `discovery` finds the boards before a line is used, and `search` those
//! that come later. `others` deals with answers to another program, and
//! `echo` with questions that an adapter hands back.

pub mod budget;
pub mod discovery;
mod echo;
mod exchange;
mod figures;
mod member;
mod order;
mod others;
mod search;
mod stand_in;
mod visit;

use std::collections::VecDeque;

use super::bus::{Address, BusCommand, BusDecoder};
use crate::time::Millis;
use echo::Echo;
use exchange::{Answer, QUESTION, Question};
pub use figures::{Figure, Figures};
pub use member::Errors;
use member::Member;
use search::Search;
use visit::{GARBLED, Visit};

/// Between two questions whether a silent board is there again (milliseconds, as below).
const PROBE: u64 = 1000;
/// Between two dumps. Each takes as long as five visits, and the other boards wait. The first dump of a board
/// may come sooner.
const DUMP: u64 = 500;
const FIRST_DUMP: u64 = 200;
/// An answer that has begun does not go on if no byte comes for this long.
const QUIET: u64 = 20;
/// A report of the line about one of its boards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The board is there, and its watcher may greet it.
    Here,
    /// The board does not answer any more, or was without power.
    Gone,
    /// The board sends these bytes to its watcher.
    Bytes(Vec<u8>),
}

/// Asks the boards of a line in turn.
#[derive(Debug)]
pub struct Master {
    members: Vec<Member>,
    decoder: BusDecoder,
    echo: Echo,
    visit: Option<Visit>,
    /// The index of the board whose turn it is.
    turn: usize,
    probe_turn: usize,
    probe_due: Millis,
    /// Number of boards for which the master has not asked since it began, or since none answered.
    unknown: usize,
    /// When the master last asked for a dump.
    dumped: Option<Millis>,
    /// When bytes last came.
    heard: Option<Millis>,
    /// When changes last came that another program had asked for.
    others: Option<Millis>,
    /// When an answer last came that only another program can have asked for.
    shared: Option<Millis>,
    /// When unreadable bytes last came.
    damage: Option<Millis>,
    /// The search for boards that nobody has configured.
    search: Search,
    /// Until then a question to all boards is on the wire.
    speaks_until: Millis,
    round_began: Option<Millis>,
    out: VecDeque<[u8; 4]>,
    said: VecDeque<(Address, Said)>,
    cycle_ms: u64,
    longest_ms: u64,
    unasked: u64,
}

impl Master {
    /// A master of a line with these boards, each with its serial number. None has answered yet.
    #[must_use]
    pub fn new(boards: impl IntoIterator<Item = (Address, String)>) -> Self {
        let members: Vec<Member> = boards
            .into_iter()
            .map(|(address, serial)| Member::new(address, serial))
            .collect();
        Self {
            decoder: BusDecoder::new(),
            echo: Echo::default(),
            visit: None,
            turn: 0,
            probe_turn: 0,
            probe_due: Millis(0),
            unknown: members.len(),
            dumped: None,
            heard: None,
            others: None,
            shared: None,
            damage: None,
            search: Search::default(),
            speaks_until: Millis(0),
            round_began: None,
            out: VecDeque::new(),
            said: VecDeque::new(),
            cycle_ms: 0,
            longest_ms: 0,
            unasked: 0,
            members,
        }
    }

    /// The same master, which also searches for boards that nobody has configured.
    #[must_use]
    pub fn searching(self) -> Self {
        Self {
            search: Search::on(),
            ..self
        }
    }

    /// Takes bytes of the line, in any split.
    pub fn handle_bytes(&mut self, now: Millis, bytes: &[u8]) {
        let bytes = self.echo.strip(bytes);
        if bytes.is_empty() {
            return self.handle_timeout(now);
        }
        let mut answers = Vec::new();
        let damage = self.decoder.stats().damage();
        self.decoder.push(now, &bytes, &mut |address, answer| {
            answers.extend(Answer::of(&answer).map(|answer| (address, answer)));
        });
        self.heard = Some(now);
        let is_damaged = self.decoder.stats().damage() > damage;
        if is_damaged {
            self.damaged(now);
        }
        if let Some(visit) = &mut self.visit {
            visit.exchange.hears(now, bytes.len(), self.decoder.missing());
        }
        if is_damaged {
            // An extra byte may by chance make an answer with a right checksum, with one byte left over. So
            // no answer of damaged bytes counts.
            answers.clear();
            self.doubt(now);
        }
        for (address, answer) in answers {
            self.answered(now, address, answer);
        }
        self.handle_timeout(now);
    }

    /// The time of [`Self::poll_timeout`] has come (calling it earlier or later does no harm).
    pub fn handle_timeout(&mut self, now: Millis) {
        if self
            .visit
            .as_ref()
            .is_some_and(|visit| visit.exchange.until() <= now)
        {
            self.unanswered(now);
        }
        if self.visit.is_none() && self.quiet_at() <= now {
            self.begin(now);
        }
    }

    /// When to call [`Self::handle_timeout`] at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Millis> {
        if let Some(visit) = &self.visit {
            return Some(visit.exchange.until());
        }
        let here = self.members.iter().filter(|member| member.is_here);
        let probe = self.members.iter().any(|member| !member.is_here);
        let probe = probe.then_some(self.probe_due);
        let next = here.map(Member::due).chain(probe).min();
        next.map(|next| next.max(self.quiet_at()))
    }

    /// The next bytes for the line.
    pub fn poll_transmit(&mut self) -> Option<[u8; 4]> {
        let question = self.out.pop_front()?;
        self.echo.is_sent(question);
        Some(question)
    }

    /// The next report about a board.
    pub fn poll_said(&mut self) -> Option<(Address, Said)> {
        self.said.pop_front()
    }

    /// A new watcher watches this board, and greets it as if it had just been plugged in.
    pub fn handle_watcher(&mut self, address: Address) {
        if let Some(member) = self.member(address) {
            member.stand_in.anew();
        }
    }

    /// Takes bytes that the watcher of this board sends to it.
    pub fn handle_words(&mut self, now: Millis, address: Address, bytes: &[u8]) {
        let Some(member) = self.member(address).filter(|member| member.is_here) else {
            return;
        };
        let answer = member.hear(now, bytes);
        if !answer.is_empty() {
            self.said.push_back((address, Said::Bytes(answer)));
        }
    }

    /// The line itself is lost, so that no board of it is there any more.
    pub fn handle_lost(&mut self) {
        self.visit = None;
        self.out.clear();
        self.unknown = self.members.len();
        self.probe_due = Millis(0);
        for member in self.members.iter_mut().filter(|member| member.is_here) {
            member.is_here = false;
            if !member.is_fresh {
                self.said.push_back((member.address, Said::Gone));
            }
        }
    }

    /// The figures of the line at `now`. The longest time counts since the last call.
    pub fn take_figures(&mut self, now: Millis) -> Figures {
        let boards = self.members.iter().map(|member| Figure {
            address: member.address.get(),
            is_here: member.is_here,
            is_garbled: member.garbled >= GARBLED,
            errors: member.errors,
        });
        Figures {
            cycle_ms: self.cycle_ms,
            longest_ms: std::mem::take(&mut self.longest_ms),
            unasked: self.unasked,
            is_shared: self.is_shared(now),
            boards: boards.collect(),
            strangers: self.search.found(now),
        }
    }

    fn member(&mut self, address: Address) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.address == address)
    }

    /// Asks the next board, if one is due.
    fn begin(&mut self, now: Millis) {
        if now >= self.probe_due
            && let Some(member) = next(&self.members, self.probe_turn, |member| !member.is_here)
        {
            self.probe_turn = member + 1;
            // At first the master asks for each board without delay.
            self.unknown = self.unknown.saturating_sub(1);
            self.probe_due = if self.unknown > 0 { now } else { now + PROBE };
            return self.visit(now, member, vec![Question::Ping]);
        }
        let mut here = self.members.iter().filter(|member| member.is_here);
        if self.search.asks(now, here.by_ref().map(|member| member.address)) {
            self.out.push_back(BusCommand::Ping(None).bytes());
            self.speaks_until = now + QUESTION;
            return;
        }
        let Some(member) = next(&self.members, self.turn, |member| {
            member.is_here && member.due() <= now
        }) else {
            return;
        };
        if member < self.turn
            && let Some(began) = self.round_began.replace(now)
        {
            self.cycle_ms = now.since(began);
        }
        self.turn = member + 1;
        let boards = self.members.len() as u64;
        let one = &mut self.members[member];
        let pause = if one.model.squares.is_some() {
            DUMP
        } else {
            FIRST_DUMP
        };
        let may_dump = self.dumped.is_none_or(|dumped| now.since(dumped) >= pause);
        let mut questions = one.questions(now, boards, may_dump);
        if self.search.hushes(now, one.address) {
            questions.insert(0, Question::Hush);
        }
        if questions.contains(&Question::Dump) {
            self.dumped = Some(now);
        }
        self.visit(now, member, questions);
    }

    /// When the line will be quiet. If an answer to another program has begun, a question now would destroy
    /// it.
    fn quiet_at(&self) -> Millis {
        let begun = self.heard.filter(|_| self.decoder.is_midway());
        begun.map_or(self.speaks_until, |heard| self.speaks_until.max(heard + QUIET))
    }
}

/// The index of the next of `members`, from `turn` on, for which `is` holds.
fn next(members: &[Member], turn: usize, is: impl Fn(&Member) -> bool) -> Option<usize> {
    let count = members.len();
    (turn..turn + count)
        .map(|index| index % count)
        .find(|index| is(&members[*index]))
}

#[cfg(test)]
mod tests;
