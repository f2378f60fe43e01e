//! A game that begins in the middle, on a board of which nobody knows which way round it lies. If the watcher took it the wrong
//! way, what it takes for an illegal move is legal for the players.

use shakmaty::{CastlingMode, Chess, Position, uci::UciMove};

use super::{finding::Finding, record::GameRecord};
use crate::{
    board::{Placement, Stand},
    laws::IrregularityKind,
};

impl GameRecord {
    /// True when its half-moves and the illegal move are all legal on the board as it lies the other way round.
    pub(super) fn is_legal_turned(&self, finding: &Finding) -> bool {
        if finding.kind != IrregularityKind::IllegalMove {
            return false;
        }
        let act = finding.act.as_ref().and_then(|act| act.parse::<UciMove>().ok());
        let before = self.iter().take(finding.ply.saturating_sub(1));
        let legal = before.map(|made| Some(made.kind.legal()?.to_uci(CastlingMode::Standard)));
        let mut position = self.start_turned();
        for uci in legal.chain([act]) {
            let played = position.take().zip(uci).and_then(|(mut position, uci)| {
                let mv = turned(uci)?.to_move(&position).ok()?;
                position.play_unchecked(mv);
                Some(position)
            });
            position = played;
        }
        position.is_some()
    }

    /// The position in which the game began, as it is the other way round.
    fn start_turned(&self) -> Option<Chess> {
        let start = self.start.setup();
        let mut board = start.board;
        board.rotate_180();
        let stand = Stand::of_placement(&Placement::from(&board), start.turn, CastlingMode::Standard);
        let setup = stand.setup();
        let position = setup.position::<Chess>(CastlingMode::Standard);
        position
            .or_else(shakmaty::PositionError::ignore_too_much_material)
            .ok()
    }
}

fn turned(uci: UciMove) -> Option<UciMove> {
    match uci {
        UciMove::Normal { from, to, promotion } => Some(UciMove::Normal {
            from: from.rotate_180(),
            to: to.rotate_180(),
            promotion,
        }),
        _ => None,
    }
}
