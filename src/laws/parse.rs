//! Reads a case from JSON, with errors that name the field.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    case::{Case, Edition, Supervision, TimeControl},
    facts::Facts,
    options::Options,
};

/// Why a case cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct CaseError {
    /// The field, as a path from the top.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

impl CaseError {
    fn new(field: impl Into<String>, problem: &dyn ToString) -> Self {
        Self {
            field: field.into(),
            problem: problem.to_string(),
        }
    }
}

impl Case {
    /// Reads a case. Unknown keys beside `facts` are tolerated, because a collection of cases may carry names and
    /// remarks. Unknown facts are not: a misspelt fact would change a ruling in silence.
    ///
    /// # Errors
    /// The first field that is missing, unknown or of the wrong kind.
    pub fn from_json(value: &Value) -> Result<Self, CaseError> {
        let map = value
            .as_object()
            .ok_or_else(|| CaseError::new("", &"a case is a JSON object"))?;
        let edition: Edition = field(map, "edition")?;
        let time_control: TimeControl = field(map, "time_control")?;
        let supervision = match map.get("supervision") {
            // The supervision makes no difference there, so the case need not have it.
            None if time_control == TimeControl::Standard || edition == Edition::Laws1997 => {
                Supervision::Adequate
            }
            _ => field(map, "supervision")?,
        };
        let facts = map
            .get("facts")
            .ok_or_else(|| CaseError::new("facts", &"missing"))?;
        let facts = facts
            .as_object()
            .ok_or_else(|| CaseError::new("facts", &"must be an object"))?;
        Ok(Self {
            edition,
            time_control,
            supervision,
            facts: read_facts(facts)?,
        })
    }
}

impl Options {
    /// Reads the options of a case: those that its `options` name, with the others as in `self`.
    ///
    /// # Errors
    /// The option that is unknown, or has an unknown reading.
    pub fn with_case(self, value: &Value) -> Result<Self, CaseError> {
        let Some(given) = value.get("options") else {
            return Ok(self);
        };
        let given = given
            .as_object()
            .ok_or_else(|| CaseError::new("options", &"must be an object"))?;
        let Ok(Value::Object(mut options)) = serde_json::to_value(self) else {
            return Err(CaseError::new("options", &"cannot be written as JSON"));
        };
        for (name, reading) in given {
            let alone = Value::Object(Map::from_iter([(name.clone(), reading.clone())]));
            Self::deserialize(alone).map_err(|e| CaseError::new(format!("options.{name}"), &e))?;
            options.insert(name.clone(), reading.clone());
        }
        Self::deserialize(Value::Object(options)).map_err(|e| CaseError::new("options", &e))
    }
}

fn field<T: DeserializeOwned>(map: &Map<String, Value>, name: &str) -> Result<T, CaseError> {
    let value = map.get(name).ok_or_else(|| CaseError::new(name, &"missing"))?;
    T::deserialize(value).map_err(|e| CaseError::new(name, &e))
}

fn read_facts(facts: &Map<String, Value>) -> Result<Facts, CaseError> {
    let error = match Facts::deserialize(Value::Object(facts.clone())) {
        Ok(facts) => return Ok(facts),
        Err(error) => error,
    };
    // serde does not tell which field of a flat object is wrong. So this tries the fields one by one, with other fields
    // that are known to be good.
    let good = json!({
        "irregularity": "illegal_move", "offender": null, "offence_number": 0, "opponent_has_replied": false,
        "moves_completed": {"white": 0, "black": 0}, "opponent_can_mate": true, "last_legal_position_known": true
    });
    for (name, value) in facts {
        let mut trial = good.clone();
        trial[name] = value.clone();
        if let Err(e) = Facts::deserialize(trial) {
            return Err(CaseError::new(format!("facts.{name}"), &e));
        }
    }
    let required = good.as_object().into_iter().flat_map(Map::keys);
    let missing = required.into_iter().find(|name| !facts.contains_key(*name));
    Err(match missing {
        Some(name) => CaseError::new(format!("facts.{name}"), &"missing"),
        None => CaseError::new("facts", &error),
    })
}
