//! The states of a board, as they are now.

use super::{
    core::{Core, Phase},
    start::array_named,
    state::{BoardInfo, GameView, PositionView, Status},
};
use shakmaty::{CastlingMode, Color};

use crate::{
    board::Stand,
    event::GameResult,
    game::{Pgn, PgnMove},
};

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
        let seen = self.sensed.placement();
        let Phase::Game(game) = &self.phase else {
            return PositionView {
                placement: Some(array_named(seen).fen()),
                ..PositionView::default()
            };
        };
        let stand = game.stand();
        let placement = Some(seen.named_by(game.lines.best().placement()).fen());
        let differing = stand.placement().differing(seen);
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
            chess960: game.mode == CastlingMode::Chess960,
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
        let Phase::Game(game) = &self.phase else {
            return None;
        };
        let black_begins = game.start.turn() == Color::Black;
        let moves = game.record.iter().enumerate().map(|(i, made)| PgnMove {
            san: made.san.clone(),
            uci: made.uci.clone(),
            fen: made.stand.fen(),
            clock_ms: made.clock.map(|clock| match game.mover(i + 1) {
                Color::White => clock.white_ms,
                Color::Black => clock.black_ms,
            }),
        });
        let initial = game.start.placement() == Stand::initial().placement() && !black_begins;
        let pgn = Pgn {
            tags: [
                ("Event", "?"),
                ("Site", "?"),
                ("Date", "????.??.??"),
                ("Round", "?"),
                ("White", "?"),
                ("Black", "?"),
            ]
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .to_vec(),
            start_fen: (!initial).then(|| game.start.fen()),
            chess960: game.mode == CastlingMode::Chess960,
            black_begins,
            first_number: game.start.setup().fullmoves.get(),
            moves: moves.collect(),
            result: game.result.unwrap_or(GameResult::Open).as_str().to_string(),
        };
        Some(pgn.text())
    }
}
