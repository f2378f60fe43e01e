//! What the broker retains of boards, within bounds: whoever may write there can retain more than the machine holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    time::Instant,
};

use serde::{Deserialize, Serialize};

use crate::{
    config::Id,
    journal::{KnownNumbers, Shift, Shifts},
    throttle::Throttle,
};

/// How many boards that are not configured are kept. Of those beyond it only the messages are counted.
const MOST_OTHERS: usize = 2_000;
/// The largest `game` of a configured board that is kept, in bytes: a game of a thousand moves has some 20 kB.
const MOST_SHOWN: usize = 48 << 10;
/// The highest number of a game that a snapshot can hold. A higher one at the broker is not from us.
const MOST_GAMES: u32 = 1_000_000_000;
/// The highest number of an event that the publisher believes. No board comes to it before the year 2100: numbers jump to
/// 64 times the Unix time in milliseconds, `journal/numbers.rs`.
/// Above it, programs that count in floating point would confuse numbers, and soon the journal has none left.
const MOST_EVENTS: u64 = 1 << 48;

/// The fields of a board's `game` that the comparison reads.
#[derive(Deserialize)]
struct Game {
    last_seq: u64,
    /// None before the first game.
    game: Option<u32>,
}

impl Game {
    /// The number of the board's last game; 0 where there is none, or where no board can have come to that number.
    fn number(&self) -> u32 {
        self.game.filter(|number| *number <= MOST_GAMES).unwrap_or(0)
    }
}

/// Payload of a board's `numbers`: the gateway sent no number above the ceiling while no disk could be written.
#[derive(Deserialize, Serialize)]
pub(super) struct Numbers {
    pub(super) ceiling: u64,
    /// How the numbers came to be where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<Shifts>,
}

/// The ceiling alone: what somebody else wrote beside it must not take it away.
#[derive(Deserialize)]
struct Ceiling {
    ceiling: u64,
}

/// How the numbers of a board left their range, as far as that can be.
fn left(payload: &[u8]) -> Option<Shifts> {
    let left = serde_json::from_slice::<Numbers>(payload).ok()?.left?;
    let is_possible = |shift: &Shift| shift.floor < shift.base && shift.base < MOST_EVENTS;
    let is_ours =
        left.eras.len() <= 2 && left.shifts.len() <= Shifts::MOST && left.shifts.iter().all(is_possible);
    is_ours.then_some(left)
}

/// The boards of which the broker retains something.
#[derive(Debug, Default)]
pub(super) struct KnownBoards {
    boards: BTreeMap<String, KnownNumbers>,
    /// How many of them are not configured.
    others: usize,
    left_out: u64,
}

impl KnownBoards {
    /// Takes a `game` or the `numbers` of a board. Of one that is not configured the numbers are enough.
    pub(super) fn take(&mut self, board: &str, state: &str, payload: &[u8], is_ours: bool) {
        let Some(known) = self.entry(board, is_ours) else {
            return;
        };
        let believed = |number| believed(number, board, state);
        if state == "numbers" {
            known.ceiling = serde_json::from_slice::<Ceiling>(payload).map_or(0, |it| believed(it.ceiling));
            known.left = left(payload).filter(|_| is_ours);
        } else if let Ok(game) = serde_json::from_slice::<Game>(payload) {
            (known.last, known.game) = (believed(game.last_seq), game.number());
            let is_kept = is_ours && known.game > 0 && payload.len() <= MOST_SHOWN;
            known.shown = is_kept.then(|| serde_json::from_slice(payload).ok()).flatten();
        } else {
            (known.last, known.game, known.shown) = (0, 0, None);
        }
    }

    /// The place of a board; none for what cannot be the name of a board, and for boards beyond the bound.
    fn entry(&mut self, board: &str, is_ours: bool) -> Option<&mut KnownNumbers> {
        if !self.boards.contains_key(board) {
            if board.parse::<Id>().is_err() {
                return None;
            }
            if !is_ours && self.others >= MOST_OTHERS {
                self.left_out += 1;
                return None;
            }
            self.others += usize::from(!is_ours);
        }
        let known = self.boards.entry(board.to_owned()).or_default();
        known.is_ours = is_ours;
        Some(known)
    }

    /// True where the broker has told the last number of each of these boards.
    pub(super) fn has_all(&self, boards: &[Id]) -> bool {
        let is_told = |id: &Id| self.boards.get(id.as_str()).is_some_and(|known| known.last > 0);
        boards.iter().all(is_told)
    }

    pub(super) fn numbers(&self) -> &BTreeMap<String, KnownNumbers> {
        &self.boards
    }

