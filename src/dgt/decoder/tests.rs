use super::*;
use crate::dgt::{
    ack::{AckMeaning, ClockAck},
    clock::{ClockReading, ClockSide, ClockTime, Lever},
};

/// Bytes written as in the protocol reference.
fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

/// The messages of some bytes, and the counts.
fn decode(bytes: &[u8]) -> (Vec<String>, Stats) {
    let mut decoder = Decoder::new();
    let mut messages = Vec::new();
    decoder.push(Millis(0), bytes, &mut |message| {
        messages.push(format!("{message:?}"));
    });
    (messages, decoder.stats())
}

/// Asserts that a frame is read as this message and that the message is written as this frame.
#[track_caller]
fn same(text: &str, message: Message<'_>) {
    let bytes = hex(text);
    let mut heard = 0;
    Decoder::new().push(Millis(0), &bytes, &mut |said| {
        assert_eq!(said, message);
        heard += 1;
    });
    assert_eq!(heard, 1, "{text}");
    let mut written = Vec::new();
    message.encode(&mut written);
    assert_eq!(written, bytes, "{text}");
}

fn initial(turned: bool) -> [PieceCode; 64] {
    let mut squares = [PieceCode::EMPTY; 64];
    for (file, piece) in [2, 3, 4, 6, 5, 4, 3, 2].into_iter().enumerate() {
        squares[56 + file] = PieceCode(piece);
        squares[48 + file] = PieceCode(1);
        squares[8 + file] = PieceCode(7);
        squares[file] = PieceCode(piece + 6);
    }
    if turned {
        squares.reverse();
    }
    squares
}

#[test]
fn worked_frames_of_the_board() {
    let pawns = |code: &str| [code; 8].join(" ");
    let middle = ["00"; 32].join(" ");
    let (black, white) = (pawns("07"), pawns("01"));
    same(
        &format!("86 00 43 08 09 0a 0c 0b 0a 09 08 {black} {middle} {white} 02 03 04 06 05 04 03 02"),
        Message::Dump(&initial(false)),
    );
    same(
        &format!("86 00 43 02 03 04 05 06 04 03 02 {white} {middle} {black} 08 09 0a 0b 0c 0a 09 08"),
        Message::Dump(&initial(true)),
    );
    let field = |square, piece| Message::Field {
        square,
        piece: PieceCode(piece),
    };
    same("8e 00 05 34 00", field(52, 0));
    same("8e 00 05 24 01", field(36, 1));
    same("8e 00 05 3e 00", field(62, 0));
    same("8e 00 05 2d 03", field(45, 3));
    same("93 00 05 01 08", Message::Firmware(1, 8));
    same("91 00 08 30 31 30 32 35", Message::Serial("01025"));
    same("90 00 05 08 01", Message::BusAddress(1025));
    same(
        "a2 00 0d 33 30 30 30 30 30 30 30 30 31",
        Message::Serial("3000000001"),
    );
    same(
        "a0 00 0c 54 7f 7f 01 1e 00 00 00 02",
        Message::Battery(Battery {
            percent: 84,
            left_minutes: None,
            on_minutes: Some(90),
            standby_minutes: Some(0),
            charging: false,
            discharging: true,
        }),
    );
}

fn shown(seconds: u32) -> ClockTime {
    ClockTime {
        seconds,
        ..ClockTime::default()
    }
}

fn fischer(seconds: u32) -> ClockTime {
    ClockTime {
        increment: true,
        ..shown(seconds)
    }
}

#[test]
fn worked_frames_of_the_clock() {
    let reading = |right, left, running, lever| {
        Message::Clock(ClockReading {
            left,
            right,
            running,
            lever,
            battery_low: false,
        })
    };
    let (left_runs, right_runs) = (Lever::LeftHigh, Lever::RightHigh);
    same(
        "8d 00 0a 20 03 02 20 03 02 08",
        reading(fischer(182), fischer(182), false, left_runs),
    );
    same(
        "8d 00 0a 20 03 02 20 03 01 09",
        reading(fischer(182), fischer(181), true, left_runs),
    );
    same(
        "8d 00 0a 20 03 02 20 03 01 13",
        reading(fischer(182), fischer(181), true, right_runs),
    );
    same(
        "8d 00 0a 01 02 03 00 59 58 13",
        reading(shown(3723), shown(3598), true, right_runs),
    );
    same(
        "8d 00 0a 01 30 00 01 30 00 08",
        reading(shown(5400), shown(5400), false, left_runs),
    );
    let fallen = ClockTime {
        flag: true,
        ..fischer(0)
    };
    same(
        "8d 00 0a 30 00 00 20 00 16 12",
        reading(fallen, fischer(16), false, right_runs),
    );
    same("8d 00 0a 00 00 00 00 00 00 20", Message::NoClock);
    same("8d 00 0a 00 00 00 00 00 00 00", Message::NullClock);
}

#[test]
fn the_side_that_is_up_is_to_move() {
    assert_eq!(Lever::RightHigh.to_move(), ClockSide::Right);
    assert_eq!(Lever::LeftHigh.to_move(), ClockSide::Left);
    assert_eq!(Lever::RightHigh.pressed(), ClockSide::Left);
    for side in [ClockSide::Left, ClockSide::Right] {
        assert_eq!(Lever::after_press(side).pressed(), side);
    }
}

