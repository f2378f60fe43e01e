//! What must hold of a watcher whatever comes in: no panic, time goes on, numbers without gaps, the
//! same answer for the same input, a restart that changes nothing, commands refused with a reason.
#![allow(clippy::unwrap_used)]

#[macro_use]
#[path = "help/skipped.rs"]
mod skipped;
#[path = "watcher_props/away.rs"]
mod away;
#[path = "watcher_props/begun_late.rs"]
mod begun_late;
#[path = "watcher_props/flags.rs"]
mod flags;
#[path = "watcher_props/found.rs"]
mod found;
#[path = "watcher_props/gathered.rs"]
mod gathered;
#[path = "watcher_props/heard.rs"]
mod heard;
#[path = "watcher_props/late.rs"]
mod late;
#[path = "watcher_props/lined.rs"]
mod lined;
#[path = "watcher_props/lumps.rs"]
mod lumps;
#[path = "help/offences.rs"]
mod offences;
#[path = "watcher_props/play.rs"]
mod play;
#[path = "watcher_props/restarts.rs"]
mod restarts;
#[path = "watcher_props/said.rs"]
mod said;
#[path = "watcher_props/silent_clock.rs"]
mod silent_clock;
#[path = "watcher_props/strikes.rs"]
mod strikes;
#[path = "watcher_props/talked.rs"]
mod talked;
#[path = "help/told/mod.rs"]
mod told;

use std::fmt;

use dgt2mqtt::{
    dgt::{ClockReading, ClockTime, Lever, Message, PieceCode},
    event::{Event, GameResult},
    laws::{IrregularityKind, RaisedBy, Side},
    time::Millis,
    watcher::{Command, GameView, Report, Settings, Snapshot, Watcher, command::Correct},
};
use proptest::prelude::*;

/// Something that happens to a watcher.
#[derive(Clone)]
enum Op {
    Bytes(Vec<u8>),
    Up,
    Down,
    Command(Command),
}

/// As in a capture, so that a failure can be made a fixture.
impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => {
                let hex: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
                write!(f, "< {}", hex.join(" "))
            }
            Self::Up => f.write_str("! up"),
            Self::Down => f.write_str("! down"),
            Self::Command(command) => write!(f, "{command:?}"),
        }
    }
}

fn encoded(message: Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

/// The initial array with some squares changed.
fn dump() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec((0usize..64, 0u8..16), 0..4).prop_map(|changes| {
        let mut squares = [PieceCode::EMPTY; 64];
        for (i, piece) in [8, 9, 10, 12, 11, 10, 9, 8].into_iter().enumerate() {
            (squares[i], squares[8 + i]) = (PieceCode(piece), PieceCode(7));
            (squares[56 + i], squares[48 + i]) = (PieceCode(piece - 6), PieceCode(1));
        }
        for (square, piece) in changes {
            squares[square] = PieceCode(piece);
        }
        encoded(Message::Dump(&squares))
    })
}

fn field() -> impl Strategy<Value = Vec<u8>> {
    (0u8..64, 0u8..16).prop_map(|(square, piece)| {
        let piece = PieceCode(piece);
        encoded(Message::Field { square, piece })
    })
}

fn clock() -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), any::<bool>(), 0u32..40, 0u32..40).prop_map(|(running, left_up, left, right)| {
        let time = |seconds| ClockTime {
            seconds,
            flag: seconds == 0,
            ..ClockTime::default()
        };
        encoded(Message::Clock(ClockReading {
            left: time(left),
            right: time(right),
            running,
            lever: if left_up {
                Lever::LeftHigh
            } else {
                Lever::RightHigh
            },
            battery_low: false,
        }))
    })
}

