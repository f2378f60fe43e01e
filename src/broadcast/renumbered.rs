//! The folder of a round that had a wrong number. What is in it becomes that of the right one.

use std::{fs, io, path::Path};

use super::{kept::has_games, note};
use crate::config::Broadcast;

/// Brings the files that the present round has under wrong numbers. A round of such a number that began at another time is
/// another round.
pub(super) fn bring(root: &Path, settings: &Broadcast) {
    if settings.formerly.is_empty() {
        return;
    }
    let to = settings.tournament.round;
    let noted = note::read_all(root);
    let is_own = |since_ms: i64| match settings.begins_ms {
        Some(begins_ms) => since_ms == begins_ms,
        None => !has_games(root, to),
    };
    for wrong in &settings.formerly {
        let is_it = noted
            .get(wrong)
            .is_some_and(|note| is_own(note.tournament.since_ms));
        if is_it && let Err(error) = carry(root, *wrong, to) {
            tracing::error!(
                "broadcast: round {wrong} is round {to}, and its files cannot be carried there: {error}"
            );
        }
    }
}

fn carry(root: &Path, from: u32, to: u32) -> io::Result<()> {
    let [from, to] = [from, to].map(|round| root.join(format!("round-{round}")));
    if !fs::symlink_metadata(&from)?.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(&to)?;
    for file in fs::read_dir(&from)? {
        let name = file?.file_name();
        fs::rename(from.join(&name), to.join(&name))?;
    }
    fs::remove_dir(&from)
}
