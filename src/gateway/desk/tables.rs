//! Puts an order of the boards in force: which board stands on which table, as a person found it out in the hall.
//!
//! The order outlives rounds, because people carry boards about less often than players change.

use serde_json::{Value, json};

use super::{Change, Desk, Done, Refused, games, games::RoundBegin, put::seats, refused};
use crate::{
    config::Config,
    mqtt::{Bind, CommandReply, Refusal, ReplyTo},
    tournament::tables,
};

impl Desk {
    /// Logs where the order that was bound cannot be used.
    pub(super) fn look_at_tables(&self) {
        let Some(bound) = &self.bound else { return };
        if !self.configured.clone().bind(bound) {
            tracing::error!(
                "boards are bound to tables that are not configured any more, so the order of the configuration counts: bind them anew \
                 (`bind`, or Pairings on the arbiter's page)"
            );
        }
    }

    /// Says which board stands on which table, and puts another order in force if `asked` has one. Returns the answer,
    /// unless that comes later.
    pub(in crate::gateway) fn bind(&mut self, asked: Bind, answer: ReplyTo) -> Option<CommandReply> {
        let config = self.config();
        let Some(asked) = asked.boards else {
            return Some(answer.done(state(&config)));
        };
        let bound = (!asked.is_empty()).then_some(asked);
        let present = config.tables();
        if let Some(bound) = &bound
            && let Err(wrong) = tables::check(&present, bound)
        {
            let wrong = Refused::Tables(wrong);
            return Some(answer.refused(wrong.code(), &wrong));
        }
        if !self.work.is_empty() {
            return Some(answer.refused(Refusal::Busy.code(), &Refusal::Busy));
        }
        let next = self.config_with(bound.as_deref());
        let round = config.round();
        let present_round = round.and_then(|round| self.present(round)).cloned();
        let path = config.journal.path.clone();
        let folder = config.broadcast.map(|broadcast| broadcast.folder);
        self.work.spawn_blocking(move || {
            if let Some(round) = round {
                let since = RoundBegin::of(round, present_round.as_ref(), folder.as_deref());
                let order = next.tables();
                let moved = tables::moved(&present, &order).into_iter();
                let moved: Vec<&str> = moved.filter_map(|name| next.own(name)).collect();
                match games::played(&path, since, &moved) {
                    Ok(played) if played.is_empty() => {}
                    Ok(played) => return refused(&answer, &Refused::Played(played.join(", "), round)),
                    Err(reason) => return refused(&answer, &Refused::Unreadable(reason)),
                }
            }
            match tables::keep(&path, bound.as_deref().unwrap_or_default()) {
                Ok(()) => Done {
                    change: Some(Change::Tables(bound)),
                    reply: answer.done(state(&next)),
                },
                Err(error) => refused(&answer, &Refused::NotKept(error.to_string())),
            }
        });
        None
    }
}

/// The boards by table, with their players.
fn state(config: &Config) -> Value {
    let (tables, mut pairings) = (config.tables(), config.pairings());
    pairings.boards.truncate(tables.len());
    json!({ "boards": seats(&pairings, &tables), "bound": config.bound.is_some() })
}
