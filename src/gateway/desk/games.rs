//! The games of a round, as the journal has them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::{Value, json};

use crate::{
    broadcast::began_ms,
    event::{Body, Event, GameResult},
    journal::query::{Filter, KeptEvent, each_event},
    tournament::{InForce, LastEvent},
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

/// When a round began. The place in the journal counts. The wall clock counts where the place is not known, or is one of
/// another journal: somebody may have set it since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RoundBegin {
    pub(super) ms: i64,
    pub(super) after: Option<LastEvent>,
}

impl RoundBegin {
    /// When `round` began, of which a command put `in_force`: by that if it tells, else by the folder of its broadcast.
    pub(super) fn of(round: u32, in_force: Option<&InForce>, folder: Option<&Path>) -> Self {
        let told_ms = in_force.map(|in_force| in_force.since_ms).filter(|ms| *ms != 0);
        let noted_ms = || began_ms(folder?, round);
        Self {
            ms: told_ms.or_else(noted_ms).unwrap_or_default(),
            after: in_force.and_then(|in_force| in_force.last_event),
        }
    }

    /// This, by a place only if the journal at `path` still has the event there.
    fn in_journal(self, path: &Path) -> rusqlite::Result<Self> {
        let Some(LastEvent { position, written_ms }) = self.after else {
            return Ok(self);
        };
        let from = Filter {
            after: position.checked_sub(1),
            ..Filter::default()
        };
        let mut is_there = false;
        each_event(path, &from, |kept| {
            is_there = kept.position == position && kept.written_ms == written_ms;
            false
        })?;
        Ok(Self {
            after: self.after.filter(|_| is_there),
            ..self
        })
    }

    fn is_before(self, kept: &KeptEvent<'_>) -> bool {
        match self.after {
            Some(last) => kept.position > last.position,
            None => kept.written_ms >= self.ms,
        }
    }
}

/// The last event of the journal at `path`; none where it cannot be read, or has none.
pub(super) fn last_event(path: &Path) -> Option<LastEvent> {
    let filter = Filter {
        last: Some(1),
        ..Filter::default()
    };
    let mut last = None;
    let read = each_event(path, &filter, |kept| {
        last = Some(LastEvent {
            position: kept.position,
            written_ms: kept.written_ms,
        });
        true
    });
    read.ok()?;
    last
}

/// Games by board and number.
type Games = BTreeMap<(String, Option<u32>), Game>;

/// The events of `kinds` since `since` that the journal at `path` has, oldest first: those of `board`, or with none of all.
pub(super) fn told_since(
    path: &Path,
    since: RoundBegin,
    kinds: &[&str],
    board: Option<&str>,
) -> Result<Vec<Event>, String> {
    let unread = |error| format!("the journal cannot be read now ({error}): try again");
    let since = since.in_journal(path).map_err(unread)?;
    let mut told: Vec<(u64, Event)> = Vec::new();
    for kind in kinds {
        let filter = Filter {
            board: board.map(str::to_owned),
            kind: Some((*kind).to_owned()),
            after: since.after.map(|last| last.position),
            ..Filter::default()
        };
        each_event(path, &filter, |kept| {
            if since.is_before(&kept) {
                let event = serde_json::from_str(kept.json).ok();
                told.extend(event.map(|event| (kept.position, event)));
            }
            true
        })
        .map_err(unread)?;
    }
    told.sort_by_key(|(position, _)| *position);
    Ok(told.into_iter().map(|(_, event)| event).collect())
}

