//! Pieces that a player's hand or sleeve took along while he moved: each fall is one more explanation of what is missing
//! or stands elsewhere at his press, which has to hold its own against a hand of the opponent's and a square that is not
//! read.

use shakmaty::{Bitboard, Color, Move, Role, Square};

use super::{
    bill::Item,
    candidate::Candidate,
    faults::{BorneOut, Fall, Fallen},
    line::{Glance, Line},
    lines::Lines,
    placement::Code,
    ply::{Ply, PlyKind},
    sensed::Sensed,
    stand::targets,
    weight,
};
use crate::time::Millis;

/// A piece that was taken along is read to be gone so long after the half-move was made, at the latest: a scan, and
/// the hand on its way back.
const SLEEVE_MS: u64 = 350;
/// What happens at once may be told by two scans, so far apart.
const NEXT_SCAN_MS: u64 = 100;
/// A piece that came to lie elsewhere before the press is read there so long after it.
const LIES_MS: u64 = 450;
/// That it has left is read so long after the press.
const LEFT_MS: u64 = 250;
/// A piece that is knocked is read elsewhere so soon after it was gone: within a scan.
const KNOCK_MS: u64 = 260;
/// No hand lifts a piece and puts it down in so short a time.
const AT_ONCE_MS: u64 = 60;
/// A piece that was gone for less was brushed over, or not read for a scan.
const GONE_MS: u64 = 1200;
/// A player who puts a piece right at once has not left it displaced.
const LIES_STILL_MS: u64 = 1100;
/// A clock that is stopped or pressed back so soon after a press is so because of it.
const SOON_MS: u64 = 8000;
/// And not so soon that nobody can have noticed it.
const NOTICED_MS: u64 = 750;
/// Among so many half-moves before this one all were pressed for where players do not forget it.
const LATELY: usize = 6;
/// A player who puts back what fell has done so this long after his press, as a rule.
const PUT_BACK_MS: u64 = 4500;
/// The longer it takes after that, the likelier the square was not read for a while.
const PUT_BACK_LATE_MS: u64 = 2000;

/// When a piece must have left its square to have been taken along.
struct Window {
    by: Color,
    pressed: Millis,
    turn_began: Millis,
    hand: (Millis, Millis),
    /// When the half-move was made.
    done: Millis,
    /// The opponent's hand is at the board.
    is_answered: bool,
}

impl Window {
    fn of(line: &Line, last: &Ply, sensed: &Sensed) -> Option<Self> {
        let pressed = last.pressed?;
        // King and rook arrive one after the other.
        let castled = last.kind.legal().filter(|mv| mv.is_castle());
        let steps = castled.map_or(Bitboard::EMPTY, Candidate::touched);
        let done = steps
            .into_iter()
            .map(|s| sensed.since(s))
            .fold(last.at, Millis::max);
        let before = line.plies.len().checked_sub(2).map(|i| &line.plies[i]);
        let turn_began = before.map_or(last.began, |ply| ply.pressed.unwrap_or(ply.at));
        // What is captured may be taken away first.
        let emptied = |to| Some(sensed.since(to) - sensed.was_empty_for(to)?);
        let taken = last.kind.from_to().and_then(|(_, to)| emptied(to));
        let began = taken
            .filter(|taken| *taken > turn_began)
            .map_or(last.began, |taken| taken.min(last.began));
        Some(Self {
            by: !line.turn(),
            pressed,
            turn_began,
            // By the press the hand was at the clock.
            hand: (began, (done + SLEEVE_MS).min(pressed)),
            done,
            is_answered: false,
        })
    }

    /// True when a piece that left at `left` was gone before anybody read it elsewhere.
    fn has_missing(&self, left: Millis) -> bool {
        self.hand.0 <= left + NEXT_SCAN_MS && left <= self.hand.1
    }

    /// True when a piece that left at `left` and arrived elsewhere at `came` was knocked before the press: no hand is so quick,
    /// and nobody replies to what is still in a hand.
    fn has_knocked(&self, left: Millis, came: Millis) -> bool {
        let apart = left.since(came).max(came.since(left));
        let in_hand = self.hand.0 <= left.min(came) && left.max(came) <= self.done;
        let most = if in_hand { KNOCK_MS } else { AT_ONCE_MS };
        apart <= most && left.max(came) <= self.pressed
    }

