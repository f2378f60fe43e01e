//! The lines that boards share. A task for each line holds its port and runs its hub.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::{
    sync::{oneshot, watch},
    task::{JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::{
    heartbeat::{Heartbeat, Pulse},
    ports::Ports,
    trouble::Trouble,
};
use crate::{
    dgt::{
        bus::Address,
        line::{Figure, Figures},
    },
    event::notice,
    journal::Notice,
    link::{
        Backoff, LinkSource,
        line::{Hub, LinePlace},
    },
};

/// First and longest delay between attempts to open the port, and the time after which an open port counts as
/// stable.
const BACKOFF_MS: (u64, u64, u64) = (250, 10_000, 5_000);

/// Figures on the state of a line, for `health`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct LineHealth {
    /// Its port.
    port: String,
    /// Number of configured boards on it.
    boards: usize,
    /// Number of these boards that answer.
    answering: usize,
    /// Milliseconds of the last round, in which the master asked each board.
    cycle_ms: u64,
    /// The longest time, in the last half minute, between two visits of one board.
    longest_ms: u64,
    /// Number of questions without an answer since the start.
    silent: u64,
    /// Number of answers that came damaged since the start.
    damaged: u64,
    /// The same of each board from which some came, by its address: a bad cable shows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    damaged_by: BTreeMap<String, u64>,
    /// Number of dumps that showed changes which the board had never told.
    lost: u64,
    /// Number of answers that nobody here asked for: of another program, or of two boards with one address.
    unasked: u64,
    /// Addresses from which more or other answers come than one board gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    garbled: Vec<u16>,
    /// Addresses of boards that answer and are not configured, if the configuration says to search for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unlisted: Vec<u16>,
    /// Another program asks boards of this line, or did so within the last minute.
    #[serde(skip)]
    is_shared: bool,
}

impl LineHealth {
    fn new(port: &str, figures: &Figures) -> Self {
        let sum = |of: fn(&Figure) -> u64| figures.boards.iter().map(of).sum();
        let garbled = figures.boards.iter().filter(|board| board.is_garbled);
        let damaged = figures.boards.iter().filter(|board| board.errors.damaged > 0);
        Self {
            port: port.to_owned(),
            boards: figures.boards.len(),
            answering: figures.boards.iter().filter(|board| board.is_here).count(),
            cycle_ms: figures.cycle_ms,
            longest_ms: figures.longest_ms,
            silent: sum(|board| board.errors.silent),
            damaged: sum(|board| board.errors.damaged),
            damaged_by: damaged
                .map(|board| (board.address.to_string(), board.errors.damaged))
                .collect(),
            lost: sum(|board| board.errors.lost),
            unasked: figures.unasked,
            garbled: garbled.map(|board| board.address).collect(),
            unlisted: figures.strangers.clone(),
            is_shared: figures.is_shared,
        }
    }
}

/// One line's part of the configuration.
#[derive(Clone, Debug)]
pub(super) struct LinePlan {
    port: LinkSource,
    /// Address, serial number and name of each board, sorted by address, so that the order in the
    /// configuration makes no difference.
    boards: Vec<(Address, String, String)>,
    /// The line searches for boards that are not configured.
    is_searched: bool,
}

impl LinePlan {
    /// True if a line that was opened by this plan need not be opened anew for `other`.
    fn is(&self, other: &Self) -> bool {
        self.boards == other.boards && self.is_searched == other.is_searched
    }
}

/// The lines' parts of the configuration, by their ports.
pub(super) type LinePlans = BTreeMap<String, LinePlan>;

/// The lines that some of `sources` share, by their ports. Lines at the ports `searched` search for further
/// boards.
pub(super) fn plans<'a>(sources: impl Iterator<Item = &'a LinkSource>, searched: &[String]) -> LinePlans {
    let mut lines = BTreeMap::new();
    for source in sources {
        let LinkSource::Shared(board) = source else {
            continue;
        };
        let port = board.port.to_string();
        let line = lines.entry(port).or_insert_with_key(|port| LinePlan {
            port: (*board.port).clone(),
            boards: Vec::new(),
            is_searched: searched.contains(port),
        });
        line.boards
            .push((board.address, board.serial.clone(), source.to_string()));
    }
    lines.values_mut().for_each(|line| line.boards.sort());
    lines
}

/// The port of the line that `source` is on.
pub(super) fn line_of(source: &LinkSource) -> Option<String> {
    match source {
        LinkSource::Shared(board) => Some(board.port.to_string()),
        _ => None,
    }
}

/// A line whose port is held.
#[derive(Debug)]
struct Line {
    plan: LinePlan,
    /// The places, by the names of the boards.
    places: BTreeMap<String, LinePlace>,
    figures: watch::Receiver<Figures>,
    stop: CancellationToken,
    /// Closes when the port is free again.
    held: oneshot::Receiver<()>,
}

/// The lines and their tasks.
#[derive(Debug)]
pub(super) struct LineTasks {
    tasks: JoinSet<()>,
    lines: BTreeMap<String, Line>,
    ports: Ports,
    heartbeat: Heartbeat,
    stop: CancellationToken,
}

