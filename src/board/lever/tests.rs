use super::*;

fn frame(lever: Lever, left: u32, right: u32, running: bool) -> ClockReading {
    ClockReading::of_seconds(left, right, running, lever)
}

fn signals(frames: &[(u64, ClockReading)]) -> Vec<ClockSignal> {
    let mut watch = LeverWatch::default();
    for (at, reading) in frames {
        watch.tick(Millis(*at));
        watch.heard(Millis(*at), *reading);
    }
    watch.tick(Millis(frames.last().map_or(0, |(at, _)| *at) + DOUBT_MS));
    std::iter::from_fn(|| watch.poll().map(|(_, signal)| signal)).collect()
}

use ClockSignal::{Pressed, Started, Stopped};
use Lever::{LeftHigh, RightHigh};

#[test]
fn a_lever_that_goes_over_while_the_clock_runs_is_a_press() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, false)),
        (500, frame(LeftHigh, 60, 60, true)),
        (3000, frame(RightHigh, 57, 60, true)),
        (9000, frame(RightHigh, 57, 54, false)),
    ];
    assert_eq!(signals(&frames), [Started(LeftHigh), Pressed(RightHigh), Stopped]);
}

#[test]
fn a_lever_that_goes_over_while_the_clock_stands_is_no_press() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, false)),
        (500, frame(RightHigh, 60, 60, false)),
    ];
    assert_eq!(signals(&frames), [ClockSignal::Turned(RightHigh)]);
}

#[test]
fn a_clock_that_is_started_for_the_other_side_is_started_also_where_all_comes_at_once() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, true)),
        (2000, frame(LeftHigh, 60, 60, false)),
        (2000, frame(RightHigh, 60, 60, false)),
        (2000, frame(RightHigh, 60, 60, true)),
    ];
    let turned = ClockSignal::Turned(RightHigh);
    assert_eq!(signals(&frames)[1..], [Stopped, turned, Started(RightHigh)]);
}

#[test]
fn a_clock_that_is_turned_round_while_it_runs_is_not_pressed() {
    let turned = |left, right| {
        let frames = [
            (0, frame(LeftHigh, 60, 80, true)),
            (1000, frame(LeftHigh, 59, 80, true)),
            (2000, frame(RightHigh, left, right, true)),
            (3000, frame(RightHigh, left, right - 1, true)),
        ];
        signals(&frames).split_off(1)
    };
    assert_eq!(
        turned(80, 58),
        [ClockSignal::TurnedRound],
        "the one that ran has run on"
    );
    assert_eq!(turned(59, 79), [Pressed(RightHigh)]);
    assert_eq!(turned(80, 59), [ClockSignal::TurnedRound], "within a second");
    assert_eq!(
        turned(80, 50),
        [Pressed(RightHigh)],
        "it has run on for longer than time has passed"
    );
}

#[test]
fn a_press_where_both_times_are_nearly_the_same_is_one() {
    let frames = [
        (0, frame(LeftHigh, 60, 59, true)),
        (1000, frame(RightHigh, 59, 59, true)),
    ];
    assert_eq!(signals(&frames), [Started(LeftHigh), Pressed(RightHigh)]);
}

#[test]
fn an_old_frame_after_that_is_no_turn() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, false)),
        (500, frame(RightHigh, 60, 60, false)),
        (540, frame(LeftHigh, 60, 60, false)),
        (600, frame(RightHigh, 60, 60, false)),
        (3000, frame(LeftHigh, 60, 60, false)),
    ];
    let turned = [RightHigh, LeftHigh].map(ClockSignal::Turned);
    assert_eq!(signals(&frames), turned);
}

#[test]
fn a_lever_that_springs_back_at_once_gives_both_players_time() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, true)),
        (3000, frame(RightHigh, 59, 60, true)),
        (3250, frame(LeftHigh, 59, 62, true)),
        (3500, frame(RightHigh, 61, 61, true)),
        (4300, frame(RightHigh, 61, 60, true)),
    ];
    let pressed = [RightHigh, LeftHigh, RightHigh].map(Pressed);
    assert_eq!(signals(&frames), [&[Started(LeftHigh)], &pressed[..]].concat());
}

