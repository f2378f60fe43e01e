//! The round of the dashboard's own broadcast. It is that of the configuration, until a gateway of its boards goes on to a
//! later one: then the broadcast follows.
//!
//! The round is kept in the folder of the broadcast, because after a restart the games that began meanwhile must still
//! belong to it.

#[cfg(test)]
mod tests;
mod words;

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::{
    broadcast::began_ms,
    config::Broadcast,
    dashboard::{Ask, GatewayRound, Shared},
    tournament::{InForce, Pairing, Pairings, PairingsError, Player},
};

/// How long to wait for other gateways that go on at the same word.
const TOGETHER: Duration = Duration::from_secs(1);

/// The round in force.
pub(super) struct OwnRound {
    configured: watch::Receiver<Option<Broadcast>>,
    shared: Shared,
    in_force: Option<InForce>,
    settings: watch::Sender<Option<Broadcast>>,
}

/// What the gateways have the broadcast go on with.
struct Next {
    in_force: InForce,
    /// Why it has no pairings of its own, where it wants some.
    why: Option<PairingsError>,
    step: Step,
}

/// How the round that follows lies to the present one.
enum Step {
    /// It is that one, put right.
    Same,
    /// It is a later one.
    On,
    /// It is an earlier one: the present one was begun too early.
    Back,
}

impl Next {
    /// The present round, put right.
    fn of(in_force: InForce) -> Self {
        Self {
            in_force,
            why: None,
            step: Step::Same,
        }
    }
}

/// The round of the broadcast that is `configured`, and the broadcast with that round.
pub(super) fn of(
    mut configured: watch::Receiver<Option<Broadcast>>,
    shared: Shared,
) -> (OwnRound, watch::Receiver<Option<Broadcast>>) {
    configured.mark_unchanged();
    let (settings, receiver) = watch::channel(None);
    let mut own = OwnRound {
        configured,
        shared,
        in_force: None,
        settings,
    };
    own.read();
    own.tell();
    (own, receiver)
}

