//! The lines that boards share: a task for each holds its port and lets the boards speak.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::{
    error::GatewayError,
    heartbeat::{Heartbeat, Pulse},
    ports::Ports,
    trouble::Trouble,
};
use crate::{
    dgt::line::{Figure, Figures},
    event::notice,
    journal::Notice,
    link::{Backoff, Shared, Source, line::Hub},
};

/// First and longest delay between attempts to open the port, and when it counts as good.
const BACKOFF_MS: (u64, u64, u64) = (250, 10_000, 5_000);

/// How a line does, as `health` tells it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct LineHealth {
    /// Its port.
    port: String,
    /// Boards of the configuration on it.
    boards: usize,
    /// Those that answer.
    answering: usize,
    /// Milliseconds of the last round in which each of them was asked.
    cycle_ms: u64,
    /// The longest time that a board was not asked in the last half minute.
    longest_ms: u64,
    /// Questions without an answer since the start.
    silent: u64,
    /// Answers that came damaged since the start.
    damaged: u64,
    /// Whole boards that showed changes which were never told.
    lost: u64,
    /// Answers that nobody of us asked for: another program is on the line, or two boards have one address.
    unasked: u64,
    /// Addresses at which more answers, or others, than one board gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    garbled: Vec<u16>,
    /// Addresses of boards that answer and are not configured, where the configuration has them looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unlisted: Vec<u16>,
}

impl LineHealth {
    fn new(port: &str, figures: &Figures) -> Self {
        let sum = |of: fn(&Figure) -> u64| figures.boards.iter().map(of).sum();
        let garbled = figures.boards.iter().filter(|board| board.is_garbled);
        Self {
            port: port.to_owned(),
            boards: figures.boards.len(),
            answering: figures.boards.iter().filter(|board| board.is_here).count(),
            cycle_ms: figures.cycle_ms,
            longest_ms: figures.longest_ms,
            silent: sum(|board| board.errors.silent),
            damaged: sum(|board| board.errors.damaged),
            lost: sum(|board| board.errors.lost),
            unasked: figures.unasked,
            garbled: garbled.map(|board| board.address).collect(),
            unlisted: figures.strangers.clone(),
        }
    }
}

/// One line's part of the configuration.
#[derive(Debug)]
pub(super) struct LinePlan {
    port: Source,
    hub: Hub,
}

/// Gives each of `sources` that shares a line a place at it, and returns the lines. On those at the ports `searched` boards are looked
/// for that are not among them.
pub(super) fn plans<'a>(sources: impl Iterator<Item = &'a mut Source>, searched: &[String]) -> Vec<LinePlan> {
    let mut lines: BTreeMap<String, Vec<(String, &mut Shared)>> = BTreeMap::new();
    for source in sources {
        let name = source.to_string();
        if let Source::Shared(shared) = source {
            lines
                .entry(shared.port.to_string())
                .or_default()
                .push((name, shared));
        }
    }
    let hub = |mut boards: Vec<(String, &mut Shared)>| {
        let known = boards
            .iter()
            .map(|(name, board)| (board.address, board.serial.clone(), name.clone()));
        let (hub, places) = Hub::new(known);
        let port = boards.first().map(|(_, board)| (*board.port).clone());
        let is_searched = port
            .as_ref()
            .is_some_and(|port| searched.contains(&port.to_string()));
        let hub = if is_searched { hub.searching() } else { hub };
        for ((_, board), place) in boards.iter_mut().zip(places) {
            board.place = Some(place);
        }
        port.map(|port| LinePlan { port, hub })
    };
    lines.into_values().filter_map(hub).collect()
}

/// The tasks of the lines.
#[derive(Debug)]
pub(super) struct Lines {
    tasks: JoinSet<()>,
    figures: Vec<(String, watch::Receiver<Figures>)>,
}

impl Lines {
    /// Starts them; they end at `stop`.
    pub(super) fn start(
        plans: Vec<LinePlan>,
        ports: &Ports,
        heartbeat: &Heartbeat,
        stop: &CancellationToken,
    ) -> Self {
        let (mut tasks, mut figures) = (JoinSet::new(), Vec::new());
        for plan in plans {
            let name = plan.port.to_string();
            figures.push((name.clone(), plan.hub.figures()));
            let pulse = heartbeat.pulse(&format!("line {name}"));
            let (ports, stop) = (ports.clone(), stop.clone());
            tasks.spawn(async move {
                stop.run_until_cancelled(hold(plan, &ports, &pulse)).await;
            });
        }
        Self { tasks, figures }
    }

