use super::*;
use crate::laws::{Case, Facts, Options, Supervision, TimeControl, decide};

fn advice_of(
    kind: IrregularityKind,
    offender: Option<Side>,
    edition: Edition,
    control: TimeControl,
) -> Advice {
    let mut facts = Facts::new(kind, offender);
    facts.offence_number = u32::from(crate::laws::offence::is_counted_kind(kind));
    advice_on(&Case {
        edition,
        time_control: control,
        supervision: Supervision::Adequate,
        facts,
    })
}

fn advice_on(case: &Case) -> Advice {
    let ruling = decide(case, &Options::default());
    Advice {
        penalty: ruling.penalty,
        position: ruling.position,
        articles: ruling.articles,
        target_fen: None,
        clock_proposal: Some(ClockState {
            white_ms: 5_025_900,
            black_ms: 59_000,
            running: Some(Side::White),
        }),
        ..Advice::none()
    }
}

fn is_square(word: &str) -> bool {
    matches!(word.as_bytes(), [b'a'..=b'h', b'1'..=b'8'])
}

fn is_article(word: &str) -> bool {
    let mut parts = word.split('.');
    let first = parts.next().unwrap_or_default();
    let head = matches!(first, "A" | "B" | "C" | "III") || first.chars().skip(1).all(|c| c.is_ascii_digit());
    head && parts.all(|p| p.len() == 1 || p.chars().all(|c| c.is_ascii_digit()))
}

fn assert_well_said(language: &str, text: &str) {
    assert!(
        !text.trim().is_empty() && text == text.trim(),
        "{language}: {text:?}"
    );
    for wrong in [
        "{", "}", "  ", "..", " ,", " .", "()", "None", "Some", "null", "_",
    ] {
        assert!(!text.contains(wrong), "{language}: {wrong:?} in {text:?}");
    }
    let words = text
        .split(|c: char| !c.is_alphanumeric() && c != '.')
        .filter(|w| !w.is_empty());
    for word in words.map(|w| w.trim_end_matches('.')) {
        let latin = word.chars().any(|c| c.is_ascii_alphabetic());
        let cyrillic = word.chars().any(|c| ('\u{400}'..'\u{500}').contains(&c));
        match language {
            "ru" => assert!(
                !latin || is_square(word) || is_article(word),
                "{word:?} in {text:?}"
            ),
            _ => assert!(!cyrillic, "{word:?} in {text:?}"),
        }
    }
}

fn check(occurrence: &Occurrence<'_>) -> BTreeMap<String, Words> {
    let said = words(occurrence);
    assert_eq!(said.keys().map(String::as_str).collect::<Vec<_>>(), ["en", "ru"]);
    for (language, Words { title, advice }) in &said {
        assert_well_said(language, title);
        assert_well_said(language, advice);
        assert!(title.chars().next().is_some_and(char::is_uppercase), "{title}");
        assert!(
            !title.ends_with('.') && advice.ends_with('.'),
            "{title} / {advice}"
        );
        assert!(!title.contains('\n') && !advice.contains('\n'));
        for article in &occurrence.advice.articles {
            assert!(advice.contains(article), "{article} is not cited in {advice}");
        }
    }
    assert_ne!(said["en"], said["ru"]);
    said
}

