//! Reads the configuration again while the program runs: SIGHUP, `systemctl reload`.

use std::{
    future::pending,
    io::{IsTerminal, stderr},
};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// At each SIGHUP hands what `read` gives to `take`. A configuration that cannot be read is told, and changes nothing.
/// In a terminal the signal means that the terminal is closed, and ends the program as usual.
///
/// # Errors
/// When the program cannot listen for the signal.
pub(super) async fn at_hangup<T, E: std::fmt::Display>(
    read: impl Fn() -> Result<T, E>,
    take: impl AsyncFn(T),
) -> anyhow::Result<()> {
    if stderr().is_terminal() {
        return pending().await;
    }
    let mut hangup = signal(SignalKind::hangup()).context("cannot listen to SIGHUP")?;
    while hangup.recv().await.is_some() {
        match read() {
            Ok(read) => take(read).await,
            Err(error) => tracing::error!("the configuration was read again and is not taken over: {error}"),
        }
    }
    pending().await
}
