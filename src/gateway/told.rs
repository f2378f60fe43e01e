//! Tells the evening in the log: a line for each game that begins and ends, and for each irregularity and its outcome.
//!
//! `journalctl` shows only the message, so the message has all that a person must know. The fields are for filters.

use std::collections::BTreeMap;

use crate::{
    event::{Body, Event, notice},
    laws::IrregularityKind,
};

/// What a line about a board needs from the lines before it.
#[derive(Debug, Default)]
pub(super) struct LogMemory {
    /// White and Black of the present game.
    players: [Option<String>; 2],
    /// The number of its half-moves.
    plies: u32,
    /// Irregularities of that game, each with its half-move.
    cases: BTreeMap<String, (IrregularityKind, u32)>,
}

/// Writes the line about a notice. What befalls the gateway is told by whoever finds it, once, and not by each board.
fn tell_notice(event: &Event, code: &str, message: &str) {
    if notice::is_of_gateway(code) {
        return;
    }
    let board = event.board.as_str();
    let (game, id) = (event.game, event.id.as_str());
    tracing::warn!(board, game, code, event = id, "board {board}: {message} ({code})");
}

impl LogMemory {
    /// The memory for a game that goes on after a restart.
    pub(super) fn resumed(players: [Option<String>; 2], plies: usize) -> Self {
        Self {
            players,
            plies: u32::try_from(plies).unwrap_or(u32::MAX),
            cases: BTreeMap::new(),
        }
    }

    /// Writes the line about `event`, if it is worth one.
    pub(super) fn tell(&mut self, event: &Event) {
        self.note(event);
        if let Body::Notice { code, message } = &event.body {
            return tell_notice(event, code, message);
        }
        let Some((ply, words)) = self.words(event) else {
            return;
        };
        let board = event.board.as_str();
        let by = event
            .by
            .as_ref()
            .map_or_else(String::new, |by| format!(" (by {by})"));
        let [white, black] = self.players.each_ref().map(Option::as_deref);
        let kind = match &event.body {
            Body::Irregularity(irregularity) => Some(irregularity.kind.as_str()),
            Body::IrregularityResolved { irregularity, .. }
            | Body::IrregularityReopened { irregularity, .. } => {
                self.cases.get(irregularity).map(|(kind, _)| kind.as_str())
            }
            _ => None,
        };
        tracing::info!(
            board,
            game = event.game,
            ply,
            kind,
            white,
            black,
            by = event.by.as_deref(),
            event = event.id.as_str(),
            "board {board}: {words}{by}"
        );
    }

    fn note(&mut self, event: &Event) {
        match &event.body {
            Body::GameStarted { white, black, .. } => {
                self.players = [white.clone(), black.clone()];
                self.plies = 0;
                self.cases.clear();
            }
            Body::NamesCorrected { white, black, .. } => self.players = [white.clone(), black.clone()],
            Body::Move(made) => self.plies = made.ply,
            Body::MovesRetracted { to_ply, .. } => self.plies = *to_ply,
            Body::Irregularity(irregularity) => {
                let case = (irregularity.kind, irregularity.ply);
                self.cases.insert(event.id.clone(), case);
            }
            _ => {}
        }
    }

    /// The half-move, and the words of the line.
    fn words(&self, event: &Event) -> Option<(u32, String)> {
        let game = event.game.unwrap_or_default();
        let names = match &self.players {
            [None, None] => String::new(),
            players => {
                let [white, black] = players.each_ref().map(|name| name.as_deref().unwrap_or("?"));
                format!(": {white} - {black}")
            }
        };
        let case = |id: &str| match self.cases.get(id) {
            Some((kind, ply)) => (*ply, format!("half-move {ply}: {}", kind.as_str())),
            // The irregularity was said before the last restart, or is of an earlier game.
            None => (self.plies, format!("irregularity {id}")),
        };
        Some(match &event.body {
            Body::GameStarted { .. } => (0, format!("game {game} began{names}")),
            Body::NamesCorrected { .. } => (
                self.plies,
                format!("game {game}: its names were corrected{names}"),
            ),
            Body::GameEnded { result, reason, .. } => {
                let plies = self.plies;
                let result = result.as_str();
                (
                    plies,
                    format!("game {game} ended {result} ({reason}) after {plies} half-moves{names}"),
                )
            }
            Body::GameResumed { .. } => (
                self.plies,
                format!("game {game} goes on, its result was taken back{names}"),
            ),
            Body::Irregularity(irregularity) => {
                let kind = irregularity.kind.as_str();
                let title = irregularity.text.get("en").map_or(kind, |words| &words.title);
                let ply = irregularity.ply;
                let certainty = irregularity.certainty.in_words();
                (
                    ply,
                    format!("half-move {ply}: {title} ({kind}, {certainty}){names}"),
                )
            }
            Body::IrregularityResolved { irregularity, how } => {
                let (ply, words) = case(irregularity);
                (ply, format!("{words}: {}", how.in_words()))
            }
            Body::IrregularityReopened { irregularity, open } => {
                let (ply, words) = case(irregularity);
                let what = if *open { "open again" } else { "counts again" };
                (ply, format!("{words}: {what}"))
            }
            _ => return None,
        })
    }
}
