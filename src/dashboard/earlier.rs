//! Earlier games of a board, kept as records without the events that told them: a day of blitz is a thousand half-moves
//! at a board.

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::games::FoldedGame;
use crate::event::{Body, Event};

/// How many games are kept like this.
const MAX_GAMES: usize = 64;

/// The earlier games of a board.
#[derive(Clone, Debug, Default)]
pub(super) struct Earlier {
    games: BTreeMap<u32, Kept>,
}

/// An earlier game.
#[derive(Clone, Debug, Default)]
struct Kept {
    game: FoldedGame,
    /// The last event of the game.
    last_seq: u64,
    /// The number of events that it stands for.
    events: usize,
}

impl Earlier {
    /// Takes the oldest whole game out of `events`: a game before `present` whose events lie in `told`, a stretch
    /// without a hole, and not among the newest `keep`. Events that are not of its record stay, as irregularities do.
    /// Returns the events that it took.
    pub(super) fn take(
        &mut self,
        events: &mut BTreeMap<u64, Event>,
        told: RangeInclusive<u64>,
        present: u32,
        keep: usize,
    ) -> Vec<Event> {
        let newest = events.keys().rev().nth(keep.saturating_sub(1));
        let Some(newest) = newest.copied() else {
            return Vec::new();
        };
        let old = events
            .range(told)
            .take_while(|(seq, _)| **seq < newest)
            .filter_map(|(_, event)| {
                event
                    .game
                    .filter(|_| is_of_record(event))
                    .map(|game| (game, event))
            });
        let has_begin = |game: u32, event: &Event| {
            matches!(event.body, Body::GameStarted { .. }) || self.games.contains_key(&game)
        };
        let whole = old
            .filter(|(game, event)| *game < present && has_begin(*game, event))
            .map(|(game, _)| game)
            .find(|game| {
                let mut recent = events.range(newest..);
                !recent.any(|(_, event)| event.game == Some(*game) && is_of_record(event))
            });
        let Some(number) = whole else {
            return Vec::new();
        };
        let kept = self.games.entry(number).or_default();
        for event in events.values().filter(|event| event.game == Some(number)) {
            if event.seq > kept.last_seq {
                kept.game.take(event);
                kept.last_seq = event.seq;
            }
        }
        kept.game.lighten();
        let of_it = |_: &u64, event: &mut Event| event.game == Some(number) && is_of_record(event);
        let taken: Vec<Event> = events.extract_if(.., of_it).map(|(_, event)| event).collect();
        kept.events += taken.len();
        while self.games.len() > MAX_GAMES {
            self.games.pop_first();
        }
        taken
    }

    /// The games, by their numbers.
    pub(super) fn games(&self) -> BTreeMap<u32, FoldedGame> {
        let games = self.games.iter();
        games.map(|(number, kept)| (*number, kept.game.clone())).collect()
    }

    /// True where the event is in a game that is kept here.
    pub(super) fn has(&self, event: &Event) -> bool {
        let kept = event.game.and_then(|game| self.games.get(&game));
        kept.is_some_and(|kept| event.seq <= kept.last_seq)
    }

    /// True while there is room for another game.
    pub(super) fn has_room(&self) -> bool {
        self.games.len() < MAX_GAMES
    }

    /// How many events these games stand for.
    pub(super) fn events(&self) -> usize {
        self.games.values().map(|kept| kept.events).sum()
    }

    /// When the first of these games began.
    pub(super) fn began(&self) -> Option<&str> {
        self.games.values().find_map(|kept| kept.game.began.as_deref())
    }

    /// About how many bytes of memory they take.
    pub(super) fn weight(&self) -> usize {
        self.games.values().map(|kept| kept.game.weight()).sum()
    }
}

/// True where an event is part of the record of its game.
fn is_of_record(event: &Event) -> bool {
    matches!(
        event.body,
        Body::GameStarted { .. }
            | Body::NamesCorrected { .. }
            | Body::Move(_)
            | Body::MovesRetracted { .. }
            | Body::GameEnded { .. }
            | Body::GameResumed { .. }
    )
}
