//! When the events of a board happened, whatever somebody set the wall clock to meanwhile.
//!
//! An event has two times. `t` counts from the start of the daemon, by a clock that nobody sets. `time` is what the wall
//! clock showed. A small computer without a battery shows an old date until a time server sets it, so `time` may jump
//! in mid-game, both ways. Within one run of a daemon `t` tells how much time has passed. What the wall clock showed
//! last in that run tells the day.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;

use crate::{
    event::{Body, Event},
    zone,
};

/// Two runs that went on with one game lie no further apart. If they seem to, the wall clock was not set in the first.
const DAY_MS: i64 = 24 * 3_600_000;
/// A wall clock that differs by no more was not set: the daemon leaves slow drift alone.
const STEP_MS: u64 = 2_000;
/// The most runs that are kept for acts of which none is left.
const MOST: usize = 32;

/// When an event was heard.
#[derive(Clone, Copy, Debug)]
pub struct HeardAt {
    /// The Unix time in milliseconds that the event has if it names none itself.
    pub written_ms: i64,
    /// The time of the broadcast, which no event can be after.
    pub now_ms: i64,
    /// By how much the time of the broadcast is ahead of the wall clock, because somebody has set that since.
    pub ahead_ms: i64,
}

impl From<i64> for HeardAt {
    /// HeardAt long after it was written.
    fn from(written_ms: i64) -> Self {
        Self {
            written_ms,
            now_ms: i64::MAX,
            ahead_ms: 0,
        }
    }
}

/// A time within a run of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Number of the run, counted from the first that was heard of.
    run: usize,
    /// Milliseconds since its start.
    t_ms: i64,
}

/// The runs of the daemon that watched a board, as its events tell them.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// How many are forgotten.
    gone: usize,
    runs: VecDeque<Run>,
}

#[derive(Clone, Debug)]
struct Run {
    first_t_ms: i64,
    last_t_ms: i64,
    /// Unix time in milliseconds at its start, according to the last event that has a time.
    origin_ms: Option<i64>,
    /// The latest start according to any event, by the time of the broadcast. What is held back rests on it.
    latest_ms: i64,
    /// It cannot have begun later than that, because its events were heard by then.
    bound_ms: i64,
    games: BTreeMap<u32, Span>,
}

/// What a run tells of one game.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Unix time in milliseconds at the start of the run, according to the last event of the game that has a time.
    origin_ms: Option<i64>,
    first_t_ms: i64,
    last_t_ms: i64,
}

impl Run {
    fn begun(t_ms: i64) -> Self {
        Self {
            first_t_ms: t_ms,
            last_t_ms: t_ms,
            origin_ms: None,
            latest_ms: i64::MIN,
            bound_ms: i64::MAX,
            games: BTreeMap::new(),
        }
    }

    /// True where an event at `t_ms` is of a later run. A daemon that starts says of each board that it is there.
    fn is_over(&self, event: &Event, t_ms: i64, origin_ms: Option<i64>) -> bool {
        let is_set = match (self.origin_ms, origin_ms) {
            (Some(before), Some(now)) => before.abs_diff(now) > STEP_MS,
            (before, now) => before.is_some() != now.is_some(),
        };
        t_ms < self.last_t_ms || is_set && matches!(event.body, Body::BoardConnected { .. })
    }

    fn note(&mut self, game: Option<u32>, t_ms: i64, origin_ms: Option<i64>, heard: HeardAt) {
        self.last_t_ms = t_ms;
        self.origin_ms = origin_ms.or(self.origin_ms);
        let told_ms = origin_ms.unwrap_or_else(|| heard.written_ms.saturating_sub(t_ms));
        self.latest_ms = self.latest_ms.max(told_ms.saturating_add(heard.ahead_ms));
        self.bound_ms = self.bound_ms.min(heard.now_ms.saturating_sub(t_ms));
        let Some(game) = game else { return };
        let span = self.games.entry(game).or_insert(Span {
            origin_ms,
            first_t_ms: t_ms,
            last_t_ms: t_ms,
        });
        span.origin_ms = origin_ms.or(span.origin_ms);
        span.last_t_ms = t_ms;
    }
}

impl Runs {
    /// Notes an event. Returns when it was decided, and when that happened of which it tells.
    pub(super) fn note(&mut self, event: &Event, heard: HeardAt) -> (Moment, Moment) {
        // These are the seconds of an evening, so the product is far from any limit.
        let t_ms = (event.t * 1000.0).round() as i64;
        let late_ms = event.at.map_or(0, |at| ((event.t - at).max(0.0) * 1000.0) as i64);
        let stamp = event.time.as_deref().and_then(|time| time.parse().ok());
        let origin_ms = stamp.map(|stamp: Timestamp| stamp.as_millisecond() - t_ms);
        if self
            .runs
            .back()
            .is_none_or(|run| run.is_over(event, t_ms, origin_ms))
        {
            self.runs.push_back(Run::begun(t_ms));
        }
        if let Some(run) = self.runs.back_mut() {
            run.note(event.game, t_ms, origin_ms, heard);
        }
        let run = (self.gone + self.runs.len()).saturating_sub(1);
        let happened = Moment {
            run,
            t_ms: t_ms - late_ms,
        };
        (Moment { run, t_ms }, happened)
    }

