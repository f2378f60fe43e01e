//! Results of games of which no board tells: a person enters them, and takes them back.

use serde_json::{Value, json};

use super::{Desk, Refused, finish};
use crate::{
    broadcast::began_ms,
    config::Config,
    journal::wall_ms,
    mqtt::{CommandReply, Refusal, ReplyTo, ResultsAsked},
    tournament::{EnteredResults, HandGame, InForce, Pairings},
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
            return Some(answer.done(state(&config, round, &config.pairings(), &entered)));
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
        let read = self.as_read(round);
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
                let result = result.map(|result| result.as_pgn().to_owned());
                in_force.results.enter(&read, game, result, by.clone(), wall_ms());
            }
            let mut shown = read;
            in_force.results.put_into(&mut shown);
            let state = state(&config, round, &shown, &in_force.results);
            finish(&config.journal.path, in_force, &answer, state)
        });
        None
    }
}

impl Desk {
    /// The pairings of the present round without what a person entered.
    fn as_read(&self, round: u32) -> Pairings {
        let put = self.present(round).and_then(|present| present.pairings.clone());
        let configured = self.configured.broadcast.as_ref();
        let configured = configured.map(|broadcast| broadcast.pairings.clone());
        put.or(configured).unwrap_or_default()
    }
}

/// Why the results cannot be taken.
fn why_not(asked: &ResultsAsked, round: u32, config: &Config) -> Option<Refused> {
    // Who looks at an old page means another game.
    if asked.round != Some(round) {
        return Some(Refused::NotPresent { present: round });
    }
    let pairings = config.pairings();
    let stray = asked.results.keys().find(|game| pairings.game(**game).is_none());
    stray.map(|game| Refused::NoGame(*game, round))
}

/// The games of the round at which no board of the gateway stands, and those with a result by hand.
pub(super) fn games(config: &Config) -> Vec<HandGame> {
    EnteredResults::default().games(&config.pairings(), config.tables().len())
}

/// The games of which no board tells, by the `shown` pairings.
fn state(config: &Config, round: u32, shown: &Pairings, entered: &EnteredResults) -> Value {
    let games = entered.games(shown, config.tables().len());
    json!({ "round": round, "games": games, "public": config.broadcast.is_some() })
}
