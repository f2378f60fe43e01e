//! Commands of the arbiter, and their effects.

mod claims;
mod conduct;

use super::*;

use shakmaty::Color;

use crate::{
    dgt::{Lever, Message, PieceCode},
    event::{Body, Certainty, GameResult, Why},
    laws::{IrregularityKind, PenaltyKind, RaisedBy, Side},
    watcher::{
        OrientationSetting, Report, Rules, Settings, Watcher,
        testing::{after_e4, after_e4_under, clock, hear, initial_pieces},
    },
};

/// The events of the start of a game, and its watcher, with this setting of the orientation.
fn begun_on(orientation: OrientationSetting) -> (Vec<Body>, Watcher) {
    let settings = Settings {
        orientation,
        ..Settings::default()
    };
    let mut watcher = after_e4_under(settings);
    (events(&mut watcher), watcher)
}

#[test]
fn an_initial_position_against_the_setting_may_be_reversed_colours() {
    for orientation in [OrientationSetting::Auto, OrientationSetting::Normal] {
        let said = begun_on(orientation).0;
        assert!(!said.iter().any(|body| matches!(body, Body::Irregularity(_))));
    }
    let (events_of_start, watcher) = begun_on(OrientationSetting::Turned);
    let it = said(&events_of_start);
    assert_eq!(
        (it.kind, it.offender, it.ply),
        (IrregularityKind::ColoursReversed, None, 0)
    );
    assert_eq!(it.certainty, Certainty::Probable);
    assert_eq!(it.ruling.position, crate::laws::PositionRuling::NewGame);
    assert_eq!(
        watcher.game().moves,
        ["e2e4"],
        "the watcher follows the game all the same"
    );
    let settings = Settings {
        orientation: OrientationSetting::Turned,
        ..Settings::default()
    };
    let mut resumed = Watcher::new(settings, Some(watcher.snapshot()));
    resumed.handle_link_up(Millis(0), "port");
    let mut squares = initial_pieces();
    (squares[52], squares[36]) = (PieceCode::EMPTY, PieceCode(1));
    hear(&mut resumed, 100, Message::Dump(&squares));
    hear(&mut resumed, 5000, clock(Lever::RightHigh));
    assert_eq!(resumed.game().moves, ["e2e4"], "nothing was played meanwhile");
}

fn report(kind: IrregularityKind, offender: Option<Side>) -> Command {
    Command::Report(Report::of(kind, offender))
}

fn refused(watcher: &mut Watcher, command: Command) -> &'static str {
    let before = watcher.game();
    let refusal = watcher.handle_command(Millis(6000), command).unwrap_err();
    assert_eq!(watcher.game(), before, "a refused command changes nothing");
    refusal.code()
}

#[test]
fn commands_that_make_no_sense_are_refused() {
    let mut watcher = after_e4();
    let unknown = || "gw/1/99".to_owned();
    let (dismiss, accept) = (
        Command::Dismiss {
            irregularity: unknown(),
        },
        Command::Accept {
            irregularity: unknown(),
        },
    );
    assert_eq!(refused(&mut watcher, dismiss), "unknown_irregularity");
    assert_eq!(refused(&mut watcher, accept), "unknown_irregularity");
    assert_eq!(
        refused(&mut watcher, Command::Retract { to_ply: 2 }),
        "no_such_ply"
    );
    let endless = "4k3/8/8/8/8/8/8/4K2R w - - 0 4294967295";
    for fen in ["", "8/8/8/8/8/8/8/8 w - - 0 1", "nonsense", endless] {
        let fen = fen.to_owned();
        assert_eq!(refused(&mut watcher, Command::SetPosition { fen }), "bad_fen");
    }
}

#[test]
fn commands_without_a_board_or_a_game_are_refused() {
    let mut watcher = Watcher::new(Settings::default(), None);
    assert_eq!(refused(&mut watcher, Command::NewGame), "refused");
    let result = GameResult::Draw;
    assert_eq!(refused(&mut watcher, Command::result(result)), "no_game");
}

#[test]
fn setting_an_earlier_position_goes_back_to_it() {
    let mut watcher = after_e4();
    let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1".to_owned();
    watcher
        .handle_command(Millis(6000), Command::SetPosition { fen })
        .unwrap();
    let game = watcher.game();
    assert_eq!((game.game, game.moves.len()), (Some(1), 0));
}

