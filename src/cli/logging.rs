//! Where the daemon's log goes: the journal of systemd where that listens, else standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

/// Names what is logged, as `RUST_LOG` does elsewhere: `debug`, `dgt2mqtt::link=trace`.
const VARIABLE: &str = "DGT2MQTT_LOG";
const DEFAULT: &str = "info,rumqttc=warn";

/// Starts logging.
pub(super) fn init() {
    let wanted = std::env::var(VARIABLE).ok();
    let (filter, wrong) = match wanted.as_deref().map(EnvFilter::try_new) {
        None => (EnvFilter::new(DEFAULT), None),
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (EnvFilter::new(DEFAULT), Some(error)),
    };
    let registry = tracing_subscriber::registry().with(filter);
    // systemd sets it for services whose output goes to its journal.
    let journald = std::env::var_os("JOURNAL_STREAM").and_then(|_| tracing_journald::layer().ok());
    // A second start, as in a test, changes nothing.
    let _ = match journald {
        Some(layer) => registry.with(layer).try_init(),
        None => registry
            .with(
                tracing_subscriber::fmt::layer()
                    .with_writer(io::stderr)
                    .with_ansi(io::stderr().is_terminal()),
            )
            .try_init(),
    };
    if let Some(error) = wrong {
        tracing::warn!("{VARIABLE} cannot be understood ({error}): logging as without it, `{DEFAULT}`");
    }
}
