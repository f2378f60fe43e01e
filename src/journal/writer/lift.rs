//! Gives events that were not sent yet other numbers, when a broker knows numbers that the journal does not, or when numbers must leave
//! their range (`leave.rs`).
//!
//! The journal ends before the numbers that were sent if it was restored from a backup, if it was lost with its lock,
//! or if it could not be written when its events went out from memory. This process sends nothing before it has asked
//! the broker. So the events that it took so far can still get numbers above those at the broker.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tokio::sync::oneshot;

use super::{JournalWriter, leave::Leaving};
use crate::{
    event::notice,
    journal::{
        batch::{Compared, Lifted, Renumbered},
        entry::{KnownNumbers, Notice, Resume, Written},
        numbers::{GamesMoved, Gaps, Lift},
    },
};

/// How many events that wait are looked through for those that nobody has acknowledged: more than a journal holds.
const MOST_UNANSWERED: usize = 1_000_000;

/// Of how many boards the log tells that their numbers jump. There may be as many as somebody else makes up at the broker.
const MOST_LINES: usize = 20;

/// How many boards the journal may know before it takes no numbers of yet another one that is not configured. Whoever may write to
/// the broker can make up others at each start, and the journal would grow with them.
const MOST_BOARDS: usize = 4_000;

impl JournalWriter {
    /// Compares with what a broker knows, and answers when they are settled, with the boards that it left out. `known` is none of a
    /// broker that does not tell it.
    pub(super) fn reconcile(
        &mut self,
        known: Option<BTreeMap<String, KnownNumbers>>,
        answer: oneshot::Sender<BTreeSet<String>>,
    ) {
        self.look_at_last_run(known.as_ref());
        self.look_for_numbers(known.as_ref());
        let mut known = known.unwrap_or_default();
        let left_out = self.leave_out_strangers(&mut known, MOST_BOARDS);
        self.look_at_copy(&known);
        known.retain(|board, known| self.is_beyond(board, known));
        // What a connection was told that has ended is not true any more, and nobody waits there.
        (self.beyond, self.waiting) = (known, None);
        if self.beyond.is_empty() && self.leaving.is_none() {
            self.have_compared_noted();
            if self.flush() == Written::Memory {
                self.leave_unsecured();
            }
        }
        // The disk may have refused that just now.
        if self.beyond.is_empty() && self.leaving.is_none() {
            self.unanswered.clear();
            self.copied.clear();
            self.is_compared = true;
            self.tell_disputed();
            // The caller may have gone with its connection.
            let _ = answer.send(left_out);
        } else {
            self.waiting = Some((answer, left_out));
            self.tell_disputed();
        }
    }

    /// True while boards must stand still for other numbers. Before the numbers are compared nothing is sent, and those that must leave
    /// their range do so with the comparison.
    fn is_disputed(&self) -> bool {
        self.waiting.is_some() || self.leaving.is_some() && self.is_compared
    }

    /// Tells whether boards must stand still.
    pub(super) fn tell_disputed(&self) {
        let is = self.is_disputed();
        self.disputed
            .send_if_modified(|told| std::mem::replace(told, is) != is);
    }

    /// True where a broker knows numbers of a board that the journal does not, or under which its events were sent.
    fn is_beyond(&self, board: &str, known: &KnownNumbers) -> bool {
        let is_above = known.is_above(self.certain(board));
        let is_later_game = known.game > self.games_sent(board, self.floor(board));
        is_above || is_later_game || self.has_what_left(board, known)
    }

    /// Leaves out boards that are not configured and that the journal does not know, where it would know more than `most` with them.
    /// Returns those boards.
    fn leave_out_strangers(
        &self,
        known: &mut BTreeMap<String, KnownNumbers>,
        most: usize,
    ) -> BTreeSet<String> {
        let room = most.saturating_sub(self.resumes.len());
        let is_stranger =
            |(board, known): &(&String, &KnownNumbers)| !known.is_ours && !self.resumes.contains_key(*board);
        let strangers = known.iter().filter(is_stranger);
        let left_out: BTreeSet<String> = strangers.skip(room).map(|(board, _)| board.clone()).collect();
        known.retain(|board, _| !left_out.contains(board));
        if !left_out.is_empty() {
            tracing::warn!(
                "the broker retains numbers of {} more boards that nobody configured than the journal has room for: somebody else wrote there. They do not count, and stay there until somebody takes them away; only the gateway should have the right to write there",
                left_out.len()
            );
        }
        left_out
    }

    /// The last number of a board that may have been sent.
    pub(super) fn floor(&self, board: &str) -> u64 {
        self.floors.get(board).copied().unwrap_or(self.seq_base)
    }

