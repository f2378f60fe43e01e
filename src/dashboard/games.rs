//! The games of a board as its events tell them.

use std::{collections::BTreeMap, mem::size_of, sync::Arc};

use serde::Serialize;

use super::{
    board::{Board, Players},
    hall::BoardKey,
    legal::replayed,
};
use crate::event::{Body, Event, GameResult, Source, notice};

/// What a game without half-moves takes in memory, and what each of its texts takes besides its letters.
const OF_GAME: usize = 1024;
const OF_TEXT: usize = 16;

/// A game while its events are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Game {
    /// The start position; none where its begin was not told.
    start: Option<String>,
    chess960: bool,
    pub(super) players: Players,
    /// The round of the tournament, where it was told.
    pub(super) round: Option<u32>,
    /// Shared with what is looked at: games are read often and change seldom.
    moves: Arc<Vec<MoveView>>,
    end: Option<End>,
    pub(super) began: Option<String>,
    /// Code of the last notice that asks something, until it was answered.
    asks: Option<&'static str>,
    /// Whether a half-move was told without the one before it.
    has_gap: bool,
}

/// How a game ended, and who said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct End {
    result: GameResult,
    reason: String,
    note: Option<String>,
    time: Option<String>,
    source: Option<Source>,
    by: Option<String>,
}

/// A game in the list of a board.
#[derive(Clone, Debug, Serialize)]
pub struct GameLine {
    number: u32,
    /// Whether it is the present one.
    present: bool,
    players: Players,
    plies: usize,
    /// Number of the first half-move, as in the board's view.
    first_ply: u32,
    end: Option<End>,
    began: Option<String>,
    /// Whether all of it was told.
    complete: bool,
}

/// A game that is looked at closely.
#[derive(Debug, Serialize)]
pub(super) struct GameView {
    gateway: String,
    board: String,
    #[serde(flatten)]
    line: GameLine,
    start_fen: Option<String>,
    chess960: bool,
    moves: Vec<MoveView>,
    asks: Option<&'static str>,
}

/// A half-move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct MoveView {
    uci: String,
    san: Option<String>,
    /// The position after it; null where that was not told.
    fen: Option<String>,
    /// When it was said; null for what is known from the state alone.
    time: Option<String>,
}

impl Game {
    /// Takes its next event.
    pub(super) fn take(&mut self, event: &Event) {
        match &event.body {
            Body::GameStarted {
                fen,
                chess960,
                white,
                black,
                round,
                ..
            } => {
                self.round = *round;
                self.start = Some(fen.clone());
                self.chess960 = *chess960;
                self.players = [white.clone(), black.clone()];
                self.began.clone_from(&event.time);
            }
            Body::Move(made) => {
                let before = (made.ply as usize).saturating_sub(1);
                self.has_gap |= before > self.moves.len();
                let moves = Arc::make_mut(&mut self.moves);
                moves.truncate(before);
                moves.push(MoveView {
                    uci: made.uci.clone(),
                    san: made.san.clone(),
                    fen: Some(made.fen.clone()),
                    time: event.time.clone(),
                });
            }
            Body::MovesRetracted { to_ply, .. } => {
                Arc::make_mut(&mut self.moves).truncate(*to_ply as usize);
            }
            Body::GameEnded { result, reason, note } => {
                if event.source.is_some() {
                    self.asks = None;
                }
                self.end = Some(End {
                    result: *result,
                    reason: reason.clone(),
                    note: note.clone(),
                    time: event.time.clone(),
                    source: event.source,
                    by: event.by.clone(),
                });
            }
            Body::GameResumed { .. } => (self.end, self.asks) = (None, None),
            Body::Notice { code, .. } => {
                let asking = [notice::SET_UP_WITHOUT_RESULT, notice::RESULT_CONTRADICTS];
                self.asks = asking.into_iter().find(|asks| asks == code).or(self.asks);
            }
            _ => {}
        }
    }

