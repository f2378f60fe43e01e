//! The names of a game.

use serde::{Deserialize, Serialize};

use super::Settings;
use crate::event::Body;

/// The names of a game.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// White's and Black's, where they are known.
    pub players: [Option<String>; 2],
    /// Name of the event, where it is known.
    pub event: Option<String>,
    /// Number of the round, where it is known.
    pub round: Option<u32>,
}

impl Table {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            players: settings.players.clone(),
            event: settings.event.clone(),
            round: settings.round,
        }
    }

    /// The names that an event gives to its game; none for an event of another kind.
    #[must_use]
    pub fn told(body: &Body) -> Option<Self> {
        let (Body::GameStarted {
            white,
            black,
            event,
            round,
            ..
        }
        | Body::NamesCorrected {
            white,
            black,
            event,
            round,
        }) = body
        else {
            return None;
        };
        Some(Self {
            players: [white.clone(), black.clone()],
            event: event.clone(),
            round: *round,
        })
    }

    /// The event that gives these names to its game.
    pub(super) fn corrected(&self) -> Body {
        let [white, black] = self.players.clone();
        Body::NamesCorrected {
            white,
            black,
            event: self.event.clone(),
            round: self.round,
        }
    }

    /// Puts these names into the event that starts a game. A game that began as a copy has the names of the
    /// time when it is reported.
    pub(super) fn name(&self, started: &mut Body) {
        let Body::GameStarted {
            white,
            black,
            event,
            round,
            ..
        } = started
        else {
            return;
        };
        [*white, *black] = self.players.clone();
        event.clone_from(&self.event);
        *round = self.round;
    }
}