#[test]
fn acks_are_never_times() {
    let ack = ClockAck([0x10, 0x88, 0x81, 0xb5]);
    same("8d 00 0a 3a 10 08 2a 01 35 00", Message::ClockAck(ack));
    assert_eq!(ack.meaning(), AckMeaning::Buttons(0x81));
}

#[test]
fn digits_that_no_clock_shows_are_no_time() {
    for frame in [
        "8d 00 0a 0b 00 00 00 00 00 08",
        "8d 00 0a 01 60 00 00 00 00 08",
        "8d 00 0a 01 1a 00 00 00 00 08",
        "8d 00 0a 01 00 00 00 00 5f 08",
    ] {
        let (messages, stats) = decode(&hex(frame));
        assert!(messages[0].starts_with("Other { id: 141"), "{messages:?}");
        assert_eq!(stats.illegible_clocks, 1);
    }
}

#[test]
fn bits_beyond_square_and_piece_are_masked_and_counted() {
    let (messages, stats) = decode(&hex("8e 00 05 74 11"));
    assert_eq!(messages, ["Field { square: 52, piece: PieceCode(1) }"]);
    assert_eq!(stats.odd_fields, 1);
}

#[test]
fn a_dump_may_refuse_to_tell() {
    let mut frame = hex("86 00 43");
    frame.extend([0x7f; 63]);
    frame.push(0x71);
    Decoder::new().push(Millis(0), &frame, &mut |message| match message {
        Message::Dump(squares) => {
            assert!(squares[..63].iter().all(|piece| *piece == PieceCode::NOT_TOLD));
            assert_eq!(squares[63], PieceCode(1));
        }
        other => panic!("{other:?}"),
    });
}

#[test]
fn resync_after_every_kind_of_damage() {
    let field = "Field { square: 52, piece: PieceCode(0) }";
    // (bytes before a good frame, garbage bytes, rejected frames, nothings)
    for (noise, garbage, rejected, nothings) in [
        ("00 34 7f", 3, 0, 0),
        ("8e", 0, 1, 0),
        ("8e 00", 0, 1, 0),
        ("8e 00 05 34", 0, 1, 0),
        // A length that the id cannot have, too small, too large.
        ("8e 00 06 34 00 00", 3, 1, 0),
        ("c0 00 02 01", 1, 1, 0),
        ("c0 7f 7f 01", 1, 1, 0),
        ("80", 0, 0, 1),
        ("80 00 00 80 00 00", 4, 0, 2),
        ("8e 00 80", 0, 1, 1),
    ] {
        let (messages, stats) = decode(&hex(&format!("{noise} 8e 00 05 34 00")));
        assert_eq!(messages, [field], "{noise}");
        let counted = (stats.garbage_bytes, stats.rejected_frames, stats.nothings);
        assert_eq!(counted, (garbage, rejected, nothings), "{noise}");
    }
}

#[test]
fn unknown_frames_are_consumed_whole() {
    let (messages, stats) = decode(&hex("a3 00 06 01 02 03 a5 00 03 8e 00 05 34 00"));
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0], "Other { id: 163, payload: [1, 2, 3] }");
    assert_eq!(messages[1], "Other { id: 165, payload: [] }");
    assert_eq!(stats.damage(), 0);
}

#[test]
fn identification_text_is_not_handed_on() {
    let (messages, _) = decode(&hex("92 00 07 54 45 58 54"));
    assert_eq!(messages, ["Other { id: 146, payload: [] }"]);
}

#[test]
fn odd_lengths_of_serial_and_battery() {
    let (messages, _) = decode(&hex("91 00 0c 30 31 30 32 35 20 31 2e 30 a0 00 07 54 01 02 03"));
    assert_eq!(messages[0], r#"Serial("01025")"#);
    assert!(messages[1].contains("percent: 84, left_minutes: Some(62), on_minutes: None"));
    // No serial number at all.
    let (messages, _) = decode(&hex("91 00 08 00 00 00 00 00"));
    assert!(messages[0].starts_with("Other"));
}

#[test]
fn a_frame_that_stops_is_dropped_after_half_a_second() {
    for (pause, kept) in [(499, 1), (500, 0)] {
        let mut decoder = Decoder::new();
        let mut heard = 0;
        decoder.push(Millis(1000), &hex("8e 00 05 34"), &mut |_| heard += 1);
        decoder.push(Millis(1000 + pause), &hex("00"), &mut |_| heard += 1);
        assert_eq!(heard, kept, "pause {pause}");
        assert_eq!(decoder.stats().timeouts, 1 - kept);
    }
}

#[test]
fn the_event_log_may_take_its_time() {
    let mut bytes = hex("8f 3e 03");
    bytes.extend([0x7f; 7935]);
    bytes.push(0x6b);
    bytes.extend(hex("8e 00 05 34 00"));
    let mut decoder = Decoder::new();
    let mut lengths = Vec::new();
    for (part, chunk) in bytes.chunks(100).enumerate() {
        decoder.push(Millis(part as u64 * 900), chunk, &mut |message| match message {
            Message::EventLog(records) => lengths.push(records.len()),
            Message::Field { .. } => lengths.push(0),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(lengths, [7936, 0]);
}

#[test]
fn a_new_link_forgets_the_frame_of_the_old_one() {
    let mut decoder = Decoder::new();
    decoder.push(Millis(0), &hex("8e 00 05 34"), &mut |_| panic!());
    decoder.clear();
    decoder.push(Millis(1), &hex("00"), &mut |_| panic!());
    assert_eq!(decoder.stats().garbage_bytes, 1);
}