    /// The last number of a board that nobody can have given to another event. If another gateway gave out numbers, that is the
    /// last one that a broker acknowledged.
    fn certain(&self, board: &str) -> u64 {
        let floor = self.floor(board);
        let first = self.unanswered.get(board);
        first.map_or(floor, |first| floor.min(first.saturating_sub(1)))
    }

    /// The last game of a board in events up to number `floor`.
    fn games_sent(&self, board: &str, floor: u64) -> u32 {
        let told = self.store.last_game(board, floor).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot find the last game of board {board}");
            None
        });
        // Old events are dropped, but the snapshot stays.
        told.or_else(|| self.games.get(board).copied()).unwrap_or(0)
    }

    /// Takes note that another gateway gives out our numbers. What was not sent must be compared again, by the next
    /// process if need be. Events that nobody has acknowledged cannot come after the other's numbers: each gets a
    /// number above them, and says which it had.
    pub(super) fn stand_by(&mut self, was_sending: bool) {
        if was_sending {
            self.raise_floors();
        }
        self.is_compared = false;
        self.keep_closed();
        if let Some((answer, left_out)) = self.waiting.take() {
            // Whoever waits for the comparison has no name to send under. What it was told is not true any more.
            let _ = answer.send(left_out);
        }
        self.tell_disputed();
        // What it has of a former comparison must not come on the disk without what was sent since.
        self.note_floors();
        match self.flush() {
            Written::Disk => match self.store.unacknowledged() {
                Ok(first) => self.unanswered = first,
                Err(error) => tracing::warn!(%error, "cannot find which events were not acknowledged"),
            },
            // The disk does not know what was acknowledged since it takes no writes.
            Written::Memory => {
                self.unanswered = BTreeMap::new();
                for row in self.unacked(0, MOST_UNANSWERED) {
                    self.unanswered.entry(row.board).or_insert(row.seq);
                }
            }
        }
    }

    /// Writes down which events were not sent.
    pub(super) fn keep_floors(&mut self) {
        self.note_floors();
        self.flush();
    }

    /// Has the disk learn with the next write which events were not sent, and no more that the numbers are compared.
    fn note_floors(&mut self) {
        self.pending.compared = None;
        self.pending.floors = Some(self.floors.clone());
    }

    /// Has the disk learn with the next write that the numbers are compared, and what was sent before.
    fn have_compared_noted(&mut self) {
        self.pending.floors = Some(self.floors.clone());
        if self.pending.compared.is_some() {
            return;
        }
        let era = format!("{:032x}", fastrand::u128(..));
        if let Some(boot) = &self.boot {
            self.runs.note(&era);
            self.runs.note(boot);
        }
        self.told_era.send_replace(Some(era.clone()));
        let runs = self.runs.clone();
        self.pending.compared = Some(Compared { era, runs });
    }

    /// Gives other numbers to what the boards have said so far. The boards stand still meanwhile.
    pub(super) fn lift(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        // Another gateway may have taken the name by now. Then the numbers change with the next comparison.
        if self.is_disputed() {
            notices = self.lift_once();
            while self.leaving.is_some() {
                // The disk has begun to refuse just now, and nothing was told yet under numbers that it has not taken.
                notices.extend(self.lift_once());
            }
        }
        let waiting = self.waiting.take();
        self.is_compared |= waiting.is_some();
        if self.is_compared {
            self.copied.clear();
        }
        self.tell_disputed();
        if self.pending.sends {
            // The disk refuses to learn that events are sent, and all that it has as unsent has other numbers by now.
            self.open();
        }
        // What was kept back can be sent.
        self.news.send_replace(self.position);
        if let Some((answer, left_out)) = waiting {
            let _ = answer.send(left_out);
        }
        notices
    }

    fn lift_once(&mut self) -> Vec<Notice> {
        self.shift_again();
        let mut beyond = std::mem::take(&mut self.beyond);
        beyond.retain(|board, known| self.is_beyond(board, known));
        self.beyond = beyond;
        self.call_all_boards();
        let lifts: Vec<_> = ours_first(std::mem::take(&mut self.beyond))
            .into_iter()
            .enumerate()
            .map(|(nth, (board, known))| {
                let lift = self.lift_of(&board, &known);
                let notice = notice_of(&board, &known, &lift, self.leaving);
                if nth < MOST_LINES {
                    tracing::warn!(code = notice.code, "{}", notice.message);
                }
                (board, lift, notice)
            })
            .collect();
        if lifts.len() > MOST_LINES {
            let more = lifts.len() - MOST_LINES;
            tracing::warn!(
                code = notice::JOURNAL_BEHIND,
                "the numbers of {more} more boards jump"
            );
        }
        let last_seqs = self.resumes.iter();
        let last_seqs = last_seqs.map(|(board, resume)| (board.as_str(), resume.last_seq));
        self.jumps.forget_told(&last_seqs.collect(), self.seq_base);
        for (board, lift, notice) in &lifts {
            let from = self.resume(board).last_seq;
            self.jumps.note(board, [from, lift.last_seq(from)], notice);
        }
        let mut lifted = self.pending.lifted.take().unwrap_or_default();
        for (board, lift, _) in &lifts {
            self.lift_board(board, lift, &mut lifted);
        }
        // Until here a board of which the journal has nothing stood at the former base.
        self.note_shifts(lifts.iter().map(|(board, lift, _)| (board, lift)));
        lifted.jumps = self.jumps.clone();
        lifted.seq_base = self.seq_base;
        self.pending.lifted = Some(lifted);
        self.unanswered.clear();
        self.leaving = None;
        if self.waiting.is_some() {
            self.have_compared_noted();
        } else if !*self.sending.borrow() {
            self.pending.floors = Some(self.floors.clone());
        }
        if self.flush() == Written::Memory {
            self.leave_unsecured();
        }
        lifts.into_iter().map(|(_, _, notice)| notice).collect()
    }

    /// The numbers above `seq` that a board has by now.
    pub(super) fn numbers_behind(&self, board: &str, seq: u64) -> Vec<u64> {
        let mut stored = self.stored_behind(board, seq);
        if let Some(lifted) = &self.pending.lifted {
            let own = lifted.rows.iter().filter(|(_, row)| row.board == board);
            stored.extend(own.map(|(n, row)| (*n, row.seq)));
        }
        let pending = self.pending.rows.iter().filter(|new| new.row.board == board);
        let pending = pending.map(|new| new.row.seq);
        let last = self.resume(board).last_seq;
        stored.into_values().chain(pending).chain([last]).collect()
    }

    /// The numbers above `seq` that the disk has of a board, by position.
    pub(super) fn stored_behind(&self, board: &str, seq: u64) -> BTreeMap<u64, u64> {
        self.store.numbers_behind(board, seq).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot find the numbers of board {board}");
            BTreeMap::new()
        })
    }

    /// How the numbers of a board jump.
    fn lift_of(&self, board: &str, known: &KnownNumbers) -> Lift {
        let floor = self.floor(board);
        let games = GamesMoved {
            floor: self.games_sent(board, floor),
            base: known.game.max(self.games_sent(board, floor)),
            shown: known.shown.clone(),
        };
        let certain = self.certain(board);
        Lift {
            prefix: format!("{}/{board}/", self.gateway),
            floor: certain,
            base: if self.leaving.is_some() || known.is_above(certain) {
                known.far(floor.max(self.heard.get(board).copied().unwrap_or(0)))
            } else {
                certain
            },
            sent: floor,
            games,
            gaps: Gaps::of(certain, self.numbers_behind(board, certain)),
        }
    }

    pub(super) fn lift_board(&mut self, board: &str, lift: &Lift, lifted: &mut Lifted) {
        let resume = self.resume(board);
        self.lift_pending(board, lift);
        if let Err(error) = self.lift_stored(board, lift, lifted) {
            tracing::error!(%error, "cannot give events of board {board} other numbers");
        }
        let lifted = Resume {
            last_seq: lift.last_seq(resume.last_seq),
            snapshot: lift.snapshot(resume.snapshot.as_deref()),
            ..Resume::default()
        };
        let pending = (lifted.last_seq, lifted.snapshot.clone());
        self.pending.snapshots.insert(board.to_owned(), pending);
        // Nothing was told yet under the new numbers.
        let told = if lift.base > lift.floor {
            lift.base
        } else {
            lift.sent
        };
        self.floors.insert(board.to_owned(), told);
        self.resumes.insert(board.to_owned(), lifted);
    }

    fn lift_pending(&mut self, board: &str, lift: &Lift) {
        for new in self.pending.rows.iter_mut().filter(|new| new.row.board == board) {
            let json = String::from_utf8_lossy(&new.row.json);
            if let Some((event, json)) = lift.event(&json) {
                new.row.seq = event.seq;
                new.id = event.id;
                new.game = event.game;
                new.row.json = json.into();
            }
        }
    }

    /// Lifts what is on the disk, where some may have other numbers than those that were given out since.
    fn lift_stored(&self, board: &str, lift: &Lift, lifted: &mut Lifted) -> rusqlite::Result<()> {
        let before = lifted.rows.iter().filter(|(_, row)| row.board == board);
        let mut behind: BTreeMap<_, _> = before
            .filter(|(_, row)| row.seq > lift.floor)
            .map(|(n, row)| (*n, row.json.clone()))
            .collect();
        for (n, _, json) in self.store.behind(board, lift.floor)? {
            if !lifted.rows.contains_key(&n) {
                behind.insert(n, json);
            }
        }
        for (n, json) in behind {
            if let Some((event, json)) = lift.event(&json) {
                let (seq, id, game) = (event.seq, event.id, event.game);
                let board = board.to_owned();
                lifted.rows.insert(
                    n,
                    Renumbered {
                        board,
                        seq,
                        id,
                        game,
                        json,
                    },
                );
            }
        }
        Ok(())
    }
}

