//! The question put to the law: one case, its edition and its facts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::Facts;

/// One question: the rules in force, and what happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Edition of the Laws.
    pub edition: Edition,
    /// Time control of the event.
    pub time_control: TimeControl,
    /// Supervision of the event. It makes no difference in standard chess and in the edition of 1997.
    pub supervision: Supervision,
    /// What happened.
    pub facts: Facts,
}

impl Case {
    /// True where the appendices for few arbiters apply (2014 A.4; 2018 A.4, B.4; 2023 A.5, B.3).
    #[must_use]
    pub fn is_unsupervised(&self) -> bool {
        self.is_quickplay()
            && self.edition != Edition::Laws1997
            && self.supervision == Supervision::NotAdequate
    }

    /// True for rapid and blitz.
    #[must_use]
    pub fn is_quickplay(&self) -> bool {
        self.time_control != TimeControl::Standard
    }
}

/// Editions of the Laws of Chess that can be applied.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
pub enum Edition {
    /// In force from 1 July 1997, as reprinted in a program's help of the day.
    #[serde(rename = "1997-fritz")]
    Laws1997,
    /// In force from 1 July 2014.
    #[serde(rename = "2014")]
    Laws2014,
    /// The Rules Commission's proposal of autumn 2017.
    #[serde(rename = "2017-rc-proposal")]
    Proposal2017,
    /// In force from 1 January 2018.
    #[serde(rename = "2018")]
    Laws2018,
    /// In force from 1 January 2023.
    #[default]
    #[serde(rename = "2023")]
    Laws2023,
}

/// Which appendix of the Laws applies.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TimeControl {
    /// At least 60 minutes a player.
    #[default]
    Standard,
    /// More than 10 and less than 60 minutes a player (Appendix A).
    Rapid,
    /// 10 minutes or less a player (Appendix B).
    Blitz,
}

/// Whether rapid and blitz are played under the Competition Rules (A.3, B.2 of 2018; A.4, B.2 of 2023).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Supervision {
    /// Enough arbiters for the Competition Rules to apply in full.
    #[default]
    Adequate,
    /// Not enough arbiters: the milder rules of the appendix apply.
    NotAdequate,
}

impl Edition {
    /// All editions, oldest first.
    pub const ALL: [Self; 5] = [
        Self::Laws1997,
        Self::Laws2014,
        Self::Proposal2017,
        Self::Laws2018,
        Self::Laws2023,
    ];

    /// The name in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Laws1997 => "1997-fritz",
            Self::Laws2014 => "2014",
            Self::Proposal2017 => "2017-rc-proposal",
            Self::Laws2018 => "2018",
            Self::Laws2023 => "2023",
        }
    }
}

impl TimeControl {
    /// The name in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Rapid => "rapid",
            Self::Blitz => "blitz",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All strings that a schema allows.
    fn names(schema: &serde_json::Value, found: &mut Vec<String>) {
        match schema {
            serde_json::Value::Object(fields) => {
                for (key, value) in fields {
                    match value.as_str() {
                        Some(name) if key == "const" => found.push(name.to_owned()),
                        _ => names(value, found),
                    }
                }
            }
            serde_json::Value::Array(values) => {
                for value in values {
                    match value.as_str() {
                        Some(name) => found.push(name.to_owned()),
                        None => names(value, found),
                    }
                }
            }
            _ => {}
        }
    }

    #[test]
    fn no_edition_is_missing_among_all() {
        let schema = serde_json::to_value(schemars::schema_for!(Edition)).unwrap();
        let mut found = Vec::new();
        names(&schema, &mut found);
        let mut all = Edition::ALL.map(Edition::as_str);
        found.sort();
        all.sort_unstable();
        assert_eq!(found, all);
    }
}
