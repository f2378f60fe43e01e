//! Results of games of which no board tells: a person enters them, and takes them back.

use serde_json::{Value, json};

use super::{Desk, Refused, finish};
use crate::{
    broadcast::began_ms,
    config::Config,
    journal::wall_ms,
    mqtt::{CommandReply, Refusal, ReplyTo, ResultsAsked},
    tournament::{Entered, EnteredResults, HandGame, InForce},
};

impl Desk {
    /// Takes the results that `asked` has, and tells the games of the round that no board tells of. Returns the answer,
    /// unless that comes later.
    pub(in crate::gateway) fn results(
        &mut self,
        asked: &ResultsAsked,
        answer: ReplyTo,
    ) -> Option<CommandReply> {
        let config = self.config();
        let Some(round) = config.round() else {
            return Some(answer.refused(Refused::NoRound.code(), &Refused::NoRound));
        };
        let present = self.present(round).cloned();
        if asked.results.is_empty() {
            let entered = present.map(|present| present.results).unwrap_or_default();
            return Some(answer.done(state(&config, round, &entered)));
        }
        if let Some(refused) = why_not(asked, round, &config) {
            return Some(answer.refused(refused.code(), &refused));
        }
        if !self.work.is_empty() {
            return Some(answer.refused(Refusal::Busy.code(), &Refusal::Busy));
        }
        let folder = config
            .broadcast
            .as_ref()
            .map(|broadcast| broadcast.folder.clone());
        let (by, asked) = (answer.sender.clone(), asked.clone());
        self.work.spawn_blocking(move || {
            let mut in_force = present.unwrap_or_else(|| InForce {
                round,
                since_ms: folder
                    .and_then(|folder| began_ms(&folder, round))
                    .unwrap_or_default(),
                ..InForce::default()
            });
            for (game, result) in asked.results {
                tracing::info!(
                    "round {round}: the result of game {game} is {} by hand, entered by {}",
                    result.map_or("none", |result| result.as_pgn()),
                    by.as_deref().unwrap_or("somebody without a name")
                );
                in_force.results.enter(Entered {
                    game,
                    result: result.map(|result| result.as_pgn().to_owned()),
                    by: by.clone(),
                    at_ms: wall_ms(),
                });
            }
            let path = config.journal.path.clone();
            let mut next = config;
            next.put_in_force(&in_force);
            let state = state(&next, round, &in_force.results);
            finish(&path, in_force, &answer, state)
        });
        None
    }
}

/// Why the results cannot be taken.
fn why_not(asked: &ResultsAsked, round: u32, config: &Config) -> Option<Refused> {
    // Who looks at an old page means another game.
    if asked.round != Some(round) {
        return Some(Refused::NotPresent { present: round });
    }
    let pairings = config.pairings();
    let stray = asked.results.keys().find(|game| !pairings.has(**game));
    stray.map(|game| Refused::NoGame(*game, round))
}

/// The games of the round at which no board of the gateway stands, and those with a result by hand.
pub(super) fn games(config: &Config, entered: &EnteredResults) -> Vec<HandGame> {
    entered.games(&config.pairings(), config.tables().len())
}

fn state(config: &Config, round: u32, entered: &EnteredResults) -> Value {
    json!({ "round": round, "games": games(config, entered) })
}