#[test]
fn a_frame_from_before_the_press_is_no_press() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, true)),
        (3000, frame(RightHigh, 57, 60, true)),
        (3260, frame(LeftHigh, 57, 60, true)),
        (4000, frame(RightHigh, 57, 59, true)),
    ];
    assert_eq!(signals(&frames), [Started(LeftHigh), Pressed(RightHigh)]);
}

#[test]
fn two_frames_from_before_the_press_are_no_presses() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, true)),
        (3000, frame(RightHigh, 57, 60, true)),
        (3010, frame(LeftHigh, 57, 60, true)),
        (3040, frame(LeftHigh, 57, 60, true)),
        (3500, frame(RightHigh, 57, 59, true)),
    ];
    assert_eq!(signals(&frames), [Started(LeftHigh), Pressed(RightHigh)]);
}

#[test]
fn quick_presses_that_give_no_time_are_presses() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, true)),
        (1100, frame(RightHigh, 60, 60, true)),
        (1350, frame(LeftHigh, 60, 60, true)),
        (1580, frame(RightHigh, 60, 60, true)),
        (2020, frame(LeftHigh, 60, 59, true)),
    ];
    let expected = [RightHigh, LeftHigh, RightHigh, LeftHigh].map(Pressed);
    assert_eq!(signals(&frames)[1..], expected);
}

#[test]
fn a_time_that_ran_after_a_press_proves_the_next_one() {
    // The press added one second, and the frame of the tick before it was still on its way.
    let frames = [
        (0, frame(LeftHigh, 61, 62, true)),
        (1480, frame(RightHigh, 61, 62, true)),
        (1545, frame(LeftHigh, 60, 62, true)),
        (1560, frame(RightHigh, 61, 61, true)),
        (1600, frame(LeftHigh, 61, 62, true)),
        (2500, frame(LeftHigh, 60, 62, true)),
    ];
    let expected = [RightHigh, LeftHigh].map(Pressed);
    assert_eq!(signals(&frames)[1..], expected);
}

#[test]
fn a_quick_reply_that_the_next_frame_confirms_is_a_press() {
    let frames = [
        (0, frame(LeftHigh, 60, 60, true)),
        (3000, frame(RightHigh, 57, 60, true)),
        (3700, frame(LeftHigh, 57, 59, true)),
        (4700, frame(LeftHigh, 56, 59, true)),
    ];
    let pressed = signals(&frames);
    assert_eq!(
        pressed,
        [Started(LeftHigh), Pressed(RightHigh), Pressed(LeftHigh)]
    );
}

#[test]
fn a_press_in_which_half_a_minute_was_lost_at_once_waits_for_another_frame() {
    let before = [
        (0, frame(LeftHigh, 60, 60, true)),
        (3000, frame(LeftHigh, 57, 60, true)),
    ];
    let odd = (4000, frame(RightHigh, 57, 31, true));
    let after = |rest: &[(u64, ClockReading)]| signals(&[&before, &[odd][..], rest].concat());
    assert_eq!(after(&[]), [Started(LeftHigh)]);
    assert_eq!(
        after(&[(6000, frame(LeftHigh, 55, 60, true))]),
        [Started(LeftHigh)]
    );
    let pressed = [Started(LeftHigh), Pressed(RightHigh)];
    assert_eq!(
        after(&[(6000, frame(RightHigh, 57, 58, true))]),
        pressed,
        "it was damaged beside a press"
    );
    assert_eq!(
        after(&[(6000, frame(RightHigh, 57, 29, true))]),
        pressed,
        "so it is"
    );
    // So it is where the frame has the clock stopped as well.
    let stopped = (4000, frame(RightHigh, 57, 31, false));
    let rest = (6000, frame(LeftHigh, 55, 60, true));
    let frames = [&before, &[stopped, rest][..]].concat();
    assert_eq!(signals(&frames), [Started(LeftHigh)]);
    // The line was not read for as long.
    let late = [before[0], (33_000, frame(RightHigh, 57, 31, true))];
    assert_eq!(signals(&late), pressed);
}

