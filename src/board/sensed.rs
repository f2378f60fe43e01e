//! The board as the sensors say it stands, and since when.

mod blinks;
mod earlier;
mod kept;
mod lumps;

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Square};

use blinks::Blinks;
use lumps::Lumps;

use super::{
    kept::bits,
    placement::{Code, Placement},
};
use crate::time::Millis;

/// A board scans its squares one after the other: of two things the later one may be read this much earlier.
pub(super) const SCAN_MS: u64 = 250;
/// A piece was lifted before a press. The lift is read at most this long after it: a scan, and a margin.
pub(super) const LIFTED_MS: u64 = 350;
/// How many earlier readings of a square are kept: enough for a hand that brushes over it twice.
const EARLIER: usize = 4;

/// An update that a dump has overtaken comes within two scans, or not at all.
const UNTOLD_MS: u64 = 500;

/// Updates that may have been lost are missed no longer once the board agrees with the record this long
/// afterwards. Another program may ask the board again for as long (`dgt/line/others.rs`).
const LOST_MS: u64 = 60_000;

/// A hand at one half-move may have done all that changed while nobody read the board for so long.
const SHORT_MS: u64 = 3000;

/// Squares that changed within this time are found without looking at all squares.
const RECENT_MS: u64 = 10_000;

/// The current reading of all squares with the time of each square's last change. A snapshot keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sensed {
    placement: Placement,
    #[serde(with = "kept::times")]
    since: [Millis; 64],
    /// What each square showed earlier, and since when; the last first.
    #[serde(with = "kept::earlier")]
    earlier: [[(Code, Millis); EARLIER]; 64],
    last_change: Millis,
    last_arrival: Millis,
    /// Squares whose last change only a dump told.
    #[serde(with = "bits")]
    by_dump: Bitboard,
    /// Empty squares whose piece has not come to stand anywhere else.
    #[serde(with = "bits")]
    lifted: Bitboard,
    /// Squares whose last change a dump told, and whose update is still to come.
    #[serde(with = "bits")]
    untold: Bitboard,
    /// An update was lost for certain.
    lost: bool,
    /// When the last warning came that updates may have been lost.
    #[serde(skip)]
    maybe_lost: Option<Millis>,
    last_dump: Option<Millis>,
    /// The board feels only whether something stands on a square.
    felt: bool,
    /// Squares that are known to read nothing, whatever stands there.
    #[serde(with = "bits")]
    dead: Bitboard,
    /// Squares that have shown something since they were first read.
    #[serde(with = "bits")]
    ever_read: Bitboard,
    /// The squares that have changed in the last [`RECENT_MS`], and perhaps others until the next change.
    #[serde(skip, default = "kept::all")]
    recent: Bitboard,
    /// By how many milliseconds the times of changes may be wrong.
    #[serde(skip)]
    slack: u64,
    #[serde(default)]
    unheard: Unheard,
    #[serde(default)]
    lumps: Lumps,
    #[serde(default)]
    blinks: Blinks,
}

/// What changed while nobody read the board.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Unheard {
    #[serde(with = "bits")]
    squares: Bitboard,
    since: Millis,
    /// When a dump told.
    until: Millis,
}

impl Default for Sensed {
    fn default() -> Self {
        Self {
            placement: Placement::default(),
            since: [Millis(0); 64],
            earlier: [[(Code::EMPTY, Millis(0)); EARLIER]; 64],
            last_change: Millis(0),
            last_arrival: Millis(0),
            by_dump: Bitboard::EMPTY,
            lifted: Bitboard::EMPTY,
            untold: Bitboard::EMPTY,
            lost: false,
            maybe_lost: None,
            last_dump: None,
            felt: false,
            dead: Bitboard::EMPTY,
            ever_read: Bitboard::EMPTY,
            recent: Bitboard::FULL,
            slack: 0,
            lumps: Lumps::default(),
            blinks: Blinks::default(),
            unheard: Unheard::default(),
        }
    }
}

impl Sensed {
    /// The readings of a board that showed `placement` before anything was watched.
    pub fn settled(placement: &Placement) -> Self {
        let mut sensed = Self::default();
        for square in placement.occupied() {
            sensed.set(Millis(0), square, placement.at(square));
        }
        sensed
    }

