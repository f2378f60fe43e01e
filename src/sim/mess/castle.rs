//! How hands castle.

use shakmaty::{CastlingSide, Color, Square};

use super::hand::Hand;

/// In which order king and rook go.
enum Order {
    KingFirst,
    RookFirst,
    BothLifted,
}

pub(super) fn castle(hand: &mut Hand<'_>, king: Square, rook: Square, color: Color) {
    let side = CastlingSide::from_king_side(king < rook);
    let (king_to, rook_to) = (side.king_to(color), side.rook_to(color));
    // In Chess960 one of them may stay.
    if king == king_to {
        return hand.transfer(rook, rook_to);
    }
    if rook == rook_to {
        return hand.transfer(king, king_to);
    }
    match order(hand, king_to == rook, rook_to == king) {
        Order::KingFirst => {
            hand.transfer(king, king_to);
            hand.pass(7);
            hand.transfer(rook, rook_to);
        }
        Order::RookFirst => {
            hand.transfer(rook, rook_to);
            hand.pass(7);
            hand.transfer(king, king_to);
        }
        Order::BothLifted => {
            let (the_king, the_rook) = (hand.men[usize::from(king)], hand.men[usize::from(rook)]);
            hand.lift(king);
            hand.pass(4);
            hand.lift(rook);
            hand.pass(10);
            hand.place(king_to, the_king);
            hand.pass(2);
            hand.place(rook_to, the_rook);
        }
    }
}

/// Who goes first must not land on the other.
fn order(hand: &mut Hand<'_>, king_on_rook: bool, rook_on_king: bool) -> Order {
    let wanted = if hand.slips.any_castling {
        hand.rng.u8(0..3)
    } else {
        0
    };
    match (king_on_rook, rook_on_king) {
        (true, true) => Order::BothLifted,
        (true, false) if wanted != 1 => Order::BothLifted,
        (true, false) => Order::RookFirst,
        (false, true) if wanted == 1 => Order::BothLifted,
        _ => match wanted {
            0 => Order::KingFirst,
            1 => Order::RookFirst,
            _ => Order::BothLifted,
        },
    }
}
