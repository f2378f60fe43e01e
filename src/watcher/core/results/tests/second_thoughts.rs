//! What was done by mistake, or is only found out later.

use super::*;
use crate::{
    event::ClockState,
    watcher::{Expected, Snapshot},
};

fn clocks(events: &[Event]) -> Vec<Option<ClockState>> {
    let clock = |event: &Event| match &event.body {
        Body::Move(made) => Some(made.clock),
        _ => None,
    };
    events.iter().filter_map(clock).collect()
}

fn codes(events: &[Event]) -> Vec<&str> {
    let codes = events.iter().filter_map(|event| match &event.body {
        Body::Notice { code, .. } => Some(code.as_str()),
        _ => None,
    });
    codes.collect()
}

fn retract(to_ply: u32) -> Command {
    Command::Retract { to_ply }
}

fn restarted(watcher: &Watcher) -> Watcher {
    let text = serde_json::to_string(&watcher.snapshot()).unwrap();
    Watcher::new(Settings::default(), Some(Snapshot::kept(Some(&text), 30)))
}

#[test]
fn half_moves_that_are_put_back_have_the_times_that_they_had() {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    let had = watcher.pgn().unwrap();
    assert_eq!(had.matches("%clk").count(), 2, "{had}");
    do_it(&mut watcher, 9000, retract(0));
    let mut again = restarted(&watcher);
    for watcher in [&mut watcher, &mut again] {
        let plies = watcher.game().moves.len() as u32;
        do_it(watcher, 9100, Command::Correct(correct(1, plies, &["e4", "e5"])));
        assert_eq!(watcher.pgn().unwrap(), had);
        // In one command too, and another half-move has no time.
        drained(watcher);
        do_it(watcher, 9200, Command::Correct(correct(1, 2, &["d4", "e5"])));
        assert_eq!(clocks(&drained(watcher)), [None, None]);
        do_it(watcher, 9300, Command::Correct(correct(1, 2, &["e4", "e5"])));
        assert_eq!(watcher.pgn().unwrap(), had);
    }
}

#[test]
fn half_moves_that_stood_on_the_board_after_a_retraction_are_told_with_a_notice() {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    play(&mut watcher, 9000, NF3, Lever::RightHigh);
    drained(&mut watcher);
    do_it(&mut watcher, 12_000, retract(0));
    hear(&mut watcher, 30_000, clock(Lever::RightHigh));
    let events = drained(&mut watcher);
    assert!(!moves_of(&events).is_empty(), "{events:?}");
    assert_eq!(codes(&events), [notice::RECONSTRUCTED]);
}

#[test]
fn half_moves_that_are_made_anew_after_a_retraction_are_told_without_a_word() {
    let mut watcher = after_e4();
    let (from, to, code) = E5;
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    do_it(&mut watcher, 9000, retract(1));
    drained(&mut watcher);
    show(&mut watcher, 9500, to, PieceCode::EMPTY);
    show(&mut watcher, 9800, from, PieceCode(code));
    hear(&mut watcher, 10_500, clock(Lever::RightHigh));
    play(&mut watcher, 14_000, E5, Lever::LeftHigh);
    let events = drained(&mut watcher);
    assert_eq!(moves_of(&events), ["e7e5"]);
    assert_eq!(codes(&events), [""; 0]);
}

#[test]
fn a_command_is_refused_where_somebody_has_put_the_record_right_since() {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    let seen = watcher.game().last_seq;
    let expecting = |expects: Expected, command: Command| Order {
        command,
        by: Some("Anna".to_owned()),
        past: None,
        expects,
    };
    let of_seq = Expected {
        seq: Some(seen),
        ply: None,
    };
    let take_out = || Command::Correct(correct(2, 1, &[]));
    // A half-move that is only played does not make a page stale.
    play(&mut watcher, 9000, NF3, Lever::RightHigh);
    let enter = Command::Correct(Correct {
        drop_rest: true,
        ..correct(2, 1, &["d5"])
    });
    watcher
        .handle_command(Millis(12_000), expecting(of_seq, enter))
        .unwrap();
    let mut again = restarted(&watcher);
    for watcher in [&mut watcher, &mut again] {
        let error = watcher
            .handle_command(Millis(12_100), expecting(of_seq, take_out()))
            .unwrap_err();
        assert_eq!(error.code(), "record_moved_on");
        assert!(error.to_string().contains("by Anna"), "{error}");
        let plies = watcher.game().moves.len() as u32;
        let of_ply = |ply| Expected {
            seq: None,
            ply: Some(ply),
        };
        let error = watcher
            .handle_command(Millis(12_200), expecting(of_ply(plies + 1), take_out()))
            .unwrap_err();
        assert_eq!(error.code(), "record_moved_on");
        watcher
            .handle_command(
                Millis(12_300),
                expecting(of_ply(plies), Command::Correct(correct(plies, 1, &[]))),
            )
            .unwrap();
    }
}

