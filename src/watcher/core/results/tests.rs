//! Results, corrections and cases, of the present game and of earlier ones.

mod beginnings;
mod beside_offence;
mod entered;
mod given_back;
mod in_step;
mod kings;
mod lifecycle;
mod parked;
mod put_aside;
mod second_thoughts;
mod set_up;

use super::*;

use crate::{
    dgt::{ClockReading, Lever, Message, PieceCode},
    event::{Event, Source, notice},
    laws::{IrregularityKind, Penalty, PenaltyKind, Side},
    watcher::{
        Command, Order, Report, Settings, Watcher,
        command::Correct,
        testing::{after_e4, after_e4_under, clock, hear, initial_pieces},
    },
};

fn drained(watcher: &mut Watcher) -> Vec<Event> {
    std::iter::from_fn(|| watcher.poll_event()).collect()
}

fn do_it(watcher: &mut Watcher, at: u64, command: Command) {
    watcher.handle_command(Millis(at), command).unwrap();
}

fn refused(watcher: &mut Watcher, at: u64, command: Command) -> &'static str {
    let before = watcher.game();
    let error = watcher.handle_command(Millis(at), command).unwrap_err();
    assert_eq!(
        watcher.game(),
        before,
        "a refused command changes nothing: {error}"
    );
    error.code()
}

fn resume() -> Command {
    Command::Resume {
        reason: None,
        game: None,
    }
}

fn correct(ply: u32, delete: u32, insert: &[&str]) -> Correct {
    Correct {
        ply,
        delete,
        insert: insert.iter().map(|text| (*text).to_owned()).collect(),
        ..Correct::default()
    }
}

/// Moves a piece from one square of the wire to another, and presses the clock.
fn play(watcher: &mut Watcher, at: u64, (from, to, code): (u8, u8, u8), lever: Lever) {
    hear(
        watcher,
        at,
        Message::Field {
            square: from,
            piece: PieceCode::EMPTY,
        },
    );
    let piece = PieceCode(code);
    hear(watcher, at + 300, Message::Field { square: to, piece });
    hear(watcher, at + 600, clock(lever));
    hear(watcher, at + 1600, clock(lever));
}

/// 1...e5 2.Nf3 on the wire.
const E5: (u8, u8, u8) = (12, 28, 7);
const NF3: (u8, u8, u8) = (62, 45, 3);

fn uci(watcher: &Watcher) -> Vec<String> {
    watcher.game().moves
}

fn moves_of(events: &[Event]) -> Vec<String> {
    let uci = |event: &Event| match &event.body {
        Body::Move(made) => Some(made.uci.clone()),
        _ => None,
    };
    events.iter().filter_map(uci).collect()
}

/// The codes of the notices; nothing else came.
fn notices(events: &[Event]) -> Vec<String> {
    let code = |event: &Event| match &event.body {
        Body::Notice { code, .. } => code.clone(),
        other => panic!("{other:?}"),
    };
    events.iter().map(code).collect()
}

#[test]
fn a_result_by_mistake_can_be_taken_back_and_nothing_is_missed() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    drained(&mut watcher);
    play(&mut watcher, 8000, E5, Lever::LeftHigh);
    play(&mut watcher, 12_000, NF3, Lever::RightHigh);
    assert_eq!(
        notices(&drained(&mut watcher)),
        [notice::PLAYED_ON],
        "after a result the watcher only asks whether the game goes on"
    );
    assert_eq!(uci(&watcher), ["e2e4"]);
    do_it(&mut watcher, 20_000, resume());
    let events = drained(&mut watcher);
    assert!(
        matches!(&events[0].body, Body::GameResumed { .. }),
        "{:?}",
        events[0]
    );
    assert_eq!(events[0].source, Some(Source::Arbiter));
    assert_eq!(moves_of(&events), ["e7e5", "g1f3"]);
    assert_eq!(events[1].source, None, "the players made this half-move");
    assert_eq!(
        events[1].at.map(|at| at < 10.0),
        Some(true),
        "the event has the time of the half-move: {:?}",
        events[1]
    );
    assert_eq!(watcher.game().result, Some(GameResult::Open));
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let first = seqs[0];
    assert!(
        seqs.iter().enumerate().all(|(i, seq)| *seq == first + i as u64),
        "{seqs:?}"
    );
    // The game goes on.
    play(&mut watcher, 22_000, (1, 18, 9), Lever::LeftHigh);
    assert_eq!(uci(&watcher), ["e2e4", "e7e5", "g1f3", "b8c6"]);
}

