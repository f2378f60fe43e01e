//! Pairings that put former ones right: which game of theirs is which of the former.

use std::collections::BTreeSet;

use super::pairings::{Pairing, Pairings, Player, as_compared};

/// Pairings and those that put them right.
pub(super) struct PutRight<'a> {
    former: &'a Pairings,
    now: &'a Pairings,
    /// The names of all players before, and now.
    names: [BTreeSet<String>; 2],
}

impl<'a> PutRight<'a> {
    pub(super) fn new(former: &'a Pairings, now: &'a Pairings) -> Self {
        Self {
            former,
            now,
            names: [former, now].map(names),
        }
    }

    /// The number that the former game `game` has now; none where its players do not meet any more.
    pub(super) fn game(&self, game: usize) -> Option<usize> {
        let former = self.former.game(game)?;
        if self.now.game(game).is_some_and(|now| self.is_same(former, now)) {
            return Some(game);
        }
        // The tables may have other numbers now.
        let mut games = (1..).zip(&self.now.boards);
        let there = games.find(|(_, now)| now.as_ref().is_some_and(|now| now.players() == former.players()));
        there.map(|(game, _)| game)
    }

    fn is_same(&self, former: &Pairing, now: &Pairing) -> bool {
        self.is_player(&former.white, &now.white) && self.is_player(&former.black, &now.black)
    }

    /// True for the same player, perhaps with a name that was put right. Names alone cannot tell: a name may be spelt anew in
    /// another script. But who was in no game before took the place of somebody who is in none now, and was not moved.
    fn is_player(&self, former: &Player, now: &Player) -> bool {
        let (old, new) = (as_compared(&former.name), as_compared(&now.name));
        let ids = former.fide_id.as_ref().zip(now.fide_id.as_ref());
        let [names_before, names_now] = &self.names;
        old == new
            || ids.map_or_else(
                || !names_before.contains(&new) && !names_now.contains(&old),
                |(before, now)| before == now,
            )
    }
}

fn names(pairings: &Pairings) -> BTreeSet<String> {
    let games = pairings.boards.iter().flatten();
    games
        .flat_map(Pairing::players)
        .map(|name| as_compared(&name))
        .collect()
}
