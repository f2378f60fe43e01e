//! How hands castle.

use shakmaty::{CastlingSide, Color, Square};

use super::{Hand, Pause};

/// In which order king and rook go.
enum Order {
    KingFirst,
    RookFirst,
    BothLifted,
}

/// Moves king and rook. In Chess960 one of them may stay where it is.
pub(super) fn castle(hand: &mut Hand<'_>, king: Square, rook: Square, color: Color) {
    let side = CastlingSide::from_king_side(king < rook);
    let (king_to, rook_to) = (side.king_to(color), side.rook_to(color));
    if king == king_to {
        hand.transfer(rook, rook_to);
    } else if rook == rook_to {
        hand.transfer(king, king_to);
    } else {
        both(hand, (king, king_to), (rook, rook_to));
    }
    hand.pause(Pause::Castled);
}

fn both(hand: &mut Hand<'_>, (king, king_to): (Square, Square), (rook, rook_to): (Square, Square)) {
    match order(hand, king_to == rook, rook_to == king) {
        Order::KingFirst => {
            hand.transfer(king, king_to);
            hand.pause(Pause::Castler);
            hand.transfer(rook, rook_to);
        }
        Order::RookFirst => {
            hand.transfer(rook, rook_to);
            hand.pause(Pause::Castler);
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

/// In which order king and rook go. The first to go must not land on the other.
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