/// The games since `since`, by those events of `kinds` that the journal at `path` has.
fn games(path: &Path, since: RoundBegin, kinds: &[&str]) -> Result<Games, String> {
    let mut games = Games::new();
    for event in told_since(path, since, kinds, None)? {
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
    since: RoundBegin,
    paired: &BTreeMap<String, [Option<String>; 2]>,
) -> Result<Vec<Value>, String> {
    let games = games(path, since, &FRAME)?;
    let has_result = |board: &str| {
        let mut of_board = games.iter().filter(|((of, _), _)| of == board);
        of_board.any(|(_, game)| game.round.is_some_and(|round| rounds.contains(&round)) && game.is_over())
    };
    let open = paired.iter().filter(|(board, _)| !has_result(board));
    Ok(open
        .map(|(board, [white, black])| json!({ "board": board, "white": white, "black": black }))
        .collect())
}

/// True where a game of the round, which began at `since`, has half-moves or a result. `rounds` are its number, and those that
/// it had by mistake.
pub(super) fn has_begun(path: &Path, rounds: &BTreeSet<u32>, since: RoundBegin) -> Result<bool, String> {
    let games = games(path, since, &PLAY)?;
    let is_of_round = |game: &&Game| game.round.is_some_and(|round| rounds.contains(&round));
    let mut of_round = games.values().filter(is_of_round);
    Ok(of_round.any(|game| game.has_moves || game.result.is_some()))
}

/// Those of `boards` that have a part of the round which belongs to their tables: a result, or half-moves of a game
/// that goes on. Games that were given up do not count.
pub(super) fn played<'a>(path: &Path, since: RoundBegin, boards: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let games = games(path, since, &PLAY)?;
    let has_played = |board: &&&str| {
        let mut of_board = games.iter().filter(|((of, _), _)| of == **board);
        let goes_on = of_board.clone().next_back();
        goes_on.is_some_and(|(_, game)| game.has_moves && game.result.is_none())
            || of_board.any(|(_, game)| game.is_over())
    };
    Ok(boards.iter().filter(has_played).copied().collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::journal::{Entry, Journal, JournalSettings};

    const HOUR_MS: i64 = 3_600_000;

    /// Adds to a journal a game of each of these boards and rounds, with the times at which the wall clock has them.
    async fn play(path: &Path, games: &[(&str, u32, i64)]) {
        let (journal, _) = Journal::open(JournalSettings::at(path), "gw").unwrap();
        for (board, round, _) in games {
            let event = |seq: u64, body: Value| {
                let mut event = json!({ "v": 1, "id": format!("gw/{board}/{seq}"), "seq": seq, "board": board, "game": 1, "t": 0.0, "time": null });
                event
                    .as_object_mut()
                    .unwrap()
                    .extend(body.as_object().unwrap().clone());
                serde_json::from_value(event).unwrap()
            };
            let start = json!({ "type": "game_started", "fen": "", "chess960": false, "round": round });
            let end = json!({ "type": "game_ended", "result": "1-0", "reason": "position" });
            let entry = Entry {
                board: (*board).to_owned(),
                events: vec![event(1, start), event(2, end)],
                ..Entry::default()
            };
            journal.append(entry).await.await.unwrap();
        }
        journal.close().await;
        let file = rusqlite::Connection::open(path).unwrap();
        for (board, _, written_ms) in games {
            let sql = "UPDATE events SET created_ms = ?1 WHERE board = ?2";
            file.execute(sql, (written_ms, board)).unwrap();
        }
    }

    fn open_boards(path: &Path, since: RoundBegin) -> usize {
        let paired = ["1", "2"].map(|board| (board.to_owned(), [None, None]));
        without_result(path, &BTreeSet::from([2]), since, &paired.into())
            .unwrap()
            .len()
    }

    /// The clock was days ahead in the round before, and was set right. In this round somebody sets it back by two hours.
    #[tokio::test]
    async fn games_are_of_the_round_after_whose_begin_they_came_whatever_the_wall_clock_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        let now = 1_000 * HOUR_MS;
        play(&path, &[("3", 1, now + 240 * HOUR_MS)]).await;
        let after = last_event(&path);
        assert!(after.is_some());
        play(&path, &[("1", 2, now - 2 * HOUR_MS), ("2", 2, now - HOUR_MS)]).await;
        let since = RoundBegin { ms: now, after };
        assert_eq!(open_boards(&path, since), 0);
        assert!(has_begun(&path, &BTreeSet::from([2]), since).unwrap());
        assert_eq!(played(&path, since, &["1", "2", "3"]).unwrap(), ["1", "2"]);
    }

    /// The journal was lost: its places are others, and the clock is all that there is.
    #[tokio::test]
    async fn in_another_journal_the_wall_clock_tells_which_games_are_of_the_round() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        let now = 1_000 * HOUR_MS;
        play(&path, &[("1", 2, now + 1), ("2", 2, now - 1)]).await;
        let after = Some(LastEvent {
            position: 3,
            written_ms: now - 5,
        });
        assert_eq!(open_boards(&path, RoundBegin { ms: now, after }), 1);
        assert_eq!(open_boards(&path, RoundBegin { ms: now, after: None }), 1);
    }
}
