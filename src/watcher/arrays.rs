//! Arrays: placements from which a game may begin, and the kind of game that begins from each.

use std::sync::Arc;

use shakmaty::{Bitboard, CastlingMode, Color, File, Rank, Square};

use crate::{
    board::{Code, Lines, Placement, Sensed, Stand, orientation::MOST_UNREAD},
    time::Millis,
};

/// The squares between the armies.
pub(super) const MIDDLE: Bitboard = Bitboard(0x0000_ffff_ffff_0000);
/// Kings and queens of both players, exchanged.
const MOST_EXCHANGED: usize = 4;

/// A player who takes half-moves back puts fewer pawns back than this.
const FEW_PAWNS: usize = 3;

/// The kind of array from which a game begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Array {
    /// The initial position of 2.3, perhaps with squares that are not read.
    Standard,
    /// A Chess960 array.
    Chess960,
    /// Pieces stand wrong on these squares.
    Wrong(Bitboard),
}

/// The kind of array that `placement` is.
pub(super) fn kind_of(placement: &Placement) -> Array {
    let differing = placement.differing(&Placement::ARRAY);
    let wrong: Bitboard = differing
        .into_iter()
        .filter(|s| !placement.at(*s).is_empty())
        .collect();
    if wrong.is_empty() && differing.count() <= 4 {
        Array::Standard
    } else if missing(placement) <= MOST_UNREAD && is_chess960(&mirrored(placement)) {
        Array::Chess960
    } else {
        Array::Wrong(differing)
    }
}

/// `seen`, with the pieces of the initial position wherever the board feels a piece.
pub(super) fn array_named(seen: &Placement) -> Placement {
    seen.named_by(&Placement::ARRAY)
}

/// Number of pieces that are missing from a full array.
fn missing(placement: &Placement) -> usize {
    32usize.saturating_sub(placement.occupied().count())
}

/// `placement`, with pieces added that are missing on a player's first two ranks and stand on the same file
/// of the opponent's.
fn mirrored(placement: &Placement) -> Placement {
    let mut full = placement.clone();
    for file in 0..8 {
        for (near, far) in [(0, 7), (7, 0), (1, 6), (6, 1)] {
            let square = Square::new(near * 8 + file);
            let other = placement.at(Square::new(far * 8 + file));
            if let Some(piece) = other.piece().filter(|_| placement.at(square).is_empty()) {
                full.set(square, Code::from(piece.role.of(!piece.color)));
            }
        }
    }
    full
}

/// True for an array of Chess960: all pieces stand on the players' first two ranks, both first ranks are the
/// same, the king is between the rooks, and the bishops stand on both colours (II.3 of the Guidelines on
/// Chess960).
fn is_chess960(placement: &Placement) -> bool {
    let rank = |r: u32| -> Vec<u8> { (0..8).map(|f| placement.at(Square::new(r * 8 + f)).0).collect() };
    let (white, black) = (rank(0), rank(7));
    if placement.occupied().count() != 32
        || rank(1) != vec![1; 8]
        || rank(6) != vec![7; 8]
        || white.iter().zip(&black).any(|(w, b)| w + 6 != *b)
    {
        return false;
    }
    let all = |code: u8| {
        white
            .iter()
            .enumerate()
            .filter(move |(_, c)| **c == code)
            .map(|(i, _)| i)
    };
    let (rooks, bishops): (Vec<_>, Vec<_>) = (all(2).collect(), all(4).collect());
    let (king, knights, queens) = (all(5).next(), all(3).count(), all(6).count());
    matches!((&rooks[..], king), ([a, b], Some(k)) if *a < k && k < *b)
        && matches!(&bishops[..], [a, b] if (a + b) % 2 == 1)
        && knights == 2
        && queens == 1
}

/// True where kings and queens of both players stand on each other's squares, and all else stands right.
pub(super) fn has_kings_and_queens_exchanged(placement: &Placement) -> bool {
    let exchanged = |color: Color, file| {
        Code::from(if file == File::D {
            color.king()
        } else {
            color.queen()
        })
    };
    let stands = |color: Color| {
        let rank = color.fold_wb(Rank::First, Rank::Eighth);
        let mut files = [File::D, File::E].into_iter();
        files.all(|file| placement.at(Square::from_coords(file, rank)) == exchanged(color, file))
    };
    placement.differing(&Placement::ARRAY).count() == 4 && Color::ALL.into_iter().all(stands)
}

