//! Results of games of which no board tells: a person enters them, and takes them back. Those of a round that was in force
//! before the present one are put right in the same way, while the present one goes on.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Desk, Done, Refused, finish, refused};
use crate::{
    broadcast::{began_ms, noted},
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
        let Some(present) = config.round() else {
            return Some(answer.refused(Refused::NoRound.code(), &Refused::NoRound));
        };
        let is_asking = asked.results.is_empty();
        if !is_asking && asked.round.is_none() {
            // Who looks at an old page means another game.
            let refused = Refused::NotPresent { present };
            return Some(answer.refused(refused.code(), &refused));
        }
        let round = asked.round.unwrap_or(present);
        if is_asking && round == present {
            let in_force = self.present_or_new(present);
            return Some(answer.done(state(&config, round, &config.pairings(), &in_force.results)));
        }
        if !self.work.is_empty() {
            return Some(answer.refused(Refusal::Busy.code(), &Refusal::Busy));
        }
        let book = Book {
            round,
            in_force: self.present_or_new(present),
            read: (round == present).then(|| self.as_read(round)),
            folder: config
                .broadcast
                .as_ref()
                .map(|broadcast| broadcast.folder.clone()),
            config,
        };
        let asked = asked.clone();
        self.work.spawn_blocking(move || book.enter(asked, &answer));
        None
    }
}

/// The results of a round in the hands of somebody who enters them.
struct Book {
    round: u32,
    /// What is in force.
    in_force: InForce,
    /// The pairings of the present round without what a person entered; none for another round.
    read: Option<Pairings>,
    config: Config,
    folder: Option<PathBuf>,
}

impl Book {
    fn enter(self, asked: ResultsAsked, answer: &ReplyTo) -> Done {
        let Self {
            round,
            mut in_force,
            read,
            config,
            folder,
        } = self;
        let present = in_force.round;
        let Some((read, results)) = open(round, &mut in_force, read, folder.as_deref()) else {
            let asked = round;
            return refused(answer, &Refused::NotKnown { asked, present });
        };
        if let Some(stray) = asked.results.keys().find(|game| read.game(**game).is_none()) {
            return refused(answer, &Refused::NoGame(*stray, round));
        }
        let is_asking = asked.results.is_empty();
        let by = &answer.sender;
        for (game, result) in asked.results {
            tracing::info!(
                "round {round}: the result of game {game} is {} by hand, entered by {}",
                result.map_or("none", |result| result.as_str()),
                by.as_deref().unwrap_or("somebody without a name")
            );
            let result = result.map(|result| result.as_str().to_owned());
            results.enter(&read, game, result, by.clone(), wall_ms());
        }
        let mut shown = read;
        results.put_into(&mut shown);
        let state = state(&config, round, &shown, results);
        if is_asking {
            return Done {
                change: None,
                reply: answer.done(state),
            };
        }
        finish(&config.journal.path, in_force, answer, state)
    }
}

/// The pairings of `round` as they were read, and what was entered; none where nothing is known of it. Those of the present
/// round are `read`.
fn open<'a>(
    round: u32,
    in_force: &'a mut InForce,
    read: Option<Pairings>,
    folder: Option<&Path>,
) -> Option<(Pairings, &'a mut EnteredResults)> {
    if let Some(read) = read {
        if in_force.since_ms == 0 {
            let noted_ms = folder.and_then(|folder| began_ms(folder, round));
            in_force.since_ms = noted_ms.unwrap_or_default();
        }
        return Some((read, &mut in_force.results));
    }
    if round < in_force.round && !in_force.others.contains_key(&round) {
        in_force.others.insert(round, noted(folder?, round)?);
    }
    let other = in_force.others.get_mut(&round)?;
    Some((other.pairings.clone()?, &mut other.results))
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
