//! The rounds of a broadcast when it begins, or begins again. They follow from the configuration, and from what the
//! folder tells of the time before.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use super::{
    by_hand::ByHand,
    index::{RoundCount, TournamentFile},
    kept::{has_games, kept},
    mark::{self, Marks},
    note::{self, RoundNote},
    past::{before, ended, is_to_come, put_right},
    renumbered,
    round::Round,
    rounds::Rounds,
};
use crate::{
    config::{Broadcast, Lichess},
    files::shared,
    tournament::Tournament,
};

/// How long after the beginning of a round the broadcast waits for the one before it, besides the delay: its last games
/// may go on, and arbiters may enter results late.
const FORMER_FOR: Duration = Duration::from_secs(12 * 3600);

/// A broadcast that begins.
pub(super) struct OpenedRounds {
    pub(super) rounds: Rounds,
    /// The round on lichess of the former round.
    pub(super) lichess: Option<Lichess>,
    /// The notes of these rounds, as they are in the folder.
    pub(super) notes: Vec<RoundNote>,
}

/// The rounds at `now_ms`.
///
/// The configuration names one round. The round before it goes on if any of its files may still change, because the
/// public is behind, or because its last game may not be over.
pub(super) fn open(settings: &Broadcast, gateway: &str, now_ms: i64) -> OpenedRounds {
    let root = &settings.folder;
    renumbered::bring(root, settings);
    let mut noted = note::read_all(root);
    let own = noted.remove(&settings.tournament.round);
    let noted_ms = own.as_ref().map(|own| own.tournament.since_ms);
    let since_ms = settings.begins_ms.or(noted_ms).unwrap_or(now_ms);
    forget_later(root, &mut noted, since_ms, &settings.formerly);
    let put_right = put_right(root, &mut noted, &settings.others, now_ms);
    let goes_by_time = settings.begins_ms.is_some();
    if !goes_by_time {
        put_before(&mut noted, since_ms, now_ms);
    }

    let mut by_hand = own
        .as_ref()
        .map_or_else(ByHand::default, |own| own.by_hand.clone());
    by_hand.put_before(now_ms);
    by_hand.take(&settings.pairings, now_ms);
    let current = RoundNote {
        tournament: Tournament {
            since_ms,
            until_ms: None,
            ..settings.tournament.clone()
        },
        pairings: settings.pairings.clone(),
        boards: settings.boards.iter().map(|board| full(gateway, board)).collect(),
        lichess: settings.lichess.as_ref().map(|lichess| lichess.round.clone()),
        by_hand,
    };
    if own.as_ref() != Some(&current)
        && let Err(error) = note::write(root, &current)
    {
        tracing::error!("broadcast: {error}");
    }
    let mut notes = vec![current.clone()];
    let marks = marks(root);
    let current = round(root, current, &marks, goes_by_time);
    let (mut former, mut older, mut lichess) = (None, Vec::new(), None);
    let mut until_ms = since_ms;
    for note in before(noted, since_ms) {
        let is_last = until_ms == since_ms;
        let is_shown = put_right.contains(&note.tournament.round) || is_to_come(&note, now_ms);
        let this_until_ms = std::mem::replace(&mut until_ms, note.tournament.since_ms);
        let is_open = is_shown || is_last && is_awaited(&note, since_ms, now_ms);
        if !is_open {
            continue;
        }
        notes.push(note.clone());
        if is_last {
            lichess = former_lichess(&note, settings);
            former = Some(round(root, ended(note, this_until_ms), &marks, goes_by_time));
        } else {
            older.push(round(root, ended(note, this_until_ms), &marks, goes_by_time));
        }
    }
    OpenedRounds {
        rounds: Rounds::new(current, former, older, counts(root, &settings.formerly)),
        lichess,
        notes,
    }
}

/// The name `GATEWAY/BOARD` of a board that the configuration may name without its gateway.
fn full(gateway: &str, board: &str) -> String {
    match board.contains('/') {
        true => board.to_owned(),
        false => format!("{gateway}/{board}"),
    }
}

