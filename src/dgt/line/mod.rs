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
//! `exchange` has what may be asked and how long an answer is waited for, `member` what one board is asked and when, `order`
//! puts the answers of a visit in order, `stand_in` speaks with the watcher, `discovery` finds who is there before a line
//! is used, `search` who comes to it later, and
//! `others` hears what another program was told.

pub mod budget;
pub mod discovery;
mod exchange;
mod figures;
mod member;
mod order;
mod others;
mod search;
mod stand_in;

use std::collections::VecDeque;

use super::bus::{Address, BusCommand, BusDecoder};
use crate::time::Millis;
use exchange::{Answer, Exchange, QUESTION, Question};
pub use figures::{Figure, Figures};
pub use member::Errors;
use member::Member;
use order::Answers;
use search::Search;

/// Between two questions whether a board that was silent is there again (milliseconds, as below).
const PROBE: u64 = 1000;
/// Between two whole boards: each takes as long as five visits, and the others wait. The first of a board has less patience.
const DUMP: u64 = 500;
const FIRST_DUMP: u64 = 200;
/// So many visits in a row without a word, and a board is gone.
const MISSES: u32 = 3;
/// So often damaged changes are asked for again within a visit.
const REPEATS: u32 = 3;
/// So often more than what is well was damaged or said twice, and two boards may have one address.
const GARBLED: u32 = 8;
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

/// The board that is visited, and how far the visit has come.
#[derive(Debug)]
struct Visit {
    member: usize,
    answers: Answers,
    left: VecDeque<Question>,
    exchange: Exchange,
    /// Repeats of the changes.
    repeats: u32,
    /// The board was asked for its changes once more.
    again: bool,
}

