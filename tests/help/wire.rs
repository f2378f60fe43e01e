//! What the board of a capture tells.
#![allow(dead_code)] // shared by several test programs.

use dgt2mqtt::{
    capture::{Act, Capture},
    dgt::{ClockReading, Decoder, Message},
    time::Millis,
};

/// When the board changed.
pub fn changes(capture: &Capture) -> Vec<Millis> {
    let mut changes = Vec::new();
    each_message(capture, |at, message| {
        changes.extend(matches!(message, Message::Field { .. }).then_some(at));
    });
    changes
}

/// When the clock was pressed.
pub fn presses(capture: &Capture) -> Vec<Millis> {
    let (mut presses, mut last) = (Vec::new(), None::<ClockReading>);
    each_message(capture, |at, message| {
        if let Message::Clock(reading) = message {
            let is_press = last.is_some_and(|last| last.running && last.lever != reading.lever);
            presses.extend(is_press.then_some(at));
            last = Some(*reading);
        }
    });
    presses
}

/// What the board says in a capture, and when.
pub fn each_message(capture: &Capture, mut look: impl FnMut(Millis, &Message<'_>)) {
    let mut decoder = Decoder::new();
    for record in &capture.records {
        if let Act::FromBoard(bytes) = &record.act {
            decoder.push(record.at, bytes, &mut |message| look(record.at, &message));
        }
    }
}
