//! Numbers leave their range where no disk secures them.
//!
//! What goes out from memory may be known to the broker alone, and the broker may forget it, or come back with what it saved before: a
//! power cut takes both where both are on one machine. The next process would then give the same numbers to other events. So before any
//! such event goes out, all boards go on in a range to which no later process can come.
//!
//! A write that the disk refused may be on it all the same, and the next process reads events there that went out under other numbers.
//! The broker keeps with the ceiling of a board how its numbers changed, and the next process changes them in the same way.

use std::collections::{BTreeMap, BTreeSet};

use super::JournalWriter;
use crate::{
    event::notice,
    journal::{
        entry::{KnownNumbers, Notice, Shift, Shifts},
        numbers::{GamesMoved, Gaps, Lift, far_above},
    },
};

/// Why numbers leave their range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Leaving {
    /// No disk secures them.
    Unsecured,
    /// A run of which this journal does not know had our name last.
    Behind,
    /// The journal was restored, and the broker tells nothing of what it has sent since its copy was made.
    Copied,
    /// The disk has taken what it had refused, and nobody knows what was given out since.
    Trails,
    /// The journal is new, and the broker does not tell whether there was one before, or knows that there was: of a board whose topics were
    /// cleared it knows nothing.
    Unknown,
}

impl JournalWriter {
    /// Notes why numbers must leave their range.
    pub(super) fn leave(&mut self, why: Leaving) {
        // A disk that takes writes again makes no journal know numbers that others gave out.
        self.leaving = self.leaving.max(Some(why));
        self.tell_disputed();
    }

    /// Where events are in memory alone, numbers must leave their range before anything of it goes out, and the broker is asked to keep
    /// them.
    pub(super) fn leave_unsecured(&mut self) {
        if !self.unsecured.send_replace(true) {
            tracing::warn!(
                "no disk secures the numbers of events in memory: they get others, and the broker is asked to keep them"
            );
            self.leave(Leaving::Unsecured);
        }
    }

    /// Notes that the disk secures all numbers again.
    pub(super) fn stay(&mut self) {
        if self.leaving.take_if(|why| *why == Leaving::Unsecured).is_some() {
            self.tell_disputed();
            self.news.send_replace(self.position);
        }
    }

    /// Finds out whether disk or broker tells which numbers were given out, so that they jump once for all reasons.
    pub(super) fn look_for_numbers(&mut self, known: Option<&BTreeMap<String, KnownNumbers>>) {
        if self.failing_since.is_some() {
            self.leave_unsecured();
        }
        let is_new = !self.is_compared && self.floors.is_empty() && self.seq_base == 0;
        let knows_numbers = |known: &BTreeMap<_, KnownNumbers>| known.values().any(|known| known.is_above(0));
        if is_new && known.is_none_or(knows_numbers) {
            self.leave(Leaving::Unknown);
        }
    }

    /// How the numbers of a board have left their range; none where a disk secures them.
    pub(super) fn shifts_of(&self, board: &str) -> Option<Shifts> {
        let is_unsecured = *self.unsecured.borrow();
        let compared = self.pending.compared.as_ref();
        is_unsecured.then(|| Shifts {
            eras: [Some(&self.era), compared.map(|compared| &compared.era)]
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
            shifts: self.shifts.get(board).cloned().unwrap_or_default(),
        })
    }

    /// Takes down up to which number each board may have sent its events.
    pub(super) fn raise_floors(&mut self) {
        let floors = self.resumes.iter().map(|(board, resume)| {
            let first = self.first_in_memory(board).filter(|_| self.leaving.is_some());
            (board.clone(), first.map_or(resume.last_seq, |first| first - 1))
        });
        self.floors = floors.collect();
    }

    /// The number of a board's first event that no disk has.
    fn first_in_memory(&self, board: &str) -> Option<u64> {
        let rows = self.pending.rows.iter().map(|new| &new.row);
        rows.filter(|row| row.board == board).map(|row| row.seq).min()
    }

    /// Where numbers must leave their range, those of all boards do.
    pub(super) fn call_all_boards(&mut self) {
        if self.leaving.is_none() {
            return;
        }
        if *self.sending.borrow() {
            self.raise_floors();
        }
        for board in self.resumes.keys() {
            self.beyond.entry(board.clone()).or_default();
        }
    }

