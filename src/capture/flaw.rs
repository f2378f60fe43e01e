//! What can be wrong with a capture, in a file or in a stream.

/// How many records a capture may have, and how many header lines.
pub(super) const MOST_RECORDS: usize = 4_000_000;
pub(super) const MOST_HEADERS: usize = 10_000;
/// How many bytes a line of a stream may have: a dump with its log fits.
pub(super) const MOST_LINE_BYTES: usize = 64 << 10;

/// A capture that breaks the rules of its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {flaw}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with the line.
    pub flaw: Flaw,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The first line does not name the format.
    #[error("a capture begins with `# dgtcap 1`")]
    NotACapture,
    /// A later version of the format.
    #[error("version {0:?} of the format is not known, only 1")]
    Version(String),
    /// The line is not text.
    #[error("not UTF-8")]
    NotText,
    /// A `#` line that is not `# key: value`.
    #[error("a line with `#` has the form `# key: value`; a remark can be written as `# note: ...`")]
    NotAHeader,
    /// A key that changes how the records are read comes after the first of them.
    #[error("`{0}` belongs before the first record")]
    LateHeader(String),
    /// The value of a known key cannot be understood.
    #[error("`{key}: {value}` cannot be understood: {reason}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is wrong with it, or which values are possible.
        reason: String,
    },
    /// A known key comes twice.
    #[error("`{0}` stands twice")]
    Twice(String),
    /// The line has less than `SECONDS DIRECTION BYTES`.
    #[error("a record is `SECONDS DIRECTION BYTES`, for example `31.460 < 8e 00 05 24 01`")]
    Incomplete,
    /// The time is not a decimal number of seconds.
    #[error("{0:?} is not a time in seconds, for example `31.460`")]
    Time(String),
    /// Time goes backwards.
    #[error("the time goes back")]
    TimeGoesBack,
    /// The time is beyond the longest capture: a slip of the pen, or made to keep the reader busy.
    #[error("the time {0:?} lies more than 31 days after the start: is a digit too many there?")]
    TooLate(String),
    /// There are more records than any board makes.
    #[error("a capture has at most {MOST_RECORDS} records and {MOST_HEADERS} lines with `#`: cut it in two")]
    TooMany,
    /// The direction is neither `<` nor `>` nor `!`.
    #[error("{0:?} is no direction: `<` is board to host, `>` host to board, `!` the link")]
    Direction(String),
    /// The bytes are not pairs of hexadecimal digits.
    #[error("{0:?} is not pairs of hexadecimal digits")]
    Hex(String),
    /// The word is neither `up` nor `down`.
    #[error("a link goes `up` or `down`, not {0:?}")]
    Link(String),
    /// A line of a stream does not end.
    #[error("a line is longer than {MOST_LINE_BYTES} bytes")]
    LongLine,
}
