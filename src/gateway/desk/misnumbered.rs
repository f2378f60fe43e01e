//! Games of a round that was begun under a wrong number. The present game of a board hears of the right one by itself; these
//! are the games before it, and those that were put aside.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::games::{RoundBegin, told_since};
use crate::{event::Body, tournament::InForce, watcher::Table};

/// How to find the games that still have a wrong number of the present round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::gateway) struct Misnumbered {
    right: u32,
    wrong: BTreeSet<u32>,
    since: RoundBegin,
}

/// A game, and its names with the right number of its round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::gateway) struct RightTable {
    pub(in crate::gateway) board: String,
    pub(in crate::gateway) game: u32,
    pub(in crate::gateway) table: Table,
}

impl Misnumbered {
    /// For the games of the round in force; none where its number was right from the beginning, or where nobody knows when
    /// it began: other rounds had that number, too.
    pub(in crate::gateway) fn of(in_force: &InForce) -> Option<Self> {
        let since = RoundBegin::of(in_force.round, Some(in_force), None);
        let is_known = since != RoundBegin::default();
        (is_known && !in_force.formerly.is_empty()).then(|| Self {
            right: in_force.round,
            wrong: in_force.formerly.clone(),
            since,
        })
    }

    /// The games of `board`, or with none of all boards, according to the journal at `path`.
    pub(in crate::gateway) fn games(
        &self,
        path: &Path,
        board: Option<&str>,
    ) -> Result<Vec<RightTable>, String> {
        let mut tables: BTreeMap<(String, u32), Table> = BTreeMap::new();
        for event in told_since(path, self.since, &["game_started", "names_corrected"], board)? {
            let (Some(game), is_start) = (event.game, matches!(event.body, Body::GameStarted { .. })) else {
                continue;
            };
            let of = (event.board, game);
            // A game whose start is not there began before the round.
            if let Some(table) = Table::told(&event.body).filter(|_| is_start || tables.contains_key(&of)) {
                tables.insert(of, table);
            }
        }
        let is_wrong = |table: &Table| table.round.is_some_and(|round| self.wrong.contains(&round));
        let wrong = tables.into_iter().filter(|(_, table)| is_wrong(table));
        let right = wrong.map(|((board, game), table)| RightTable {
            board,
            game,
            table: Table {
                round: Some(self.right),
                ..table
            },
        });
        Ok(right.collect())
    }
}
