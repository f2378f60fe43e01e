//! Pieces without a working chip and squares that read nothing: what the watcher knows of them, and the
//! notices of them.

use shakmaty::{Bitboard, Move, Piece, Role, Square};

use super::{Made, course::Course, doubt::Doubt, record::GameRecord};
use crate::{
    board::{Code, Placement, Ply, Sensed},
    event::notice,
    time::Millis,
    watcher::ctx::Ctx,
};

/// A square is known to read nothing once this many pieces have vanished on it and were read again elsewhere.
const PROVED: u8 = 2;

/// A hand holds a piece for no longer than this.
const HAND_MS: u64 = 20_000;
/// No hand held a piece that was gone for this long before its half-move.
const GONE_MS: u64 = 3000;
/// A piece that was captured this long after the press for its half-move should have been read before.
const TAKEN_LATE_MS: u64 = 1000;
/// For this many half-moves the watcher remembers that a piece was not read where it went.
pub(super) const HELD: usize = 40;

/// After this long, a square that is not read is worth a notice.
const DEAD_SQUARE_MS: u64 = 30_000;

/// Where more squares than these read nothing at once, hands have taken the pieces off the board.
const MOST_DEAD: usize = 8;

/// The sensor faults that are known in one game.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct Unread {
    /// Squares on which a piece was not read that was read elsewhere, with the number of times.
    pub(in crate::watcher) silent: Vec<(Square, u8)>,
    /// Number of half-moves of the record that were searched for such squares.
    pub(in crate::watcher) looked: usize,
    /// Kinds of pieces for which the watcher gave notice, with the number of pieces of that kind that were
    /// read then.
    pub(in crate::watcher) pieces: Vec<(Code, usize)>,
    /// Squares that read nothing, whatever stands there.
    pub(in crate::watcher) squares: Bitboard,
    /// Squares that read nothing for a while, and then read the piece that had stood there all the time.
    pub(in crate::watcher) healed: Bitboard,
    /// Squares for which the watcher gave notice that they are not read.
    pub(in crate::watcher) noticed: Bitboard,
    /// Squares whose piece the board did not read before a restart.
    pub(in crate::watcher) hidden_before: Bitboard,
}

impl Unread {
    /// True when `seen` shows `placement`, except for pieces and squares that are known not to be read.
    pub(in crate::watcher) fn is_shown(&self, placement: &Placement, seen: &Placement) -> bool {
        let mut codes: Vec<Code> = self.pieces.iter().map(|(code, _)| *code).collect();
        let unread = |s: Square| {
            let known = codes.iter().position(|code| *code == placement.at(s));
            seen.at(s).is_empty()
                && (self.squares.contains(s) || known.map(|i| codes.swap_remove(i)).is_some())
        };
        placement.differing(seen).into_iter().all(unread)
    }

    /// True when no fault is known.
    pub(in crate::watcher) fn is_empty(&self) -> bool {
        self.silent.is_empty() && self.pieces.is_empty() && self.squares.is_empty() && self.healed.is_empty()
    }

    /// True where a notice has said that a piece of this kind is not read.
    pub(super) fn is_named(&self, code: Code) -> bool {
        self.pieces.iter().any(|(known, _)| *known == code)
    }

    /// Gives notice of squares that read nothing although a piece must stand there.
    pub(super) fn look_for_dead_squares(&mut self, ctx: &mut Ctx<'_>, course: &Course, read_since: Millis) {
        let best = course.lines.best();
        let unread = best.differing() | best.faults().hidden;
        let missing: Bitboard = unread
            .into_iter()
            .filter(|s| {
                let code = course.record.stand().placement().at(*s);
                ctx.sensed.at(*s).is_empty() && !code.is_empty() && !self.is_named(code)
            })
            .collect::<Bitboard>()
            & !self.noticed;
        if missing.count() > MOST_DEAD {
            return;
        }
        for square in missing {
            let since = ctx.sensed.since(square).max(stands_since(course, square));
            let since = since.max(read_since);
            if ctx.passed(since, DEAD_SQUARE_MS) {
                self.noticed.add(square);
                let message = format!("Nothing is read on {square}, where a piece should stand.");
                course.notice(ctx, notice::SQUARE_NOT_READ, &message);
            }
        }
    }

