//! The rounds before the present one, by the notes in their folders: which of them there are, and what somebody put right in
//! them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::note::{self, RoundNote};
use crate::tournament::{Pairings, Tournament};

/// The rounds that began before `since_ms`, the last one first.
pub(super) fn before(noted: BTreeMap<u32, RoundNote>, since_ms: i64) -> Vec<RoundNote> {
    let before = noted.into_values();
    let mut before: Vec<_> = before
        .filter(|note| note.tournament.since_ms < since_ms)
        .collect();
    before.sort_by_key(|note| std::cmp::Reverse(note.tournament.since_ms));
    before
}

/// The round until the next one began.
pub(super) fn ended(note: RoundNote, until_ms: i64) -> RoundNote {
    let tournament = Tournament {
        until_ms: Some(until_ms),
        ..note.tournament
    };
    RoundNote { tournament, ..note }
}

/// True where a result that somebody entered is to become public.
pub(super) fn is_to_come(note: &RoundNote, now_ms: i64) -> bool {
    note.by_hand
        .next_change_ms(now_ms, note.tournament.delay)
        .is_some()
}

/// Puts the pairings and results of other rounds right that somebody corrected. Returns the numbers of these rounds.
pub(super) fn put_right(
    root: &Path,
    noted: &mut BTreeMap<u32, RoundNote>,
    others: &BTreeMap<u32, Pairings>,
    now_ms: i64,
) -> BTreeSet<u32> {
    let changed = others.iter().filter(|(number, pairings)| {
        let Some(note) = noted.get_mut(number).filter(|note| note.pairings != **pairings) else {
            return false;
        };
        note.pairings = (*pairings).clone();
        note.by_hand.take(pairings, now_ms);
        if let Err(error) = note::write(root, note) {
            tracing::error!("broadcast: {error}");
        }
        true
    });
    changed.map(|(number, _)| *number).collect()
}
