//! One board, as its topics tell of it.

mod games;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{clock::Reading, earlier::Earlier, games::Players};
use crate::{
    event::{Body, ClockState, Event, GameResult},
    game::pgn::tag,
    watcher::{BoardInfo, ClockView, GameView, PositionView},
};

/// How many bytes of memory a byte of a state's JSON takes at worst.
const OF_STATE: usize = 8;
/// How many bytes of memory a byte of an event's JSON takes at worst.
const OF_EVENT: usize = 3;
/// How many events of each board are kept. Of older games only the record is kept; the gateway's journal has the rest.
const MAX_EVENTS: usize = 500;
/// How many of the newest events are always kept.
const NEWEST: usize = 300;
/// How long before its newest event a board's day begins.
const DAY: SignedDuration = SignedDuration::from_hours(18);
/// The state of a game comes with its event. If it comes so much later, in milliseconds, it is lost.
const LONG_LAG_MS: u64 = 1_000;
/// How many games the players are kept of.
const MAX_GAMES: usize = 64;

/// The players at a board by pairings, and their round where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OfRound {
    pub(super) players: Players,
    pub(super) round: Option<u32>,
}

/// What is known of one board.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    /// Whether the board answers; none before its gateway told.
    pub(super) online: Option<bool>,
    pub(super) info: BoardInfo,
    pub(super) position: PositionView,
    pub(super) game: GameView,
    /// The latest reading of the clock.
    pub(super) clock: Option<Reading>,
    /// The reading from which pages count on.
    pub(super) counted_from: Option<Reading>,
    /// Names of the players, White's and Black's, as the game's PGN has them.
    named: Players,
    /// The players by pairings.
    pub(super) paired: Option<OfRound>,
    pub(super) pgn: String,
    /// The latest game of a round, and the players whom the pairings named when it began.
    of_round: Option<(u32, OfRound)>,
    /// Who played at this board, by the numbers of the games.
    pub(super) sat: BTreeMap<u32, Players>,
    /// The events, by `seq`.
    pub(super) events: BTreeMap<u64, Event>,
    /// Games of the day whose events are not kept any more.
    pub(super) earlier: Earlier,
    /// Stretches of `seq` that the gateway has told, in order. No two of them touch.
    told: Vec<(u64, u64)>,
    /// What the states weigh, in bytes.
    state_weights: BTreeMap<String, usize>,
    /// What the events weigh, in bytes.
    event_weight: usize,
    /// What the earlier games weigh, in bytes.
    earlier_weight: usize,
    /// The gateway's journal keeps no event up to this `seq`.
    floor: u64,
    /// The number of the last event, as `health` of the gateway told it.
    pub(super) given_out: u64,
    /// Whether the state of the game lags behind the events.
    lag: Lag,
    /// True where the gateway did not answer a question for missed events.
    pub(super) is_untold: bool,
    pub(super) revision: u64,
}

/// Whether the state of a board's game lags behind its events.
#[derive(Clone, Debug, Default)]
struct Lag {
    since_ms: Option<u64>,
    is_long: bool,
    /// The number of the last event at the last answer of the gateway: the page does not ask twice.
    asked: u64,
}

impl Board {
    /// True where the game has a result, or where no half-move was played since another game had one.
    pub(crate) fn has_result(&self) -> bool {
        let is_over = self.game.result.is_some_and(|result| result != GameResult::Open);
        let has_ended = |event: &Event| matches!(event.body, Body::GameEnded { .. });
        is_over || (self.game.moves.is_empty() && self.events.values().any(has_ended))
    }

    /// True where the page has heard this state of the board.
    pub(super) fn has_told(&self, state: &str) -> bool {
        self.state_weights.contains_key(state)
    }

    /// Takes a state. True when something changed.
    pub(super) fn take_state(&mut self, state: &str, payload: &[u8], now_ms: u64) -> bool {
        let by = if state == "pgn" { 1 } else { OF_STATE };
        self.state_weights.insert(state.to_owned(), by * payload.len());
        let changed = self.take_new_state(state, payload, now_ms);
        self.note_who_sits();
        changed
    }

