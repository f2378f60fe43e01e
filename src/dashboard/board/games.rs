//! The games of a board, made of its events and its state.

use std::{collections::BTreeMap, sync::Arc};

use super::Board;
use crate::{
    dashboard::{
        games::{FoldedGame, GameDetail, GameLine, MoveView, first_ply},
        key::BoardKey,
        legal::replayed,
    },
    event::{Body, GameResult},
};

impl Board {
    /// The games, by their numbers.
    pub(in crate::dashboard) fn folded_games(&self) -> BTreeMap<u32, FoldedGame> {
        let mut games = self.earlier.games();
        for event in self.events.values().filter(|event| !self.earlier.has(event)) {
            if let Some(number) = event.game {
                games.entry(number).or_default().take(event);
            }
        }
        if let Some(present) = self.game.game {
            let game = games.entry(present).or_default();
            self.take_state_of(game);
        }
        for (number, game) in &mut games {
            if let Some(sat) = self.sat.get(number) {
                game.players.clone_from(sat);
            }
        }
        games
    }

    /// Takes what the state tells of the present game, where the events do not tell all of it.
    fn take_state_of(&self, game: &mut FoldedGame) {
        let state = &self.game;
        let told = game.moves.iter().map(|made| &made.uci);
        let Some(start) = state.start_fen.as_ref().filter(|_| !told.eq(&state.moves)) else {
            return;
        };
        let fens = replayed(start, state.chess960, &state.moves);
        let named = state.moves.iter().zip(&state.san).enumerate();
        let moves = named.map(|(i, (uci, san))| MoveView {
            uci: uci.clone(),
            san: san.clone(),
            fen: fens.get(i).cloned(),
            time: None,
        });
        game.moves = Arc::new(moves.collect());
        game.start = Some(start.clone());
        game.chess960 = state.chess960;
        game.has_gap = false;
    }

    /// All known games, the newest first.
    pub(in crate::dashboard) fn games(&self) -> Vec<GameLine> {
        let games = self.folded_games();
        let lines = games.iter().rev();
        lines.map(|(number, game)| self.line(*number, game)).collect()
    }

    /// The newest event of the board that the page shows.
    pub(in crate::dashboard) fn seen(&self) -> u64 {
        let last = self.events.last_key_value().map_or(0, |(seq, _)| *seq);
        last.max(self.game.last_seq)
    }

    /// The game with this number.
    pub(in crate::dashboard) fn game_view(&self, key: &BoardKey, number: u32) -> Option<GameDetail> {
        let game = self.folded_games().remove(&number)?;
        Some(GameDetail {
            gateway: key.gateway.clone(),
            board: key.board.clone(),
            line: self.line(number, &game),
            moves: game.moves(),
            start_fen: game.start,
            chess960: game.chess960,
            asks: game.asks,
            seq: self.seen(),
        })
    }

    /// The number and the result of the last game, if it was lost by default and no game came after it.
    pub(in crate::dashboard) fn forfeited(&self) -> Option<(u32, GameResult)> {
        let later = self.events.values().filter(|event| event.game > self.game.game);
        let ends = later.filter_map(|event| match &event.body {
            Body::GameEnded { result, .. } => Some((event.game?, event.seq, *result)),
            Body::GameResumed { .. } => Some((event.game?, event.seq, GameResult::Open)),
            _ => None,
        });
        let (number, _, result) = ends.max_by_key(|(number, seq, _)| (*number, *seq))?;
        result.is_forfeit().then_some((number, result))
    }

    /// The code of a notice that asks the arbiter something about the present game.
    pub(in crate::dashboard) fn asks(&self) -> Option<&'static str> {
        self.noticed()?.asks
    }

    /// True where other rules are configured than those by which the present game goes.
    pub(in crate::dashboard) fn rules_wait(&self) -> bool {
        self.noticed()
            .is_some_and(|game| game.rules_wait && game.end.is_none())
    }

    /// The present game by its events; none if no notice is among them, as with most games.
    fn noticed(&self) -> Option<FoldedGame> {
        let present = self.game.game?;
        let its = || self.events.values().filter(|event| event.game == Some(present));
        if !its().any(|event| matches!(event.body, Body::Notice { .. })) {
            return None;
        }
        let mut game = FoldedGame::default();
        its().for_each(|event| game.take(event));
        Some(game)
    }

    /// When the last game began that names its tournament, and that name.
    pub(in crate::dashboard) fn event_name(&self) -> Option<(String, String)> {
        self.events.values().rev().find_map(|told| match &told.body {
            Body::GameStarted { event, .. } => Some((told.time.clone().unwrap_or_default(), event.clone()?)),
            _ => None,
        })
    }

    fn line(&self, number: u32, game: &FoldedGame) -> GameLine {
        GameLine {
            number,
            present: self.game.game == Some(number),
            players: game.players.clone(),
            plies: game.moves.len(),
            first_ply: first_ply(game.start.as_deref()),
            end: game.end.clone(),
            began: game.began.clone(),
            complete: game.is_complete(),
        }
    }
}
