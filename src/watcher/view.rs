//! The states of a board, as they are now.

use super::{
    core::{Core, Phase},
    state::{BoardInfo, GameView, PositionView, Status},
};
use crate::event::GameResult;

impl Core {
    pub(super) fn status(&self) -> Status {
        if self.connected {
            Status::Online
        } else {
            Status::Offline
        }
    }

    pub(super) fn info(&self) -> BoardInfo {
        BoardInfo {
            model: None,
            serial: self.identity.serial().map(str::to_string),
            firmware: self.identity.firmware.map(|(main, sub)| format!("{main}.{sub}")),
            port: self.link.clone(),
        }
    }

    pub(super) fn position(&self) -> PositionView {
        if self.raw.is_none() {
            return PositionView::default();
        }
        let placement = Some(self.sensed.placement().fen());
        let Phase::Game(game) = &self.phase else {
            return PositionView {
                placement,
                ..PositionView::default()
            };
        };
        let stand = game.stand();
        let differing = stand.placement().differing(self.sensed.placement());
        let mut problems: Vec<String> = differing.into_iter().map(|s| format!("square:{s}")).collect();
        problems.extend(game.open.iter().map(|open| format!("irregularity:{}", open.id)));
        let fen = differing.is_empty().then(|| stand.fen());
        PositionView {
            placement,
            fen,
            problems,
        }
    }

    pub(super) fn game_view(&self) -> GameView {
        let Phase::Game(game) = &self.phase else {
            return GameView {
                last_seq: self.out.seq,
                ..GameView::default()
            };
        };
        GameView {
            game: Some(game.number),
            start_fen: Some(game.start.fen()),
            chess960: game.mode == shakmaty::CastlingMode::Chess960,
            moves: game.record.iter().map(|made| made.uci.clone()).collect(),
            san: game.record.iter().map(|made| made.san.clone()).collect(),
            fen: Some(game.stand().fen()),
            to_move: Some(game.to_move().into()),
            result: Some(game.result.unwrap_or(GameResult::Open)),
            open_irregularities: game.open.iter().map(|open| open.id.clone()).collect(),
            last_seq: self.out.seq,
        }
    }

    pub(super) fn pgn(&self) -> Option<String> {
        None
    }
}