impl LineTasks {
    /// Starts the lines of `plans`. They end at `stop`.
    pub(super) fn start(
        plans: LinePlans,
        ports: &Ports,
        heartbeat: &Heartbeat,
        stop: &CancellationToken,
    ) -> Self {
        let mut lines = Self {
            tasks: JoinSet::new(),
            lines: BTreeMap::new(),
            ports: ports.clone(),
            heartbeat: heartbeat.clone(),
            stop: stop.clone(),
        };
        for (port, plan) in plans {
            lines.begin(port, plan);
        }
        lines
    }

    fn begin(&mut self, port: String, plan: LinePlan) {
        let (hub, places) = Hub::new(plan.boards.iter().cloned());
        let hub = if plan.is_searched { hub.searching() } else { hub };
        let (holds, held) = oneshot::channel();
        let (stop, figures) = (self.stop.child_token(), hub.figures());
        let (ports, pulse) = (self.ports.clone(), self.heartbeat.pulse(&task_name(&port)));
        let (source, until) = (plan.port.clone(), stop.clone());
        self.tasks.spawn(async move {
            until.run_until_cancelled(hold(source, hub, &ports, &pulse)).await;
            drop(holds);
        });
        let names = plan.boards.iter().map(|(.., name)| name.clone());
        let line = Line {
            places: names.zip(places).collect(),
            plan,
            figures,
            stop,
            held,
        };
        self.lines.insert(port, line);
    }

    /// True if there is a line at `port`.
    pub(super) fn has(&self, port: &str) -> bool {
        self.lines.contains_key(port)
    }

    /// The ports of the lines that `next` has otherwise, or that exist only now or only in `next`.
    pub(super) fn changed(&self, next: &LinePlans) -> BTreeSet<String> {
        let is_same = |port: &String| {
            let (Some(line), Some(plan)) = (self.lines.get(port), next.get(port)) else {
                return false;
            };
            line.plan.is(plan)
        };
        let ports = self.lines.keys().chain(next.keys());
        ports.filter(|port| !is_same(port)).cloned().collect()
    }

    /// Goes on with `next`. Ends the lines that have [`Self::changed`], and begins them anew when their ports
    /// are free.
    pub(super) async fn change(&mut self, mut next: LinePlans) {
        let changed = self.changed(&next);
        // All ports must be free before any is opened, for a port may have got another name.
        for port in &changed {
            if let Some(line) = self.lines.remove(port) {
                line.stop.cancel();
                // Nothing is sent; the channel closes when the task lets go of the port.
                let _ = line.held.await;
                self.heartbeat.forget(&task_name(port));
            }
        }
        for port in changed {
            if let Some(plan) = next.remove(&port) {
                self.begin(port, plan);
            }
        }
    }

    /// Gives each of `sources` that shares a line its place there.
    pub(super) fn seat<'a>(&self, sources: impl Iterator<Item = &'a mut LinkSource>) {
        for source in sources {
            let name = source.to_string();
            if let LinkSource::Shared(board) = source {
                let line = self.lines.get(&board.port.to_string());
                board.place = line.and_then(|line| line.places.get(&name)).cloned();
            }
        }
    }

    /// The figures of all lines.
    pub(super) fn figures(&self) -> Vec<LineHealth> {
        let told = |(port, line): (&String, &Line)| LineHealth::new(port, &line.figures.borrow());
        self.lines.iter().map(told).collect()
    }

    /// The notices of all lines.
    pub(super) fn notices(&self) -> Vec<Notice> {
        notices(&self.figures())
    }

    /// Waits until a task fails, and returns why; none when all have ended as they were told.
    pub(super) async fn failed(&mut self) -> Option<JoinError> {
        loop {
            if let Err(error) = self.tasks.join_next().await? {
                return Some(error);
            }
        }
    }

    /// Waits until all have ended, as they were told.
    pub(super) async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The notices about these lines: addresses of more than one board, boards that are not configured, other
/// programs.
fn notices(lines: &[LineHealth]) -> Vec<Notice> {
    let doubled = |port: &str, address: &u16| {
        let message = format!(
            "line {port}: more answers come from address {address} than one board gives: two boards whose serial numbers differ by a multiple of 16384 cannot share a line, put one of them elsewhere"
        );
        Notice::new(notice::LINE_ADDRESS_DOUBLED, message)
    };
    let unlisted = |port: &str, address: &u16| {
        let message = format!(
            "line {port}: a board of address {address} answers and is not configured: add its serial number to `boards` of the line and reload the configuration"
        );
        Notice::new(notice::LINE_BOARD_UNLISTED, message)
    };
    let told = |line: &LineHealth| {
        line.garbled
            .iter()
            .map(|address| doubled(&line.port, address))
            .collect::<Vec<_>>()
    };
    let found = |line: &LineHealth| {
        line.unlisted
            .iter()
            .map(|address| unlisted(&line.port, address))
            .collect::<Vec<_>>()
    };
    let shared = |line: &LineHealth| {
        let message = format!(
            "line {}: another program asks its boards, too: while it does, half-moves may be missed and irregularities are only suspected; end it, or give it a line of its own",
            line.port
        );
        Notice::new(notice::LINE_SHARED, message)
    };
    let others = lines.iter().filter(|line| line.is_shared).map(shared);
    let boards = lines.iter().flat_map(told).chain(lines.iter().flat_map(found));
    boards.chain(others).collect()
}

