//! Bytes on a line that answer no question of the master: answers to another program, boards that come, and
//! collisions, which cannot be read.
//!
//! A board tells its changes once. The master uses the changes that another program got as if it had asked
//! itself. A board repeats unreadable changes until somebody asks for more, so the master asks it to repeat
//! them. If the other program asks sooner, the changes are lost, and the watcher learns that changes may be
//! missing.

use super::{Master, exchange::Answer, order::Answers};
use crate::time::Millis;

/// For this long after another program asked for changes, it may do so again. A watcher that learns of losses
/// believes the board again after the same time (`board/sensed.rs`).
const OTHERS: u64 = 60_000;
/// For this long before its first answer came, another program may have asked already.
const BEFORE: u64 = 10_000;
/// An extra answer this soon after one from the same address may come from a second board.
const ECHO: u64 = 150;
/// An answer this long after the last question to a board answers another program.
const ALONE: u64 = 300;

impl Master {
    /// Deals with unreadable bytes. Nobody knows which board sent them. If another program asks for changes
    /// as well, any board may have told it some; the board repeats them until somebody asks for more, and
    /// then they are lost. If only this master asks, the failed visit is repeated anyway.
    pub(super) fn damaged(&mut self, now: Millis) {
        self.damage = Some(now);
        let others = self.others.is_some_and(|heard| now.since(heard) <= OTHERS);
        for member in self.members.iter_mut().filter(|_| others) {
            member.is_unsettled = true;
            member.may_have_lost = true;
            member.forget_log();
        }
    }

    /// Another program asks for changes. Unreadable bytes shortly before its first answer may have been an
    /// answer to it.
    fn others_ask(&mut self, now: Millis) {
        let is_new = self
            .others
            .replace(now)
            .is_none_or(|heard| now.since(heard) > OTHERS);
        if is_new && self.damage.is_some_and(|damage| now.since(damage) <= BEFORE) {
            self.damaged(now);
        }
    }

    /// True if another program is known to ask boards of this line.
    pub(super) fn is_shared(&self, now: Millis) -> bool {
        self.shared.is_some_and(|heard| now.since(heard) <= OTHERS)
    }

    /// Takes an answer that answers no question of this visit: another program asked, or the answer comes too
    /// late.
    pub(super) fn unasked(&mut self, now: Millis, address: u16, answer: Answer) {
        // A pong comes from a board that was not quiet when all were asked, or that has just come.
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
        // If two boards have one address, both answer. Another program asks at other times, and sooner or
        // later when this master has not asked.
        member.echoed |= member.is_answered_within(now, ECHO);
        // A board that did not answer in time may answer late. That does not show another program.
        if member.is_here && member.misses == 0 && !member.is_asked_within(now, ALONE) {
            self.shared = Some(now);
        }
        let Answer::Changes(changes) = answer else { return };
        let is_news = member.last_changes.as_ref() != Some(&changes) && !changes.is_empty();
        if !is_news || !member.is_here || member.is_fresh {
            return;
        }
        // A dump shows all squares, whoever asked for which changes.
        member.stand_in.dump_wanted = true;
        member.note_changes(&changes);
        member.last_changes = Some(changes.clone());
        if let Some(visit) = self.visit.as_mut().filter(|visit| visit.member == at) {
            // The clock of this visit was read before these changes.
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