/// A watcher whose second game has begun, and the events of the first.
fn second_game() -> (Watcher, Vec<Event>) {
    let mut watcher = after_e4();
    let report = Report::of(IrregularityKind::IllegalMove, Some(Side::White));
    do_it(&mut watcher, 6000, Command::Report(report));
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    set_up_anew(&mut watcher, 10_000);
    do_it(&mut watcher, 20_000, Command::NewGame);
    let mut events = drained(&mut watcher);
    events.retain(|event| event.game == Some(1));
    (watcher, events)
}

#[test]
fn a_report_on_an_earlier_game_belongs_to_that_game() {
    let (mut watcher, past) = second_game();
    let mut report = Report::of(IrregularityKind::PressWithoutMove, Some(Side::White));
    report.game = Some(1);
    let command = Command::Report(report.clone());
    assert_eq!(watcher.needs(&command), Some(crate::watcher::Needed::Game(1)));
    let order = |command, past: &[Event]| Order {
        command,
        by: Some("Anna".to_owned()),
        past: Some(past.to_vec()),
        expects: Expected::default(),
    };
    let reply = watcher
        .handle_command(Millis(21_000), order(command, &past))
        .unwrap();
    let told = drained(&mut watcher);
    let [event] = &told[..] else { panic!("{told:?}") };
    assert_eq!((event.game, event.by.as_deref()), (Some(1), Some("Anna")));
    let Body::Irregularity(said) = &event.body else {
        panic!("{told:?}")
    };
    assert_eq!(said.offence_number, 2, "White has one already");
    assert!(!said.ruling.provisional, "nobody looks for a mate any more");
    let game = reply.game.unwrap();
    assert_eq!((game.game, game.open_irregularities.len()), (Some(1), 2));
    assert_eq!(watcher.game().open_irregularities.len(), 0);
    // Another arbiter has seen the same.
    let told_since = [past.clone(), told.clone()].concat();
    let again = watcher.handle_command(
        Millis(21_500),
        order(Command::Report(report.clone()), &told_since),
    );
    assert_eq!(again.unwrap_err().code(), "told_already");
    assert_eq!(drained(&mut watcher), []);
    // A half-move that the game does not have is refused there, too.
    report.ply = Some(9);
    let error = watcher
        .handle_command(Millis(22_000), order(Command::Report(report), &past))
        .unwrap_err();
    assert_eq!(error.reason(), Some("half_move_not_begun"));
}

/// The rules have changed since: the game keeps those by which its rulings say that it was played, and what no ruling says is
/// told.
#[test]
fn a_report_on_an_earlier_game_goes_by_the_rules_of_that_game_or_says_that_nobody_knows_them() {
    for (has_ruling, is_changed) in [(true, false), (true, true), (false, false)] {
        let (mut watcher, mut past) = second_game();
        past.retain(|event| has_ruling || !matches!(event.body, Body::Irregularity(_)));
        if is_changed {
            watcher
                .handle_command(Millis(20_500), Command::result(GameResult::Draw))
                .unwrap();
            let rules = crate::watcher::Rules {
                laws: crate::laws::Edition::Laws2018,
                time_control: crate::laws::TimeControl::Blitz,
                ..crate::watcher::Rules::default()
            };
            watcher.set_rules(Millis(20_600), rules);
            drained(&mut watcher);
        }
        let mut report = Report::of(IrregularityKind::PressWithoutMove, Some(Side::White));
        report.game = Some(1);
        let order = Order {
            command: Command::Report(report),
            by: None,
            past: Some(past),
            expects: Expected::default(),
        };
        watcher.handle_command(Millis(21_000), order).unwrap();
        let told = drained(&mut watcher);
        let Body::Irregularity(said) = &told[0].body else {
            panic!("{told:?}")
        };
        assert_eq!(said.ruling.laws.as_deref(), Some("2023"));
        assert_eq!(said.ruling.time_control.as_deref(), Some("standard"));
        let notices: Vec<_> = told[1..]
            .iter()
            .map(|event| match &event.body {
                Body::Notice { code, message } => (event.game, code.as_ref(), message.contains("periods")),
                _ => panic!("{told:?}"),
            })
            .collect();
        let expected: &[_] = match (has_ruling, is_changed) {
            (true, false) => &[],
            (true, true) => &[(Some(1), "rules_unknown", true)],
            (false, _) => &[(Some(1), "rules_unknown", true)],
        };
        assert_eq!(notices, expected, "{has_ruling} {is_changed}");
        assert_eq!(
            told.iter().any(|event| matches!(&event.body, Body::Notice { message, .. } if message.starts_with("No ruling"))),
            !has_ruling
        );
    }
}

