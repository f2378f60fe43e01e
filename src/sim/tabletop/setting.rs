//! How a table is set before anything is done there.

use shakmaty::{Chess, Position, Square};

use crate::{
    board::Orientation,
    dgt::{ClockSide, PieceCode, Squares},
    sim::{hand::figure::code, sensors::Scan},
};

/// How hands move and sensors read.
#[derive(Clone, Debug)]
pub enum Manner {
    /// Hands always take the same time and the plainest way, and each update comes at once.
    Tidy,
    /// Hands take their time, and a scan finds what they do. The seed decides what is left to chance.
    Human(u64, Scan),
}

impl Manner {
    /// People at a board with a cable.
    #[must_use]
    pub fn human(seed: u64) -> Self {
        Self::Human(seed, Scan::default())
    }
}

/// How a table is set before anything is done there.
#[derive(Clone, Debug)]
pub struct TableSetting {
    /// How hands move and sensors read.
    pub manner: Manner,
    /// The position from which half-moves are played.
    pub position: Chess,
    /// What stands on the squares, a1 first.
    pub stands: Squares,
    /// Squares whose pieces have another chip than their own, and what it says: nothing if it does not work.
    pub chips: Vec<(Square, PieceCode)>,
    /// How the board lies.
    pub orientation: Orientation,
    /// Milliseconds of each side, and for each half-move. None: there is no clock.
    pub clock: Option<(u64, u64)>,
    /// Milliseconds that a side gets for the second period when its flag falls.
    pub next_period_ms: u64,
    /// The side of the clock at which White sits.
    pub white: ClockSide,
}

impl Default for TableSetting {
    fn default() -> Self {
        Self {
            manner: Manner::Tidy,
            stands: codes_of(&Chess::default()),
            position: Chess::default(),
            chips: Vec::new(),
            orientation: Orientation::Normal,
            clock: Some((5_400_000, 30_000)),
            next_period_ms: 0,
            white: ClockSide::Left,
        }
    }
}

/// What stands on the squares in a position, a1 first.
#[must_use]
pub fn codes_of(position: &Chess) -> Squares {
    std::array::from_fn(|i| code(position.board().piece_at(Square::new(i as u32))))
}