    /// True when the piece `code` that left at `left` and arrived elsewhere at `came` was displaced.
    fn has_displaced(&self, code: Code, left: Millis, came: Millis) -> bool {
        // What the opponent moves once the press is made is his own doing, and takes him longer.
        let at_once = left.since(came).max(came.since(left)) <= AT_ONCE_MS;
        let left_by = if code.color() == Some(self.by) && !self.is_answered {
            self.pressed + LEFT_MS
        } else if at_once && !self.is_answered {
            self.pressed + NEXT_SCAN_MS
        } else {
            self.pressed
        };
        self.turn_began <= came && left <= left_by && came <= self.pressed + LIES_MS
    }
}

impl Line {
    /// What fell while the last half-move was made, if something did.
    fn fallen(&self, sensed: &Sensed) -> Option<Fall> {
        let last = self.plies.last()?;
        last.kind.legal()?;
        let missing = self.differing & !sensed.placement().occupied();
        if missing.is_empty() {
            return None;
        }
        let mut window = Window::of(self, last, sensed)?;
        if !missing
            .into_iter()
            .any(|home| self.may_have_fallen(home, &window, sensed))
        {
            return None;
        }
        let moved = last.kind.from_to();
        // Nobody read the piece that moved leave its square: one like it that is gone moved in its place.
        let left_unread = |from: &Square| sensed.since(*from) < window.turn_began;
        let twin = moved
            .filter(|(from, _)| left_unread(from))
            .map(|(_, to)| sensed.at(to));
        let mut astray: Vec<Square> = self.misplaced(sensed).into_iter().collect();
        window.is_answered = !astray.is_empty() && self.is_answered(&window, &astray, sensed);
        let (mut like_reply, mut left_late) = (false, false);
        let mut pieces = Vec::new();
        for home in missing {
            let code = self.expects(home);
            let own = moved.is_some_and(|(from, to)| home == from || home == to);
            if code.is_empty() || own || twin == Some(code) {
                continue;
            }
            let Some(left) = sensed.seen_at(home) else {
                continue;
            };
            // Where a reply of the opponent's puts it, it is a reply, or begins one, unless no hand can have been so quick.
            let displaced = |s: &Square| {
                let came = sensed.since(*s);
                let knocked = sensed.slack() == 0 && window.has_knocked(left, came);
                let window = window.has_displaced(code, left, came);
                sensed.at(*s) == code && window && (knocked || !self.is_reply(home, *s, code))
            };
            let lies = astray.iter().position(displaced);
            let lies = lies.map(|i| astray.swap_remove(i));
            like_reply |= lies.is_some_and(|lies| self.is_reply(home, lies, code));
            left_late |= left > window.pressed;
            let carried = || sensed.read_elsewhere(code, self.placement().squares_of(code), left);
            // A king that is read elsewhere castled, or was moved: a sleeve seldom takes it along.
            let king = code.piece().is_some_and(|piece| piece.role == Role::King);
            if king && lies.is_some() {
                return None;
            }
            if lies.is_some() || window.has_missing(left) && !carried() {
                pieces.push(Fallen {
                    home,
                    code,
                    lies,
                    back: false,
                });
            }
        }
        let fall = Fall::new(window.by, window.pressed, &pieces)?;
        Some(Fall {
            like_reply,
            left_late,
            ..fall
        })
    }

    /// False when the time at which the piece of `home` left it tells that it has not fallen: as a rule the opponent has lifted it.
    fn may_have_fallen(&self, home: Square, window: &Window, sensed: &Sensed) -> bool {
        let Some(left) = sensed.seen_at(home) else {
            return false;
        };
        let code = self.expects(home);
        let mut others = (self.differing & sensed.placement().occupied()).into_iter();
        window.has_missing(left)
            || others.any(|s| sensed.at(s) == code && window.has_displaced(code, left, sensed.since(s)))
    }

    /// True when the opponent's hand is at the board: it has put down a reply, or lifted a piece since the press.
    fn is_answered(&self, window: &Window, astray: &[Square], sensed: &Sensed) -> bool {
        let missing = self.differing.into_iter().filter(|s| sensed.at(*s).is_empty());
        missing.into_iter().any(|home| {
            let code = self.expects(home);
            let mut lies = astray.iter().filter(|s| sensed.at(**s) == code).peekable();
            let theirs = code.color() == Some(!window.by) && sensed.since(home) > window.pressed;
            theirs && lies.peek().is_none() || lies.any(|s| self.is_reply(home, *s, code))
        })
    }

