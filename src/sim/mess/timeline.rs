//! Which piece stood where, and when; when the clock was touched; and what the sensors missed.

use shakmaty::{Color, Square};

use super::super::hand::figure::TaggedPiece;

/// What stands on a square changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Put {
    pub(super) at: u64,
    pub(super) square: Square,
    pub(super) piece: Option<TaggedPiece>,
}

/// What somebody does to the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeverAct {
    Press(Color),
    Stop,
    /// The clock starts: who is to move, and the seconds that are added for White and for Black.
    Start(Color, u64, u64),
}

/// A square reads something else than what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misread {
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) square: Square,
    pub(super) shown: Option<TaggedPiece>,
}

/// A game with its times in milliseconds. The lists are not sorted, for a hand may begin before another has
/// ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) puts: Vec<Put>,
    pub(super) levers: Vec<(u64, LeverAct)>,
    pub(super) misreads: Vec<Misread>,
    /// Squares that never read anything.
    pub(super) dead: Vec<Square>,
    /// Changes whose updates are lost.
    pub(super) lost: Vec<(u64, Square)>,
    /// When the board's cable is pulled, and when it is back.
    pub(super) cable: Vec<(u64, u64)>,
    /// When the clock's cable is pulled, and when it is back.
    pub(super) clock_cable: Vec<(u64, u64)>,
    /// From when until when the line holds back what the board says.
    pub(super) late: Vec<(u64, u64)>,
    pub(super) end: u64,
}

impl Timeline {
    pub(super) fn put(&mut self, at: u64, square: Square, piece: Option<TaggedPiece>) {
        self.puts.push(Put { at, square, piece });
        self.end = self.end.max(at);
    }

    pub(super) fn lever(&mut self, at: u64, lever: LeverAct) {
        self.levers.push((at, lever));
        self.end = self.end.max(at);
    }

    /// Loses the update of `put`, if a board that is asked when it is at rest can still tell what stands
    /// there. Otherwise nobody could know, and that is no fair question. Returns whether the update is lost.
    pub(super) fn lose(&mut self, put: Put) -> bool {
        let mut later: Vec<&Put> = self.puts.iter().filter(|other| other.at > put.at).collect();
        later.sort_by_key(|other| other.at);
        let mut quiet_since = put.at;
        for other in later {
            if other.at > quiet_since + REST_MS {
                break;
            }
            if other.square == put.square {
                return false;
            }
            quiet_since = other.at;
        }
        self.lost.push((put.at, put.square));
        true
    }
}

/// A host asks for the whole board when nothing has changed for a second. The scan and the line take the rest
/// of this time.
const REST_MS: u64 = 1700;
