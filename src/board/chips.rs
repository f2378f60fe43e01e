//! Pieces whose chip says another piece: a mended set, or one with a piece of another set. Such a piece moves as what it looks like to
//! the players, so each of its readings stands for that. The initial position shows which pieces these are.

use serde::{Deserialize, Serialize};
use shakmaty::{Color, Rank, Role, Square, attacks};

use super::{
    orientation::Orientation,
    placement::{Code, Placement},
    sensed::SCAN_MS,
    stand::targets,
};
use crate::{
    dgt::{PieceCode, Squares},
    time::Millis,
};

/// If more pieces of an initial position are read as others, they stand wrong rather than that their chips are.
const MOST_WRONG: usize = 2;
/// A piece that was lifted longer ago was rather captured than held in a hand.
const HELD_MS: u64 = 10_000;

/// A piece whose chip says another piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongChip {
    /// Where it stood last, in the board's own order.
    at: u8,
    /// What its chip says.
    reads: u8,
    /// What it is.
    is: u8,
    /// Another piece has stood there since.
    taken: bool,
    /// Since when this is known.
    since: Millis,
    /// The highest number of a game in which people were told of it.
    told_in: u32,
}

impl WrongChip {
    /// Where it stood last, in the board's own order.
    #[must_use]
    pub fn at(&self) -> u8 {
        self.at
    }

    /// What its chip says.
    #[must_use]
    pub fn reads(&self) -> Code {
        Code(self.reads)
    }

    /// What it is.
    #[must_use]
    pub fn is(&self) -> Code {
        Code(self.is)
    }
}

/// The wrong chips of a board.
#[derive(Clone, Debug, Default)]
pub struct Chips {
    wrong: Vec<WrongChip>,
    /// Pieces that a wrong chip is read as, and that were lifted and not put down, the last one last.
    lifted: Vec<Lifted>,
    /// Which way round the board lies.
    way: Orientation,
    /// Where such a piece was read that nobody had lifted: its own square may not have been scanned yet.
    landed: Option<(u8, PieceCode, Millis)>,
}

#[derive(Clone, Copy, Debug)]
struct Lifted {
    from: u8,
    reads: PieceCode,
    /// The place of its chip among the wrong ones, if it is one.
    wrong: Option<usize>,
    at: Millis,
}

impl Chips {
    /// The chips as a snapshot keeps them.
    #[must_use]
    pub fn keep(&self) -> Vec<WrongChip> {
        self.wrong.clone()
    }

    /// The chips that a snapshot has kept, of a board that lies this way round.
    #[must_use]
    pub fn restore(kept: &[WrongChip], way: Orientation) -> Self {
        let makes_sense =
            |chip: &&WrongChip| chip.at < 64 && chip.reads().piece().is_some() && chip.is().piece().is_some();
        Self {
            wrong: kept
                .iter()
                .filter(makes_sense)
                .take(MOST_WRONG)
                .copied()
                .collect(),
            way,
            ..Self::default()
        }
    }

    /// The board lies this way round.
    pub fn lie(&mut self, way: Orientation) {
        self.way = way;
    }

    /// The wrong chips of which people are to be told in game `number`, once, where they have been known for `ms` milliseconds.
    pub fn to_tell(&mut self, now: Millis, number: u32, ms: u64) -> Vec<WrongChip> {
        // The copy of a game that is watched beside it has a number of its own.
        let due = |chip: &&mut WrongChip| chip.told_in < number && now.since(chip.since) >= ms;
        let mut told = Vec::new();
        for chip in self.wrong.iter_mut().filter(due) {
            chip.told_in = number;
            told.push(*chip);
        }
        told
    }

    /// When somebody is to be told of a wrong chip in game `number` that has been known for `ms` milliseconds then.
    #[must_use]
    pub fn due(&self, number: u32, ms: u64) -> Option<Millis> {
        let untold = self.wrong.iter().filter(|chip| chip.told_in < number);
        untold.map(|chip| chip.since + ms).min()
    }