fn task_name(port: &str) -> String {
    format!("line {port}")
}

/// Opens the port again and again, and runs the hub while it is open.
async fn hold(port: LinkSource, mut hub: Hub, ports: &Ports, pulse: &Pulse) {
    let (first, longest, stable) = BACKOFF_MS;
    let mut backoff = Backoff::new(first, longest, stable);
    let mut rng = fastrand::Rng::new();
    let line = port.to_string();
    let mut said = None;
    loop {
        pulse.beat();
        let opened = port.open().await.map_err(Trouble::from).and_then(|opened| {
            let claim = ports.claim(&opened.name, &line);
            let port = opened.name.clone();
            let claim = claim.map_err(|other| Trouble::Taken { port, other })?;
            Ok((opened, claim))
        });
        match opened {
            Ok((opened, _claim)) => {
                tracing::info!(port = opened.name, "line {line}: open");
                said = None;
                backoff.up(hub.now());
                let reason = hub.drive(&line, opened.io, || pulse.beat()).await;
                tracing::warn!(code = "line_lost", "line {line}: lost: {reason}");
            }
            Err(trouble) => {
                // Logs each kind of trouble once, and not each attempt.
                if said.replace(trouble.code()) != Some(trouble.code()) {
                    tracing::warn!(code = trouble.code(), "line {line}: {trouble}");
                }
            }
        }
        let wait = backoff.failed(hub.now(), &mut rng);
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dgt::line::Errors;

    #[test]
    fn a_line_with_troubles_has_notices() {
        let figure = |address, is_garbled, damaged| Figure {
            address,
            is_here: true,
            is_garbled,
            errors: Errors {
                damaged,
                ..Errors::default()
            },
        };
        let figures = Figures {
            boards: vec![figure(7, false, 0), figure(8, true, 3)],
            strangers: vec![9],
            is_shared: true,
            ..Figures::default()
        };
        let lines = [LineHealth::new("/dev/x", &figures)];
        let notices = notices(&lines);
        assert_eq!(notices.len(), 3, "{notices:?}");
        assert!(notices[0].message.contains("address 8"), "{notices:?}");
        assert!(notices[1].message.contains("address 9 answers"), "{notices:?}");
        assert_eq!(notices[2].code, notice::LINE_SHARED);
        assert_eq!(lines[0].unlisted, [9]);
        assert_eq!(lines[0].damaged_by, BTreeMap::from([("8".to_owned(), 3)]));
    }

    fn on(lines: &[(&str, &[&str])]) -> Vec<LinkSource> {
        let names = |(port, serials): &(&str, &[&str])| -> Vec<LinkSource> {
            let name = |serial: &&str| format!("bus:{serial}@{port}").parse().unwrap();
            serials.iter().map(name).collect()
        };
        lines.iter().flat_map(names).collect()
    }

    #[tokio::test]
    async fn only_a_line_whose_boards_changed_begins_anew() {
        let heartbeat = Heartbeat::new(super::super::clock::Timebase::start());
        let stop = CancellationToken::new();
        let (a, b, c) = ("/nowhere/a", "/nowhere/b", "/nowhere/c");
        let present = plans(on(&[(a, &["01025", "01027"]), (b, &["01026"])]).iter(), &[]);
        let mut lines = LineTasks::start(present, &Ports::default(), &heartbeat, &stop);
        // The order in which boards are configured makes no difference.
        let same = plans(on(&[(b, &["01026"]), (a, &["01027", "01025"])]).iter(), &[]);
        assert!(lines.changed(&same).is_empty());
        let searched = plans(
            on(&[(a, &["01025", "01027"]), (b, &["01026"])]).iter(),
            &[b.to_owned()],
        );
        assert_eq!(Vec::from_iter(lines.changed(&searched)), [b]);

        let mut sources = on(&[(a, &["01025", "01026", "01027"]), (c, &["01026"])]);
        let next = plans(sources.iter(), &[]);
        assert_eq!(Vec::from_iter(lines.changed(&next)), [a, b, c]);
        lines.change(next.clone()).await;
        assert!(lines.changed(&next).is_empty());
        lines.seat(sources.iter_mut());
        let is_seated =
            |source: &LinkSource| matches!(source, LinkSource::Shared(board) if board.place.is_some());
        assert!(sources.iter().all(is_seated));
        let ports: Vec<_> = lines.figures().into_iter().map(|line| line.port).collect();
        assert_eq!(ports, [a, c]);
        stop.cancel();
        assert!(lines.failed().await.is_none(), "a task failed");
    }
}
