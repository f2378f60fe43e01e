//! The `# key: value` lines of a capture.

use jiff::Timestamp;

use super::{Flaw, RulesChange, StoodStill, value::named};
use crate::{
    game::{Period, periods},
    laws::{Edition, Supervision, TimeControl},
    watcher::{ClockSideSetting, MOST_GATHERED_MS, OrientationSetting, Protocol, Rules},
};

/// No line has more boards.
const MOST_ON_LINE: u64 = 1000;

/// The `# key: value` lines in their order. The values of known keys have been checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    lines: Vec<(String, String)>,
    board: Option<String>,
    protocol: Option<Protocol>,
    gathered_ms: Option<u64>,
    boards_on_line: Option<u64>,
    orientation: Option<OrientationSetting>,
    clock_side: Option<ClockSideSetting>,
    laws: Option<Edition>,
    time_control: Option<TimeControl>,
    supervision: Option<Supervision>,
    periods: Option<Vec<Period>>,
    start: Option<Timestamp>,
    rules_changes: Vec<RulesChange>,
    stood_still: Vec<StoodStill>,
}

impl Header {
    /// The keys that change how the records are read.
    pub const KNOWN: [&str; 11] = [
        "board",
        "protocol",
        "gathered",
        "boards-on-line",
        "orientation",
        "clock-side",
        "laws",
        "time-control",
        "supervision",
        "periods",
        "start",
    ];

    /// The board's id.
    #[must_use]
    pub fn board(&self) -> Option<&str> {
        self.board.as_deref()
    }

    /// The protocol of the board; that of a DGT board where the capture does not say.
    #[must_use]
    pub fn protocol(&self) -> Option<Protocol> {
        self.protocol
    }

    /// How many milliseconds the line may have gathered bytes before they got their time; none where the capture does
    /// not say.
    #[must_use]
    pub fn gathered_ms(&self) -> Option<u64> {
        self.gathered_ms
    }

    /// How many boards share the line; none where the capture does not say.
    #[must_use]
    pub fn boards_on_line(&self) -> Option<u64> {
        self.boards_on_line
    }

    /// Which way round the board lies; found from the start position where the capture does not say.
    #[must_use]
    pub fn orientation(&self) -> OrientationSetting {
        self.orientation.unwrap_or_default()
    }

    /// Which side of the clock is White's; found by the watcher where the capture does not say.
    #[must_use]
    pub fn clock_side(&self) -> ClockSideSetting {
        self.clock_side.unwrap_or_default()
    }

    /// Edition of the Laws.
    #[must_use]
    pub fn laws(&self) -> Option<Edition> {
        self.laws
    }

    /// Time control of the game.
    #[must_use]
    pub fn time_control(&self) -> Option<TimeControl> {
        self.time_control
    }

    /// Supervision of the game.
    #[must_use]
    pub fn supervision(&self) -> Option<Supervision> {
        self.supervision
    }

    /// Periods of the time control; none when unknown.
    #[must_use]
    pub fn periods(&self) -> &[Period] {
        self.periods.as_deref().unwrap_or_default()
    }

    /// Other rules than these, from some time on.
    #[must_use]
    pub fn rules_changes(&self) -> &[RulesChange] {
        &self.rules_changes
    }

    /// When the host stood still.
    #[must_use]
    pub fn stood_still(&self) -> &[StoodStill] {
        &self.stood_still
    }

    /// Has the rules from some time on be what `change` makes of them.
    pub fn map_rules_changes(&mut self, change: impl Fn(Rules) -> Rules) {
        for changed in &mut self.rules_changes {
            changed.rules = change(std::mem::take(&mut changed.rules));
        }
    }

    /// Unix time in milliseconds at second 0.
    #[must_use]
    pub fn epoch_ms(&self) -> Option<i64> {
        self.start.map(Timestamp::as_millisecond)
    }

    /// All lines, known and unknown, in their order.
    #[must_use]
    pub fn lines(&self) -> &[(String, String)] {
        &self.lines
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When a known key has a value that cannot be understood, or comes twice.
    pub fn push(&mut self, key: &str, value: &str) -> Result<(), Flaw> {
        match key {
            "board" => set(&mut self.board, key, value, board_id(value)),
            "protocol" => set(&mut self.protocol, key, value, named(value)),
            "gathered" => set(&mut self.gathered_ms, key, value, gathered(value)),
            "boards-on-line" => set(&mut self.boards_on_line, key, value, boards(value)),
            "orientation" => set(&mut self.orientation, key, value, named(value)),
            "clock-side" => set(&mut self.clock_side, key, value, named(value)),
            "laws" => set(&mut self.laws, key, value, named(value)),
            "time-control" => set(&mut self.time_control, key, value, named(value)),
            "supervision" => set(&mut self.supervision, key, value, named(value)),
            "periods" => set(&mut self.periods, key, value, periods::parse(value)),
            "start" => set(&mut self.start, key, value, instant(value)),
            "rules-change" => {
                let mut change = None;
                set(&mut change, key, value, RulesChange::parse(value))
                    .map(|()| self.rules_changes.extend(change))
            }
            "stood-still" => {
                let mut stood = None;
                set(&mut stood, key, value, StoodStill::parse(value)).map(|()| self.stood_still.extend(stood))
            }
            _ => Ok(()),
        }?;
        self.lines.push((key.to_owned(), value.to_owned()));
        Ok(())
    }
}

fn set<T>(slot: &mut Option<T>, key: &str, text: &str, value: Result<T, String>) -> Result<(), Flaw> {
    if slot.is_some() {
        return Err(Flaw::Twice(key.to_owned()));
    }
    *slot = Some(value.map_err(|reason| Flaw::Value {
        key: key.to_owned(),
        value: text.to_owned(),
        reason,
    })?);
    Ok(())
}

/// Reads `1000 ms`.
fn gathered(text: &str) -> Result<u64, String> {
    let ms = text.strip_suffix("ms").map(str::trim_end);
    let ms = ms
        .and_then(|ms| ms.parse().ok())
        .filter(|ms| *ms <= MOST_GATHERED_MS);
    ms.ok_or_else(|| format!("write milliseconds from 0 to {MOST_GATHERED_MS}, as in `1000 ms`"))
}

fn boards(text: &str) -> Result<u64, String> {
    let boards = text
        .parse()
        .ok()
        .filter(|boards| (1..=MOST_ON_LINE).contains(boards));
    boards.ok_or_else(|| format!("write the number of boards, from 1 to {MOST_ON_LINE}"))
}

fn instant(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|e: jiff::Error| format!("{e}; write it as 2026-11-21T14:00:00Z"))
}

fn board_id(id: &str) -> Result<String, String> {
    if is_board_id(id) {
        Ok(id.to_owned())
    } else {
        Err("a board's id is 1 to 32 of a-z, 0-9, `_` and `-`".to_owned())
    }
}

/// True where `id` may name a board: `[a-z0-9_-]{1,32}`, because it becomes a level of a topic.
#[must_use]
pub fn is_board_id(id: &str) -> bool {
    (1..=32).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}
