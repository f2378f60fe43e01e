use super::*;

fn clock(left: u32, right: u32, lever: Lever) -> ClockSaid {
    ClockSaid::Reading(ClockReading::of_seconds(left, right, true, lever))
}

fn records(all: &[LogRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    all.iter().for_each(|record| record.encode(&mut bytes));
    bytes
}

fn field(square: u8, piece: u8) -> LogRecord {
    LogRecord::Field {
        square,
        piece: PieceCode(piece),
        soon_after: false,
    }
}

fn model() -> BoardModel {
    let mut squares = Box::new([PieceCode::EMPTY; 64]);
    squares[52] = PieceCode(1);
    BoardModel {
        squares: Some(squares),
        clock: Some(clock(100, 90, Lever::LeftHigh)),
        ..BoardModel::default()
    }
}

fn after(changes: &[(usize, u8)]) -> Box<Squares> {
    let mut squares = model().squares.unwrap();
    changes
        .iter()
        .for_each(|(square, piece)| squares[*square] = PieceCode(*piece));
    squares
}

fn moved(square: u8, piece: u8) -> Happened {
    Happened::Field {
        square,
        piece: PieceCode(piece),
        apart: false,
    }
}

const PRESS: LogRecord = LogRecord::Time {
    side: ClockSide::Left,
    seconds: 97,
};

/// On a board that marks changes as soon after another, the other changes lie apart. A board with old
/// firmware marks none.
#[test]
fn changes_lie_apart_only_on_boards_that_mark_the_others() {
    let apart = |changes: &[bool]| -> Vec<bool> {
        let record = |(square, soon_after): (u8, &bool)| LogRecord::Field {
            square,
            piece: PieceCode(1),
            soon_after: *soon_after,
        };
        let changes = records(&(0..).zip(changes).map(record).collect::<Vec<_>>());
        let told = model().take(&Answers {
            changes,
            ..Answers::default()
        });
        let is_apart = |one: &Happened| match one {
            Happened::Field { apart, .. } => Some(*apart),
            Happened::Clock(_) | Happened::Dump(_) | Happened::Since => None,
        };
        told.happened.iter().filter_map(is_apart).collect()
    };
    assert_eq!(apart(&[false, false]), [false, false]);
    assert_eq!(apart(&[false, true, false]), [false, false, true]);
}

#[test]
fn a_press_comes_where_the_records_have_it() {
    let changes = records(&[field(52, 0), field(36, 1), PRESS, field(12, 0)]);
    let answers = Answers {
        clock: Some(clock(97, 89, Lever::RightHigh)),
        changes,
        ..Answers::default()
    };
    let told = model().take(&answers).happened;
    let wanted = [
        moved(52, 0),
        moved(36, 1),
        Happened::Clock(clock(97, 90, Lever::RightHigh)),
        moved(12, 0),
        Happened::Clock(clock(97, 89, Lever::RightHigh)),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn a_clock_that_was_read_before_the_press_comes_before_it() {
    let answers = Answers {
        clock: Some(clock(98, 90, Lever::LeftHigh)),
        changes: records(&[field(52, 0), PRESS]),
        ..Answers::default()
    };
    let told = model().take(&answers).happened;
    let wanted = [
        moved(52, 0),
        Happened::Clock(clock(98, 90, Lever::LeftHigh)),
        Happened::Clock(clock(97, 90, Lever::RightHigh)),
    ];
    assert_eq!(told, wanted);
    // After two presses the lever stands as before, and the time of the side that stopped decides.
    let back = LogRecord::Time {
        side: ClockSide::Right,
        seconds: 85,
    };
    let answers = Answers {
        clock: Some(clock(98, 90, Lever::LeftHigh)),
        changes: records(&[PRESS, back]),
        ..Answers::default()
    };
    let told = model().take(&answers).happened;
    assert_eq!(
        told.first(),
        Some(&Happened::Clock(clock(98, 90, Lever::LeftHigh)))
    );
    assert_eq!(told.len(), 3);
}

#[test]
fn a_clock_that_was_started_ran_before_the_half_moves() {
    let standing = |lever| match clock(100, 90, lever) {
        ClockSaid::Reading(reading) => ClockSaid::Reading(ClockReading {
            running: false,
            ..reading
        }),
        ClockSaid::Absent => ClockSaid::Absent,
    };
    let mut model = BoardModel {
        clock: Some(standing(Lever::LeftHigh)),
        ..model()
    };
    let told = model.take(&Answers {
        clock: Some(clock(97, 90, Lever::RightHigh)),
        changes: records(&[field(52, 0), PRESS]),
        ..Answers::default()
    });
    let wanted = [
        Happened::Clock(clock(100, 90, Lever::LeftHigh)),
        moved(52, 0),
        Happened::Clock(clock(97, 90, Lever::RightHigh)),
    ];
    assert_eq!(told.happened[..3], wanted);
}

/// This program slept for some seconds. Meanwhile the clock was started, both players moved, and it was stopped again.
#[test]
fn a_clock_that_was_started_and_stopped_ran_for_the_presses_between() {
    let stands = |left, right| {
        let reading = ClockReading::of_seconds(left, right, false, Lever::LeftHigh);
        ClockSaid::Reading(reading)
    };
    let back = LogRecord::Time {
        side: ClockSide::Right,
        seconds: 118,
    };
    let take = |is_overdue, changes: &[LogRecord]| {
        let mut model = BoardModel {
            clock: Some(stands(100, 90)),
            ..model()
        };
        let answers = Answers {
            clock: Some(stands(97, 118)),
            changes: records(changes),
            is_overdue,
            ..Answers::default()
        };
        model.take(&answers).happened
    };
    let wanted = [
        Happened::Clock(clock(100, 90, Lever::LeftHigh)),
        moved(52, 0),
        Happened::Clock(clock(97, 90, Lever::RightHigh)),
        moved(12, 0),
        Happened::Clock(stands(97, 118)),
        Happened::Clock(stands(97, 118)),
    ];
    let moves = [field(52, 0), PRESS, field(12, 0), back];
    assert_eq!(take(true, &moves), wanted);
    let runs = |told: &[Happened]| {
        let is_running =
            |one: &Happened| matches!(one, Happened::Clock(ClockSaid::Reading(reading)) if reading.running);
        told.iter().filter(|one| is_running(one)).count()
    };
    // In a second only an arbiter does all that, who sets the times; and nobody gains two minutes by a press.
    assert_eq!(runs(&take(false, &moves)), 0);
    let set = |side, seconds| [field(52, 0), LogRecord::Time { side, seconds }];
    assert_eq!(runs(&take(true, &set(ClockSide::Left, 220))), 0);
    // A lever that is moved while the clock stands changes no time.
    assert_eq!(runs(&take(true, &set(ClockSide::Left, 100))), 0);
    assert_eq!(runs(&take(true, &[PRESS])), 1);
}

#[test]
fn a_press_that_starts_the_clock_is_told_once() {
    let standing = ClockReading {
        running: false,
        ..clock(100, 90, Lever::RightHigh).reading().unwrap()
    };
    let mut model = BoardModel {
        clock: Some(ClockSaid::Reading(standing)),
        ..model()
    };
    let back = LogRecord::Time {
        side: ClockSide::Right,
        seconds: 90,
    };
    let told = model.take(&Answers {
        clock: Some(clock(100, 90, Lever::LeftHigh)),
        changes: records(&[back]),
        ..Answers::default()
    });
    let runs = || Happened::Clock(clock(100, 90, Lever::LeftHigh));
    assert_eq!(told.happened, [runs(), runs()]);
}

#[test]
fn the_clock_tells_a_press_that_the_log_has_skipped() {
    let answers = Answers {
        clock: Some(clock(97, 89, Lever::RightHigh)),
        changes: records(&[field(52, 0), field(36, 1)]),
        ..Answers::default()
    };
    let told = model().take(&answers).happened;
    assert_eq!(
        told.last(),
        Some(&Happened::Clock(clock(97, 89, Lever::RightHigh)))
    );
}

#[test]
fn a_dump_comes_where_it_fits() {
    for (dump, place) in [
        (after(&[]), 0),
        (after(&[(52, 0)]), 1),
        (after(&[(52, 0), (36, 1)]), 2),
    ] {
        let answers = Answers {
            dump: Some(dump.clone()),
            changes: records(&[field(52, 0), field(36, 1)]),
            ..Answers::default()
        };
        let told = model().take(&answers);
        assert_eq!(told.happened[place], Happened::Dump(dump));
        assert_eq!((told.happened.len(), told.is_odd, told.lost), (3, false, false));
    }
}

#[test]
fn a_dump_that_fits_nowhere_is_repeated_before_it_is_believed() {
    let mut model = model();
    let answers = |changes: &[LogRecord]| Answers {
        dump: Some(after(&[(52, 0), (20, 3)])),
        changes: records(changes),
        ..Answers::default()
    };
    let told = model.take(&answers(&[field(52, 0)]));
    assert_eq!(
        (told.happened, told.is_odd, told.lost),
        (vec![moved(52, 0)], true, false)
    );
    let told = model.take(&answers(&[]));
    assert!(told.lost && !told.is_odd);
    assert!(matches!(told.happened.as_slice(), [Happened::Dump(_)]));
    assert_eq!(model.squares, Some(after(&[(52, 0), (20, 3)])));
}

#[test]
fn nothing_is_known_of_a_board_after_it_got_power() {
    let mut model = model();
    let told = model.take(&Answers {
        changes: records(&[field(52, 0), LogRecord::PowerUp, field(36, 1)]),
        ..Answers::default()
    });
    assert!(told.powered_up && told.happened.is_empty());
    assert!(model.squares.is_none() && model.clock.is_none());
    assert!(
        model
            .take(&Answers {
                changes: vec![0x10],
                ..Answers::default()
            })
            .is_odd
    );
}

/// Answers of a board to a master that asks it for the first time.
fn first(repeated: &[LogRecord], changes: &[LogRecord], dump: Box<Squares>) -> Vec<Happened> {
    let answers = Answers {
        dump: Some(dump),
        repeated: records(repeated),
        changes: records(changes),
        ..Answers::default()
    };
    BoardModel::default().take(&answers).happened
}

#[test]
fn what_the_board_kept_comes_before_its_first_dump() {
    let dump = after(&[(52, 0), (36, 1)]);
    let told = first(&[field(52, 0)], &[field(36, 1)], dump.clone());
    let all = [
        moved(52, 0),
        Happened::Since,
        moved(36, 1),
        Happened::Dump(dump.clone()),
    ];
    assert_eq!(told, all);
    let told = first(&[field(52, 0)], &[LogRecord::PowerUp, field(36, 1)], dump.clone());
    assert_eq!(
        told,
        [moved(36, 1), Happened::Dump(dump)],
        "nobody knows what was before the power"
    );
}

#[test]
fn of_a_board_that_kept_very_much_nothing_is_told_but_what_stands() {
    let dump = after(&[(52, 1)]);
    let lifts = [field(52, 0), field(52, 1)].repeat(MOST_TOLD);
    assert_eq!(first(&[], &lifts, dump.clone()), [Happened::Dump(dump)]);
}
