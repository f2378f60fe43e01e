//! The wires for any bytes: of DGT boards with what was said written by a strategy, of the families with any bytes.

use dgt2mqtt::{
    dgt::{Battery, ClockAck, ClockReading, ClockTime, Decoder, Lever, Message, PieceCode},
    families::chessnut::FAMILY,
    time::Millis,
};
use proptest::prelude::*;

use crate::checks;

/// A message that owns what it carries.
#[derive(Clone, Debug)]
enum Owned {
    Dump(Box<[PieceCode; 64]>),
    Serial(String),
    EventLog(Vec<u8>),
    Unknown(u8, Vec<u8>),
    Plain(Message<'static>),
}

impl Owned {
    fn message(&self) -> Message<'_> {
        match self {
            Self::Dump(squares) => Message::Dump(squares),
            Self::Serial(serial) => Message::Serial(serial),
            Self::EventLog(records) => Message::EventLog(records),
            Self::Unknown(id, payload) => Message::Other { id: *id, payload },
            Self::Plain(message) => *message,
        }
    }

    fn frame(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.message().encode(&mut bytes);
        bytes
    }
}

fn clock_time() -> impl Strategy<Value = ClockTime> {
    (0..=ClockTime::MAX_SECONDS, any::<[bool; 3]>()).prop_map(|(seconds, [flag, increment, flag_shown])| {
        ClockTime {
            seconds,
            flag,
            increment,
            flag_shown,
        }
    })
}

fn reading() -> impl Strategy<Value = ClockReading> {
    (clock_time(), clock_time(), any::<[bool; 3]>()).prop_map(|(left, right, [running, up, battery_low])| {
        let lever = if up { Lever::RightHigh } else { Lever::LeftHigh };
        ClockReading {
            left,
            right,
            running,
            lever,
            battery_low,
        }
    })
}

fn battery() -> impl Strategy<Value = Battery> {
    let minutes = || proptest::option::of(0_u16..99 * 60);
    let standby = proptest::option::of(0_u32..99 * 1440);
    (0_u8..0x7f, minutes(), minutes(), standby, any::<[bool; 2]>()).prop_map(
        |(percent, left_minutes, on_minutes, standby_minutes, [charging, discharging])| Battery {
            percent,
            left_minutes,
            on_minutes,
            standby_minutes,
            charging,
            discharging,
        },
    )
}

fn message() -> impl Strategy<Value = Owned> {
    let piece = prop_oneof![9 => 0_u8..16, 1 => Just(0x7f)].prop_map(PieceCode);
    let dump = proptest::collection::vec(piece, 64)
        .prop_map(|squares| Owned::Dump(Box::new(squares.try_into().unwrap())));
    let serial = prop_oneof!["[!-~]{5}", "[!-~]{10}"].prop_map(Owned::Serial);
    let log = proptest::collection::vec(0_u8..0x80, 7936).prop_map(Owned::EventLog);
    let unknown = (0xa3_u8.., proptest::collection::vec(0_u8..0x80, 0..300))
        .prop_map(|(id, payload)| Owned::Unknown(id, payload));
    let plain = prop_oneof![
        5 => (0_u8..64, 0_u8..16).prop_map(|(square, piece)| Message::Field { square, piece: PieceCode(piece) }),
        5 => reading().prop_map(Message::Clock),
        1 => Just(Message::NoClock),
        1 => Just(Message::NullClock),
        1 => any::<[u8; 4]>().prop_map(|ack| Message::ClockAck(ClockAck(ack))),
        1 => (0_u8..0x80, 0_u8..0x80).prop_map(|(main, sub)| Message::Firmware(main, sub)),
        1 => (0_u8..0x80, 0_u8..0x80).prop_map(|(main, sub)| Message::Hardware(main, sub)),
        1 => (0_u16..0x4000).prop_map(Message::BusAddress),
        1 => battery().prop_map(Message::Battery),
    ]
    .prop_map(Owned::Plain);
    prop_oneof![40 => plain, 5 => dump, 5 => serial, 1 => log, 5 => unknown]
}