    /// `square` shows `code`. Returns false when it showed that already.
    pub fn set(&mut self, now: Millis, square: Square, code: Code) -> bool {
        let old = self.placement.at(square);
        if old == code {
            if code.is_empty() && !self.by_dump.contains(square) {
                self.lost = true;
            }
            self.by_dump.discard(square);
            self.untold.discard(square);
            return false;
        }
        self.lost |= self.untold.contains(square);
        self.untold.discard(square);
        let earlier = &mut self.earlier[usize::from(square)];
        earlier.rotate_right(1);
        earlier[0] = (old, self.since[usize::from(square)]);
        self.placement.set(square, code);
        self.since[usize::from(square)] = now;
        self.last_change = now;
        self.recent = self.changed_within(self.recent, RECENT_MS, now).with(square);
        if code.is_empty() {
            self.lifted.add(square);
        } else {
            self.last_arrival = now;
            self.ever_read.add(square);
            self.put_down(now, square, code);
        }
        self.by_dump.discard(square);
        self.felt |= code == Code::UNKNOWN;
        true
    }

    /// A piece came to stand on `square`. It is back, or else the last piece of its kind that was lifted. A piece that was lifted from
    /// `square` itself is not in a hand either: it is back, or taken.
    fn put_down(&mut self, now: Millis, square: Square, code: Code) {
        let was_lifted = self.lifted.contains(square);
        self.lifted.discard(square);
        if self.has_blinked(now, square, was_lifted) {
            return;
        }
        let like_it = self
            .lifted
            .into_iter()
            .filter(|from| code.agrees(self.before(*from)));
        let from = like_it.max_by_key(|from| self.since(*from));
        if let Some(from) = from {
            self.lifted.discard(from);
        }
        self.blinks.carry(from, square);
    }

    /// The board shows `placement`. Returns the squares that changed.
    pub fn update(&mut self, now: Millis, placement: &Placement) -> Bitboard {
        let changed = self.placement.differing(placement);
        for square in changed {
            self.set(now, square, placement.at(square));
        }
        changed
    }

    /// A dump replaces the reading. Returns the squares that changed by it.
    pub fn replace(&mut self, now: Millis, placement: &Placement) -> Bitboard {
        let changed = self.update(now, placement);
        self.by_dump |= changed;
        self.last_dump = Some(now);
        changed
    }

    /// What stands on the board.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// True when the board feels only whether something stands on a square.
    #[must_use]
    pub fn is_felt(&self) -> bool {
        self.felt
    }

    /// Squares that are known to read nothing, whatever stands there.
    #[must_use]
    pub fn dead(&self) -> Bitboard {
        self.dead & !self.placement.occupied()
    }

    /// Squares that have shown something since they were first read: their sensors work, or did.
    #[must_use]
    pub fn ever_read(&self) -> Bitboard {
        self.ever_read
    }

    /// Squares that were given up, whatever stands there now.
    #[must_use]
    pub fn given_up(&self) -> Bitboard {
        self.dead
    }

    /// From now on exactly `squares` are known to read nothing, whatever stands there.
    pub fn give_up(&mut self, squares: Bitboard) {
        self.dead = squares;
    }

    /// True when `code` was read since `start` on a square that is not one of `known`: a hand carried it there.
    #[must_use]
    pub fn read_elsewhere(&self, code: Code, known: Bitboard, start: Millis) -> bool {
        let read = |s: &Square| {
            let now = (self.at(*s), self.since(*s));
            let mut readings = std::iter::once(now).chain(self.earlier[usize::from(*s)]);
            !known.contains(*s) && readings.any(|(read, since)| read == code && since > start)
        };
        Square::ALL.iter().any(read)
    }

    /// For how long nothing had been read on `square` when it came to show what it shows, in milliseconds.
    /// None if it had shown something else.
    #[must_use]
    pub fn was_empty_for(&self, square: Square) -> Option<u64> {
        let (before, since) = self.earlier[usize::from(square)][0];
        before.is_empty().then(|| self.since(square).since(since))
    }

    /// When `square` came to show nothing, if that is what it shows, or has shown before its last change.
    #[must_use]
    pub fn emptied_at(&self, square: Square) -> Option<Millis> {
        if self.at(square).is_empty() {
            return Some(self.since(square));
        }
        let (before, since) = self.earlier[usize::from(square)][0];
        before.is_empty().then_some(since)
    }

    /// For how long `square` had shown what it showed before its last change, in milliseconds.
    #[must_use]
    pub fn stood_for(&self, square: Square) -> u64 {
        self.since(square).since(self.before_since(square))
    }

    /// What stands on `square`.
    #[must_use]
    pub fn at(&self, square: Square) -> Code {
        self.placement.at(square)
    }

