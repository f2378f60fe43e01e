//! The shape of the configuration file: the keys that it may have, before their values are checked.
//!
//! Everything is optional here, so that one missing key does not hide the other problems. Values that can be wrong in
//! themselves carry their span in the file.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::{
    Language, alert::RawAlert, archive::RawArchive, broadcast::RawBroadcast, dashboard::RawDashboard,
    value::Secret,
};
use crate::{
    game::Period,
    laws::{Edition, Options, Supervision, TimeControl},
    watcher::{ClockSideSetting, OrientationSetting, Protocol},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawConfig {
    pub(super) gateway: RawGateway,
    pub(super) event: RawRules,
    pub(super) line: Vec<Spanned<RawLine>>,
    pub(super) board: Vec<Spanned<RawBoard>>,
    pub(super) broker: RawBroker,
    pub(super) journal: RawJournal,
    pub(super) limits: RawLimits,
    pub(super) metrics: RawMetrics,
    pub(super) broadcast: Option<Spanned<RawBroadcast>>,
    pub(super) dashboard: RawDashboard,
    pub(super) alert: Vec<Spanned<RawAlert>>,
    pub(super) archive: Option<Spanned<RawArchive>>,
    pub(super) home_assistant: Option<RawHomeAssistant>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawMetrics {
    pub(super) listen: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawHomeAssistant {
    pub(super) prefix: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawGateway {
    pub(super) name: Option<Spanned<String>>,
    pub(super) base_topic: Option<Spanned<String>>,
    pub(super) commands: Option<bool>,
    pub(super) announce: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRules {
    pub(super) laws: Option<Edition>,
    pub(super) time_control: Option<TimeControl>,
    pub(super) supervision: Option<Supervision>,
    pub(super) periods: Option<Vec<Spanned<Period>>>,
    pub(super) contested: Option<Options>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLine {
    pub(super) name: Option<Spanned<String>>,
    pub(super) port: Option<Spanned<String>>,
    pub(super) boards: Vec<Spanned<String>>,
    pub(super) discover: bool,
}

// These repeat the keys of `RawRules`: serde cannot both flatten and refuse unknown keys.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawBoard {
    pub(super) id: Option<Spanned<String>>,
    pub(super) port: Option<Spanned<String>>,
    pub(super) line: Option<Spanned<String>>,
    pub(super) serial: Option<Spanned<String>>,
    pub(super) protocol: Protocol,
    pub(super) gathered_ms: Option<Spanned<u32>>,
    pub(super) orientation: OrientationSetting,
    pub(super) clock_side: ClockSideSetting,
    pub(super) table: RawTable,
    pub(super) laws: Option<Edition>,
    pub(super) time_control: Option<TimeControl>,
    pub(super) supervision: Option<Supervision>,
    pub(super) periods: Option<Vec<Spanned<Period>>>,
    pub(super) contested: Option<Options>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTable {
    pub(super) white: Option<String>,
    pub(super) black: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawBroker {
    pub(super) urls: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) client_id: Option<Spanned<String>>,
    pub(super) username: Option<String>,
    /// Only the environment sets it: people show each other their files, so a file is no place for a password.
    pub(super) password: Option<Spanned<Secret>>,
    pub(super) password_file: Option<Spanned<PathBuf>>,
    pub(super) password_in_clear: bool,
    pub(super) ca_file: Option<Spanned<PathBuf>>,
    pub(super) client_cert: Option<Spanned<PathBuf>>,
    pub(super) client_key: Option<Spanned<PathBuf>>,
    pub(super) keep_alive: Option<Spanned<u16>>,
    pub(super) languages: Option<Spanned<Vec<Language>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawJournal {
    pub(super) path: Option<PathBuf>,
    pub(super) max_size_mib: Option<Spanned<u32>>,
    pub(super) max_age_days: Option<Spanned<u32>>,
    pub(super) captures: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) clock_interval_ms: Option<Spanned<u32>>,
    pub(super) health_interval_s: Option<Spanned<u32>>,
    pub(super) shutdown_timeout_s: Option<Spanned<u32>>,
}