    /// How they do.
    pub(super) fn figures(&self) -> Vec<LineHealth> {
        let told =
            |(port, figures): &(String, watch::Receiver<Figures>)| LineHealth::new(port, &figures.borrow());
        self.figures.iter().map(told).collect()
    }

    /// What somebody has to see to.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let doubled = |line: LineHealth| {
            let port = line.port;
            line.garbled.into_iter().map(move |address| {
                let message = format!(
                    "line {port}: more answers come from address {address} than one board gives: two boards whose serial numbers differ by a multiple of 16384 cannot share a line, put one of them elsewhere"
                );
                Notice::new(notice::LINE_ADDRESS_DOUBLED, message)
            })
        };
        let unlisted = |line: &LineHealth| {
            let port = line.port.clone();
            let words = move |address: &u16| {
                let message = format!(
                    "line {port}: a board of address {address} answers and is not configured: add its serial number to `boards` of the line and start the daemon anew"
                );
                Notice::new(notice::LINE_BOARD_UNLISTED, message)
            };
            line.unlisted.iter().map(words).collect::<Vec<_>>()
        };
        let lines = self.figures();
        let found: Vec<_> = lines.iter().flat_map(unlisted).collect();
        lines.into_iter().flat_map(doubled).chain(found).collect()
    }

    /// The next that has ended by itself.
    pub(super) async fn join_next(&mut self) -> Option<Result<(), JoinError>> {
        self.tasks.join_next().await
    }

    /// All have ended, as they were told.
    pub(super) async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Why the gateway ends where a line did by itself.
pub(super) fn ended_early(ended: Result<(), JoinError>) -> GatewayError {
    GatewayError::Line(
        ended
            .err()
            .map_or_else(|| "it ended by itself".to_owned(), |error| error.to_string()),
    )
}

/// Opens the port again and again, and lets the boards speak while it is open.
async fn hold(mut plan: LinePlan, ports: &Ports, pulse: &Pulse) {
    let (first, longest, stable) = BACKOFF_MS;
    let mut backoff = Backoff::new(first, longest, stable);
    let mut rng = fastrand::Rng::new();
    let line = plan.port.to_string();
    let mut said = None;
    loop {
        pulse.beat();
        let opened = plan.port.open().await.map_err(Trouble::from).and_then(|opened| {
            let claim = ports.claim(&opened.name, &line);
            let port = opened.name.clone();
            let claim = claim.map_err(|other| Trouble::Taken { port, other })?;
            Ok((opened, claim))
        });
        match opened {
            Ok((opened, _claim)) => {
                tracing::info!(port = opened.name, "line {line}: open");
                said = None;
                backoff.up(plan.hub.now());
                let reason = plan.hub.drive(&line, opened.io, || pulse.beat()).await;
                tracing::warn!(code = "line_lost", "line {line}: lost: {reason}");
            }
            Err(trouble) => {
                // One line for each trouble, none for each attempt.
                if said.replace(trouble.code()) != Some(trouble.code()) {
                    tracing::warn!(code = trouble.code(), "line {line}: {trouble}");
                }
            }
        }
        let wait = backoff.failed(plan.hub.now(), &mut rng);
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_two_boards_and_one_of_none_that_is_configured_are_told() {
        let figure = |address, is_garbled| Figure {
            address,
            is_here: true,
            is_garbled,
            errors: Default::default(),
        };
        let figures = Figures {
            boards: vec![figure(7, false), figure(8, true)],
            strangers: vec![9],
            ..Figures::default()
        };
        let lines = Lines {
            tasks: JoinSet::new(),
            figures: vec![("/dev/x".to_owned(), watch::channel(figures).1)],
        };
        let notices = lines.notices();
        assert_eq!(notices.len(), 2, "{notices:?}");
        assert!(notices[0].message.contains("address 8"), "{notices:?}");
        assert!(notices[1].message.contains("address 9 answers"), "{notices:?}");
        assert_eq!(lines.figures()[0].unlisted, [9]);
    }
}
