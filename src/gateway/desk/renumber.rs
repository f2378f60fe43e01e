//! Puts the number of the present round right: somebody began it under a wrong one. All that is known of it goes with it.

use std::path::Path;

use serde_json::json;

use super::{Desk, Refused, finish, games, games::RoundBegin, refused};
use crate::{
    broadcast::{began_ms, has_games},
    config::Config,
    journal::wall_ms,
    mqtt::{CommandReply, Refusal, Renumber, ReplyTo},
    tournament::InForce,
};

impl Desk {
    /// Gives the present round another number. Returns the answer, unless that comes later.
    pub(in crate::gateway) fn renumber(&mut self, asked: &Renumber, answer: ReplyTo) -> Option<CommandReply> {
        let config = self.config();
        let Some(present) = config.round() else {
            return Some(answer.refused(Refused::NoRound.code(), &Refused::NoRound));
        };
        let Renumber { round, to } = *asked;
        if present == to
            && self
                .present(to)
                .is_some_and(|present| present.formerly.contains(&round))
        {
            return Some(answer.done(json!({ "round": to, "formerly": round })));
        }
        let right = match self.renumbered(asked, present, &config) {
            Ok(right) => right,
            Err(refused) => return Some(answer.refused(refused.code(), &refused)),
        };
        if !self.work.is_empty() {
            return Some(answer.refused(Refusal::Busy.code(), &Refusal::Busy));
        }
        let path = config.journal.path;
        let folder = config.broadcast.map(|broadcast| broadcast.folder);
        self.work.spawn_blocking(move || {
            let folder = folder.as_deref();
            let mut right = right;
            if right.since_ms == 0 {
                right.since_ms = folder
                    .and_then(|folder| began_ms(folder, round))
                    .unwrap_or_default();
            }
            let known = right.others.remove(&to);
            let has_results = known.as_ref().is_some_and(|known| !known.results.is_empty());
            let has_begun = known.map_or(Ok(false), |known| {
                games::has_begun(&path, &known.numbers(), RoundBegin::of(to, Some(&known), folder))
            });
            match has_begun {
                Err(reason) => return refused(&answer, &Refused::Unreadable(reason)),
                Ok(begun)
                    if begun
                        || has_results
                        || folder.is_some_and(|folder| is_of_another(folder, to, &right)) =>
                {
                    return refused(&answer, &Refused::Taken(to));
                }
                Ok(_) => {}
            }
            tracing::warn!("round {round} is round {to} from now on: its number was wrong");
            finish(&path, right, &answer, json!({ "round": to, "formerly": round }))
        });
        None
    }

    /// The present round with the number that `asked` gives it.
    fn renumbered(&self, asked: &Renumber, present: u32, config: &Config) -> Result<InForce, Refused> {
        let Renumber { round, to } = *asked;
        if round != present || round == to {
            return Err(Refused::NotInForce {
                asked: round,
                present,
            });
        }
        let configured = self.configured.broadcast.as_ref();
        let first = configured.map(|broadcast| broadcast.tournament.round);
        if let Some(first) = first.filter(|first| to < *first) {
            return Err(Refused::Older(first));
        }
        let mut right = self.leaving(config).ok_or(Refused::NoRound)?;
        let lichess = config
            .broadcast
            .as_ref()
            .and_then(|broadcast| broadcast.lichess.as_ref());
        // A round that lichess finds by its number has another one there from now on.
        let named = lichess.filter(|lichess| lichess.broadcast.is_none());
        right.lichess = named.map(|lichess| lichess.round.clone());
        if let Some(refused) = self.why_unfit(to, right.lichess.as_ref(), None) {
            return Err(refused);
        }
        // What a text or a file says of a round of this number is of another one.
        (right.text, right.is_from_file) = (None, false);
        let start = config
            .broadcast
            .as_ref()
            .and_then(|broadcast| broadcast.tournament.start.clone());
        right.start = right.start.or(start);
        Ok(right.numbered(to, wall_ms()))
    }
}

/// True where the folder of the broadcast has games of a round `to` that is not this one. This one may have had that number
/// before a backup was restored.
fn is_of_another(folder: &Path, to: u32, right: &InForce) -> bool {
    has_games(folder, to) && began_ms(folder, to) != Some(right.since_ms)
}
