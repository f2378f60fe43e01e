//! The game of the demo: Réti - Tartakower, Vienna 1910, as it might have gone with an arbiter near by.

use shakmaty::{Color, Square};

use super::{
    games::{PgnError, from_pgn},
    hands::{HandAct, Manner, ScriptError, perform},
};
use crate::{
    capture::{Capture, Header},
    event::GameResult,
    laws::{IrregularityKind, Side},
};

/// The game as it was played.
pub const PGN: &str = "1. e4 c6 2. d4 d5 3. Nc3 dxe4 4. Nxe4 Nf6 5. Qd3 e5 6. dxe5 Qa5+ 7. Bd2 Qxe5 8. O-O-O Nxe4 \
                       9. Qd8+ Kxd8 10. Bg5+ Kc7 11. Bd8# 1-0";

/// What happens besides: the kind, who did it, and the half-move.
pub const IRREGULARITIES: [(IrregularityKind, Side, u32); 4] = [
    (IrregularityKind::PressWithoutMove, Side::Black, 6),
    (IrregularityKind::PiecesDisplaced, Side::Black, 12),
    (IrregularityKind::IllegalMove, Side::White, 13),
    (IrregularityKind::MovedOutOfTurn, Side::White, 16),
];

/// A story that cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoryError {
    /// The game cannot be read.
    #[error(transparent)]
    Pgn(#[from] PgnError),
    /// The hands cannot do it.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// The story as a capture of about three quarters of a minute.
///
/// # Errors
/// None unless the texts above are changed.
pub fn capture(seed: u64) -> Result<Capture, StoryError> {
    let mut header = Header::default();
    // Keys that are valid wherever they come from: see `Header::push`.
    for (key, value) in [("board", "demo"), ("laws", "2023"), ("time-control", "standard")] {
        header
            .push(key, value)
            .map_err(|e| ScriptError::Illegal(e.to_string()))?;
    }
    let manner = Manner {
        seed,
        clock: Some((90 * 60_000, 30_000)),
        turned: false,
    };
    Ok(perform(&manner, &acts()?, header)?)
}

fn acts() -> Result<Vec<HandAct>, StoryError> {
    let moves = from_pgn(PGN)?.concat();
    let mut acts = vec![HandAct::Wait(1200), HandAct::Start(Color::White, 0, 0)];
    for (ply, mv) in (1..).zip(moves) {
        acts.push(HandAct::Wait(450));
        match ply {
            // Black presses before he has moved: two minutes for White.
            6 => acts.extend([
                HandAct::Press,
                HandAct::Wait(2200),
                HandAct::Stop,
                HandAct::Wait(1500),
                HandAct::Start(Color::Black, 120, 0),
            ]),
            // The queen's way to a5 leads over the knight.
            12 => {
                acts.extend([
                    HandAct::Move(mv),
                    HandAct::Wait(120),
                    HandAct::Knock(Square::B8, Some(Square::C7)),
                ]);
                acts.extend([
                    HandAct::Wait(250),
                    HandAct::Press,
                    HandAct::Wait(2200),
                    HandAct::Stop,
                    HandAct::Wait(1200),
                ]);
                acts.extend([
                    HandAct::PutBack,
                    HandAct::Wait(1200),
                    HandAct::Start(Color::White, 0, 0),
                ]);
                continue;
            }
            // White does not see the check: two minutes for Black.
            13 => {
                acts.extend([
                    HandAct::Carry(Square::C1, Square::G5),
                    HandAct::Wait(250),
                    HandAct::Press,
                ]);
                acts.extend([HandAct::Wait(2200), HandAct::Stop, HandAct::Wait(1200)]);
                acts.extend([
                    HandAct::PutBack,
                    HandAct::Wait(1200),
                    HandAct::Start(Color::White, 0, 120),
                ]);
            }
            // White has seen the mate and cannot wait for the reply.
            16 => {
                acts.extend([
                    HandAct::Carry(Square::D3, Square::D8),
                    HandAct::Wait(4500),
                    HandAct::Stop,
                    HandAct::Wait(1000),
                ]);
                acts.extend([
                    HandAct::PutBack,
                    HandAct::Wait(1200),
                    HandAct::Start(Color::Black, 0, 0),
                ]);
            }
            _ => {}
        }
        acts.extend([HandAct::Wait(150), HandAct::Play(mv)]);
    }
    acts.extend([
        HandAct::Wait(900),
        HandAct::Stop,
        HandAct::Wait(800),
        HandAct::Result(GameResult::WhiteWins),
        HandAct::Wait(1500),
    ]);
    Ok(acts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_less_than_a_minute() {
        let story = capture(1).unwrap();
        assert!((30..55).contains(&(story.end().0 / 1000)), "{:?}", story.end());
        assert_eq!(story, Capture::parse(story.to_string().as_bytes()).unwrap());
    }
}
