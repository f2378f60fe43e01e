//! What was told of a game whose daemon has lost what it knew, held against what `replay` tells: the record may begin anew, from the
//! position on the board, and is otherwise that of the game.
#![allow(dead_code)] // shared by several test programs.

use std::{collections::BTreeSet, sync::Mutex};

use fastrand::Rng;
use serde_json::Value;

use crate::{
    hall::moves,
    seed::{rounds, so_often},
};

/// What came of several games, some of which were taken up from the position on the board.
#[derive(Default)]
pub struct Tally(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    games: usize,
    taken_up: usize,
    /// Of those taken up: what is told in another way.
    otherwise: Vec<String>,
    /// Of those taken up: accusations that are neither made nor suspected.
    untold: usize,
}

/// One of so many games that are taken up may be told otherwise.
const ONE_OF: usize = 10;
/// So many games tell whether accusations are untold more often than they may be.
const ENOUGH: usize = 30;

/// A daemon that takes a game up does not know yet whose side of the clock is whose: the accusations of every third game may be untold,
/// and of few games one.
fn most_untold(taken_up: usize) -> usize {
    taken_up / 3 + 1
}

impl Tally {
    /// Plays the rounds of a test, so many at a time, and holds what came of their games. Of a run that is short a single game tells
    /// nothing of their share: if it is told otherwise, more games are played, until there are enough to know.
    pub async fn of_rounds<T: Future<Output = ()>>(
        at_once: usize,
        run: impl Fn(Rng, &'static Self) -> T + Copy + Send + 'static,
    ) {
        let tally: &'static Self = Box::leak(Box::default());
        so_often(rounds(), at_once, move |rng| run(rng, tally)).await;
        let lacking = tally.lacking();
        if lacking > 0 {
            println!("a game is told otherwise: {lacking} rounds more");
            so_often(lacking, at_once, move |rng| run(rng, tally)).await;
        }
        tally.hold();
    }

    /// How many rounds are lacking, where so few games were taken up that those that are told otherwise, or whose accusations are
    /// untold, are more than their share by chance.
    fn lacking(&self) -> usize {
        let counts = self.0.lock().unwrap();
        let games = if counts.untold > most_untold(counts.taken_up) {
            ENOUGH
        } else if counts.otherwise.is_empty() {
            return 0;
        } else {
            ONE_OF
        };
        (games * rounds())
            .div_ceil(counts.taken_up)
            .saturating_sub(rounds())
    }

    /// Takes a game. Nobody is accused besides. Where it was not taken up from the position, all is told as it was played.
    pub fn take(&self, what: &str, retold: &Retold, is_taken_up: bool) {
        assert!(retold.besides.is_empty(), "{what}: {retold:?}");
        let mut counts = self.0.lock().unwrap();
        counts.games += 1;
        if !is_taken_up {
            assert_eq!(retold.difference(), None, "{what}");
            return;
        }
        counts.taken_up += 1;
        counts.untold += retold.untold.len();
        if !retold.is_whole() {
            counts.otherwise.push(format!("{what}: {retold:?}"));
        }
    }

    /// A game that is taken up while a piece stands where it may not, or is in a hand, may be told wrongly: one of ten at the most.
    fn hold(&self) {
        let counts = self.0.lock().unwrap();
        println!(
            "{} games, {} of them taken up from the position: {} told otherwise, {} accusations neither made nor suspected",
            counts.games,
            counts.taken_up,
            counts.otherwise.len(),
            counts.untold
        );
        let few = counts.taken_up.div_ceil(ONE_OF);
        assert!(counts.otherwise.len() <= few, "{:#?}", counts.otherwise);
        assert!(
            counts.untold <= most_untold(counts.taken_up),
            "{} accusations of {} games are neither made nor suspected",
            counts.untold,
            counts.taken_up
        );
    }
}

/// What is told of a game in another way than `replay` tells it.
#[derive(Debug, Default)]
pub struct Retold {
    /// Half-moves that are in no record, by their places in the game, counted from 0.
    pub missing: Vec<usize>,
    /// Records that are no part of the game.
    pub otherwise: Vec<String>,
    /// Accusations that `replay` does not make.
    pub besides: Vec<String>,
    /// Accusations that are made more often than `replay` makes them. A daemon that has forgotten one may make it again.
    pub again: Vec<String>,
    /// Accusations that are neither made nor suspected.
    pub untold: Vec<String>,
    /// True when the record reaches the end of the game.
    pub is_over: bool,
}

impl Retold {
    /// `events` are those of a board in their order, and `meant` is what `replay` tells.
    pub fn new(events: &[Value], meant: &[Value]) -> Self {
        let game = moves(meant);
        let mut retold = Self::default();
        let mut told = BTreeSet::new();
        for record in records(events) {
            // A half-move that nobody can name may be any.
            let is_same = |(told, made): (&String, &String)| told == made || told == "0000";
            let is_told = |part: &[String]| record.iter().zip(part).all(is_same);
            let mut parts = game.windows(record.len().max(1));
            let Some(begins) = parts.position(is_told).filter(|_| !record.is_empty()) else {
                if !record.is_empty() {
                    retold.otherwise.push(format!("{record:?} of {game:?}"));
                }
                continue;
            };
            let ends = begins + record.len();
            retold.is_over = ends == game.len();
            let named = (begins..ends).filter(|place| record[place - begins] != "0000");
            told.extend(named);
        }
        retold.missing = (0..game.len()).filter(|place| !told.contains(place)).collect();
        let (accused, meant) = (accusations(events, false), accusations(meant, false));
        let suspected = accusations(events, true);
        (retold.again, retold.besides) = besides(&accused, &meant)
            .into_iter()
            .partition(|one| meant.contains(one));
        retold.untold = besides(&meant, &accused);
        retold.untold.retain(|one| !suspected.contains(one));
        retold
    }

