//! The rules by which a game is judged.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::{
    game::Period,
    laws::{Case, Edition, Facts, Options, Supervision, TimeControl},
};

/// What the Laws need to know of a game at one board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Edition of the Laws.
    pub laws: Edition,
    /// Time control.
    pub time_control: TimeControl,
    /// Supervision.
    pub supervision: Supervision,
    /// Periods of the time control; empty when unknown.
    pub periods: Vec<Period>,
    /// The readings of contested points of the Laws.
    pub contested: Options,
}

impl Rules {
    /// What the Laws are asked about `facts`.
    pub(super) fn case(&self, facts: Facts) -> Case {
        Case {
            edition: self.laws,
            time_control: self.time_control,
            supervision: self.supervision,
            facts,
        }
    }

    /// The rules for a person.
    #[must_use]
    pub fn in_words(&self) -> String {
        let laws = match self.laws {
            Edition::Laws1997 => "Laws of 1997 (as reprinted with Fritz)",
            Edition::Laws2014 => "Laws of 2014",
            Edition::Proposal2017 => "the Rules Commission's proposal of 2017",
            Edition::Laws2018 => "Laws of 2018",
            Edition::Laws2023 => "Laws of 2023",
        };
        let control = match self.time_control {
            TimeControl::Standard => "standard chess",
            TimeControl::Rapid => "rapid chess",
            TimeControl::Blitz => "blitz",
        };
        let supervision = match (self.time_control, self.supervision) {
            (TimeControl::Standard, _) => "",
            (_, Supervision::Adequate) => " under the Competition Rules",
            (_, Supervision::NotAdequate) => " without enough arbiters for the Competition Rules",
        };
        let periods: Vec<_> = self.periods.iter().map(period_words).collect();
        let periods = if periods.is_empty() {
            "periods unknown".to_owned()
        } else {
            periods.join(", then ")
        };
        format!("{laws}, {control}{supervision}, {periods}")
    }
}

fn period_words(period: &Period) -> String {
    let mut words = match period.moves {
        Some(moves) => format!("{moves} moves in {} minutes", period.minutes),
        None => format!("{} minutes", period.minutes),
    };
    if period.increment > 0 {
        let _ = write!(words, " with {} seconds a move", period.increment);
    }
    words
}
