//! What the broker is asked, and told, about the numbers of events.

use std::time::Instant;

use super::Session;
use crate::mqtt::{
    link::{BrokerLink, Message},
    readback::{Numbers, ReadBack},
    window::Sent,
};

impl<L: BrokerLink> Session<'_, L> {
    /// Asks what the broker knows of our numbers.
    pub(super) fn read_back(&mut self) {
        let Some(readback) = &mut self.core.readback else {
            return;
        };
        let may_echo = readback.begin(Instant::now());
        let echo = self.core.topics.echo();
        let filters = self.core.topics.read_back_filters();
        // A fresh link has room for these.
        let asked = self.link.subscribe_to_others(&filters, true);
        if asked
            .and_then(|()| self.link.subscribe(std::slice::from_ref(&echo), false))
            .is_err()
        {
            tracing::error!(
                "the link was busy before anything was sent: the broker is not asked for our numbers"
            );
        }
        if may_echo {
            self.send(&Message::plain(echo, "", false), Sent::Echo);
        }
    }

    /// Nothing speaks against sending any more.
    pub(super) fn settled(&mut self) {
        if let Some(readback) = self.core.readback.take() {
            for board in readback.former(&self.core.boards) {
                tracing::info!(
                    "board {board} is not configured any more: its states are taken from the broker"
                );
                self.core.states.clear(&self.core.topics, &board);
            }
            self.core.ceilings.found(readback.ceilings());
            self.begin();
        }
    }

    /// The ceiling of a board's numbers, or that there is none.
    pub(super) fn send_ceiling(&mut self, board: &str, ceiling: Option<u64>) -> bool {
        let payload = ceiling.and_then(|ceiling| serde_json::to_vec(&Numbers { ceiling }).ok());
        let message = Message::plain(self.core.topics.numbers(board), payload.unwrap_or_default(), true);
        let sent = Sent::Ceiling {
            board: board.to_owned(),
            ceiling,
        };
        let went = self.send(&message, sent);
        if went {
            self.core.ceilings.sent(board, ceiling);
        }
        went
    }

    /// What lay with the broker for want of a disk is taken away.
    pub(super) fn clear_ceiling(&mut self) -> bool {
        if *self.core.unsecured.borrow() {
            return false;
        }
        let board = self.core.ceilings.to_clear().map(str::to_owned);
        board.is_some_and(|board| self.send_ceiling(&board, None))
    }
}

/// Ends when nothing speaks against sending; never when that is so already.
pub(super) async fn settled(readback: Option<&mut ReadBack>) {
    match readback {
        Some(readback) => readback.settled().await,
        None => std::future::pending().await,
    }
}