    /// What is told in another way, if anything is.
    pub fn difference(&self) -> Option<String> {
        let is_same =
            self.is_whole() && self.besides.is_empty() && self.again.is_empty() && self.untold.is_empty();
        (!is_same).then(|| format!("{self:?}"))
    }

    /// All half-moves are told, and no other ones.
    fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.otherwise.is_empty() && self.is_over
    }
}

/// The half-moves of each record: of a game, or of what is told of it after it was begun anew. A half-move may be told again where
/// the daemon had forgotten it.
fn records(events: &[Value]) -> Vec<Vec<String>> {
    let mut records = vec![Vec::new()];
    for event in events {
        let record = records.last_mut().unwrap();
        match event["type"].as_str().unwrap() {
            "game_started" => records.push(Vec::new()),
            "move" => {
                let ply = event["ply"].as_u64().unwrap() as usize;
                assert!(ply <= record.len() + 1, "a half-move out of order: {event}");
                record.truncate(ply - 1);
                record.push(event["uci"].as_str().unwrap().to_owned());
            }
            "moves_retracted" => record.truncate(event["to_ply"].as_u64().unwrap() as usize),
            _ => {}
        }
    }
    records
}

/// Those of `told` that are not in `other`, where each of those stands for one.
fn besides(told: &[String], other: &[String]) -> Vec<String> {
    let mut left = other.to_vec();
    let mut is_besides = |one: &&String| {
        let place = left.iter().position(|it| it == *one);
        place.map(|place| left.remove(place)).is_none()
    };
    told.iter().filter(|one| is_besides(one)).cloned().collect()
}

/// Who is accused of what, or suspected. The number of the half-move depends on where the record begins.
fn accusations(events: &[Value], suspected: bool) -> Vec<String> {
    let of_them =
        |event: &&Value| event["type"] == "irregularity" && (event["certainty"] == "suspected") == suspected;
    let said = |event: &Value| format!("{} of {}: {}", event["kind"], event["offender"], event["move"]);
    events.iter().filter(of_them).map(said).collect()
}
