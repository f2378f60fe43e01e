//! Why a board does not show the position of a hypothesis: pieces that are not read, and pieces that fell.

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Color, Move, Square};

use super::{
    candidate::castled,
    kept::{bits, color, some_square, square},
    placement::Code,
    weight,
};
use crate::time::Millis;

/// The sensor faults and the fall that a hypothesis assumes. As a rule it assumes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Squares of the position whose piece is not read: it has no working chip, or the square reads nothing.
    #[serde(with = "bits")]
    pub hidden: Bitboard,
    /// Squares on which a piece was put and is not read. If the square is to blame, the next piece is not
    /// read there either.
    #[serde(with = "bits")]
    pub silent: Bitboard,
    /// Pieces that a player's hand or sleeve took from their squares.
    pub fall: Option<Fall>,
}

/// Pieces that fell while a player moved, and were not put back before he pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fall {
    /// Whose hand it was.
    #[serde(with = "color")]
    pub by: Color,
    /// When that player pressed.
    pub pressed: Millis,
    /// What fell.
    pub(super) pieces: [Option<Fallen>; MOST_FALLEN],
    /// All pieces that are read elsewhere came there faster than a hand carries them, or where the mover's hand puts them only in error.
    pub(super) knocked: bool,
    /// A piece lies where a reply would put it. Until something bears the fall out, it was rather moved
    /// there.
    #[serde(default)]
    pub(super) like_reply: bool,
    /// A piece of the mover lies where its own way leads it, further than on the next square: it was rather moved there.
    #[serde(default)]
    pub(super) like_move: bool,
    /// A reply captures on a square from which a piece is gone: the opponent may have begun with that.
    #[serde(default)]
    pub like_capture: bool,
    /// Nobody read the board when a piece left, or came to lie: it may have been another hand.
    #[serde(default)]
    pub unheard: bool,
    /// A piece was still read on its square after the press: the opponent's hand may have taken it.
    #[serde(default)]
    pub left_late: bool,
    /// The mover's hand had left the board, and the opponent had lifted a piece for his reply, before the pieces left: nobody
    /// knows whose hand it was.
    #[serde(default)]
    pub two_hands: bool,
    /// The opponent has pressed back, and waits for the pieces to be put right.
    pub returned: bool,
    /// What has happened since the press that would hardly have happened if nothing had fallen.
    pub(super) borne_out: BorneOut,
}

/// What has happened that bears a fall out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BorneOut {
    /// The piece still lay on a wrong square a second after the press.
    pub(super) lies: bool,
    /// The clock was stopped.
    pub(super) stopped: bool,
    /// The piece was put back.
    pub(super) back: bool,
    /// The opponent pressed back because of it.
    #[serde(default)]
    pub(super) returned: bool,
}

impl BorneOut {
    /// How much cheaper it makes the fall, but for pieces that were put back, in nats.
    pub(super) fn nats(self) -> f32 {
        match (self.lies, self.stopped) {
            (true, true) => weight::LIES_AND_STOPPED,
            (true, false) => weight::LIES_STILL,
            (false, true) => weight::STOPPED,
            (false, false) => 0.0,
        }
    }
}

/// The most pieces that fall at once. If more are gone, an arbiter is at work, or the board was knocked over.
pub(super) const MOST_FALLEN: usize = 3;

/// A piece that fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallen {
    /// Where it belongs.
    #[serde(with = "square")]
    pub home: Square,
    /// What it is.
    pub code: Code,
    /// Where it came to lie, if it is read anywhere.
    #[serde(with = "some_square")]
    pub lies: Option<Square>,
    /// The piece stands again where it belongs.
    pub back: bool,
}

impl Fall {
    /// A fall of `pieces`. None if they are none, or more than [`MOST_FALLEN`].
    pub(super) fn new(by: Color, pressed: Millis, pieces: &[Fallen]) -> Option<Self> {
        let mut fall = Self {
            by,
            pressed,
            pieces: [None; MOST_FALLEN],
            knocked: false,
            like_capture: false,
            like_reply: false,
            like_move: false,
            unheard: false,
            left_late: false,
            two_hands: false,
            returned: false,
            borne_out: BorneOut::default(),
        };
        if pieces.is_empty() || pieces.len() > MOST_FALLEN {
            return None;
        }
        for (slot, piece) in fall.pieces.iter_mut().zip(pieces) {
            *slot = Some(*piece);
        }
        Some(fall)
    }

    /// What fell.
    pub fn pieces(&self) -> impl Iterator<Item = &Fallen> {
        self.pieces.iter().flatten()
    }

    /// Where the pieces belong, and where they came to lie.
    #[must_use]
    pub fn squares(&self) -> Bitboard {
        let squares = self.pieces().flat_map(|piece| [Some(piece.home), piece.lies]);
        squares.flatten().collect()
    }

    /// True when something has happened since the press that would hardly have happened if nothing had
    /// fallen.
    #[must_use]
    pub fn is_borne_out(&self) -> bool {
        self.borne_out != BorneOut::default() || self.returned
    }

    /// True when a piece was read where it does not belong: it lay there.
    #[must_use]
    pub fn has_lain(&self) -> bool {
        self.borne_out.lies || self.pieces().any(|piece| piece.lies.is_some())
    }

    /// True when somebody did something because of it: stopped the clock, or pressed back.
    #[must_use]
    pub fn is_noticed(&self) -> bool {
        self.returned || self.borne_out.stopped || self.borne_out.returned
    }

