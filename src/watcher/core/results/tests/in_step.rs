//! A person puts the record right while a result stands that turns out to be a mistake.

use super::*;

/// The record after `before`, folded from events.
fn folded(before: &[&str], events: &[Event]) -> Vec<String> {
    let mut record: Vec<String> = before.iter().map(|uci| (*uci).to_owned()).collect();
    for event in events {
        match &event.body {
            Body::Move(made) => {
                assert_eq!(made.ply as usize, record.len() + 1, "{events:?}");
                record.push(made.uci.clone());
            }
            Body::MovesRetracted { to_ply, .. } => {
                assert!((*to_ply as usize) < record.len(), "{events:?}");
                record.truncate(*to_ply as usize);
            }
            _ => {}
        }
    }
    record
}

#[test]
fn the_copy_goes_on_when_a_person_puts_the_record_right() {
    // More half-moves than a search over a gap finds. All pieces come home.
    let [nf6, nc3, ng8, nb1, nc6, nb8] = [
        (6, 21, 9),
        (57, 42, 3),
        (21, 6, 9),
        (42, 57, 3),
        (1, 18, 9),
        (18, 1, 9),
    ];
    let played = "g8f6 b1c3 f6g8 c3b1 b8c6 b1c3 c6b8 c3b1";
    for (what, order, after) in [
        ("changed", correct(1, 1, &["e2e3"]), vec!["e2e3"]),
        (
            "entered before",
            correct(1, 0, &["d2d4", "d7d5"]),
            vec!["d2d4", "d7d5", "e2e4"],
        ),
        (
            "what was seen is entered",
            correct(2, 0, &["Nf6"]),
            vec!["e2e4", "g8f6"],
        ),
    ] {
        let mut watcher = after_e4();
        do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
        drained(&mut watcher);
        for (i, made) in [nf6, nc3, ng8, nb1, nc6, nc3, nb8, nb1].into_iter().enumerate() {
            let lever = if i % 2 == 0 {
                Lever::LeftHigh
            } else {
                Lever::RightHigh
            };
            if i == 4 {
                do_it(&mut watcher, 20_000, Command::Correct(order.clone()));
                assert_eq!(uci(&watcher), after, "{what}");
                assert_eq!(watcher.game().result, Some(GameResult::WhiteWins), "{what}");
                assert_eq!(folded(&["e2e4"], &drained(&mut watcher)), after, "{what}");
            }
            play(&mut watcher, 8000 + 3000 * i as u64, made, lever);
        }
        assert_eq!(drained(&mut watcher), [], "{what}");
        do_it(&mut watcher, 40_000, resume());
        let events = drained(&mut watcher);
        let mut whole: Vec<&str> = after.clone();
        whole.extend(
            played
                .split(' ')
                .skip(after.iter().filter(|uci| **uci == "g8f6").count()),
        );
        assert_eq!(uci(&watcher), whole, "{what}");
        assert_eq!(folded(&after, &events), whole, "{what}");
        let mut numbered = events.iter().zip(events[0].seq..);
        assert!(
            numbered.all(|(event, seq)| event.seq == seq),
            "{what}: {events:?}"
        );
        // The game goes on.
        play(&mut watcher, 42_000, E5, Lever::LeftHigh);
        assert_eq!(uci(&watcher).last().unwrap(), "e7e5", "{what}");
    }
}

#[test]
fn an_offence_after_a_result_keeps_its_half_move_when_others_are_entered() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::result(GameResult::Draw));
    // 1...Ke8-e6 is illegal.
    play(&mut watcher, 8000, (4, 20, 11), Lever::LeftHigh);
    hear(&mut watcher, 14_000, clock(Lever::LeftHigh));
    do_it(
        &mut watcher,
        15_000,
        Command::Correct(correct(1, 0, &["d2d4", "d7d5"])),
    );
    drained(&mut watcher);
    do_it(&mut watcher, 20_000, resume());
    let events = drained(&mut watcher);
    let found = events.iter().find_map(|event| match &event.body {
        Body::Irregularity(found) => Some((found.ply, event.id.clone())),
        _ => None,
    });
    let (ply, id) = found.unwrap();
    assert_eq!(ply, 4);
    assert_eq!(
        watcher.game().open_irregularities.as_slice(),
        std::slice::from_ref(&id)
    );
    do_it(&mut watcher, 21_000, Command::Dismiss { irregularity: id });
    assert!(watcher.game().open_irregularities.is_empty());
}

#[test]
fn a_copy_that_cannot_follow_a_correction_is_dropped() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    play(&mut watcher, 8000, E5, Lever::LeftHigh);
    play(&mut watcher, 12_000, NF3, Lever::RightHigh);
    // After 1.Nf3 the half-moves 1...e5 2.Nf3 cannot follow, so the watcher takes the game up as after a gap.
    do_it(&mut watcher, 16_000, Command::Correct(correct(1, 1, &["g1f3"])));
    drained(&mut watcher);
    do_it(&mut watcher, 20_000, resume());
    assert_eq!(folded(&["g1f3"], &drained(&mut watcher)), uci(&watcher));
    assert_eq!(uci(&watcher)[0], "g1f3");
}