/// A half-move or two of an opening, so that games get under way.
fn opening() -> impl Strategy<Value = Vec<u8>> {
    let field = |square, piece| {
        let piece = PieceCode(piece);
        encoded(Message::Field { square, piece })
    };
    prop::sample::select(vec![
        [field(52, 0), field(36, 1)].concat(),
        [field(12, 0), field(28, 7)].concat(),
        [field(62, 0), field(45, 3)].concat(),
        [field(1, 0), field(18, 9)].concat(),
        // The kings go to the centre.
        [field(60, 0), field(36, 5), field(4, 0), field(27, 11)].concat(),
    ])
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 1..40),
        2 => dump(),
        4 => field(),
        6 => opening(),
        6 => clock(),
        1 => Just(encoded(Message::NoClock)),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let id = || (0u64..12).prop_map(|n| format!("gw/7/{n}"));
    let kind = prop::sample::select(vec![
        IrregularityKind::TwoHands,
        IrregularityKind::IllegalMove,
        IrregularityKind::ColoursReversed,
        IrregularityKind::FlagFall,
        IrregularityKind::ThreefoldClaim,
        IrregularityKind::PressWithOtherHand,
        IrregularityKind::ElectronicDevice,
    ]);
    let side = prop::option::of(prop::sample::select(vec![Side::White, Side::Black]));
    prop_oneof![
        Just(Command::NewGame),
        Just(Command::Resync),
        prop::sample::select(vec![
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
            "8/8/8/8/8/8/8/8 w - - 0 1",
            "k7/8/8/8/8/8/8/8 b - - 0 1",
            "no FEN at all",
            "",
        ])
        .prop_map(|fen| Command::SetPosition { fen: fen.into() }),
        prop::sample::select(vec![
            GameResult::WhiteWins,
            GameResult::Draw,
            GameResult::Open,
            GameResult::WhiteByForfeit
        ])
        .prop_map(Command::result),
        (0u32..4).prop_map(|game| Command::Result {
            result: GameResult::BothForfeit,
            reason: None,
            game: Some(game),
        }),
        Just(Command::Resume {
            reason: None,
            game: None
        }),
        correction(),
        id().prop_map(|irregularity| Command::Reopen { irregularity }),
        id().prop_map(|irregularity| Command::Note {
            irregularity,
            penalty: None,
            note: "warned".to_owned().try_into().ok(),
        }),
        id().prop_map(|irregularity| Command::Dismiss { irregularity }),
        id().prop_map(|irregularity| Command::Accept { irregularity }),
        (kind, side).prop_map(|(kind, offender)| Command::Report(Report::of(kind, offender))),
        id().prop_map(|irregularity| Command::RaisedBy {
            irregularity,
            by: RaisedBy::Nobody
        }),
        prop_oneof![0u32..8, Just(u32::MAX)].prop_map(|to_ply| Command::Retract { to_ply }),
    ]
}

fn correction() -> impl Strategy<Value = Command> {
    let moves = prop::sample::select(vec![
        "e2e4", "e4", "Nf6", "e7e5", "a1a8", "O-O", "nonsense", "é", "",
    ]);
    let inserted = prop::collection::vec(moves.prop_map(str::to_owned), 0..3);
    (0u32..6, 0u32..3, inserted, any::<bool>(), any::<bool>()).prop_map(
        |(ply, delete, insert, illegal, drop_rest)| {
            Command::Correct(Correct {
                ply,
                delete,
                insert,
                illegal,
                drop_rest,
                ..Correct::default()
            })
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        16 => bytes().prop_map(Op::Bytes),
        1 => Just(Op::Up),
        1 => Just(Op::Down),
        4 => command().prop_map(Op::Command),
    ]
}

/// Times between two things: often at once, mostly within seconds, now and then after a long while.
fn pause() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0u64), 8 => 0u64..900, 4 => 900u64..5000, 1 => 5000u64..200_000]
}

fn evening() -> impl Strategy<Value = Vec<(u64, Op)>> {
    let start = vec![(100, Op::Up)];
    prop::collection::vec((pause(), op()), 1..70).prop_map(move |ops| [start.clone(), ops].concat())
}

fn watcher() -> Watcher {
    let settings = Settings {
        gateway: "gw".into(),
        board: "7".into(),
        ..Settings::default()
    };
    Watcher::new(settings, None)
}

/// Takes what a watcher has to say; its events have the numbers that follow.
fn drain(watcher: &mut Watcher, seen: &mut Vec<Event>) {
    while watcher.poll_transmit().is_some() {}
    while watcher.poll_wish().is_some() {}
    while let Some(event) = watcher.poll_event() {
        assert_eq!(event.seq, seen.len() as u64 + 1, "numbers without gaps");
        seen.push(event);
    }
}

