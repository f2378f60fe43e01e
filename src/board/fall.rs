//! A fall that a hypothesis assumes: pieces that a player's hand or sleeve took along while he moved, and what has happened since
//! that bears it out.

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Color, Move, Role, Square};

use super::{
    kept::{color, some_square, square},
    placement::Code,
    stand::{Stand, targets},
    weight,
};
use crate::time::Millis;

/// A piece that was gone for less than this was brushed over, or a scan missed it.
const GONE_MS: u64 = 1200;
/// A piece that lies elsewhere this long after the press was left displaced. A player who notices his slip
/// puts the piece right sooner.
const LIES_STILL_MS: u64 = 1100;
/// The same where the opponent may have taken the piece off in order to capture it: by then his own piece has come there.
const CAPTURED_MS: u64 = 3000;
/// A clock that is stopped or pressed back this soon after a press is so because of what happened at that
/// press.
const SOON_MS: u64 = 8000;
/// Within this time of the press nobody has noticed a fall.
const NOTICED_MS: u64 = 750;
/// As a rule a player who puts back what fell has done so this long after his press.
const PUT_BACK_MS: u64 = 4500;
/// A piece that comes back later than that by as much as this was rather not read for a while.
const PUT_BACK_LATE_MS: u64 = 2000;

/// Pieces that fell while a player moved, and were not put back before he pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fall {
    /// Whose hand it was.
    #[serde(with = "color")]
    pub by: Color,
    /// When that player pressed.
    pub pressed: Millis,
    /// What fell.
    pieces: [Option<Fallen>; MOST_FALLEN],
    /// All pieces that are read elsewhere came there faster than a hand carries them, or where the mover's hand puts them only in error.
    pub(super) knocked: bool,
    /// A piece lies where a reply would put it. Until something bears the fall out, it was rather moved
    /// there.
    #[serde(default)]
    pub(super) like_reply: bool,
    /// It came there no faster than a hand carries it.
    #[serde(default)]
    pub carried_like_reply: bool,
    /// A piece of the mover lies where its own way leads it, further than on the next square: it was rather moved there.
    #[serde(default)]
    pub(super) like_move: bool,
    /// A reply captures on a square from which a piece is gone: the opponent may have begun with that.
    #[serde(default)]
    pub like_capture: bool,
    /// Nobody read the board when a piece left, or came to lie: it may have been another hand.
    #[serde(default)]
    pub unheard: bool,
    /// The opponent's hand may have done it: a piece was still read on its square after the press, or a piece of his was pushed no
    /// faster than he pushes one to straighten it.
    #[serde(default, alias = "left_late")]
    pub by_either: bool,
    /// The mover's hand had left the board, and the opponent had lifted a piece for his reply, before the pieces left: nobody
    /// knows whose hand it was.
    #[serde(default)]
    pub two_hands: bool,
    /// The opponent has pressed back, and waits for the pieces to be put right.
    pub returned: bool,
    /// What has happened since the press that would hardly have happened if nothing had fallen.
    borne_out: BorneOut,
}

/// What has happened that bears a fall out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct BorneOut {
    /// The piece still lay on a wrong square a second after the press.
    lies: bool,
    /// The clock was stopped.
    stopped: bool,
    /// The piece was put back.
    back: bool,
    /// The opponent pressed back because of it.
    #[serde(default)]
    returned: bool,
}

