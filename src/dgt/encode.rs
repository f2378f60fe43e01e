//! Encodes the frames that a board sends. It is the mirror of the decoder, for simulated boards.

use super::{
    clock,
    decoder::SingleBoard,
    framing::{Dialect, HEADER},
    message::{Battery, Message, PieceCode, id},
};

const MAX_PAYLOAD: usize = SingleBoard::MAX_FRAME - HEADER;

impl Message<'_> {
    /// Appends the frame of this message. Values beyond what a frame can carry are cut to it:
    /// seven bits a byte, 9:59:59 for a time, ten characters for a serial number.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Dump(squares) => frame(out, id::DUMP, squares.iter().map(|piece| piece.0)),
            Self::Field {
                square,
                piece: PieceCode(piece),
            } => {
                frame(out, id::FIELD, [square & 0x3f, piece & 0x0f]);
            }
            Self::Clock(reading) => frame(out, id::CLOCK, clock::encode(&reading)),
            Self::NoClock => frame(out, id::CLOCK, clock::ABSENT_PAYLOAD),
            Self::ClockAck(ack) => frame(out, id::CLOCK, ack.encode()),
            Self::NullClock => frame(out, id::CLOCK, [0; clock::PAYLOAD]),
            Self::Firmware(main, sub) => frame(out, id::FIRMWARE, [main, sub]),
            Self::Hardware(main, sub) => frame(out, id::HARDWARE, [main, sub]),
            Self::Serial(serial) => encode_serial(out, serial),
            // Both halves of the address have seven bits.
            Self::BusAddress(address) => frame(out, id::BUS_ADDRESS, [(address >> 7) as u8, address as u8]),
            Self::Battery(battery) => frame(out, id::BATTERY, encode_battery(&battery)),
            Self::EventLog(records) => encode_event_log(out, records),
            // The program sends no identification text either (protocol section 8).
            Self::Other { id: id::TEXT, .. } => frame(out, id::TEXT, []),
            Self::Other { id, payload } => frame(out, id, payload.iter().copied()),
        }
    }
}

/// Appends one frame, cut to the largest there is.
fn frame(out: &mut Vec<u8>, id: u8, payload: impl IntoIterator<Item = u8>) {
    let start = out.len();
    out.extend([id | 0x80, 0, 0]);
    out.extend(payload.into_iter().take(MAX_PAYLOAD).map(|byte| byte & 0x7f));
    let total = out.len() - start;
    // The total is at most 7939, which fits two times seven bits.
    out[start + 1] = (total >> 7) as u8;
    out[start + 2] = (total & 0x7f) as u8;
}

/// Five characters travel in one frame, ten in another; shorter ones are filled with spaces.
fn encode_serial(out: &mut Vec<u8>, serial: &str) {
    let (id, places) = if serial.len() <= 5 {
        (id::SERIAL, 5)
    } else {
        (id::LONG_SERIAL, 10)
    };
    frame(
        out,
        id,
        serial.bytes().chain(std::iter::repeat(b' ')).take(places),
    );
}

/// Fillers come before a log that is shorter than the board's store, for the store ends with the newest
/// record.
fn encode_event_log(out: &mut Vec<u8>, records: &[u8]) {
    let room = MAX_PAYLOAD;
    let newest = &records[records.len().saturating_sub(room)..];
    let fillers = std::iter::repeat_n(0, room - newest.len());
    frame(out, id::EVENT_LOG, fillers.chain(newest.iter().copied()));
}

fn encode_battery(battery: &Battery) -> [u8; 9] {
    const NOT_AVAILABLE: u8 = 0x7f;
    let hours_minutes = |minutes: Option<u16>| match minutes {
        // Hours beyond two digits cannot be shown by a frame.
        Some(minutes) => [(minutes / 60).min(99) as u8, (minutes % 60) as u8],
        None => [NOT_AVAILABLE; 2],
    };
    let [left_h, left_m] = hours_minutes(battery.left_minutes);
    let [on_h, on_m] = hours_minutes(battery.on_minutes);
    let [days, hours, minutes] = match battery.standby_minutes {
        Some(all) => [
            (all / 1440).min(99) as u8,
            (all / 60 % 24) as u8,
            (all % 60) as u8,
        ],
        None => [NOT_AVAILABLE; 3],
    };
    let state = u8::from(battery.charging) | u8::from(battery.discharging) << 1;
    [
        battery.percent,
        left_h,
        left_m,
        on_h,
        on_m,
        days,
        hours,
        minutes,
        state,
    ]
}
