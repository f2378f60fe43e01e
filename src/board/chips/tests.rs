use super::*;

/// The squares of the board in its own order, of `placement`.
fn squares(placement: &Placement) -> Squares {
    std::array::from_fn(|raw| PieceCode(placement.at(Orientation::Normal.square(raw as u8)).0))
}

/// The initial position with other codes on some squares.
fn array_with(codes: &[(Square, u8)]) -> Squares {
    let mut placement = Placement::ARRAY;
    for (square, code) in codes {
        placement.set(*square, Code(*code));
    }
    squares(&placement)
}

fn raw(square: Square) -> u8 {
    (0..64)
        .find(|raw| Orientation::Normal.square(*raw) == square)
        .unwrap()
}

const ROOK: u8 = 2;
const KNIGHT: u8 = 3;

/// A board with a wrong chip; as a rule its knight on b1 says that it is a rook.
struct Table {
    chips: Chips,
    squares: Squares,
    now: u64,
}

impl Table {
    /// A board whose piece on `square` says that it is another one.
    fn with(square: Square, says: u8) -> Self {
        let mut chips = Chips::default();
        let squares = chips.dump(Millis(0), true, None, &array_with(&[(square, says)]));
        Self {
            chips,
            squares,
            now: 1000,
        }
    }

    fn new() -> Self {
        Self::with(Square::B1, ROOK)
    }

    fn read(&mut self, after: u64, square: Square, code: u8) {
        self.now += after;
        let read = PieceCode(code);
        for (at, means) in self
            .chips
            .field(Millis(self.now), false, &self.squares, raw(square), read)
        {
            self.squares[usize::from(at)] = means;
        }
    }

    fn shows(&self, square: Square) -> u8 {
        self.squares[usize::from(raw(square))].0
    }
}

#[test]
fn the_initial_position_shows_which_chips_are_wrong() {
    let wrong =
        |codes: &[(Square, u8)]| wrong_in_array(Millis(0), &array_with(codes)).map(|(_, found)| found.len());
    assert_eq!(wrong(&[]), Some(0));
    assert_eq!(wrong(&[(Square::B1, ROOK)]), Some(1));
    assert_eq!(wrong(&[(Square::H1, ROOK + 6), (Square::H8, ROOK)]), Some(2));
    assert_eq!(
        wrong(&[(Square::D1, 5), (Square::E1, 6)]),
        None,
        "king and queen stand wrong"
    );
    assert_eq!(
        wrong(&[(Square::B1, 4), (Square::C1, 3)]),
        None,
        "so do knight and bishop"
    );
    assert_eq!(wrong(&[(Square::E4, 1)]), None, "a piece too many");
    let three = [(Square::A2, ROOK), (Square::B2, ROOK), (Square::C2, ROOK)];
    assert_eq!(wrong(&three), None, "these are too many");
}

#[test]
fn a_wrong_chip_goes_where_its_piece_goes() {
    let mut table = Table::new();
    assert_eq!(table.shows(Square::B1), KNIGHT);
    table.read(500, Square::B1, 0);
    table.read(300, Square::C3, ROOK);
    assert_eq!(table.shows(Square::C3), KNIGHT);
    // A rook takes its place.
    table.read(500, Square::A1, 0);
    table.read(300, Square::B1, ROOK);
    assert_eq!((table.shows(Square::B1), table.shows(Square::C3)), (ROOK, KNIGHT));
    // Both are lifted, and both are put down on their squares.
    table.read(500, Square::C3, 0);
    table.read(300, Square::B1, 0);
    table.read(300, Square::C3, ROOK);
    table.read(300, Square::B1, ROOK);
    assert_eq!((table.shows(Square::B1), table.shows(Square::C3)), (ROOK, KNIGHT));
}

#[test]
fn a_piece_may_be_read_where_it_goes_before_it_leaves() {
    let mut table = Table::new();
    table.read(500, Square::C3, ROOK);
    table.read(100, Square::B1, 0);
    assert_eq!((table.shows(Square::B1), table.shows(Square::C3)), (0, KNIGHT));
    table.read(500, Square::A3, ROOK);
    table.read(100, Square::A1, 0);
    assert_eq!((table.shows(Square::A3), table.shows(Square::C3)), (ROOK, KNIGHT));
}