/// The rule of castling in a game in progress at `placement`. It is that of Chess960 if kings and rooks of
/// both players stand as in one of its arrays, and not as in a standard game: a king on the e-file with a rook in a corner more
/// likely belongs to a standard game in which the other rooks have moved.
pub(super) fn castling_of(placement: &Placement) -> CastlingMode {
    match home_files(placement, Color::White) {
        Some([File::A, File::E, _] | [_, File::E, File::H]) => CastlingMode::Standard,
        _ if may_be_chess960(placement) => CastlingMode::Chess960,
        _ => CastlingMode::Standard,
    }
}

/// True when kings and rooks of both players stand as in one of the arrays of Chess960. Rooks in both corners more likely belong
/// to a standard game in which the kings have moved.
fn may_be_chess960(placement: &Placement) -> bool {
    let white = home_files(placement, Color::White);
    !matches!(white, None | Some([File::A, _, File::H])) && white == home_files(placement, Color::Black)
}

/// True when `color` may castle by the rule of Chess960 alone, whatever the other player has done by now: king and rooks stand as in
/// one of its arrays, and not as in a standard game.
pub(super) fn may_castle_as_in_chess960(placement: &Placement, color: Color) -> bool {
    !matches!(
        home_files(placement, color),
        None | Some([File::A, _, File::H] | [File::A, File::E, _] | [_, File::E, File::H])
    )
}

/// The files of the first rook, the king and the second rook of `color`, if these stand on its first rank in this order.
fn home_files(placement: &Placement, color: Color) -> Option<[File; 3]> {
    let rank = Bitboard::from_rank(color.fold_wb(Rank::First, Rank::Eighth));
    let of = |piece| placement.squares_of(Code::from(piece)) & rank;
    let king = of(color.king()).single_square()?.file();
    let rooks = of(color.rook());
    let (first, last) = (rooks.first()?.file(), rooks.last()?.file());
    (rooks.count() == 2 && first < king && king < last).then_some([first, king, last])
}

/// The position that a game from `placement` starts from.
pub(super) fn stand_of(placement: &Placement) -> Stand {
    match kind_of(placement) {
        Array::Standard => Stand::initial(),
        Array::Chess960 => Stand::of_placement(&mirrored(placement), Color::White, CastlingMode::Chess960),
        Array::Wrong(_) => Stand::of_placement(placement, Color::White, CastlingMode::Standard),
    }
}

/// True when 32 pieces stand as at the beginning of a game: all pawns on their squares, and no piece in the
/// middle.
pub(super) fn is_full_array(placement: &Placement) -> bool {
    let pawns = |color: Color| placement.squares_of(Code::from(color.pawn()));
    let home = |rank| Bitboard::from_rank(rank);
    placement.occupied().count() == 32
        && pawns(Color::White) == home(Rank::Second)
        && pawns(Color::Black) == home(Rank::Seventh)
        && (placement.occupied() & !(home(Rank::First) | home(Rank::Eighth))).count() == 16
}

/// True when this is a right initial position, of standard chess or of Chess960, of which the board need not read all pieces.
pub(super) fn is_array_as_read(placement: &Placement) -> bool {
    missing(placement) <= MOST_UNREAD && !matches!(kind_of(placement), Array::Wrong(_))
}

/// True where all pieces stand as for a game, or a few of them on each other's squares. Where more do, pieces may have moved.
pub(super) fn is_nearly_right(placement: &Placement) -> bool {
    let few = match kind_of(placement) {
        Array::Standard | Array::Chess960 => true,
        Array::Wrong(squares) => squares.count() <= MOST_EXCHANGED,
    };
    few && is_full_array(placement)
}

/// True when all stands as in the initial position but for one pawn, which stands before its square.
pub(super) fn has_pawn_astray(placement: &Placement) -> bool {
    let differing = placement.differing(&Placement::ARRAY);
    let mut squares = differing.into_iter();
    let (Some(one), Some(other), None) = (squares.next(), squares.next(), squares.next()) else {
        return false;
    };
    let is_pawn = |home: Square, astray: Square| {
        let pawn = Placement::ARRAY.at(home);
        let pawns = [Color::White, Color::Black].map(|color| Code::from(color.pawn()));
        pawns.contains(&pawn) && placement.at(astray) == pawn && placement.at(home).is_empty()
    };
    one.file() == other.file() && one.distance(other) <= 2 && (is_pawn(one, other) || is_pawn(other, one))
}

