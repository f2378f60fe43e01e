use super::*;
use crate::{dgt::Lever, game::periods::Period};

#[test]
fn whoever_starts_a_stopped_clock_again_is_heard() {
    let mut clock = Clock::new(ClockSideSetting::Auto);
    let mut hear = |at, running| {
        clock.heard(
            Millis(at),
            ClockReading::of_seconds(5397, 5400, running, Lever::LeftHigh),
            None,
        );
        clock.tick(Millis(at + 900));
        while clock.poll().is_some() {}
        clock.was_found_running()
    };
    assert!(hear(1000, true));
    for at in [2000, 3000, 4000] {
        hear(at, false);
    }
    assert!(!hear(5000, true));
}

#[test]
fn after_it_was_turned_round_each_time_is_the_same_players_and_nobody_has_pressed() {
    let mut clock = Clock::new(ClockSideSetting::WhiteLeft);
    let mut hear = |at, left, right, lever| {
        clock.heard(
            Millis(at),
            ClockReading::of_seconds(left, right, true, lever),
            None,
        );
        std::iter::from_fn(|| clock.poll()).last().map(|(_, event)| event)
    };
    assert_eq!(hear(1000, 300, 400, Lever::LeftHigh), Some(ClockEvent::Started));
    assert_eq!(
        hear(2000, 303, 400, Lever::RightHigh),
        Some(ClockEvent::Pressed(Color::White))
    );
    assert_eq!(hear(4000, 303, 398, Lever::RightHigh), None);
    // It is turned round. The next frame confirms what the first one shows.
    assert_eq!(hear(5000, 397, 303, Lever::LeftHigh), None);
    assert_eq!(hear(6000, 396, 303, Lever::LeftHigh), None);
    let state = clock.state().unwrap();
    assert_eq!((state.white_ms, state.black_ms), (303_000, 396_000));
    assert_eq!(clock.running(), Some(Color::Black));
    assert_eq!(
        (clock.gained(Color::White), clock.gained(Color::Black)),
        (3000, 0)
    );
}

#[test]
fn times_tell_whether_a_game_goes_on() {
    let classical = Period {
        moves: Some(40),
        minutes: 90,
        increment: 30,
    };
    // Left, right, the first period; whether they tell of a game that goes on, and of one that has not begun.
    for (left, right, first, used, fresh) in [
        (5400, 5400, Some(&classical), false, true),
        (5430, 5430, Some(&classical), false, true),
        (5430, 5400, Some(&classical), false, true),
        (5430, 5430, None, false, false),
        (303, 303, None, false, false),
        (300, 240, None, false, false),
        (300, 240, Some(&classical), false, false),
        (4957, 5400, Some(&classical), true, false),
        (178, 181, None, true, false),
    ] {
        let mut clock = Clock::new(ClockSideSetting::Auto);
        clock.heard(
            Millis(0),
            ClockReading::of_seconds(left, right, false, Lever::LeftHigh),
            None,
        );
        let increment = first.map_or(0, |period: &Period| period.increment);
        assert_eq!(clock.is_under_way(increment), used, "{left} {right}");
        assert_eq!(clock.is_fresh(first), fresh, "{left} {right}");
        clock.heard(
            Millis(500),
            ClockReading::of_seconds(left, right, true, Lever::LeftHigh),
            None,
        );
        assert!(clock.is_under_way(increment) && !clock.is_fresh(first), "it runs");
    }
}

/// The clock after the presses that are made with these increments (seconds), the left side first, and a restart that takes so many
/// seconds by the wall clock, before which the left time ran at 500 s and 600 s stood on the right.
fn after_gap(increments: [u32; 2], gap_s: Option<i64>, left: u32, right: u32, lever: Lever) -> Clock {
    let before = before_gap(increments, gap_s.map(|_| 0));
    let shown = before.shown().map(|shown| LastShown { at: None, ..shown });
    let mut clock = Clock::new(ClockSideSetting::Auto);
    clock.go_on(shown, Millis(0));
    let reading = ClockReading::of_seconds(left, right, true, lever);
    clock.heard(Millis(200), reading, gap_s.map(|gap| gap * 1000));
    clock
}