/// The boards with those that are configured first: the log must not leave out one of these for one that somebody made up.
fn ours_first(beyond: BTreeMap<String, KnownNumbers>) -> Vec<(String, KnownNumbers)> {
    let mut boards: Vec<_> = beyond.into_iter().collect();
    boards.sort_by_key(|(_, known)| !known.is_ours);
    boards
}

/// The number of the last game in a watcher's snapshot.
pub(super) fn games_of(resume: &Resume) -> Option<u32> {
    let state: Value = serde_json::from_str(resume.snapshot.as_deref()?).ok()?;
    state.get("games")?.as_u64()?.try_into().ok()
}

/// The notice on numbers that jump.
fn notice_of(board: &str, known: &KnownNumbers, lift: &Lift, leaving: Option<Leaving>) -> Notice {
    let is_behind = known.is_above(lift.floor) || lift.games.base > lift.games.floor;
    let Lift { floor, base, .. } = *lift;
    match leaving {
        Some(why) if !is_behind => why.notice(board, [floor, base]),
        _ => Notice {
            board: Some(board.to_owned()),
            ..Notice::new(notice::JOURNAL_BEHIND, behind(board, known, lift))
        },
    }
}

/// The words of the notice on numbers that the broker knows.
fn behind(board: &str, known: &KnownNumbers, lift: &Lift) -> String {
    let GamesMoved { floor, base, .. } = lift.games;
    let games = (base > floor).then(|| format!("games up to number {base}"));
    let events =
        (lift.base > lift.floor).then(|| format!("events up to number {}", known.last.max(known.ceiling)));
    let what = [events, games]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ");
    let jump = match (lift.base > lift.floor, base > floor) {
        (true, false) => format!("its numbers jump from {} to {}", lift.floor, lift.base + 1),
        (false, _) => format!("its next game has number {}", base.saturating_add(1)),
        (true, true) => format!(
            "its numbers jump from {} to {}, and its next game has number {}",
            lift.floor,
            lift.base + 1,
            base.saturating_add(1)
        ),
    };
    format!(
        "{what} of board {board} were sent that this journal does not have (it was lost, restored, or could not be written): {jump}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{
        request::JournalRequest,
        writer::tests::{first_events, writer},
    };

    fn numbers(is_ours: bool) -> KnownNumbers {
        KnownNumbers {
            last: 5,
            is_ours,
            ..KnownNumbers::default()
        }
    }

    #[test]
    fn our_own_boards_are_told_before_those_that_somebody_made_up() {
        let boards = ["a", "m", "z"].map(|board| (board.to_owned(), numbers(board == "m")));
        let order = ours_first(BTreeMap::from(boards))
            .into_iter()
            .map(|(board, _)| board);
        assert_eq!(order.collect::<Vec<_>>(), ["m", "a", "z"]);
    }

    /// It may be another broker, and the clock is behind.
    #[test]
    fn numbers_leave_for_those_above_all_that_any_broker_told() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, _told) = writer(&folder.path().join("journal.sqlite"));
        writer.accept(first_events(1)).unwrap();
        let told = 1 << 47;
        let heard = JournalRequest::Heard(BTreeMap::from([("7".to_owned(), told)]));
        writer.take(heard, &mut Vec::new());
        writer.take(JournalRequest::StandBy(false), &mut Vec::new());
        writer.reconcile(Some(BTreeMap::new()), oneshot::channel().0);
        writer.lift();
        for board in ["7", "that has told nothing"] {
            assert!(writer.resume(board).last_seq > told, "{board}");
        }
    }

    #[test]
    fn the_journal_takes_numbers_of_so_many_boards_that_nobody_configured_and_of_all_our_own() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, _told) = writer(&folder.path().join("journal.sqlite"));
        let left = |writer: &JournalWriter, most| {
            let known = |board: &str| (board.to_owned(), numbers(board == "own"));
            let mut boards: BTreeMap<_, _> = ["a", "b", "c", "known", "own"].map(known).into();
            let left_out = writer.leave_out_strangers(&mut boards, most);
            assert_eq!(left_out.len() + boards.len(), 5);
            assert!(left_out.iter().all(|board| !boards.contains_key(board)));
            boards.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(left(&writer, 2), ["a", "b", "own"]);
        writer.resumes.insert("known".to_owned(), Resume::default());
        assert_eq!(left(&writer, 2), ["a", "known", "own"]);
        assert_eq!(left(&writer, 0), ["known", "own"]);
        assert_eq!(left(&writer, MOST_BOARDS).len(), 5);
    }
}
