//! Games that only the folder still knows, because their gateway is away or a journal has forgotten them. A game that
//! was public stays public.

use std::{collections::BTreeMap, fs, path::Path};

use crate::{
    event::GameResult,
    files::shared,
    game::pgn::{tag, with_tag},
};

/// A file of a game that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptFile {
    text: String,
    result: String,
}

impl KeptFile {
    /// The game in `text`; none where it has not begun, or where the file is not ours.
    pub(super) fn new(text: String) -> Option<Self> {
        // The broadcast writes the date when the game begins, if the wall clock is set. A result by hand is no half-move.
        let is_dated = tag(&text, "Date")?.contains(|c: char| c.is_ascii_digit());
        let (_, moves) = text.split_once("\n\n").unwrap_or_default();
        let has_begun = is_dated || moves.split_whitespace().count() > 1;
        let result = tag(&text, "Result").filter(|_| has_begun)?;
        Some(Self { text, result })
    }

    /// The file in `round`, a number and that of the game: the round may have had a wrong number when it was written.
    pub(super) fn in_round(&self, round: &str) -> String {
        with_tag(&self.text, "Round", round)
    }

    pub(super) fn result(&self) -> &str {
        &self.result
    }

    pub(super) fn is_live(&self) -> bool {
        self.result == GameResult::Open.as_str()
    }
}

/// True where a game of the round has begun, according to the folder of its broadcast.
#[must_use]
pub fn has_games(folder: &Path, round: u32) -> bool {
    !kept(folder, round).is_empty()
}

/// The games of a round that have begun, according to the folder.
pub(super) fn kept(root: &Path, round: u32) -> BTreeMap<usize, KeptFile> {
    let files = fs::read_dir(root.join(format!("round-{round}")));
    let games = files.into_iter().flatten().flatten().filter_map(|file| {
        let name = file.file_name();
        let game = name.to_str()?.strip_prefix("game-")?.strip_suffix(".pgn")?;
        let text = shared::read(root, &format!("round-{round}/{name}", name = name.to_str()?)).ok()?;
        Some((game.parse().ok()?, KeptFile::new(text)?))
    });
    games.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_game_that_has_begun_is_kept() {
        let text = |date: &str| format!("[Event \"?\"]\n[Date \"{date}\"]\n[Result \"1-0\"]\n\n1-0\n");
        assert_eq!(KeptFile::new(text("????.??.??")), None);
        let played = KeptFile::new(text("????.??.??").replace("\n1-0", "\n1. e4 1-0"));
        assert!(played.is_some(), "on a machine that does not know the day");
        assert_eq!(KeptFile::new("nonsense".into()), None);
        let kept = KeptFile::new(text("2026.11.21")).unwrap();
        assert_eq!((kept.result(), kept.is_live()), ("1-0", false));
        let wrong = text("2026.11.21").replace("[Result", "[Round \"3.4\"]\n[Result");
        let right = wrong.replace("\"3.4\"", "\"2.4\"");
        assert_eq!(KeptFile::new(wrong).unwrap().in_round("2.4"), right);
    }
}
