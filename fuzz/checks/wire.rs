//! What must hold of the wire of DGT boards for any bytes.

use dgt2mqtt::{
    dgt::{
        Command, Decoder, HostDecoder, HostWord, Message, Session, Stats,
        bus::{BusAnswer, BusDecoder},
        eventlog::{LogRecord, LogRecords},
    },
    time::Millis,
};

/// A frame that must come through after anything.
const SENTINEL: Message<'_> = Message::Firmware(0x55, 0x2a);

/// Asserts every property for these bytes.
///
/// # Panics
/// When one does not hold.
pub(crate) fn wire(data: &[u8]) {
    let whole = decoded([data]);
    assert_eq!(decoded(split(data)), whole, "another split, other messages");

    let again = decoded([&whole.0[..]]);
    assert_eq!(again.0, whole.0, "what was written is read differently");
    assert_eq!(again.1.damage(), 0, "what was written is damaged");

    let mut sentinel = Vec::new();
    SENTINEL.encode(&mut sentinel);
    let followed = decoded([data, &sentinel]).0;
    assert_eq!(
        followed,
        [&whole.0[..], &sentinel].concat(),
        "the next message is lost"
    );

    bus(data);
    host(data);
    log(data);
    session(data);
}

/// Chunks of a size that the data themselves choose.
fn split(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let size = usize::from(*rest.first()?) % 13 + 1;
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        Some(chunk)
    })
}

/// The messages as frames, and the counts. Chunks come at the longest pause that a frame survives.
fn decoded<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Stats) {
    let mut decoder = Decoder::new();
    let mut written = Vec::new();
    for (count, chunk) in chunks.into_iter().enumerate() {
        let now = Millis(count as u64 * 499);
        decoder.push(now, chunk, &mut |message| message.encode(&mut written));
    }
    (written, decoder.stats())
}

fn bus(data: &[u8]) {
    let decode = |chunks: &mut dyn Iterator<Item = &[u8]>| {
        let mut decoder = BusDecoder::new();
        let mut written = Vec::new();
        for chunk in chunks {
            decoder.push(Millis(0), chunk, &mut |address, answer| {
                answer.encode(address, &mut written);
            });
        }
        (written, decoder.stats())
    };
    let whole = decode(&mut std::iter::once(data));
    assert_eq!(decode(&mut split(data)), whole, "bus: another split");
    let again = decode(&mut std::iter::once(&whole.0[..]));
    assert_eq!(again.0, whole.0, "bus: read differently");
    // Any data become an answer that can be read.
    let payload: Vec<u8> = data.iter().map(|byte| byte & 0x7f).collect();
    let mut written = Vec::new();
    BusAnswer::Changes(&payload).encode(0x3fff, &mut written);
    let mut heard = false;
    BusDecoder::new().push(Millis(0), &written, &mut |address, answer| {
        heard = address == 0x3fff && matches!(answer, BusAnswer::Changes(_));
    });
    assert!(heard, "bus: own answer lost");
}

fn host(data: &[u8]) {
    let decode = |chunks: &mut dyn Iterator<Item = &[u8]>| {
        let mut decoder = HostDecoder::new();
        let mut all = Vec::new();
        for chunk in chunks {
            decoder.push(Millis(0), chunk, &mut |heard| all.push(heard));
        }
        all
    };
    let whole = decode(&mut std::iter::once(data));
    assert_eq!(decode(&mut split(data)), whole, "host: another split");
    for heard in whole {
        if let HostWord::Command(command) = heard {
            let bytes = command.bytes();
            assert_eq!(
                decode(&mut std::iter::once(&bytes[..])),
                [heard],
                "host: {command:?}"
            );
        }
    }
}

fn log(data: &[u8]) {
    let records: Vec<LogRecord> = LogRecords::new(data).collect();
    assert!(records.len() <= data.len());
    let known = |record: &&LogRecord| !matches!(record, LogRecord::Unknown(_));
    let mut written = Vec::new();
    for record in records.iter().filter(known) {
        record.encode(&mut written);
    }
    let again: Vec<LogRecord> = LogRecords::new(&written).collect();
    assert!(records.iter().filter(known).eq(&again), "log: read differently");
}

/// Whatever a session hears and whenever: its deadlines pass and it never harms a board.
fn session(data: &[u8]) {
    let mut session = Session::new();
    let mut decoder = Decoder::new();
    let mut now = Millis(0);
    for chunk in split(data) {
        now = now + u64::from(chunk[0]) * 20;
        match chunk[0] % 16 {
            0 => session.link_down(now),
            1..4 => session.link_up(now),
            4 => session.request_dump(now),
            5 => session.request_event_log(now),
            _ => {}
        }
        decoder.push(now, chunk, &mut |message| session.heard(now, &message));
        session.check_line(now, decoder.stats());
        session.handle_timeout(now);
        assert!(
            session.poll_timeout().is_none_or(|next| next > now),
            "a deadline that does not pass"
        );
        if let Some(command) = session.poll_transmit() {
            assert!(
                !matches!(command, Command::ToClock(_)),
                "a recorder leaves the clock alone"
            );
        }
        session.poll_wish();
    }
}
