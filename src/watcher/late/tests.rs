use super::*;
use crate::dgt::{Lever, PieceCode};

const FIELD: Message<'_> = Message::Field {
    square: 0,
    piece: PieceCode::EMPTY,
};

fn clock(left: u32, right: u32, lever: Lever) -> ClockReading {
    ClockReading::of_seconds(left, right, true, lever)
}

fn late() -> Late {
    let mut late = Late::default();
    late.note(
        Millis(1000),
        Millis(1000),
        &Message::Clock(clock(100, 100, Lever::RightHigh)),
    );
    late
}

#[test]
fn a_log_may_be_longer_than_any_other_bytes_that_are_held() {
    let holds = |bytes: &[u8]| {
        let mut late = late();
        let chunks = bytes
            .chunks(64)
            .take_while(|bytes| late.holds(Millis(60_000), bytes, false));
        chunks.count() * 64
    };
    let mut log = Vec::new();
    Message::EventLog(&[0x41; 0x1000]).encode(&mut log);
    assert_eq!(holds(&log), log.len().next_multiple_of(64), "{}", log.len());
    // A log without an end, and a flood of dumps: the watcher would work on the held bytes for seconds.
    assert_eq!(holds(&[&log[..3], &[0; 0x8000]].concat()), MOST_WITH_LOG);
    let mut boards = Vec::new();
    while boards.len() < 0x2000 {
        Message::Dump(&[PieceCode::EMPTY; 64]).encode(&mut boards);
    }
    assert_eq!(holds(&boards), MOST_HELD);
}

#[test]
fn the_watcher_waits_for_a_running_clock_and_not_for_a_stopped_one() {
    let mut late = late();
    assert_eq!(late.known_until(), Some(Millis(2200)));
    assert!(
        !late.holds(Millis(2000), &[1], false),
        "the clock was heard within its time"
    );
    assert!(late.holds(Millis(2300), &[1], false));
    assert!(
        late.holds(Millis(2301), &[2], false),
        "these bytes may be the rest of the lump"
    );
    assert_eq!(late.due(), Some(Millis(2321)));
    assert_eq!(late.take().len(), 2);
    let mut stands = clock(100, 100, Lever::RightHigh);
    stands.running = false;
    late.note(Millis(3000), Millis(3000), &Message::Clock(stands));
    assert_eq!(late.known_until(), None);
}

#[test]
fn a_change_and_two_levers_in_one_instant_have_waited_however_lively_the_line_is() {
    let shown = |levers: &[(u64, Lever)]| {
        let mut late = late();
        for (at, lever) in levers {
            late.note(Millis(*at), Millis(*at), &FIELD);
            let reading = clock(100, 100, *lever);
            late.note(Millis(*at), Millis(*at), &Message::Clock(reading));
        }
        late.has_waited()
    };
    let prompt = (1100, Lever::RightHigh);
    assert!(shown(&[
        prompt,
        (1900, Lever::RightHigh),
        (1900, Lever::LeftHigh)
    ]));
    assert!(!shown(&[
        prompt,
        (1900, Lever::RightHigh),
        (1900, Lever::RightHigh)
    ]));
    assert!(!shown(&[
        prompt,
        (1900, Lever::RightHigh),
        (2150, Lever::LeftHigh)
    ]));
    assert!(
        !shown(&[(1900, Lever::RightHigh), (1900, Lever::LeftHigh)]),
        "a line that may gather has an allowance of its own"
    );
}

#[test]
fn what_comes_at_once_after_a_quiet_second_may_have_waited() {
    let coincide = |now: u64, came: &[(u64, Sort)]| {
        let came: Vec<_> = came.iter().map(|(at, sort)| (Millis(now + at), *sort)).collect();
        late().coincide(&came)
    };
    let shown = |left| Sort::Clock(clock(left, 100, Lever::RightHigh));
    assert!(coincide(2100, &[(0, Sort::Field), (2, shown(99))]));
    assert!(coincide(
        2100,
        &[(0, shown(99)), (0, Sort::Other), (0, shown(98))]
    ));
    assert!(
        !coincide(2100, &[(0, shown(99)), (0, shown(99))]),
        "the same frame again"
    );
    assert!(
        !coincide(2100, &[(0, Sort::Field), (0, Sort::Field)]),
        "a scan tells of both"
    );
    assert!(
        !coincide(2100, &[(0, Sort::Field), (10, shown(99))]),
        "a line takes so long"
    );
    assert!(
        !coincide(1900, &[(0, Sort::Field), (0, shown(99))]),
        "it was not quiet"
    );
}

#[test]
fn what_is_held_is_not_decided_upon_before_it_is_read() {
    let mut late = late();
    assert!(
        late.holds(Millis(2100), &[1], false),
        "it comes after a quiet second"
    );
    assert_eq!(late.known(Millis(2110)), Millis(2100));
    assert_eq!(late.known_at(Millis(2105)), late.due());
}

