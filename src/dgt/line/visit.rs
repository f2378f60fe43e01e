//! A visit of one board. The master asks one question after the other, and hands the answers on when all have
//! come.

use std::collections::VecDeque;

use super::{
    Master, Said, budget,
    exchange::{Answer, Exchange, Question},
    member::{ECHOED, Member},
    order::Answers,
};
use crate::time::Millis;

/// After this many visits in a row without an answer, a board is gone.
const MISSES: u32 = 3;
/// How often the master asks for damaged changes again within a visit.
const REPEATS: u32 = 3;
/// When the count of garbled visits reaches this, two boards may have one address.
pub(super) const GARBLED: u32 = 8;

/// A watcher of a board on a line of `boards` boards counts on a visit in each round. If a visit comes this
/// long after the last (milliseconds), its changes have no times that a watcher could judge by.
fn overdue_ms(boards: u64) -> u64 {
    budget::gathered_ms(boards) * 3 / 2
}

/// The board that the master visits, and how far the visit has come.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) member: usize,
    pub(super) answers: Answers,
    left: VecDeque<Question>,
    pub(super) exchange: Exchange,
    /// Number of times that the master asked for the changes again.
    repeats: u32,
    /// The master has asked the board for its changes once more after a repeat.
    again: bool,
    /// The visit has brought all that it should.
    is_whole: bool,
    /// When the master asked the board for what it tells: its changes are none that came later.
    asked: Millis,
}

