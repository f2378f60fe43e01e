//! Times to propose after an offence (7.1). The arbiter sets the clock, and may leave it alone.

use super::{
    case::Side,
    ruling::{Penalty, PenaltyKind, PositionRuling, Ruling},
};
use crate::event::ClockState;

/// What the clock has to say about an act found at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockHistory {
    /// White's time at the press, the increment it gave included.
    pub white_at_press_ms: u64,
    /// Black's, the same.
    pub black_at_press_ms: u64,
    /// What the press gave the offender; 0 without increment, or with a delay that credits nothing.
    pub increment_ms: u64,
}

/// Times and running side to propose for a counted act or a wrong draw claim of `offender`, found
/// at once.
///
/// The offender gets his time at the press without the increment it gave him. The opponent gets
/// his time at the press, so that what ran off since is given back, and the penalty on top. The
/// offender's side is to run, save after a queen was put on for him: then the move counts and the
/// opponent's does. For a claim there was no press: the times are those of the claim.
///
/// None where the ruling ends the game or changes no times: there is nothing to propose.
#[must_use]
pub fn propose(history: &ClockHistory, offender: Side, ruling: &Ruling) -> Option<ClockState> {
    let running = match (ruling.position, ruling.penalty.kind) {
        (PositionRuling::ReinstateBefore | PositionRuling::LastIdentifiable, _)
        | (PositionRuling::Continue, PenaltyKind::Time) => offender,
        (PositionRuling::ReplaceWithQueen, _) => offender.opponent(),
        _ => return None,
    };
    if !matches!(
        ruling.penalty.kind,
        PenaltyKind::Time | PenaltyKind::None | PenaltyKind::Arbiter
    ) {
        return None;
    }
    let extra_ms = |side| penalty_ms(&ruling.penalty, side);
    let at_press = |side| match side {
        Side::White => history.white_at_press_ms,
        Side::Black => history.black_at_press_ms,
    };
    let time = |side| {
        let unearned = if side == offender { history.increment_ms } else { 0 };
        at_press(side)
            .saturating_sub(unearned)
            .saturating_add(extra_ms(side))
    };
    Some(ClockState {
        white_ms: time(Side::White),
        black_ms: time(Side::Black),
        running: Some(running),
    })
}

/// Times to propose when `offender` displaced pieces and it cost the other player time (7.4): what
/// ran off since the press is given back. Whose clock is to run is left open; only in 1997 might
/// the opponent start the culprit's.
#[must_use]
pub fn return_seconds(history: &ClockHistory, present: ClockState, offender: Side) -> ClockState {
    match offender {
        Side::White => ClockState {
            black_ms: history.black_at_press_ms,
            running: None,
            ..present
        },
        Side::Black => ClockState {
            white_ms: history.white_at_press_ms,
            running: None,
            ..present
        },
    }
}

/// Times to propose for an act found some moves later: (a) those recorded at the reinstated
/// position where there is a record, (b) the present ones, the penalty on top of either.
#[must_use]
pub fn propose_later(
    recorded: Option<ClockState>,
    present: ClockState,
    offender: Side,
    ruling: &Ruling,
) -> (Option<ClockState>, ClockState) {
    let with_penalty = |clock: ClockState| ClockState {
        white_ms: clock
            .white_ms
            .saturating_add(penalty_ms(&ruling.penalty, Side::White)),
        black_ms: clock
            .black_ms
            .saturating_add(penalty_ms(&ruling.penalty, Side::Black)),
        running: Some(offender),
    };
    (recorded.map(with_penalty), with_penalty(present))
}

fn penalty_ms(penalty: &Penalty, side: Side) -> u64 {
    match penalty {
        Penalty {
            kind: PenaltyKind::Time,
            seconds,
            to: Some(to),
        } if *to == side => u64::from(*seconds) * 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: ClockHistory = ClockHistory {
        white_at_press_ms: 600_000,
        black_at_press_ms: 500_000,
        increment_ms: 30_000,
    };

    fn ruling(kind: PenaltyKind, seconds: u32, position: PositionRuling) -> Ruling {
        let to = (seconds > 0).then_some(Side::Black);
        Ruling {
            penalty: Penalty { kind, seconds, to },
            position,
            articles: Vec::new(),
        }
    }

    #[test]
    fn the_unearned_increment_goes_and_the_penalty_comes() {
        let first = ruling(PenaltyKind::Time, 120, PositionRuling::ReinstateBefore);
        let proposed = ClockState {
            white_ms: 570_000,
            black_ms: 620_000,
            running: Some(Side::White),
        };
        assert_eq!(propose(&HISTORY, Side::White, &first), Some(proposed));
    }

    #[test]
    fn after_a_queen_is_put_on_the_opponent_moves() {
        let queen = ruling(PenaltyKind::Time, 60, PositionRuling::ReplaceWithQueen);
        let proposed = ClockState {
            white_ms: 570_000,
            black_ms: 560_000,
            running: Some(Side::Black),
        };
        assert_eq!(propose(&HISTORY, Side::White, &queen), Some(proposed));
    }

    #[test]
    fn a_wrong_claim_leaves_the_claimant_to_move() {
        let claim = ruling(PenaltyKind::Time, 120, PositionRuling::Continue);
        let history = ClockHistory {
            increment_ms: 0,
            ..HISTORY
        };
        let proposed = ClockState {
            white_ms: 600_000,
            black_ms: 620_000,
            running: Some(Side::White),
        };
        assert_eq!(propose(&history, Side::White, &claim), Some(proposed));
    }

    #[test]
    fn a_game_that_is_over_needs_no_times() {
        for kind in [PenaltyKind::Loss, PenaltyKind::Draw] {
            assert_eq!(
                propose(
                    &HISTORY,
                    Side::White,
                    &ruling(kind, 0, PositionRuling::ReinstateBefore)
                ),
                None
            );
        }
        let stands = ruling(PenaltyKind::None, 0, PositionRuling::Stands);
        assert_eq!(propose(&HISTORY, Side::White, &stands), None);
    }

    #[test]
    fn an_increment_larger_than_the_time_does_not_underflow() {
        let history = ClockHistory {
            white_at_press_ms: 1_000,
            ..HISTORY
        };
        let none = ruling(PenaltyKind::None, 0, PositionRuling::ReinstateBefore);
        assert_eq!(propose(&history, Side::White, &none).map(|c| c.white_ms), Some(0));
    }

    #[test]
    fn found_later_there_are_two_proposals_with_the_penalty_on_either() {
        let first = ruling(PenaltyKind::Time, 120, PositionRuling::ReinstateBefore);
        let present = ClockState {
            white_ms: 300_000,
            black_ms: 200_000,
            running: Some(Side::Black),
        };
        let recorded = ClockState {
            white_ms: 600_000,
            black_ms: 500_000,
            running: None,
        };
        let (a, b) = propose_later(Some(recorded), present, Side::White, &first);
        assert_eq!(a.map(|c| (c.white_ms, c.black_ms)), Some((600_000, 620_000)));
        assert_eq!(
            (b.white_ms, b.black_ms, b.running),
            (300_000, 320_000, Some(Side::White))
        );
        assert_eq!(propose_later(None, present, Side::White, &first).0, None);
    }

    #[test]
    fn seconds_lost_over_displaced_pieces_are_returned_to_the_other_player() {
        let present = ClockState {
            white_ms: 600_000,
            black_ms: 480_000,
            running: Some(Side::Black),
        };
        let proposed = ClockState {
            white_ms: 600_000,
            black_ms: 500_000,
            running: None,
        };
        assert_eq!(return_seconds(&HISTORY, present, Side::White), proposed);
    }
}
