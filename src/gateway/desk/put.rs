//! Checks pairings, and puts them in force.
//!
//! Pairings of an earlier round put that round right while the present one is played, which goes on meanwhile. While nothing
//! of the present round is played, or where a person says so, somebody began it by mistake: then the earlier one is in force again.

use std::path::Path;

use serde_json::{Value, json};

use super::{Desk, Done, Refused, finish, games, games::RoundBegin, refused};
use crate::{
    broadcast::noted,
    config::{Config, lichess::lichess_rounds},
    journal::wall_ms,
    mqtt::{CommandReply, PairingsAsked, Refusal, ReplyTo},
    tournament::{self, InForce, Pairings},
};

impl Desk {
    /// Checks `asked`, and puts it in force if it says so. Returns the answer, unless that comes later.
    pub(in crate::gateway) fn pairings(
        &mut self,
        asked: &PairingsAsked,
        answer: ReplyTo,
    ) -> Option<CommandReply> {
        let config = self.config();
        let tables = config.tables();
        let checked = Pairings::check(&asked.text, asked.round, Some(tables.len()));
        let refused = self.why_not(asked, &config);
        let before = self.known(asked.round);
        let next = asked_round(asked, before);
        let former = match config.round() == Some(asked.round) {
            true => Some(self.as_read(asked.round)),
            false => before.and_then(|before| before.pairings.clone()),
        };
        if !asked.put {
            let former = former.unwrap_or_default();
            let mut moved = next;
            let mut noted = checked.noted;
            noted.extend(moved.put_right(&former, checked.pairings.clone()));
            let state = json!({
                "round": asked.round,
                "games": checked.pairings.boards.iter().flatten().count(),
                "boards": seats(&checked.pairings, &tables),
                "wrong": checked.wrong,
                "noted": noted,
                "refused": refused.map(|refused| json!({ "code": refused.code(), "message": refused.to_string() })),
            });
            return Some(answer.done(state));
        }
        let wrong = (!checked.wrong.is_empty()).then(|| {
            let lines: Vec<String> = checked.wrong.iter().map(ToString::to_string).collect();
            Refused::Wrong(lines.join("\n"))
        });
        if let Some(refused) = wrong.or(refused) {
            return Some(answer.refused(refused.code(), &refused));
        }
        if !self.work.is_empty() {
            return Some(answer.refused(Refusal::Busy.code(), &Refusal::Busy));
        }
        let put = PairingsPut {
            next,
            is_new: before.is_none_or(|before| before.since_ms == 0),
            back: asked.back,
            former,
            pairings: checked.pairings,
            present: self.leaving(&config),
            folder: config.broadcast.map(|broadcast| broadcast.folder),
        };
        let path = config.journal.path;
        self.work.spawn_blocking(move || put.finish(&path, &answer));
        None
    }

    /// What is known of a round that is in force, or was.
    pub(super) fn known(&self, round: u32) -> Option<&InForce> {
        self.in_force.as_ref()?.of_round(round)
    }

    /// Why `asked` cannot be put in force now, whatever pairings it has.
    pub(super) fn why_not(&self, asked: &PairingsAsked, config: &Config) -> Option<Refused> {
        let configured = self.configured.broadcast.as_ref();
        let first = configured.map(|broadcast| broadcast.tournament.round);
        if let Some(first) = first.filter(|first| asked.round < *first) {
            return Some(Refused::Older(first));
        }
        let round = config.round();
        if let Some(open) = round.filter(|round| asked.round > *round && !self.is_closed(*round)) {
            // A configuration without pairings has no round that anybody could close.
            let is_played = !config.paired().is_empty();
            if is_played {
                return Some(Refused::Open(open));
            }
        }
        let named = asked
            .lichess
            .as_ref()
            .or_else(|| self.known(asked.round)?.lichess.as_ref());
        self.why_unfit(asked.round, named, asked.start.as_ref())
    }

    /// Why `round` cannot be in force with this round on lichess and this array.
    pub(super) fn why_unfit(
        &self,
        round: u32,
        named: Option<&String>,
        start: Option<&String>,
    ) -> Option<Refused> {
        if let Some(start) = start
            && let Err(why) = tournament::array(start)
        {
            return Some(Refused::Start(start.clone(), why));
        }
        let configured = self.configured.broadcast.as_ref();
        let first = configured.map(|broadcast| broadcast.tournament.round);
        let lichess = configured.and_then(|broadcast| broadcast.lichess.as_ref());
        // The rounds of a broadcast are found or made by their numbers.
        let pushes = lichess.is_some_and(|lichess| lichess.broadcast.is_none());
        let wants = pushes && first != Some(round);
        let fits = named.map_or(!wants, |named| lichess_rounds(named).is_ok());
        (!fits).then_some(Refused::Lichess(round))
    }
}