/// The clock in the gap that begins at 8 s, which is `began` by the wall clock.
fn before_gap(increments: [u32; 2], began: Option<i64>) -> Clock {
    let frame = |left, right, lever| ClockReading::of_seconds(left, right, true, lever);
    let mut clock = Clock::new(ClockSideSetting::Auto);
    let [left_gains, right_gains] = increments;
    clock.heard(
        Millis(0),
        frame(500 - left_gains, 600 - right_gains, Lever::LeftHigh),
        began,
    );
    clock.heard(
        Millis(4000),
        frame(500, 600 - right_gains, Lever::RightHigh),
        began,
    );
    clock.heard(Millis(8000), frame(500, 600, Lever::LeftHigh), began);
    clock.gap();
    assert_eq!(clock.presses_since_gap(), None, "the clock is silent");
    clock
}

#[test]
fn the_times_tell_how_many_presses_a_gap_had() {
    use Lever::{LeftHigh, RightHigh};
    for (gap_s, left, right, lever, presses) in [
        (1, 499, 600, LeftHigh, Some(0)),
        (0, 500, 600, LeftHigh, Some(0)),
        (9, 490, 600, LeftHigh, Some(0)),
        (3, 528, 599, RightHigh, Some(1)),
        (61, 499, 600, LeftHigh, Some(2)),
        (61, 527, 602, RightHigh, Some(3)),
        (3, 529, 629, LeftHigh, Some(2)),
        (3, 559, 628, RightHigh, Some(3)),
        (20, 499, 600, LeftHigh, None),
        (3, 499, 600, RightHigh, None),
        (-3, 503, 600, LeftHigh, None),
        (700, 500, 500, LeftHigh, None),
    ] {
        let clock = after_gap([30, 30], Some(gap_s), left, right, lever);
        assert_eq!(clock.presses_since_gap(), presses, "{gap_s} s, {left} {right}");
    }
    let presses = |increments, gap_s| after_gap(increments, gap_s, 499, 600, LeftHigh).presses_since_gap();
    assert_eq!(presses([30, 30], None), None, "nobody knows how long it was");
    assert_eq!(presses([3, 3], Some(1)), None, "three seconds may be rounding");
    assert_eq!(presses([30, 12], Some(1)), None, "what a press adds is not known");
    assert_eq!(presses([30, 0], Some(1)), None, "a press added nothing");
}

#[test]
fn a_cable_that_was_out_needs_no_wall_clock() {
    let mut clock = before_gap([30, 30], None);
    let reading = ClockReading::of_seconds(528, 599, true, Lever::RightHigh);
    clock.heard(Millis(11_000), reading, None);
    assert_eq!(clock.presses_since_gap(), Some(1));
}

#[test]
fn what_one_player_has_got_the_other_gets_too() {
    let frame = |left, right, lever| ClockReading::of_seconds(left, right, true, lever);
    let mut clock = Clock::new(ClockSideSetting::Auto);
    clock.heard(Millis(0), frame(470, 600, Lever::LeftHigh), None);
    clock.heard(Millis(4000), frame(500, 600, Lever::RightHigh), None);
    clock.gap();
    clock.heard(Millis(65_000), frame(520, 579, Lever::RightHigh), None);
    assert_eq!(clock.presses_since_gap(), Some(2));
}

#[test]
fn nobody_knows_how_long_a_machine_slept() {
    let reading = ClockReading::of_seconds(528, 599, true, Lever::RightHigh);
    for (wall_ms, presses) in [(3000, Some(1)), (63_000, None)] {
        let mut clock = before_gap([30, 30], Some(0));
        clock.heard(Millis(11_000), reading, Some(wall_ms));
        assert_eq!(clock.presses_since_gap(), presses, "{wall_ms} ms");
    }
}

