//! What is wrong at a table at a moment: cables are out, squares are not read, pieces lie about.

use shakmaty::{Bitboard, Color, Move, Square, attacks};

use super::super::hand::figure::TaggedPiece;

/// What is wrong at a table at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Outages {
    pub(super) cable: Option<CableOut>,
    pub(super) clock: Option<CableOut>,
    /// The clock stands and nobody has noticed: number of half-moves until somebody does.
    pub(super) stands: Option<u32>,
    /// A square that misreads, and until when.
    pub(super) dead: Option<(Square, u64)>,
    /// Squares that never read anything.
    pub(super) silent: Vec<Silent>,
    /// Pieces that lie where they fell.
    pub(super) lying: Vec<FallenPiece>,
    /// How many half-moves are made when somebody picks them up.
    pub(super) until: usize,
}

#[derive(Clone, Debug)]
pub(super) struct CableOut {
    /// When it was pulled.
    pub(super) out: u64,
    /// How many half-moves are made until it is back.
    pub(super) rest: u32,
    /// The squares of the half-moves meanwhile, if each piece may make only one. None if there is no such
    /// limit.
    pub(super) used: Option<Vec<Square>>,
}

impl Outages {
    pub(super) fn cable_is_out(&self) -> bool {
        self.cable.is_some()
    }

    /// Whether anything is wrong at `at`.
    pub(super) fn any(&self, at: u64) -> bool {
        self.cable.is_some()
            || self.clock.is_some()
            || self.stands.is_some()
            || self.dead.is_some_and(|(_, until)| until > at)
            || self.is_untidy()
    }

    /// Whether `mv` can be told from other half-moves.
    pub(super) fn allow(&self, mv: Move, color: Color, at: u64) -> bool {
        let squares = squares_of(mv, color);
        if let Some((dead, until)) = self.dead
            && until > at
            && squares.contains(&dead)
            // A piece that leaves a dead square is read where it arrives.
            && (mv.is_castle() || mv.from() != Some(dead))
        {
            return false;
        }
        if !self.can_be_read(mv, &squares) || is_in_the_way(&self.lying, mv, &squares) {
            return false;
        }
        // Each piece moves only once while the cable is out. Otherwise fewer half-moves would explain the
        // board as well.
        let used = |cable: &CableOut| {
            let used = cable.used.iter().flatten();
            used.into_iter().any(|square| squares.contains(square))
        };
        !self.cable.as_ref().is_some_and(used)
    }

    /// From now on `square` never reads anything.
    pub(super) fn kill(&mut self, square: Square) {
        self.silent.push(Silent::new(square));
    }

    /// Whether `square` never reads anything.
    pub(super) fn hides(&self, square: Square) -> bool {
        self.silent.iter().any(|silent| silent.square == square)
    }

    /// Whether squares that never read anything leave enough of `mv` to be read.
    fn can_be_read(&self, mv: Move, squares: &[Square]) -> bool {
        let hidden = squares.iter().filter(|s| self.hides(**s)).count();
        if hidden == 0 {
            return true;
        }
        let read_from = self.dead.map(|(dead, _)| dead) != mv.from();
        let promoted = mv.is_promotion() && self.hides(mv.to());
        hidden == 1 && read_from && !promoted && !self.cable_is_out()
    }

    /// The squares that never read anything.
    pub(super) fn silents(&self) -> &[Silent] {
        &self.silent
    }

    /// The record of `square`, if it never reads anything.
    pub(super) fn silent(&mut self, square: Square) -> Option<&mut Silent> {
        self.silent.iter_mut().find(|silent| silent.square == square)
    }

    /// `falls` lie about until `until` half-moves are made.
    pub(super) fn lie(&mut self, falls: Vec<FallenPiece>, until: usize) {
        (self.lying, self.until) = (falls, until);
    }

    /// Whether pieces lie about.
    pub(super) fn is_untidy(&self) -> bool {
        !self.lying.is_empty()
    }

    /// The pieces that lie about, if they are picked up now: `half_moves` are made, or the game ends.
    pub(super) fn found(&mut self, half_moves: usize, at_the_end: bool) -> Option<Vec<FallenPiece>> {
        let due = self.is_untidy() && (at_the_end || half_moves >= self.until);
        due.then(|| std::mem::take(&mut self.lying))
    }
}

/// All squares that `mv` changes.
pub(super) fn squares_of(mv: Move, color: Color) -> Vec<Square> {
    match mv {
        Move::Castle { king, rook } => {
            let side = shakmaty::CastlingSide::from_king_side(king < rook);
            vec![king, rook, side.king_to(color), side.rook_to(color)]
        }
        Move::EnPassant { from, to } => vec![from, to, Square::from_coords(to.file(), from.rank())],
        Move::Normal { from, to, .. } => vec![from, to],
        Move::Put { to, .. } => vec![to],
    }
}

/// A square that never reads anything, and what the pieces that came and went prove of it.
#[derive(Clone, Debug)]
pub(super) struct Silent {
    pub(super) square: Square,
    /// The squares that could be the silent one, by all that has happened.
    pub(super) candidates: Bitboard,
    /// The indices of the half-moves that are proved once a single candidate is left.
    pub(super) provable: Vec<usize>,
    /// What is known of the piece that landed there last.
    pub(super) landed: Landed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landed {
    /// No piece has landed.
    Never,
    /// It landed here, which is proved once the square is.
    Here,
    /// It landed here or on another such square: nothing proves which.
    SomeWhere,
}

impl Silent {
    pub(super) fn new(square: Square) -> Self {
        Self {
            square,
            candidates: Bitboard::FULL,
            provable: Vec::new(),
            landed: Landed::Never,
        }
    }
}

/// A piece that fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FallenPiece {
    pub(super) figure: TaggedPiece,
    pub(super) from: Square,
    /// Where it lies. None: beside the board.
    pub(super) to: Option<Square>,
}

/// Whether `mv` meets or passes a square from which a piece fell or on which one lies.
pub(super) fn is_in_the_way(falls: &[FallenPiece], mv: Move, squares: &[Square]) -> bool {
    let Some(from) = mv.from() else { return false };
    let passes = |square: Square| attacks::between(from, mv.to()).contains(square);
    falls.iter().any(|fall| {
        let [home, lies] = [Some(fall.from), fall.to];
        let meets = |square: Option<Square>| square.is_some_and(|s| squares.contains(&s) || passes(s));
        meets(home) || meets(lies)
    })
}