    /// Since when `square` shows what it shows.
    #[must_use]
    pub fn since(&self, square: Square) -> Millis {
        self.since[usize::from(square)]
    }

    /// From now on a change may have happened up to `ms` milliseconds before or after its time: the line
    /// gathers.
    pub fn is_told_within(&mut self, ms: u64) {
        self.slack = ms;
    }

    /// The changes between `from` and `until` come in one lump: their order is right, and nobody measured
    /// their times.
    pub fn is_unmeasured(&mut self, from: Millis, until: Millis) {
        self.lumps.add(from, until);
    }

    /// The least time, in milliseconds, that may have passed between two changes at `one` and `other`.
    #[must_use]
    pub fn least_between(&self, one: Millis, other: Millis) -> u64 {
        self.lumps.least_between(one, other)
    }

    /// The most time, in milliseconds, that may have passed from what happened at `first` to what happened at `last`.
    #[must_use]
    pub fn most_between(&self, first: Millis, last: Millis) -> u64 {
        self.lumps.most_between(first, last)
    }

    /// By how many milliseconds the times of changes may be wrong. Their order is right.
    #[must_use]
    pub fn slack(&self) -> u64 {
        self.slack
    }

    /// Those of `squares` that have changed in the last `ms` milliseconds, which are at most ten seconds.
    #[must_use]
    pub fn changed_within(&self, squares: Bitboard, ms: u64, now: Millis) -> Bitboard {
        debug_assert!(ms <= RECENT_MS);
        let lately = |s: &Square| now.since(self.since(*s)) <= ms;
        (squares & self.recent).into_iter().filter(lately).collect()
    }

    /// The squares that have changed at `start` or later.
    #[must_use]
    pub fn changed_since(&self, start: Millis) -> Bitboard {
        let lately = |s: &Square| self.since(*s) >= start;
        let all_are_recent = start + RECENT_MS >= self.last_change;
        let among = if all_are_recent {
            self.recent
        } else {
            Bitboard::FULL
        };
        among.into_iter().filter(lately).collect()
    }

    /// What `square` showed before its last change.
    #[must_use]
    pub fn before(&self, square: Square) -> Code {
        self.earlier[usize::from(square)][0].0
    }

    /// Since when `square` had shown what it showed before its last change.
    #[must_use]
    pub fn before_since(&self, square: Square) -> Millis {
        self.earlier[usize::from(square)][0].1
    }

    /// When `square` came to show what it shows, if an update told. A dump does not tell when.
    #[must_use]
    pub fn seen_at(&self, square: Square) -> Option<Millis> {
        (!self.by_dump.contains(square)).then(|| self.since(square))
    }

    /// A dump at `until` told that `squares` changed, and nobody had read the board since `since`.
    pub fn was_unheard(&mut self, squares: Bitboard, since: Millis, until: Millis) {
        self.unheard = Unheard {
            squares,
            since,
            until,
        };
    }

    /// A time between `from` and `until` at which `square` came to show what it shows, or may have: then as late as possible. None
    /// if it was another one, or if nobody read the board for so long that anything may have happened.
    #[must_use]
    pub fn may_be_seen_at(&self, square: Square, from: Millis, until: Millis) -> Option<Millis> {
        let gap = self.unheard;
        let is_unheard = gap.squares.contains(square) && self.since(square) == gap.until;
        if !is_unheard || !self.by_dump.contains(square) {
            return self.seen_at(square).filter(|at| (from..=until).contains(at));
        }
        let at = gap.until.min(until);
        let is_short = gap.until.since(gap.since) <= SHORT_MS;
        (is_short && at > gap.since && at >= from).then_some(at)
    }

    /// A dump changed `squares` although the link was up: their updates are late, or lost.
    pub fn expect_updates(&mut self, squares: Bitboard) {
        self.untold |= squares;
    }

    /// True when this board or its line is known to lose updates, or may have lost some.
    #[must_use]
    pub fn loses_updates(&self, now: Millis) -> bool {
        let late = |s: Square| now.since(self.since(s)) > UNTOLD_MS;
        self.lost || self.maybe_lost.is_some() || self.untold.into_iter().any(late)
    }

    /// Updates may have been lost before `at`, although no reading shows it, or none may. Returns what was so before.
    pub fn put_maybe_lost(&mut self, at: Option<Millis>) -> Option<Millis> {
        std::mem::replace(&mut self.maybe_lost, at)
    }

    /// The whole board was read and agrees with the record: lost updates are not missed any more.
    pub fn misses_nothing(&mut self, now: Millis) {
        self.maybe_lost = self.maybe_lost.filter(|at| now.since(*at) < LOST_MS);
    }

