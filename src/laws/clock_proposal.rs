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

/// Times and running side to propose for a counted act of `offender`, found at once.
///
/// The offender gets his time at the press without the increment it gave him. The opponent gets
/// his time at the press, so that what ran off since is given back, and the penalty on top. The
/// offender's side is to run, save after a queen was put on for him: then the move counts and the
/// opponent's does.
///
/// None where the ruling ends the game or takes nothing back: there is nothing to propose.
#[must_use]
pub fn propose(history: &ClockHistory, offender: Side, ruling: &Ruling) -> Option<ClockState> {
    let running = match ruling.position {
        PositionRuling::ReinstateBefore | PositionRuling::LastIdentifiable => offender,
        PositionRuling::ReplaceWithQueen => offender.opponent(),
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