/// The round that `asked` puts in force, without its pairings; `before` is what is known of it.
fn asked_round(asked: &PairingsAsked, before: Option<&InForce>) -> InForce {
    let or_before = |asked: &Option<String>, before: Option<&Option<String>>| {
        asked.clone().or_else(|| before.cloned().flatten())
    };
    // A round that was begun by mistake, and left again, has not begun.
    let began = before.map(|before| before.since_ms).filter(|began| *began != 0);
    InForce {
        round: asked.round,
        results: before.map(|before| before.results.clone()).unwrap_or_default(),
        lichess: or_before(&asked.lichess, before.map(|before| &before.lichess)),
        start: or_before(&asked.start, before.map(|before| &before.start)),
        since_ms: began.unwrap_or_else(wall_ms),
        last_event: before.and_then(|before| before.last_event),
        formerly: before.map(|before| before.formerly.clone()).unwrap_or_default(),
        renumbered_ms: before.and_then(|before| before.renumbered_ms),
        text: Some(asked.text.clone()).filter(|text| Pairings::has_rounds(text)),
        ..InForce::default()
    }
}

/// Pairings that are put in force.
struct PairingsPut {
    /// Their round, without them.
    next: InForce,
    /// True where nothing was known of that round.
    is_new: bool,
    /// True where the present round was begun by mistake, whatever was played since.
    back: bool,
    /// The pairings of that round before.
    former: Option<Pairings>,
    pairings: Pairings,
    /// The round that is present.
    present: Option<InForce>,
    folder: Option<std::path::PathBuf>,
}

impl PairingsPut {
    fn finish(self, path: &Path, answer: &ReplyTo) -> Done {
        let Self {
            mut next,
            is_new,
            back,
            mut former,
            pairings,
            present,
            folder,
        } = self;
        let round = next.round;
        let folder = folder.as_deref();
        let is_present = present.as_ref().is_some_and(|present| present.round == round);
        let noted = folder
            .filter(|_| is_new || !is_present)
            .and_then(|folder| noted(folder, round));
        if is_new && noted.is_none() {
            next.last_event = games::last_event(path);
        }
        if let Some(noted) = noted {
            next.since_ms = noted.since_ms;
            if is_new && !is_present {
                next.results = noted.results;
                former = noted.pairings;
            }
        }
        let moved = next.put_right(&former.unwrap_or_default(), pairings);
        for moved in &moved {
            tracing::warn!("round {round} is put right: {moved}");
        }
        let mut state = json!({ "round": round, "put": true, "noted": moved });
        let played = present
            .as_ref()
            .filter(|present| present.round > round && !back)
            .map(|present| is_played(path, present, folder));
        let next = match (played, present) {
            (None, Some(present)) if present.round > round => {
                tracing::warn!(
                    "round {} was begun by mistake: round {round} goes on",
                    present.round
                );
                next.again_after(present, wall_ms())
            }
            (Some(Err(reason)), _) => return refused(answer, &Refused::Unreadable(reason)),
            (Some(Ok(true)), Some(mut present)) => {
                state["present"] = present.round.into();
                tracing::info!("round {round} is put right, and round {} goes on", present.round);
                next.text = None;
                present.others.insert(round, next);
                present
            }
            (_, Some(present)) => next.after(present),
            (_, None) => next,
        };
        finish(path, next, answer, state)
    }
}

/// True where something of the round is played, or has a result.
fn is_played(path: &Path, present: &InForce, folder: Option<&Path>) -> Result<bool, String> {
    if !present.results.is_empty() {
        return Ok(true);
    }
    let since = RoundBegin::of(present.round, Some(present), folder);
    games::has_begun(path, &present.numbers(), since)
}

/// The players at the tables, with the boards that stand there. Games behind the last table have no board.
pub(super) fn seats(pairings: &Pairings, tables: &[String]) -> Vec<Value> {
    let count = tables.len().max(pairings.boards.len());
    let seat = |table: usize| {
        let pairing = pairings.boards.get(table).and_then(Option::as_ref);
        let id = tables.get(table);
        let seat = json!({
            "board": table + 1,
            "id": id,
            "white": pairing.map(|pairing| &pairing.white),
            "black": pairing.map(|pairing| &pairing.black),
        });
        (id.is_some() || pairing.is_some()).then_some(seat)
    };
    (0..count).filter_map(seat).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairings_that_are_put_right_keep_what_numbers_the_round_had() {
        let before = InForce {
            round: 3,
            formerly: [4].into(),
            ..InForce::default()
        };
        let asked: PairingsAsked =
            serde_json::from_value(serde_json::json!({ "round": 3, "text": "" })).unwrap();
        assert_eq!(asked_round(&asked, Some(&before)).formerly, before.formerly);
        assert!(asked_round(&asked, None).formerly.is_empty());
    }
}