/// Four presses that give 29 s or so each, with a frame each second, and then `more`, which come a second apart.
fn after_presses_that_give(more: &[ClockReading]) -> Vec<ClockSignal> {
    let mut frames = vec![(0, frame(LeftHigh, 600, 600, true))];
    let (mut left, mut right) = (600, 600);
    for press in 1..=4 {
        let at = press * 1000;
        let lever = if press % 2 == 1 {
            left += 29;
            RightHigh
        } else {
            right += 29;
            LeftHigh
        };
        frames.push((at, frame(lever, left, right, true)));
    }
    frames.extend((5..).map(|s| s * 1000).zip(more.iter().copied()));
    signals(&frames).split_off(5)
}

#[test]
fn a_lever_that_is_misread_while_the_time_runs_on_is_no_press() {
    let misread = |count: u32| {
        let at = |s: u32| {
            let lever = if (2..2 + count).contains(&s) {
                RightHigh
            } else {
                LeftHigh
            };
            frame(lever, 658 - s, 658, true)
        };
        after_presses_that_give(&(1..=count + 4).map(at).collect::<Vec<_>>())
    };
    for count in [1, 2, 10] {
        assert_eq!(misread(count), [], "{count} frames");
    }
}

#[test]
fn a_press_that_gives_nothing_is_one_once_the_other_time_runs() {
    let frames = [
        frame(LeftHigh, 657, 658, true),
        frame(RightHigh, 656, 658, true),
        frame(RightHigh, 656, 658, true),
        frame(RightHigh, 656, 657, true),
    ];
    assert_eq!(after_presses_that_give(&frames), [Pressed(RightHigh)]);
    assert_eq!(
        after_presses_that_give(&frames[..2]),
        [Pressed(RightHigh)],
        "nothing refutes it"
    );
}

/// A clock with a delay gives back what was used, which is nothing in a quick press.
#[test]
fn two_quick_presses_that_give_nothing_are_presses_where_others_gave_time() {
    let frames = [
        frame(LeftHigh, 657, 658, true),
        frame(RightHigh, 657, 658, true),
        frame(LeftHigh, 657, 658, true),
    ];
    assert_eq!(
        after_presses_that_give(&frames),
        [Pressed(RightHigh), Pressed(LeftHigh)]
    );
}

/// Nothing gives time. The frame of a second has the lever wrong, and the next one shows that the time runs on.
fn misread(next: ClockReading, after: u64) -> Vec<ClockSignal> {
    let mut watch = LeverWatch::default();
    let at = Millis(2000);
    watch.heard(Millis(0), frame(LeftHigh, 600, 600, true));
    watch.heard(Millis(1000), frame(LeftHigh, 599, 600, true));
    watch.heard(at, frame(RightHigh, 598, 600, true));
    assert!(watch.may_be_misread(at + 500, at) && !watch.may_be_misread(at + 500, Millis(1000)));
    watch.heard(at + after, next);
    assert!(!watch.may_be_misread(at + 2000, at));
    std::iter::from_fn(|| watch.poll().map(|(_, signal)| signal))
        .skip(1)
        .collect()
}

#[test]
fn a_lever_that_goes_over_for_one_frame_while_the_time_runs_on_was_misread() {
    let runs_on = frame(LeftHigh, 597, 600, true);
    let was_misread = [Pressed(RightHigh), ClockSignal::Misread(RightHigh)];
    assert_eq!(misread(runs_on, 1000), was_misread);
    // Too soon for a frame of the next second, or too late for the lever to have been misread.
    for after in [300, 1600] {
        assert_ne!(misread(runs_on, after)[1..], was_misread[1..], "{after}");
    }
}

#[test]
fn a_lever_that_the_opponent_presses_back_was_not_misread() {
    let pressed = [Pressed(RightHigh), Pressed(LeftHigh)];
    for (left, right) in [(598, 600), (598, 599), (597, 599)] {
        assert_ne!(
            misread(frame(LeftHigh, left, right, true), 1000)[1..],
            [ClockSignal::Misread(RightHigh)],
            "{left} {right}"
        );
    }
    assert_eq!(misread(frame(LeftHigh, 598, 599, true), 1000), pressed);
}