    /// Notes which of `squares`, which have just changed, read a piece again that they had not read for a
    /// while. The hypotheses do not know the change yet.
    pub(in crate::watcher) fn read_again(&mut self, course: &Course, squares: Bitboard, sensed: &Sensed) {
        let best = course.lines.best();
        let hidden = squares & best.faults().hidden;
        let stands = |s: &Square| sensed.at(*s) == best.placement().at(*s);
        self.healed |= hidden.into_iter().filter(stands).collect::<Bitboard>();
    }

    /// Squares that read nothing, whatever stands there, and squares for which a notice said that a piece
    /// should stand there.
    pub(in crate::watcher) fn squares_not_read(&self, course: &Course, sensed: &Sensed) -> Bitboard {
        let stand = course.record.stand().placement();
        let empty = self.noticed & stand.occupied() & !sensed.placement().occupied();
        let empty = empty
            .into_iter()
            .filter(|square| !self.is_named(stand.at(*square)));
        self.squares | empty.collect::<Bitboard>()
    }

    /// Hides the pieces that were hidden before a restart.
    pub(in crate::watcher) fn hide_as_before(&mut self, ctx: &Ctx<'_>, course: &mut Course) {
        let hidden = std::mem::take(&mut self.hidden_before);
        if hidden.any() {
            course.lines.hide(hidden, ctx.now, ctx.sensed);
        }
    }

    /// Hides the pieces that are missing as the game begins, and gives notice of them. Nobody holds a piece
    /// in a hand at that moment, but for one that was read a moment ago: the first half-move is under way.
    pub(in crate::watcher) fn begin(&mut self, ctx: &mut Ctx<'_>, course: &mut Course, was_heard: bool) {
        let expected =
            course.lines.best().placement().occupied() & course.record.start.placement().occupied();
        let missing = course.lines.best().differing() & expected & !ctx.sensed.placement().occupied();
        // Somebody heard how the clock was started, otherwise.
        let held = |s: &Square| {
            !was_heard && ctx.sensed.ever_read().contains(*s) && ctx.now.since(ctx.sensed.since(*s)) < HAND_MS
        };
        let missing: Bitboard = missing.into_iter().filter(|s| !held(s)).collect();
        if missing.is_empty() || ctx.sensed.is_felt() {
            return;
        }
        course.lines.hide(missing, ctx.now, ctx.sensed);
        for square in missing {
            self.piece_not_read(ctx, course, square);
        }
    }

    /// Gives notice, once, that the piece on `square` is not read.
    fn piece_not_read(&mut self, ctx: &mut Ctx<'_>, course: &Course, square: Square) {
        let code = course.lines.best().placement().at(square);
        self.name(ctx, course, square, code);
    }

    fn name(&mut self, ctx: &mut Ctx<'_>, course: &Course, square: Square, code: Code) {
        let Some(piece) = code.piece() else { return };
        if self.noticed.contains(square) || self.is_named(code) {
            return;
        }
        self.noticed.add(square);
        let read = ctx.sensed.placement().squares_of(code).count();
        self.pieces.push((code, read));
        let message = format!(
            "{} on {square} is not read: its chip may be dead. Its half-moves are told where something proves \
             them; until then the likeliest is told, completed by `recovered`.",
            in_words(piece)
        );
        course.notice(ctx, notice::PIECE_NOT_READ, &message);
    }

    /// Squares whose piece is not read and may stand elsewhere, because no reading showed where it went.
    pub(super) fn strayed(&self, course: &Course, sensed: &Sensed) -> Bitboard {
        let stand = course.record.stand().placement();
        let unlanded = course.record.iter().rev().take(HELD).filter(|made| !made.landed);
        let went = unlanded.filter_map(|made| made.kind.legal());
        let squares: Bitboard = went.filter(|mv| !mv.is_castle()).map(Move::to).collect();
        let unread = |s: &Square| sensed.at(*s) != stand.at(*s) && !stand.at(*s).is_empty();
        (squares & !self.squares).into_iter().filter(unread).collect()
    }

    /// Gives notice of the piece of `ply` if it had not been read for a while before the half-move, and is
    /// not read where it went.
    pub(super) fn look_before(&mut self, ctx: &mut Ctx<'_>, course: &Course, ply: &Ply) {
        let from = ply.kind.legal().and_then(Move::from).filter(|_| !ply.landed);
        let Some(from) = from else { return };
        let gone = ctx.sensed.at(from).is_empty() && ctx.sensed.since(from) + GONE_MS <= ply.at;
        if gone && !ctx.sensed.is_felt() {
            let code = course.record.stand().placement().at(from);
            self.name(ctx, course, from, code);
        }
    }