    fn take_new_state(&mut self, state: &str, payload: &[u8], now_ms: u64) -> bool {
        match state {
            "status" => match payload {
                b"online" => replace(&mut self.online, Some(true)),
                b"offline" => replace(&mut self.online, Some(false)),
                _ => false,
            },
            "info" => parsed(payload).is_some_and(|info| replace(&mut self.info, info)),
            "position" => parsed(payload).is_some_and(|position| replace(&mut self.position, position)),
            "game" => parsed(payload).is_some_and(|game: GameView| {
                // A node of a cluster may retain an older one: the page asks for the newer once more.
                if game.last_seq < self.game.last_seq {
                    self.lag = Lag::default();
                }
                replace(&mut self.game, game)
            }),
            "clock" => parsed::<ClockView>(payload).is_some_and(|view| self.take_clock(view.clock, now_ms)),
            "pgn" => {
                self.pgn = String::from_utf8_lossy(payload).into_owned();
                let name = |name| tag(&self.pgn, name).filter(|name| name != "?");
                self.named = [name("White"), name("Black")];
                true
            }
            _ => false,
        }
    }

    /// True where the latest reading of the clock has a time that runs.
    pub(super) fn clock_runs(&self) -> bool {
        self.clock.is_some_and(|reading| reading.clock.running.is_some())
    }

    /// Notes that pages are told of the board: from now on they count on from the latest reading of its clock.
    pub(super) fn changed_at(&mut self, revision: u64) {
        self.revision = revision;
        self.counted_from = self.clock;
    }

    /// Takes a reading. True when pages do not show it by themselves.
    fn take_clock(&mut self, clock: Option<ClockState>, at_ms: u64) -> bool {
        self.clock = clock.map(|clock| Reading { clock, at_ms });
        match (&self.counted_from, &self.clock) {
            (Some(before), Some(reading)) => !before.foretells(reading),
            (before, reading) => before.is_some() || reading.is_some(),
        }
    }

    /// Names of the players, White's and Black's. Pairings go first; the names in a board's configuration are for halls
    /// without pairings.
    pub(super) fn players(&self) -> Players {
        let goes_on = self.game.result.is_none_or(|result| result == GameResult::Open);
        let earlier = self.of_another_round().filter(|_| goes_on);
        let paired = self.paired.as_ref().map(|paired| &paired.players);
        earlier.or(paired).unwrap_or(&self.named).clone()
    }

    /// The players of the present game, if it began with other pairings than those in force.
    fn of_another_round(&self) -> Option<&Players> {
        let (game, began) = self.of_round.as_ref()?;
        let now = self.paired.as_ref()?.round?;
        (self.game.game == Some(*game) && began.round != Some(now)).then_some(&began.players)
    }

    /// Takes an event as it happens. True when it is new.
    pub(super) fn take_event(&mut self, event: Event) -> bool {
        let seq = event.seq;
        // An answer of the gateway may have lacked the event that it was about to write down.
        let is_newest = self
            .events
            .last_key_value()
            .is_none_or(|(newest, _)| *newest < seq);
        if self.knows(seq) && !(is_newest && seq > self.floor) {
            return false;
        }
        self.mark(seq, seq);
        self.keep(event);
        self.forget();
        true
    }

    /// About how many bytes of memory the board takes.
    pub(super) fn weight(&self) -> usize {
        self.event_weight + self.earlier_weight + self.state_weights.values().sum::<usize>()
    }

    /// How many of these bytes its earlier games take.
    pub(super) fn earlier_weight(&self) -> usize {
        self.earlier_weight
    }

    /// Drops the earlier games. The page does not ask for their events again.
    pub(super) fn forget_earlier(&mut self) {
        self.earlier = Earlier::default();
        self.earlier_weight = 0;
        let told = self.told.last().map_or(0, |(from, _)| from.saturating_sub(1));
        self.floor = self.floor.max(told);
    }

    fn keep(&mut self, event: Event) {
        if let (Some(game), Some(players)) = (event.game, paired_at_start(&event.body))
            && self.of_round.as_ref().is_none_or(|(latest, _)| *latest < game)
        {
            self.of_round = Some((game, players));
        }
        // Pairings that were put in force for the next round do not change them, but a correction does.
        if let (Some(game), Body::NamesCorrected { white, black, .. }) = (event.game, &event.body) {
            self.sat.insert(game, [white.clone(), black.clone()]);
        }
        self.event_weight += weigh(&event);
        if let Some(before) = self.events.insert(event.seq, event) {
            self.event_weight -= weigh(&before);
        }
    }

