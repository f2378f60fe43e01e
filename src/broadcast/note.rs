//! The note of a round in its folder, from which the broadcast goes on with the round after a restart.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    by_hand::ByHand,
    folder::{FolderError, is_missing},
};
use crate::{
    files::shared,
    tournament::{EnteredResults, InForce, Pairings, Tournament},
};

/// Name of the note in the round's folder. The dot hides it from tools that look for games.
pub(super) const NAME: &str = ".begun";

/// A round as it was first broadcast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RoundNote {
    /// The tournament, with the time at which the round began.
    pub(super) tournament: Tournament,
    pub(super) pairings: Pairings,
    /// The boards, `GATEWAY/BOARD`, in the order of the pairings.
    pub(super) boards: Vec<String>,
    /// Id of the round on lichess.
    pub(super) lichess: Option<String>,
    /// The results of the pairings, and since when they are in force.
    #[serde(default)]
    pub(super) by_hand: ByHand,
}

impl RoundNote {
    /// The note in `text`. A text that is only a time in Unix milliseconds says when the round began, and no more.
    fn read(text: &str, round: u32) -> Option<Self> {
        if let Ok(since_ms) = text.trim().parse() {
            let tournament = Tournament {
                round,
                since_ms,
                ..Tournament::default()
            };
            return Some(Self {
                tournament,
                pairings: Pairings::default(),
                boards: Vec::new(),
                lichess: None,
                by_hand: ByHand::default(),
            });
        }
        serde_json::from_str(text).ok()
    }
}

/// The notes of all rounds below `root`, by their numbers. Unreadable notes are left out.
pub(super) fn read_all(root: &Path) -> BTreeMap<u32, RoundNote> {
    let folders = fs::read_dir(root).into_iter().flatten().flatten();
    let notes = folders.filter_map(|folder| {
        let round = folder
            .file_name()
            .to_str()?
            .strip_prefix("round-")?
            .parse()
            .ok()?;
        let text = shared::read(root, &format!("round-{round}/{NAME}")).ok()?;
        Some((round, RoundNote::read(&text, round)?))
    });
    notes.collect()
}

/// When `round` began according to the folder of a broadcast, as Unix time in milliseconds.
#[must_use]
pub fn began_ms(folder: &Path, round: u32) -> Option<i64> {
    Some(read_all(folder).get(&round)?.tournament.since_ms)
}

/// What the folder of a broadcast tells of `round`. Its results count as entered by hand: nobody can tell any more which of
/// them were in the pairings.
#[must_use]
pub fn noted(folder: &Path, round: u32) -> Option<InForce> {
    let RoundNote {
        tournament,
        pairings: shown,
        ..
    } = read_all(folder).remove(&round)?;
    let mut read = shown.clone();
    for pairing in read.boards.iter_mut().flatten() {
        pairing.result = None;
    }
    let mut results = EnteredResults::default();
    for (game, pairing) in (1..).zip(&shown.boards) {
        if let Some(result) = pairing.as_ref().and_then(|pairing| pairing.result.clone()) {
            results.enter(&read, game, Some(result), None, tournament.since_ms);
        }
    }
    Some(InForce {
        round,
        pairings: Some(read).filter(|read| !read.boards.is_empty()),
        results,
        since_ms: tournament.since_ms,
        ..InForce::default()
    })
}

/// Writes the note.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(root: &Path, note: &RoundNote) -> Result<(), FolderError> {
    let name = format!("round-{}/{NAME}", note.tournament.round);
    // The note holds texts and numbers, all of which JSON can say.
    let text = serde_json::to_string(note).unwrap_or_default() + "\n";
    shared::replace(root, &name, &text).map_err(|source| FolderError::new(root.join(name), source))
}

/// Writes the note if it is not there.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write_missing(root: &Path, note: &RoundNote) -> Result<(), FolderError> {
    let path = root.join(format!("round-{}/{NAME}", note.tournament.round));
    match is_missing(&path) {
        true => write(root, note),
        false => Ok(()),
    }
}

/// Removes the note of a round.
pub(super) fn remove(root: &Path, round: u32) -> std::io::Result<()> {
    shared::remove(root, &format!("round-{round}/{NAME}"))
}
