//! How long a line takes to visit its boards: 9600 baud, eight bits a byte and two around them.

/// Microseconds of one byte on the wire.
const BYTE_US: u64 = 1_000_000 * 10 / 9600;
/// A question.
const QUESTION: u64 = 4;
/// Answers: no change, a clock, a whole board.
const NOTHING: u64 = 6;
const CLOCK: u64 = 13;
const DUMP: u64 = 70;
/// Milliseconds of so many bytes on the wire.
pub(super) const fn wire_ms(bytes: u64) -> u64 {
    (bytes * BYTE_US).div_ceil(1000)
}

/// From the end of a question to the begin of its answer, as a rule (milliseconds): the board, the adapter and we take their time.
pub const USUAL_ANSWER_MS: u64 = 10;
/// A board that is not there is asked for once a second, and its answer is waited for so long.
const ABSENT_MS: u64 = 105;

/// Microseconds of a round in which `boards` boards are asked for their changes, and their clocks where `clocks`, when each
/// answer begins `answer_ms` after its question.
#[must_use]
pub fn cycle_us(boards: u64, clocks: bool, answer_ms: u64) -> u64 {
    let exchange = |answer: u64| (QUESTION + answer) * BYTE_US + answer_ms * 1000;
    let clock = if clocks { exchange(CLOCK) } else { 0 };
    boards * (exchange(NOTHING) + clock)
}

/// For how long a line of `boards` boards gathers what each of them says (milliseconds): a round, with one whole board and one
/// board that is not there.
#[must_use]
pub fn gathered_ms(boards: u64) -> u64 {
    let dump = (QUESTION + DUMP) * BYTE_US + USUAL_ANSWER_MS * 1000;
    (cycle_us(boards, true, USUAL_ANSWER_MS) + dump).div_ceil(1000) + ABSENT_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_takes_as_long_as_is_said() {
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
