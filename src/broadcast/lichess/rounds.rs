//! The rounds of a broadcast: found by their names, and made where there are none.
//!
//! A round of more than a hundred games is several rounds on lichess. The first has the plain name, and the others have
//! the numbers of their games in theirs.

use super::call::{Caller, PushError, RoundAnswer};
use crate::config::lichess::{LichessRound, MOST_GAMES};

/// Finds or makes the rounds of this number of a broadcast for so many games, unless `known` has them.
///
/// # Errors
/// What the server refuses. What was found or made until then is in `known`.
pub(super) async fn find(
    caller: &mut Caller,
    broadcast: &str,
    round: u32,
    games: usize,
    known: &mut Vec<LichessRound>,
) -> Result<(), PushError> {
    if known.len() * MOST_GAMES >= games {
        return Ok(());
    }
    // Asked for anew each time: a round may have been made whose answer was lost.
    let there = caller.rounds(broadcast).await?;
    while known.len() * MOST_GAMES < games {
        let first = known.len() * MOST_GAMES + 1;
        let last = first + MOST_GAMES - 1;
        let name = name(round, first, last);
        let found = there.iter().find(|one| is_named(one, &name));
        let id = match found {
            Some(found) => found.id.clone(),
            None => caller.make_round(broadcast, &name).await?.id,
        };
        let word = if found.is_some() { "goes on with" } else { "made" };
        tracing::info!("lichess: {word} {name:?} ({id}) of broadcast {broadcast}");
        known.push(LichessRound {
            id,
            games: first..=last,
        });
    }
    Ok(())
}

fn name(round: u32, first: usize, last: usize) -> String {
    match first {
        1 => format!("Round {round}"),
        _ => format!("Round {round}, games {first}-{last}"),
    }
}

fn is_named(round: &RoundAnswer, name: &str) -> bool {
    round.name.trim().eq_ignore_ascii_case(name)
}
