//! Takes over another configuration while the games go on.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};

use super::{
    Daemon,
    parts::{dial, metrics, plans},
    task_name,
};
use crate::{
    config::{BoardConfig, Config, ConfigError, Id},
    gateway::{
        board::BoardPlan,
        discovery,
        lines::{LinePlans, line_of},
    },
    mqtt::{Redial, StateKey},
};

/// How long the configuration must stay as it was read, and how often the daemon looks.
const BETWEEN_READINGS: Duration = Duration::from_millis(300);
const READINGS: usize = 10;

/// The controls of the daemon that somebody may use while it runs, by a command or by a signal.
pub struct Controls {
    /// Reads the configuration.
    pub read: Box<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>,
    /// A message asks the daemon to read the configuration again.
    pub asked: mpsc::Receiver<()>,
    /// Sets the log's filter, with none to that of the start. Returns the filter in force, or what is wrong with the
    /// words.
    pub log: LogSwitch,
}

/// The type of [`Controls::log`].
pub type LogSwitch = Box<dyn Fn(Option<&str>) -> Result<String, String> + Send + Sync>;

impl std::fmt::Debug for Controls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Controls")
    }
}

impl Controls {
    /// Controls whose configuration never changes.
    #[must_use]
    pub fn of(config: Config) -> Self {
        let (_none, asked) = mpsc::channel(1);
        Self {
            read: Box::new(move || Ok(config.clone())),
            asked,
            log: Box::new(|_| Err("the log of this program stays as it is".to_owned())),
        }
    }
}

/// True where a board must be watched by a new task. Other rules or other players do not need one, because they reach
/// the board in other ways.
fn is_elsewhere(old: &BoardConfig, new: &BoardConfig) -> bool {
    let link = |board: &BoardConfig| {
        (
            board.port.clone(),
            board.protocol,
            board.gathered_ms,
            board.boards_on_line,
            board.orientation,
            board.clock_side,
        )
    };
    link(old) != link(new)
}

/// Keeps in `next` what a running daemon cannot change, and returns the names of what differs.
fn keep(present: &Config, next: &mut Config) -> Vec<&'static str> {
    let mut kept = Vec::new();
    let mut keep = |is_same: bool, what: &'static str| {
        if !is_same {
            kept.push(what);
        }
    };
    keep(present.gateway == next.gateway, "gateway.name");
    keep(present.base_topic == next.base_topic, "gateway.base_topic");
    keep(present.journal == next.journal, "[journal]");
    let interval = |config: &Config| config.limits.clock_interval;
    keep(interval(present) == interval(next), "limits.clock_interval_ms");
    next.gateway.clone_from(&present.gateway);
    next.base_topic.clone_from(&present.base_topic);
    next.journal.clone_from(&present.journal);
    next.limits.clock_interval = present.limits.clock_interval;
    kept
}

impl Daemon {
    /// Reads the configuration again and takes it over. Returns what was taken over, and what needs a restart.
    ///
    /// # Errors
    /// Why the configuration is not taken over. Then nothing changes.
    pub(super) async fn reload(&mut self) -> Result<Value, String> {
        let read = self.read_whole().await;
        let read = read.and_then(|next| plans(&next).map(|_| next).map_err(|error| error.to_string()));
        let next = read.inspect_err(|error| {
            tracing::error!("the configuration was read again and is not taken over: {error}");
        })?;
        let (taken, kept) = self.go_on_with(next).await;
        let words = |what: &[String]| match what {
            [] => "nothing has changed".to_owned(),
            what => format!("taken over: {}", what.join(", ")),
        };
        if kept.is_empty() {
            tracing::info!("the configuration was read again; {}", words(&taken));
        } else {
            tracing::warn!(
                "the configuration was read again; {}; this wants a restart: {}",
                words(&taken),
                kept.join(", ")
            );
        }
        Ok(json!({ "taken_over": taken, "wants_restart": kept }))
    }

    /// Reads until two readings are alike: a file that is just being written may end between two tables, and boards would end
    /// with it.
    async fn read_whole(&self) -> Result<Config, String> {
        let read = || (self.controls.read)().map_err(|error| error.to_string());
        let mut last = read();
        for _ in 0..READINGS {
            sleep(BETWEEN_READINGS).await;
            let next = read();
            if next == last {
                return last;
            }
            last = next;
        }
        Err("it does not stop to change: ask again when it is whole".to_owned())
    }

    async fn go_on_with(&mut self, mut next: Config) -> (Vec<String>, Vec<&'static str>) {
        let (former, before) = (self.desk.configured().clone(), self.desk.config());
        let kept = keep(&former, &mut next);
        self.desk.reconfigure(next.clone());
        let mut taken = Vec::new();
        if former.broker != next.broker || former.commands != next.commands {
            self.speak_to_another(&next).await;
            taken.push(
                if former.broker == next.broker {
                    "gateway.commands"
                } else {
                    "[broker]"
                }
                .to_owned(),
            );
        }
        if former.metrics != next.metrics {
            // This frees the port before the daemon listens on it again.
            self.metrics = None;
            self.metrics = metrics(&next).await;
            taken.push("[metrics]".to_owned());
        }
        if former.home_assistant != next.home_assistant {
            let ids: Vec<_> = former.boards.iter().map(|board| board.id.clone()).collect();
            self.clear_entities(&ids);
            taken.push("[home_assistant]".to_owned());
        }
        if former.limits != next.limits {
            taken.push("[limits]".to_owned());
        }
        if former.alerts != next.alerts {
            self.alerts.change(&next).await;
            taken.push("[[alert]]".to_owned());
        }
        self.presence.change(&next).await;
        if former.announce != next.announce {
            taken.push("gateway.announce".to_owned());
        }
        let in_force = self.desk.config();
        if former.broadcast != next.broadcast {
            taken.push(if before.broadcast == in_force.broadcast {
                "[broadcast], of which nothing counts while a command goes before it (`pairings`, `next_round`)".to_owned()
            } else {
                "[broadcast]".to_owned()
            });
        }
        self.change_boards(&former, &next, &in_force, &mut taken).await;
        self.begin_round();
        self.look_for_retired().await;
        (taken, kept)
    }

