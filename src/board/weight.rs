//! Weights of the observation model, in nats: what it costs an explanation that something is
//! otherwise than it says. See `docs/recognition.md` for where each comes from.

use shakmaty::{Bitboard, Square};

use super::placement::Placement;

/// A half-move.
pub const PLY: f32 = 1.0;
/// A piece is not seen where the line has one: in a hand, or not read.
pub const MISSING: f32 = 1.0;
/// A piece is seen where the line has none.
pub const EXTRA: f32 = 2.0;
/// Another piece is seen than the line has.
pub const WRONG: f32 = 2.5;
/// A code that is no piece is seen where the line has one.
pub const GARBLED: f32 = 1.2;
/// A piece was seen on its way and not seen to leave, and has been seen where it went.
pub const TRAIL: f32 = 0.7;
/// A half-move was not pressed although the clock ran.
pub const UNPRESSED: f32 = 1.5;
/// A press came after the opponent had replied.
pub const LATE_PRESS: f32 = 0.2;
/// The longer it takes, the likelier it is for a later half-move, per second.
pub const LAG: f32 = 1.0;
/// A press for which the line has no half-move.
pub const EMPTY_PRESS: f32 = 5.0;
/// The same for the first seconds: its half-move may be under way.
pub const AWAITED: f32 = 3.0;
/// A half-move of which nothing but the lifting was seen.
pub const BLIND: f32 = 2.5;
/// A half-move of a piece that is not read, of which nothing told but the press.
pub const UNREAD: f32 = 1.0;
/// A piece that was thought not to be read is read.
pub const READ_AFTER_ALL: f32 = 3.0;
/// A piece is not read on a square that has shown pieces before.
pub const READ_BEFORE: f32 = 1.5;
/// A piece was read on a square in passing only, and is not read there now: it went on, or its chip died just then.
pub const READ_IN_PASSING: f32 = 3.0;
/// The same as for a half-move unread, where what it took is gone, or it left for a square that reads nothing.
pub const UNREAD_BUT_TOLD: f32 = 0.7;
/// A piece that is read elsewhere than it belongs, and was taken there by mistake.
pub const DISPLACED: f32 = 4.5;
/// The same, but that it took its time, as in a hand.
pub const CARRIED: f32 = 8.0;
/// A half-move was read so long after its press that it was hardly made before, per second.
pub const LATE: f32 = 4.0;
/// It lies there still a second after the press.
pub const LIES_STILL: f32 = 2.5;
/// A piece of the mover's own that he took from its square by mistake.
pub const FELL_OWN: f32 = 2.5;
/// The same of the opponent's, who may as well have lifted it.
pub const FELL_THEIRS: f32 = 4.0;
/// Each further piece under the same sleeve.
pub const FELL_TOO: f32 = 1.0;
/// The clock is stopped soon after a press, and nothing is known to have happened.
pub const STOPPED: f32 = 3.0;
/// A piece was gone for a while and is back, and nobody is known to have put it back.
pub const CAME_BACK: f32 = 5.0;
/// The opponent presses back because of a piece that fell.
pub const RETURNED: f32 = 3.0;
/// A piece was carried where it may not go.
pub const ILLEGAL: f32 = 4.5;
/// King and rook, or the king alone, went as in castling where that is not allowed: nothing else looks like it.
pub const CASTLED: f32 = 3.0;
/// A piece arrived and was taken before the square was scanned.
pub const TAKEN_AT_ONCE: f32 = 1.0;
/// A piece that was taken had stood unread where it went for longer than a scan, per second.
pub const TAKEN_UNREAD: f32 = 4.0;
/// A piece arrived before the half-move that it answers was begun.
pub const BEFORE: f32 = 2.0;
/// The last half-move has not been pressed although the clock runs.
pub const OWED: f32 = 1.0;
/// A piece left a square on which the line has none.
pub const NEVER_THERE: f32 = 3.0;
/// Share of its weight that a difference keeps once it is old.
pub const GHOST: f32 = 0.6;
/// A piece arrived well before the opponent's half-move that it answers, per second.
pub const EARLY: f32 = 1.5;
/// A piece arrived before the opponent's that it answers, per second.
pub const ORDER: f32 = 0.5;
/// A piece left one square and arrived on another at once, as if knocked.
pub const AT_ONCE: f32 = 0.3;
/// A piece was taken, and the square where it stood was never felt empty.
pub const UNFELT: f32 = 3.5;
/// A pawn became something else than a queen, and nothing was seen of it.
pub const UNDERPROMOTION: f32 = 4.0;
/// Rate at which a lasting difference adds to a line, per second.
pub const LASTING_RATE: f32 = 0.25;
/// For how long it does, in milliseconds.
pub const LASTING_MS: u64 = 8000;
/// The rate on boards that feel only occupation: where nobody presses and no piece is known, a stay
/// on a square is all that tells play from hands.
pub const FELT_RATE: f32 = 1.0;
/// For how long there, in milliseconds: as much in all.
pub const FELT_MS: u64 = 2000;

/// How likely each explanation is among all of them, by what each costs: of the sum of their likelihoods its share.
#[must_use]
pub fn posterior(totals: &[f32]) -> Vec<f64> {
    let least = totals.iter().copied().fold(f32::INFINITY, f32::min);
    let each: Vec<f64> = totals.iter().map(|total| likelihood(total - least)).collect();
    let sum: f64 = each.iter().sum();
    each.into_iter().map(|likely| likely / sum).collect()
}

/// e to the power of `-nats`, nearly: by multiplication alone, so that it is the same on every machine.
#[must_use]
pub fn likelihood(nats: f32) -> f64 {
    const SQUARINGS: i32 = 10;
    let mut power = 1.0 + f64::from(nats.max(0.0)) / f64::from(1 << SQUARINGS);
    for _ in 0..SQUARINGS {
        power *= power;
    }
    1.0 / power
}

/// What it costs that `square` shows what is `seen` there, where the line has pieces on `expected`.
pub(super) fn difference(square: Square, seen: &Placement, expected: Bitboard) -> f32 {
    if !seen.occupied().contains(square) {
        MISSING
    } else if !seen.men().contains(square) {
        GARBLED
    } else if expected.contains(square) {
        WRONG
    } else {
        EXTRA
    }
}

/// What it costs that `squares` show what is `seen` there, where the line has pieces on `expected`.
pub(super) fn differences(squares: Bitboard, seen: &Placement, expected: Bitboard) -> f32 {
    // Most are empty, and counting bits takes longer than to see that.
    let count = |squares: Bitboard| {
        if squares.is_empty() {
            0.0
        } else {
            squares.count() as f32
        }
    };
    let (shown, men) = (squares & seen.occupied(), squares & seen.men());
    MISSING * count(squares & !shown)
        + GARBLED * count(shown & !men)
        + EXTRA * count(men & !expected)
        + WRONG * count(men & expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likelihoods_are_powers_of_e_nearly() {
        for nats in [0.0, 0.5, 1.0, 4.6, 9.0_f32] {
            let (near, exact) = (likelihood(nats), f64::from(-nats).exp());
            assert!((near / exact - 1.0).abs() < 0.05, "{nats}: {near} {exact}");
        }
    }

    #[test]
    fn shares_add_up() {
        let shares = posterior(&[3.0, 3.0, 5.3]);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((shares[0] / shares[2] - 10.0).abs() < 0.5, "{shares:?}");
    }
}