/// Lets time pass until `to` as the gateway does.
fn pass(watcher: &mut Watcher, to: Millis, seen: &mut Vec<Event>) {
    let mut last = Millis(0);
    let mut again = 0;
    while let Some(due) = watcher.poll_timeout().filter(|due| *due <= to) {
        again = if due > last { 0 } else { again + 1 };
        assert!(again < 4, "the deadline {due:?} does not move on");
        last = last.max(due);
        watcher.handle_timeout(last);
        drain(watcher, seen);
    }
}

fn run(ops: &[(u64, Op)]) -> (Watcher, Vec<Event>) {
    let mut watcher = watcher();
    let mut seen = Vec::new();
    let mut now = Millis(0);
    for (pause, op) in ops {
        now = now + *pause;
        pass(&mut watcher, now, &mut seen);
        match op {
            Op::Bytes(bytes) => watcher.handle_bytes(now, bytes),
            Op::Up => watcher.handle_link_up(now, "port"),
            Op::Down => watcher.handle_link_down(now, "cable"),
            Op::Command(command) => obey(&mut watcher, now, command),
        }
        drain(&mut watcher, &mut seen);
    }
    (watcher, seen)
}

/// The same, and then two minutes in which nothing happens.
fn see_out(ops: &[(u64, Op)]) -> Watcher {
    let (mut watcher, mut seen) = run(ops);
    let end = Millis(ops.iter().map(|(pause, _)| pause).sum()) + 120_000;
    pass(&mut watcher, end, &mut seen);
    watcher.handle_end(end);
    drain(&mut watcher, &mut seen);
    watcher
}

/// What must survive a restart does, whatever the state.
fn survives_a_restart(watcher: &Watcher) {
    let text = serde_json::to_string(&watcher.snapshot()).unwrap();
    let back = Snapshot::kept(Some(&text), watcher.game().last_seq);
    assert_eq!(back.lost(), [""; 0], "{text}");
    let resumed = Watcher::new(Settings::default(), Some(back)).game();
    let game = watcher.game();
    let kept = |game: &GameView| (game.moves.clone(), game.result, game.last_seq, game.fen.clone());
    assert_eq!(kept(&resumed), kept(&game), "{text}");
}

/// A command is carried out, or refused with a reason and without effect.
fn obey(watcher: &mut Watcher, now: Millis, command: &Command) {
    let before = watcher.game();
    if let Err(refusal) = watcher.handle_command(now, command.clone()) {
        assert!(!refusal.to_string().is_empty() && !refusal.code().is_empty());
        assert_eq!(
            watcher.game(),
            before,
            "{command:?} was refused and changed something"
        );
    }
}

fn json(events: &[Event]) -> String {
    events
        .iter()
        .map(|e| serde_json::to_string(e).unwrap() + "\n")
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_time_goes_on(ops in evening()) {
        let watcher = see_out(&ops);
        survives_a_restart(&watcher);
    }

    #[test]
    fn the_same_input_gives_the_same_events(ops in evening()) {
        prop_assert_eq!(json(&run(&ops).1), json(&run(&ops).1));
    }

    #[test]
    fn a_split_within_messages_changes_nothing(ops in evening(), cuts in prop::collection::vec(1usize..9, 1..20)) {
        let mut cuts = cuts.into_iter().cycle();
        let mut split = Vec::new();
        for (pause, op) in &ops {
            let Op::Bytes(bytes) = op else {
                split.push((*pause, op.clone()));
                continue;
            };
            // What is one read here comes in several there, at the same time.
            let mut rest = &bytes[..];
            let mut pause = *pause;
            while !rest.is_empty() {
                let (part, after) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
                split.push((pause, Op::Bytes(part.to_vec())));
                (rest, pause) = (after, 0);
            }
        }
        prop_assert_eq!(json(&run(&ops).1), json(&run(&split).1));
    }
}

fn hex(text: &str) -> Op {
    let bytes = text
        .split_whitespace()
        .map(|b| u8::from_str_radix(b, 16).unwrap());
    Op::Bytes(bytes.collect())
}

