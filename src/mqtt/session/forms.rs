//! Chooses the form of an event that the broker accepts.

use std::time::Instant;

use super::BrokerSession;
use crate::{
    journal::OutboxRow,
    mqtt::{
        known::Numbers,
        link::{BrokerLink, Publication},
        short::{self, Form},
        window::Sent,
    },
};

impl<L: BrokerLink> BrokerSession<'_, L> {
    pub(super) fn send_event(&mut self) -> bool {
        let Some(row) = self.core.outbox.next() else {
            return false;
        };
        let n = row.n;
        if let Some(left) = &row.unsecured
            && !self.core.ceilings.covers(&row.board, row.seq)
        {
            let (board, wanted) = (row.board.clone(), self.core.ceilings.wanted(row.seq));
            let left = Some(left.clone());
            return wanted.is_some_and(|ceiling| self.send_ceiling(&board, Some(Numbers { ceiling, left })));
        }
        let row = row.clone();
        let Some(message) = self.form_of(&row) else {
            self.core.outbox.refused(n, Instant::now());
            return true;
        };
        let topic = message.topic.clone();
        let went = self.send(&message, Sent::Event { n, topic });
        if went {
            self.core.outbox.sent(n);
            self.core.claim.sends();
        }
        went
    }

    /// The event in a form that the broker accepts; none where not even the last short form fits.
    fn form_of(&mut self, row: &OutboxRow) -> Option<Publication> {
        let (topics, languages) = (self.core.topics.clone(), self.core.settings.languages.clone());
        let message = |form: Form| Publication::plain(topics.event(&row.board, &form.kind), form.json, false);
        if self.core.outbox.is_hopeless(row) {
            return short::last(row).map(message);
        }
        let whole = message(short::told_in(row, &languages));
        if self.fits(&whole) {
            return Some(whole);
        }
        let mut forms = short::forms(row, &languages).into_iter().map(message);
        forms.find(|short| self.is_within(short))
    }

    /// The message; `info` with what tells the time since we took the name from any other.
    pub(super) fn dated(&self, mut message: Publication) -> Publication {
        if message.topic == self.core.topics.info()
            && let Some(era) = self.core.journal.era()
            && let Ok(mut info) = serde_json::from_slice::<serde_json::Map<_, _>>(&message.payload)
        {
            info.insert("journal_era".to_owned(), serde_json::Value::String(era));
            message.payload = serde_json::to_vec(&info).unwrap_or_default().into();
        }
        message
    }

    pub(super) fn is_within(&self, message: &Publication) -> bool {
        self.max_packet.is_none_or(|max| message.packet_bound() <= max)
    }

    /// True where the message fits into the broker's limits. The library would take a larger one for sent, fail, and
    /// fail again after each reconnect.
    pub(super) fn fits(&mut self, message: &Publication) -> bool {
        let is_fitting = self.is_within(message);
        if !is_fitting {
            let bound = message.packet_bound();
            self.alarm(
                &message.topic,
                &format!("{bound} bytes are more than the broker takes"),
            );
        }
        is_fitting
    }
}