/// True where pawns stand in `seen` on their first squares that had left them in `before`: pawns never go back, so hands have put them there.
pub(super) fn have_come_home(before: &Placement, seen: &Placement) -> bool {
    let at_home = |placement: &Placement, color: Color| {
        let home = Bitboard::from_rank(color.fold_wb(Rank::Second, Rank::Seventh));
        placement.squares_of(Code::from(color.pawn())) & home
    };
    let came = Color::ALL.map(|color| at_home(seen, color) & !at_home(before, color));
    came.into_iter().map(Bitboard::count).sum::<usize>() >= FEW_PAWNS
}

/// The initial position with one pawn of `color` before its square, where it has stood since before `began`, whatever else moved
/// since.
pub(super) fn array_with_pawn_astray(sensed: &Sensed, color: Color, began: Millis) -> Option<Placement> {
    let pawn = Code::from(color.pawn());
    let home = Bitboard::from_rank(color.fold_wb(Rank::Second, Rank::Seventh));
    let stood = |square: &Square| sensed.since(*square) < began;
    let (lacking, standing) = (
        home & !sensed.placement().occupied(),
        sensed.placement().squares_of(pawn) & !home,
    );
    let mut astray = lacking.into_iter().filter(stood).flat_map(|from| {
        let before = standing.into_iter().filter(stood);
        before
            .filter(move |to| to.file() == from.file())
            .map(move |to| (from, to))
    });
    let (Some((from, to)), None) = (astray.next(), astray.next()) else {
        return None;
    };
    let mut array = Placement::ARRAY;
    array.set(from, Code::EMPTY);
    array.set(to, pawn);
    has_pawn_astray(&array).then_some(array)
}

/// True when one player has all pieces and the other lacks a single one: it was captured for nothing, or the board does not
/// read it.
pub(super) fn lacks_one(placement: &Placement) -> bool {
    let board = placement.board();
    let counts = Color::ALL.map(|color| board.by_color(color).count());
    matches!(counts, [15, 16] | [16, 15])
}

/// So many pieces stand on the board at least where only a few are not read.
const FEW_LACK: usize = 28;

/// True when pieces lack although no pawn has moved: a few half-moves of knights captured them, or the board does not read them.
pub(super) fn lacks_unplayed(placement: &Placement) -> bool {
    let occupied = placement.occupied();
    (occupied & MIDDLE).is_empty() && (FEW_LACK..32).contains(&occupied.count())
}

/// True when `placement` could be a position of a game: each player has one king.
pub(super) fn is_playable(placement: &Placement) -> bool {
    let kings = |color: Color| placement.squares_of(Code::from(color.king())).count();
    kings(Color::White) == 1 && kings(Color::Black) == 1
}

/// A key by which arrays compare; the greater one is the better. A right array is better than a wrong one,
/// and more pieces are better than fewer. More than 32 pieces are a misreading.
pub(in crate::watcher) fn rank(placement: &Placement) -> (bool, usize) {
    let pieces = placement.occupied().count();
    let proper = !matches!(kind_of(placement), Array::Wrong(_));
    if pieces > 32 { (false, 0) } else { (proper, pieces) }
}

