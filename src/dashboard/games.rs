//! The games of a board, as its events tell them.

use std::{mem::size_of, sync::Arc};

use serde::Serialize;

use super::legal::replayed;
use crate::event::{Body, CompletedBy, Event, GameResult, MoveMade, Source, notice};

/// The names of White and of Black.
pub(super) type Players = [Option<String>; 2];

/// How many bytes of memory a game without half-moves takes.
const OF_GAME: usize = 1024;
/// How many bytes of memory each text of a game takes besides its letters.
const OF_TEXT: usize = 16;
/// The UCI of a half-move that nobody saw.
const UNNAMED: &str = "0000";

/// A game while its events are read.
#[derive(Clone, Debug, Default)]
pub(super) struct FoldedGame {
    /// The start position; none if the beginning of the game was not told.
    pub(super) start: Option<String>,
    pub(super) chess960: bool,
    pub(super) players: Players,
    /// The round of the tournament, if known.
    pub(super) round: Option<u32>,
    /// The half-moves, shared with the views: games are read often and change seldom.
    pub(super) moves: Arc<Vec<MoveView>>,
    /// Half-moves that a correction took out. Those that the record tells again keep their times.
    taken_out: Vec<MoveView>,
    pub(super) end: Option<End>,
    pub(super) began: Option<String>,
    /// The code of the last notice that asks something, until the arbiter has answered.
    pub(super) asks: Option<&'static str>,
    /// True where other rules are configured than those by which the game goes.
    pub(super) rules_wait: bool,
    /// True where a half-move was told without the one before it.
    pub(super) has_gap: bool,
}

/// How a game ended, and who said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct End {
    result: GameResult,
    reason: String,
    note: Option<String>,
    time: Option<String>,
    source: Option<Source>,
    by: Option<String>,
}

/// A game in the list of a board.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GameLine {
    pub(super) number: u32,
    /// True for the present game.
    pub(super) present: bool,
    pub(super) players: Players,
    pub(super) plies: usize,
    /// Number of the first half-move, as in the board's view.
    pub(super) first_ply: u32,
    pub(super) end: Option<End>,
    pub(super) began: Option<String>,
    /// True where all of it was told.
    pub(super) complete: bool,
}

/// A game in full, for whoever looks at it closely.
#[derive(Debug, Serialize)]
pub(super) struct GameDetail {
    pub(super) gateway: String,
    pub(super) board: String,
    #[serde(flatten)]
    pub(super) line: GameLine,
    pub(super) start_fen: Option<String>,
    pub(super) chess960: bool,
    pub(super) moves: Vec<MoveView>,
    pub(super) asks: Option<&'static str>,
    /// The newest event of the board that is in this: a command is about what was seen.
    pub(super) seq: u64,
}

/// A half-move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct MoveView {
    pub(super) uci: String,
    pub(super) san: Option<String>,
    /// The position after it; null if unknown.
    pub(super) fen: Option<String>,
    /// When it was said. Null where only the state tells of it, or a person entered it.
    pub(super) time: Option<String>,
}

impl FoldedGame {
    /// Takes the next event of the game.
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
            Body::NamesCorrected {
                white, black, round, ..
            } => {
                self.round = *round;
                self.players = [white.clone(), black.clone()];
            }
            Body::Move(made) => {
                // The half-moves go on, so the missed ones were found or entered. A half-move that nobody saw does not
                // count as found, and a half-move without a name is still missing.
                let is_missing = || self.moves.iter().any(|made| made.uci == UNNAMED);
                if self.asks == Some(notice::GAP_NOT_EXPLAINED)
                    && made.completed_by != CompletedBy::Recovered
                    && (event.source.is_some() || !is_missing())
                {
                    self.asks = None;
                }
                let runs = made.clock.is_some_and(|clock| clock.running.is_some());
                if self.asks == Some(notice::CLOCK_STANDS) && runs {
                    self.asks = None;
                }
                let before = (made.ply as usize).saturating_sub(1);
                self.has_gap |= before > self.moves.len();
                let time = self.time_of(event, made);
                let moves = Arc::make_mut(&mut self.moves);
                moves.truncate(before);
                moves.push(MoveView {
                    uci: made.uci.clone(),
                    san: made.san.clone(),
                    fen: Some(made.fen.clone()),
                    time,
                });
            }
            Body::MovesRetracted {
                to_ply,
                reason,
                fen,
                chess960,
            } => {
                if fen.is_some() {
                    self.start.clone_from(fen);
                    self.chess960 = *chess960;
                }
                let moves = Arc::make_mut(&mut self.moves);
                let taken_out = moves.split_off(moves.len().min(*to_ply as usize));
                let corrected = reason == "corrected_by_arbiter" || fen.is_some();
                self.taken_out = if corrected { taken_out } else { Vec::new() };
            }
            Body::GameEnded { result, reason, note } => {
                let of_play = [notice::GAP_NOT_EXPLAINED, notice::CLOCK_STANDS];
                if event.source.is_some() || self.asks.is_some_and(|asks| of_play.contains(&asks)) {
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
            Body::Notice { code, .. } if code == notice::RULES_WAIT => self.rules_wait = true,
            Body::Notice { code, .. } if code == notice::RULES_TAKEN => self.rules_wait = false,
            Body::Notice { code, .. } => {
                let asking = [
                    notice::SET_UP_WITHOUT_RESULT,
                    notice::RESULT_CONTRADICTS,
                    notice::GAP_NOT_EXPLAINED,
                    notice::PLAYED_ON,
                    notice::CLOCK_STANDS,
                ];
                self.asks = asking.into_iter().find(|asks| asks == code).or(self.asks);
            }
            _ => {}
        }
    }

    /// The time of day of a half-move. Half-moves that a correction tells again keep their times. Those that a person
    /// entered have none, because nobody saw when they were played.
    fn time_of(&mut self, event: &Event, made: &MoveMade) -> Option<String> {
        if event.source.is_none() {
            self.taken_out = Vec::new();
            return event.time.clone();
        }
        let again = self.taken_out.iter().position(|old| old.uci == made.uci);
        match again {
            Some(i) => self.taken_out.drain(..=i).next_back()?.time,
            None if made.clock.is_none() => None,
            None => event.time.clone(),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.start.is_some() && !self.has_gap
    }

    /// Drops the positions, which follow from the half-moves.
    pub(super) fn lighten(&mut self) {
        let moves = Arc::make_mut(&mut self.moves);
        moves.iter_mut().for_each(|made| made.fen = None);
        moves.shrink_to_fit();
    }

    /// About how many bytes of memory it takes.
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
        OF_GAME
            + self
                .moves
                .iter()
                .chain(&self.taken_out)
                .map(of_move)
                .sum::<usize>()
    }

    /// The half-moves with their positions.
    pub(super) fn moves(&self) -> Vec<MoveView> {
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

/// Number of the first half-move of a game that starts from `fen`: 2 for White's first move.
pub(super) fn first_ply(fen: Option<&str>) -> u32 {
    let fields: Vec<&str> = fen.unwrap_or_default().split(' ').collect();
    let number = fields.get(5).and_then(|field| field.parse().ok()).unwrap_or(1u32);
    let black_begins = fields.get(1) == Some(&"b");
    number.saturating_mul(2).saturating_add(u32::from(black_begins))
}