    /// Forgets runs before that of `first`, of which no act is left.
    pub(super) fn forget_before(&mut self, first: Option<Moment>) {
        while self.runs.len() > MOST && first.is_none_or(|first| first.run > self.gone) {
            self.runs.pop_front();
            self.gone += 1;
        }
    }

    /// The start of each run by the time of the broadcast.
    pub(super) fn starts(&self) -> Starts {
        let mut next_ms = i64::MAX;
        let starts = self.runs.iter().rev().map(|run| {
            let start = run.latest_ms.min(run.bound_ms);
            let start = start.min(next_ms.saturating_sub(run.last_t_ms));
            next_ms = start.saturating_add(run.first_t_ms);
            start
        });
        let mut starts: Vec<_> = starts.collect();
        starts.reverse();
        Starts {
            gone: self.gone,
            starts,
        }
    }

    /// True where the wall clock was set while `game` went on.
    pub(super) fn know_the_day_of(&self, game: u32) -> bool {
        let mut spans = self.runs.iter().filter_map(|run| run.games.get(&game));
        spans.any(|span| span.origin_ms.is_some())
    }

    /// Unix time in milliseconds of a moment of `game`, according to the wall clock as it was set last; none where it
    /// never was.
    fn wall_ms(&self, game: u32, moment: Moment) -> Option<i64> {
        let mut next: Option<i64> = None;
        let runs = self.runs.iter().skip(moment.run.checked_sub(self.gone)?);
        let spans = runs.filter_map(|run| Some((run.games.get(&game)?, run.origin_ms)));
        let spans: Vec<(&Span, Option<i64>)> = spans.collect();
        let mut origin_ms = None;
        for (span, later) in spans.into_iter().rev() {
            // Where nobody had set the wall clock before the game was over, it counts as it was set later in that run.
            let told_ms = span.origin_ms.or(later).filter(|origin_ms| {
                let end_ms = origin_ms.saturating_add(span.last_t_ms);
                next.is_none_or(|next| next.saturating_sub(end_ms) <= DAY_MS)
            });
            origin_ms = told_ms.or_else(|| Some(next?.saturating_sub(span.last_t_ms)));
            next = origin_ms.map(|origin_ms| origin_ms.saturating_add(span.first_t_ms));
        }
        Some(origin_ms?.saturating_add(moment.t_ms))
    }

    /// The day of a moment of `game`, `YYYY.MM.DD`.
    pub(super) fn date(&self, game: u32, moment: Moment) -> Option<String> {
        zone::day(self.wall_ms(game, moment)?, zone::own())
    }

    /// The milliseconds from one moment of `game` to another; none where a restart lies between and the wall clocks of
    /// the two runs do not fit together.
    pub(super) fn between(&self, game: u32, from: Moment, to: Moment) -> Option<u64> {
        if from.run == to.run {
            return Some(u64::try_from(to.t_ms - from.t_ms).unwrap_or(0));
        }
        let told_ms = |moment: Moment| {
            let run = self.runs.get(moment.run.checked_sub(self.gone)?)?;
            Some(run.games.get(&game)?.origin_ms?.saturating_add(moment.t_ms))
        };
        let passed_ms = told_ms(to)?.checked_sub(told_ms(from)?)?;
        u64::try_from(passed_ms).ok().filter(|_| passed_ms <= DAY_MS)
    }
}

/// The start of each run, as Unix time in milliseconds by the time of a broadcast. It never lets an act be later than the
/// acts of the next run.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    gone: usize,
    starts: Vec<i64>,
}

impl Starts {
    /// The time of a moment.
    pub(super) fn ms(&self, moment: Moment) -> i64 {
        let start = moment
            .run
            .checked_sub(self.gone)
            .and_then(|run| self.starts.get(run));
        start.map_or(i64::MIN, |start| start.saturating_add(moment.t_ms))
    }
}

/// The day on which the present game of a board began.
#[derive(Clone, Debug, Default)]
pub struct GameDate {
    runs: Runs,
    began: Option<(u32, Moment)>,
}

impl GameDate {
    /// Takes the next event of the board.
    pub fn take(&mut self, event: &Event) {
        let starts = matches!(event.body, Body::GameStarted { .. });
        if starts {
            *self = Self::default();
        }
        let (_, happened) = self.runs.note(event, HeardAt::from(0));
        if starts {
            self.began = event.game.map(|game| (game, happened));
        }
        self.runs.forget_before(self.began.map(|(_, began)| began));
    }

    /// The day, `YYYY.MM.DD`, on which `game` began; none where that is not known.
    #[must_use]
    pub fn of(&self, game: u32) -> Option<String> {
        let (_, began) = self.began.filter(|(number, _)| *number == game)?;
        self.runs.date(game, began)
    }
}
