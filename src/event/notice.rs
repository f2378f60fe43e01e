//! The codes of what an operator should know. They are stable, because programs rely on them. `docs/troubleshooting.md`
//! tells for each what to do.

/// Names the codes, and lists them.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*

        /// All of them.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

codes! {
    // Of the game.
    /// Another board than that of the game answers at its port.
    ANOTHER_BOARD = "another_board",
    /// A flag is down at the end of a period whose moves were made.
    PERIOD_COMPLETE = "period_complete",
    /// Several sequences of moves explain what happened while the link was down.
    GAP_AMBIGUOUS = "gap_ambiguous",
    /// The board did not tell its log, or the log does not fit the game.
    BOARD_LOG_USELESS = "board_log_useless",
    /// No short sequence of moves explains what happened while the link was down.
    GAP_NOT_EXPLAINED = "gap_not_explained",
    /// A piece is not read: its chip may be dead.
    PIECE_NOT_READ = "piece_not_read",
    /// A piece is read as another one: it has the chip of another piece.
    PIECE_READ_WRONG = "piece_read_wrong",
    /// The board cannot tell what a pawn became.
    PROMOTION_NOT_TOLD = "promotion_not_told",
    /// The position has occurred three times (9.2).
    THREEFOLD_REPETITION = "threefold_repetition",
    /// Fifty moves by each side without a capture or a pawn move (9.3).
    FIFTY_MOVES = "fifty_moves",
    /// The board does not see what stands on a square.
    SQUARE_NOT_READ = "square_not_read",
    /// A wrong initial position was put right on the board after the game had begun.
    ARRAY_PUT_RIGHT = "array_put_right",
    /// The pieces were set up anew while the result of the game was still to come.
    SET_UP_WITHOUT_RESULT = "set_up_without_result",
    /// Black has made the first half-move (1.2).
    BLACK_BEGAN = "black_began",
    /// While the clock stood, a position was set up that did not occur in the game.
    POSITION_SET_UP = "position_set_up",
    /// The position stands on the board another way round than before, and the game goes on there.
    POSITION_TRANSFERRED = "position_transferred",
    /// The players move and turn the lever, and the clock stands.
    CLOCK_STANDS = "clock_stands",
    /// A game that has a result is played on by the clock.
    PLAYED_ON = "played_on",
    /// The board shows a result that contradicts the last ruling.
    RESULT_CONTRADICTS = "result_contradicts",
    /// Half-moves were put together from pieces that had stood there before a command took the record back.
    RECONSTRUCTED = "reconstructed",
    /// Other rules were configured, and wait for the next game.
    RULES_WAIT = "rules_wait",
    /// An arbiter has said that the game goes by other rules than those under which it began.
    RULES_TAKEN = "rules_taken",
    /// Nobody knows by which rules an earlier game was played of which somebody reports something.
    RULES_UNKNOWN = "rules_unknown",
    /// What was kept of the game over a restart cannot be used, or only in part.
    SNAPSHOT_SET_ASIDE = "snapshot_set_aside",
    /// The broker refuses an event in full, and this stands in its place.
    EVENT_ABRIDGED = "event_abridged",
    /// The board's own battery will not last.
    BOARD_BATTERY_LOW = "board_battery_low",
    /// The clock says that its battery is low.
    CLOCK_BATTERY_LOW = "clock_battery_low",
    /// Two boards tell one serial number.
    SERIAL_DOUBLED = "serial_doubled",
    /// More than one board answers at an address of a line.
    LINE_ADDRESS_DOUBLED = "line_address_doubled",
    /// A board answers on a line that the configuration does not name.
    LINE_BOARD_UNLISTED = "line_board_unlisted",
    /// Another program asks the boards of a line, too.
    LINE_SHARED = "line_shared",
    // Of the journal.
    /// The journal's file could not be read, or turned out to be damaged.
    JOURNAL_DAMAGED = "journal_damaged",
    /// There was a journal, and it is gone.
    JOURNAL_MISSING = "journal_missing",
    /// Another file was put in the journal's place.
    JOURNAL_REPLACED = "journal_replaced",
    /// There is a journal that could not be read when the daemon began.
    JOURNAL_UNREAD = "journal_unread",
    /// The journal was restored from a backup.
    JOURNAL_RESTORED = "journal_restored",
    /// A broker knows events that the journal does not have.
    JOURNAL_BEHIND = "journal_behind",
    /// No disk secures the numbers of events.
    JOURNAL_UNSECURED = "journal_unsecured",
    /// The journal is new, and the broker does not tell all numbers that were given out before.
    NUMBERS_UNKNOWN = "numbers_unknown",
    /// A game goes on under another number, with the half-moves that the broker or the journal has kept.
    GAME_FOUND = "game_found",
    /// The journal cannot be written.
    JOURNAL_FAILING = "journal_failing",
    /// The journal's disk does not answer.
    JOURNAL_SLOW = "journal_slow",
    /// The journal can be written again.
    JOURNAL_RECOVERED = "journal_recovered",
    /// Events were kept neither on the disk nor in memory.
    EVENTS_LOST = "events_lost",
    /// The journal was that of a gateway with another name.
    GATEWAY_RENAMED = "gateway_renamed",
    /// The disk has no room for the journal.
    DISK_FULL = "disk_full",
    /// The events that wait for the broker exceed the journal's bound.
    OUTBOX_FILLING = "outbox_filling",
    /// The events that wait for the broker are within the bound again.
    OUTBOX_RECOVERED = "outbox_recovered",
}

/// True for what befalls the gateway, of which all its boards tell: its journal, and what waits for the broker.
#[must_use]
pub fn is_of_gateway(code: &str) -> bool {
    let others = [
        EVENTS_LOST,
        GATEWAY_RENAMED,
        DISK_FULL,
        OUTBOX_FILLING,
        OUTBOX_RECOVERED,
    ];
    code.starts_with("journal_") || others.contains(&code)
}
