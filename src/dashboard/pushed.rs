//! What lichess says of the games that gateways and this program push there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::broadcast::{Pushed, PushedGame};

/// The pushes, by who makes them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pushes(BTreeMap<String, Pushed>);

/// One push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PushView {
    /// Id of the round on lichess.
    round: String,
    taken: Option<String>,
    error: Option<String>,
    /// How many games lichess takes.
    games: usize,
    /// Boards whose games lichess does not take.
    refused: Vec<String>,
}

/// What lichess says of the game of one board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PushedView {
    /// Id of the round on lichess.
    round: String,
    /// Name of the game's file.
    file: String,
    moves: Option<u32>,
    error: Option<String>,
}

impl Pushes {
    /// Replaces what is said. Returns the boards whose games it concerns, if anything changed.
    pub(super) fn set(&mut self, source: &str, pushed: Option<Pushed>) -> Option<BTreeSet<String>> {
        let before = self.0.get(source);
        if before == pushed.as_ref() {
            return None;
        }
        let games = |pushed: Option<&Pushed>| -> BTreeSet<PushedGame> {
            pushed
                .into_iter()
                .flat_map(|pushed| pushed.games.clone())
                .collect()
        };
        let (former, present) = (games(before), games(pushed.as_ref()));
        let concerned = former.symmetric_difference(&present);
        let concerned = concerned.filter_map(|game| game.board.clone()).collect();
        match pushed {
            Some(pushed) => drop(self.0.insert(source.to_owned(), pushed)),
            None => drop(self.0.remove(source)),
        }
        Some(concerned)
    }

    /// What lichess says of the game of a board, `GATEWAY/BOARD`.
    pub(super) fn of(&self, board: &str) -> Option<PushedView> {
        self.0.values().find_map(|pushed| {
            let is_its = |game: &&PushedGame| game.board.as_deref() == Some(board);
            let game = pushed.games.iter().find(is_its)?;
            Some(PushedView {
                round: pushed.round.clone(),
                file: format!("game-{}.pgn", game.game),
                moves: game.moves,
                error: game.error.clone(),
            })
        })
    }

    /// All pushes.
    pub(super) fn views(&self) -> Vec<PushView> {
        self.0.values().map(view).collect()
    }
}

fn view(pushed: &Pushed) -> PushView {
    let is_refused = |game: &&PushedGame| game.error.is_some();
    let name = |game: &PushedGame| {
        let board = game.board.as_deref().and_then(|board| board.split_once('/'));
        board.map_or_else(|| game.game.to_string(), |(_, board)| board.to_owned())
    };
    let refused: Vec<_> = pushed.games.iter().filter(is_refused).map(name).collect();
    PushView {
        round: pushed.round.clone(),
        taken: pushed.taken.clone(),
        error: pushed.error.clone(),
        games: pushed.games.len() - refused.len(),
        refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(moves: [u32; 2]) -> Pushed {
        let game = |(i, moves): (usize, u32)| PushedGame {
            board: Some(format!("gw/{i}")),
            game: i,
            moves: Some(moves),
            error: (moves == 0).then(|| "no".to_owned()),
        };
        Pushed {
            round: "a1B2c3D4".into(),
            games: (1..).zip(moves).map(game).collect(),
            ..Pushed::default()
        }
    }

    #[test]
    fn only_boards_whose_answer_changed_are_concerned() {
        let mut pushes = Pushes::default();
        let set = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(pushes.set("gw", Some(pushed([3, 4]))), set(&["gw/1", "gw/2"]));
        assert_eq!(pushes.set("gw", Some(pushed([3, 4]))), None);
        let later = Pushed {
            taken: Some("2026-11-21T14:00:00Z".into()),
            ..pushed([3, 4])
        };
        assert_eq!(
            pushes.set("gw", Some(later)),
            set(&[]),
            "the time alone is no board's"
        );
        assert_eq!(pushes.set("gw", Some(pushed([3, 0]))), set(&["gw/2"]));
        assert_eq!(pushes.of("gw/2").unwrap().error.as_deref(), Some("no"));
        assert_eq!(pushes.views()[0].refused, ["2"]);
        assert_eq!(pushes.set("gw", None), set(&["gw/1", "gw/2"]));
        assert_eq!(pushes.of("gw/2"), None);
    }
}
