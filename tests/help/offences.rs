//! Fixtures with an offence, for tests that strike the daemon while they are played.

/// Offences after which nobody touches the board for three seconds.
pub(crate) const OFFENCES: [&str; 6] = [
    "illegal-piece-cannot-move-so",
    "illegal-own-piece",
    "illegal-king-left-in-check",
    "illegal-castling",
    "illegal-opponents-piece",
    "illegal-capture",
];
