//! How hands castle.

use shakmaty::{CastlingSide, Color, Square};

use super::motion::Hand;

/// In which order king and rook go.
enum Order {
    KingFirst,
    RookFirst,
    BothLifted,
}

pub(super) fn castle(hand: &mut Hand<'_>, king: Square, rook: Square, color: Color) {
    let side = CastlingSide::from_king_side(king < rook);
    let (king_to, rook_to) = (side.king_to(color), side.rook_to(color));
    let (the_king, the_rook) = (hand.men[usize::from(king)], hand.men[usize::from(rook)]);
    if king == king_to || rook == rook_to {
        // In Chess960 one of them may stay.
        let (from, to, man) = if king == king_to {
            (rook, rook_to, the_rook)
        } else {
            (king, king_to, the_king)
        };
        hand.lift(from);
        hand.pass(10);
        return hand.place(to, man);
    }
    match order(hand, king_to == rook, rook_to == king) {
        Order::KingFirst => {
            hand.lift(king);
            hand.pass(10);
            hand.place(king_to, the_king);
            hand.pass(7);
            hand.lift(rook);
            hand.pass(10);
            hand.place(rook_to, the_rook);
        }
        Order::RookFirst => {
            hand.lift(rook);
            hand.pass(10);
            hand.place(rook_to, the_rook);
            hand.pass(7);
            hand.lift(king);
            hand.pass(10);
            hand.place(king_to, the_king);
        }
        Order::BothLifted => {
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