    /// True when a reply puts the piece `code` from `home` onto `to`, or begins with that.
    fn is_reply(&self, home: Square, to: Square, code: Code) -> bool {
        let reaches = |mv: &&Move| match **mv {
            Move::Normal { from, to: goal, .. } => goal == to && (from == home || goal == home),
            _ => Candidate::touched(**mv).contains(home),
        };
        let mut replies = self.stand.moves().iter().filter(reaches);
        replies.any(|mv| self.stand.candidate(*mv).changes().contains(&(to, code)))
    }

    /// The same explanation, but that pieces fell, if some may have.
    pub(super) fn with_fall(&self, sensed: &Sensed) -> Option<Self> {
        let known = self.faults.fall.map(|fall| fall.pressed);
        if known.is_some() && known == self.plies.last()?.pressed {
            return None;
        }
        let fall = self.fallen(sensed)?;
        let mut line = self.clone();
        let knocked = |piece: &Fallen, lies: Square| {
            let (left, came) = (sensed.since(piece.home), sensed.since(lies));
            left.since(came).max(came.since(left)) <= KNOCK_MS && !self.walks(&fall, piece, lies)
        };
        let price = |piece: &Fallen| match piece.code.color() {
            _ if piece.lies.is_some_and(|lies| knocked(piece, lies)) => weight::DISPLACED,
            _ if piece.lies.is_some() => weight::CARRIED,
            color if color == Some(fall.by) => weight::FELL_OWN,
            _ => weight::FELL_THEIRS,
        };
        let first = fall.pieces().map(price).fold(0.0, f32::max);
        let more = fall.pieces().count() as f32 - 1.0;
        line.charge(Item::Displaced, first + weight::FELL_TOO * more);
        let in_no_time = |piece: &Fallen| piece.lies.is_none_or(|lies| knocked(piece, lies));
        line.faults.fall = Some(Fall {
            knocked: fall.pieces().all(in_no_time),
            ..fall
        });
        line.hold_against(fall.squares(), sensed);
        Some(line)
    }

    /// True when this line is behind what was played, or out of step with it, and `piece` lies where its own way leads it,
    /// further than on the next square: that was rather a half-move. A line is behind where a piece that is no part of `fall`
    /// is missing or wrong as well; out of step where half-moves were not pressed for, or this one was read before the one that it answers.
    fn walks(&self, fall: &Fall, piece: &Fallen, lies: Square) -> bool {
        let behind = (self.differing & !fall.squares()).any();
        let mut answered = Millis::default();
        let mut lately = self.plies.backwards().take(LATELY);
        let read = lately.next().map(|last| last.at);
        let mut unpressed = false;
        for ply in lately {
            answered = answered.max(ply.at);
            unpressed |= ply.pressed.is_none();
        }
        let out_of_step = unpressed || read.is_some_and(|read| read < answered);
        let far = piece.home.distance(lies) > 1;
        let way = |piece_of| targets(self.stand.board(), piece.home, piece_of).contains(lies);
        (behind || out_of_step) && far && piece.code.piece().is_some_and(way)
    }

    /// Something happened that bears a fall out: it costs this explanation `nats` less, once. What took its time to get
    /// elsewhere was rather carried there, and what a hand does nothing bears out as a fall.
    fn bear_out(&mut self, by: impl Fn(&mut BorneOut) -> &mut bool, nats: f32) {
        if let Some(fall) = &mut self.faults.fall
            && fall.knocked
            && !std::mem::replace(by(&mut fall.borne_out), true)
        {
            self.bill.pay(Item::Displaced, -nats);
        }
    }

    /// `side`, which is to move, presses because of what fell: the same explanation with the press given back. The player
    /// whose pieces they were presses once more when they stand again.
    pub(super) fn returned_by(&self, side: Color, now: Millis) -> Option<Self> {
        let fall = self.faults.fall?;
        let back = fall.by == !side && !fall.returned && !fall.is_over();
        let waited = now.since(fall.pressed);
        if side != self.turn() || !back || waited > SOON_MS {
            return None;
        }
        let mut line = self.clone();
        let borne_out = BorneOut {
            returned: true,
            ..fall.borne_out
        };
        line.faults.fall = Some(Fall {
            returned: true,
            borne_out,
            ..fall
        });
        let hasty = if waited < NOTICED_MS {
            weight::RETURNED
        } else {
            0.0
        };
        line.charge(Item::Displaced, weight::RETURNED + hasty);
        Some(line)
    }

