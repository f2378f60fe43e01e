//! What is noted of a round in its folder, so that it can be gone on with after a restart.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use super::folder::FolderError;
use crate::{
    files::shared,
    tournament::{Pairings, Tournament},
};

/// Name of the file in the folder of the round; hidden from tools that look for games.
const NAME: &str = ".begun";

/// A round as it was first broadcast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RoundNote {
    /// With the time at which the round began.
    pub(super) tournament: Tournament,
    pub(super) pairings: Pairings,
    /// `GATEWAY/BOARD` in their order.
    pub(super) boards: Vec<String>,
    /// Id of its round on lichess.
    pub(super) lichess: Option<String>,
}

impl RoundNote {
    /// The note in `text`; a mere time in Unix milliseconds says when the round began, and no more.
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
            });
        }
        serde_json::from_str(text).ok()
    }
}

/// The notes of all rounds below `root`, by their numbers. What cannot be read is as good as not there.
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

/// When `round` was begun by what the folder of a broadcast says, as Unix time in milliseconds.
#[must_use]
pub fn began_ms(folder: &Path, round: u32) -> Option<i64> {
    Some(read_all(folder).get(&round)?.tournament.since_ms)
}

/// Notes the round.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(root: &Path, note: &RoundNote) -> Result<(), FolderError> {
    let name = format!("round-{}/{NAME}", note.tournament.round);
    // Texts and numbers: there is nothing in them that JSON cannot say.
    let text = serde_json::to_string(note).unwrap_or_default() + "\n";
    shared::replace(root, &name, &text).map_err(|source| FolderError::new(root.join(name), source))
}

/// Takes the note of a round away.
pub(super) fn remove(root: &Path, round: u32) -> std::io::Result<()> {
    shared::remove(root, &format!("round-{round}/{NAME}"))
}