/// A dump of the initial array with a first rank of Black's and a square a6 as given.
fn array(first: &str, a6: &str) -> Op {
    let rest = "00 ".repeat(31) + &"01 ".repeat(8) + "02 03 04 06 05 04 03 02";
    hex(&format!("86 00 43 {first} 07 07 07 07 07 07 07 07 {a6} {rest}"))
}

/// Found by chance: lines from one array and a game from another met.
#[test]
fn an_array_that_keeps_changing() {
    let (initial, runs) = ("08 09 0a 0c 0b 0a 09 08", "8d 00 0a 10 00 00 10 00 00 13");
    let watcher = see_out(&[
        (100, Op::Up),
        (0, array(initial, "0d")),
        (0, hex(runs)),
        (2040, hex("8e 00 05 00 00")),
        (860, array("01 09 0a 0c 0b 0a 09 08", "00")),
        (0, hex("8e 00 05 3e 00 8e 00 05 2d 03")),
        (366, hex("8d 00 0a 10 00 00 10 00 00 12")),
        (634, array(initial, "00")),
        (
            0,
            hex("8e 00 05 3c 00 8e 00 05 24 05 8e 00 05 04 00 8e 00 05 1b 0b"),
        ),
        (0, hex(runs)),
    ]);
    survives_a_restart(&watcher);
}

/// Found by chance: what is left of a message that was cut off, and what follows it.
#[test]
fn what_was_cut_off_is_dropped_in_any_split() {
    let start = "86 00 43 08 09 0a 0c 00 0a 09 08 07 07 07 07 07 07 07 07 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 \
                 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 01 01 01 01 01 01 01 02 03 04 06 05 04 03 02";
    let again = start.replace("0c 00 0a", "0c 0b 0a");
    let reads = [
        (0, "8d 00 0a 10 00 00 10 00 00 13"),
        (2059, start),
        (3868, "00 00 00 00 00 00 00 00 00 00 00 81"),
        (773, "8e 00 05 00 00"),
        (0, &again),
        (401, "00"),
    ];
    let evening = |cut: bool| {
        let mut ops = vec![(100, Op::Up)];
        for (pause, text) in reads {
            if cut {
                let bytes = text.split_whitespace().enumerate();
                ops.extend(bytes.map(|(i, byte)| (if i == 0 { pause } else { 0 }, hex(byte))));
            } else {
                ops.push((pause, hex(text)));
            }
        }
        json(&run(&ops).1)
    };
    assert_eq!(evening(true), evening(false));
}

/// Found by chance: a message after one that was cut off. The dump that mends the damage is due at the same
/// time, whether the message comes in one read or in several.
#[test]
fn a_change_after_damage_does_not_put_off_the_dump_that_mends_it() {
    let due = |reads: &[&str]| {
        let (mut watcher, mut seen) = run(&[
            (100, Op::Up),
            (200, array("08 09 0a 0c 0b 0a 09 08", "00")),
            (500, hex("93 00 05 01 08")),
            (1700, hex("81")),
        ]);
        let now = Millis(4500);
        pass(&mut watcher, now, &mut seen);
        for read in reads {
            let Op::Bytes(bytes) = hex(read) else {
                unreachable!("these are bytes")
            };
            watcher.handle_bytes(now, &bytes);
        }
        watcher.poll_timeout()
    };
    let in_one = due(&["8e 00 05 03 00"]);
    assert_eq!(in_one, Some(Millis(4800)));
    assert_eq!(due(&["8e", "00 05 03 00"]), in_one);
}

/// Found by chance: a square that shows no piece when a press without a move is accepted.
#[test]
fn what_an_act_left_is_the_same_after_a_restart() {
    let runs = "8d 00 0a 10 00 00 10 00 00 13";
    let watcher = see_out(&[
        (100, Op::Up),
        (166, array("01 09 0a 0c 0b 0a 09 08", "00")),
        (0, hex(runs)),
        (865, array("08 09 0d 0c 0b 0a 09 08", "00")),
        (269, hex("8d 00 0a 10 00 00 10 00 00 08")),
        (300, hex("8d 00 0a 10 00 00 10 00 00 12")),
        (
            1500,
            Op::Command(Command::Accept {
                irregularity: "gw/7/7".into(),
            }),
        ),
    ]);
    survives_a_restart(&watcher);
}
