//! Closes the round, and begins the next by pairings that are known already: those of the text that was put in force, or
//! of the file that the configuration names.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::{Value, json};

use super::{Desk, Done, Refused, finish, games, games::RoundBegin, refused, results};
use crate::{
    broadcast::began_ms,
    config::Config,
    journal::wall_ms,
    mqtt::{CommandReply, NextRound, Refusal, ReplyTo},
    tournament::{HandGame, InForce, Pairings, PairingsError},
};

/// A round that is to begin.
struct Next {
    /// What will be in force, without its pairings.
    in_force: InForce,
    file: Option<PathBuf>,
    boards: usize,
}

impl Next {
    /// The round with its pairings.
    fn paired(self) -> Result<InForce, PairingsError> {
        let Self {
            in_force,
            file,
            boards,
        } = self;
        let round = in_force.round;
        let mut missing = PairingsError::NoRound(round);
        if let Some(text) = &in_force.text {
            match Pairings::of_round(text, round, boards) {
                Ok(pairings) => {
                    let pairings = Some(pairings);
                    return Ok(InForce { pairings, ..in_force });
                }
                Err(PairingsError::NoRound(_)) => {}
                Err(error) => missing = error,
            }
        }
        let Some(file) = file.filter(|_| matches!(missing, PairingsError::NoRound(_))) else {
            return Err(missing);
        };
        let mut of_file = InForce {
            text: None,
            is_from_file: true,
            ..in_force
        };
        of_file.read_again(&file, boards)?;
        Ok(of_file)
    }
}

impl Desk {
    /// Says which boards are without a result, and closes the round if there are none or `asked` says so. Then it begins
    /// the round that `asked` names. Returns the answer, unless that comes later.
    pub(in crate::gateway) fn next_round(
        &mut self,
        asked: &NextRound,
        answer: ReplyTo,
    ) -> Option<CommandReply> {
        let config = self.config();
        let Some(round) = config.round() else {
            return Some(answer.refused(Refused::NoRound.code(), &Refused::NoRound));
        };
        let next = match asked.begin {
            None => None,
            Some(begin) if begin == round => {
                return Some(answer.done(json!({ "round": round, "begun": true })));
            }
            Some(begin) => match self.next(begin, round, asked, &config) {
                Ok(next) => Some(next),
                Err(refused) => return Some(answer.refused(refused.code(), &refused)),
            },
        };
        if !self.work.is_empty() {
            return Some(answer.refused(Refusal::Busy.code(), &Refusal::Busy));
        }
        let present = self.present(round).cloned();
        let (whole, leaving) = (self.present_or_new(round), self.leaving(&config));
        let force = asked.force;
        let (paired, by_hand) = (config.paired(), with_result(&config));
        let without_board = without_board(&config);
        let path = config.journal.path.clone();
        let folder = config.broadcast.map(|broadcast| broadcast.folder);
        self.work.spawn_blocking(move || {
            let since = RoundBegin::of(round, present.as_ref(), folder.as_deref());
            let mut open = match games::without_result(&path, &whole.numbers(), since, &paired) {
                Ok(open) => open,
                Err(reason) => return refused(&answer, &Refused::Unreadable(reason)),
            };
            open.retain(|seat| {
                seat["board"]
                    .as_str()
                    .is_none_or(|board| !by_hand.contains(board))
            });
            open.extend(without_board);
            let was_closed = next.is_some() && present.as_ref().is_some_and(|present| present.closed);
            let closes = open.is_empty() || force || was_closed;
            let state = json!({ "round": round, "without_result": open, "closed": closes });
            if !closes {
                return Done {
                    change: None,
                    reply: answer.done(state),
                };
            }
            if let Some(next) = next {
                let number = next.in_force.round;
                return match next.paired() {
                    Ok(next) => {
                        let began = folder.as_deref().and_then(|folder| began_ms(folder, number));
                        let state = json!({ "round": number, "begun": true, "former": state });
                        let next = InForce {
                            since_ms: began.unwrap_or_else(wall_ms),
                            last_event: games::last_event(&path).filter(|_| began.is_none()),
                            ..next
                        };
                        let next = match leaving {
                            Some(leaving) => next.after(leaving),
                            None => next,
                        };
                        finish(&path, next, &answer, state)
                    }
                    Err(error) => refused(&answer, &Refused::Unpaired(number, error)),
                };
            }
            let closed = InForce {
                since_ms: since.ms,
                closed: true,
                ..whole
            };
            finish(&path, closed, &answer, state)
        });
        None
    }

    /// The round `begin`, if it can follow `present`.
    fn next(&self, begin: u32, present: u32, asked: &NextRound, config: &Config) -> Result<Next, Refused> {
        if begin != present + 1 {
            let asked = begin;
            return Err(Refused::NotNext { asked, present });
        }
        if let Some(refused) = self.why_unfit(begin, asked.lichess.as_ref(), asked.start.as_ref()) {
            return Err(refused);
        }
        let broadcast = config.broadcast.as_ref();
        Ok(Next {
            in_force: InForce {
                round: begin,
                results: self
                    .known(begin)
                    .map(|known| known.results.clone())
                    .unwrap_or_default(),
                text: self.present(present).and_then(|present| present.text.clone()),
                lichess: asked.lichess.clone(),
                start: asked.start.clone(),
                ..InForce::default()
            },
            file: broadcast.and_then(|broadcast| broadcast.pairings_file.clone()),
            boards: config.tables().len(),
        })
    }

    /// Reads the pairings of the round in force again, if they are from the file that the configuration names. Results that
    /// were entered follow their players from the `former` pairings of the round.
    pub(super) fn read_again(&mut self, former: Option<(u32, Pairings)>) {
        let boards = self.configured.tables().len();
        let broadcast = self.configured.broadcast.as_ref();
        let file = broadcast.and_then(|broadcast| broadcast.pairings_file.as_ref());
        let Some(in_force) = self.in_force.as_mut() else {
            return;
        };
        let round = in_force.round;
        let results = in_force.results.clone();
        let read = match (file, in_force.is_from_file) {
            (Some(file), true) => in_force.read_again(file, boards),
            _ => Ok(false),
        };
        if in_force.pairings.is_none()
            && let Some(broadcast) = broadcast.filter(|broadcast| broadcast.tournament.round == round)
            && let Some((_, former)) = former.filter(|(number, _)| *number == round)
        {
            in_force.follow(&former, &broadcast.pairings);
        }
        let read = match read {
            Ok(is_new) if is_new || results != in_force.results => in_force
                .keep(&self.configured.journal.path)
                .map_err(|error| error.to_string()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = read {
            tracing::error!("the pairings of round {round}, which is in force, are not taken over: {error}");
        }
    }
}

/// The gateway's boards whose games have a result in the pairings.
fn with_result(config: &Config) -> BTreeSet<String> {
    let (tables, pairings) = (config.tables(), config.pairings());
    let games = tables.iter().zip(&pairings.boards);
    let over = games.filter(|(_, game)| game.as_ref().is_some_and(|game| game.result.is_some()));
    over.filter_map(|(board, _)| config.own(board).map(str::to_owned))
        .collect()
}

/// The games without a result at which no board stands.
fn without_board(config: &Config) -> Vec<Value> {
    let games = results::games(config).into_iter();
    let open = games.filter(|game| game.result.is_none());
    open.map(
        |HandGame {
             game, white, black, ..
         }| { json!({ "board": null, "game": game, "white": white, "black": black }) },
    )
    .collect()
}
