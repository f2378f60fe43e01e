//! Prices of the observation model, in nats: what a hypothesis pays for what it assumes, and for what
//! contradicts it. `docs/recognition.md` says where each comes from.

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
/// A square still shows a piece on its way that was read further on since.
pub const TRAIL: f32 = 0.7;
/// A half-move was not pressed although the clock ran.
pub const UNPRESSED: f32 = 1.5;
/// A press came after the opponent had replied.
pub const LATE_PRESS: f32 = 0.2;
/// At its press the piece was read on another square than where the half-move puts it, or another piece on its square.
pub const ELSEWHERE: f32 = 2.0;
/// A press is for a half-move that was made in the opponent's time, though the player has lifted another piece in his own time since.
pub const PRESSED_FOR_LAST: f32 = 4.0;
/// The piece was read for a while on another square than where the line has it since, and not there: after its press, or after it had
/// left its square.
pub const STOOD_ELSEWHERE: f32 = 4.0;
/// After its press the piece was taken on to another square, where its half-move leads as well.
pub const WENT_ON: f32 = 3.0;
/// Hands moved pieces about, and put them back: the table was knocked, or somebody showed a variation.
pub const PUT_BACK: f32 = 3.0;
/// Pieces rested elsewhere before the press: so much at the most, however long. A player may think again until he presses.
pub const THOUGHT_AGAIN: f32 = 1.0;
/// A late press, per second: the later it comes, the likelier it is for a later half-move.
pub const LAG: f32 = 1.0;
/// A press for which the line has no half-move.
pub const EMPTY_PRESS: f32 = 5.0;
/// A press for which the line has no half-move, in the first seconds: the half-move may be under way.
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
/// A piece that was read where it stood, and no more from before its press on: rather it was lifted again, and went on.
pub const READ_FOR_A_WHILE: f32 = 2.0;
/// A half-move of a piece that is not read, of which something told: what it took is gone, or it left for a
/// square that reads nothing.
pub const UNREAD_BUT_TOLD: f32 = 0.7;
/// A piece was taken by mistake to another square, and is read there.
pub const DISPLACED: f32 = 4.5;
/// A piece was taken by mistake to where its own way leads, and took as long as in a hand.
pub const CARRIED: f32 = 8.0;
/// Pieces were displaced, nobody puts them back, and play goes on from where they stand.
pub const STAYS_DISPLACED: f32 = 2.0;
/// A displaced piece is taken where it stands.
pub const TAKEN_DISPLACED: f32 = 0.5;
/// A half-move was read late after its press, per second: the later, the less likely it was made before the
/// press.
pub const LATE: f32 = 4.0;
/// A piece still lies on a wrong square a second after the press: a fall costs so much less.
pub const LIES_STILL: f32 = 2.5;
/// The mover took a piece of his own from its square by mistake.
pub const FELL_OWN: f32 = 2.5;
/// The mover took a piece of the opponent's from its square by mistake. The opponent may as well have lifted
/// it.
pub const FELL_THEIRS: f32 = 4.0;
/// Each further piece under the same sleeve.
pub const FELL_TOO: f32 = 1.0;
/// The clock is stopped soon after a press, and nobody knows of a reason. A fall or an illegal act at that
/// press costs so much less.
pub const STOPPED: f32 = 3.0;
/// A piece still lies on a wrong square, and the clock is stopped: the two together. A clock is also stopped at the end of a game.
pub const LIES_AND_STOPPED: f32 = 3.5;
/// A piece was gone for a while and is back, and nobody knows why. A fall costs so much less.
pub const CAME_BACK: f32 = 5.0;
/// It had been gone before, and had come back: a chip that fails now and then does so again. That it is back tells so much less.
pub const BLINKED: f32 = 2.5;
/// What fell is put back on a wrong square first.
pub const PUT_ASTRAY: f32 = 1.0;
/// The opponent presses back because of a piece that fell.
pub const RETURNED: f32 = 3.0;
/// A piece was carried where it may not go.
pub const ILLEGAL: f32 = 4.5;
/// A piece was carried where it may not go, and the opponent's reply is legal after that, and after nothing else.
pub const ANSWERED: f32 = 3.0;
/// King and rook, or the king alone, went as in castling where that is not allowed: nothing else looks like it.
pub const CASTLED: f32 = 2.0;
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
/// Share of its price that a difference keeps once it is old.
pub const GHOST: f32 = 0.6;
/// A piece arrived well before the opponent's half-move that it answers, per second.
pub const EARLY: f32 = 1.5;
/// A piece arrived before the opponent's piece that it answers, per second.
pub const ORDER: f32 = 0.5;
/// A piece left one square and arrived on another at once, as if knocked.
pub const AT_ONCE: f32 = 0.3;
/// A piece was taken, and the square where it stood was never felt empty.
pub const UNFELT: f32 = 3.5;
/// A square stays empty where the line has a piece, and play has gone on since, on a board that feels only occupation.
pub const LEFT_EMPTY: f32 = 9.0;
/// A pawn became another piece than a queen, and the board does not show that piece.
pub const UNDERPROMOTION: f32 = 4.0;
/// Rate at which a lasting difference adds to a line, per second.
pub const LASTING_RATE: f32 = 0.25;
/// For how long a lasting difference adds to a line, in milliseconds.
pub const LASTING_MS: u64 = 8000;
/// The rate on boards that feel only occupation. There nobody presses and no piece is known, so only the stay
/// on a square tells a half-move from a hand.
pub const FELT_RATE: f32 = 1.0;
/// For how long a lasting difference adds to a line on such boards, in milliseconds. It adds as much in all
/// as elsewhere.
pub const FELT_MS: u64 = 2000;

/// The posterior of each hypothesis, by what each costs: its share of the sum of all likelihoods.
#[must_use]
pub fn posterior(totals: &[f32]) -> Vec<f64> {
    let least = least(totals.iter().copied());
    let each: Vec<f64> = totals.iter().map(|total| likelihood(total - least)).collect();
    let sum: f64 = each.iter().sum();
    each.into_iter().map(|likely| likely / sum).collect()
}

/// The least of some prices; infinite where there are none.
pub(super) fn least(prices: impl Iterator<Item = f32>) -> f32 {
    prices.fold(f32::INFINITY, f32::min)
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

/// What it costs that `square` shows what is `seen` there, where the line has a piece if one is `expected`.
pub(super) fn difference(square: Square, seen: &Placement, expected: bool) -> f32 {
    if !seen.occupied().contains(square) {
        MISSING
    } else if !seen.pieces().contains(square) {
        GARBLED
    } else if expected {
        WRONG
    } else {
        EXTRA
    }
}

/// What it costs that `squares` show what is `seen` there, where the line has pieces on `expected`.
pub(super) fn differences(squares: Bitboard, seen: &Placement, expected: Bitboard) -> f32 {
    // Most sets are empty, and it takes longer to count bits than to see that.
    let count = |squares: Bitboard| {
        if squares.is_empty() {
            0.0
        } else {
            squares.count() as f32
        }
    };
    let (shown, pieces) = (squares & seen.occupied(), squares & seen.pieces());
    MISSING * count(squares & !shown)
        + GARBLED * count(shown & !pieces)
        + EXTRA * count(pieces & !expected)
        + WRONG * count(pieces & expected)
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
    fn posteriors_add_up_to_one() {
        let shares = posterior(&[3.0, 3.0, 5.3]);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((shares[0] / shares[2] - 10.0).abs() < 0.5, "{shares:?}");
    }
}