impl OwnRound {
    /// Follows the gateways, the configuration and the commands in `asked` until `stop`.
    pub(super) async fn follow(mut self, mut asked: mpsc::Receiver<Ask>, stop: CancellationToken) {
        let mut changes = self.shared.changes();
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                changed = self.configured.changed() => match changed {
                    Ok(()) => self.read(),
                    Err(_) => return,
                },
                Some(ask) = asked.recv() => self.answer(ask),
                () = stop.cancelled() => return,
            }
            if self.next().is_some() {
                tokio::select! {
                    () = sleep(TOGETHER) => {}
                    () = stop.cancelled() => return,
                }
                if let Some(next) = self.next() {
                    self.take(next);
                }
            }
            self.tell();
        }
    }

    /// Goes on with what the gateways say.
    fn take(&mut self, Next { in_force, why, step }: Next) {
        match step {
            Step::Same => {}
            Step::On => self.warn_of_open(),
            Step::Back => tracing::info!(
                "{}: a gateway has gone back, and so round {} is in force again",
                self.label(),
                in_force.round
            ),
        }
        if let Some(why) = why {
            tracing::warn!(
                "{}: round {} has the names that the gateways tell, because of its own pairings: {why}",
                self.label(),
                in_force.round
            );
        }
        self.go_on(in_force);
    }

    /// The broadcast in the words of the log.
    fn label(&self) -> String {
        let configured = self.configured.borrow();
        let group = configured
            .as_ref()
            .and_then(|configured| configured.group.as_ref());
        group.map_or_else(
            || "broadcast".to_owned(),
            |group| format!("broadcast of {group:?}"),
        )
    }

    /// Reads what is in force of the broadcast that is configured.
    fn read(&mut self) {
        self.in_force = None;
        let Some(configured) = self.configured.borrow_and_update().clone() else {
            return;
        };
        match InForce::kept(&place(&configured.folder)) {
            Ok(kept) => self.in_force = kept.and_then(|kept| counts(kept, configured.tournament.round)),
            Err(error) => tracing::error!(
                "{}: the round to which it went on cannot be read ({error}): that of the configuration counts; name the present one there",
                self.label()
            ),
        }
        if let (Some(in_force), Some(file)) = (&mut self.in_force, &configured.pairings_file)
            && (in_force.formerly.is_empty() || in_force.is_from_file)
            && let Ok(true) = in_force.read_again(file, configured.boards.len())
        {
            in_force.is_from_file = true;
            let in_force = in_force.clone();
            self.go_on(in_force);
        }
    }

    /// The round to which gateways have gone on; or the round in force under its right number, or with names that the
    /// gateways corrected.
    fn next(&self) -> Option<Next> {
        let configured = self.configured.borrow();
        let configured = configured.as_ref()?;
        let present = self.present(configured);
        let rounds = self.rounds(configured);
        if let Some(right) = self.renumbered(configured, present, &rounds) {
            return Some(Next::of(right));
        }
        if let Some(earlier) = self.gone_back(configured, present, &rounds) {
            return Some(earlier);
        }
        let latest = rounds.iter().map(|round| round.round).max()?;
        let there: Vec<_> = rounds.into_iter().filter(|round| round.round == latest).collect();
        if latest > present {
            let (next, why) = begun(configured, latest, &there);
            return Some(Next {
                in_force: next.after(self.leaving(configured)),
                why,
                step: Step::On,
            });
        }
        let in_force = self
            .in_force
            .as_ref()
            .filter(|in_force| in_force.round == latest)?;
        if in_force.is_from_file {
            return None;
        }
        let pairings = named(&configured.boards, &there, in_force.pairings.as_ref());
        let corrected = InForce {
            pairings: Some(pairings),
            ..in_force.clone()
        };
        (corrected != *in_force).then(|| Next::of(corrected))
    }

    /// The present round under the number that it has at a gateway by now, if that put a wrong number right.
    fn renumbered(&self, configured: &Broadcast, present: u32, rounds: &[GatewayRound]) -> Option<InForce> {
        let mut right = self.leaving(configured);
        // An earlier round that is in force again had its number all along.
        let is_ours = |round: &&GatewayRound| {
            round.formerly.contains(&present)
                && round.round >= configured.tournament.round
                && !right.others.contains_key(&round.round)
        };
        let to = rounds.iter().find(is_ours)?.round;
        if right.since_ms == 0 {
            right.since_ms = began_ms(&configured.folder, present).unwrap_or_default();
        }
        let lichess = configured
            .lichess
            .as_ref()
            .filter(|lichess| lichess.broadcast.is_none());
        right.lichess = right
            .lichess
            .or_else(|| lichess.map(|lichess| lichess.round.clone()));
        right.start = right.start.or_else(|| configured.tournament.start.clone());
        // What the file says of a round of this number is of another one.
        right.is_from_file = false;
        Some(right.numbered(to, jiff::Timestamp::now().as_millisecond()))
    }

    /// The earlier round to which a gateway has gone back, because the present one was begun too early. The configuration may name
    /// that.
    fn gone_back(&self, configured: &Broadcast, present: u32, rounds: &[GatewayRound]) -> Option<Next> {
        let is_back = |round: &&GatewayRound| round.round < present && round.formerly.contains(&present);
        let to = rounds.iter().find(is_back)?.round;
        let leaving = self.leaving(configured);
        // It was left for that one before. So this gateway may only lag behind others that have begun the present one again.
        let is_again = leaving
            .others
            .get(&to)
            .is_some_and(|known| known.formerly.contains(&present));
        if is_again && self.last_said(configured).any(|round| round.round == present) {
            return None;
        }
        let there: Vec<_> = rounds.iter().filter(|round| round.round == to).cloned().collect();
        let (mut earlier, why) = match leaving.others.get(&to) {
            Some(known) => (known.clone(), None),
            None => begun(configured, to, &there),
        };
        earlier.below = Some(configured.tournament.round).filter(|configured| to < *configured);
        let now_ms = jiff::Timestamp::now().as_millisecond();
        Some(Next {
            in_force: earlier.again_after(leaving, now_ms),
            why,
            step: Step::Back,
        })
    }

    /// The number of the present round.
    fn present(&self, configured: &Broadcast) -> u32 {
        let present = self.in_force.as_ref().map(|in_force| in_force.round);
        present.unwrap_or(configured.tournament.round)
    }

    /// What is in force of the present round, with its pairings as they were read.
    fn leaving(&self, configured: &Broadcast) -> InForce {
        let mut leaving = self.in_force.clone().unwrap_or_else(|| InForce {
            round: configured.tournament.round,
            is_from_file: true,
            ..InForce::default()
        });
        leaving
            .pairings
            .get_or_insert_with(|| configured.pairings.clone());
        leaving
    }

    /// The rounds of the gateways of its boards that are online.
    fn rounds(&self, configured: &Broadcast) -> Vec<GatewayRound> {
        // A gateway that was away while the number was put right still has the wrong one.
        let is_stale = |round: &GatewayRound| {
            let mut in_force = self.in_force.iter();
            in_force.any(|in_force| in_force.is_wrong(round.round, round.began_ms))
        };
        self.last_said(configured)
            .filter(|round| round.is_online && !is_stale(round))
            .collect()
    }

    /// What each gateway of its boards said last of its round.
    fn last_said(&self, configured: &Broadcast) -> impl Iterator<Item = GatewayRound> {
        let of_boards = |round: &GatewayRound| {
            let mut names = configured.boards.iter().filter_map(|board| board.split_once('/'));
            names.any(|(gateway, _)| gateway == round.gateway)
        };
        self.shared.rounds().into_iter().filter(of_boards)
    }

    /// Goes on with `next`, also where the folder cannot keep it: the games go on at the boards.
    fn go_on(&mut self, next: InForce) {
        if let Err(error) = self.keep_in_folder(&next) {
            tracing::error!(
                "{}: round {} cannot be kept in the folder ({error}), so a restart would go back to the configured one",
                self.label(),
                next.round
            );
        }
        self.in_force = Some(next);
    }

    fn keep_in_folder(&self, next: &InForce) -> io::Result<()> {
        let Some(configured) = self.configured.borrow().clone() else {
            return Ok(());
        };
        std::fs::create_dir_all(&configured.folder)?;
        next.keep(&place(&configured.folder))
    }

    /// Tells the broadcast of what is in force.
    fn tell(&self) {
        let mut next = self.configured.borrow().clone();
        if let (Some(next), Some(in_force)) = (&mut next, &self.in_force) {
            let pushes = next.lichess.is_some();
            next.put_in_force(in_force);
            let changed = self.settings.borrow().as_ref() != Some(&*next);
            if changed && pushes && next.lichess.is_none() {
                tracing::warn!(
                    "{}: round {} has no round on lichess: name it there and `round = {}` in the configuration, or name the `broadcast` once for all rounds",
                    self.label(),
                    in_force.round,
                    in_force.round
                );
            }
        }
        self.settings.send_if_modified(|present| {
            let changed = *present != next;
            *present = next;
            changed
        });
    }
}