    /// True while the opponent has pressed back because of what fell, and it is not put right: nobody moves on.
    pub(super) fn waits_for_order(&self) -> bool {
        self.faults
            .fall
            .is_some_and(|fall| fall.returned && !fall.is_over())
    }

    /// `side` presses after he put right what fell, the opponent having pressed back. Returns false when that is not
    /// what happened.
    pub(super) fn takes_back_press(&mut self, side: Color) -> bool {
        match &mut self.faults.fall {
            Some(fall) if fall.returned && fall.by == side && side != self.stand.turn() => {
                fall.returned = false;
                if !fall.is_over() {
                    self.bill.pay(Item::Displaced, weight::RETURNED);
                }
                true
            }
            _ => false,
        }
    }

    /// A square shows its piece again at `now` after nothing had been read there for `gone` milliseconds: somebody has put
    /// it right, before anything else was done or while the clock stood.
    pub(super) fn came_back(&mut self, square: Square, gone: u64, now: Millis, frozen: bool) {
        let Some(fall) = self.faults.fall else { return };
        let last = self.plies.last().and_then(|ply| ply.pressed);
        let late = now.since(fall.pressed + PUT_BACK_MS).min(PUT_BACK_LATE_MS) as f32;
        let share = match last == Some(fall.pressed) {
            // What comes at once was on its way before the press.
            _ if now.since(fall.pressed) < NOTICED_MS => 0.0,
            _ if frozen => 1.0,
            true => 1.0 - late / PUT_BACK_LATE_MS as f32,
            false => 0.0,
        };
        if fall.homes().contains(square) && gone >= GONE_MS && share > 0.0 {
            self.bear_out(|by| &mut by.back, weight::CAME_BACK * share);
        }
    }

    /// Time passes: a hand that had slipped would have put right by now what it displaced.
    pub(super) fn lies_still(&mut self, now: Millis) {
        let lies =
            |fall: Fall| fall.lies_open() && !fall.like_reply && now.since(fall.pressed) >= LIES_STILL_MS;
        if self.faults.fall.is_some_and(lies) {
            self.bear_out(|by| &mut by.lies, weight::LIES_STILL);
        }
    }
}

impl Lines {
    /// Adds lines in which pieces fell while the last half-move was made.
    pub(super) fn grow_fallen(&mut self, sensed: &Sensed) {
        if sensed.is_felt() || self.frozen {
            return;
        }
        let fallen: Vec<Line> = self
            .lines
            .iter()
            .filter_map(|line| line.with_fall(sensed))
            .collect();
        for line in fallen {
            self.offer(line);
        }
    }

    /// What is to be said of `fall` has been said, and all that fell is back.
    pub fn forget_fall(&mut self, fall: &Fall) {
        for line in &mut self.lines {
            line.faults.fall = line.faults.fall.filter(|known| !known.is_of(fall));
        }
    }

    /// The clock is stopped: soon after a press that is because of what happened, if anything did.
    pub fn clock_stopped(&mut self, now: Millis, sensed: &Sensed) {
        for line in &mut self.lines {
            // An offence is as good a reason.
            let last = line.plies.last();
            if last.is_some_and(|ply| matches!(ply.kind, PlyKind::Suspect(_)) && ply.pressed.is_some()) {
                line.charge(Item::Illegal, -weight::STOPPED);
            }
            let fall = line.faults.fall;
            if fall.is_some_and(|fall| !fall.is_over() && now.since(fall.pressed) <= SOON_MS) {
                line.bear_out(|by| &mut by.stopped, weight::STOPPED);
            }
        }
        self.rank(now, sensed);
    }

    /// The fall that is likeliest, with its probability. While the clock stands an arbiter may be at work: then nothing
    /// else may be wrong.
    #[must_use]
    pub fn likeliest_fall(&self, now: Millis, sensed: &Sensed, stands: bool) -> Option<(Fall, f64)> {
        let line = self.lines.iter().find(|line| line.faults.fall.is_some())?;
        let best = line.faults.fall?;
        if stands && line.differing.any() {
            return None;
        }
        let glance = Glance::new(sensed, now);
        let totals: Vec<f32> = self.lines.iter().map(|line| line.total_at(glance)).collect();
        let odds = weight::posterior(&totals);
        // Whether one piece or two fell makes no other offence of it.
        let same = |line: &Line| line.faults.fall.is_some_and(|fall| fall.is_of(&best));
        let mass = self.lines.iter().zip(odds).filter(|(line, _)| same(line));
        Some((best, mass.map(|(_, p)| p).sum()))
    }
}
