//! A half-move of the record, and its names.

use std::sync::Arc;

use shakmaty::{CastlingMode, san::SanPlus, uci::UciMove};

use crate::{
    board::{PlyKind, Stand},
    event::{Body, ClockState, CompletedBy, MoveMade},
    time::Millis,
};

/// A half-move of the record.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct Made {
    pub(in crate::watcher) kind: PlyKind,
    pub(in crate::watcher) uci: UciMove,
    /// None where an illegal move stands.
    pub(in crate::watcher) san: Option<SanPlus>,
    pub(in crate::watcher) stand: Arc<Stand>,
    pub(in crate::watcher) completed_by: CompletedBy,
    pub(in crate::watcher) clock: Option<ClockState>,
    pub(in crate::watcher) at: Millis,
    /// An arbiter accepted a position after this half-move other than the one it leads to.
    pub(in crate::watcher) accepted: bool,
    /// The position in which it was made, where that is not the one after the half-move before: pieces had been displaced.
    pub(in crate::watcher) made_in: Option<Arc<Stand>>,
    /// The board read the piece where it went.
    pub(in crate::watcher) landed: bool,
}

impl Made {
    /// Its SAN, as it is written.
    pub(in crate::watcher) fn san_text(&self) -> Option<String> {
        self.san.map(|san| san.to_string())
    }

    /// The body of the event that reports it as half-move `ply`.
    pub(in crate::watcher) fn told(&self, ply: usize) -> Body {
        Body::Move(MoveMade {
            ply: ply as u32,
            uci: self.uci.to_string(),
            san: self.san_text(),
            fen: self.stand.fen(),
            completed_by: self.completed_by,
            clock: self.clock,
            illegal: self.san.is_none(),
        })
    }
}

/// UCI and SAN of a half-move; an illegal act has no SAN.
pub(in crate::watcher) fn names(
    before: &Stand,
    kind: &PlyKind,
    mode: CastlingMode,
) -> (UciMove, Option<SanPlus>) {
    match kind {
        PlyKind::Illegal(act) | PlyKind::Suspect(act) => {
            // An act that no single move describes is named by the null move.
            (act.uci_move().unwrap_or(UciMove::Null), None)
        }
        PlyKind::Legal(mv) | PlyKind::Ruled(mv) | PlyKind::Recovered(mv) => {
            (UciMove::from_move(*mv, mode), Some(before.san(*mv)))
        }
    }
}