#[test]
fn nothing_lacks_words_in_either_language_and_no_slot_stays_open() {
    let squares = ["e4".to_owned(), "d8".to_owned()];
    let knight = ActMove {
        piece: Some(Role::Knight),
        from: shakmaty::Square::B1,
        to: shakmaty::Square::D4,
    };
    let reasons = std::iter::once(None)
        .chain(IllegalReason::ALL.map(Some))
        .collect::<Vec<_>>();
    for kind in IrregularityKind::ALL {
        let kind_reasons = if kind == IrregularityKind::IllegalMove {
            &reasons[..]
        } else {
            &reasons[..1]
        };
        for (edition, control) in Edition::ALL
            .into_iter()
            .zip([TimeControl::Standard, TimeControl::Blitz].into_iter().cycle())
        {
            for offender in [None, Some(Side::White), Some(Side::Black)] {
                let advice = advice_of(kind, offender, edition, control);
                for reason in kind_reasons.iter().copied() {
                    for certainty in [Certainty::Suspected, Certainty::Probable, Certainty::Certain] {
                        for (squares, act) in
                            [(&squares[..], Some(knight)), (&squares[..1], None), (&[], None)]
                        {
                            check(&Occurrence {
                                kind,
                                reason,
                                offender,
                                certainty,
                                edition,
                                offence_number: u32::from(offender.is_some()),
                                act,
                                squares,
                                advice: &advice,
                                mate_undetermined: false,
                                first_flag: offender,
                                note: None,
                                raised_by_system: offender.is_none(),
                            });
                        }
                    }
                }
            }
        }
    }
}

/// A change of a fact that changes what the Laws say.
type Change = fn(&mut Facts);

/// Such changes, one at a time.
const CHANGES: [Change; 9] = [
    |_| {},
    |facts| facts.opponent_has_replied = true,
    |facts| facts.opponent_can_mate = false,
    |facts| facts.clock_pressed = false,
    |facts| facts.raised_by = crate::laws::RaisedBy::Nobody,
    |facts| facts.claim_correct = Some(false),
    |facts| facts.claim_correct = Some(true),
    |facts| facts.prescribed_moves_done = true,
    |facts| (facts.moves_completed.white, facts.moves_completed.black) = (10, 10),
];

#[test]
fn every_kind_edition_control_and_supervision_has_words() {
    for kind in IrregularityKind::ALL {
        for edition in Edition::ALL {
            for time_control in [TimeControl::Standard, TimeControl::Rapid, TimeControl::Blitz] {
                for supervision in [Supervision::Adequate, Supervision::NotAdequate] {
                    for change in CHANGES {
                        let mut facts = Facts::new(kind, Some(Side::Black));
                        change(&mut facts);
                        let advice = advice_on(&Case {
                            edition,
                            time_control,
                            supervision,
                            facts,
                        });
                        check(&plain(kind, edition, &advice));
                    }
                }
            }
        }
    }
}

fn plain(kind: IrregularityKind, edition: Edition, advice: &Advice) -> Occurrence<'_> {
    Occurrence {
        kind,
        reason: None,
        offender: Some(Side::Black),
        certainty: Certainty::Certain,
        edition,
        offence_number: 0,
        act: None,
        squares: &[],
        advice,
        mate_undetermined: false,
        first_flag: None,
        note: None,
        raised_by_system: false,
    }
}

#[test]
fn russian_nouns_agree_with_their_numbers() {
    let added = [
        (1, "1 секунду"),
        (3, "3 секунды"),
        (12, "12 секунд"),
        (45, "45 секунд"),
        (61, "61 секунду"),
        (60, "1 минуту"),
        (120, "2 минуты"),
        (300, "5 минут"),
        (660, "11 минут"),
        (1260, "21 минуту"),
    ];
    for (seconds, expected) in added {
        let mut advice = advice_of(
            IrregularityKind::IllegalMove,
            Some(Side::Black),
            Edition::Laws2023,
            TimeControl::Standard,
        );
        advice.penalty.seconds = seconds;
        let said = words(&plain(IrregularityKind::IllegalMove, Edition::Laws2023, &advice));
        let expected = format!("Добавить белым {expected}.");
        assert!(said["ru"].advice.contains(&expected), "{}", said["ru"].advice);
    }
}