#[test]
fn a_silence_is_believed_in_the_end() {
    let mut late = late();
    late.tick(Millis(60_000));
    assert!(late.known_until().is_some());
    let due = late.due().unwrap();
    late.tick(due);
    assert_eq!((late.known_until(), late.due()), (None, None));
}

#[test]
fn the_clock_tells_when_the_messages_of_a_lump_happened() {
    let late = late();
    let side = clock(100, 100, Lever::RightHigh).counting().unwrap();
    let after = |seconds: u32| {
        let mut reading = clock(100, 100, Lever::RightHigh);
        match side {
            crate::dgt::ClockSide::Left => reading.left.seconds -= seconds,
            crate::dgt::ClockSide::Right => reading.right.seconds -= seconds,
        }
        Sort::Clock(reading)
    };
    let now = Millis(9000);
    let came = [after(1), Sort::Field, Sort::Field, after(4)].map(|sort| (now, sort));
    let times: Vec<u64> = late.times(&came).iter().map(|at| at.0).collect();
    // The times begin when the silence was known.
    assert_eq!(times, [3200, 3350, 3500, 6200]);
    let few = [(now, Sort::Field), (now, Sort::Field)];
    assert_eq!(
        late.times(&few),
        [now, now],
        "two messages may have come together by chance"
    );
}

#[test]
fn a_line_that_gathers_may_hold_messages_back() {
    let mut late = Late::new(1000, false);
    late.heard_at(Millis(5000));
    assert!(
        late.holds(Millis(5600), &[1], false),
        "every message was sent before it came"
    );
    assert_eq!(
        (late.known(Millis(5500)), late.known(Millis(6500))),
        (Millis(5000), Millis(5500))
    );
    assert_eq!(late.known_at(Millis(4000)), Some(Millis(5000)));
    assert_eq!(late.known_at(Millis(5200)), Some(Millis(6200)));
    // A single change happened at some time within the last second.
    let came = [(Millis(9000), Sort::Field)];
    assert_eq!(late.times(&came), [Millis(8000 + FIELD_MS)]);
    late.end();
    assert_eq!(late.gathers.ms(), 1000, "another link to the same server");
}

#[test]
fn a_lump_is_no_longer_than_the_silence() {
    let late = late();
    let came = [(Millis(2500), Sort::Field); 100];
    let times = late.times(&came);
    assert!(times.is_sorted() && times[0] > Millis(1000));
    assert_eq!(times[99], Millis(2500));
}

/// What was due when the caller went on is done before the held bytes are: that makes no time pass for them.
#[test]
fn what_waited_for_a_caller_that_stood_still_came_at_no_time_before() {
    let mut late = Late::new(0, false);
    late.stand_still(Millis(6200), Millis(65_899));
    assert!(late.holds(Millis(65_880), &[1], false));
    assert_eq!(late.known(Millis(65_899)), Millis(6200));
    assert!(!late.is_due(Millis(65_899)) && late.is_due(Millis(65_900)));
    assert_eq!(
        late.known_at(Millis(6300)),
        Some(Millis(65_900)),
        "whoever waits for that waits for the bytes"
    );
    let mut late = Late::new(0, false);
    late.stand_still(Millis(6200), Millis(7200));
    assert!(!late.holds(Millis(7190), &[1], false), "a second is nothing");
    late.stand_still(Millis(8000), Millis(9001));
    assert!(!late.holds(Millis(9002), &[1], false), "that came since");
}

/// A line of boards, of which one was heard at 6 s, that stood still.
fn asked(stood: &[(u64, u64)]) -> Late {
    let mut late = Late::new(1000, true);
    late.heard_at(Millis(6000));
    for (since, until) in stood {
        late.stand_still(Millis(*since), Millis(*until));
    }
    late
}

#[test]
fn a_line_that_is_a_little_late_does_not_stand_still() {
    let late = asked(&[(6100, 6125), (6500, 6525), (7000, 7700)]);
    assert_eq!(late.known(Millis(8000)), Millis(7000), "as far as it gathers");
    assert_eq!(late.waited_since(Millis(8000)), None);
}

#[test]
fn a_board_that_is_asked_tells_nothing_of_a_standstill_before_it_is_asked_again() {
    let mut late = asked(&[(6200, 65_900)]);
    assert_eq!(late.known(Millis(68_900)), Millis(6200));
    assert_eq!(late.known_at(Millis(7000)), Some(Millis(68_901)));
    assert_eq!(late.known(Millis(68_901)), Millis(67_901));
    // What it had been asked for before comes first.
    late.note(Millis(65_900), Millis(6600), &Message::Firmware(1, 2));
    late.heard_at(Millis(65_900));
    assert_eq!(late.known(Millis(66_000)), Millis(6200));
    late.note(Millis(66_200), Millis(66_200), &Message::Firmware(1, 2));
    assert_eq!(late.known(Millis(66_201)), Millis(66_200));
    let late = asked(&[(6200, 65_900), (68_901, 70_000)]);
    assert_eq!(
        late.known(Millis(70_100)),
        Millis(6200),
        "it was not asked between"
    );
}