    /// True while lost updates may be missed.
    #[must_use]
    pub fn may_miss_some(&self) -> bool {
        self.maybe_lost.is_some()
    }

    /// When the whole board was last read.
    #[must_use]
    pub fn last_dump(&self) -> Option<Millis> {
        self.last_dump
    }

    /// A square from which a piece was lifted after `start` that has been put down nowhere since: it may be
    /// in a hand, or was taken off the board.
    #[must_use]
    pub fn lifted_since(&self, start: Millis) -> Option<Square> {
        self.lifted.into_iter().find(|from| self.since(*from) > start)
    }

    /// When any square last came to show something.
    #[must_use]
    pub fn last_arrival(&self) -> Millis {
        self.last_arrival
    }

    /// When the board last told anything: a change, or all its squares.
    #[must_use]
    pub fn last_told(&self) -> Millis {
        self.last_dump.unwrap_or_default().max(self.last_change)
    }

    /// When any square last changed.
    #[must_use]
    pub fn last_change(&self) -> Millis {
        self.last_change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE_QUEEN: Code = Code(6);
    const BLACK_KING: Code = Code(11);

    fn lifted(changes: &[(u64, Square, Code)]) -> Option<Square> {
        let mut sensed = Sensed::default();
        sensed.set(Millis(1), Square::D1, WHITE_QUEEN);
        sensed.set(Millis(1), Square::E8, BLACK_KING);
        for (at, square, code) in changes {
            sensed.set(Millis(*at), *square, *code);
        }
        sensed.lifted_since(Millis(100))
    }

    /// Nobody read the board from 1 s to 2 s, and a dump told then that the queen of d1 was gone.
    #[test]
    fn what_nobody_saw_may_have_happened_while_nobody_looked() {
        let mut sensed = Sensed::default();
        sensed.set(Millis(1), Square::D1, WHITE_QUEEN);
        let mut placement = sensed.placement().clone();
        placement.set(Square::D1, Code::EMPTY);
        let gone = sensed.replace(Millis(2000), &placement);
        sensed.was_unheard(gone, Millis(1000), Millis(2000));
        let seen =
            |sensed: &Sensed, from, until| sensed.may_be_seen_at(Square::D1, Millis(from), Millis(until));
        assert_eq!(seen(&sensed, 500, 1500), Some(Millis(1500)));
        assert_eq!(seen(&sensed, 500, 3000), Some(Millis(2000)));
        assert_eq!(seen(&sensed, 500, 900), None, "it still stood there");
        assert_eq!(seen(&sensed, 2100, 3000), None, "it was gone");
        // It comes back, and another dump tells that it is gone again: no gap was there.
        sensed.set(Millis(2500), Square::D1, WHITE_QUEEN);
        sensed.replace(Millis(2800), &placement);
        assert_eq!(seen(&sensed, 500, 1500), None);
        // Nobody read the board for long.
        sensed.set(Millis(2900), Square::D1, WHITE_QUEEN);
        sensed.replace(Millis(9000), &placement);
        sensed.was_unheard(gone, Millis(8000) - SHORT_MS, Millis(9000));
        assert_eq!(seen(&sensed, 3000, 9500), None);
    }

    #[test]
    fn a_piece_lifted_since_the_start_counts_as_lifted_until_it_is_put_down() {
        let up = (200, Square::D1, Code::EMPTY);
        assert_eq!(lifted(&[up]), Some(Square::D1));
        assert_eq!(lifted(&[up, (300, Square::D8, WHITE_QUEEN)]), None);
        assert_eq!(lifted(&[up, (300, Square::D1, WHITE_QUEEN)]), None);
        assert_eq!(lifted(&[(50, Square::D1, Code::EMPTY)]), None);
    }

    #[test]
    fn a_piece_that_was_taken_where_it_had_been_put_is_not_in_a_hand() {
        let queen = [(200, Square::D1, Code::EMPTY), (300, Square::D8, WHITE_QUEEN)];
        // Taken in one step, and taken after it was lifted off the board.
        let at_once = [(400, Square::E8, Code::EMPTY), (500, Square::D8, BLACK_KING)];
        assert_eq!(lifted(&[queen, at_once].concat()), None);
        let before = [(400, Square::D8, Code::EMPTY), (450, Square::E8, Code::EMPTY)];
        let taken = [&queen[..], &before[..], &[(500, Square::D8, BLACK_KING)]].concat();
        assert_eq!(lifted(&taken), None);
    }
}