fn is_awaited(note: &RoundNote, until_ms: i64, now_ms: i64) -> bool {
    let patience = i64::try_from(FORMER_FOR.as_millis()).unwrap_or(i64::MAX);
    now_ms
        < until_ms
            .saturating_add(note.tournament.delay.ms)
            .saturating_add(patience)
}

/// Forgets rounds that somebody began by mistake: an earlier round is played again, and no game of such a round has begun, or those
/// that have are of the earlier one, which had its number (`formerly`) meanwhile. Its note would keep the time of that mistake as
/// its beginning.
fn forget_later(root: &Path, noted: &mut BTreeMap<u32, RoundNote>, since_ms: i64, formerly: &BTreeSet<u32>) {
    noted.retain(|round, note| {
        if note.tournament.since_ms <= since_ms {
            return true;
        }
        let forgotten = match has_games(root, *round) {
            false => note::remove(root, *round),
            true if formerly.contains(round) => put_away(root, *round, note.tournament.since_ms),
            true => return true,
        };
        if let Err(error) = forgotten {
            tracing::warn!(
                "broadcast: round {round}, which was begun by mistake, cannot be taken away: {error}"
            );
        }
        false
    });
}

/// Gives the folder of a round that was begun by mistake a name that hides it: its games are in another folder now, and it begins anew
/// when the round does.
fn put_away(root: &Path, round: u32, since_ms: i64) -> std::io::Result<()> {
    let folder = root.join(format!("round-{round}"));
    if !fs::symlink_metadata(&folder)?.is_dir() {
        return Ok(());
    }
    fs::rename(folder, root.join(format!(".round-{round}-of-{since_ms}")))
}

/// Has the rounds that seem to begin only after `now_ms` begin before `since_ms`: somebody has set the wall clock back.
fn put_before(noted: &mut BTreeMap<u32, RoundNote>, since_ms: i64, now_ms: i64) {
    for note in noted.values_mut() {
        if note.tournament.since_ms > now_ms {
            note.tournament.since_ms = since_ms.saturating_sub(1);
        }
    }
}

/// The round on lichess of the former round. The token is that of the present round.
fn former_lichess(note: &RoundNote, settings: &Broadcast) -> Option<Lichess> {
    let present = settings.lichess.as_ref()?;
    let round = note.lichess.clone().filter(|round| *round != present.round)?;
    Some(Lichess {
        round,
        ..present.clone()
    })
}

fn round(root: &Path, note: RoundNote, marks: &BTreeMap<u32, Marks>, goes_by_time: bool) -> Round {
    let number = note.tournament.round;
    let mut round = Round::new(note.tournament, note.pairings, note.boards);
    round.enter(note.by_hand);
    let own = marks.get(&number).cloned().unwrap_or_default();
    let elsewhere = marks.iter().filter(|(other, _)| **other != number);
    let elsewhere = elsewhere.flat_map(|(_, marks)| marks.clone()).collect();
    round.remember(own, elsewhere, goes_by_time);
    for (game, kept) in kept(root, number) {
        round.keep(game, kept);
    }
    round
}

/// What was public of each round.
fn marks(root: &Path) -> BTreeMap<u32, Marks> {
    let folders = fs::read_dir(root).into_iter().flatten().flatten();
    let rounds = folders.filter_map(|folder| {
        let name = folder.file_name();
        name.to_str()?.strip_prefix("round-")?.parse().ok()
    });
    rounds.map(|round| (round, mark::read(root, round))).collect()
}

/// How many games the rounds have, according to the folder, which cannot tell whether any of them is being played. Numbers
/// that the present round had by mistake have none.
fn counts(root: &Path, formerly: &BTreeSet<u32>) -> BTreeMap<u32, RoundCount> {
    let text = shared::read(root, "tournament.json").unwrap_or_default();
    let rounds =
        serde_json::from_str::<TournamentFile>(&text).map_or_else(|_| Vec::new(), |file| file.rounds);
    let over = |known: RoundCount| RoundCount { live: 0, ..known };
    let mut counts: BTreeMap<_, _> = (1..).zip(rounds.into_iter().map(over)).collect();
    for wrong in formerly.iter() {
        counts.remove(wrong);
    }
    counts
}

#[cfg(test)]
mod tests;
