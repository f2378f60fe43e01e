//! What is heard on a line besides the answers that were asked for: another program asks, too, boards come, and what collides cannot
//! be read.
//!
//! A board tells its changes once. Those that another program was told are taken as if we had asked. Those that nobody could read the board
//! repeats until somebody asks for more, so it is asked to repeat; where another program was quicker they are lost, and who watches is told
//! that something may be.

use super::{Master, exchange::Answer, order::Answers};
use crate::time::Millis;

/// Another program that asked for changes may do so again for so long. A watcher that is told of losses believes the board
/// again after as long (`board/sensed.rs`).
const OTHERS: u64 = 60_000;
/// And may have been about to, so long before it was first heard.
const BEFORE: u64 = 10_000;
/// What comes so soon after an answer of the same board, and was not asked for, may be of another one.
const ECHO: u64 = 150;
/// What comes so long after the last question to a board, it answers to somebody else.
const ALONE: u64 = 300;

impl Master {
    /// What was said cannot be read. Nobody knows whose words they were: where another program asks for changes, too, any
    /// board may have told it some. It repeats them until somebody asks for more; then they are lost. Where we alone ask, the
    /// visit that comes to nothing is repeated.
    pub(super) fn damaged(&mut self, now: Millis) {
        self.damage = Some(now);
        let others = self.others.is_some_and(|heard| now.since(heard) <= OTHERS);
        for member in self.members.iter_mut().filter(|_| others) {
            member.is_unsettled = true;
            member.may_have_lost = true;
            member.forget_log();
        }
    }

    /// Another program asks for changes. What was damaged before it was first heard was said to it, maybe.
    fn others_ask(&mut self, now: Millis) {
        let is_new = self
            .others
            .replace(now)
            .is_none_or(|heard| now.since(heard) > OTHERS);
        if is_new && self.damage.is_some_and(|damage| now.since(damage) <= BEFORE) {
            self.damaged(now);
        }
    }

    /// Whether another program is known to ask boards of this line.
    pub(super) fn is_shared(&self, now: Millis) -> bool {
        self.shared.is_some_and(|heard| now.since(heard) <= OTHERS)
    }

    /// Nobody of us asked for this: another master, or an answer that comes too late.
    pub(super) fn unasked(&mut self, now: Millis, address: u16, answer: Answer) {
        // Who was not quiet when all were asked, or comes just then.
        self.unasked += u64::from(answer != Answer::Pong);
        let Some(at) = self
            .members
            .iter()
            .position(|member| member.address.get() == address)
        else {
            return self.search.heard(now, address);
        };
        if answer == Answer::Pong {
            return;
        }
        if matches!(answer, Answer::Changes(_)) {
            self.others_ask(now);
        }
        let member = &mut self.members[at];
        // Of two boards of one address both answer; another master asks now and then, and sooner or later when we have not.
        member.echoed |= member.is_answered_within(now, ECHO);
        // Who did not answer us in time may do so now.
        if member.is_here && member.misses == 0 && !member.is_asked_within(now, ALONE) {
            self.shared = Some(now);
        }
        let Answer::Changes(changes) = answer else { return };
        let is_news = member.last_changes.as_ref() != Some(&changes) && !changes.is_empty();
        if !is_news || !member.is_here || member.is_fresh {
            return;
        }
        // The whole board tells what stands there, whoever asked for what.
        member.stand_in.dump_wanted = true;
        member.note_changes(&changes);
        member.last_changes = Some(changes.clone());
        if let Some(visit) = self.visit.as_mut().filter(|visit| visit.member == at) {
            // The clock that this visit has read showed its time before.
            return visit.answers.changes.extend(changes);
        }
        self.tell(
            now,
            at,
            &Answers {
                changes,
                ..Answers::default()
            },
        );
    }
}
