//! What an arbiter sees beside the board.

use super::*;

/// Reports of all kinds of conduct, each with a note.
fn conduct() -> Vec<Report> {
    let of_conduct = IrregularityKind::ALL.into_iter().filter(|kind| kind.is_conduct());
    let noted = of_conduct.map(|kind| Report {
        note: "seen by the deputy".to_owned().try_into().ok(),
        ..Report::of(kind, None)
    });
    noted.collect()
}

#[test]
fn a_report_of_conduct_has_no_offender_unless_one_is_named() {
    assert_eq!(conduct().len(), 6);
    for (ply, told) in [(None, 2), (Some(0), 0), (Some(1), 1), (Some(2), 2)] {
        for mut report in conduct() {
            let mut watcher = after_e4();
            events(&mut watcher);
            report.ply = ply;
            let kind = report.kind;
            watcher
                .handle_command(Millis(6000), Command::Report(report))
                .unwrap();
            let events = events(&mut watcher);
            let it = said(&events);
            assert_eq!((it.kind, it.ply, it.offender), (kind, told, None));
            for language in ["en", "ru"] {
                let advice = &it.text[language].advice;
                assert!(advice.contains("seen by the deputy"), "{language}: {advice}");
            }
        }
    }
}

#[test]
fn a_report_of_another_irregularity_needs_a_note() {
    let mut watcher = after_e4();
    let mut report = Report::of(IrregularityKind::Other, Some(Side::White));
    assert_eq!(refused(&mut watcher, Command::Report(report.clone())), "refused");
    report.note = " ".to_owned().try_into().ok();
    assert_eq!(refused(&mut watcher, Command::Report(report)), "refused");
}

#[test]
fn a_player_with_a_device_loses_whether_or_not_the_opponent_can_mate() {
    let events = reported(
        &mut after_e4(),
        IrregularityKind::ElectronicDevice,
        Some(Side::White),
    );
    let ruling = &said(&events).ruling;
    assert_eq!(
        (ruling.penalty.kind, ruling.penalty.to),
        (PenaltyKind::Loss, Some(Side::Black))
    );
    assert!(!ruling.provisional, "the ruling does not depend on a mate");
}

#[test]
fn only_a_person_closes_a_case_of_conduct() {
    let mut watcher = after_e4();
    for mut report in conduct() {
        for ply in [1, 2] {
            report.ply = Some(ply);
            let command = Command::Report(report.clone());
            watcher.handle_command(Millis(6000), command).unwrap();
        }
    }
    // Black plays 1...e5. Then both half-moves are taken back.
    answer_e5(&mut watcher);
    for to_ply in [1, 0] {
        let retract = Command::Retract { to_ply };
        watcher.handle_command(Millis(12_000), retract).unwrap();
    }
    let mut resumed = Watcher::new(Settings::default(), Some(watcher.snapshot()));
    let end = Command::result(GameResult::WhiteWins);
    for watcher in [&mut watcher, &mut resumed] {
        watcher.handle_command(Millis(13_000), end.clone()).unwrap();
        assert_eq!(watcher.game().open_irregularities.len(), 12);
    }
}

#[test]
fn an_open_case_of_conduct_does_not_hide_an_offence_at_the_board() {
    let mut watcher = after_e4();
    for report in conduct() {
        let command = Command::Report(report);
        watcher.handle_command(Millis(6000), command).unwrap();
    }
    events(&mut watcher);
    // White moves out of turn: 2.d4.
    knight(&mut watcher, 7000, 51, 0);
    knight(&mut watcher, 7300, 35, 1);
    hear(&mut watcher, 12_000, clock(Lever::RightHigh));
    hear(&mut watcher, 16_000, clock(Lever::RightHigh));
    assert_eq!(said(&events(&mut watcher)).kind, IrregularityKind::MovedOutOfTurn);
}

#[test]
fn a_game_has_so_many_irregularities_and_no_more() {
    let mut watcher = after_e4();
    for _ in 0..256 {
        reported(&mut watcher, IrregularityKind::TwoHands, None);
    }
    let report = report(IrregularityKind::TwoHands, None);
    let refusal = watcher.handle_command(Millis(6000), report).unwrap_err();
    assert!(refusal.to_string().contains("256"), "{refusal}");
}
