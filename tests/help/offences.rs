//! Fixtures with an offence, for tests that strike the daemon while they are played.
#![allow(dead_code)] // shared by several test programs.

/// Offences after which nobody touches the board for three seconds.
pub(crate) const OFFENCES: [&str; 6] = [
    "illegal-piece-cannot-move-so",
    "illegal-own-piece",
    "illegal-king-left-in-check",
    "illegal-castling",
    "illegal-opponents-piece",
    "illegal-capture",
];
/// Those that begin with the array. Who comes to another in the middle cannot know which way round the board lies.
pub(crate) const FROM_THE_ARRAY: [&str; 5] =
    [OFFENCES[0], OFFENCES[1], OFFENCES[2], OFFENCES[4], OFFENCES[5]];
