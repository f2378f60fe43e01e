//! The rounds on lichess that take the games. A round takes a hundred of them, so larger events have several.

use std::{fmt, ops::RangeInclusive};

/// The limit of games in one round of lichess.
pub const MOST_GAMES: usize = 100;

/// A round on lichess, and the games that go there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LichessRound {
    /// The last part of the round's address.
    pub id: String,
    /// The numbers of the games in the folder, from 1.
    pub games: RangeInclusive<usize>,
}

/// Where the games go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LichessTarget {
    /// To these rounds.
    Rounds(Vec<LichessRound>),
    /// To the rounds of this number of a broadcast, which are looked for by their names, and made where there are none.
    Broadcast {
        /// The last part of the broadcast's address.
        id: String,
        /// The number of the round.
        round: u32,
    },
}

/// What stands between a broadcast and the number of its round.
const ROUND_OF: char = '#';

/// A round of a broadcast, as [`lichess_target`] reads it.
#[must_use]
pub fn round_of_broadcast(id: &str, round: u32) -> String {
    format!("{id}{ROUND_OF}{round}")
}

/// Where the games go by `text`: as [`lichess_rounds`] reads it, or `A1b2C3d4#7` for the seventh round of a broadcast.
///
/// # Errors
/// As with [`lichess_rounds`].
pub fn lichess_target(text: &str) -> Result<LichessTarget, LichessRoundsError> {
    if let Some((id, round)) = text.split_once(ROUND_OF)
        && let (true, Ok(round)) = (is_id(id), round.parse())
    {
        let id = id.to_owned();
        return Ok(LichessTarget::Broadcast { id, round });
    }
    lichess_rounds(text).map(LichessTarget::Rounds)
}

/// Why a text names no rounds on lichess.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum LichessRoundsError {
    #[error(
        "{0:?} is no round of lichess: it is the last part of the round's address, eight letters and digits"
    )]
    NoRound(String),
    #[error("{0:?} are no games: write their numbers as 101-200")]
    NoGames(String),
    #[error("{id} takes {MOST_GAMES} games, and games {from}-{to} are more: name another round for the rest")]
    TooMany { id: String, from: usize, to: usize },
    #[error("{id} comes twice, or takes games that another round takes")]
    Twice { id: String },
}

/// The rounds that `text` names: `a1B2c3D4`, or `a1B2c3D4, e5F6g7H8 101-180`. A round without numbers takes the hundred
/// games after those of the round before it.
///
/// # Errors
/// When a part is no round, or two take the same game.
pub fn lichess_rounds(text: &str) -> Result<Vec<LichessRound>, LichessRoundsError> {
    let mut rounds: Vec<LichessRound> = Vec::new();
    for part in text.split(',') {
        let (id, games) = part
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or_else(|| (part.trim(), ""));
        if !is_id(id) {
            return Err(LichessRoundsError::NoRound(id.to_owned()));
        }
        let next = rounds.last().map_or(1, |round| round.games.end() + 1);
        let games = match games.trim() {
            "" => next..=next + MOST_GAMES - 1,
            games => range(games).ok_or_else(|| LichessRoundsError::NoGames(games.to_owned()))?,
        };
        let id = id.to_owned();
        let (from, to) = (*games.start(), *games.end());
        if to - from >= MOST_GAMES {
            return Err(LichessRoundsError::TooMany { id, from, to });
        }
        let meets = |round: &LichessRound| round.games.start() <= &to && &from <= round.games.end();
        if rounds.iter().any(|round| round.id == id || meets(round)) {
            return Err(LichessRoundsError::Twice { id });
        }
        rounds.push(LichessRound { id, games });
    }
    Ok(rounds)
}

impl fmt::Display for LichessRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (games {}-{})",
            self.id,
            self.games.start(),
            self.games.end()
        )
    }
}

/// True for what lichess calls rounds and broadcasts.
pub(super) fn is_id(id: &str) -> bool {
    id.len() == 8 && id.chars().all(|c| c.is_ascii_alphanumeric())
}

fn range(text: &str) -> Option<RangeInclusive<usize>> {
    let (from, to) = text.split_once('-')?;
    let games = from.trim().parse().ok()?..=to.trim().parse::<u16>().ok()?.into();
    (*games.start() > 0 && !games.is_empty()).then_some(games)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, RangeInclusive<usize>)>, String> {
        let rounds = lichess_rounds(text).map_err(|error| error.to_string())?;
        Ok(rounds.into_iter().map(|round| (round.id, round.games)).collect())
    }

    #[test]
    fn each_round_takes_its_games_or_the_next_hundred() {
        let round = |id: &str, games| (id.to_owned(), games);
        assert_eq!(read("a1B2c3D4").unwrap(), [round("a1B2c3D4", 1..=100)]);
        assert_eq!(
            read("a1B2c3D4, e5F6g7H8 121 - 180 ,i9J0k1L2").unwrap(),
            [
                round("a1B2c3D4", 1..=100),
                round("e5F6g7H8", 121..=180),
                round("i9J0k1L2", 181..=280)
            ]
        );
    }

    #[test]
    fn a_round_of_a_broadcast_is_named_by_its_number() {
        let id = "A1b2C3d4".to_owned();
        let target = lichess_target(&round_of_broadcast(&id, 7)).unwrap();
        assert_eq!(target, LichessTarget::Broadcast { id, round: 7 });
        for text in ["A1b2C3d4#", "A1b2C3d4#x", "A1b2#7", "#7"] {
            assert!(lichess_target(text).is_err(), "{text}");
        }
        assert!(matches!(lichess_target("a1B2c3D4"), Ok(LichessTarget::Rounds(_))));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("", "\"\" is no round of lichess"),
            ("a1B2c3D4,", "\"\" is no round of lichess"),
            ("https://lichess.org/a1B2c3D4", "is no round of lichess"),
            ("a1B2c3D4 five", "\"five\" are no games"),
            ("a1B2c3D4 0-9", "are no games"),
            ("a1B2c3D4 9-1", "are no games"),
            ("a1B2c3D4 1-99999999999999999999", "are no games"),
            ("a1B2c3D4 1-101", "takes 100 games, and games 1-101 are more"),
            ("a1B2c3D4, a1B2c3D4", "a1B2c3D4 comes twice"),
            (
                "a1B2c3D4 1-50, e5F6g7H8 50-60",
                "takes games that another round takes",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
