//! Acks: the answers of a clock to commands, and reports of its buttons (protocol 4.5).

use super::clock::PAYLOAD;

/// An ack of the clock. Boards repeat old acks: an equal ack that follows within about a second
/// answers nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockAck(pub [u8; 4]);

/// The meaning of an ack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AckMeaning {
    /// The command with this code was carried out. A text command `0x0c` may be answered as `0x01`.
    Done(u8),
    /// The command with this code was refused, for instance set-and-run outside the clock's PC mode.
    Refused(u8),
    /// Answer to the version query: main and sub number.
    Version(u8, u8),
    /// Not asked for: the clock is ready.
    Ready,
    /// Not asked for: these buttons are pressed. Bit 0 is always set; bit 2 back, 3 plus, 4 run, 5 minus, 6
    /// ok; chords combine.
    Buttons(u8),
    /// Not asked for: another report, by its code (bit 7 set).
    Unasked(u8),
}

impl ClockAck {
    /// This nibble marks an ack. No hours digit can have it.
    const MARK: u8 = 0x0a;
    const OK: u8 = 0x10;
    const VERSION: u8 = 0x09;

    /// Its meaning.
    #[must_use]
    pub fn meaning(&self) -> AckMeaning {
        let [outcome, code, data, _] = self.0;
        match code {
            0x81 => AckMeaning::Ready,
            0x88 => AckMeaning::Buttons(data),
            code if code & 0x80 != 0 => AckMeaning::Unasked(code),
            code if outcome != Self::OK => AckMeaning::Refused(code),
            Self::VERSION => AckMeaning::Version(data >> 4, data & 0x0f),
            code => AckMeaning::Done(code),
        }
    }

    /// The ack in a clock frame's payload, if it is one.
    ///
    /// Emulators mark both hours bytes or only the first: either is enough.
    pub(super) fn decode(payload: &[u8; PAYLOAD]) -> Option<Self> {
        let [first, ack0, ack1, second, ack2, ack3, _] = *payload;
        if first & 0x0f != Self::MARK && second & 0x0f != Self::MARK {
            return None;
        }
        // Bit 7 of each byte travels in the upper nibbles of the two hours bytes.
        let top = |carrier: u8, bit: u8| (carrier >> bit & 1) << 7;
        Some(Self([
            ack0 | top(second, 4),
            ack1 | top(second, 5),
            ack2 | top(first, 4),
            ack3 | top(first, 5),
        ]))
    }

    pub(super) fn encode(self) -> [u8; PAYLOAD] {
        let [ack0, ack1, ack2, ack3] = self.0;
        let carry = |low: u8, high: u8| Self::MARK | (low >> 7) << 4 | (high >> 7) << 5;
        [
            carry(ack2, ack3),
            ack0 & 0x7f,
            ack1 & 0x7f,
            carry(ack0, ack1),
            ack2 & 0x7f,
            ack3 & 0x7f,
            0,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_and_meaning_of_the_worked_examples() {
        let cases = [
            ([0x0a, 0x10, 0x09, 0x0a, 0x20, 0x00, 0], AckMeaning::Version(2, 0)),
            (
                [0x0a, 0x10, 0x09, 0x0a, 0x1e, 0x00, 0],
                AckMeaning::Version(1, 14),
            ),
            ([0x0a, 0x10, 0x01, 0x0a, 0x00, 0x00, 0], AckMeaning::Done(1)),
            ([0x0a, 0x10, 0x0a, 0x0a, 0x00, 0x00, 0], AckMeaning::Done(0x0a)),
            ([0x0a, 0x40, 0x0a, 0x0a, 0x00, 0x00, 0], AckMeaning::Refused(0x0a)),
            ([0x0a, 0x10, 0x01, 0x2a, 0x00, 0x00, 0], AckMeaning::Ready),
            ([0x0a, 0x10, 0x08, 0x2a, 0x05, 0x31, 0], AckMeaning::Buttons(0x05)),
            ([0x0a, 0x10, 0x08, 0x2a, 0x41, 0x35, 0], AckMeaning::Buttons(0x41)),
            ([0x3a, 0x10, 0x08, 0x2a, 0x01, 0x35, 0], AckMeaning::Buttons(0x81)),
        ];
        for (payload, meaning) in cases {
            let ack = ClockAck::decode(&payload).unwrap();
            assert_eq!(ack.meaning(), meaning, "{payload:02x?}");
            assert_eq!(ack.encode(), payload);
        }
        assert_eq!(
            ClockAck::decode(&[0x3a, 0x10, 0x08, 0x2a, 0x01, 0x35, 0]),
            Some(ClockAck([0x10, 0x88, 0x81, 0xb5]))
        );
    }

    #[test]
    fn one_marked_byte_is_enough() {
        for payload in [[0x0a, 0x10, 9, 0, 0x20, 0, 0], [0, 0x10, 9, 0x0a, 0x20, 0, 0]] {
            assert_eq!(
                ClockAck::decode(&payload).map(|a| a.meaning()),
                Some(AckMeaning::Version(2, 0))
            );
        }
        assert_eq!(ClockAck::decode(&[0x20, 3, 2, 0x20, 3, 2, 8]), None);
    }
}
