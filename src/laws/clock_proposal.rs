//! Times that the program proposes to the arbiter after an irregularity (7.1, 7.4). The arbiter sets the clock, and may
//! leave it alone.

use super::{case::Edition, ruling::Ruling};
use crate::{
    event::{ClockFrom, ClockState, ClockWorking},
    terms::{Penalty, PenaltyKind, PositionRuling, Side},
};

/// The clock's readings around an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockHistory {
    /// The reading at the press, with the increment. If nobody pressed, it is the reading at the act.
    pub at_press: ClockState,
    /// How many milliseconds the press gave the offender; 0 without increment, or with a delay that credits nothing.
    pub increment_ms: u64,
    /// The present reading.
    pub present: Option<ClockState>,
}

/// The proposed times and running side, and how the program works them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The times to set.
    pub clock: ClockState,
    /// Other times that the arbiter may set instead.
    pub alternative: Option<ClockState>,
    /// How the program works them out.
    pub working: ClockWorking,
}

/// True where the ruling leaves a game to be played on.
fn goes_on(ruling: &Ruling) -> bool {
    let decided = matches!(ruling.penalty.kind, PenaltyKind::Loss | PenaltyKind::Draw);
    let anew = matches!(
        ruling.position,
        PositionRuling::NewGame | PositionRuling::Stands | PositionRuling::Transfer
    );
    !decided && !anew
}

fn taken_back(ruling: &Ruling) -> bool {
    matches!(
        ruling.position,
        PositionRuling::ReinstateBefore | PositionRuling::LastIdentifiable
    )
}

/// The proposal for an act of `offender` found at once, and for a wrong draw claim.
///
/// The offender gets his time at the press without the increment that the press gave him. The opponent gets his own
/// time at the press, and so loses nothing of what ran off since. He also gets the penalty. The offender's clock is to
/// run. If a queen was put on for him, his move counts, and the opponent's clock is to run. A claim has no press, so
/// its times are those of the claim.
///
/// None where the ruling ends the game or changes no times.
#[must_use]
pub fn at_once(history: &ClockHistory, offender: Side, ruling: &Ruling) -> Option<Proposal> {
    let adds = ruling.penalty.kind == PenaltyKind::Time;
    let running = match ruling.position {
        _ if !goes_on(ruling) => return None,
        PositionRuling::ReplaceWithQueen => offender.opponent(),
        PositionRuling::Continue if !adds => return None,
        _ => offender,
    };
    let mut clock = history.at_press;
    take(&mut clock, offender, history.increment_ms);
    add_penalty(&mut clock, &ruling.penalty);
    clock.running = Some(running);
    let other = offender.opponent();
    let working = ClockWorking {
        from: ClockFrom::Press,
        increment_ms: history.increment_ms,
        returned_ms: lost(history, other),
        move_counter: if taken_back(ruling) { -1 } else { 0 },
    };
    Some(Proposal {
        clock,
        alternative: None,
        working,
    })
}

/// The proposal for an act of `offender` after which `moves` of his moves are taken back. The times are those recorded
/// at the position that is put back, with the present ones as the alternative that the arbiter may choose. Where there
/// is no record they are the present ones. The penalty comes on top.
#[must_use]
pub fn later(
    recorded: Option<ClockState>,
    present: ClockState,
    offender: Side,
    moves: u32,
    ruling: &Ruling,
) -> Option<Proposal> {
    if !goes_on(ruling) || !taken_back(ruling) {
        return None;
    }
    let proposed = |mut clock: ClockState| {
        add_penalty(&mut clock, &ruling.penalty);
        clock.running = Some(offender);
        clock
    };
    let working = ClockWorking {
        from: if recorded.is_some() {
            ClockFrom::Position
        } else {
            ClockFrom::Now
        },
        increment_ms: 0,
        returned_ms: 0,
        move_counter: i32::try_from(moves).map_or(0, |moves| -moves),
    };
    Some(Proposal {
        clock: proposed(recorded.unwrap_or(present)),
        alternative: recorded.map(|_| proposed(present)),
        working,
    })
}

/// The proposal for pieces that `offender` displaced and left so in the other player's time (7.4). The opponent gets
/// back what ran off since the press. The proposal leaves open whose clock is to run. Only in 1997 may the opponent
/// start the culprit's (7.3).
#[must_use]
pub fn give_back(history: &ClockHistory, offender: Side, edition: Edition) -> Proposal {
    let culprit_runs = edition == Edition::Laws1997;
    Proposal {
        clock: ClockState {
            running: culprit_runs.then_some(offender),
            ..history.at_press
        },
        alternative: None,
        working: ClockWorking {
            from: ClockFrom::Press,
            increment_ms: 0,
            returned_ms: lost(history, offender.opponent()),
            move_counter: 0,
        },
    }
}