    fn is_complete(&self) -> bool {
        self.start.is_some() && !self.has_gap
    }

    /// Lets go of the positions, which follow from the half-moves.
    pub(super) fn lighten(&mut self) {
        let moves = Arc::make_mut(&mut self.moves);
        moves.iter_mut().for_each(|made| made.fen = None);
        moves.shrink_to_fit();
    }

    /// About what it takes in memory, in bytes.
    pub(super) fn weight(&self) -> usize {
        let of_move = |made: &MoveView| {
            let texts = [
                Some(&made.uci),
                made.san.as_ref(),
                made.fen.as_ref(),
                made.time.as_ref(),
            ];
            let texts = texts.into_iter().flatten();
            size_of::<MoveView>() + texts.map(|text| text.len() + OF_TEXT).sum::<usize>()
        };
        OF_GAME + self.moves.iter().map(of_move).sum::<usize>()
    }

    /// The half-moves with their positions.
    fn moves(&self) -> Vec<MoveView> {
        let mut moves = self.moves.to_vec();
        if moves.iter().any(|made| made.fen.is_none()) {
            let played: Vec<String> = moves.iter().map(|made| made.uci.clone()).collect();
            let start = self.start.as_deref().unwrap_or_default();
            let fens = replayed(start, self.chess960, &played);
            for (made, fen) in moves.iter_mut().zip(fens) {
                made.fen.get_or_insert(fen);
            }
        }
        moves
    }
}

impl Board {
    /// By their numbers.
    pub(super) fn folded_games(&self) -> BTreeMap<u32, Game> {
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

    /// What the state tells of the present game, where the events do not tell all.
    fn take_state_of(&self, game: &mut Game) {
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

    /// All that are known, the newest first.
    pub(super) fn games(&self) -> Vec<GameLine> {
        let games = self.folded_games();
        let lines = games.iter().rev();
        lines.map(|(number, game)| self.line(*number, game)).collect()
    }

    /// The game with this number.
    pub(super) fn game_view(&self, key: &BoardKey, number: u32) -> Option<GameView> {
        let game = self.folded_games().remove(&number)?;
        Some(GameView {
            gateway: key.gateway.clone(),
            board: key.board.clone(),
            line: self.line(number, &game),
            moves: game.moves(),
            start_fen: game.start,
            chess960: game.chess960,
            asks: game.asks,
        })
    }

    /// The last game, where nobody came to it and none was played after it: its number and its result.
    pub(super) fn forfeited(&self) -> Option<(u32, GameResult)> {
        let later = self.events.values().filter(|event| event.game > self.game.game);
        let ends = later.filter_map(|event| match &event.body {
            Body::GameEnded { result, .. } => Some((event.game?, event.seq, *result)),
            Body::GameResumed { .. } => Some((event.game?, event.seq, GameResult::Open)),
            _ => None,
        });
        let (number, _, result) = ends.max_by_key(|(number, seq, _)| (*number, *seq))?;
        result.is_forfeit().then_some((number, result))
    }

    /// Code of the notice that asks something about the present game.
    pub(super) fn asks(&self) -> Option<&'static str> {
        let present = self.game.game?;
        let its = self.events.values().filter(|event| event.game == Some(present));
        let mut game = Game::default();
        its.for_each(|event| game.take(event));
        game.asks
    }

    fn line(&self, number: u32, game: &Game) -> GameLine {
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

/// Number of the first half-move of a game that starts from `fen`: 2 for White's first move.
pub(super) fn first_ply(fen: Option<&str>) -> u32 {
    let fields: Vec<&str> = fen.unwrap_or_default().split(' ').collect();
    let number = fields.get(5).and_then(|field| field.parse().ok()).unwrap_or(1u32);
    let black_begins = fields.get(1) == Some(&"b");
    number.saturating_mul(2).saturating_add(u32::from(black_begins))
}