#[test]
fn a_draw_claim_is_called_what_it_is() {
    let told = |claim: Option<bool>| {
        let mut facts = Facts::new(IrregularityKind::ThreefoldClaim, Some(Side::Black));
        facts.claim_correct = claim;
        let advice = advice_on(&Case {
            edition: Edition::Laws2023,
            time_control: TimeControl::Standard,
            supervision: Supervision::Adequate,
            facts,
        });
        let said = words(&plain(
            IrregularityKind::ThreefoldClaim,
            Edition::Laws2023,
            &advice,
        ));
        (said["en"].title.clone(), said["en"].advice.clone())
    };
    let (title, advice) = told(Some(false));
    assert_eq!(title, "Incorrect draw claim (threefold repetition): Black");
    assert!(advice.starts_with("The claim is not confirmed.") && !advice.contains("third time"));
    assert!(
        told(Some(true))
            .1
            .starts_with("The claim is confirmed. The game is drawn.")
    );
    assert!(told(None).1.contains("a draw needs a player's claim"));
}

#[test]
fn every_ruling_has_words_whatever_it_is_about() {
    let penalties = [
        (PenaltyKind::Time, 120),
        (PenaltyKind::Time, 60),
        (PenaltyKind::Time, 45),
        (PenaltyKind::Loss, 0),
        (PenaltyKind::Draw, 0),
        (PenaltyKind::None, 0),
        (PenaltyKind::Arbiter, 0),
    ];
    let positions = [
        PositionRuling::ReinstateBefore,
        PositionRuling::LastIdentifiable,
        PositionRuling::Continue,
        PositionRuling::NewGame,
        PositionRuling::Transfer,
        PositionRuling::ReplaceWithQueen,
        PositionRuling::Stands,
    ];
    for kind in IrregularityKind::ALL {
        for (penalty, seconds) in penalties {
            for position in positions {
                for offence_number in 0..5 {
                    let to = matches!(penalty, PenaltyKind::Time | PenaltyKind::Loss).then_some(Side::Black);
                    let advice = Advice {
                        penalty: Penalty {
                            kind: penalty,
                            seconds,
                            to,
                        },
                        position,
                        articles: vec!["7.5.1".to_owned()],
                        target_fen: None,
                        ..Advice::none()
                    };
                    check(&Occurrence {
                        kind,
                        reason: None,
                        offender: Some(Side::White),
                        certainty: Certainty::Certain,
                        edition: Edition::Laws2023,
                        offence_number,
                        act: None,
                        squares: &[],
                        advice: &advice,
                        mate_undetermined: false,
                        first_flag: None,
                        note: None,
                        raised_by_system: false,
                    });
                }
            }
        }
    }
}

fn event(certainty: Certainty, kind: IrregularityKind, reason: Option<&str>) -> Irregularity {
    Irregularity {
        kind,
        offender: Some(Side::White),
        ply: 3,
        certainty,
        articles: Vec::new(),
        squares: vec!["b1".to_owned(), "d4".to_owned()],
        act: Some("b1d4".to_owned()),
        reason: reason.map(str::to_owned),
        fen_before: "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2".to_owned(),
        placement: String::new(),
        clock: None,
        offence_number: 1,
        ruling: advice_of(kind, Some(Side::White), Edition::Laws2023, TimeControl::Standard),
        text: BTreeMap::new(),
        note: None,
    }
}

#[test]
fn an_illegal_move_is_told_with_piece_squares_penalty_times_and_articles() {
    let event = event(
        Certainty::Certain,
        IrregularityKind::IllegalMove,
        Some("piece_cannot_move_so"),
    );
    let said = check(&Occurrence::of(&event, Edition::Laws2023));
    assert_eq!(
        said["en"].title,
        "Illegal move: White, knight b1-d4 (the piece does not move so)"
    );
    assert_eq!(
        said["en"].advice,
        "The knight cannot go from b1 to d4. Restore the position just before; White then moves the piece touched, if it \
         has a legal move. Add 2 minutes to the clock of Black: first completed illegal move by White. Proposed times: \
         White 1:23:45, Black 0:00:59; White's clock running. Articles 7.5.1, 7.5.5, 7.1."
    );
    assert_eq!(
        said["ru"].title,
        "Невозможный ход: белые, конь b1-d4 (фигура так не ходит)"
    );
    assert_eq!(
        said["ru"].advice,
        "Конь не может пойти с b1 на d4. Вернуть позицию, бывшую непосредственно перед нарушением; ходить следует \
         тронутой фигурой, если у неё есть возможный ход. Добавить чёрным 2 минуты: первый завершённый невозможный ход \
         белых. Предлагаемое время: белые 1:23:45, чёрные 0:00:59; запустить часы белых. Статьи 7.5.1, 7.5.5, 7.1."
    );
}

