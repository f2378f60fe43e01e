//! Makes the settings of each part of the daemon from the configuration.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use crate::{
    config::{BoardConfig, BrokerConfig, Config, Id},
    gateway::{
        board::{BoardPlan, Seating, Tables},
        desk::Misnumbered,
        error::GatewayError,
        lines::{self, LinePlans},
        metrics::Metrics,
    },
    journal::{JournalSettings, Notice},
    mqtt::{BrokerFigures, PublisherSettings, Topics, rumqtt::RumqttDial},
};

/// How many events may wait in memory while the disk refuses.
const MAX_IN_MEMORY: usize = 10_000;
/// How long the broker may take to acknowledge an event.
const ACK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The server of the figures. Boards matter more than figures, so the daemon runs without them if the port is taken.
pub(super) async fn metrics(config: &Config) -> Option<Metrics> {
    let address = config.metrics?;
    Metrics::listen(address)
        .await
        .inspect_err(|error| tracing::error!("no figures at {address} ({error}): is another program there?"))
        .ok()
}

/// The plans of the boards, and of the lines that some of them share, by the lines' ports. No board has its place at a
/// line yet.
pub(super) fn plans(config: &Config) -> Result<(BTreeMap<Id, BoardPlan>, LinePlans), GatewayError> {
    let mut plans = BTreeMap::new();
    let mut ports: HashMap<&str, &Id> = HashMap::new();
    for board in &config.boards {
        if let Some(first) = ports.insert(board.port.as_str(), &board.id) {
            return Err(GatewayError::SharedPort {
                first: first.clone(),
                second: board.id.clone(),
                port: board.port.to_string(),
            });
        }
        let source = board
            .port
            .as_str()
            .parse()
            .map_err(|source| GatewayError::Source {
                board: board.id.clone(),
                source,
            })?;
        let plan = BoardPlan {
            id: board.id.clone(),
            source,
            settings: config.settings(board),
        };
        plans.insert(board.id.clone(), plan);
    }
    let lines = lines::plans(plans.values().map(|plan| &plan.source), &config.searched);
    Ok((plans, lines))
}

/// The players at the boards, and the rules.
pub(super) fn tables(config: &Config) -> Tables {
    let seated = |board: &BoardConfig| Seating {
        players: config.seats(board),
        paired: config.is_paired(board),
        formerly: config.formerly(),
        misnumbered: config.in_force.as_ref().and_then(Misnumbered::of),
        rules: board.rules.clone(),
    };
    let seats = config
        .boards
        .iter()
        .map(|board| (board.id.clone(), seated(board)));
    Arc::new(seats.collect())
}

pub(super) fn journal_settings(config: &Config) -> JournalSettings {
    JournalSettings {
        path: config.journal.path.clone(),
        max_bytes: config.journal.max_size,
        max_age: config.journal.max_age,
        max_in_memory: MAX_IN_MEMORY,
    }
}

/// The connection to the broker. Unless one is configured, each start makes another client id. Then the broker keeps a
/// second gateway of our name connected beside this one, and each hears of the other.
pub(super) fn dial(config: &Config, boot_id: &str) -> RumqttDial {
    let status = Topics::new(&config.base_topic, &config.gateway).status();
    RumqttDial::new(broker_of(config, boot_id), status, CONNECT_TIMEOUT).speaking_as(boot_id)
}

fn broker_of(config: &Config, boot_id: &str) -> BrokerConfig {
    let mut broker = config.broker.clone();
    if broker.client_id == format!("dgt2mqtt-{}", config.gateway) {
        broker.client_id = format!("{}-{}", broker.client_id, &boot_id[..8]);
    }
    broker
}

pub(super) fn publisher_settings(
    config: &Config,
    boot_id: &str,
    journal_at: Option<&String>,
) -> PublisherSettings {
    PublisherSettings {
        boot_id: boot_id.to_owned(),
        journal_at: journal_at.cloned(),
        keep_alive: config.broker.keep_alive,
        urls: config.broker.urls.clone(),
        commands: config.commands,
        languages: config.broker.languages.clone(),
        ack_timeout: ACK_TIMEOUT,
        // Good-bye may take a second or two beyond that.
        stop_bound: config.limits.shutdown_timeout / 4,
    }
}

/// Why events of the boards do not reach the broker now.
pub(super) fn not_ready(broker: &BrokerFigures, troubles: &[Notice]) -> Vec<String> {
    let away = (!broker.connected).then(|| "no broker is connected".to_owned());
    let rival = broker.rival.as_ref();
    let rival = rival.map(|host| format!("another gateway has our name, on the machine {host}"));
    let awaited = broker.awaited.as_ref();
    let awaited = awaited.map(|host| {
        format!(
            "the broker says that a gateway of our name is online, on {host}, and that one does not answer"
        )
    });
    let troubles = troubles
        .iter()
        .map(|notice| format!("{}: {}", notice.code, notice.message));
    away.into_iter()
        .chain(rival)
        .chain(awaited)
        .chain(troubles)
        .collect()
}
