//! `dgt2mqtt pgn`: the games kept on this machine, from the events of the journal.

use std::{collections::BTreeMap, io::Write, path::Path};

use anyhow::Context;

use super::journal;
use crate::{
    broadcast::{PublicRecord, ShownGame},
    event::{Body, Event, GameResult, notice},
    journal::query::Filter,
    tournament::Delay,
};

/// Writes the games of the board and with the number that `wanted` names to `out`, by board and number: without those that
/// somebody gave up for others, unless `all` are wanted. Returns which were left out.
///
/// # Errors
/// When the journal is missing or cannot be read, or `out` cannot be written.
pub(super) fn print(
    path: &Path,
    wanted: &Filter,
    all: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Vec<GameKey>> {
    let mut games = BTreeMap::new();
    // Events of other games tell the day of a game, and for which one it was given up.
    journal::each(path, &Filter::default(), |json| {
        let event = serde_json::from_str(json).context("an event of the journal cannot be read")?;
        take(&mut games, &event);
        Ok(())
    })?;
    let shown = games
        .into_iter()
        .filter_map(|(key, game)| PrintedGame::of(key, &game));
    let shown: Vec<_> = shown.collect();
    let (printed, left_out): (Vec<_>, Vec<_>) = shown
        .iter()
        .filter(|game| game.is_wanted(wanted))
        .partition(|game| all || !game.gives_way_to_one_of(&shown));
    for game in printed {
        writeln!(out, "{}", game.text()).context("cannot write the games")?;
    }
    Ok(left_out.into_iter().map(PrintedGame::key).collect())
}

/// A board and the number of a game on it.
pub(super) type GameKey = (String, u32);

/// A game as its events tell it.
#[derive(Default)]
struct JournalGame {
    record: PublicRecord,
    /// True while its pieces are set up anew without a result: it was played, whatever a person says of the next.
    parked: bool,
    given_up: Option<GivenUp>,
}

/// How a person gave a game up that has no result.
#[derive(Clone, Copy, PartialEq)]
enum GivenUp {
    /// It is over without a result, or another began in its place: it may have been a trial.
    Perhaps,
    /// It was begun by mistake, so it was no game.
    Mistake,
}

impl JournalGame {
    fn take(&mut self, event: &Event) {
        self.record.take(event, 0);
        match &event.body {
            Body::GameEnded { result, reason, .. } => {
                self.given_up = match reason.as_str() {
                    _ if *result != GameResult::Open => None,
                    "begun_by_mistake" => Some(GivenUp::Mistake),
                    "arbiter" => Some(GivenUp::Perhaps),
                    "new_game_by_arbiter" | "position_set_by_arbiter" if !self.parked => {
                        Some(GivenUp::Perhaps)
                    }
                    _ => None,
                };
            }
            Body::GameResumed { .. } => (self.given_up, self.parked) = (None, false),
            Body::Move(_) | Body::MovesRetracted { .. } => self.parked = false,
            Body::Notice { code, .. } => self.parked |= code == notice::SET_UP_WITHOUT_RESULT,
            _ => {}
        }
    }
}

/// Adds an event to its game, and its time to others of the board.
fn take(games: &mut BTreeMap<GameKey, JournalGame>, event: &Event) {
    let all = (event.board.clone(), 0)..=(event.board.clone(), u32::MAX);
    for ((_, number), game) in games.range_mut(all) {
        if Some(*number) != event.game {
            game.record.take_time(*number, event);
        }
    }
    let Some(number) = event.game else { return };
    let game = games.entry((event.board.clone(), number)).or_default();
    game.take(event);
}

/// A game to be printed, or to be left out.
struct PrintedGame {
    board: String,
    shown: ShownGame,
    given_up: Option<GivenUp>,
}

impl PrintedGame {
    fn of((board, _): GameKey, game: &JournalGame) -> Option<Self> {
        Some(Self {
            board,
            shown: game.record.shown(i64::MAX, Delay::default())?,
            given_up: game.given_up,
        })
    }

    fn key(&self) -> GameKey {
        (self.board.clone(), self.shown.number)
    }

    fn is_wanted(&self, wanted: &Filter) -> bool {
        let is_of = |board: &String| *board == self.board;
        wanted.board.as_ref().is_none_or(is_of) && wanted.game.is_none_or(|game| game == self.shown.number)
    }

    /// True where it was given up, and one of `games` is the game that it was taken for.
    fn gives_way_to_one_of(&self, games: &[Self]) -> bool {
        match self.given_up {
            None => false,
            Some(GivenUp::Mistake) => true,
            Some(GivenUp::Perhaps) => games.iter().any(|other| self.gives_way_to(other)),
        }
    }

    /// True where `other` was played from its beginning in the same round, at the same board or by the same players, and came as
    /// far as this one.
    fn gives_way_to(&self, other: &Self) -> bool {
        let (mine, its) = (&self.shown, &other.shown);
        let same_board = self.board == other.board;
        let are_known = [mine, its].map(|game| game.players.iter().all(Option::is_some)) == [true; 2];
        let by_the_same = if are_known {
            mine.players == its.players
        } else {
            same_board
        };
        let has_result = its.pgn.result != "*";
        let is_later = !same_board || its.number > mine.number || has_result;
        let is_as_long = has_result || its.pgn.moves.len() >= mine.pgn.moves.len();
        other.given_up.is_none()
            && by_the_same
            && is_later
            && is_as_long
            && is_whole(its)
            && is_same_round(mine, its)
    }

    fn text(&self) -> String {
        let (board, shown) = (&self.board, &self.shown);
        let known = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".into());
        let [white, black] = &shown.players;
        let mut pgn = shown.pgn.clone();
        let date = shown.date.clone().unwrap_or_else(|| "????.??.??".into());
        pgn.tags = [
            ("Event", known(&shown.event)),
            ("Site", "?".into()),
            ("Date", date),
            (
                "Round",
                match shown.round {
                    Some(round) => format!("{round}.{board}"),
                    None => format!("{board}.{}", shown.number),
                },
            ),
            ("White", known(white)),
            ("Black", known(black)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        pgn.text()
    }
}

/// True where both are known to be of one round: by its number, or without one by the day. Games of two days are of two rounds
/// in any case.
fn is_same_round(one: &ShownGame, other: &ShownGame) -> bool {
    let days = one.date.as_ref().zip(other.date.as_ref());
    let may_be = days.map_or_else(|| one.round.is_some(), |(day, other)| day == other);
    may_be && one.event == other.event && one.round == other.round
}

/// True where it begins with the initial array. One that goes on from the middle does not have the half-moves before.
fn is_whole(game: &ShownGame) -> bool {
    let Some(fen) = &game.pgn.start_fen else {
        return true;
    };
    let placement = fen.split(' ').next().unwrap_or_default();
    let ranks: Vec<&str> = placement.split('/').collect();
    game.pgn.chess960 && matches!(ranks[..], [_, "pppppppp", "8", "8", "8", "8", "PPPPPPPP", _])
}

#[cfg(test)]
mod tests;