/// The proposal for an act by which nobody won or lost time: the times stay, and the clock of `runs` is to run.
#[must_use]
pub fn unchanged(clock: ClockState, runs: Side) -> Proposal {
    Proposal {
        clock: ClockState {
            running: Some(runs),
            ..clock
        },
        alternative: None,
        working: ClockWorking {
            from: ClockFrom::Press,
            increment_ms: 0,
            returned_ms: 0,
            move_counter: 0,
        },
    }
}

fn of(clock: &mut ClockState, side: Side) -> &mut u64 {
    match side {
        Side::White => &mut clock.white_ms,
        Side::Black => &mut clock.black_ms,
    }
}

fn take(clock: &mut ClockState, side: Side, ms: u64) {
    let time = of(clock, side);
    *time = time.saturating_sub(ms);
}

fn add_penalty(clock: &mut ClockState, penalty: &Penalty) {
    if let (PenaltyKind::Time, Some(to)) = (penalty.kind, penalty.to) {
        let time = of(clock, to);
        *time = time.saturating_add(u64::from(penalty.seconds) * 1000);
    }
}

/// How many milliseconds have run off for `side` since the press.
fn lost(history: &ClockHistory, side: Side) -> u64 {
    let (mut then, now) = (history.at_press, history.present);
    now.map_or(0, |mut now| {
        of(&mut then, side).saturating_sub(*of(&mut now, side))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn clock(white_s: u64, black_s: u64, running: Option<Side>) -> ClockState {
        ClockState {
            white_ms: white_s * 1000,
            black_ms: black_s * 1000,
            running,
        }
    }

    /// White pressed at 10:00, with 8:20 for Black. Since then seven seconds of Black's time have run off.
    const HISTORY: ClockHistory = ClockHistory {
        at_press: clock(600, 500, Some(Side::Black)),
        increment_ms: 30_000,
        present: Some(clock(600, 493, Some(Side::Black))),
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
        let proposed = at_once(&HISTORY, Side::White, &first).unwrap();
        assert_eq!(proposed.clock, clock(570, 620, Some(Side::White)));
        let working = proposed.working;
        assert_eq!((working.increment_ms, working.returned_ms), (30_000, 7000));
        assert_eq!(working.move_counter, -1);
    }

    #[test]
    fn after_a_queen_is_put_on_the_opponent_moves_and_the_press_counts() {
        let queen = ruling(PenaltyKind::Time, 60, PositionRuling::ReplaceWithQueen);
        let proposed = at_once(&HISTORY, Side::White, &queen).unwrap();
        assert_eq!(proposed.clock, clock(570, 560, Some(Side::Black)));
        assert_eq!(proposed.working.move_counter, 0);
    }

    #[test]
    fn a_wrong_claim_leaves_the_claimant_to_move() {
        let claim = ruling(PenaltyKind::Time, 120, PositionRuling::Continue);
        let history = ClockHistory {
            increment_ms: 0,
            ..HISTORY
        };
        let proposed = at_once(&history, Side::White, &claim).unwrap();
        assert_eq!(proposed.clock, clock(600, 620, Some(Side::White)));
        assert_eq!(proposed.working.move_counter, 0);
    }

    #[test]
    fn a_game_that_is_over_needs_no_times() {
        for kind in [PenaltyKind::Loss, PenaltyKind::Draw] {
            let ended = ruling(kind, 0, PositionRuling::ReinstateBefore);
            assert_eq!(at_once(&HISTORY, Side::White, &ended), None);
            assert_eq!(later(None, HISTORY.at_press, Side::White, 2, &ended), None);
        }
        let stands = ruling(PenaltyKind::None, 0, PositionRuling::Stands);
        assert_eq!(at_once(&HISTORY, Side::White, &stands), None);
    }

    #[test]
    fn found_later_there_are_two_proposals() {
        let first = ruling(PenaltyKind::Time, 120, PositionRuling::ReinstateBefore);
        let (recorded, present) = (clock(700, 710, None), clock(300, 250, None));
        let proposed = later(Some(recorded), present, Side::White, 3, &first).unwrap();
        assert_eq!(proposed.clock, clock(700, 830, Some(Side::White)));
        assert_eq!(proposed.alternative, Some(clock(300, 370, Some(Side::White))));
        assert_eq!(proposed.working.from, ClockFrom::Position);
        assert_eq!(proposed.working.move_counter, -3);
        let unrecorded = later(None, present, Side::White, 3, &first).unwrap();
        assert_eq!(unrecorded.clock, clock(300, 370, Some(Side::White)));
        assert_eq!(
            (unrecorded.alternative, unrecorded.working.from),
            (None, ClockFrom::Now)
        );
    }

    #[test]
    fn seconds_lost_over_displaced_pieces_come_back_and_nobody_s_clock_is_started() {
        let proposed = give_back(&HISTORY, Side::White, Edition::Laws2023);
        assert_eq!(proposed.clock, clock(600, 500, None));
        assert_eq!(proposed.working.returned_ms, 7000);
        let of_1997 = give_back(&HISTORY, Side::White, Edition::Laws1997);
        assert_eq!(of_1997.clock.running, Some(Side::White));
    }
}
