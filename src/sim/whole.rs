//! A board that feels only whether something stands on its squares: what it would have said of a
//! game that was recorded on one that knows its pieces. It has no clock.

use crate::{
    capture::{Act, Capture, Header, HeaderError, Record},
    dgt::{Decoder, Message, PieceCode},
    occ1::Occupancy,
    time::Millis,
};

/// A board says again what it feels when it has said nothing for so long.
const REPEAT_MS: u64 = 1000;

/// The capture as an `occ1` board would have made it.
///
/// # Errors
/// When the capture's header says already what the board speaks.
pub fn occupied(capture: &Capture) -> Result<Capture, HeaderError> {
    let mut header = Header::default();
    header.push("protocol", "occ1")?;
    for (key, value) in capture.header.lines() {
        header.push(key, value)?;
    }
    let mut board = Board::default();
    for record in &capture.records {
        match &record.act {
            Act::FromBoard(bytes) => board.follow(record.at, bytes),
            Act::ToBoard(_) => {}
            Act::LinkDown | Act::LinkUp => {
                board.repeat(record.at);
                board.records.push(record.clone());
                // A board that is plugged in again says what it feels.
                board.told = None;
            }
        }
    }
    board.repeat(capture.end());
    Ok(Capture {
        header,
        records: board.records,
    })
}

#[derive(Default)]
struct Board {
    decoder: Decoder,
    feels: Occupancy,
    told: Option<(Millis, Occupancy)>,
    records: Vec<Record>,
}

impl Board {
    fn follow(&mut self, at: Millis, bytes: &[u8]) {
        let mut changed = false;
        let feels = &mut self.feels;
        self.decoder.push(at, bytes, &mut |message| match message {
            Message::Dump(squares) => {
                *feels = of(squares);
                changed = true;
            }
            Message::Field { square, piece } => {
                let bit = 1 << (63 - square);
                feels.0 = if piece == PieceCode::EMPTY {
                    feels.0 & !bit
                } else {
                    feels.0 | bit
                };
                changed = true;
            }
            _ => {}
        });
        self.repeat(at);
        if changed && self.told.is_none_or(|(_, told)| told != self.feels) {
            self.say(at, self.feels);
        }
    }

    /// What was said last is said again until `until`.
    fn repeat(&mut self, until: Millis) {
        while let Some((at, told)) = self.told.filter(|(at, _)| until.since(*at) > REPEAT_MS) {
            self.say(at + REPEAT_MS, told);
        }
    }

    fn say(&mut self, at: Millis, reading: Occupancy) {
        self.told = Some((at, reading));
        self.records.push(Record {
            at,
            act: Act::FromBoard(format!("{reading}\n").into_bytes()),
        });
    }
}

fn of(squares: &[PieceCode; 64]) -> Occupancy {
    let bits = squares
        .iter()
        .fold(0, |bits, piece| bits << 1 | u64::from(*piece != PieceCode::EMPTY));
    Occupancy(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_said_at_once_and_the_rest_every_second() {
        let mut text = String::from("# dgtcap 1\n# board: 7\n0.100 < 86 00 43");
        for raw in 0..64 {
            text += if (16..48).contains(&raw) { " 00" } else { " 01" };
        }
        text += "\n0.500 < 8e 00 05 34 00\n2.200 < 8e 00 05 24 01\n2.300 ! down\n";
        let capture = occupied(&Capture::parse(text.as_bytes()).unwrap()).unwrap();
        let said: Vec<_> = capture
            .records
            .iter()
            .filter_map(|record| match &record.act {
                Act::FromBoard(bytes) => Some((record.at.0, str::from_utf8(bytes).unwrap().trim())),
                _ => None,
            })
            .collect();
        assert_eq!(
            said,
            [
                (100, "FFFF00000000FFFF"),
                (500, "FFFF00000000F7FF"),
                (1500, "FFFF00000000F7FF"),
                (2200, "FFFF00000800F7FF"),
            ]
        );
        assert_eq!(capture.header.board(), Some("7"));
    }
}
