//! Messages that a place has refused and may take later. The others do not wait for them, but for those about the same
//! irregularity: of one irregularity a place hears in the order in which things happened.

use std::{collections::VecDeque, time::Duration};

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{RETRY_MS, read::AlertNews};
use crate::{link::Backoff, time::Millis};

/// How many wait beside the others. A place that refuses so many takes nothing: then the others wait in the journal.
pub(super) const MOST: usize = 64;

/// A message that was refused, or that comes after one.
pub(super) struct RefusedAlert {
    pub(super) news: AlertNews,
    /// When the place refused it first, in milliseconds of this run.
    pub(super) since_ms: Option<i64>,
    backoff: Backoff,
    due: Instant,
}

impl RefusedAlert {
    pub(super) fn new(news: AlertNews) -> Self {
        Self {
            news,
            since_ms: None,
            backoff: Backoff::new(RETRY_MS.0, RETRY_MS.1, 0),
            due: Instant::now(),
        }
    }

    /// The same after another refusal.
    pub(super) fn again(mut self, since_ms: i64) -> Self {
        let wait = self.backoff.failed(Millis(0), &mut Rng::new());
        self.due = Instant::now() + Duration::from_millis(wait);
        self.since_ms = Some(since_ms);
        self
    }
}

/// All of them, oldest first.
#[derive(Default)]
pub(super) struct RefusedAlerts(VecDeque<RefusedAlert>);

/// What the file of positions has of one.
#[derive(Serialize, Deserialize)]
struct RefusedLine {
    refused: u64,
}

impl RefusedAlerts {
    /// The positions in what the file of positions has.
    pub(super) fn positions(text: &str) -> Vec<u64> {
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.map(|line: RefusedLine| line.refused).collect()
    }

    /// What the file of positions has of them: a line for each.
    pub(super) fn text(&self) -> String {
        let lines = self.0.iter().map(|one| RefusedLine {
            refused: one.news.position,
        });
        let lines = lines.filter_map(|line| serde_json::to_string(&line).ok());
        lines.map(|line| line + "\n").collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    /// True when one is about the irregularity that `news` is about.
    pub(super) fn precede(&self, news: &AlertNews) -> bool {
        news.about.is_some() && self.0.iter().any(|one| one.news.about == news.about)
    }

    /// Adds one in its place: they stay in the order of the journal.
    pub(super) fn add(&mut self, refused: RefusedAlert) {
        let place = self
            .0
            .partition_point(|one| one.news.position < refused.news.position);
        self.0.insert(place, refused);
    }

    /// Those that come first for their irregularity.
    fn firsts(&self) -> impl Iterator<Item = (usize, &RefusedAlert)> {
        let comes_first = |i: usize, one: &RefusedAlert| {
            one.news.about.is_none()
                || self
                    .0
                    .iter()
                    .take(i)
                    .all(|other| other.news.about != one.news.about)
        };
        self.0
            .iter()
            .enumerate()
            .filter(move |(i, one)| comes_first(*i, one))
    }

    /// When one is to be sent again; none where nothing waits.
    pub(super) fn due(&self) -> Option<Instant> {
        self.firsts().map(|(_, one)| one.due).min()
    }

    /// Takes out one that is to be sent again now.
    pub(super) fn take_due(&mut self) -> Option<RefusedAlert> {
        let now = Instant::now();
        let (place, _) = self.firsts().find(|(_, one)| one.due <= now)?;
        self.0.remove(place)
    }
}
