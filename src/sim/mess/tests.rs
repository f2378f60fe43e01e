//! Compares what boards tell of broken hardware and of fallen pieces with the truth.

use std::collections::BTreeSet;

use super::{Fault, FaultRates, Knowable, SimulatedGame, play};
use crate::{
    capture::Act,
    dgt::{PieceCode, Squares},
    sim::{
        hand::figure::code,
        rehearsal::{kinds, rehearse, verdict::Judgement},
        shown::ShownBoard,
    },
};

const GAMES: u64 = 60;

fn games(fault: Fault) -> impl Iterator<Item = SimulatedGame> {
    let faults = FaultRates::default().with(fault);
    (0..GAMES).map(move |seed| play(&faults, seed))
}

/// What is read in the end, and the squares on which something was read before.
fn read(game: &SimulatedGame) -> (Squares, BTreeSet<usize>) {
    let (mut shown, mut ever) = (ShownBoard::default(), BTreeSet::new());
    for cue in &game.cues {
        if let Act::FromBoard(bytes) = &cue.record.act {
            shown.hear(cue.record.at, bytes);
        }
        ever.extend((0..64).filter(|&raw| shown.squares[raw] != PieceCode::EMPTY));
    }
    (shown.squares, ever)
}

/// What stands on the board after the last half-move, in the board's own order.
fn stands(game: &SimulatedGame) -> Squares {
    let placement = game
        .truth
        .moves
        .last()
        .map_or(&game.truth.start, |made| &made.placement);
    let board = shakmaty::Board::from_ascii_board_fen(placement.as_bytes()).unwrap();
    std::array::from_fn(|raw| {
        let square = shakmaty::Square::from_coords(
            shakmaty::File::new(raw as u32 % 8),
            shakmaty::Rank::new(7 - raw as u32 / 8),
        );
        code(board.piece_at(square))
    })
}

/// The squares on which the last reading of `game` is not what stands there.
fn differing(game: &SimulatedGame) -> Vec<usize> {
    let (squares, stands) = (read(game).0, stands(game));
    (0..64).filter(|&raw| squares[raw] != stands[raw]).collect()
}

#[test]
fn a_piece_without_a_chip_is_never_read() {
    for fault in [Fault::DeadChip, Fault::ChipDies] {
        for game in games(fault) {
            let differing = differing(&game);
            assert!(differing.len() <= 1, "{fault}: {differing:?}");
            let end = read(&game).0;
            assert!(differing.iter().all(|&raw| end[raw] == PieceCode::EMPTY));
            assert!(game.truth.offences.is_empty());
        }
    }
    assert!(games(Fault::DeadChip).all(|game| game.truth.calm));
    assert!(games(Fault::ChipDies).any(|game| differing(&game).len() == 1));
}

#[test]
fn a_piece_with_the_chip_of_another_is_read_as_that_one() {
    for game in games(Fault::WrongChip) {
        let (squares, stands) = (read(&game).0, stands(&game));
        let differing = differing(&game);
        assert!(differing.len() <= 1, "{differing:?}");
        assert!(
            differing
                .iter()
                .all(|&raw| squares[raw] != PieceCode::EMPTY && stands[raw] != PieceCode::EMPTY)
        );
    }
    assert!(games(Fault::WrongChip).any(|game| differing(&game).len() == 1));
}

#[test]
fn spare_queens_are_not_read() {
    let unread: usize = games(Fault::SpareQueen).map(|game| differing(&game).len()).sum();
    assert!(unread > 0);
    for game in games(Fault::SpareQueen) {
        assert_eq!(game.truth.calm, !game.truth.may.is_empty());
        assert!(game.truth.calm || differing(&game).is_empty());
    }
}

#[test]
fn dead_squares_read_nothing_and_all_others_read_right() {
    let mut landed = 0;
    for game in games(Fault::DeadSquares) {
        let (_, ever) = read(&game);
        let differing = differing(&game);
        assert!(differing.len() <= 2, "{differing:?}");
        assert!(differing.iter().all(|raw| !ever.contains(raw)), "{differing:?}");
        let origins = game
            .truth
            .moves
            .iter()
            .filter(|made| made.known == Knowable::Origin);
        landed += origins.count();
    }
    assert!(landed > 0);
}

#[test]
fn fallen_pieces_are_missed_at_the_press_and_put_back() {
    let mut how = BTreeSet::new();
    for game in games(Fault::Fallen) {
        assert_eq!(differing(&game), [] as [usize; 0]);
        how.extend(game.truth.offences.iter().map(|offence| offence.how));
        let laws = game.header.laws().is_some();
        let pressed_back = game
            .truth
            .offences
            .iter()
            .any(|offence| offence.how == "pressed back");
        assert!(laws || !pressed_back);
    }
    assert_eq!(how.len(), 4, "{how:?}");
}

#[test]
fn a_game_with_a_long_gap_has_no_log_and_its_last_readings_are_right() {
    let mut unseen = 0;
    for game in games(Fault::GapLong) {
        assert!(!game.log);
        unseen += game
            .truth
            .moves
            .iter()
            .filter(|made| made.known == Knowable::Nothing)
            .count();
        assert_eq!(differing(&game), [] as [usize; 0]);
    }
    assert!(unseen > 100);
}

/// A player takes back a queen that he has put down, and not one that mates: the game would be over (5.1.1).
#[test]
fn second_thoughts_come_before_mate() {
    let kind = &kinds::chosen("second-thoughts").unwrap()[0];
    let (_, game) = kind.game(6_100_035);
    let faults = Judgement::of(&game.truth, &rehearse(&game).events).faults;
    assert_eq!(faults, [""; 0]);
}
