//! The irregularities of which a place was told, so that it hears when one of them is off, or its penalty is another.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{
    message::{AlertMessage, words},
    read::{AlertNews, first_id},
};
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
    /// The `id` of its event, as the place was told.
    irregularity: String,
    /// The first id of that event, if its number had jumped before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    formerly: Option<String>,
    /// What happened, in the words in which the place was told.
    title: String,
    certainty: Certainty,
    /// The penalty that was told last.
    penalty: Penalty,
    /// The end of which the place was told; none while it was told of none, or that it counts again.
    #[serde(default)]
    ended: Option<Resolution>,
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

    /// The message on `news`, if it changes what the place was told.
    pub(super) fn follow_up(&self, news: &AlertNews, language: Language) -> Option<AlertMessage> {
        let event = &news.event;
        let told = self.0.iter().find(|told| told.is_of(news))?;
        let (title, mut text) = told.change(&event.body, language)?;
        if let Some(name) = &event.by {
            text += &language.by(name);
        }
        let message = AlertMessage::new(event, event.body.type_name(), &title, text, language);
        Some(message.about(&told.irregularity, told.certainty))
    }

    /// Forgets another irregularity that had the id of this one: the journal was lost or restored meanwhile.
    pub(super) fn forget(&mut self, news: &AlertNews) {
        self.0.retain(|told| !told.is_of(news));
    }

    /// Notes that the place was told of `news`.
    pub(super) fn note(&mut self, news: &AlertNews, language: Language) {
        let event = &news.event;
        if let Body::Irregularity(said) = &event.body {
            self.0.push_back(ToldAlert::new(event, said, language));
            if self.0.len() > MOST {
                self.0.pop_front();
            }
            return;
        }
        let Some(told) = self.0.iter_mut().find(|told| told.is_of(news)) else {
            return;
        };
        match &event.body {
            Body::IrregularityResolved { how, .. } => told.ended = Some(*how),
            Body::IrregularityReopened { .. } => told.ended = None,
            Body::RulingAmended(amended) => told.penalty = amended.ruling.penalty,
            _ => {}
        }
    }
}

impl ToldAlert {
    fn new(event: &Event, said: &Irregularity, language: Language) -> Self {
        Self {
            irregularity: event.id.clone(),
            formerly: Some(first_id(event))
                .filter(|id| *id != event.id)
                .map(str::to_owned),
            title: words(&said.text, language).map_or_else(String::new, |words| words.title.clone()),
            certainty: said.certainty,
            penalty: said.ruling.penalty,
            ended: None,
        }
    }

    /// True where `news` is about it, whatever number it has now.
    fn is_of(&self, news: &AlertNews) -> bool {
        let first = self.formerly.as_ref().unwrap_or(&self.irregularity);
        news.about.as_ref() == Some(first)
    }

    /// Title and text of what `body` changes.
    fn change(&self, body: &Body, language: Language) -> Option<(String, String)> {
        let (word, title, text) = match body {
            Body::IrregularityResolved { how, .. } if self.ended.is_none() => {
                let (word, text) = match how {
                    Resolution::Dismissed => (language.off(), language.dismissed()),
                    Resolution::Superseded => (language.overtaken(), language.may_count()),
                    Resolution::Restored | Resolution::Stands => return None,
                };
                (word, &self.title, text)
            }
            // It goes back to the end of which the place was told.
            Body::IrregularityReopened { open: false, .. } if self.ended == Some(Resolution::Superseded) => {
                return None;
            }
            Body::IrregularityReopened { .. } if self.ended.is_some() => {
                (language.again(), &self.title, language.reopened())
            }
            Body::RulingAmended(amended)
                if self.ended.is_none() && amended.ruling.penalty != self.penalty =>
            {
                let words = words(&amended.text, language)?;
                (language.other_penalty(), &words.title, words.advice.as_str())
            }
            _ => return None,
        };
        Some((format!("{word}: {title}"), text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The irregularity of a fixture.
    fn irregularity() -> Event {
        let text = include_str!("../../fixtures/illegal-stands-rapid.jsonl");
        let mut events = text
            .lines()
            .map(|line| serde_json::from_str::<Event>(line).unwrap());
        events
            .find(|event| matches!(event.body, Body::Irregularity(_)))
            .unwrap()
    }

    /// The titles of the messages on what became of an irregularity of which a place was told.
    fn titles(became: &[Value], language: Language) -> Vec<String> {
        let first = irregularity();
        let mut told = ToldAlerts::default();
        let news = |event: Event| AlertNews {
            position: 1,
            written_ms: 0,
            event,
            about: Some(first.id.clone()),
        };
        told.note(&news(first.clone()), language);
        let mut titles = Vec::new();
        for fields in became {
            let mut event = json!({ "v": 1, "id": "gw/1/99", "seq": 99, "board": "1", "game": 1, "t": 9.0, "time": null,
                "irregularity": first.id });
            event
                .as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            let event = news(serde_json::from_value(event).unwrap());
            if let Some(message) = told.follow_up(&event, language) {
                told = ToldAlerts::parse(&told.text());
                told.note(&event, language);
                titles.push(message.title.split(": ").nth(1).unwrap_or_default().to_owned());
            }
        }
        titles
    }

    fn resolved(how: &str) -> Value {
        json!({ "type": "irregularity_resolved", "how": how })
    }

    fn reopened(open: bool) -> Value {
        json!({ "type": "irregularity_reopened", "open": open })
    }

    #[test]
    fn what_counts_again_is_told_and_what_goes_back_to_its_first_end_is_not() {
        let told = |became: &[Value]| titles(became, Language::En);
        assert_eq!(told(&[resolved("dismissed"), reopened(true)]), ["Off", "Again"]);
        assert_eq!(
            told(&[resolved("superseded"), reopened(true)]),
            ["Overtaken", "Again"]
        );
        // It was put right, which nobody is told, and counts still.
        let restored = [resolved("restored"), resolved("dismissed"), reopened(false)];
        assert_eq!(told(&restored), ["Off", "Again"]);
        let superseded = [resolved("superseded"), resolved("dismissed"), reopened(false)];
        assert_eq!(told(&superseded), ["Overtaken"]);
        assert_eq!(
            titles(&superseded, Language::Ru),
            ["Неактуально"],
            "it may still count, so nothing says that it is off"
        );
    }
    /// Nobody reads on the phone that it may still count, and on the page that it is off.
    #[test]
    fn the_page_says_in_the_same_word_that_something_is_overtaken() {
        let page = include_str!("../dashboard/page/words.js");
        let [en, ru] = [Language::En, Language::Ru].map(Language::overtaken);
        assert!(page.contains(&format!("superseded: [\"{en}\", \"{ru}\"]")));
    }
}