/// True when a few half-moves from the standard array explain all readings.
pub(super) fn is_after_first_moves(sensed: &Sensed, now: Millis) -> bool {
    let lines = Lines::new(Arc::new(Stand::initial()), sensed, now);
    let best = lines.best();
    !best.plies.is_empty() && best.differing().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    use shakmaty::fen::Fen;

    fn array(placement: &str) -> Placement {
        let fen: Fen = placement.parse().unwrap();
        Placement::from(&fen.as_setup().board)
    }

    #[test]
    fn the_initial_array_is_standard_even_with_a_square_unread() {
        assert_eq!(
            kind_of(&array("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR")),
            Array::Standard
        );
        assert_eq!(
            kind_of(&array("rnbqkbnr/pppp1ppp/8/8/8/8/PPPPPPPP/RNBQKB1R")),
            Array::Standard
        );
    }

    #[test]
    fn king_and_queen_exchanged_is_wrong_on_their_squares() {
        let found = kind_of(&array("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBKQBNR"));
        assert_eq!(
            found,
            Array::Wrong(Bitboard::from_square(Square::D1).with(Square::E1))
        );
    }

    #[test]
    fn chess960_needs_the_king_between_rooks_and_bishops_on_two_colours() {
        let kind = |rank: &str| {
            let black = rank.to_lowercase();
            kind_of(&array(&format!("{black}/pppppppp/8/8/8/8/PPPPPPPP/{rank}")))
        };
        assert_eq!(kind("BBQNRKRN"), Array::Chess960);
        assert_eq!(kind("NRKBBQRN"), Array::Chess960);
        assert!(
            matches!(kind("KRBBQNRN"), Array::Wrong(_)),
            "the king in the corner"
        );
        assert!(
            matches!(kind("BNBQRKRN"), Array::Wrong(_)),
            "bishops on one colour"
        );
    }

    #[test]
    fn a_game_of_chess960_is_known_by_its_kings_and_rooks() {
        let of = |placement: &str| castling_of(&array(placement));
        assert_eq!(of("1rk2r2/pp3ppp/8/8/8/8/PP3PPP/1RK2R2"), CastlingMode::Chess960);
        assert_eq!(of("r3k2r/pp3ppp/8/8/8/8/PP3PPP/R3K2R"), CastlingMode::Standard);
        assert_eq!(of("r4rk1/pp3ppp/8/8/8/8/PP3PPP/R4RK1"), CastlingMode::Standard);
        assert_eq!(of("r2k3r/pp3ppp/8/8/8/8/PP3PPP/R3K2R"), CastlingMode::Standard);
        let may_be = |placement: &str| may_be_chess960(&array(placement));
        assert!(
            may_be("r3kr2/pp3ppp/8/8/8/8/PP3PPP/R3KR2"),
            "though standard is likelier"
        );
        assert!(!may_be("r3k2r/pp3ppp/8/8/8/8/PP3PPP/R3K2R"));
        assert!(!may_be("r3kr2/pp3ppp/8/8/8/8/PP3PPP/R4RK1"));
        assert_eq!(of("1r2k2r/pp3ppp/8/8/8/8/PP3PPP/1R2K2R"), CastlingMode::Standard);
        assert_eq!(of("r3kr2/pp3ppp/8/8/8/8/PP3PPP/R3KR2"), CastlingMode::Standard);
        assert_eq!(of("1r2kr2/pp3ppp/8/8/8/8/PP3PPP/1R2KR2"), CastlingMode::Chess960);
    }

    #[test]
    fn a_placement_with_a_piece_in_the_middle_is_no_array_of_chess960() {
        let moved = array("rnbqkbnr/pppppppp/8/8/6P1/8/PPPPPP1P/RNBQKBNR");
        assert!(matches!(kind_of(&moved), Array::Wrong(_)) && after_first_moves(&moved));
        let spare = array("rnbqkbnr/pppppppp/3K4/8/8/8/PPPPPPPP/RNBQKBNR");
        assert!(matches!(kind_of(&spare), Array::Wrong(_)) && !after_first_moves(&spare));
        assert!(!after_first_moves(&Placement::ARRAY));
    }

    #[test]
    fn only_half_moves_that_can_be_followed_count_as_after_the_first_moves() {
        let answered = array("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR");
        assert!(after_first_moves(&answered));
        let taken = array("rnbqkbnr/ppp1pppp/8/3P4/8/8/PPPP1PPP/RNBQKBNR");
        assert!(
            !after_first_moves(&taken),
            "the board never read the pawn on e4 that was taken"
        );
    }

    fn after_first_moves(placement: &Placement) -> bool {
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), placement);
        is_after_first_moves(&sensed, Millis(1000))
    }

    #[test]
    fn pieces_that_lack_before_a_pawn_has_moved_may_be_there() {
        let of = |placement: &str| lacks_unplayed(&array(placement));
        assert!(
            of("qnrbknbr/1ppppppp/8/8/8/8/1PPPPPPP/QNRBKNBR"),
            "two pawns lack"
        );
        assert!(!of("qnrbknbr/pppppppp/8/8/8/8/PPPPPPPP/QNRBKNBR"), "none lacks");
        assert!(
            !of("qnrbknbr/1ppppppp/8/8/4P3/8/1PPP1PPP/QNRBKNBR"),
            "a pawn has moved"
        );
        assert!(!of("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3"), "fourteen lack");
    }

    #[test]
    fn a_game_needs_one_king_each() {
        assert!(is_playable(&array("4k3/8/8/8/8/8/8/4K3")));
        assert!(!is_playable(&array("4k3/8/8/8/8/8/8/8")));
        assert!(!is_playable(&array("4k3/8/8/8/8/8/8/3KK3")));
    }
}
