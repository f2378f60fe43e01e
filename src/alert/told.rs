//! The irregularities of which a place was told, so that it hears when one of them is off, or its penalty is another.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::message::{AlertMessage, words};
use crate::{
    config::Language,
    event::{Body, Certainty, Event, Irregularity, Resolution},
    terms::Penalty,
};

/// How many are kept. One that is dismissed is dismissed within the round, or the day.
const MOST: usize = 256;

/// An irregularity of which a place was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ToldAlert {
    /// The `id` of its event.
    irregularity: String,
    /// What happened, in the words in which the place was told.
    title: String,
    certainty: Certainty,
    /// The penalty that was told last.
    penalty: Penalty,
    /// True once the place was told that it is off.
    #[serde(default)]
    is_off: bool,
}

/// What a place was told, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToldAlerts(VecDeque<ToldAlert>);

impl ToldAlerts {
    /// What the file of positions has of it: a line for each. A line that cannot be read is left out.
    pub(super) fn parse(text: &str) -> Self {
        Self(
            text.lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
        )
    }

    /// The same for the file.
    pub(super) fn text(&self) -> String {
        let lines = self.0.iter().filter_map(|told| serde_json::to_string(told).ok());
        lines.map(|line| line + "\n").collect()
    }

    /// The message on `event`, if it changes what the place was told.
    pub(super) fn follow_up(&self, event: &Event, language: Language) -> Option<AlertMessage> {
        let id = irregularity(&event.body)?;
        let told = self.0.iter().find(|told| told.irregularity == id)?;
        let (title, mut text) = told.change(&event.body, language)?;
        if let Some(name) = &event.by {
            text += &language.by(name);
        }
        let message = AlertMessage::new(event, event.body.type_name(), &title, text, language);
        Some(message.about(&told.irregularity, told.certainty))
    }

    /// Notes that the place was told of `event`.
    pub(super) fn note(&mut self, event: &Event, language: Language) {
        if let Body::Irregularity(said) = &event.body {
            self.0.push_back(ToldAlert::new(event, said, language));
            if self.0.len() > MOST {
                self.0.pop_front();
            }
            return;
        }
        let id = irregularity(&event.body);
        let concerned = |told: &&mut ToldAlert| Some(told.irregularity.as_str()) == id;
        let Some(told) = self.0.iter_mut().find(concerned) else {
            return;
        };
        match &event.body {
            Body::IrregularityResolved { .. } => told.is_off = true,
            Body::IrregularityReopened { .. } => told.is_off = false,
            Body::RulingAmended(amended) => told.penalty = amended.ruling.penalty,
            _ => {}
        }
    }
}

impl ToldAlert {
    fn new(event: &Event, said: &Irregularity, language: Language) -> Self {
        Self {
            irregularity: event.id.clone(),
            title: words(&said.text, language).map_or_else(String::new, |words| words.title.clone()),
            certainty: said.certainty,
            penalty: said.ruling.penalty,
            is_off: false,
        }
    }

    /// Title and text of what `body` changes.
    fn change(&self, body: &Body, language: Language) -> Option<(String, String)> {
        let (word, title, text) = match body {
            Body::IrregularityResolved { how, .. } if !self.is_off => {
                let text = match how {
                    Resolution::Dismissed => language.dismissed(),
                    Resolution::Superseded => language.overtaken(),
                    Resolution::Restored | Resolution::Stands => return None,
                };
                (language.off(), &self.title, text)
            }
            Body::IrregularityReopened { .. } if self.is_off => {
                (language.again(), &self.title, language.reopened())
            }
            Body::RulingAmended(amended) if !self.is_off && amended.ruling.penalty != self.penalty => {
                let words = words(&amended.text, language)?;
                (language.other_penalty(), &words.title, words.advice.as_str())
            }
            _ => return None,
        };
        Some((format!("{word}: {title}"), text.to_owned()))
    }
}

/// The irregularity that an event is about.
fn irregularity(body: &Body) -> Option<&str> {
    match body {
        Body::IrregularityResolved { irregularity, .. } | Body::IrregularityReopened { irregularity, .. } => {
            Some(irregularity)
        }
        Body::RulingAmended(amended) => Some(&amended.irregularity),
        _ => None,
    }
}
