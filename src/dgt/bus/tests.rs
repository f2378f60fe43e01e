use super::*;
use crate::dgt::{
    clock::{ClockReading, ClockTime, Lever},
    eventlog::{LogRecord, LogRecords},
};

const ADDRESS: u16 = 1025;

#[track_caller]
fn command(command: BusCommand, bytes: [u8; 4]) {
    assert_eq!(command.bytes(), bytes);
    let address = u16::from(bytes[1]) << 7 | u16::from(bytes[2]);
    assert_eq!(read_command(bytes), Some((bytes[0], address)));
}

/// Asserts that an answer is read and written as in the reference.
#[track_caller]
fn answer(bytes: &[u8], expected: BusAnswer<'_>) {
    let mut heard = 0;
    BusDecoder::new().push(Millis(0), bytes, &mut |address, said| {
        assert_eq!((address, said), (ADDRESS, expected));
        heard += 1;
    });
    assert_eq!(heard, 1);
    let mut written = Vec::new();
    expected.encode(ADDRESS, &mut written);
    assert_eq!(written, bytes);
}

#[test]
fn worked_examples_of_commands() {
    let to = Address::new(ADDRESS).unwrap();
    command(BusCommand::Clock(to), [0x81, 0x08, 0x01, 0x0a]);
    command(BusCommand::Dump(to), [0x82, 0x08, 0x01, 0x0b]);
    command(BusCommand::Changes(to), [0x83, 0x08, 0x01, 0x0c]);
    command(BusCommand::RepeatChanges(to), [0x84, 0x08, 0x01, 0x0d]);
    command(BusCommand::Ping(Some(to)), [0x87, 0x08, 0x01, 0x10]);
    command(BusCommand::Ping(None), [0x87, 0x00, 0x00, 0x07]);
    command(BusCommand::IgnoreNextPing(to), [0x8a, 0x08, 0x01, 0x13]);
    command(BusCommand::Version(to), [0x8b, 0x08, 0x01, 0x14]);
    // The vendor's example, and commands that this program never sends.
    assert_eq!(checksum(&[0x81, 0x10, 0x06]), 0x17);
    assert_eq!(read_command([0x85, 0x08, 0x01, 0x0e]), Some((0x85, ADDRESS)));
    assert_eq!(read_command([0x86, 0x08, 0x01, 0x0f]), Some((0x86, ADDRESS)));
    assert_eq!(read_command([0x88, 0x00, 0x00, 0x08]), Some((0x88, 0)));
    assert_eq!(read_command([0x89, 0x00, 0x00, 0x09]), Some((0x89, 0)));
    assert_eq!(read_command([0x8d, 0x08, 0x01, 0x16]), Some((0x8d, ADDRESS)));
    assert_eq!(read_command([0x85, 0x08, 0x01, 0x0f]), None);
}

#[test]
fn worked_examples_of_answers() {
    let fischer = |seconds| ClockTime {
        seconds,
        increment: true,
        ..ClockTime::default()
    };
    answer(
        &[0x84, 0, 0x0d, 8, 1, 0x20, 3, 2, 0x20, 3, 1, 9, 0x6c],
        BusAnswer::Said(Message::Clock(ClockReading {
            left: fischer(181),
            right: fischer(182),
            running: true,
            lever: Lever::LeftHigh,
            battery_low: false,
        })),
    );
    answer(&[0x85, 0, 6, 8, 1, 0x14], BusAnswer::Changes(&[]));
    answer(&[0x87, 0, 6, 8, 1, 0x16], BusAnswer::Pong);
    answer(&[0x88, 0, 6, 8, 1, 0x17], BusAnswer::StartTagWritten);
    answer(
        &[0x89, 0, 8, 8, 1, 1, 2, 0x1d],
        BusAnswer::Said(Message::Firmware(1, 2)),
    );
    let e2e4 = [0x40, 0x34, 0x51, 0x24];
    answer(
        &[0x85, 0, 0x0a, 8, 1, 0x40, 0x34, 0x51, 0x24, 1],
        BusAnswer::Changes(&e2e4),
    );
    let pawn = LogRecord::Field {
        square: 36,
        piece: PieceCode(1),
        soon_after: true,
    };
    assert_eq!(LogRecords::new(&e2e4).last(), Some(pawn));
}

#[test]
fn the_initial_position_has_the_checksum_of_the_reference() {
    let mut squares = [PieceCode::EMPTY; 64];
    for (file, piece) in [2, 3, 4, 6, 5, 4, 3, 2].into_iter().enumerate() {
        squares[56 + file] = PieceCode(piece);
        squares[48 + file] = PieceCode(1);
        squares[8 + file] = PieceCode(7);
        squares[file] = PieceCode(piece + 6);
    }
    let mut bytes = Vec::new();
    BusAnswer::Said(Message::Dump(&squares)).encode(ADDRESS, &mut bytes);
    assert_eq!(
        (bytes.len(), bytes[..5].to_vec()),
        (70, vec![0x83, 0, 0x46, 8, 1])
    );
    assert_eq!(bytes[69], 0x7c);
    answer(&bytes, BusAnswer::Said(Message::Dump(&squares)));
}

#[test]
fn a_wrong_checksum_is_rejected() {
    let mut decoder = BusDecoder::new();
    decoder.push(Millis(0), &[0x87, 0, 6, 8, 1, 0x17], &mut |_, answer| {
        panic!("{answer:?}");
    });
    assert_eq!((decoder.stats().frames, decoder.stats().rejected_frames), (0, 1));
}

#[test]
fn there_is_no_board_zero() {
    assert_eq!(Address::new(0), None);
    assert_eq!(Address::new(0x4000), None);
    assert_eq!(Address::new(0x3fff).map(Address::get), Some(0x3fff));
}