    /// The highest numbers of the boards that are configured.
    pub(super) fn highest(&self) -> impl Iterator<Item = (&String, u64)> {
        let ours = self.boards.iter().filter(|(_, known)| known.is_ours);
        ours.map(|(board, known)| (board, known.highest()))
    }

    /// Forgets these boards.
    pub(super) fn forget(&mut self, boards: &BTreeSet<String>) {
        self.boards.retain(|board, _| !boards.contains(board));
    }

    /// Boards that are not among `ours`: they were renamed or removed.
    pub(super) fn former(&self, ours: &[Id]) -> Vec<Id> {
        let is_former = |id: &Id| !ours.contains(id);
        let boards = self.boards.keys().filter_map(|board| board.parse().ok());
        boards.filter(is_former).collect()
    }

    /// The ceilings that the broker retains.
    pub(super) fn ceilings(&self) -> BTreeMap<String, u64> {
        let known = self.boards.iter();
        let ceilings = known.map(|(board, known)| (board.clone(), known.ceiling));
        ceilings.filter(|(_, ceiling)| *ceiling > 0).collect()
    }

    /// How many messages there were about boards beyond the bound, since somebody last asked.
    pub(super) fn take_left_out(&mut self) -> u64 {
        mem::take(&mut self.left_out)
    }
}

/// The number, if a board can have come to it; else 0.
fn believed(number: u64, board: &str, state: &str) -> u64 {
    if number <= MOST_EVENTS {
        return number;
    }
    if let Some(left_out) = UNBELIEVED.pass(Instant::now()) {
        tracing::warn!(
            "the broker retains number {number} on board/{board}/{state}, to which no board can have come: somebody else wrote there, and it is not believed; only the gateway should have the right to write there (not told one by one before it: {left_out})"
        );
    }
    0
}

static UNBELIEVED: Throttle = Throttle::new();

/// Tells how many such numbers were not told one by one in the minute that is over.
pub(super) fn tell_left_out(now: Instant) {
    if let Some(count) = UNBELIEVED.overdue(now) {
        tracing::warn!("the broker retains {count} more numbers that are not believed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_no_game_can_have_is_not_believed() {
        let number = |game| Game { last_seq: 1, game }.number();
        assert_eq!([number(Some(3)), number(None), number(Some(u32::MAX))], [3, 0, 0]);
    }

    #[test]
    fn a_number_that_no_event_can_have_is_not_believed() {
        let known = |state: &str, payload: String| {
            let mut known = KnownBoards::default();
            known.take("7", state, payload.as_bytes(), true);
            let known = &known.boards["7"];
            known.last.max(known.ceiling)
        };
        for number in [7, MOST_EVENTS, MOST_EVENTS + 1, i64::MAX as u64, u64::MAX] {
            let believed = if number <= MOST_EVENTS { number } else { 0 };
            assert_eq!(known("numbers", format!("{{\"ceiling\":{number}}}")), believed);
            assert_eq!(
                known("game", format!("{{\"last_seq\":{number},\"game\":1}}")),
                believed
            );
        }
    }

    #[test]
    fn of_boards_that_nobody_configured_the_numbers_are_kept_and_only_of_so_many() {
        let game = br#"{"last_seq":5,"game":1,"moves":[]}"#;
        let mut known = KnownBoards::default();
        for n in 0..MOST_OTHERS + 10 {
            known.take(&format!("x{n}"), "game", game, false);
        }
        known.take("No board has this name", "game", game, false);
        known.take("7", "game", game, true);
        assert_eq!(
            known.boards.len(),
            MOST_OTHERS + 1,
            "and there is room for our own"
        );
        assert_eq!((known.take_left_out(), known.take_left_out()), (10, 0));
        assert_eq!((known.boards["x0"].last, &known.boards["x0"].shown), (5, &None));
        assert!(known.boards["7"].shown.is_some());
        assert!(known.boards["7"].is_ours && !known.boards["x0"].is_ours);
        let long = format!(
            r#"{{"last_seq":6,"game":1,"moves":["{}"]}}"#,
            "x".repeat(MOST_SHOWN)
        );
        known.take("7", "game", long.as_bytes(), true);
        assert_eq!((known.boards["7"].last, &known.boards["7"].shown), (6, &None));
        assert_eq!(known.former(&["7".parse().unwrap()]).len(), MOST_OTHERS);
        known.take("x0", "numbers", br#"{"ceiling":64}"#, false);
        known.forget(&["x0".to_owned(), "x1".to_owned()].into());
        assert_eq!(known.former(&["7".parse().unwrap()]).len(), MOST_OTHERS - 2);
        assert!(known.ceilings().is_empty());
    }
}
