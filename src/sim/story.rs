//! The game of the demo: Réti - Tartakower, Vienna 1910, as it might have gone with an arbiter near by.

use super::{
    script::{ScriptError, parse},
    tabletop::Manner,
};
use crate::{
    capture::Capture,
    laws::{IrregularityKind, Side},
};

/// The game as it was played.
pub const PGN: &str = "1. e4 c6 2. d4 d5 3. Nc3 dxe4 4. Nxe4 Nf6 5. Qd3 e5 6. dxe5 Qa5+ 7. Bd2 Qxe5 8. O-O-O Nxe4 \
                       9. Qd8+ Kxd8 10. Bg5+ Kc7 11. Bd8# 1-0";

/// The irregularities in the story: the kind, the offender, and the half-move.
pub const IRREGULARITIES: [(IrregularityKind, Side, u32); 4] = [
    (IrregularityKind::PressWithoutMove, Side::Black, 6),
    (IrregularityKind::PiecesDisplaced, Side::Black, 12),
    (IrregularityKind::IllegalMove, Side::White, 13),
    (IrregularityKind::MovedOutOfTurn, Side::White, 16),
];

/// What the hands do at the table, in the notation of the fixtures.
const SCRIPT: &str = "== vienna-1910
    board: demo
    laws: 2023
    time-control: standard
    +100 start:w e2e4 c7c6 d2d4 d7d5 b1c3
    +450 press +2200 stop +1500 start:b+120 d5e4 c3e4 g8f6 d1d3 e7e5 d4e5
    d8a5- +120 -b8,n@c7 +40 press +2200 stop +1200 put-back +1200 start:w
    c1g5!- +250 press +2200 stop +1200 put-back +1200 start:w/120 c1d2 a5e5 e1c1
    d3d8!- +4500 stop +1000 put-back +1200 start:b f6e4 d3d8 e8d8 d2g5 d8c7 g5d8
    +900 stop +800 -e4 -c1 +200 K@e4 +300 -c7 +200 k@d5 +1500";
// Black presses before he has moved, and White gets two minutes. The queen on its way to a5 knocks the knight
// of b8 to c7. White does not see the check, and Black gets two minutes. White has seen the mate and does not
// wait for the reply. The kings tell the result.

/// The story as a capture of about three quarters of a minute.
///
/// # Errors
/// None, as long as nobody changes the texts above.
pub fn capture(seed: u64) -> Result<Capture, ScriptError> {
    let script = parse(SCRIPT).into_iter().next().unwrap_or_default();
    script.play(Manner::human(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_takes_less_than_a_minute() {
        let story = capture(1).unwrap();
        assert!((30..55).contains(&(story.end().0 / 1000)), "{:?}", story.end());
        assert_eq!(story, Capture::parse(story.to_string().as_bytes()).unwrap());
    }
}
