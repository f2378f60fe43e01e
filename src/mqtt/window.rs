//! The messages that are under way on a connection, and how many more may be.

use std::{collections::BTreeMap, time::Instant};

use super::link::Ticket;

/// What a ticket stands for.
#[derive(Clone, Debug)]
pub(super) enum Sent {
    /// The birth (`online`) or `offline`.
    Word,
    Event {
        n: u64,
        topic: String,
    },
    State {
        topic: String,
    },
    Reply {
        topic: String,
    },
    /// The ceiling of a board's numbers; with none, the message that clears it.
    Ceiling {
        board: String,
        ceiling: Option<u64>,
    },
    /// A message to ourselves.
    Echo,
    /// A word to the gateways of our name.
    Claim,
}

impl Sent {
    /// What names the message, the same when it is sent again; none for one that no suspicion falls on.
    pub(super) fn key(&self) -> Option<String> {
        match self {
            Self::Event { n, topic } => Some(format!("{topic} {n}")),
            Self::State { topic } => Some(topic.clone()),
            Self::Ceiling { board, .. } => Some(format!("numbers {board}")),
            Self::Word => Some("the birth".to_owned()),
            Self::Claim => Some("a word about our name".to_owned()),
            Self::Reply { .. } | Self::Echo => None,
        }
    }
}

/// The messages without acknowledgement, oldest first.
#[derive(Debug)]
pub(super) struct InFlight {
    size: u64,
    next: Ticket,
    under_way: BTreeMap<Ticket, (Sent, Instant)>,
    /// States that nobody acknowledges, each with the ticket that followed it: an answer to that ticket answers them
    /// too.
    unanswered: Vec<(Ticket, Sent)>,
}

impl InFlight {
    pub(super) fn new(size: usize) -> Self {
        Self {
            size: size as u64,
            next: Ticket(1),
            under_way: BTreeMap::new(),
            unanswered: Vec::new(),
        }
    }

    /// True while another message may be sent; with `one_by_one`, when none is under way.
    ///
    /// The window counts from the oldest ticket under way: so packet ids cannot wrap onto an old one.
    pub(super) fn has_room(&self, one_by_one: bool) -> bool {
        let size = if one_by_one { 1 } else { self.size };
        let oldest = self.under_way.first_key_value().map(|(ticket, _)| ticket.0);
        oldest.is_none_or(|oldest| self.next.0 - oldest < size)
    }

    /// How many words to the gateways of our name the broker has not acknowledged.
    pub(super) fn claims(&self) -> usize {
        let sent = self.under_way.values();
        sent.filter(|(sent, _)| matches!(sent, Sent::Claim)).count()
    }

    /// The ticket of the next message.
    pub(super) fn next(&self) -> Ticket {
        self.next
    }

    /// Notes that the message with the ticket [`Self::next`] was handed over.
    pub(super) fn sent(&mut self, sent: Sent) {
        self.under_way.insert(self.next, (sent, Instant::now()));
        self.next.0 += 1;
    }

    /// Notes that a state was handed over that nobody acknowledges.
    pub(super) fn told(&mut self, topic: &str) {
        let is_same =
            |(_, sent): &(Ticket, Sent)| matches!(sent, Sent::State { topic: told } if told == topic);
        if !self.unanswered.iter().any(is_same) {
            let topic = topic.to_owned();
            self.unanswered.push((self.next, Sent::State { topic }));
        }
    }

    /// Takes the broker's answer and returns what the ticket stood for.
    pub(super) fn answered(&mut self, ticket: Ticket) -> Option<Sent> {
        self.unanswered.retain(|(next, _)| *next > ticket);
        self.under_way.remove(&ticket).map(|(sent, _)| sent)
    }

    /// The oldest message that would be sent again; with `untold` also one of the states that nobody acknowledges.
    pub(super) fn oldest(&self, untold: bool) -> Option<&Sent> {
        // The connection may have lost the acknowledgement of the birth.
        let mut sent = self.under_way.iter().map(|(ticket, (sent, _))| (*ticket, sent));
        let oldest = sent.find(|(_, sent)| !matches!(sent, Sent::Word | Sent::Echo | Sent::Claim));
        let untold = self.unanswered.first().filter(|_| untold);
        match (oldest, untold) {
            (Some((ticket, _)), Some((next, sent))) if *next <= ticket => Some(sent),
            (None, Some((_, sent))) => Some(sent),
            // Only the birth, or a word about our name, was under way.
            (None, None) => self.under_way.values().map(|(sent, _)| sent).next(),
            (oldest, _) => oldest.map(|(_, sent)| sent),
        }
    }

    /// When the message that waits longest was sent.
    pub(super) fn since(&self) -> Option<Instant> {
        self.under_way.values().map(|(_, since)| *since).min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// True while the birth or `offline` is under way.
    pub(super) fn has_word(&self) -> bool {
        self.under_way
            .values()
            .any(|(sent, _)| matches!(sent, Sent::Word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_message_holds_the_window_until_it_is_answered() {
        let mut window = InFlight::new(3);
        let topic = String::from("a");
        let oldest = window.next();
        window.sent(Sent::Word);
        assert!(window.has_room(false) && !window.has_room(true));
        window.sent(Sent::Event { n: 5, topic });
        window.sent(Sent::Word);
        assert!(!window.has_room(false));
        assert_eq!(window.oldest(true).and_then(Sent::key).as_deref(), Some("a 5"));
        // The broker answers the second message and not the first: ids must not wrap onto the first.
        window.answered(Ticket(oldest.0 + 1));
        assert!(!window.has_room(false));
        assert!(window.answered(oldest).is_some() && window.answered(oldest).is_none());
        assert!(window.has_room(false) && window.has_word() && !window.is_empty());
    }

    #[test]
    fn what_nobody_acknowledges_is_taken_when_what_followed_is() {
        let mut window = InFlight::new(16);
        let key = |window: &InFlight, untold| window.oldest(untold).and_then(Sent::key);
        let event = |n| Sent::Event {
            n,
            topic: "a".to_owned(),
        };
        window.sent(event(1));
        window.told("health");
        window.told("health");
        window.sent(event(2));
        assert_eq!(key(&window, true).as_deref(), Some("a 1"));
        window.answered(Ticket(1));
        assert_eq!(key(&window, true).as_deref(), Some("health"));
        assert_eq!(key(&window, false).as_deref(), Some("a 2"));
        window.answered(Ticket(2));
        assert_eq!(key(&window, true), None);
    }
}
