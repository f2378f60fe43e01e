//! The director lets things happen at a table, and notes what is true.

use fastrand::Rng;
use shakmaty::{Board, CastlingMode, Chess, Color, Move, Position, Square};

use super::{
    super::hand::figure::{Men, TaggedPiece},
    fault::{Fault, FaultRates},
    playout::Taste,
    stage::Stage,
    tempo::Tempo,
    timeline::{LeverAct, Put, Timeline},
    trouble::Outages,
    truth::{HalfMove, Offence, Truth},
};
use crate::laws::{IrregularityKind, Side, Supervision};

/// Lets things happen at a table. Times are milliseconds.
pub(super) struct Director<'a> {
    pub(super) faults: &'a FaultRates,
    pub(super) rng: Rng,
    pub(super) tempo: Tempo,
    pub(super) stage: Stage,
    pub(super) supervision: Supervision,
    pub(super) position: Chess,
    pub(super) mode: CastlingMode,
    /// Positions before each half-move of the game.
    pub(super) past: Vec<Chess>,
    pub(super) initial: Men,
    /// What stands on the squares now.
    pub(super) men: Men,
    pub(super) timeline: Timeline,
    pub(super) truth: Truth,
    /// When the player to move got the turn.
    pub(super) at: u64,
    /// When the last hand left the board.
    pub(super) left: u64,
    /// Squares of the last half-move.
    pub(super) touched: Vec<Square>,
    pub(super) running: Option<Color>,
    pub(super) outages: Outages,
    /// The players who have offended already: one offence each is enough.
    pub(super) offended: Vec<Color>,
    /// The changes of each half-move.
    pub(super) hands: Vec<Vec<Put>>,
    /// After how many half-moves a chip dies.
    pub(super) dies: Option<usize>,
    /// The edition of the Laws, if it is not the usual one.
    pub(super) edition: Option<&'static str>,
    /// Whether the board keeps an event log.
    pub(super) log: bool,
    /// The last half-move of each side.
    pub(super) last: [Option<Move>; 2],
    pub(super) taste: Taste,
    pub(super) longest: usize,
}

impl Director<'_> {
    pub(super) fn happens(&mut self, fault: Fault) -> bool {
        self.rng.f64() < self.faults.of(fault)
    }

    /// [`Self::happens`], but a fault that cannot happen at all takes no random number: the game is the same
    /// as if there were no such fault.
    pub(super) fn strikes(&mut self, fault: Fault) -> bool {
        self.faults.of(fault) > 0.0 && self.happens(fault)
    }

    /// Enters a half-move that was played.
    pub(super) fn record(&mut self, mv: Move, at: u64) {
        let known = self.known(mv);
        self.past.push(self.position.clone());
        self.last[self.position.turn() as usize] = Some(mv);
        self.position.play_unchecked(mv);
        self.truth.moves.push(HalfMove {
            uci: mv.to_uci(self.mode).to_string(),
            placement: self.position.board().to_string(),
            at,
            known,
        });
    }

    pub(super) fn put(&mut self, at: u64, square: Square, piece: Option<TaggedPiece>) {
        self.timeline.put(at, square, piece);
        self.men[usize::from(square)] = piece;
    }

    pub(super) fn press(&mut self, at: u64, color: Color) {
        if self.running == Some(color) {
            self.timeline.lever(at, LeverAct::Press(color));
            self.running = Some(!color);
        }
    }

    pub(super) fn stop_clock(&mut self, at: u64) {
        if self.running.take().is_some() {
            self.timeline.lever(at, LeverAct::Stop);
        }
    }

    pub(super) fn start_clock(&mut self, at: u64, color: Color, white: u64, black: u64) {
        self.timeline.lever(at, LeverAct::Start(color, white, black));
        self.running = Some(color);
    }

    pub(super) fn offence(&mut self, kinds: &[IrregularityKind], color: Option<Color>, ply: usize, at: u64) {
        let offender = color.map(|color| color.fold_wb(Side::White, Side::Black));
        let kinds = kinds.to_vec();
        self.truth.offences.push(Offence {
            kinds,
            offender,
            ply,
            at,
            how: "",
        });
    }

    /// Number of the half-move that is being played.
    pub(super) fn ply(&self) -> usize {
        self.truth.moves.len() + 1
    }
}

/// The position with `board` and `turn` to move. None if that is no position.
pub(super) fn position_of(board: Board, turn: Color, before: &Chess) -> Option<Chess> {
    let mode = before.castles().mode();
    let mut setup = before.to_setup(shakmaty::EnPassantMode::Legal);
    let rooks = |square: &Square| board.piece_at(*square) == before.board().piece_at(*square);
    setup.castling_rights = setup.castling_rights.into_iter().filter(rooks).collect();
    (setup.turn, setup.ep_square) = (turn, None);
    for color in Color::ALL {
        if board.king_of(color) != before.board().king_of(color) {
            setup.castling_rights &= board.by_color(!color);
        }
    }
    setup.board = board;
    setup.position(mode).ok()
}