#[test]
fn what_is_only_suspected_is_said_with_care() {
    for kind in [IrregularityKind::TwoHands, IrregularityKind::TouchMove] {
        let event = event(Certainty::Suspected, kind, None);
        let said = check(&Occurrence::of(&event, Edition::Laws2023));
        assert!(said["en"].title.contains('?') && said["ru"].title.contains('?'));
        assert!(
            said["en"].advice.contains("If confirmed:") && said["ru"].advice.contains("Если подтвердится:")
        );
        assert!(said["en"].advice.starts_with("Only a hint"));
    }
}

#[test]
fn every_reason_of_the_watcher_is_known() {
    for reason in IllegalReason::ALL {
        assert_eq!(IllegalReason::parse(reason.as_str()), Some(reason));
    }
    assert_eq!(IllegalReason::parse("no such reason"), None);
}

#[test]
fn what_a_person_wrote_is_told_in_one_line_in_both_languages() {
    let mut event = event(Certainty::Certain, IrregularityKind::Other, None);
    event.act = None;
    event.squares.clear();
    event.note = Some("chair\nmoved  twice".to_owned());
    let said = words(&Occurrence::of(&event, Edition::Laws2023));
    assert_eq!(said["en"].title, "Other irregularity: White");
    assert_eq!(
        said["en"].advice,
        "The arbiter has written down an irregularity of another kind. Note: “chair moved twice”. Play continues from the \
         present position. The Laws leave the penalty to the arbiter. Proposed times: White 1:23:45, Black 0:00:59; White's \
         clock running. Article 12.9."
    );
    assert!(
        said["ru"].advice.contains("Примечание: «chair moved twice»."),
        "{}",
        said["ru"].advice
    );
    event.note = Some(" \n".to_owned());
    let said = words(&Occurrence::of(&event, Edition::Laws2023));
    assert!(!said["en"].advice.contains("Note") && !said["ru"].advice.contains("Примечание"));
}

#[test]
fn what_the_rules_of_an_event_may_say_otherwise_is_told() {
    let told = |kind, edition, control| {
        let advice = advice_of(kind, Some(Side::Black), edition, control);
        let said = check(&plain(kind, edition, &advice));
        (said["en"].advice.clone(), said["ru"].advice.clone())
    };
    let (en, ru) = told(
        IrregularityKind::ElectronicDevice,
        Edition::Laws2023,
        TimeControl::Standard,
    );
    let less = "The game is lost by Black, unless the rules of the event specify a less severe penalty.";
    assert!(
        en.contains(less) && ru.contains("не предусматривает более мягкого наказания"),
        "{en} {ru}"
    );
    let (en, ru) = told(
        IrregularityKind::LateArrival,
        Edition::Laws2023,
        TimeControl::Standard,
    );
    assert!(
        en.contains("default time") && ru.contains("времени допустимого опоздания"),
        "{en} {ru}"
    );
    let (en, ru) = told(
        IrregularityKind::LateArrival,
        Edition::Laws1997,
        TimeControl::Standard,
    );
    assert!(
        en.contains("more than an hour") && ru.contains("более чем на час"),
        "{en} {ru}"
    );
    let (en, ru) = told(
        IrregularityKind::NotRecording,
        Edition::Laws2018,
        TimeControl::Rapid,
    );
    assert!(
        en.contains("need not be recorded") && ru.contains("не обязательно"),
        "{en} {ru}"
    );
    let (en, ru) = told(
        IrregularityKind::NotRecording,
        Edition::Laws2018,
        TimeControl::Standard,
    );
    assert!(
        !en.contains("need not") && !ru.contains("не обязательно"),
        "{en} {ru}"
    );
}