/// What counts of a round that was kept, where the configuration names the round `configured`: all of a later one, and of
/// the same one its wrong numbers, the results that a person entered, and what they are of.
fn counts(kept: InForce, configured: u32) -> Option<InForce> {
    match kept.round.cmp(&configured) {
        _ if kept.goes_before(configured) => Some(kept),
        Ordering::Less | Ordering::Greater => None,
        Ordering::Equal if kept.results.is_empty() && kept.others.is_empty() && kept.formerly.is_empty() => {
            None
        }
        Ordering::Equal => Some(InForce {
            round: kept.round,
            formerly: kept.formerly,
            renumbered_ms: kept.renumbered_ms,
            // The results follow from these to those that the file has by now.
            pairings: kept.pairings.filter(|_| kept.is_from_file),
            results: kept.results,
            is_from_file: true,
            others: kept.others,
            ..InForce::default()
        }),
    }
}

/// The place of which the kept round takes its name.
fn place(folder: &Path) -> PathBuf {
    folder.join(".dashboard")
}

/// A round that has begun at the gateways `there`: with the pairings of the configured file, or with the names that the
/// gateways tell, and why.
fn begun(configured: &Broadcast, round: u32, there: &[GatewayRound]) -> (InForce, Option<PairingsError>) {
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let began_ms = there.iter().filter_map(|gateway| gateway.began_ms).min();
    let mut next = InForce {
        round,
        since_ms: began_ms.unwrap_or(now_ms),
        ..InForce::default()
    };
    let file = configured.pairings_file.as_ref();
    let read = file.map(|file| next.read_again(file, configured.boards.len()));
    next.is_from_file = matches!(read, Some(Ok(_)));
    if !next.is_from_file {
        next.pairings = Some(named(&configured.boards, there, None));
    }
    (next, read.and_then(Result::err))
}

/// The pairings by the names that gateways tell. A board of which none of them tells has its players of `former`.
fn named(boards: &[String], there: &[GatewayRound], former: Option<&Pairings>) -> Pairings {
    let told: BTreeMap<&str, &GatewayRound> = there
        .iter()
        .map(|round| (round.gateway.as_str(), round))
        .collect();
    let player = |name: &Option<String>| Player {
        name: name.clone().unwrap_or_default(),
        ..Player::default()
    };
    let known = |i: usize| former?.boards.get(i)?.as_ref();
    let names_of = |known: &Pairing| [&known.white, &known.black].map(|player| player.name.clone());
    let pairing = |(i, board): (usize, &String)| {
        let (gateway, id) = board.split_once('/')?;
        match told.get(gateway) {
            Some(told) => told.players.get(id).map(|names| {
                // Of the same players more may be known than their names.
                let known =
                    known(i).filter(|known| names_of(known) == names.clone().map(Option::unwrap_or_default));
                known.cloned().unwrap_or_else(|| {
                    let [white, black] = names;
                    Pairing {
                        white: player(white),
                        black: player(black),
                        ..Pairing::default()
                    }
                })
            }),
            None => known(i).cloned(),
        }
    };
    Pairings {
        boards: (0..).zip(boards).map(pairing).collect(),
        ..Pairings::default()
    }
}