    /// A square shows `piece`, where the board stood as is `known`. Returns what that means for squares, this one first. `idle`: no game
    /// goes on, so an initial position shows which chips are wrong.
    pub fn field(
        &mut self,
        now: Millis,
        idle: bool,
        known: &Squares,
        square: u8,
        piece: PieceCode,
    ) -> Vec<(u8, PieceCode)> {
        let mut readings = vec![(square, piece)];
        if !self.wrong.is_empty() {
            self.left(now, known, square, piece, &mut readings);
            readings[0].1 = self.came(now, known, square, piece);
        }
        if idle || !self.wrong.is_empty() {
            let mut seen = *known;
            for (square, piece) in &readings {
                seen[usize::from(*square)] = *piece;
            }
            let read = self.as_read(&seen);
            if self.look_at_array(now, idle, &read) {
                let shown = self.shown(&read);
                readings[0].1 = shown[usize::from(square)];
                let others = (0..64_u8).filter(|i| shown[usize::from(*i)] != seen[usize::from(*i)]);
                readings.extend(
                    others
                        .filter(|i| *i != square)
                        .map(|i| (i, shown[usize::from(i)])),
                );
            }
        }
        readings
    }

    /// All squares of the board, which stood as is `known` before, if anybody knows.
    pub fn dump(&mut self, now: Millis, idle: bool, known: Option<&Squares>, read: &Squares) -> Squares {
        (self.landed, self.lifted) = (None, Vec::new());
        if let Some(known) = known {
            for i in 0..self.wrong.len() {
                self.look_for(i, known, read);
            }
        }
        if idle || !self.wrong.is_empty() {
            self.look_at_array(now, idle, read);
        }
        self.wrong
            .retain(|chip| chip.taken || read[usize::from(chip.at)].0 != chip.is);
        for (i, chip) in self.wrong.iter().enumerate() {
            if !chip.taken && read[usize::from(chip.at)] == PieceCode::EMPTY {
                self.lifted.push(Lifted {
                    from: chip.at,
                    reads: PieceCode(chip.reads),
                    wrong: Some(i),
                    at: now,
                });
            }
        }
        self.shown(read)
    }

    /// What left `square`, where `piece` is read now.
    fn left(
        &mut self,
        now: Millis,
        known: &Squares,
        square: u8,
        piece: PieceCode,
        readings: &mut Vec<(u8, PieceCode)>,
    ) {
        let before = known[usize::from(square)];
        let stands = |chip: &WrongChip| chip.at == square && !chip.taken && before.0 == chip.is;
        let wrong = self.wrong.iter().position(stands);
        let reads = wrong.map_or(before, |i| PieceCode(self.wrong[i].reads));
        let matters = self.wrong.iter().any(|chip| chip.reads == reads.0);
        if !matters || piece == reads {
            return;
        }
        let scanned_before =
            |(_, code, at): &(u8, PieceCode, Millis)| *code == reads && now.since(*at) <= SCAN_MS;
        let Some((to, ..)) = self.landed.take().filter(scanned_before) else {
            self.lifted.push(Lifted {
                from: square,
                reads,
                wrong,
                at: now,
            });
            return;
        };
        if let Some(i) = wrong {
            self.wrong[i].at = to;
            readings.push((to, PieceCode(self.wrong[i].is)));
        }
    }

    /// What came to stand on `square`, where `piece` is read.
    fn came(&mut self, now: Millis, known: &Squares, square: u8, piece: PieceCode) -> PieceCode {
        if piece == PieceCode::EMPTY {
            return piece;
        }
        if let Some(i) = self
            .wrong
            .iter()
            .position(|chip| chip.at == square && !chip.taken)
        {
            let chip = self.wrong[i];
            if piece.0 == chip.is {
                // The chip is read rightly.
                self.wrong.remove(i);
                self.lifted.clear();
                return piece;
            }
            if piece.0 != chip.reads {
                self.wrong[i].taken = true;
                self.lifted.retain(|lifted| lifted.wrong != Some(i));
            }
        }
        if self.wrong.iter().all(|chip| chip.reads != piece.0) {
            return piece;
        }
        match self.put_down(now, known, square, piece) {
            Some(i) if is_last_rank(self.way.square(square), self.wrong[i].is()) => {
                // What comes there replaces the pawn.
                self.wrong[i].taken = true;
                piece
            }
            Some(i) => {
                (self.wrong[i].at, self.wrong[i].taken) = (square, false);
                PieceCode(self.wrong[i].is)
            }
            None => piece,
        }
    }

