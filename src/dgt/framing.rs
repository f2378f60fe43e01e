//! Finds frames in bytes, by the resync rules of protocol 1.4. They are the same for single-board and bus
//! mode.
//!
//! A frame starts with a byte that has bit 7 set, and no other byte has it. So a frame is whole when its
//! announced length has come without another such byte.

use crate::time::Millis;

/// Id and two length bytes.
pub(super) const HEADER: usize = 3;
/// The framer drops a frame that gets no byte for this long (milliseconds).
const BYTE_TIMEOUT: u64 = 500;

/// Room for the start of a frame that is kept between two frames: all but logs fit.
const ROOM: usize = 128;

/// The counts of a decoder since its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Frames taken whole.
    pub frames: u64,
    /// Bytes outside any frame.
    pub garbage_bytes: u64,
    /// Frames dropped: cut short by another, of impossible length, with a wrong checksum.
    pub rejected_frames: u64,
    /// Frames dropped because their rest did not come in time.
    pub timeouts: u64,
    /// Bytes `80`, which some boards send for "nothing".
    pub nothings: u64,
    /// Field updates with bits set beyond square and piece.
    pub odd_fields: u64,
    /// Clock frames with digits that no clock can show.
    pub illegible_clocks: u64,
}

impl Stats {
    /// The number of damages that may have cost a message.
    #[must_use]
    pub fn damage(&self) -> u64 {
        self.garbage_bytes + self.rejected_frames + self.timeouts
    }
}

/// The frames of one dialect of the protocol.
pub(super) trait Dialect {
    /// The largest frame there is.
    const MAX_FRAME: usize;
    /// True if a frame of this id may have this total length. The length is already known to be possible for
    /// some frame.
    fn fits(id: u8, total: usize) -> bool;
    /// True if this id is a byte of its own and no frame.
    fn is_nothing(id: u8) -> bool;
    /// True if the rest of such a frame may come later than [`BYTE_TIMEOUT`].
    fn is_patient(id: u8) -> bool;
}

/// Collects bytes until a frame is whole.
#[derive(Clone, Debug)]
pub(super) struct Framer {
    /// The frame that has started. Only its first byte has bit 7 set.
    started: Vec<u8>,
    last_byte: Millis,
    pub(super) stats: Stats,
}

impl Framer {
    pub(super) fn new() -> Self {
        Self {
            started: Vec::new(),
            last_byte: Millis::default(),
            stats: Stats::default(),
        }
    }

    /// Forgets the frame that has started, because the next bytes come over a new link.
    pub(super) fn clear(&mut self) {
        self.started.clear();
        self.started.shrink_to(ROOM);
    }

    /// True while a frame has started and is not whole.
    pub(super) fn is_midway(&self) -> bool {
        !self.started.is_empty()
    }

    /// How many bytes the frame that has started still lacks, as far as its header tells; 0 where none has
    /// started.
    pub(super) fn missing(&self) -> usize {
        match self.started[..] {
            [] => 0,
            [_, high, low, ..] => announced(high, low).saturating_sub(self.started.len()),
            _ => HEADER - self.started.len(),
        }
    }

    /// Takes bytes in any split; calls `on_frame` with every whole frame.
    pub(super) fn push<D: Dialect>(&mut self, now: Millis, bytes: &[u8], on_frame: &mut impl FnMut(&[u8])) {
        if bytes.is_empty() {
            return;
        }
        self.expire::<D>(now);
        self.last_byte = now;
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = if self.is_midway() {
                self.go_on::<D>(rest, on_frame)
            } else {
                self.begin::<D>(rest, on_frame)
            };
            rest = &rest[used..];
        }
    }

    fn expire<D: Dialect>(&mut self, now: Millis) {
        let late = now.since(self.last_byte) >= BYTE_TIMEOUT;
        if late && self.started.first().is_some_and(|id| !D::is_patient(*id)) {
            self.clear();
            self.stats.timeouts += 1;
        }
    }

    /// Reads between frames. Returns the number of bytes used, at least one.
    #[inline]
    fn begin<D: Dialect>(&mut self, bytes: &[u8], on_frame: &mut impl FnMut(&[u8])) -> usize {
        // Nearly all frames are whole within the slice, and need no copy.
        if let &[id, high, low, ..] = bytes
            && let Some(total) = total_length::<D>(id, high, low)
            && let Some(frame) = bytes.get(..total)
            && is_payload(&frame[HEADER..])
        {
            self.stats.frames += 1;
            on_frame(frame);
            return total;
        }
        let first = bytes[0];
        if !is_start(first) {
            let garbage = run_of_payload(bytes);
            self.stats.garbage_bytes += garbage as u64;
            return garbage;
        }
        if D::is_nothing(first) {
            self.stats.nothings += 1;
            return 1;
        }
        self.started.push(first);
        1
    }

    /// Reads within a frame. Returns the number of bytes used, which is 0 if the next frame cuts this one.
    fn go_on<D: Dialect>(&mut self, bytes: &[u8], on_frame: &mut impl FnMut(&[u8])) -> usize {
        let missing = self.missing();
        let offered = &bytes[..bytes.len().min(missing)];
        let taken = run_of_payload(offered);
        self.started.extend_from_slice(&offered[..taken]);
        if taken < offered.len() {
            // The next frame starts before this one ended.
            self.reject();
        } else if let [id, high, low] = self.started[..] {
            match total_length::<D>(id, high, low) {
                Some(HEADER) => self.finish(on_frame),
                Some(_) => {}
                None => self.reject(),
            }
        } else if self.started.len() > HEADER && taken == missing {
            self.finish(on_frame);
        }
        taken
    }

    fn finish(&mut self, on_frame: &mut impl FnMut(&[u8])) {
        self.stats.frames += 1;
        on_frame(&self.started);
        self.clear();
    }

    fn reject(&mut self) {
        self.stats.rejected_frames += 1;
        self.clear();
    }
}

/// The length of a frame with this header; none if this is no header of the dialect.
#[inline]
fn total_length<D: Dialect>(id: u8, high: u8, low: u8) -> Option<usize> {
    if !is_start(id) || D::is_nothing(id) || is_start(high | low) {
        return None;
    }
    let total = announced(high, low);
    ((HEADER..=D::MAX_FRAME).contains(&total) && D::fits(id, total)).then_some(total)
}

#[inline]
fn announced(high: u8, low: u8) -> usize {
    usize::from(high) << 7 | usize::from(low)
}

#[inline]
fn is_start(byte: u8) -> bool {
    byte & 0x80 != 0
}

#[inline]
fn is_payload(bytes: &[u8]) -> bool {
    !is_start(bytes.iter().fold(0, |all, byte| all | byte))
}

/// The number of bytes before the first that starts a frame.
fn run_of_payload(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|&byte| is_start(byte))
        .unwrap_or(bytes.len())
}
