//! The answer of the Laws: what they prescribe. It is advice to an arbiter, never a decision.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::terms::{Penalty, PositionRuling};

/// What the Laws prescribe for one case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Ruling {
    /// The penalty.
    pub penalty: Penalty,
    /// What becomes of the position.
    pub position: PositionRuling,
    /// Articles in the numbering of the edition.
    pub articles: Vec<String>,
}