    /// Takes the gateway's answer on the stretch between `after` and `before`.
    pub(super) fn take_history(&mut self, after: u64, before: u64, events: Vec<Event>, more: bool) {
        let oldest = events.first().map_or(before, |event| event.seq);
        // A gateway that says it has more and tells nothing would be asked for ever.
        let is_partial = more && !events.is_empty();
        // An earlier game may already hold an event that came meanwhile.
        let news: Vec<Event> = events
            .into_iter()
            .filter(|event| !self.knows(event.seq))
            .collect();
        let from = if is_partial { oldest } else { after + 1 };
        // A question for the game alone names no event.
        if from < before {
            self.mark(from, before - 1);
        }
        for event in news {
            self.keep(event);
        }
        let newest = self.told.last().map_or(0, |(_, to)| *to);
        self.lag = Lag {
            asked: self.lag.asked.max(before - 1).min(newest),
            ..Lag::default()
        };
        self.forget();
    }

    /// Takes the game that came with an answer, unless the broker has told of a later one.
    pub(super) fn take_game(&mut self, game: &Value) {
        if game["last_seq"].as_u64() > Some(self.game.last_seq) {
            self.take_state("game", game.to_string().as_bytes(), 0);
        }
    }

    /// Looks whether the state of the game has lagged behind the events for long: it is lost, and the next may be late.
    pub(super) fn look_for_lag(&mut self, now_ms: u64) {
        let newest = self.told.last().map_or(0, |(_, to)| *to);
        let is_told = self.game.last_seq > 0;
        if !is_told || self.game.last_seq >= newest || self.lag.asked >= newest {
            self.lag.since_ms = None;
        } else {
            let since = *self.lag.since_ms.get_or_insert(now_ms);
            self.lag.is_long |= now_ms.saturating_sub(since) >= LONG_LAG_MS;
        }
        self.lag.is_long &= self.lag.since_ms.is_some();
    }

    /// Marks a stretch as told although no gateway tells it.
    pub(super) fn do_without(&mut self, after: u64, before: u64) {
        self.is_untold |= after + 1 < before;
        self.take_history(after, before, Vec::new(), false);
    }

    /// What the gateway is to be asked for: the newest stretch of events that was not told, by the `seq` before it and the
    /// `seq` after it; else the game alone, with no event between the two.
    pub(super) fn wanted(&self) -> Option<(u64, u64)> {
        let newest = self.told.last().map_or(0, |(_, to)| *to);
        // The answer has the game, too.
        self.missing()
            .or_else(|| self.lag.is_long.then_some((newest, newest + 1)))
    }

    /// The newest stretch of events that was not told.
    pub(super) fn missing(&self) -> Option<(u64, u64)> {
        let newest = self.told.last().map_or(0, |(_, to)| *to);
        let last = self.game.last_seq.max(self.given_out);
        if last > newest {
            return Some((newest.max(self.floor), last.saturating_add(1)));
        }
        let (from, _) = *self.told.last()?;
        let below = match self.told.len() {
            1 => self.floor,
            count => self.told[count - 2].1,
        };
        let is_missing = from > below.max(self.floor) + 1 && self.wants_more();
        is_missing.then_some((below.max(self.floor), from))
    }

    /// True while older events are wanted: until there are enough, and the games of the day are whole.
    fn wants_more(&self) -> bool {
        let few = self.events.len() + self.earlier.events() < MAX_EVENTS;
        few || self.earlier.has_room() && self.is_of_the_day()
    }

    /// True where the oldest known event is of the same day as the newest.
    fn is_of_the_day(&self) -> bool {
        let parse = |time: &str| time.parse::<Timestamp>().ok();
        let time = |event: &Event| event.time.as_deref().and_then(parse);
        let newest = self.events.values().rev().find_map(time);
        let oldest = self.events.values().find_map(time);
        let oldest = oldest
            .into_iter()
            .chain(self.earlier.began().and_then(parse))
            .min();
        let age = newest
            .zip(oldest)
            .map(|(newest, oldest)| newest.duration_since(oldest));
        age.is_none_or(|age| age < DAY)
    }