    async fn speak_to_another(&self, config: &Config) {
        let redial = Redial {
            dial: dial(config, &self.boot_id),
            urls: config.broker.urls.clone(),
            keep_alive: config.broker.keep_alive,
            commands: config.commands,
            languages: config.broker.languages.clone(),
        };
        if self.redials.send(redial).await.is_err() {
            tracing::error!("the publisher is gone: the broker stays as it is");
        }
    }

    /// Starts and ends boards and lines, and starts those anew that must be watched in another way.
    async fn change_boards(
        &mut self,
        former: &Config,
        next: &Config,
        in_force: &Config,
        taken: &mut Vec<String>,
    ) {
        // Reading the configuration has checked this.
        let Ok((mut plans, lines)) = plans(in_force) else {
            return;
        };
        let moved = self.change_lines(lines, &mut plans, taken).await;
        let gone: Vec<Id> = self
            .plans
            .keys()
            .filter(|id| !plans.contains_key(*id))
            .cloned()
            .collect();
        for id in &gone {
            taken.push(format!("board {id} is gone"));
            self.plans.remove(id);
            self.stop_board(id);
        }
        if !gone.is_empty() {
            // The desk still has the former configuration, which names their entities.
            self.clear_entities(&gone);
        }
        let ids = next.boards.iter().map(|board| board.id.clone());
        self.publisher_handle().boards.send_replace(ids.collect());
        for board in &next.boards {
            let id = &board.id;
            let Some(plan) = plans.remove(id) else { continue };
            let Some(known) = former.boards.iter().find(|known| known.id == *id) else {
                taken.push(format!("board {id} is new"));
                self.plans.insert(id.clone(), plan);
                self.begin_board(id);
                continue;
            };
            if known.table != board.table {
                taken.push(format!("names of board {id}"));
            }
            let (is_moved, is_elsewhere) = (moved.contains(id), is_elsewhere(known, board));
            // The list names the line, and so need not name its boards.
            if is_elsewhere && !is_moved {
                taken.push(format!("board {id}"));
            }
            if known.rules != board.rules {
                taken.push(format!("rules of board {id}, from its next game on"));
            }
            self.plans.insert(id.clone(), plan);
            if is_moved || is_elsewhere {
                self.stop_board(id);
            }
        }
    }

    /// Starts and ends lines, and starts those anew whose boards differ. `plans` get their places there. Returns the
    /// boards on changed lines: each holds a place that is no more.
    async fn change_lines(
        &mut self,
        lines: LinePlans,
        plans: &mut BTreeMap<Id, BoardPlan>,
        taken: &mut Vec<String>,
    ) -> BTreeSet<Id> {
        let changed = self.lines.changed(&lines);
        for port in &changed {
            taken.push(match (self.lines.has(port), lines.contains_key(port)) {
                (false, _) => format!("line {port} is new"),
                (true, false) => format!("line {port} is gone"),
                (true, true) => format!("line {port}"),
            });
        }
        let is_on = |plan: &&BoardPlan| line_of(&plan.source).is_some_and(|line| changed.contains(&line));
        let on_changed = |plans: &BTreeMap<Id, BoardPlan>| -> BTreeSet<Id> {
            plans.values().filter(is_on).map(|plan| plan.id.clone()).collect()
        };
        // Their tasks end before their line does, because no cable was pulled.
        for id in on_changed(&self.plans) {
            self.stop_board(&id);
        }
        self.lines.change(lines).await;
        self.lines.seat(plans.values_mut().map(|plan| &mut plan.source));
        on_changed(plans)
    }

    /// Starts the task of a board that is new, or that comes back while its former task is ending.
    fn begin_board(&mut self, id: &Id) {
        if !self.running.values().any(|running| running == id) {
            self.start_board(id, Duration::ZERO);
        }
    }

    fn stop_board(&mut self, id: &Id) {
        self.commands.remove(id);
        if let Some(stop) = self.stops.get(id) {
            stop.cancel();
        }
    }

    /// Takes note that the task of a board has ended as it was told. It starts again by the present plan, or the board
    /// is gone.
    pub(super) fn board_stopped(&mut self, id: &Id) {
        if self.plans.contains_key(id) {
            self.start_board(id, Duration::ZERO);
            return;
        }
        self.stops.remove(id);
        self.failures.remove(id);
        self.heartbeat.forget(&task_name(id));
        self.shared.standings.forget(id);
        self.shared
            .clocks
            .forget(&format!("{}/{id}", self.config.gateway));
        self.publisher_handle().states.clear(&self.shared.topics, id);
        tracing::info!(board = id.as_str(), "board {id}: it is not configured any more");
    }

    /// Removes the entities that Home Assistant has for boards that are not configured any more.
    pub(super) fn clear_entities(&self, former: &[Id]) {
        for topic in former.iter().flat_map(|id| discovery::topics(&self.config, id)) {
            self.publisher_handle()
                .states
                .clear_topic_once(StateKey::discovery(topic));
        }
    }
}
