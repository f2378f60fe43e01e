//! The irregularities that were reported in a game, and how many offences count.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{Color, Move};

use super::case_file::CaseFile;
use crate::{
    board::{IllegalAct, Stand},
    event::Resolution,
    laws::IrregularityKind,
    time::Millis,
    watcher::command::CommandError,
};

/// An irregularity that was reported. `ended` tells whether it is still open.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct Open {
    pub(in crate::watcher) id: String,
    pub(in crate::watcher) kind: IrregularityKind,
    pub(in crate::watcher) offender: Option<Color>,
    pub(in crate::watcher) ply: usize,
    /// The position that should stand on the board, where the players have to put something right.
    pub(in crate::watcher) target: Option<Arc<Stand>>,
    /// The half-move that the ruling completes (a queen for an unreplaced pawn).
    pub(in crate::watcher) ruled: Option<Move>,
    /// The illegal act, where its position may come to stand.
    pub(in crate::watcher) act: Option<IllegalAct>,
    /// It counts among the offences of 7.5.5.
    pub(in crate::watcher) counted: bool,
    /// The Laws let it stand once the opponent has replied.
    pub(in crate::watcher) may_stand: bool,
    /// When the watcher reported it.
    pub(in crate::watcher) said: Millis,
    /// The case behind it, and its last report.
    pub(in crate::watcher) case_file: Box<CaseFile>,
    /// A person reported or reopened it: only a person closes it.
    pub(in crate::watcher) by_hand: bool,
    /// How it ended; none while it is open.
    pub(in crate::watcher) ended: Option<Ended>,
}

impl Open {
    /// An arbiter said that there was no offence.
    pub(in crate::watcher) fn is_dismissed(&self) -> bool {
        let ended = self.ended.as_ref();
        ended.is_some_and(|ended| ended.how == Resolution::Dismissed)
    }

    /// Number of half-moves on the record when its target stands on the board.
    pub(super) fn plies_at_restoration(&self) -> usize {
        match self.kind {
            IrregularityKind::PiecesDisplaced | IrregularityKind::DisplacedPieceFound => self.ply,
            _ => self.ply.saturating_sub(1),
        }
    }
}

/// How an irregularity ended, and its state before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::watcher) struct Ended {
    pub(in crate::watcher) how: Resolution,
    /// The name of the person who ended it, where it is known.
    pub(in crate::watcher) by: Option<String>,
    /// It counted among the offences before.
    pub(in crate::watcher) counted: bool,
    /// The first end of a case that was dismissed after it had ended.
    pub(in crate::watcher) before: Option<Resolution>,
}

/// The irregularities of a game, in the order in which they were reported, or ended.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct Cases {
    pub(in crate::watcher) open: Vec<Open>,
    /// Those that ended. An arbiter may still dismiss them, or open them again.
    pub(in crate::watcher) closed: Vec<Open>,
    /// Number of offences of 7.5 that count, White's and Black's.
    pub(in crate::watcher) offences: [u32; 2],
    /// They are of an earlier game of the board, built from its events: nobody looks for mates in it any more.
    pub(in crate::watcher) is_past: bool,
}

impl Cases {
    /// All of them, the open ones first.
    pub(in crate::watcher) fn all(&self) -> impl Iterator<Item = &Open> {
        self.open.iter().chain(&self.closed)
    }

    /// All of them, to be changed.
    pub(in crate::watcher) fn all_mut(&mut self) -> impl Iterator<Item = &mut Open> {
        self.open.iter_mut().chain(&mut self.closed)
    }

    /// The open ones that players may have to put right on the board.
    pub(in crate::watcher) fn at_board(&self) -> impl Iterator<Item = &Open> {
        let of_clock = |kind| matches!(kind, IrregularityKind::FlagFall | IrregularityKind::BothFlags);
        let at_board = move |open: &&Open| !open.kind.is_conduct() && !of_clock(open.kind);
        self.open.iter().filter(at_board)
    }

    /// The index of the first open one for which `is_meant` is true.
    pub(in crate::watcher) fn find(&self, is_meant: impl Fn(&Open) -> bool) -> Option<usize> {
        self.open.iter().position(is_meant)
    }

    /// The index of the open one with this id.
    ///
    /// # Errors
    /// An error says how it ended, or that nobody knows it.
    pub(in crate::watcher) fn find_open(&self, id: &str) -> Result<usize, CommandError> {
        if let Some(i) = self.find(|open| open.id == id) {
            return Ok(i);
        }
        let ended = self.closed.iter().find(|open| open.id == id);
        Err(match ended.and_then(|open| open.ended.clone()) {
            Some(ended) => CommandError::closed(ended.how, ended.by),
            None => CommandError::UnknownIrregularity(id.to_owned()),
        })
    }

    /// The number that the next offence of `side` has (7.5.5).
    pub(in crate::watcher) fn next_offence(&self, side: Color) -> u32 {
        self.offences[side as usize] + 1
    }
}
