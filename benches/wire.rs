//! How fast bytes become messages: `cargo bench --bench wire`. The aim is 300 MB/s on one core for
//! what a board sends in a game; a line of 9600 baud carries 960 bytes a second.

use dgt2mqtt::{
    dgt::{ClockReading, ClockTime, Decoder, Lever, Message, PieceCode},
    time::Millis,
};
use divan::{Bencher, black_box, counter::BytesCount};

fn main() {
    divan::main();
}

/// A game as boards send it: most frames are the clock's, a move is two or three changes and now
/// and then comes a dump.
fn mixed_traffic() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut squares = [PieceCode::EMPTY; 64];
    for second in 0..10_000_u32 {
        let lever = if second % 20 < 10 {
            Lever::LeftHigh
        } else {
            Lever::RightHigh
        };
        let time = |seconds| ClockTime {
            seconds,
            increment: true,
            ..ClockTime::default()
        };
        let reading = ClockReading {
            left: time(12_000 - second),
            right: time(12_000),
            running: true,
            lever,
            battery_low: false,
        };
        Message::Clock(reading).encode(&mut bytes);
        if second % 10 == 9 {
            let (from, to) = ((second * 7 % 64) as u8, (second * 13 % 64) as u8);
            let piece = PieceCode((second % 12 + 1) as u8);
            for (square, piece) in [(from, PieceCode::EMPTY), (to, piece)] {
                squares[usize::from(square)] = piece;
                Message::Field { square, piece }.encode(&mut bytes);
            }
        }
        if second % 15 == 14 {
            Message::Dump(&squares).encode(&mut bytes);
        }
    }
    bytes
}

/// The decoder over the bytes in chunks of this size; sums up so that nothing is optimised away.
fn decode(chunk: usize, bytes: &[u8]) -> u64 {
    let mut decoder = Decoder::new();
    let mut sum = 0_u64;
    for part in bytes.chunks(chunk) {
        decoder.push(Millis(0), part, &mut |message| {
            sum += match message {
                Message::Clock(reading) => u64::from(reading.left.seconds + reading.right.seconds),
                Message::Field { square, piece } => u64::from(square ^ piece.0),
                Message::Dump(squares) => u64::from(squares[27].0),
                _ => 0,
            };
        });
    }
    sum
}

/// As a capture is replayed.
#[divan::bench]
fn mixed_in_reads_of_4096_bytes(bencher: Bencher<'_, '_>) {
    let bytes = mixed_traffic();
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .bench(|| decode(4096, black_box(&bytes)));
}

/// As a serial port delivers: frames are split over reads.
#[divan::bench]
fn mixed_in_reads_of_16_bytes(bencher: Bencher<'_, '_>) {
    let bytes = mixed_traffic();
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .bench(|| decode(16, black_box(&bytes)));
}

/// Bytes that mean nothing.
#[divan::bench]
fn random_bytes(bencher: Bencher<'_, '_>) {
    let mut random = fastrand::Rng::with_seed(1);
    let bytes: Vec<u8> = (0..100_000).map(|_| random.u8(..)).collect();
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .bench(|| decode(4096, black_box(&bytes)));
}