#[test]
fn an_offence_after_a_wrong_result_is_reported_when_the_result_is_taken_back() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::result(GameResult::Draw));
    drained(&mut watcher);
    // 1...Ke8-e6 is illegal.
    play(&mut watcher, 8000, (4, 20, 11), Lever::LeftHigh);
    hear(&mut watcher, 14_000, clock(Lever::LeftHigh));
    assert_eq!(drained(&mut watcher), []);
    do_it(&mut watcher, 20_000, resume());
    let events = drained(&mut watcher);
    let said = events.iter().find_map(|event| match &event.body {
        Body::Irregularity(it) => Some((it.kind, event.id.clone())),
        _ => None,
    });
    let (kind, id) = said.unwrap();
    assert_eq!(kind, IrregularityKind::IllegalMove);
    assert_eq!(
        watcher.game().open_irregularities.as_slice(),
        std::slice::from_ref(&id)
    );
    do_it(&mut watcher, 21_000, Command::Dismiss { irregularity: id });
    assert!(watcher.game().open_irregularities.is_empty());
}

#[test]
fn a_game_without_a_result_has_none_to_take_back() {
    let mut watcher = after_e4();
    assert_eq!(refused(&mut watcher, 6000, resume()), "refused");
}

fn named() -> Settings {
    Settings {
        players: [Some("Moss".into()), Some("Tufteland".into())],
        ..Settings::default()
    }
}

/// A frame of the stopped clock.
fn stopped() -> Message<'static> {
    let Message::Clock(reading) = clock(Lever::RightHigh) else {
        unreachable!("it is a reading of the clock")
    };
    Message::Clock(ClockReading {
        running: false,
        ..reading
    })
}

fn show(watcher: &mut Watcher, at: u64, square: u8, piece: PieceCode) {
    hear(watcher, at, Message::Field { square, piece });
}

/// Stops the clock and puts the pawn back, so that the initial position stands.
fn set_up_anew(watcher: &mut Watcher, at: u64) {
    hear(watcher, at, stopped());
    show(watcher, at + 100, 36, PieceCode::EMPTY);
    show(watcher, at + 400, 52, PieceCode(1));
    let squares = initial_pieces();
    hear(watcher, at + 6000, Message::Dump(&squares));
}

#[test]
fn a_person_enters_changes_and_takes_out_half_moves() {
    let mut watcher = after_e4();
    drained(&mut watcher);
    let put = |watcher: &mut Watcher, order| {
        watcher
            .handle_command(Millis(6000), Command::Correct(order))
            .unwrap();
        drained(watcher)
    };
    let events = put(&mut watcher, correct(2, 0, &["e5", "Nf3", "b8c6"]));
    assert_eq!(moves_of(&events), ["e7e5", "g1f3", "b8c6"]);
    assert!(events.iter().all(|event| event.source == Some(Source::Arbiter)));
    let events = put(&mut watcher, correct(2, 1, &["c5"]));
    assert!(
        matches!(events[0].body, Body::MovesRetracted { to_ply: 1, .. }),
        "{events:?}"
    );
    assert_eq!(moves_of(&events), ["c7c5", "g1f3", "b8c6"]);
    assert_eq!(uci(&watcher), ["e2e4", "c7c5", "g1f3", "b8c6"]);
    put(&mut watcher, correct(2, 2, &[]));
    assert_eq!(uci(&watcher), ["e2e4", "b8c6"]);
    // The watcher goes on from there, although the clock of this board still runs for Black.
    assert_eq!(watcher.game().to_move, Some(Side::White));
}