#[test]
fn a_later_result_of_the_arbiter_replaces_an_earlier_one() {
    let mut watcher = after_e4();
    for result in [GameResult::WhiteWins, GameResult::Draw] {
        watcher
            .handle_command(Millis(6000), Command::result(result))
            .unwrap();
        assert_eq!(watcher.game().result, Some(result));
    }
}

#[test]
fn a_reported_irregularity_stays_open_until_it_is_dismissed() {
    let mut watcher = after_e4();
    let report = report(IrregularityKind::ColoursReversed, None);
    watcher.handle_command(Millis(6000), report).unwrap();
    let open = watcher.game().open_irregularities;
    let [id] = &open[..] else { panic!("{open:?}") };
    let irregularity = id.clone();
    watcher
        .handle_command(Millis(7000), Command::Dismiss { irregularity })
        .unwrap();
    assert!(watcher.game().open_irregularities.is_empty());
}

fn events(watcher: &mut Watcher) -> Vec<Body> {
    std::iter::from_fn(|| watcher.poll_event())
        .map(|event| event.body)
        .collect()
}

fn said(events: &[Body]) -> &crate::event::Irregularity {
    let said = events.iter().find_map(|body| match body {
        Body::Irregularity(it) => Some(&**it),
        _ => None,
    });
    said.expect("an irregularity was reported")
}

fn amended(events: &[Body]) -> Option<&crate::event::Amendment> {
    events.iter().find_map(|body| match body {
        Body::RulingAmended(it) => Some(&**it),
        _ => None,
    })
}

fn reported(watcher: &mut Watcher, kind: IrregularityKind, offender: Option<Side>) -> Vec<Body> {
    events(watcher);
    // It has happened, even if it was reported before.
    let report = Report {
        confirmed: Some(true),
        ..Report::of(kind, offender)
    };
    watcher
        .handle_command(Millis(6000), Command::Report(report))
        .unwrap();
    events(watcher)
}

#[test]
fn two_hands_that_a_person_reports_are_an_offence_of_the_player_who_moved() {
    let mut watcher = after_e4();
    let events = reported(&mut watcher, IrregularityKind::TwoHands, None);
    let it = said(&events);
    assert_eq!(
        (it.offender, it.ply, it.offence_number),
        (Some(Side::White), 1, 1)
    );
    assert_eq!(it.ruling.penalty.seconds, 120);
    assert_eq!(it.articles, ["7.5.4", "7.5.5", "7.1"]);
}

/// The watcher suspects an illegal move, because the board does not read a piece. An arbiter accepts it, so
/// the next offence is the second.
#[test]
fn a_suspicion_counts_when_it_is_accepted() {
    let text = include_str!("../../../../fixtures/piece-not-read-then-an-illegal-move.dgtcap");
    let capture = crate::capture::Capture::parse(text.as_bytes()).unwrap();
    let mut watcher = Watcher::new(Settings::default(), None);
    let mut told = Vec::new();
    let end = crate::capture::replay::replay(&mut watcher, &capture, |event| {
        told.push(event.body);
        Ok::<_, ()>(())
    });
    assert_eq!(said(&told).certainty, Certainty::Suspected);
    let at = end.unwrap() + 1000;
    let irregularity = watcher.game().open_irregularities[0].clone();
    watcher
        .handle_command(at, Command::Accept { irregularity })
        .unwrap();
    events(&mut watcher);
    let again = report(IrregularityKind::TwoHands, Some(Side::White));
    watcher.handle_command(at, again).unwrap();
    assert_eq!(said(&events(&mut watcher)).offence_number, 2);
}

