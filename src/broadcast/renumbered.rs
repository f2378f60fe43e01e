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
    if !fs::symlink_metadata(&to)?.is_dir() {
        return Err(io::Error::other(format!("{} is a link", to.display())));
    }
    let names = fs::read_dir(&from)?.map(|file| Ok(file?.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    // The note tells whose folder this is. While it is there, the rest is carried after a break, too.
    names.sort_by_key(|name| name == note::NAME);
    for name in names {
        fs::rename(from.join(&name), to.join(&name))?;
    }
    fs::remove_dir(&from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_all_be_carried_is_carried_the_next_time() {
        let root = tempfile::tempdir().unwrap();
        let [from, to] = [4, 3].map(|round| root.path().join(format!("round-{round}")));
        fs::create_dir_all(&from).unwrap();
        for name in [note::NAME, "game-1.pgn", "games.pgn"] {
            fs::write(from.join(name), name).unwrap();
        }
        // Nothing takes the place of this one.
        fs::create_dir_all(to.join("games.pgn").join("full")).unwrap();
        carry(root.path(), 4, 3).unwrap_err();
        assert!(from.join(note::NAME).exists(), "the note stays until the end");
        fs::remove_dir_all(to.join("games.pgn")).unwrap();
        carry(root.path(), 4, 3).unwrap();
        assert!(!from.exists());
        for name in [note::NAME, "game-1.pgn", "games.pgn"] {
            assert_eq!(fs::read_to_string(to.join(name)).unwrap(), name);
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_to_the_right_number() {
        let [root, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        fs::create_dir(root.path().join("round-4")).unwrap();
        fs::write(root.path().join("round-4/games.pgn"), "ours").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("round-3")).unwrap();
        carry(root.path(), 4, 3).unwrap_err();
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
