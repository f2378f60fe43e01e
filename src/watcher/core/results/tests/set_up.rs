//! The pieces are set up for the next game while a report of the first half-move is open.

use super::*;

/// A watcher after 1.e4 e5 2.Nf3 and a report that White used two hands at the first half-move. The target of
/// its ruling is the initial position.
fn reported() -> Watcher {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    play(&mut watcher, 9000, NF3, Lever::RightHigh);
    let report = Report {
        ply: Some(1),
        ..Report::of(IrregularityKind::TwoHands, Some(Side::White))
    };
    do_it(&mut watcher, 12_000, Command::Report(report));
    assert_eq!(watcher.game().open_irregularities.len(), 1);
    drained(&mut watcher);
    watcher
}

/// Puts all pieces on their initial squares.
fn set_up(watcher: &mut Watcher, at: u64) {
    hear(watcher, at, stopped());
    let pieces = [(36, 0), (52, 1), (28, 0), (12, 7), (45, 0), (62, 3)];
    for (i, (square, code)) in (1..).zip(pieces) {
        show(watcher, at + 300 * i, square, PieceCode(code));
    }
    hear(watcher, at + 10_000, stopped());
}

#[test]
fn the_next_game_begins_all_the_same() {
    let mut watcher = reported();
    let won = Command::Result {
        result: GameResult::WhiteWins,
        reason: None,
        game: None,
    };
    do_it(&mut watcher, 13_000, won);
    set_up(&mut watcher, 14_000);
    hear(&mut watcher, 30_000, clock(Lever::LeftHigh));
    show(&mut watcher, 32_000, 52, PieceCode::EMPTY);
    show(&mut watcher, 32_300, 36, PieceCode(1));
    hear(&mut watcher, 32_600, clock(Lever::RightHigh));
    hear(&mut watcher, 34_000, clock(Lever::RightHigh));
    // A person sends a report of the game before, late: it is of that game.
    let late = Report {
        game: Some(1),
        ..Report::of(IrregularityKind::TwoHands, Some(Side::White))
    };
    let needed = watcher.needs(&Command::Report(late));
    assert_eq!(needed, Some(crate::watcher::Needed::Game(1)));
    assert_eq!(
        (watcher.game().game, uci(&watcher)),
        (Some(2), vec!["e2e4".to_owned()])
    );
}

#[test]
fn a_game_without_a_result_keeps_its_half_moves_and_its_report() {
    let mut watcher = reported();
    set_up(&mut watcher, 14_000);
    let told: Vec<_> = drained(&mut watcher)
        .iter()
        .map(|event| event.body.type_name())
        .collect();
    assert!(told.contains(&"game_ended"), "{told:?}");
    for wrong in ["moves_retracted", "irregularity_resolved"] {
        assert!(!told.contains(&wrong), "{told:?}");
    }
}

/// White's king and queen stood wrong at first. The game is corrected when the next one is played.
#[test]
fn an_earlier_game_whose_start_was_put_right_is_corrected_from_the_right_position() {
    let event = |seq: u64, fields: &str| {
        let text = format!(
            r#"{{"v":1,"id":"//{seq}","seq":{seq},"board":"","game":1,"t":1.0,"at":null,"time":null,{fields}}}"#
        );
        serde_json::from_str::<Event>(&text).unwrap()
    };
    let right = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let wrong = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBKQBNR w kq - 0 1";
    let begins = format!(r#""type":"game_started","fen":"{wrong}","chess960":false"#);
    let put_right =
        format!(r#""type":"moves_retracted","to_ply":0,"reason":"array_put_right","fen":"{right}""#);
    let past = vec![event(1, &begins), event(2, &put_right)];
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::NewGame);
    let mut correction = correct(1, 0, &["d4", "d5", "Qd3"]);
    correction.game = Some(1);
    let order = Order {
        expects: Default::default(),
        past: Some(past),
        by: None,
        command: Command::Correct(correction),
    };
    let reply = watcher.handle_command(Millis(7000), order).unwrap();
    assert_eq!(reply.game.unwrap().moves, ["d2d4", "d7d5", "d1d3"]);
}