#[test]
fn what_is_reported_before_the_first_half_move_waits_for_its_game() {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "port");
    let mut late = Report::of(IrregularityKind::LateArrival, Some(Side::White));
    late.note = "came at 14:20".to_owned().try_into().ok();
    let order = |report: &Report| Order {
        command: Command::Report(report.clone()),
        by: Some("Anna".to_owned()),
        past: None,
        expects: Expected::default(),
    };
    watcher.handle_command(Millis(50), order(&late)).unwrap();
    assert_eq!(drained(&mut watcher), []);
    let touch = Report::of(IrregularityKind::TouchMove, Some(Side::White));
    let error = watcher.handle_command(Millis(60), order(&touch)).unwrap_err();
    assert_eq!(error.code(), "no_game");

    let mut watcher = restarted(&watcher);
    watcher.handle_link_up(Millis(0), "port");
    hear(&mut watcher, 100, Message::Dump(&initial_pieces()));
    hear(&mut watcher, 1500, clock(Lever::LeftHigh));
    hear(&mut watcher, 3000, clock(Lever::LeftHigh));
    let told = drained(&mut watcher);
    let case = told.iter().find_map(|event| match &event.body {
        Body::Irregularity(said) => Some((event, said)),
        _ => None,
    });
    let (event, said) = case.unwrap();
    assert_eq!((event.game, event.by.as_deref()), (Some(1), Some("Anna")));
    assert_eq!(
        (said.kind, said.ply, said.offender),
        (IrregularityKind::LateArrival, 0, Some(Side::White))
    );
    hear(&mut watcher, 5000, clock(Lever::LeftHigh));
    let again = drained(&mut watcher);
    let is_case = |event: &Event| matches!(event.body, Body::Irregularity(_));
    assert!(!again.iter().any(is_case), "it is told once");

    // Between two games it names the next one.
    do_it(&mut watcher, 6000, Command::result(GameResult::Draw));
    let next = Report {
        game: Some(2),
        ..late
    };
    watcher.handle_command(Millis(6100), order(&next)).unwrap();
    do_it(&mut watcher, 12_000, Command::NewGame);
    let told = drained(&mut watcher);
    let of: Vec<_> = told
        .iter()
        .filter(|event| is_case(event))
        .map(|event| event.game)
        .collect();
    assert_eq!(of, [Some(2)]);
}

#[test]
fn the_answer_says_that_the_board_is_offline() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::Resync);
    watcher.handle_link_down(Millis(7000), "gone");
    let error = watcher.handle_command(Millis(8000), Command::Resync).unwrap_err();
    assert_eq!(error.reason(), Some("board_offline"));
    let fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1".to_owned();
    let reply = watcher
        .handle_command(Millis(9000), Command::SetPosition { fen })
        .unwrap();
    assert!(reply.offline);
    assert_eq!(reply.game.unwrap().game, Some(2));
}

#[test]
fn a_forfeit_before_the_first_game_is_told_what_is_missing() {
    let mut watcher = Watcher::new(Settings::default(), None);
    let forfeit = |game| Command::Result {
        result: GameResult::WhiteByForfeit,
        reason: None,
        game,
    };
    let error = watcher.handle_command(Millis(100), forfeit(None)).unwrap_err();
    assert_eq!(error.code(), "no_game");
    assert!(error.to_string().contains("`game`: 1"), "{error}");
    do_it(&mut watcher, 200, forfeit(Some(1)));
}