impl BorneOut {
    /// How much cheaper it makes the fall, but for pieces that were put back, in nats.
    fn nats(self) -> f32 {
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
    /// Where it lay until somebody lifted it from there.
    #[serde(with = "some_square", default)]
    pub(super) lay: Option<Square>,
    /// After the press somebody has put it back on a wrong square.
    #[serde(default)]
    pub put: bool,
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
            carried_like_reply: false,
            like_move: false,
            unheard: false,
            by_either: false,
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
    pub(super) fn shows(&self, square: Square) -> Option<Code> {
        let mut away = self.pieces().filter(|piece| !piece.back);
        away.find_map(|piece| match piece.lies {
            Some(lies) if lies == square => Some(piece.code),
            _ if piece.home == square => Some(Code::EMPTY),
            _ => None,
        })
    }

    /// `square` came to show `code`.
    pub(super) fn seen(&mut self, square: Square, code: Code) {
        for piece in self.pieces.iter_mut().flatten() {
            if piece.lies == Some(square) && code.is_empty() {
                (piece.lay, piece.lies) = (piece.lies, None);
            }
            piece.back |= piece.home == square && code.agrees(piece.code) && !code.is_empty();
        }
    }

    /// True when `code` on `square` may be a piece of this fall that is gone: a hand held it, and it did not
    /// fall.
    pub(super) fn is_carried(&self, square: Square, code: Code) -> bool {
        let gone = |piece: &Fallen| !piece.back && piece.lies.is_none() && piece.code == code;
        !self.homes().contains(square) && self.pieces().any(gone)
    }

    /// True when `code` on `square` may be a piece of this fall that is gone, and no half-move has led it there: somebody has put it back on
    /// a wrong square. The half-move at which it fell is the `last` that was pressed for. `stand` is the position, and `replies` are what
    /// may be played from there.
    pub(super) fn is_put(
        &self,
        last: Option<Millis>,
        (square, code): (Square, Code),
        stand: &Stand,
        replies: &[Move],
    ) -> bool {
        // Or play goes on from where it lay.
        let goes_on = |lay: Square| {
            code.piece()
                .is_some_and(|piece| targets(stand.board(), lay, piece).contains(square))
        };
        let goes = |home: Square| match code.piece() {
            // A sleeve seldom takes a king along.
            Some(piece) if piece.role == Role::King => true,
            Some(piece) if piece.color == self.by => {
                home.distance(square) > 1 && targets(stand.board(), home, piece).contains(square)
            }
            _ => replies
                .iter()
                .any(|mv| mv.to() == square && mv.from() == Some(home)),
        };
        let mut gone = self.pieces().filter(|piece| piece.code == code && !piece.back);
        last == Some(self.pressed)
            && self.is_carried(square, code)
            && gone.all(|piece| !goes(piece.home) && !piece.lay.is_some_and(goes_on))
    }

    /// Somebody has put the piece `code`, which fell, on `square`, where it does not belong. Returns what that costs.
    pub(super) fn put(&mut self, square: Square, code: Code) -> f32 {
        let gone = |piece: &&mut Fallen| piece.code == code && !piece.back && piece.lies.is_none();
        let Some(piece) = self.pieces.iter_mut().flatten().find(gone) else {
            return 0.0;
        };
        piece.lies = Some(square);
        piece.put = true;
        weight::PUT_ASTRAY
    }

    /// True while a piece stands where somebody has put it back wrongly.
    #[must_use]
    pub fn is_being_put(&self) -> bool {
        self.pieces().any(|piece| piece.put && !piece.back)
    }

    /// True when a piece of this fall that belongs on `square` is still away. If a half-move moves that
    /// piece, a hand held it, and it did not fall.
    pub(super) fn misses(&self, square: Square) -> bool {
        self.pieces().any(|piece| piece.home == square && !piece.back)
    }

    /// True when pieces came to lie where they do not belong, and are read there still.
    #[must_use]
    pub fn lies_open(&self) -> bool {
        self.pieces()
            .any(|piece| piece.lies.is_some() && !piece.back && !piece.put)
    }

    /// This fall where the half-move that follows was pressed for, if it was: what lies where a reply would put it was none.
    pub(super) fn followed(mut self, pressed: Option<Millis>) -> Self {
        self.like_reply &= pressed.is_none_or(|pressed| pressed <= self.pressed);
        self
    }

    /// Something happened that bears the fall out. What its hypothesis pays for it changes, once, by as much as `nats` says of what
    /// has happened since. A piece that took its time to get where its own way leads was rather moved there, and nothing bears out
    /// that it fell.
    fn bear_out(&mut self, by: impl Fn(&mut BorneOut) -> &mut bool, nats: impl Fn(BorneOut) -> f32) -> f32 {
        let before = self.borne_out;
        if !self.knocked || std::mem::replace(by(&mut self.borne_out), true) {
            return 0.0;
        }
        nats(before) - nats(self.borne_out)
    }

    /// This fall where `side`, which is to move, presses because of it and so gives the turn back, with what that costs. The player
    /// who displaced the pieces presses once more when they stand again.
    pub(super) fn returned_by(self, side: Color, now: Millis) -> Option<(Self, f32)> {
        let back = self.by == !side && !self.returned && !self.is_over();
        let waited = now.since(self.pressed);
        if !back || waited > SOON_MS {
            return None;
        }
        let borne_out = BorneOut {
            returned: true,
            ..self.borne_out
        };
        let returned = Self {
            returned: true,
            borne_out,
            ..self
        };
        let hasty = if waited < NOTICED_MS {
            weight::RETURNED
        } else {
            0.0
        };
        Some((returned, weight::RETURNED + hasty))
    }

    /// True while the opponent has pressed back because of what fell and the pieces are not put right: nobody
    /// goes on playing.
    pub(super) fn waits_for_order(&self) -> bool {
        self.returned && !self.is_over()
    }

    /// `side`, which is not to move, presses after putting right what fell, because the opponent had pressed back. Returns what that
    /// costs, or None when that is not what happened.
    pub(super) fn pressed_again_by(&mut self, side: Color) -> Option<f32> {
        if !self.returned || self.by != side {
            return None;
        }
        self.returned = false;
        Some(if self.is_over() { 0.0 } else { weight::RETURNED })
    }

    /// `square` shows its piece again at `now`, after nothing had been read there for `gone` milliseconds. That bears the fall out if
    /// no half-move has followed (`last` is when the last one was pressed), or if the clock stands (`frozen`), and the less the more often
    /// that piece has `blinked` before: a hand may have straightened it once. Returns by how much what the hypothesis pays changes, as do [`Self::lies_still`] and
    /// [`Self::clock_stopped`].
    pub(super) fn came_back(
        &mut self,
        square: Square,
        (gone, blinked): (u64, usize),
        now: Millis,
        last: Option<Millis>,
        frozen: bool,
    ) -> f32 {
        // What was read on a wrong square meanwhile was gone.
        let was_put = self.pieces().any(|piece| piece.home == square && piece.put);
        let late = now.since(self.pressed + PUT_BACK_MS).min(PUT_BACK_LATE_MS) as f32;
        let late = if was_put { 0.0 } else { late };
        let share = match last == Some(self.pressed) {
            // A piece that comes back at once was on its way before the press.
            _ if now.since(self.pressed) < NOTICED_MS => 0.0,
            _ if frozen => 1.0,
            true => 1.0 - late / PUT_BACK_LATE_MS as f32,
            false => 0.0,
        };
        if !self.homes().contains(square) || gone < GONE_MS || share <= 0.0 {
            return 0.0;
        }
        let by_itself = weight::BLINKED * blinked.saturating_sub(1) as f32;
        let back = (weight::CAME_BACK * share - by_itself).max(0.0);
        let nats = |by: BorneOut| if by.back { back } else { 0.0 };
        self.bear_out(|by| &mut by.back, nats)
    }

    /// Time passes: a player whose hand had slipped would have put the piece right by now.
    pub(super) fn lies_still(&mut self, now: Millis) -> f32 {
        let wait = if self.like_capture {
            CAPTURED_MS
        } else {
            LIES_STILL_MS
        };
        if self.lies_open() && !self.like_reply && !self.like_move && now.since(self.pressed) >= wait {
            self.bear_out(|by| &mut by.lies, BorneOut::nats)
        } else {
            0.0
        }
    }

    /// The clock is stopped. Soon after a press, that bears out what fell at it.
    pub(super) fn clock_stopped(&mut self, now: Millis) -> f32 {
        if !self.is_over() && now.since(self.pressed) <= SOON_MS {
            self.bear_out(|by| &mut by.stopped, BorneOut::nats)
        } else {
            0.0
        }
    }
}
