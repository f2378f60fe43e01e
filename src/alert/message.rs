//! The message on a phone about an event.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    config::{AlertConfig, Language},
    event::{Body, Certainty, Event, Words},
};

/// A message in the form of a webhook.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct AlertMessage {
    /// The title, in one line.
    pub(super) title: String,
    /// What the Laws say, or what happened.
    pub(super) text: String,
    /// The board's id.
    board: String,
    /// The kind of an irregularity, or the type of another event.
    kind: String,
    /// The certainty of an irregularity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) certainty: Option<Certainty>,
    /// The `id` of the irregularity that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) irregularity: Option<String>,
    /// The whole event.
    event: Event,
}

impl AlertMessage {
    /// The message on `event`, if `alert` asks for one.
    pub(super) fn of(event: &Event, alert: &AlertConfig) -> Option<Self> {
        let language = alert.language;
        let (kind, title, text) = match &event.body {
            Body::Irregularity(irregularity) => {
                if irregularity.certainty < alert.certainty {
                    return None;
                }
                let words = words(&irregularity.text, language)?;
                (
                    irregularity.kind.as_str(),
                    words.title.as_str(),
                    words.advice.clone(),
                )
            }
            Body::Notice { code, message } => ("notice", code.as_str(), message.clone()),
            Body::BoardDisconnected { reason } => ("board_disconnected", language.away(), reason.clone()),
            _ => return None,
        };
        if !alert.wants(kind) {
            return None;
        }
        let message = Self::new(event, kind, title, text, language);
        Some(match &event.body {
            Body::Irregularity(irregularity) => message.about(&event.id, irregularity.certainty),
            _ => message,
        })
    }

    /// A message on `event`.
    pub(super) fn new(event: &Event, kind: &str, title: &str, text: String, language: Language) -> Self {
        let board = &event.board;
        Self {
            title: format!("{} {board}: {title}", language.board()),
            text,
            board: board.clone(),
            kind: kind.to_owned(),
            certainty: None,
            irregularity: None,
            event: event.clone(),
        }
    }

    /// The same message, about an irregularity.
    pub(super) fn about(mut self, irregularity: &str, certainty: Certainty) -> Self {
        self.irregularity = Some(irregularity.to_owned());
        self.certainty = Some(certainty);
        self
    }
}

/// The words in `language`, or in English where there are none.
pub(super) fn words(text: &BTreeMap<String, Words>, language: Language) -> Option<&Words> {
    text.get(language.as_str()).or_else(|| text.get("en"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AlertForm, Language};

    fn alert(certainty: Certainty, kinds: &[&str], language: Language) -> AlertConfig {
        AlertConfig {
            form: AlertForm::Webhook,
            server: "http://localhost".to_owned(),
            path: "/".to_owned(),
            token: None,
            ca_file: None,
            certainty,
            kinds: kinds.iter().map(ToString::to_string).collect(),
            language,
        }
    }

    /// Events of a game with an illegal move that is certain.
    fn events() -> Vec<Event> {
        let text = include_str!("../../fixtures/illegal-stands-rapid.jsonl");
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn what_is_told_goes_by_kind_and_certainty() {
        let kinds = |alert: &AlertConfig, events: &[Event]| {
            let messages = events.iter().filter_map(|event| AlertMessage::of(event, alert));
            messages.map(|message| message.kind).collect::<Vec<_>>()
        };
        let mut events = events();
        let all = alert(Certainty::Suspected, &[], Language::En);
        assert_eq!(kinds(&all, &events), ["illegal_move"]);
        let only = |kind| alert(Certainty::Suspected, &[kind], Language::En);
        assert_eq!(kinds(&only("illegal_move"), &events), ["illegal_move"]);
        assert_eq!(kinds(&only("two_hands"), &events), [""; 0]);
        for event in &mut events {
            if let Body::Irregularity(irregularity) = &mut event.body {
                irregularity.certainty = Certainty::Probable;
            }
        }
        assert_eq!(
            kinds(&alert(Certainty::Probable, &[], Language::En), &events),
            ["illegal_move"]
        );
        assert_eq!(
            kinds(&alert(Certainty::Certain, &[], Language::En), &events),
            [""; 0]
        );
        events[0].body = Body::Notice {
            code: "disk_full".to_owned(),
            message: "no room".to_owned(),
        };
        events[1].body = Body::BoardDisconnected {
            reason: "the port is gone".to_owned(),
        };
        assert_eq!(
            kinds(&all, &events),
            ["notice", "board_disconnected", "illegal_move"]
        );
        assert_eq!(kinds(&only("notice"), &events), ["notice"]);
    }

    #[test]
    fn it_is_told_in_the_language_that_is_wanted() {
        for (language, board, word) in [
            (Language::En, "Board 1: ", "llegal"),
            (Language::Ru, "Доска 1: ", "евозможн"),
        ] {
            let alert = alert(Certainty::Certain, &[], language);
            let message = events()
                .iter()
                .find_map(|event| AlertMessage::of(event, &alert))
                .unwrap();
            assert!(message.title.starts_with(board), "{}", message.title);
            assert!(message.title.contains(word), "{}", message.title);
            assert!(!message.text.is_empty());
        }
    }
}