    /// Looks what the last half-moves show of pieces that are not read and of squares that read nothing.
    pub(super) fn look(&mut self, ctx: &mut Ctx<'_>, course: &Course, doubt: &mut Doubt) {
        if ctx.sensed.is_felt() {
            return;
        }
        self.squares &= !ctx.sensed.placement().occupied();
        // In most games all pieces were read where they went.
        let lately = &course.record[course.record.len().saturating_sub(HELD)..];
        let landed = lately.iter().all(|made| made.landed);
        let strayed = if landed {
            Bitboard::EMPTY
        } else {
            self.strayed(course, ctx.sensed)
        };
        doubt.strayed = strayed.any() || !landed && taken_unread(&course.record);
        for square in strayed & course.lines.best().faults().hidden {
            // One piece vanished on this square and came out of it before, so the square hides this piece,
            // too.
            if self.silent.iter().any(|(known, _)| *known == square) {
                self.square_was_silent(ctx, course, square);
            }
        }
        let strayed = strayed & !self.squares;
        if let Some(square) = (strayed & course.lines.best().faults().hidden).first() {
            self.piece_not_read(ctx, course, square);
            doubt.unread = true;
        }
        let read = |(code, then): &(Code, usize)| ctx.sensed.placement().squares_of(*code).count() > *then;
        self.pieces.retain(|piece| !read(piece));
        doubt.unread &= !self.pieces.is_empty();
        let settled = course.base;
        self.looked = self.looked.min(settled);
        while self.looked < settled {
            let index = self.looked;
            self.looked += 1;
            if let Some(square) = came_out_of(&course.record, index) {
                self.square_was_silent(ctx, course, square);
            }
        }
    }

    fn square_was_silent(&mut self, ctx: &mut Ctx<'_>, course: &Course, square: Square) {
        let known = self.silent.iter().position(|(s, _)| *s == square);
        let known = known.unwrap_or_else(|| {
            self.silent.push((square, 0));
            self.silent.len() - 1
        });
        let times = &mut self.silent[known].1;
        *times = times.saturating_add(1);
        if *times >= PROVED && !self.squares.contains(square) {
            self.squares.add(square);
            if !self.noticed.contains(square) {
                self.noticed.add(square);
                let message = format!("Nothing is read on {square}, whatever stands there.");
                course.notice(ctx, notice::SQUARE_NOT_READ, &message);
            }
        }
    }
}

/// The time of the half-move that last changed `square` in the record.
fn stands_since(course: &Course, square: Square) -> Millis {
    let now = course.record.stand().placement().at(square);
    let before = |ply: usize| course.record.stand_at(ply).placement().at(square);
    let ply = (0..course.record.plies()).rev().find(|ply| before(*ply) != now);
    ply.map_or(course.began, |ply| course.record[ply].at)
}

/// True when a piece was captured on a square where it had stood for long without being read. It may
/// stand elsewhere.
fn taken_unread(record: &GameRecord) -> bool {
    let held = record.plies().saturating_sub(HELD);
    let went_to = |made: &Made| made.kind.from_to().map(|(_, to)| to);
    let taken_late = |i: &usize| {
        let (made, square) = (&record[*i], went_to(&record[*i]));
        let taken = record[i + 1..].iter().find(|later| went_to(later) == square);
        square.is_some() && taken.is_some_and(|taken| taken.at.since(made.at) >= TAKEN_LATE_MS)
    };
    let mut unlanded = (held..record.plies()).filter(|i| !record[*i].landed);
    unlanded.any(|i| taken_late(&i))
}

/// The square from which the piece of half-move `index` of the record came, if the piece was not read
/// there and is read where it went.
fn came_out_of(record: &GameRecord, index: usize) -> Option<Square> {
    let made = &record[index];
    let from = made.kind.legal().and_then(Move::from).filter(|_| made.landed)?;
    let arrived = record[..index].iter().rev().find_map(|made| {
        let mv = made.kind.legal()?;
        (mv.to() == from).then_some(made.landed)
    });
    (arrived == Some(false)).then_some(from)
}

/// The piece as people name it, with its colour.
pub(in crate::watcher) fn in_words(piece: Piece) -> String {
    let role = match piece.role {
        Role::Pawn => "pawn",
        Role::Knight => "knight",
        Role::Bishop => "bishop",
        Role::Rook => "rook",
        Role::Queen => "queen",
        Role::King => "king",
    };
    format!("{}'s {role}", piece.color.fold_wb("White", "Black"))
}
