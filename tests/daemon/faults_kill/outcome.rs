//! What came of many games that were struck, and how much of it may be missed.

use super::{
    is_full,
    play::{Try, accusations, play_all, suspicions},
};
use crate::hall::moves;

/// Of so many games one may have an offence of which nobody heard all, and which is neither said nor suspected.
const UNHEARD_OF: usize = 10;
/// Of so many games of which a suspended daemon heard all one may be told otherwise, or lack an offence, where nobody can tell from what came in one instant.
const LUMPED_OF: usize = 16;

/// What came of many: what was missed, which have other half-moves, and who was accused of nothing.
#[derive(Default)]
pub(super) struct Outcome {
    /// Offences that are neither said nor suspected.
    missed: Vec<String>,
    /// The same, of those that were done while nobody listened; and games with other half-moves of which that is true.
    unheard: Vec<String>,
    /// The same of a daemon that was suspended, as `replay` tells what it heard in one instant.
    lumped: Vec<String>,
    /// What a suspended daemon tells otherwise than `replay` of what it heard.
    unlike: Vec<String>,
    /// Games with other half-moves.
    otherwise: Vec<String>,
    wrong: Vec<String>,
    games: usize,
    /// Of them those of which a suspended daemon heard all.
    games_in_lumps: usize,
    /// Offences that were done while somebody listened, and all offences.
    heard: usize,
    offences: usize,
}

impl Outcome {
    /// Of these games, of which so many are played at a time.
    pub(super) async fn of(all: Vec<Try>, at_once: usize) -> Self {
        let mut outcome = Self {
            games: all.len(),
            ..Self::default()
        };
        for (what, played) in play_all(all, at_once).await {
            let what = format!("{what}, board late by {} ms", played.late);
            let is_lumped = played.heard_otherwise.is_some();
            outcome.games_in_lumps += usize::from(is_lumped);
            if let Some(difference) = played.heard_otherwise.flatten() {
                outcome.unlike.push(format!("{what}: {difference}"));
            }
            let (got, expected) = (moves(&played.got), moves(&played.expected));
            if got != expected {
                let otherwise = format!("{what}: {got:?} instead of {expected:?}");
                let of = if played.is_deaf {
                    &mut outcome.unheard
                } else if is_lumped {
                    &mut outcome.lumped
                } else {
                    &mut outcome.otherwise
                };
                of.push(otherwise);
            }
            let suspected = suspicions(&played.got);
            outcome.offences += played.acts.len();
            outcome.heard += played.acts.iter().filter(|act| act.is_heard()).count();
            let mut left = played.acts;
            for one in accusations(&played.got) {
                match left.iter().position(|wanted| wanted.name == one) {
                    Some(place) => drop(left.remove(place)),
                    None => outcome.wrong.push(format!("{what}: {one}")),
                }
            }
            left.retain(|wanted| !suspected.contains(&wanted.name));
            for one in left {
                let of = if is_lumped {
                    &mut outcome.lumped
                } else if one.is_heard() {
                    &mut outcome.missed
                } else {
                    &mut outcome.unheard
                };
                of.push(format!("{what}: {}", one.account()));
            }
        }
        outcome
    }

    /// Nobody is accused of what was not done. What was done while somebody listened is said, or suspected at least, and in a run in
    /// full there is something of the kind. Few offences were done while nobody listened. The half-moves are those of the game.
    pub(super) fn hold(&self, what: &str) {
        let Self {
            missed,
            unheard,
            lumped,
            unlike,
            otherwise,
            wrong,
            games,
            games_in_lumps,
            heard,
            offences,
        } = self;
        println!(
            "{what}: {heard} of {offences} offences were heard whole, {} of them neither said nor suspected, {} others of which nobody heard, {} false, {} games otherwise, {} in a lump",
            missed.len(),
            unheard.len(),
            wrong.len(),
            otherwise.len(),
            lumped.len()
        );
        unheard.iter().for_each(|it| println!("  not heard: {it}"));
        lumped.iter().for_each(|it| println!("  in a lump: {it}"));
        assert!(wrong.is_empty(), "false: {}", wrong.join("\n"));
        assert!(
            unlike.is_empty(),
            "not as `replay` tells what was heard: {}",
            unlike.join("\n")
        );
        assert!(missed.is_empty(), "missed: {}", missed.join("\n"));
        assert!(otherwise.is_empty(), "otherwise: {}", otherwise.join("\n"));
        let few_lumped = games_in_lumps.div_ceil(LUMPED_OF);
        assert!(lumped.len() <= few_lumped, "in a lump: {}", lumped.join("\n"));
        // Where nothing counts as heard, nothing can be missed.
        assert!(!is_full() || *heard > 0, "no offence was heard whole");
        let few = games.div_ceil(UNHEARD_OF);
        assert!(unheard.len() <= few, "not heard: {}", unheard.join("\n"));
    }
}
