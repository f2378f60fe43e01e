//! The games of a round, as the journal has them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::{Value, json};

use crate::{
    event::{Body, Event, GameResult},
    journal::query::{Filter, each_event},
};

/// The events that tell that games begin, end and go on.
const FRAME: [&str; 4] = ["game_started", "names_corrected", "game_ended", "game_resumed"];
const PLAY: [&str; 5] = [
    "game_started",
    "names_corrected",
    "game_ended",
    "game_resumed",
    "move",
];

/// A game that began, or had half-moves, since the round began.
#[derive(Clone, Copy, Debug, Default)]
struct Game {
    round: Option<u32>,
    /// The last result that was told; none while the game goes on.
    result: Option<GameResult>,
    has_moves: bool,
}

impl Game {
    /// True with a result that a round can count.
    fn is_over(&self) -> bool {
        self.result.is_some_and(|result| result != GameResult::Open)
    }
}

/// Games by board and number.
type Games = BTreeMap<(String, Option<u32>), Game>;

/// The games since `since_ms`, by those events of `kinds` that the journal at `path` has.
fn games(path: &Path, since_ms: i64, kinds: &[&str]) -> Result<Games, String> {
    let mut told: Vec<(u64, Event)> = Vec::new();
    for kind in kinds {
        let filter = Filter {
            kind: Some((*kind).to_owned()),
            ..Filter::default()
        };
        each_event(path, &filter, |kept| {
            if kept.written_ms >= since_ms {
                let event = serde_json::from_str(kept.json).ok();
                told.extend(event.map(|event| (kept.position, event)));
            }
            true
        })
        .map_err(|error| format!("the journal cannot be read now ({error}): try again"))?;
    }
    told.sort_by_key(|(position, _)| *position);
    let mut games = Games::new();
    for (_, event) in told {
        let game = (event.board, event.game);
        match event.body {
            Body::GameStarted { round, .. } => {
                let began = Game {
                    round,
                    ..Game::default()
                };
                games.insert(game, began);
            }
            Body::NamesCorrected { round, .. } => {
                games.entry(game).and_modify(|game| game.round = round);
            }
            Body::Move(_) => games.entry(game).or_default().has_moves = true,
            Body::GameEnded { result, .. } => {
                games.entry(game).and_modify(|game| game.result = Some(result));
            }
            Body::GameResumed { .. } => {
                games.entry(game).and_modify(|game| game.result = None);
            }
            _ => {}
        }
    }
    Ok(games)
}

/// The boards of `paired` at which no game of the round has a result yet. `rounds` are its number, and those that it had by
/// mistake.
pub(super) fn without_result(
    path: &Path,
    rounds: &BTreeSet<u32>,
    since_ms: i64,
    paired: &BTreeMap<String, [Option<String>; 2]>,
) -> Result<Vec<Value>, String> {
    let games = games(path, since_ms, &FRAME)?;
    let has_result = |board: &str| {
        let mut of_board = games.iter().filter(|((of, _), _)| of == board);
        of_board.any(|(_, game)| game.round.is_some_and(|round| rounds.contains(&round)) && game.is_over())
    };
    let open = paired.iter().filter(|(board, _)| !has_result(board));
    Ok(open
        .map(|(board, [white, black])| json!({ "board": board, "white": white, "black": black }))
        .collect())
}

/// True where a game of `round`, which began at `since_ms`, has half-moves or a result.
pub(super) fn has_begun(path: &Path, round: u32, since_ms: i64) -> Result<bool, String> {
    let games = games(path, since_ms, &PLAY)?;
    let mut of_round = games.values().filter(|game| game.round == Some(round));
    Ok(of_round.any(|game| game.has_moves || game.result.is_some()))
}

/// Those of `boards` that have a part of the round which belongs to their tables: a result, or half-moves of a game
/// that goes on. Games that were given up do not count.
pub(super) fn played<'a>(path: &Path, since_ms: i64, boards: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let games = games(path, since_ms, &PLAY)?;
    let has_played = |board: &&&str| {
        let mut of_board = games.iter().filter(|((of, _), _)| of == **board);
        let goes_on = of_board.clone().next_back();
        goes_on.is_some_and(|(_, game)| game.has_moves && game.result.is_none())
            || of_board.any(|(_, game)| game.is_over())
    };
    Ok(boards.iter().filter(has_played).copied().collect())
}