#[test]
fn a_captured_piece_is_not_taken_for_one_that_captures_there() {
    let mut table = Table::new();
    table.read(500, Square::B1, 0);
    table.read(300, Square::C3, ROOK);
    // A black pawn captures it, and a rook captures the pawn.
    table.read(500, Square::D4, 7);
    table.read(500, Square::D4, 0);
    table.read(100, Square::C3, 0);
    table.read(100, Square::C3, 7);
    table.read(500, Square::C3, 0);
    table.read(100, Square::A1, 0);
    table.read(300, Square::C3, ROOK);
    assert_eq!(table.shows(Square::C3), ROOK);
    // Both captures are taken back.
    table.read(500, Square::C3, 0);
    table.read(100, Square::A1, ROOK);
    table.read(500, Square::C3, ROOK);
    assert_eq!((table.shows(Square::A1), table.shows(Square::C3)), (ROOK, KNIGHT));
}

#[test]
fn a_pawn_captures_one_that_is_read_like_it() {
    // Black's pawn on e7 is read as a white one.
    let mut table = Table::with(Square::E7, 1);
    for (from, to) in [(Square::D2, Square::D4), (Square::E7, Square::E5)] {
        table.read(500, from, 0);
        table.read(300, to, 1);
    }
    assert_eq!((table.shows(Square::D4), table.shows(Square::E5)), (1, 7));
    table.read(500, Square::E5, 0);
    table.read(300, Square::D4, 0);
    table.read(300, Square::E5, 1);
    assert_eq!(table.shows(Square::E5), 1);
    // It is taken back.
    table.read(500, Square::E5, 0);
    table.read(300, Square::D4, 1);
    table.read(500, Square::E5, 1);
    assert_eq!((table.shows(Square::D4), table.shows(Square::E5)), (1, 7));
}

#[test]
fn what_replaces_a_pawn_is_what_is_read() {
    // White's pawn on a2 is read as a queen.
    let mut table = Table::with(Square::A2, 6);
    let mut from = Square::A2;
    for to in [Square::A4, Square::A5, Square::A6, Square::B7] {
        table.read(500, from, 0);
        table.read(300, to, 6);
        from = to;
    }
    assert_eq!(table.shows(Square::B7), 1);
    table.read(500, Square::B7, 0);
    table.read(300, Square::B8, 6);
    assert_eq!(table.shows(Square::B8), 6);
}

#[test]
fn both_players_may_hold_a_piece_that_is_read_alike() {
    // Black's pawn on g7 is read as a white one.
    let mut table = Table::with(Square::G7, 1);
    table.read(500, Square::H2, 0);
    table.read(200, Square::G7, 0);
    table.read(100, Square::H4, 1);
    table.read(300, Square::G5, 1);
    assert_eq!((table.shows(Square::H4), table.shows(Square::G5)), (1, 7));
}

#[test]
fn a_chip_that_is_read_right_is_not_wrong() {
    let mut table = Table::new();
    table.read(500, Square::B1, KNIGHT);
    assert!(table.chips.keep().is_empty());
    assert_eq!(table.shows(Square::B1), KNIGHT);
}

#[test]
fn after_a_gap_the_piece_is_where_one_more_of_its_kind_is_read() {
    let mut table = Table::new();
    let mut read = array_with(&[(Square::B1, 0), (Square::C3, ROOK)]);
    let means = table.chips.dump(Millis(5000), false, Some(&table.squares), &read);
    assert_eq!(means[usize::from(raw(Square::C3))].0, KNIGHT);
    // A rook went too.
    (
        read[usize::from(raw(Square::A1))],
        read[usize::from(raw(Square::B1))],
    ) = (PieceCode(0), PieceCode(ROOK));
    let means = table.chips.dump(Millis(9000), false, Some(&means), &read);
    let shows = [Square::B1, Square::C3].map(|square| means[usize::from(raw(square))].0);
    assert_eq!(shows, [ROOK, KNIGHT]);
}

#[test]
fn a_piece_that_a_dump_does_not_show_is_in_a_hand() {
    let mut table = Table::new();
    let read = array_with(&[(Square::B1, 0)]);
    table.squares = table.chips.dump(Millis(5000), false, Some(&table.squares), &read);
    table.now = 5000;
    table.read(500, Square::C3, ROOK);
    assert_eq!(table.shows(Square::C3), KNIGHT);
}

#[test]
fn while_a_game_goes_on_no_chip_becomes_wrong() {
    let mut chips = Chips::default();
    let read = array_with(&[(Square::B1, ROOK)]);
    assert_eq!(chips.dump(Millis(0), false, None, &read), read);
    assert!(chips.keep().is_empty());
}