#[test]
fn what_a_gap_had_is_known_over_a_second_gap_and_with_what_is_pressed_since() {
    let frame = |left, right, lever| ClockReading::of_seconds(left, right, true, lever);
    let mut clock = after_gap([30, 30], Some(1), 499, 600, Lever::LeftHigh);
    clock.gap();
    clock.heard(Millis(10_000), frame(528, 600, Lever::RightHigh), Some(2000));
    assert_eq!(
        clock.presses_since_gap(),
        Some(1),
        "nobody has asked for the first gap"
    );
    assert_eq!(clock.take_missed().and_then(|missed| missed.count), Some(1));
    clock.heard(Millis(11_000), frame(528, 628, Lever::LeftHigh), Some(3000));
    assert_eq!(clock.presses_since_gap(), Some(2), "somebody has pressed since");
}

#[test]
fn a_game_has_just_begun_where_nobody_has_pressed() {
    let blitz = Period {
        moves: None,
        minutes: 3,
        increment: 2,
    };
    for (left, right, first, begun) in [
        (180, 180, None, true),
        (179, 180, None, true),
        (178, 180, None, false),
        (179, 181, None, false),
        (180, 179, None, false),
        (181, 182, Some(&blitz), true),
        (179, 180, Some(&blitz), true),
        (119, 120, Some(&blitz), false),
    ] {
        let mut clock = Clock::new(ClockSideSetting::Auto);
        let reading = ClockReading::of_seconds(left, right, true, Lever::LeftHigh);
        clock.heard(Millis(0), reading, None);
        assert_eq!(clock.has_just_begun(first), begun, "{left} {right}");
    }
}

/// The press that is found after a gap, before which the left time ran and 60 s stood on the right.
fn missed(lever: Lever, right: u32, white: Option<ClockSide>) -> Option<Color> {
    let frame = |left, right, lever| ClockReading::of_seconds(left, right, true, lever);
    let mut clock = Clock::new(ClockSideSetting::Auto);
    white.into_iter().for_each(|side| clock.found(side));
    clock.heard(Millis(0), frame(50, 60, Lever::LeftHigh), None);
    clock.gap();
    assert_eq!(clock.take_missed_press(), None, "the clock is silent");
    clock.heard(Millis(9000), frame(45, right, lever), None);
    let missed = clock.take_missed_press();
    assert_eq!(clock.take_missed_press(), None, "told once");
    missed
}

/// The board is read only after somebody has pressed again: that press was heard, and came in no gap.
#[test]
fn a_press_that_is_heard_before_the_board_is_read_is_none_of_the_gap() {
    let frame = |left, right, lever| ClockReading::of_seconds(left, right, true, lever);
    let mut clock = Clock::new(ClockSideSetting::Auto);
    clock.found(ClockSide::Left);
    clock.heard(Millis(0), frame(50, 60, Lever::LeftHigh), None);
    clock.gap();
    clock.heard(Millis(1000), frame(49, 60, Lever::LeftHigh), None);
    clock.heard(Millis(1500), frame(49, 60, Lever::RightHigh), None);
    assert_eq!(clock.take_missed_press(), None);
}

#[test]
fn a_press_in_a_gap_shows_in_lever_and_times() {
    use Lever::{LeftHigh, RightHigh};
    let white = Some(ClockSide::Left);
    assert_eq!(missed(RightHigh, 58, white), Some(Color::White));
    assert_eq!(missed(LeftHigh, 60, white), None, "nobody pressed, or both did");
    assert_eq!(
        missed(RightHigh, 50, white),
        None,
        "there was time for three presses"
    );
    assert_eq!(
        missed(RightHigh, 70, white),
        None,
        "the right side got an increment"
    );
    assert_eq!(missed(RightHigh, 58, None), None, "whose side it is nobody knows");
}
