//! `dgt2mqtt run`: the daemon.

use std::convert::Infallible;

use anyhow::Context;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::{logging, reload};
use crate::{
    config::{Config, ConfigError},
    gateway::{self, Controls},
};

/// Runs the daemon until SIGTERM or SIGINT, then stops it within its bound. A second signal ends it at once. At SIGHUP,
/// or when a command asks for it, `read` reads the configuration again.
///
/// # Errors
/// When the daemon cannot start, fails, or is ended by a second signal.
pub(super) fn run(
    config: Config,
    read: impl Fn() -> Result<Config, ConfigError> + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    // Who stops a daemon that has just begun ends it in good order, too.
    let ends = {
        let _inside = runtime.enter();
        Ends::listen()?
    };
    let boards: Vec<_> = config.boards.iter().map(|board| board.id.as_str()).collect();
    tracing::info!(
        "dgt2mqtt {}, gateway {:?}, boards: {}; journal: {}",
        env!("CARGO_PKG_VERSION"),
        config.gateway.as_str(),
        boards.join(", "),
        config.journal.path.display()
    );
    let ended = runtime.block_on(run_until_signal(config, read, ends));
    // The end does not wait for a search for a mate.
    runtime.shutdown_background();
    ended
}

/// The signals that end the daemon.
struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot listen to SIGINT")?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn run_until_signal(
    config: Config,
    read: impl Fn() -> Result<Config, ConfigError> + Send + Sync + 'static,
    mut ends: Ends,
) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    let (sender, asked) = mpsc::channel(1);
    // The gateway reads the configuration, as it does for a command.
    let again = reload::at_hangup(
        || Ok::<_, Infallible>(()),
        async |()| {
            // If the gateway does not listen any more, the program is ending.
            let _ = sender.send(()).await;
        },
    );
    let controls = Controls {
        read: Box::new(read),
        asked,
        log: Box::new(logging::set),
    };
    let signals = async {
        ends.next().await;
        tracing::info!("stopping; a second signal ends at once");
        shutdown.cancel();
        ends.next().await;
        anyhow::bail!("ended at once by a second signal; what was not delivered is in the journal")
    };
    let louder = async {
        let mut more = signal(SignalKind::user_defined1()).context("cannot listen to SIGUSR1")?;
        let mut as_ever = signal(SignalKind::user_defined2()).context("cannot listen to SIGUSR2")?;
        loop {
            let wanted = tokio::select! {
                _ = more.recv() => Some(logging::MORE),
                _ = as_ever.recv() => None,
            };
            if let Err(error) = logging::set(wanted) {
                tracing::error!("the log stays as it is: {error}");
            }
        }
    };
    let daemon = gateway::run_changing(config, controls, shutdown.clone());
    tokio::select! {
        outcome = daemon => outcome.map_err(Into::into),
        ended = signals => ended,
        ended = again => ended,
        ended = louder => ended,
    }
}