    /// Which of the wrong chips came to `square`, where `piece` is read; none if it is another piece.
    fn put_down(&mut self, now: Millis, known: &Squares, square: u8, piece: PieceCode) -> Option<usize> {
        let stands = |chip: &WrongChip| chip.at == square && chip.reads == piece.0;
        let like_it = |lifted: &Lifted| lifted.reads == piece;
        let back = self
            .lifted
            .iter()
            .position(|lifted| like_it(lifted) && lifted.from == square);
        // Where one of the other colour was lifted too, it rather captured the piece that stood there.
        let captures = |lifted: &Lifted| {
            let is_other = back.is_some_and(|k| self.color(lifted) != self.color(&self.lifted[k]));
            like_it(lifted) && is_other && now.since(lifted.at) <= HELD_MS
        };
        let captor = self.lifted.iter().rposition(captures);
        if let (Some(taken), Some(_)) = (back.and_then(|k| self.lifted[k].wrong), captor) {
            self.wrong[taken].taken = true;
        }
        // Both players may hold a piece that is read so.
        let goes = |lifted: &Lifted| like_it(lifted) && self.may_go(lifted, square, known);
        let last = || {
            let lifted = &self.lifted;
            lifted
                .iter()
                .rposition(goes)
                .or_else(|| lifted.iter().rposition(like_it))
        };
        match captor.or(back).or_else(last) {
            Some(k) => {
                let lifted = self.lifted.remove(k);
                if captor.is_some() {
                    self.lifted.retain(|other| other.from != square);
                }
                if now.since(lifted.at) > HELD_MS {
                    self.landed = Some((square, piece, now));
                }
                lifted.wrong
            }
            None => {
                let own = self.wrong.iter().position(stands);
                if own.is_none() {
                    self.landed = Some((square, piece, now));
                }
                own
            }
        }
    }

    /// What was lifted.
    fn code(&self, lifted: &Lifted) -> Code {
        lifted.wrong.map_or(Code(lifted.reads.0), |i| self.wrong[i].is())
    }

    /// The colour of a piece that was lifted.
    fn color(&self, lifted: &Lifted) -> Option<Color> {
        self.code(lifted).color()
    }

    /// True where a half-move of the piece that was lifted may lead to `square`.
    fn may_go(&self, lifted: &Lifted, square: u8, known: &Squares) -> bool {
        let (from, to) = (self.way.square(lifted.from), self.way.square(square));
        let mut board = self.way.placement(known).board();
        let Some(piece) = self.code(lifted).piece() else {
            return false;
        };
        board.set_piece_at(from, piece);
        let captures = piece.role == Role::Pawn && attacks::pawn_attacks(piece.color, from).contains(to);
        captures || targets(&board, from, piece).contains(to)
    }

    /// Looks where wrong chip `i` stands on a board that stood as is `known` and is `read` now.
    fn look_for(&mut self, i: usize, known: &Squares, read: &Squares) {
        let chip = self.wrong[i];
        if read[usize::from(chip.at)].0 == chip.reads || chip.taken {
            return;
        }
        let shows = |squares: &Squares, k: u8| squares[usize::from(k)].0 == chip.reads;
        let new = || (0..64_u8).filter(|k| shows(read, *k) && !shows(known, *k));
        let gone = (0..64_u8)
            .filter(|k| !shows(read, *k) && shows(known, *k))
            .count();
        let others = |k: &u8| self.wrong.iter().all(|other| other.at != *k);
        match new().find(others) {
            Some(at) if new().count() > gone => self.wrong[i].at = at,
            _ => self.wrong[i].taken = read[usize::from(chip.at)] != PieceCode::EMPTY,
        }
    }

