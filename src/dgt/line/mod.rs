//! A line that many boards share (protocol 2.5, 2.6): nobody on it speaks unasked, and one master asks.
//!
//! The [`Master`] visits the boards in turn and makes of each of them what a watcher knows: a board on a line of its own. It
//! takes the watcher's words (greeting, questions, mode) and gives the frames that such a board would send, in the order in which they
//! happened. Only their times are gone: all that a visit brings happened since the visit before. That is what a line that gathers does
//! ([`budget::gathered_ms`]), and what watcher, captures and replay know already.
//!
//! A state machine without I/O, like [`Session`](super::Session): tell it what happened, drain [`Master::poll_transmit`] and
//! [`Master::poll_said`], then sleep until [`Master::poll_timeout`].
//!
//! `exchange` has what may be asked and how long an answer is waited for, `member` what one board is asked and when, `visit` asks it, `order`
//! puts the answers of a visit in order, `stand_in` speaks with the watcher, `discovery` finds who is there before a line
//! is used, `search` who comes to it later, and
//! `others` hears what another program was told, and `echo` what an adapter hands back.

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

/// Between two questions whether a board that was silent is there again (milliseconds, as below).
const PROBE: u64 = 1000;
/// Between two whole boards: each takes as long as five visits, and the others wait. The first of a board has less patience.
const DUMP: u64 = 500;
const FIRST_DUMP: u64 = 200;
/// An answer that has begun, and of which no more came for so long, does not go on.
const QUIET: u64 = 20;
/// What the line says of one of its boards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is there: who watches it may greet it.
    Here,
    /// It does not answer any more, or was without power.
    Gone,
    /// It says this to who watches it.
    Bytes(Vec<u8>),
}

/// The one who asks.
#[derive(Debug)]
pub struct Master {
    members: Vec<Member>,
    decoder: BusDecoder,
    echo: Echo,
    visit: Option<Visit>,
    /// Whose turn it is.
    turn: usize,
    probe_turn: usize,
    probe_due: Millis,
    /// Boards that were never looked for.
    unknown: usize,
    /// When a whole board was last asked for.
    dumped: Option<Millis>,
    /// When something last came.
    heard: Option<Millis>,
    /// When changes were last heard that another program asked for.
    others: Option<Millis>,
    /// When an answer was last heard that nobody but another program can have asked for.
    shared: Option<Millis>,
    /// When something was last heard that cannot be read.
    damage: Option<Millis>,
    /// Boards that nobody has named.
    search: Search,
    /// A question to all is on the wire until then.
    speaks_until: Millis,
    round_began: Option<Millis>,
    out: VecDeque<[u8; 4]>,
    said: VecDeque<(Address, Said)>,
    cycle_ms: u64,
    longest_ms: u64,
    unasked: u64,
}

impl Master {
    /// Of a line with these boards, each with its serial number. None of them has been heard yet.
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

    /// The same line, on which boards are looked for that nobody has named.
    #[must_use]
    pub fn searching(self) -> Self {
        Self {
            search: Search::on(),
            ..self
        }
    }

    /// Bytes came over the line, in any split.
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
            // A byte too many may have come to a sum that is right: it leaves one at the end.
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

    /// What a board says, or what became of it.
    pub fn poll_said(&mut self) -> Option<(Address, Said)> {
        self.said.pop_front()
    }

    /// Somebody watches this board from now on: he greets it as if it had just been plugged in.
    pub fn handle_watcher(&mut self, address: Address) {
        if let Some(member) = self.member(address) {
            member.stand_in.anew();
        }
    }

    /// Who watches this board says something to it.
    pub fn handle_words(&mut self, now: Millis, address: Address, bytes: &[u8]) {
        let Some(member) = self.member(address).filter(|member| member.is_here) else {
            return;
        };
        let answer = member.hear(now, bytes);
        if !answer.is_empty() {
            self.said.push_back((address, Said::Bytes(answer)));
        }
    }

    /// The line itself is lost: no board of it is there any more.
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

    /// How the line does at `now`; the longest time is that since the last call.
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
            // At first each is looked for without delay.
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

    /// When nobody speaks any more, where an answer that nobody of us asked for has begun: who asks now loses it.
    fn quiet_at(&self) -> Millis {
        let begun = self.heard.filter(|_| self.decoder.is_midway());
        begun.map_or(self.speaks_until, |heard| self.speaks_until.max(heard + QUIET))
    }
}

/// The next of `members` from `turn` on for which `is` holds.
fn next(members: &[Member], turn: usize, is: impl Fn(&Member) -> bool) -> Option<usize> {
    let count = members.len();
    (turn..turn + count)
        .map(|index| index % count)
        .find(|index| is(&members[*index]))
}

#[cfg(test)]
mod tests;
