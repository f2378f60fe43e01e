//! The record is put right while an illegal move stands on the board.

use super::*;

/// 2...Bc6 on the wire, which is illegal, and what comes of it.
fn after_an_illegal_move() -> (Watcher, String) {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    play(&mut watcher, 9000, NF3, Lever::RightHigh);
    play(&mut watcher, 12_000, (5, 18, 10), Lever::LeftHigh);
    hear(&mut watcher, 15_000, clock(Lever::LeftHigh));
    let open = watcher.game().open_irregularities;
    let [case] = &open[..] else { panic!("{open:?}") };
    let case = case.clone();
    drained(&mut watcher);
    (watcher, case)
}

/// The first half-moves were made in another order.
fn put_right(watcher: &mut Watcher) {
    let order = correct(1, 3, &["g1f3", "e7e5", "e2e4"]);
    do_it(watcher, 16_000, Command::Correct(order));
    drained(watcher);
}

/// White replies by 3.d3, and Black by 3...d6.
fn play_on(watcher: &mut Watcher) -> Vec<Event> {
    play(watcher, 18_000, (51, 43, 1), Lever::RightHigh);
    play(watcher, 22_000, (11, 19, 7), Lever::LeftHigh);
    hear(watcher, 30_000, clock(Lever::LeftHigh));
    assert_eq!(uci(watcher), ["g1f3", "e7e5", "e2e4", "f8c6", "d2d3", "d7d6"]);
    drained(watcher)
}

fn is_accused(events: &[Event]) -> bool {
    events
        .iter()
        .any(|event| matches!(event.body, Body::Irregularity(_)))
}

#[test]
fn it_is_not_told_again_and_is_not_put_right_by_that() {
    let (mut watcher, case) = after_an_illegal_move();
    put_right(&mut watcher);
    let events = play_on(&mut watcher);
    assert!(!is_accused(&events), "{events:?}");
    assert_eq!(
        watcher.game().open_irregularities,
        [case],
        "nobody has put it right"
    );
}

#[test]
fn what_was_dismissed_before_is_not_told_again() {
    let (mut watcher, case) = after_an_illegal_move();
    do_it(&mut watcher, 15_500, Command::Dismiss { irregularity: case });
    put_right(&mut watcher);
    let events = play_on(&mut watcher);
    assert!(!is_accused(&events), "{events:?}");
}

#[test]
fn what_the_board_has_told_is_not_reported_a_second_time() {
    let (mut watcher, case) = after_an_illegal_move();
    let report = |confirmed| {
        Command::Report(Report {
            ply: Some(4),
            confirmed,
            ..Report::of(IrregularityKind::IllegalMove, Some(Side::Black))
        })
    };
    assert_eq!(refused(&mut watcher, 16_000, report(None)), "told_already");
    do_it(&mut watcher, 17_000, report(Some(true)));
    assert!(is_accused(&drained(&mut watcher)), "it has happened twice");
    // Two arbiters have seen the same, and each of them reports it.
    let mut watcher = after_e4();
    let seen = || {
        let report = Report::of(IrregularityKind::TwoHands, Some(Side::White));
        Command::Report(report)
    };
    do_it(&mut watcher, 6_000, seen());
    assert_eq!(refused(&mut watcher, 6_100, seen()), "told_already");
    // What was dismissed is not told any more.
    let (mut watcher, _) = after_an_illegal_move();
    do_it(&mut watcher, 15_500, Command::Dismiss { irregularity: case });
    drained(&mut watcher);
    do_it(&mut watcher, 16_000, report(None));
    assert!(is_accused(&drained(&mut watcher)));
}