/// The one who asks.
#[derive(Debug)]
pub struct Master {
    members: Vec<Member>,
    decoder: BusDecoder,
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
        let mut answers = Vec::new();
        let damage = self.decoder.stats().damage();
        self.decoder.push(now, bytes, &mut |address, answer| {
            answers.extend(Answer::of(&answer).map(|answer| (address, answer)));
        });
        self.heard = Some(now);
        if self.decoder.stats().damage() > damage {
            self.damaged(now);
        }
        if let Some(visit) = &mut self.visit {
            visit.exchange.hears(now, bytes.len(), self.decoder.missing());
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
        self.out.pop_front()
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

    fn visit(&mut self, now: Millis, member: usize, questions: Vec<Question>) {
        let mut left = VecDeque::from(questions);
        let Some(first) = left.pop_front() else { return };
        let exchange = self.ask(now, member, first);
        self.visit = Some(Visit {
            member,
            answers: Answers::default(),
            left,
            exchange,
            repeats: 0,
            again: false,
        });
    }

    /// When nobody speaks any more, where an answer that nobody of us asked for has begun: who asks now loses it.
    fn quiet_at(&self) -> Millis {
        let begun = self.heard.filter(|_| self.decoder.is_midway());
        begun.map_or(self.speaks_until, |heard| self.speaks_until.max(heard + QUIET))
    }

    fn ask(&mut self, now: Millis, member: usize, question: Question) -> Exchange {
        if self.decoder.is_midway() {
            self.damaged(now);
        }
        self.decoder.clear();
        let member = &mut self.members[member];
        member.asked = Some(now);
        self.out.push_back(question.bytes(member.address));
        Exchange::new(now, question)
    }

    /// Goes on with what is left to ask.
    fn go_on(&mut self, now: Millis, question: Option<Question>) {
        let Some(mut visit) = self.visit.take() else {
            return;
        };
        if let Some(question) = question.or_else(|| visit.left.pop_front()) {
            visit.exchange = self.ask(now, visit.member, question);
            self.visit = Some(visit);
        }
    }

    fn answered(&mut self, now: Millis, address: u16, answer: Answer) {
        // What comes in one piece with the answer before is there sooner than the question: another master has asked.
        let is_sent = self.out.is_empty();
        let asked = self.visit.as_ref().is_some_and(|visit| {
            self.members[visit.member].address.get() == address && answer.is_to(visit.exchange.question)
        });
        let Some(visit) = self.visit.as_mut().filter(|_| is_sent && asked) else {
            return self.unasked(now, address, answer);
        };
        let member = &mut self.members[visit.member];
        match answer {
            Answer::Pong if visit.exchange.question == Question::Hush => self.go_on(now, None),
            Answer::Pong => {
                self.visit = None;
                member.arrive();
            }
            Answer::Version(version) => {
                member.firmware = version;
                self.go_on(now, None);
            }
            Answer::Clock(clock) => {
                visit.answers.clock = Some(clock);
                self.go_on(now, None);
            }
            Answer::Dump(dump) => {
                visit.answers.dump = Some(dump);
                self.go_on(now, None);
            }
            Answer::Changes(changes) => {
                let is_repeat = visit.exchange.question == Question::Repeat;
                member.is_unsettled = false;
                // What was told before is told again: the question before was not heard, and its answer is still there.
                if is_repeat && !visit.again && member.last_changes.as_ref() == Some(&changes) {
                    visit.again = true;
                    return self.go_on(now, Some(Question::Changes));
                }
                let mut answers = std::mem::take(&mut visit.answers);
                let at = visit.member;
                self.visit = None;
                answers.changes.extend_from_slice(&changes);
                member.last_changes = Some(changes);
                self.finish(now, at, &answers);
            }
        }
    }

    /// A visit has brought all that it was to bring.
    fn finish(&mut self, now: Millis, at: usize, answers: &Answers) {
        let is_shared = self.is_shared(now);
        let member = &mut self.members[at];
        member.echoed &= !is_shared;
        let since = member.visited(now, answers.clock.is_some());
        self.longest_ms = self.longest_ms.max(since.unwrap_or_default());
        let address = member.address;
        match (member.is_fresh, member.garbled) {
            (false, GARBLED..) => {
                // Two boards of one address both answer. Who is not known is not told.
                member.arrive();
                self.said.push_back((address, Said::Gone));
            }
            (false, _) => self.tell(now, at, answers),
            (true, 0) => {
                member.is_fresh = false;
                self.said.push_back((address, Said::Here));
            }
            (true, _) => {}
        }
    }

    fn tell(&mut self, now: Millis, at: usize, answers: &Answers) {
        let member = &mut self.members[at];
        let before = member.model.clock;
        let told = member.model.take(answers);
        if told.powered_up {
            member.arrive();
            self.said.push_back((member.address, Said::Gone));
            return;
        }
        let bytes = member.tell(now, &told, before);
        if !bytes.is_empty() {
            self.said.push_back((member.address, Said::Bytes(bytes)));
        }
    }

    /// No answer came, or none that can be read.
    fn unanswered(&mut self, now: Millis) {
        let Some(visit) = &mut self.visit else { return };
        let member = &mut self.members[visit.member];
        let silent = visit.exchange.is_silent();
        if visit.exchange.question == Question::Ping {
            member.is_garbled_by(u32::from(!silent));
            self.visit = None;
            return;
        }
        member.errors.silent += u64::from(silent);
        member.errors.damaged += u64::from(!silent);
        member.damaged |= !silent;
        let next = match visit.exchange.question {
            Question::Hush | Question::Version | Question::Dump | Question::Ping => None,
            Question::Clock => {
                member.clock_is_silent();
                None
            }
            // The question again would lose for good what was lost on the way.
            Question::Changes => Some(Question::Repeat),
            Question::Repeat if !silent && visit.repeats < REPEATS => {
                visit.repeats += 1;
                Some(Question::Repeat)
            }
            Question::Repeat => return self.give_up(now, silent),
        };
        self.go_on(now, next);
    }

    /// A visit came to nothing; what the board has to tell it tells at the next.
    fn give_up(&mut self, now: Millis, silent: bool) {
        let Some(visit) = self.visit.take() else { return };
        if !visit.answers.changes.is_empty() {
            // Another program was told them.
            self.tell(now, visit.member, &visit.answers);
        }
        let member = &mut self.members[visit.member];
        member.missed(now);
        member.is_unsettled = true;
        if silent {
            member.misses += 1;
        } else {
            member.is_garbled_by(1);
        }
        if member.misses >= MISSES || member.garbled >= GARBLED {
            member.is_here = false;
            let was_told = !member.is_fresh;
            if was_told {
                self.said.push_back((member.address, Said::Gone));
            }
        }
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