    /// True when the fall looks like a reply, and nobody did anything because of it but put the piece back.
    #[must_use]
    pub fn may_be_reply(&self) -> bool {
        self.like_reply && !self.borne_out.stopped && !self.borne_out.returned
    }

    /// Where the pieces belong.
    #[must_use]
    pub fn homes(&self) -> Bitboard {
        self.pieces().map(|piece| piece.home).collect()
    }

    /// True when all of them stand again where they belong.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.pieces().all(|piece| piece.back)
    }

    /// True when all pieces stand again and the fall is done with. `pressed` is when the last half-move was
    /// pressed. If the opponent pressed back, the record took that press for one of a half-move, and must be
    /// corrected before the fall is done with.
    pub(super) fn is_past(&self, pressed: Option<Millis>) -> bool {
        self.is_over() && !(self.borne_out.returned && pressed == Some(self.pressed))
    }

    /// True when both falls are of the same half-move and have a piece in common.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        self.pressed == other.pressed && (self.homes() & other.homes()).any()
    }

    /// What `square` shows because of the fall, if it shows something else because of it.
    fn shows(&self, square: Square) -> Option<Code> {
        let mut away = self.pieces().filter(|piece| !piece.back);
        away.find_map(|piece| match piece.lies {
            Some(lies) if lies == square => Some(piece.code),
            _ if piece.home == square => Some(Code::EMPTY),
            _ => None,
        })
    }

    /// `square` came to show `code`.
    fn seen(&mut self, square: Square, code: Code) {
        for piece in self.pieces.iter_mut().flatten() {
            if piece.lies == Some(square) && code.is_empty() {
                piece.lies = None;
            }
            piece.back |= piece.home == square && code.agrees(piece.code) && !code.is_empty();
        }
    }

    /// True when `code` on `square` may be a piece of this fall that is gone: a hand held it, and it did not
    /// fall.
    fn is_carried(&self, square: Square, code: Code) -> bool {
        let gone = |piece: &Fallen| !piece.back && piece.lies.is_none() && piece.code == code;
        !self.homes().contains(square) && self.pieces().any(gone)
    }

    /// True when a piece of this fall that belongs on `square` is still away. If a half-move moves that
    /// piece, a hand held it, and it did not fall.
    fn misses(&self, square: Square) -> bool {
        self.pieces().any(|piece| piece.home == square && !piece.back)
    }

    /// True when pieces came to lie where they do not belong, and are read there still.
    #[must_use]
    pub fn lies_open(&self) -> bool {
        self.pieces().any(|piece| piece.lies.is_some() && !piece.back)
    }
}

impl Faults {
    /// What `square` shows where a sound board would show `stands`.
    #[must_use]
    pub fn shown(&self, square: Square, stands: Code) -> Code {
        if let Some(shown) = self.fall.as_ref().and_then(|fall| fall.shows(square)) {
            shown
        } else if self.hidden.contains(square) {
            Code::EMPTY
        } else {
            stands
        }
    }

    /// The squares that show something where a sound board would show pieces on `stands`.
    #[inline]
    #[must_use]
    pub fn shown_on(&self, stands: Bitboard) -> Bitboard {
        let mut shown = stands & !self.hidden;
        if let Some(fall) = &self.fall {
            for square in fall.squares() {
                if let Some(code) = fall.shows(square) {
                    shown.set(square, !code.is_empty());
                }
            }
        }
        shown
    }

    /// These faults after the legal half-move `mv`. `reads` tells whether the piece is read on a square;
    /// `dead` are the squares that are known to read nothing.
    #[must_use]
    pub(super) fn after(&self, mv: Move, dead: Bitboard, reads: impl Fn(Square) -> bool) -> Self {
        let mut next = *self;
        let mut carry = |from: Square, to: Square| {
            let known = self.hidden.contains(from);
            let hidden = known || dead.contains(to) || self.silent.contains(to);
            next.forget(from);
            next.forget(to);
            if known && reads(to) {
                // The piece is read now, so the square that it left was to blame.
                next.silent.add(from);
            }
            if !known && !reads(to) {
                next.silent.add(to);
            }
            if hidden && !reads(to) {
                next.hidden.add(to);
            }
        };
        match mv {
            Move::Castle { king, rook } => {
                let [king_to, rook_to] = castled(king, rook);
                carry(king, king_to);
                carry(rook, rook_to);
            }
            Move::EnPassant { from, to } => {
                carry(from, to);
                next.forget(Square::from_coords(to.file(), from.rank()));
            }
            Move::Normal { from, to, .. } => carry(from, to),
            Move::Put { .. } => {}
        }
        next
    }

    /// Assumes nothing to be wrong on `square` any more.
    pub(super) fn forget(&mut self, square: Square) {
        self.hidden.discard(square);
        self.fall = self.fall.filter(|fall| !fall.misses(square));
    }

    /// `square` came to show `code` where `stands` belongs. `explained`: a piece of the same kind has left
    /// another square.
    pub(super) fn seen(&mut self, square: Square, code: Code, stands: Code, explained: bool) {
        if !code.is_empty() && stands.agrees(code) {
            self.hidden.discard(square);
        }
        if !code.is_empty() {
            self.silent.discard(square);
        }
        self.fall = self
            .fall
            .filter(|fall| explained || !fall.is_carried(square, code));
        if let Some(fall) = &mut self.fall {
            fall.seen(square, code);
        }
    }
}