impl Master {
    pub(super) fn visit(&mut self, now: Millis, member: usize, questions: Vec<Question>) {
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
            is_whole: false,
            asked: now,
        });
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

    /// Deals with unreadable bytes. If the question is still on the wire, they are not its answer but the
    /// rest of the one before.
    pub(super) fn doubt(&mut self, now: Millis) {
        if let Some(visit) = self
            .visit
            .as_mut()
            .filter(|visit| visit.exchange.is_being_asked(now))
        {
            (visit.answers.clock, visit.answers.dump) = (None, None);
        }
    }

    /// Goes on with `question`, or with the next one that is left.
    fn go_on(&mut self, now: Millis, question: Option<Question>) {
        let Some(mut visit) = self.visit.take() else {
            return;
        };
        if let Some(question) = question.or_else(|| visit.left.pop_front()) {
            visit.exchange = self.ask(now, visit.member, question);
            if question == Question::Changes {
                visit.asked = now;
            }
            self.visit = Some(visit);
        } else if visit.is_whole {
            self.finish(now, visit);
        }
    }

    pub(super) fn answered(&mut self, now: Millis, address: u16, answer: Answer) {
        // An answer that comes in one piece with the one before is there sooner than the question was sent:
        // another program has asked.
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
                let here = self.members.iter().filter(|member| member.is_here);
                if here.count() == 1 {
                    // What took all boards, such as a cut of the power, gives them all back.
                    self.unknown = self.members.len();
                    self.probe_due = now;
                }
            }
            Answer::Version(version) => {
                member.firmware = version;
                visit.is_whole = visit.left.is_empty();
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
                let is_known = member.last_changes.as_ref() == Some(&changes);
                if !(is_repeat && is_known) {
                    member.note_changes(&changes);
                }
                // The board repeats changes that are known. So it did not hear the question before, and its
                // answer is still to come.
                if is_repeat && !visit.again && is_known && !member.is_fresh {
                    visit.again = true;
                    return self.go_on(now, Some(Question::Changes));
                }
                if !member.is_fresh {
                    visit.answers.repeated.append(&mut member.repeated);
                } else if !is_known {
                    member.repeated.clone_from(&changes);
                }
                visit.answers.changes.extend_from_slice(&changes);
                visit.is_whole = true;
                member.last_changes = Some(changes);
                // If the clock stood, changes and presses are handed on together with whether the clock runs
                // by now.
                let clock = visit.answers.clock.is_none() && member.may_have_started(&visit.answers.changes);
                self.go_on(now, clock.then_some(Question::Clock));
            }
        }
    }

    /// Ends a visit that has brought all that it should.
    fn finish(&mut self, now: Millis, visit: Visit) {
        let (at, mut answers) = (visit.member, visit.answers);
        let (is_shared, is_noisy) = (self.is_shared(now), self.is_noisy(now, at));
        let boards = self.members.len() as u64;
        let member = &mut self.members[at];
        member.echoed &= !is_shared;
        let since = member.visited(now, visit.asked, answers.clock.is_some(), is_noisy);
        self.longest_ms = self.longest_ms.max(since.unwrap_or_default());
        member.is_overdue = since.is_some_and(|since| since > overdue_ms(boards));
        answers.is_overdue = member.is_overdue;
        let address = member.address;
        match (member.is_fresh, member.garbled) {
            (false, GARBLED..) => {
                // Two boards of one address both answer. Nobody knows which board it was, so the master hands
                // nothing on.
                member.forget_log();
                member.arrive();
                self.said.push_back((address, Said::Gone));
            }
            (false, _) => self.tell(now, at, &answers),
            (true, 0) => {
                member.is_fresh = false;
                self.said.push_back((address, Said::Here));
            }
            (true, _) => {}
        }
    }

    /// Whether another program asks, or what most of the others say comes damaged as well: what does so of one board alone is of two
    /// boards of one address. One other tells nothing of the line, and who may be such a board himself is no measure for it.
    fn is_noisy(&self, now: Millis, at: usize) -> bool {
        let is_other =
            |(index, member): &(usize, &Member)| *index != at && member.is_here && member.garbled <= ECHOED;
        let others = self.members.iter().enumerate().filter(is_other);
        let (count, damaged) = others.fold((0, 0), |(count, damaged), (_, member)| {
            (count + 1, damaged + usize::from(member.was_damaged))
        });
        self.is_shared(now) || count > 1 && 2 * damaged > count
    }

    pub(super) fn tell(&mut self, now: Millis, at: usize, answers: &Answers) {
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

    /// Goes on after a question that got no answer, or none that can be read.
    pub(super) fn unanswered(&mut self, now: Millis) {
        let Some(visit) = &mut self.visit else { return };
        let member = &mut self.members[visit.member];
        let silent = visit.exchange.is_silent();
        if visit.exchange.question == Question::Ping {
            let at = visit.member;
            self.visit = None;
            let counts = !silent && !self.is_noisy(now, at);
            self.members[at].is_garbled_by(u32::from(counts));
            return;
        }
        member.errors.silent += u64::from(silent);
        member.errors.damaged += u64::from(!silent);
        member.damaged |= !silent;
        let next = match visit.exchange.question {
            Question::Version if visit.left.is_empty() => return self.give_up(now, silent),
            Question::Hush | Question::Version | Question::Dump | Question::Ping => None,
            Question::Clock => {
                member.clock_is_silent();
                None
            }
            // The same question again would lose the changes of the lost answer for good.
            Question::Changes => Some(Question::Repeat),
            Question::Repeat if !silent && visit.repeats < REPEATS => {
                visit.repeats += 1;
                Some(Question::Repeat)
            }
            Question::Repeat => return self.give_up(now, silent),
        };
        self.go_on(now, next);
    }

    /// Gives a visit up. The board tells its changes at the next one.
    fn give_up(&mut self, now: Millis, silent: bool) {
        let Some(visit) = self.visit.take() else { return };
        if !visit.answers.changes.is_empty() {
            // These changes were an answer to another program.
            self.tell(now, visit.member, &visit.answers);
        }
        let is_noisy = self.is_noisy(now, visit.member);
        let member = &mut self.members[visit.member];
        member.missed(now);
        member.is_unsettled = true;
        if silent {
            member.misses += 1;
        } else {
            member.fruitless += 1;
            member.was_damaged = true;
            member.is_garbled_by(u32::from(!is_noisy));
        }
        if member.misses >= MISSES || member.fruitless.max(member.garbled) >= GARBLED {
            member.is_here = false;
            let was_told = !member.is_fresh;
            if was_told {
                self.said.push_back((member.address, Said::Gone));
            }
        }
    }
}
