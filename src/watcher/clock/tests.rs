use super::*;
use crate::dgt::Lever;

#[test]
fn whoever_starts_a_stopped_clock_again_is_heard() {
    let mut clock = Clock::new(ClockSideSetting::Auto);
    let mut hear = |at, running| {
        clock.heard(
            Millis(at),
            ClockReading::of_seconds(5397, 5400, running, Lever::LeftHigh),
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
        );
        let increment = first.map_or(0, |period: &Period| period.increment);
        assert_eq!(clock.is_under_way(increment), used, "{left} {right}");
        assert_eq!(clock.is_fresh(first), fresh, "{left} {right}");
        clock.heard(
            Millis(500),
            ClockReading::of_seconds(left, right, true, Lever::LeftHigh),
        );
        assert!(clock.is_under_way(increment) && !clock.is_fresh(first), "it runs");
    }
}

#[test]
fn the_times_tell_how_many_presses_a_gap_had_at_most() {
    // Before it the left time ran at 50 s, and 60 s stood on the right.
    for (left, right, lever, most) in [
        (49, 60, Lever::LeftHigh, Some(0)),
        (48, 60, Lever::LeftHigh, Some(2)),
        (44, 60, Lever::LeftHigh, None),
        (49, 59, Lever::LeftHigh, None),
        (49, 62, Lever::LeftHigh, None),
        (52, 59, Lever::RightHigh, Some(1)),
        (48, 57, Lever::RightHigh, Some(3)),
        (48, 54, Lever::RightHigh, None),
    ] {
        let frame = |left, right, lever| ClockReading::of_seconds(left, right, true, lever);
        let mut clock = Clock::new(ClockSideSetting::Auto);
        clock.heard(Millis(0), frame(50, 60, Lever::LeftHigh));
        clock.gap();
        assert_eq!(clock.most_missed_presses(), None, "the clock is silent");
        clock.heard(Millis(9000), frame(left, right, lever));
        assert_eq!(clock.most_missed_presses(), most, "{left} {right}");
        clock.heard(Millis(9500), frame(left, right, lever));
        assert_eq!(clock.most_missed_presses(), most, "it holds until the next gap");
    }
}

#[test]
fn a_game_has_just_begun_where_nobody_has_pressed() {
    for (left, right, increment, begun) in [
        (180, 180, 0, true),
        (179, 180, 0, true),
        (178, 180, 0, false),
        (179, 181, 0, false),
        (181, 182, 2, true),
        (180, 179, 0, false),
    ] {
        let mut clock = Clock::new(ClockSideSetting::Auto);
        let reading = ClockReading::of_seconds(left, right, true, Lever::LeftHigh);
        clock.heard(Millis(0), reading);
        assert_eq!(clock.has_just_begun(increment), begun, "{left} {right}");
    }
}

/// The press that is found after a gap, before which the left time ran and 60 s stood on the right.
fn missed(lever: Lever, right: u32, white: Option<ClockSide>) -> Option<Color> {
    let frame = |left, right, lever| ClockReading::of_seconds(left, right, true, lever);
    let mut clock = Clock::new(ClockSideSetting::Auto);
    white.into_iter().for_each(|side| clock.found(side));
    clock.heard(Millis(0), frame(50, 60, Lever::LeftHigh));
    clock.gap();
    assert_eq!(clock.take_missed_press(), None, "the clock is silent");
    clock.heard(Millis(9000), frame(45, right, lever));
    let missed = clock.take_missed_press();
    assert_eq!(clock.take_missed_press(), None, "told once");
    missed
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
