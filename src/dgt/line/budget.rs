//! How long a line takes to visit its boards, at 9600 baud with eight bits a byte and two around them.

/// Time of one byte on the wire, in microseconds.
const BYTE_US: u64 = 1_000_000 * 10 / 9600;
/// Bytes of a question.
const QUESTION: u64 = 4;
/// Bytes of an answer: no change, a clock, a whole board.
const NOTHING: u64 = 6;
const CLOCK: u64 = 13;
const DUMP: u64 = 70;
/// Time of `bytes` bytes on the wire, in milliseconds.
pub(super) const fn wire_ms(bytes: u64) -> u64 {
    (bytes * BYTE_US).div_ceil(1000)
}

/// Usual time from the end of a question to the beginning of its answer (milliseconds). The board, the
/// adapter and this program need it.
pub const USUAL_ANSWER_MS: u64 = 10;
/// The master asks for an absent board once a second, and waits for this long (milliseconds).
const ABSENT_MS: u64 = 105;

/// Time of a round, in microseconds, in which the master asks `boards` boards for their changes, and for
/// their clocks if `clocks` is true. Each answer begins `answer_ms` after its question.
#[must_use]
pub fn cycle_us(boards: u64, clocks: bool, answer_ms: u64) -> u64 {
    let exchange = |answer: u64| (QUESTION + answer) * BYTE_US + answer_ms * 1000;
    let clock = if clocks { exchange(CLOCK) } else { 0 };
    boards * (exchange(NOTHING) + clock)
}

/// For how long a line of `boards` boards gathers the messages of each (milliseconds): one round, with one
/// dump and one absent board.
#[must_use]
pub fn gathered_ms(boards: u64) -> u64 {
    let dump = (QUESTION + DUMP) * BYTE_US + USUAL_ANSWER_MS * 1000;
    (cycle_us(boards, true, USUAL_ANSWER_MS) + dump).div_ceil(1000) + ABSENT_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_takes_no_longer_than_the_documents_say() {
        for (boards, most_ms) in [(12, 800), (24, 1600), (40, 2700)] {
            for answer_ms in [5, USUAL_ANSWER_MS, 19] {
                let took = cycle_us(boards, true, answer_ms);
                assert!(took <= most_ms * 1000, "{boards} boards: {took} us");
            }
        }
        assert_eq!(cycle_us(1, false, 0), 10_410);
        assert_eq!(cycle_us(1, true, 0), 28_107);
        assert!(gathered_ms(12) < 1000 && gathered_ms(1) > 200);
    }
}