    /// The event with this id, if it was told.
    pub(super) fn event(&self, id: &str) -> Option<&Event> {
        let seq = id.rsplit_once('/')?.1.parse().ok()?;
        self.events.get(&seq).filter(|event| event.id == id)
    }

    /// True where an irregularity is open of which only the state tells.
    pub(super) fn has_untold_case(&self) -> bool {
        self.listed_open().iter().any(|id| self.event(id).is_none())
    }

    /// Ids of the open irregularities of the present game, the oldest first. State and events come on two lanes, so
    /// events that are newer than the state count as well.
    pub(super) fn listed_open(&self) -> Vec<String> {
        let mut open = self.game.open_irregularities.clone();
        for (_, event) in self.events.range(self.game.last_seq + 1..) {
            match &event.body {
                Body::Irregularity(_) if !open.contains(&event.id) => open.push(event.id.clone()),
                Body::IrregularityReopened {
                    irregularity,
                    open: true,
                } if !open.contains(irregularity) => open.push(irregularity.clone()),
                Body::IrregularityResolved { irregularity, .. } => open.retain(|id| id != irregularity),
                _ => {}
            }
        }
        open
    }

    /// Notes the players at the board as those of the present game, so that they are known when another game is played.
    /// Once the game has a result they stay, because the pairings may already name others.
    pub(super) fn note_who_sits(&mut self) {
        let Some(number) = self.game.game else { return };
        let is_over = self.game.result.is_some_and(|result| result != GameResult::Open);
        let players = self.of_another_round().cloned().unwrap_or_else(|| self.players());
        if players.iter().all(Option::is_none) || is_over && self.sat.contains_key(&number) {
            return;
        }
        self.sat.insert(number, players);
        while self.sat.len() > MAX_GAMES {
            self.sat.pop_first();
        }
    }

    fn knows(&self, seq: u64) -> bool {
        self.told.iter().any(|(from, to)| (*from..=*to).contains(&seq))
    }

    fn mark(&mut self, mut from: u64, mut to: u64) {
        self.told.retain(|(other_from, other_to)| {
            let is_apart = *other_to + 1 < from || to + 1 < *other_from;
            if !is_apart {
                from = from.min(*other_from);
                to = to.max(*other_to);
            }
            is_apart
        });
        self.told.push((from, to));
        self.told.sort_unstable();
    }

    /// Drops events beyond the bound. Whole games keep their record. The rest goes, except for a game whose beginning
    /// the page still asks for.
    fn forget(&mut self) {
        while self.events.len() > MAX_EVENTS && self.take_earlier() {}
        while self.events.len() > MAX_EVENTS {
            if self.events.len() <= 2 * MAX_EVENTS && self.missing().is_some() {
                return;
            }
            if let Some((seq, event)) = self.events.pop_first() {
                self.event_weight -= weigh(&event);
                self.floor = self.floor.max(seq);
            }
        }
    }

    /// Keeps the oldest game without its events, if all of it was told. False when there is none.
    fn take_earlier(&mut self) -> bool {
        let Some((present, (from, to))) = self.game.game.zip(self.told.last().copied()) else {
            return false;
        };
        let taken = self.earlier.take(&mut self.events, from..=to, present, NEWEST);
        self.event_weight -= taken.iter().map(weigh).sum::<usize>();
        if !taken.is_empty() {
            self.earlier_weight = self.earlier.weight();
        }
        !taken.is_empty()
    }
}

fn weigh(event: &Event) -> usize {
    let text = serde_json::to_vec(event).unwrap_or_default();
    OF_EVENT * text.len()
}

fn parsed<T: serde::de::DeserializeOwned>(payload: &[u8]) -> Option<T> {
    serde_json::from_slice(payload).ok()
}

/// Sets the value. True when it changed.
fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}
/// The players by the pairings, if the event begins a game of a round.
fn paired_at_start(body: &Body) -> Option<OfRound> {
    let Body::GameStarted {
        white, black, round, ..
    } = body
    else {
        return None;
    };
    let players = [white.clone(), black.clone()];
    let is_named = round.is_some() && players.iter().any(Option::is_some);
    is_named.then_some(OfRound {
        players,
        round: *round,
    })
}