#[test]
fn the_ruling_on_a_second_offence_waits_for_the_mate_and_changes_when_the_first_is_dismissed() {
    let mut watcher = after_e4();
    reported(&mut watcher, IrregularityKind::TwoHands, None);
    let events_of_second = reported(&mut watcher, IrregularityKind::TwoHands, None);
    let second = said(&events_of_second);
    assert_eq!(second.offence_number, 2);
    assert_eq!(second.ruling.penalty.kind, PenaltyKind::Loss);
    assert!(second.ruling.provisional);
    let question = watcher.poll_question().expect("the ruling depends on a mate");
    assert_eq!(question.winner, Color::Black);
    let unwinnable = crate::mate::Verdict::Unwinnable(crate::mate::Proof::Material);
    watcher.handle_verdict(Millis(6500), &question.irregularity, &unwinnable);
    let answered = events(&mut watcher);
    let ruling = &amended(&answered).expect("the answer amends the ruling").ruling;
    assert_eq!(
        (ruling.penalty.kind, ruling.provisional),
        (PenaltyKind::Draw, false)
    );
    let irregularity = watcher.game().open_irregularities[0].clone();
    watcher
        .handle_command(Millis(7000), Command::Dismiss { irregularity })
        .unwrap();
    let dismissed = events(&mut watcher);
    let amendment = amended(&dismissed).expect("the second offence is the first now");
    assert_eq!((amendment.why, amendment.offence_number), (Why::OffenceCount, 1));
    assert_eq!(amendment.ruling.penalty.seconds, 120);
}

#[test]
fn a_search_without_an_answer_leaves_the_penalty_to_the_arbiter() {
    let mut watcher = after_e4();
    let events_of_flag = reported(&mut watcher, IrregularityKind::FlagFall, Some(Side::White));
    assert!(said(&events_of_flag).ruling.provisional);
    let question = watcher.poll_question().expect("a question");
    let cut = crate::mate::Verdict::Undetermined(crate::mate::Limit::Positions(1));
    watcher.handle_verdict(Millis(6500), &question.irregularity, &cut);
    let answered = events(&mut watcher);
    let amendment = amended(&answered).expect("an amendment");
    assert_eq!(amendment.ruling.penalty.kind, PenaltyKind::Arbiter);
    assert!(amendment.text["en"].advice.contains("could not be established"));
}

#[test]
fn the_question_about_a_mate_is_asked_again_after_a_restart() {
    let mut watcher = after_e4();
    reported(&mut watcher, IrregularityKind::FlagFall, Some(Side::White));
    let snapshot = watcher.snapshot();
    let mut resumed = Watcher::new(Settings::default(), Some(snapshot));
    assert!(resumed.poll_question().is_some());
}

#[test]
fn a_draw_claim_is_checked_against_the_record() {
    let mut watcher = after_e4();
    let events = reported(&mut watcher, IrregularityKind::ThreefoldClaim, None);
    let it = said(&events);
    assert_eq!(it.offender, Some(Side::Black), "Black has the move");
    assert_eq!(
        (it.ruling.penalty.seconds, it.ruling.penalty.to),
        (120, Some(Side::White))
    );
    let by_white = report(IrregularityKind::ThreefoldClaim, Some(Side::White));
    assert_eq!(refused(&mut watcher, by_white), "refused");
    assert_eq!(
        refused(&mut watcher, report(IrregularityKind::FlagFall, None)),
        "refused"
    );
}

#[test]
fn reversed_colours_mean_a_new_game_within_ten_moves() {
    let mut watcher = after_e4();
    let events = reported(&mut watcher, IrregularityKind::ColoursReversed, None);
    assert_eq!(
        said(&events).ruling.position,
        crate::laws::PositionRuling::NewGame
    );
    assert_eq!(said(&events).ply, 0);
}

#[test]
fn the_ruling_depends_on_who_raised_it_where_arbiters_are_few() {
    let settings = Settings {
        rules: Rules {
            time_control: crate::laws::TimeControl::Rapid,
            supervision: crate::laws::Supervision::NotAdequate,
            ..Rules::default()
        },
        ..Settings::default()
    };
    let mut watcher = after_e4_under(settings);
    reported(&mut watcher, IrregularityKind::TwoHands, None);
    let irregularity = watcher.game().open_irregularities[0].clone();
    for (by, seconds) in [(RaisedBy::Nobody, 0), (RaisedBy::Opponent, 60)] {
        let irregularity = irregularity.clone();
        watcher
            .handle_command(Millis(7000), Command::RaisedBy { irregularity, by })
            .unwrap();
        let events = events(&mut watcher);
        let amendment = amended(&events).expect("the ruling changes");
        assert_eq!(
            (amendment.why, amendment.ruling.penalty.seconds),
            (Why::RaisedBy, seconds)
        );
    }
}

