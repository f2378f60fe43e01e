//! The rules of a game may change while its board is recorded: `# rules-change: 31.460 game 2018 blitz adequate 5+3`.
//!
//! The line names its time, so it may stand anywhere. Programs that do not know it go by the header.

use std::fmt;

use serde::Serialize;

use super::value::{LONGEST, microseconds, named};
use crate::{game::periods, time::Millis, watcher::Rules};

/// Other rules than those of the header, from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesChange {
    /// Milliseconds since the start of the capture.
    pub at: Millis,
    /// True where the present game goes by them, too; false where they wait for the next.
    pub of_game: bool,
    /// The rules.
    pub rules: Rules,
}

impl RulesChange {
    /// Reads `SECONDS game|next LAWS TIME-CONTROL SUPERVISION [PERIODS]`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.splitn(6, char::is_whitespace);
        let mut word = || words.next().unwrap_or_default();
        let at = microseconds(word()).filter(|at| *at <= LONGEST);
        let at = at.ok_or("it begins with a time in seconds")?;
        let of_game = match word() {
            "game" => true,
            "next" => false,
            _ => return Err("after the time stands `game` or `next`".to_owned()),
        };
        let rules = Rules {
            laws: named(word())?,
            time_control: named(word())?,
            supervision: named(word())?,
            periods: match word().trim() {
                "" => Vec::new(),
                text => periods::parse(text)?,
            },
            ..Rules::default()
        };
        let at = Millis(at / 1000);
        Ok(Self { at, of_game, rules })
    }
}

impl fmt::Display for RulesChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, rules) = (self.at.0, &self.rules);
        let whose = if self.of_game { "game" } else { "next" };
        write!(f, "{}.{:03} {whose}", ms / 1000, ms % 1000)?;
        let values = spelt(rules).into_iter().map(|(_, value)| value);
        values
            .filter(|value| !value.is_empty())
            .try_for_each(|value| write!(f, " {value}"))
    }
}

/// The keys of a header that say the rules, with their values; without periods that of `periods` is empty.
#[must_use]
pub fn spelt(rules: &Rules) -> [(&'static str, String); 4] {
    let periods: Vec<String> = rules.periods.iter().map(ToString::to_string).collect();
    [
        ("laws", name(&rules.laws)),
        ("time-control", name(&rules.time_control)),
        ("supervision", name(&rules.supervision)),
        ("periods", periods.join(", ")),
    ]
}

/// A name in the spelling of the payloads.
pub(super) fn name(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