fn texts(chunks: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Vec<String> {
    let mut decoder = Decoder::new();
    let mut heard = Vec::new();
    for (at, chunk) in chunks {
        decoder.push(Millis(at), &chunk, &mut |message| {
            heard.push(format!("{message:?}"));
        });
    }
    heard
}

fn expected(messages: &[Owned]) -> Vec<String> {
    messages
        .iter()
        .map(|owned| format!("{:?}", owned.message()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_over_any_times_gives_the_messages_that_were_sent(
        messages in proptest::collection::vec(message(), 0..20),
        sizes in proptest::collection::vec((1_usize..40, 0_u64..500), 1..50),
    ) {
        let bytes: Vec<u8> = messages.iter().flat_map(Owned::frame).collect();
        let mut rest = &bytes[..];
        let (mut chunks, mut at) = (Vec::new(), 0);
        for (size, pause) in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push((at, chunk.to_vec()));
            at += pause;
            rest = after;
        }
        prop_assert_eq!(texts(chunks), expected(&messages));
    }

    /// Bytes with bit 7 clear are dropped; a byte with it set starts a frame that the next one cuts.
    #[test]
    fn garbage_between_messages_costs_none(
        messages in proptest::collection::vec((message(), proptest::collection::vec(0_u8..0x80, 0..9), any::<u8>()), 0..20),
    ) {
        let mut bytes = Vec::new();
        for (message, garbage, last) in &messages {
            bytes.extend(message.frame());
            bytes.extend(garbage);
            // Anything: alone it is no frame.
            bytes.push(*last);
        }
        let sent: Vec<Owned> = messages.into_iter().map(|(message, _, _)| message).collect();
        prop_assert_eq!(texts([(0, bytes)]), expected(&sent));
    }

    #[test]
    fn damage_costs_only_the_message_that_it_hits(
        before in proptest::collection::vec(message(), 0..5),
        hit in message(),
        after in proptest::collection::vec(message(), 0..5),
        place in any::<prop::sample::Index>(),
        damage in prop_oneof![Just(None), any::<u8>().prop_map(Some)],
    ) {
        let mut frame = hit.frame();
        let place = place.index(frame.len());
        match damage {
            Some(byte) => frame[place] = byte,
            None => { frame.remove(place); }
        }
        let mut bytes: Vec<u8> = before.iter().flat_map(Owned::frame).collect();
        bytes.extend(frame);
        bytes.extend(after.iter().flat_map(Owned::frame));
        let heard = texts([(0, bytes)]);
        let (first, last) = (expected(&before), expected(&after));
        prop_assert!(heard.starts_with(&first), "{:?}", heard);
        prop_assert!(heard.ends_with(&last), "{:?}", heard);
        // A changed byte can at most make two frames of one.
        prop_assert!(heard.len() <= first.len() + last.len() + 2);
    }
}

proptest! {
    #[test]
    fn any_bytes_of_a_chesslink_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        checks::chesslink(&bytes);
    }

    #[test]
    fn any_bytes_of_a_chessnut_board_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        checks::chessnut(&bytes);
    }

    #[test]
    fn a_position_of_a_chessnut_board_among_any_bytes_does_no_harm(
        before in prop::collection::vec(any::<u8>(), 0..80),
        after in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let squares = std::array::from_fn(|square| PieceCode(square as u8 % 13));
        let position = (FAMILY.board)().tell(&squares);
        checks::chessnut(&[&before[..], &position, &after].concat());
    }
}

/// The seeds of the fuzz target.
fn seeds() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/wire");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the seed corpus is part of the project")
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

#[test]
fn the_properties_hold_for_every_seed() {
    let seeds = seeds();
    assert!(seeds.len() >= 5);
    for seed in seeds {
        checks::wire(&seed);
    }
}

#[test]
fn the_properties_hold_for_mutated_and_random_input() {
    let seed = std::env::var("WIRE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    println!("WIRE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let seeds = seeds();
    for round in 0..30_000 {
        let mut data = if round % 4 == 0 {
            (0..random.usize(..200)).map(|_| random.u8(..)).collect()
        } else {
            seeds[random.usize(..seeds.len())].clone()
        };
        for _ in 0..random.usize(..8) {
            mutate(&mut data, &mut random);
        }
        checks::wire(&data);
    }
}

fn mutate(data: &mut Vec<u8>, random: &mut fastrand::Rng) {
    if data.is_empty() {
        data.push(random.u8(..));
        return;
    }
    let at = random.usize(..data.len());
    match random.u8(..5) {
        0 => data[at] = random.u8(..),
        1 => data[at] ^= 1 << random.u8(..8),
        2 => drop(data.remove(at)),
        3 => data.insert(at, random.u8(..)),
        _ => {
            // A piece of it once more, somewhere else.
            let end = data.len().min(at + random.usize(..30));
            let piece = data[at..end].to_vec();
            let to = random.usize(..=data.len());
            data.splice(to..to, piece);
        }
    }
}

/// Real boards: every byte is understood and written again as it was.
#[test]
fn captures_of_real_boards_are_read_and_written_back_exactly() {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = format!("{root}/../shared/corpus/real");
    // Dumps, clock frames, field updates.
    for (name, counts) in [
        ("arnsholt-dgtdriver-1", [1, 323, 131]),
        ("arnsholt-dgtdriver-2", [1, 578, 226]),
        ("arnsholt-dgtdriver-johan", [1, 854, 101]),
    ] {
        let Ok(capture) = std::fs::read_to_string(format!("{folder}/{name}.dgtcap")) else {
            skipped!("{folder}/{name}.dgtcap is not there");
            continue;
        };
        let bytes: Vec<u8> = capture
            .lines()
            .filter_map(|line| line.split_once(" < "))
            .flat_map(|(_, bytes)| bytes.split_whitespace())
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
        let mut heard = [0; 3];
        let mut written = Vec::new();
        let mut decoder = Decoder::new();
        decoder.push(Millis(0), &bytes, &mut |message| {
            match message {
                Message::Dump(_) => heard[0] += 1,
                Message::Clock(_) => heard[1] += 1,
                Message::Field { .. } => heard[2] += 1,
                other => panic!("{name}: {other:?}"),
            }
            message.encode(&mut written);
        });
        assert_eq!(heard, counts, "{name}");
        assert_eq!(decoder.stats().damage(), 0, "{name}");
        assert!(written == bytes, "{name}: written differently");
    }
}
