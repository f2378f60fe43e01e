//! The messages of the gateway on itself: `info` once, `health` again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;

use crate::{
    broadcast::Pushed,
    config::{BoardConfig, Config},
    event::SCHEMA_VERSION,
    gateway::lines::LineHealth,
    journal::{JournalStats, Notice},
    mqtt::{self, BrokerFigures},
    time::Millis,
    watcher::HardwareView,
};

/// Payload of the gateway's `info`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GatewayInfo {
    /// Version of the program.
    version: &'static str,
    /// Major version of the payloads.
    schema_version: u32,
    /// Another one after each start of the daemon.
    boot_id: String,
    /// What tells its journal from any other.
    journal: String,
    /// Which lock its process holds on its journal, and since which start of the machine: of two processes that say the same the
    /// earlier one is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    journal_at: Option<String>,
    /// What tells the time since its journal last compared its numbers with a broker from any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    journal_era: Option<String>,
    /// Its machine.
    host: String,
    /// Seconds of silence after which it pings the broker. One and a half times as long after its last word the broker gives it up.
    #[serde(default)]
    keep_alive_s: u64,
    /// Seconds from one `health` to the next, at the most.
    #[serde(default)]
    health_interval_s: u64,
    /// Ids of the boards.
    boards: Vec<String>,
    /// Whether it takes commands.
    commands: bool,
    /// Names of the players by board, White's and Black's, by the pairings, else by `table`, where either has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    players: BTreeMap<String, [Option<String>; 2]>,
    /// Number of the round that is played, where there are rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    /// Wrong numbers that this round had before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    round_formerly: BTreeSet<u32>,
    /// When a command put that round in force, RFC 3339 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round_began: Option<String>,
}

impl GatewayInfo {
    pub(super) fn new(config: &Config, boot_id: &str, journal: &str, journal_at: Option<&String>) -> Self {
        let named = |board: &BoardConfig| {
            let players = config.seats(board).players;
            let is_named = players.iter().any(Option::is_some);
            is_named.then(|| (board.id.to_string(), players))
        };
        let in_force = config.in_force.as_ref();
        let began = in_force.and_then(|round| jiff::Timestamp::from_millisecond(round.since_ms).ok());
        Self {
            version: env!("CARGO_PKG_VERSION"),
            schema_version: SCHEMA_VERSION,
            boot_id: boot_id.to_owned(),
            journal: journal.to_owned(),
            journal_at: journal_at.cloned(),
            // The publisher adds it.
            journal_era: None,
            keep_alive_s: config.broker.keep_alive.as_secs(),
            health_interval_s: config.limits.health_interval.as_secs(),
            host: mqtt::host(),
            boards: config.boards.iter().map(|board| board.id.to_string()).collect(),
            commands: config.commands,
            players: config.boards.iter().filter_map(named).collect(),
            round: config.round(),
            round_formerly: config.formerly(),
            round_began: began.map(|began| began.to_string()),
        }
    }
}

/// Payload of the gateway's `health`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Health {
    /// Seconds since the daemon's start.
    pub(super) uptime_s: f64,
    /// Boards of the configuration.
    pub(super) boards: usize,
    /// How often a board's task failed and was started again.
    pub(super) board_restarts: u64,
    /// Events without acknowledgement.
    pub(super) outbox_depth: u64,
    /// Age of the oldest event without acknowledgement, in seconds; null when there is none.
    pub(super) oldest_unacknowledged_s: Option<f64>,
    /// The link to the broker.
    pub(super) broker: BrokerFigures,
    /// What is kept on this machine.
    pub(super) journal: JournalStats,
    /// The number of the last event by board. Who lacks one asks for it by `history`: it may be lost on its way, as
    /// where a broker dies that has acknowledged it.
    last_seq: BTreeMap<String, u64>,
    /// What an operator should see to now, and what was found at the start.
    notices: Vec<Notice>,
    /// The push of the games to lichess; absent where nothing is pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    lichess: Option<Pushed>,
    /// Boards of whose hardware there is something to tell: a battery, what came garbled over the line or was lost, what is not read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    hardware: BTreeMap<String, HardwareView>,
    /// The lines that boards share; absent where each has a port of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lines: Vec<LineHealth>,
}

impl Health {
    pub(super) fn new(
        uptime: Millis,
        boards: usize,
        board_restarts: u64,
        journal: JournalStats,
        broker: BrokerFigures,
        notices: Vec<Notice>,
        lichess: Option<Pushed>,
    ) -> Self {
        Self {
            uptime_s: uptime.seconds(),
            boards,
            board_restarts,
            outbox_depth: journal.depth,
            oldest_unacknowledged_s: journal.oldest_age.map(|age| age.as_secs_f64()),
            broker,
            journal,
            last_seq: BTreeMap::new(),
            notices,
            lichess,
            hardware: BTreeMap::new(),
            lines: Vec::new(),
        }
    }

    /// Adds the numbers of the boards' last events.
    pub(super) fn with_numbers(mut self, last_seq: BTreeMap<String, u64>) -> Self {
        self.last_seq = last_seq;
        self
    }

    /// Adds what the boards tell of their hardware.
    pub(super) fn with(mut self, hardware: BTreeMap<String, HardwareView>) -> Self {
        self.hardware = hardware;
        self
    }

    /// Adds the lines that boards share.
    pub(super) fn with_lines(self, lines: Vec<LineHealth>) -> Self {
        Self { lines, ..self }
    }
}

/// How often `health` comes after a connection was made, and for how long: whoever lost events in the trouble before it
/// learns of them soon.
const SETTLING: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(12));
/// After so many other messages the daemon sends all states again: somebody may have removed them from the broker.
const STATES_AGAIN: u32 = 6;

/// When `health` is due.
#[derive(Debug)]
pub(super) struct Schedule {
    next: Instant,
    /// Connections to the broker since the start.
    connects: u64,
    settled: Instant,
    sent: u32,
}

impl Schedule {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            next: now,
            connects: 0,
            settled: now,
            sent: 0,
        }
    }

    /// Makes it due now.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.next = now;
    }

    /// Notes how many connections there were.
    pub(super) fn connected(&mut self, connects: u64, now: Instant) {
        if connects != self.connects {
            self.connects = connects;
            self.settled = now + SETTLING.1;
            self.hurry(now);
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Notes that it goes out. True where all states are to be sent again.
    pub(super) fn goes_out(&mut self, interval: Duration, now: Instant) -> bool {
        if now < self.settled {
            self.next = now + SETTLING.0.min(interval);
            return false;
        }
        self.next = now + interval;
        self.sent += 1;
        self.sent.is_multiple_of(STATES_AGAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_often_after_a_connection_and_then_at_its_interval() {
        let (begin, interval) = (Instant::now(), Duration::from_secs(30));
        let mut schedule = Schedule::new(begin);
        let (mut due, mut again) = (Vec::new(), Vec::new());
        for second in 0..300 {
            let now = begin + Duration::from_secs(second);
            schedule.connected(1 + u64::from(second >= 100), now);
            if schedule.is_due(now) {
                due.push(second);
                if schedule.goes_out(interval, now) {
                    again.push(second);
                }
            }
        }
        let first = [0, 2, 4, 6, 8, 10, 12, 42, 72];
        let second = [100, 102, 104, 106, 108, 110, 112, 142, 172, 202, 232, 262, 292];
        assert_eq!(due, [&first[..], &second[..]].concat());
        assert_eq!(again, [172], "the sixth that is not because of a connection");
    }
}