    /// Takes down how numbers leave their range, and has boards do so that have told nothing yet.
    pub(super) fn note_shifts<'a>(&mut self, lifts: impl Iterator<Item = (&'a String, &'a Lift)>) {
        let Some(why) = self.leaving else {
            return;
        };
        for (board, lift) in lifts {
            let shifts = self.shifts.entry(board.clone()).or_default();
            shifts.push(Shift {
                floor: lift.floor,
                base: lift.base,
                sent: lift.sent,
                stored: self.store.last_seq(board).ok().flatten().unwrap_or(0),
            });
            if shifts.len() > Shifts::MOST {
                // The first one says what became of events that the disk may have.
                shifts.remove(1);
            }
        }
        let heard = self.heard.values().copied().max().unwrap_or(0);
        let (floor, base) = (self.seq_base, far_above(self.seq_base.max(heard)));
        let others = why.said_of("a board that has told nothing yet", [floor, base]);
        self.jumps.note_others([floor, base], &others);
        self.seq_base = base;
    }

    /// Gives events that a refused write has left on the disk the numbers under which a former process sent them, and has boards tell
    /// the jumps that that process may not have told.
    pub(super) fn shift_again(&mut self) {
        let mut lifted = self.pending.lifted.take().unwrap_or_default();
        let known = self.beyond.iter();
        let known = known
            .filter_map(|(board, known)| Some((board.clone(), self.left_before(board, known)?.to_owned())));
        for (board, shifts) in known.collect::<Vec<_>>() {
            if let Some((shift, sent)) = self.found_of(&board, &shifts) {
                let lift = self.again(&board, shift);
                self.lift_board(&board, &lift, &mut lifted);
                // What this process has taken was not sent.
                self.floors.insert(board.clone(), lift.seq(sent));
            }
            let last_seq = self.resume(&board).last_seq;
            for shift in &shifts {
                self.jumps.note(
                    &board,
                    [last_seq; 2],
                    &Leaving::Unsecured.notice(&board, [shift.floor, shift.base]),
                );
            }
            self.shifts.insert(board, shifts);
        }
        self.pending.lifted = Some(lifted);
    }

    /// True where the disk has events of `board` that a former process sent under other numbers.
    pub(super) fn has_what_left(&self, board: &str, known: &KnownNumbers) -> bool {
        let shifts = self.left_before(board, known);
        shifts.is_some_and(|shifts| self.found_of(board, shifts).is_some())
    }

    /// How numbers of `board` left their range in former processes, as a broker knows; none where this process made it so, or has done so
    /// again.
    fn left_before<'a>(&self, board: &str, known: &'a KnownNumbers) -> Option<&'a [Shift]> {
        let left = known.left.as_ref();
        let left = left.filter(|left| left.eras.contains(&self.era) && !self.shifts.contains_key(board));
        left.map(|left| left.shifts.as_slice())
    }

    /// The first of `shifts` that found something on the disk, with the last number that it found: the disk has it as it was before that.
    fn found_of(&self, board: &str, shifts: &[Shift]) -> Option<(Shift, u64)> {
        let mut shifts = shifts.iter();
        shifts.find_map(|shift| Some((*shift, self.last_that_left(board, shift)?)))
    }

    /// The last number of an event of `board` that the disk has as it was before `shift`; none where it has no such event. Where the journal
    /// was damaged or restored, its board stands at a number which no event has had, and which tells nothing: it may lie on either side of
    /// those after the shift.
    fn last_that_left(&self, board: &str, shift: &Shift) -> Option<u64> {
        // What this run wrote was not sent: the disk may be older than the change was.
        let opened = self.opened.get(board).copied().unwrap_or(0);
        // No more than these can have been in a write that was refused.
        let refused = shift.floor.saturating_add(self.settings.max_in_memory as u64);
        let most = shift.stored.min(opened).max(refused.min(self.floor(board)));
        let numbers: BTreeSet<u64> = self
            .stored_behind(board, shift.floor)
            .into_values()
            .filter(|seq| *seq <= most)
            .collect();
        // A disk that has the change has nothing between floor and base.
        let is_before = numbers.first().is_some_and(|first| *first <= shift.base);
        numbers.last().copied().filter(|_| is_before)
    }

    fn again(&self, board: &str, shift: Shift) -> Lift {
        let Shift {
            floor, base, sent, ..
        } = shift;
        Lift {
            prefix: format!("{}/{board}/", self.gateway),
            floor,
            base,
            sent,
            games: GamesMoved {
                floor: 0,
                base: 0,
                shown: None,
            },
            gaps: Gaps::of(floor, self.numbers_behind(board, floor)),
        }
    }
}

impl Leaving {
    /// The notice on numbers of `board`.
    pub(super) fn notice(self, board: &str, from_to: [u64; 2]) -> Notice {
        Notice {
            board: Some(board.to_owned()),
            ..self.said_of(&format!("board {board}"), from_to)
        }
    }

    fn said_of(self, whose: &str, [floor, base]: [u64; 2]) -> Notice {
        let (code, why) = match self {
            Self::Behind => (
                notice::JOURNAL_BEHIND,
                "this journal does not know the run that had the gateway's name last: it is an older copy, or another machine had the name",
            ),
            Self::Copied => (
                notice::JOURNAL_BEHIND,
                "this journal was restored from a backup with events that nobody had acknowledged, and the broker does not tell what was sent since",
            ),
            Self::Unsecured | Self::Trails => (
                notice::JOURNAL_UNSECURED,
                "no disk secures the numbers of events that are sent from memory",
            ),
            Self::Unknown => (
                notice::NUMBERS_UNKNOWN,
                "the journal is new, and the broker does not tell all numbers that were given out before",
            ),
        };
        let text = format!(
            "{why}: those of {whose} go on where no other run has come to, nor can come to, and its numbers jump from {floor} to {}",
            base + 1
        );
        Notice::new(code, text)
    }
}