#[test]
fn every_result_can_be_given_and_changed() {
    let mut watcher = after_e4();
    for word in ["1-0", "0-1", "1/2-1/2", "+/-", "-/+", "-/-", "0-0", "*", "1-0"] {
        let result: GameResult = serde_json::from_value(word.into()).unwrap();
        let given = Command::Result {
            result,
            reason: None,
            game: None,
        };
        do_it(&mut watcher, 6000, given);
        let pgn = watcher.pgn().unwrap();
        assert!(
            pgn.contains(&format!("[Result \"{}\"]", result.in_pgn())),
            "{pgn}"
        );
        let ended = drained(&mut watcher).into_iter().rev();
        let told: Vec<_> = ended
            .filter_map(|event| match event.body {
                Body::GameEnded { result, .. } => Some(result.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(told, [word]);
    }
}

#[test]
fn a_refusal_names_the_half_move_that_cannot_be_played() {
    let mut watcher = after_e4();
    for (order, code) in [
        (correct(0, 0, &["e4"]), "refused"),
        (correct(3, 0, &["e4"]), "refused"),
        (correct(1, 2, &[]), "refused"),
        (correct(2, 0, &["e4"]), "no_such_move"),
        (correct(2, 0, &["é9"]), "no_such_move"),
        (correct(1, 1, &["d4", "Nf6", "d8d7"]), "no_such_move"),
    ] {
        assert_eq!(
            refused(&mut watcher, 6000, Command::Correct(order.clone())),
            code,
            "{order:?}"
        );
    }
    let illegal = Correct {
        illegal: true,
        ..correct(2, 0, &["e8e6"])
    };
    do_it(&mut watcher, 7000, Command::Correct(illegal));
    assert_eq!(watcher.game().san, [Some("e4".to_owned()), None]);
    // A half-move that leaves the king in check does not follow.
    let gone = Correct {
        drop_rest: true,
        ..correct(1, 1, &["Nf3"])
    };
    do_it(&mut watcher, 8000, Command::Correct(gone));
    assert_eq!(uci(&watcher), ["g1f3", "e8e6"]);
}

#[test]
fn a_dismissal_can_be_taken_back_and_a_penalty_noted() {
    let mut watcher = after_e4();
    let report = Report::of(IrregularityKind::TwoHands, Some(Side::White));
    do_it(&mut watcher, 6000, Command::Report(report.clone()));
    let again = Report {
        confirmed: Some(true),
        ..report
    };
    do_it(&mut watcher, 6000, Command::Report(again));
    let [first, second] = &watcher.game().open_irregularities[..] else {
        panic!("{:?}", watcher.game())
    };
    let (first, second) = (first.clone(), second.clone());
    let dismiss = Order {
        expects: Default::default(),
        by: Some("Anna".into()),
        ..Command::Dismiss {
            irregularity: first.clone(),
        }
        .into()
    };
    watcher.handle_command(Millis(7000), dismiss.clone()).unwrap();
    let told = drained(&mut watcher);
    let ended = told
        .iter()
        .find(|event| matches!(event.body, Body::IrregularityResolved { .. }));
    assert_eq!(ended.and_then(|event| event.by.as_deref()), Some("Anna"));
    let error = watcher.handle_command(Millis(7000), dismiss).unwrap_err();
    assert_eq!(error.code(), "closed");
    assert!(error.to_string().contains("dismissed by Anna"), "{error}");
    assert_eq!(
        watcher.game().open_irregularities.as_slice(),
        std::slice::from_ref(&second)
    );
    let reopen = Command::Reopen {
        irregularity: first.clone(),
    };
    do_it(&mut watcher, 8000, reopen.clone());
    assert_eq!(watcher.game().open_irregularities.len(), 2);
    let told = drained(&mut watcher);
    let amended = told.iter().find_map(|event| match &event.body {
        Body::RulingAmended(amendment) => Some((amendment.irregularity.clone(), amendment.offence_number)),
        _ => None,
    });
    assert_eq!(
        amended,
        Some((second, 2)),
        "the other offence is the second again: {told:?}"
    );
    assert_eq!(refused(&mut watcher, 8000, reopen), "refused");
    let penalty = Penalty {
        kind: PenaltyKind::Time,
        seconds: 120,
        to: Some(Side::Black),
    };
    let note = Command::Note {
        irregularity: first,
        penalty: Some(penalty),
        note: "two minutes".to_owned().try_into().ok(),
    };
    do_it(&mut watcher, 9000, note);
    let told = drained(&mut watcher);
    assert!(
        matches!(&told[0].body, Body::CaseNoted { penalty: Some(given), .. } if *given == penalty),
        "{told:?}"
    );
}

#[test]
fn an_earlier_game_is_put_right_with_events_of_the_journal() {
    let mut watcher = after_e4();
    let report = Report::of(IrregularityKind::TwoHands, Some(Side::White));
    do_it(&mut watcher, 6000, Command::Report(report));
    let id = watcher.game().open_irregularities[0].clone();
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    let mut journal = drained(&mut watcher);
    // The next game begins.
    set_up_anew(&mut watcher, 10_000);
    do_it(&mut watcher, 20_000, Command::NewGame);
    journal.extend(drained(&mut watcher));
    assert_eq!(watcher.game().game, Some(2));

    let of_first: Vec<Event> = journal
        .iter()
        .filter(|event| event.game == Some(1))
        .cloned()
        .collect();
    let mut past = of_first;
    let mut order = |watcher: &mut Watcher, command: Command| {
        assert!(watcher.needs(&command).is_some(), "{command:?}");
        let order = Order {
            expects: Default::default(),
            past: Some(past.clone()),
            by: Some("Anna".into()),
            command,
        };
        let reply = watcher.handle_command(Millis(21_000), order);
        let told = drained(watcher);
        assert!(
            told.iter()
                .all(|event| event.game == Some(1) && event.by.is_some()),
            "{told:?}"
        );
        past.extend(told.clone());
        (reply, told)
    };
    let (reply, _) = order(
        &mut watcher,
        Command::Result {
            result: GameResult::Draw,
            reason: "agreed".to_owned().try_into().ok(),
            game: Some(1),
        },
    );
    assert_eq!(reply.unwrap().game.unwrap().result, Some(GameResult::Draw));
    let mut correction = correct(2, 0, &["e5"]);
    correction.game = Some(1);
    let (reply, told) = order(&mut watcher, Command::Correct(correction));
    assert_eq!(reply.unwrap().game.unwrap().moves, ["e2e4", "e7e5"]);
    assert_eq!(moves_of(&told), ["e7e5"]);
    let (reply, _) = order(
        &mut watcher,
        Command::Dismiss {
            irregularity: id.clone(),
        },
    );
    assert!(reply.unwrap().game.unwrap().open_irregularities.is_empty());
    let (reply, _) = order(
        &mut watcher,
        Command::Dismiss {
            irregularity: id.clone(),
        },
    );
    assert_eq!(reply.unwrap_err().code(), "closed");
    let (reply, _) = order(
        &mut watcher,
        Command::Reopen {
            irregularity: id.clone(),
        },
    );
    assert_eq!(reply.unwrap().game.unwrap().open_irregularities, [id]);
    let resume = Command::Resume {
        reason: None,
        game: Some(1),
    };
    let (reply, _) = order(&mut watcher, resume);
    assert_eq!(reply.unwrap().game.unwrap().result, Some(GameResult::Open));
    assert_eq!(watcher.game().game, Some(2), "the present game does not change");
    assert!(watcher.game().moves.is_empty());
}

#[test]
fn the_next_game_can_be_a_forfeit() {
    let mut watcher = after_e4();
    let forfeit = |game| Command::Result {
        result: GameResult::WhiteByForfeit,
        reason: None,
        game,
    };
    assert_eq!(refused(&mut watcher, 6000, forfeit(Some(2))), "refused");
    do_it(&mut watcher, 6000, Command::result(GameResult::Draw));
    drained(&mut watcher);
    do_it(&mut watcher, 7000, forfeit(Some(2)));
    let events = drained(&mut watcher);
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events.iter().all(|event| event.game == Some(2)));
    let pgn = watcher.pgn().unwrap();
    assert!(
        pgn.contains("[Result \"1-0\"]\n[Termination \"forfeit\"]"),
        "{pgn}"
    );
    assert_eq!(refused(&mut watcher, 8000, forfeit(Some(9))), "no_such_game");
}

#[test]
fn a_flag_fall_that_the_clock_contradicts_needs_confirmation() {
    let mut watcher = after_e4();
    let mut report = Report::of(IrregularityKind::FlagFall, Some(Side::White));
    report.confirmed = Some(false);
    assert_eq!(
        refused(&mut watcher, 6000, Command::Report(report.clone())),
        "contradicts_clock"
    );
    report.confirmed = Some(true);
    do_it(&mut watcher, 6000, Command::Report(report));
    assert_eq!(watcher.game().open_irregularities.len(), 1);
}

#[test]
fn a_report_may_name_its_half_move_and_have_a_note() {
    let mut watcher = after_e4();
    drained(&mut watcher);
    let mut report = Report::of(IrregularityKind::TwoHands, None);
    report.ply = Some(1);
    report.note = "castled with both hands".to_owned().try_into().ok();
    do_it(&mut watcher, 6000, Command::Report(report.clone()));
    let told = drained(&mut watcher);
    let Body::Irregularity(it) = &told[0].body else {
        panic!("{told:?}")
    };
    assert_eq!((it.ply, it.offender), (1, Some(Side::White)));
    assert_eq!(it.note.as_deref(), Some("castled with both hands"));
    report.ply = Some(3);
    assert_eq!(refused(&mut watcher, 6000, Command::Report(report)), "refused");
}
