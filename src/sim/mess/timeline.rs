//! When which piece stood where, when the clock was touched, and what the sensors missed.

use shakmaty::{Color, Square};

use super::super::hand::figure::TaggedPiece;

/// A square became something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Put {
    pub(super) at: u64,
    pub(super) square: Square,
    pub(super) piece: Option<TaggedPiece>,
}

/// What is done to the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeverAct {
    Press(Color),
    Stop,
    /// Who is to move, and seconds added for White and Black.
    Start(Color, u64, u64),
}

/// A square reads as something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misread {
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) square: Square,
    pub(super) shown: Option<TaggedPiece>,
}

/// A game in time (milliseconds). Not sorted: a hand may begin before another has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) puts: Vec<Put>,
    pub(super) levers: Vec<(u64, LeverAct)>,
    pub(super) misreads: Vec<Misread>,
    /// Squares that never read anything.
    pub(super) dead: Vec<Square>,
    /// Changes that are never heard of.
    pub(super) lost: Vec<(u64, Square)>,
    /// The board's cable: out, in.
    pub(super) cable: Vec<(u64, u64)>,
    /// The clock's cable: out, in.
    pub(super) clock_cable: Vec<(u64, u64)>,
    /// What is said from then on comes then.
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

    /// Loses `put`, if a board that is asked when it is at rest can still tell what stands there: what nobody could
    /// know is no fair question.
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

/// A host asks for everything when nothing has changed for a second; it takes a scan and a line to know.
const REST_MS: u64 = 1700;
