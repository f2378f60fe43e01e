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

    /// Puts these names into the event that starts a game, or that corrects its names. A game that began as a copy has the names of the
    /// time when it is reported.
    pub(super) fn name(&self, started: &mut Body) {
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
        }) = started
        else {
            return;
        };
        [*white, *black] = self.players.clone();
        event.clone_from(&self.event);
        *round = self.round;
    }
}