#[test]
fn a_report_brings_facts_that_the_record_does_not_have() {
    let mut watcher = after_e4();
    let mut both = Report::of(IrregularityKind::BothFlags, None);
    both.first_flag = crate::laws::FirstFlag::Black;
    events(&mut watcher);
    watcher
        .handle_command(Millis(6000), Command::Report(both))
        .unwrap();
    let ruling = said(&events(&mut watcher)).ruling.penalty;
    assert_eq!((ruling.kind, ruling.to), (PenaltyKind::Loss, Some(Side::White)));
    let mut press = Report::of(IrregularityKind::PressWithoutMove, Some(Side::Black));
    press.response_to = Some(crate::laws::ResponseTo::OpponentIllegalMove);
    watcher
        .handle_command(Millis(6000), Command::Report(press))
        .unwrap();
    let answer = said(&events(&mut watcher)).ruling.penalty.kind;
    assert_eq!(answer, PenaltyKind::Arbiter);
}

/// 1.e4 e5 under the Laws of rapid with few arbiters.
fn after_e5_with_few_arbiters() -> Watcher {
    let settings = Settings {
        rules: Rules {
            time_control: crate::laws::TimeControl::Rapid,
            supervision: crate::laws::Supervision::NotAdequate,
            ..Rules::default()
        },
        ..Settings::default()
    };
    let mut watcher = after_e4_under(settings);
    answer_e5(&mut watcher);
    watcher
}

fn answer_e5(watcher: &mut Watcher) {
    for (at, square, piece) in [(7000, 12, PieceCode::EMPTY), (7300, 28, PieceCode(7))] {
        hear(watcher, at, Message::Field { square, piece });
    }
    hear(watcher, 7600, clock(Lever::LeftHigh));
    hear(watcher, 9000, clock(Lever::LeftHigh));
    assert_eq!(watcher.game().moves, ["e2e4", "e7e5"]);
}

#[test]
fn an_offence_reported_after_the_reply_stands_where_arbiters_are_few() {
    let mut watcher = after_e5_with_few_arbiters();
    let events = reported(&mut watcher, IrregularityKind::TwoHands, Some(Side::White));
    let it = said(&events);
    assert_eq!((it.ply, it.ruling.penalty.kind), (1, PenaltyKind::None));
    assert_eq!(it.ruling.position, crate::laws::PositionRuling::Stands);
}

#[test]
fn an_offence_reported_in_time_does_not_stand_because_of_a_later_reply() {
    let settings = Settings {
        rules: Rules {
            time_control: crate::laws::TimeControl::Rapid,
            supervision: crate::laws::Supervision::NotAdequate,
            ..Rules::default()
        },
        ..Settings::default()
    };
    let mut watcher = after_e4_under(settings);
    let in_time = reported(&mut watcher, IrregularityKind::TwoHands, Some(Side::White));
    assert_eq!(said(&in_time).ruling.penalty.seconds, 60);
    answer_e5(&mut watcher);
    let later = events(&mut watcher);
    let penalties = later.iter().filter_map(|body| match body {
        Body::RulingAmended(it) => Some(it.ruling.penalty.seconds),
        _ => None,
    });
    assert!(penalties.into_iter().all(|seconds| seconds == 60));
    assert_eq!(watcher.game().open_irregularities.len(), 1);
}

#[test]
fn a_reported_illegal_move_is_the_last_one_and_its_target_is_the_position_before() {
    let mut watcher = after_e4();
    let events = reported(&mut watcher, IrregularityKind::IllegalMove, Some(Side::White));
    let it = said(&events);
    assert_eq!((it.ply, it.offence_number), (1, 1));
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    assert_eq!(it.ruling.target_fen.as_deref(), Some(start));
    let by_black = reported(&mut watcher, IrregularityKind::IllegalMove, Some(Side::Black));
    assert_eq!(said(&by_black).ply, 2, "it is not on the record yet");
}

#[test]
fn half_moves_can_be_retracted_after_a_result() {
    let mut watcher = after_e4();
    let result = GameResult::Draw;
    watcher
        .handle_command(Millis(6000), Command::result(result))
        .unwrap();
    watcher
        .handle_command(Millis(7000), Command::Retract { to_ply: 0 })
        .unwrap();
    let game = watcher.game();
    assert_eq!((game.moves.len(), game.result), (0, Some(GameResult::Open)));
}