    /// Looks whether an initial position is `read`, which shows the wrong chips. While a game goes on it shows only where those that are
    /// known stand. Returns true if it did.
    fn look_at_array(&mut self, now: Millis, idle: bool, read: &Squares) -> bool {
        let Some((way, mut found)) = wrong_in_array(now, read) else {
            return false;
        };
        for chip in &mut found {
            let is_it = |known: &&WrongChip| (known.reads, known.is) == (chip.reads, chip.is);
            match self.wrong.iter().find(is_it) {
                Some(known) => (chip.since, chip.told_in) = (known.since, known.told_in),
                None if idle => {}
                None => return false,
            }
        }
        self.wrong = found;
        self.way = way;
        (self.landed, self.lifted) = (None, Vec::new());
        true
    }

    /// What `read` means with the wrong chips.
    fn shown(&self, read: &Squares) -> Squares {
        let mut shown = *read;
        for chip in self.wrong.iter().filter(|chip| !chip.taken) {
            let square = &mut shown[usize::from(chip.at)];
            if square.0 == chip.reads {
                square.0 = chip.is;
            }
        }
        shown
    }

    /// What the board reads where `shown` is what it means.
    fn as_read(&self, shown: &Squares) -> Squares {
        let mut read = *shown;
        for chip in self.wrong.iter().filter(|chip| !chip.taken) {
            let square = &mut read[usize::from(chip.at)];
            if square.0 == chip.is {
                square.0 = chip.reads;
            }
        }
        read
    }
}

/// True where `piece` is a pawn, and is replaced on `square`.
fn is_last_rank(square: Square, piece: Code) -> bool {
    let pawn = piece.piece().filter(|piece| piece.role == Role::Pawn);
    pawn.is_some_and(|pawn| square.rank() == pawn.color.fold_wb(Rank::Eighth, Rank::First))
}

/// The wrong chips of the whole initial position that is `read` now, and which way round the board lies. None if it is no initial position,
/// or one in which pieces stand wrong. While pieces are set up, or one is in a hand, another may stand on its square.
fn wrong_in_array(now: Millis, read: &Squares) -> Option<(Orientation, Vec<WrongChip>)> {
    Orientation::ALL.into_iter().find_map(|way| {
        let seen = way.placement(read);
        let differing = seen.differing(&Placement::ARRAY);
        let is_array = seen.occupied() == Placement::ARRAY.occupied()
            && differing.count() <= MOST_WRONG
            && (differing & !seen.pieces()).is_empty()
            && !Color::ALL.into_iter().any(|color| stand_exchanged(&seen, color));
        let wrong = |at: u8| {
            let square = way.square(at);
            let is = Placement::ARRAY.at(square);
            differing.contains(square).then(|| WrongChip {
                at,
                reads: seen.at(square).0,
                is: is.0,
                taken: false,
                since: now,
                told_in: 0,
            })
        };
        is_array.then(|| (way, (0..64).filter_map(wrong).collect()))
    })
}

/// True where pieces of `color` stand on each other's squares: they were set up wrong (7.2.1). A set has no more pieces of a kind than
/// the initial position.
fn stand_exchanged(seen: &Placement, color: Color) -> bool {
    let of = |placement: &Placement, square: Square| {
        Some(placement.at(square)).filter(|code| code.color() == Some(color))
    };
    let wrong = seen.differing(&Placement::ARRAY);
    let home = wrong.into_iter().filter(|s| of(&Placement::ARRAY, *s).is_some());
    let mut should: Vec<_> = home.clone().map(|s| Placement::ARRAY.at(s)).collect();
    let mut stand: Vec<_> = home.map(|s| seen.at(s)).collect();
    should.sort();
    stand.sort();
    !should.is_empty() && should == stand
}

#[cfg(test)]
mod tests;
