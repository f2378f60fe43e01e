//! The numbers that the broker has by now in the games that it retains. The journal keeps them: a broker that later shows less has
//! forgotten what it was sent.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{link::Publication, topic::Topics};

/// The field of a board's `game` that tells its last number.
#[derive(Deserialize)]
struct Last {
    last_seq: u64,
}

/// The games under way to the broker and those that it has taken.
#[derive(Debug, Default)]
pub(super) struct ShownGames {
    /// Board and last number of each game under way, by topic.
    under_way: BTreeMap<String, (String, u64)>,
    /// The last number of each board that the broker has and the journal does not know of yet.
    pub(super) taken: BTreeMap<String, u64>,
}

impl ShownGames {
    /// Begins a new connection, with nothing under way.
    pub(super) fn restart(&mut self) {
        self.under_way.clear();
    }

    /// Notes that a state was handed over, if it is the game of a board. One without content takes the game away.
    pub(super) fn sent(&mut self, topics: &Topics, message: &Publication) {
        let Some((board, "game")) = topics.parse_read_back(&message.topic) else {
            return;
        };
        let last = if message.payload.is_empty() {
            Some(0)
        } else {
            serde_json::from_slice(&message.payload)
                .ok()
                .map(|last: Last| last.last_seq)
        };
        if let Some(last) = last {
            let game = (board.to_owned(), last);
            self.under_way.insert(message.topic.clone(), game);
        }
    }

    /// Notes that the broker has taken the state.
    pub(super) fn acked(&mut self, topic: &str) {
        self.taken.extend(self.under_way.remove(topic));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_once_the_broker_has_taken_the_game() {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let mut shown = ShownGames::default();
        let send = |shown: &mut ShownGames, state: &str, payload: &str| {
            let topic = format!("dgt2mqtt/gw/board/7/{state}");
            shown.sent(
                &topics,
                &Publication::plain(topic.clone(), payload.to_owned(), true),
            );
            topic
        };
        let game = send(&mut shown, "game", r#"{"last_seq":5,"game":null}"#);
        let other = send(&mut shown, "position", r#"{"last_seq":9}"#);
        shown.acked(&other);
        assert!(shown.taken.is_empty());
        shown.acked(&game);
        assert_eq!(
            std::mem::take(&mut shown.taken),
            BTreeMap::from([("7".to_owned(), 5)])
        );
        send(&mut shown, "game", r#"{"last_seq":6,"game":1}"#);
        shown.restart();
        shown.acked(&game);
        assert!(shown.taken.is_empty(), "nobody knows whether the broker has it");
        send(&mut shown, "game", "");
        shown.acked(&game);
        assert_eq!(shown.taken["7"], 0, "it was taken away");
    }
}