#[test]
fn an_accepted_position_survives_a_restart() {
    let mut watcher = after_e4();
    for (at, square, piece) in [
        (5200, 6, PieceCode::EMPTY),
        (5400, 22, PieceCode(9)),
        (5500, 12, PieceCode::EMPTY),
        (5700, 28, PieceCode(7)),
    ] {
        hear(&mut watcher, at, Message::Field { square, piece });
    }
    hear(&mut watcher, 6000, clock(Lever::LeftHigh));
    hear(&mut watcher, 12_000, clock(Lever::LeftHigh));
    let mut events = std::iter::from_fn(|| watcher.poll_event());
    let found = events.find_map(|event| match event.body {
        Body::Irregularity(found) => Some((found.kind, event.id)),
        _ => None,
    });
    let (kind, irregularity) = found.unwrap();
    assert_eq!(kind, IrregularityKind::PiecesDisplaced);
    watcher
        .handle_command(Millis(12_100), Command::Accept { irregularity })
        .unwrap();
    let accepted = watcher.game();
    let placement = "rnbqkb1r/pppp1ppp/6n1/4p3/4P3/8/PPPP1PPP/RNBQKBNR";
    assert!(
        accepted.fen.as_ref().unwrap().starts_with(placement),
        "{accepted:?}"
    );
    let text = serde_json::to_string(&watcher.snapshot()).unwrap();
    let resumed = Watcher::new(Settings::default(), Some(serde_json::from_str(&text).unwrap()));
    assert_eq!(resumed.game(), accepted);
}

/// The board reads `piece` on a square.
fn knight(watcher: &mut Watcher, at: u64, square: u8, piece: u8) {
    let piece = PieceCode(piece);
    hear(watcher, at, Message::Field { square, piece });
}

/// Squares in the order of the wire.
const G1: u8 = 62;
const F3: u8 = 45;

#[test]
fn no_game_starts_while_a_hand_holds_a_piece() {
    let mut watcher = after_e4();
    knight(&mut watcher, 5900, G1, 0);
    let refusal = watcher
        .handle_command(Millis(9000), Command::NewGame)
        .unwrap_err();
    assert!(refusal.to_string().contains("lifted from g1"), "{refusal}");
    assert_eq!(watcher.game().game, Some(1), "a refused command changes nothing");
    // The hand puts the knight down. The board must come to rest first.
    knight(&mut watcher, 9300, F3, 3);
    let refusal = watcher
        .handle_command(Millis(9400), Command::NewGame)
        .unwrap_err();
    assert!(refusal.to_string().contains("still"), "{refusal}");
    watcher.handle_command(Millis(10_400), Command::NewGame).unwrap();
    let fen = watcher.game().fen.unwrap();
    assert!(fen.contains("5N2"), "{fen}");
}

#[test]
fn a_piece_that_was_taken_off_the_board_is_in_no_hand() {
    let mut watcher = after_e4();
    knight(&mut watcher, 5900, G1, 0);
    watcher.handle_command(Millis(16_000), Command::NewGame).unwrap();
    assert_eq!(watcher.game().game, Some(2));
}

#[test]
fn a_position_can_be_set_while_a_hand_holds_a_piece_which_then_plays() {
    // 1.e4 d5 was played, and White holds the knight.
    let mut watcher = after_e4();
    let fen = "rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2".to_owned();
    knight(&mut watcher, 5500, 11, 0);
    knight(&mut watcher, 5600, 27, 7);
    knight(&mut watcher, 5900, G1, 0);
    watcher
        .handle_command(Millis(6000), Command::SetPosition { fen: fen.clone() })
        .unwrap();
    assert_eq!(
        watcher.game().fen.as_deref(),
        Some(&*fen),
        "the arbiter's position counts, not the board's"
    );
    knight(&mut watcher, 7000, F3, 3);
    hear(&mut watcher, 7500, clock(Lever::LeftHigh));
    hear(&mut watcher, 7600, clock(Lever::RightHigh));
    hear(&mut watcher, 9500, clock(Lever::RightHigh));
    assert_eq!(watcher.game().moves, ["g1f3"]);
}
