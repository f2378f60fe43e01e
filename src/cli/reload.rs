//! Reading the configuration again while the program runs: SIGHUP, `systemctl reload`.

use std::{
    future::pending,
    io::{IsTerminal, stderr},
};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// At each SIGHUP what `read` gives is handed to `take`. What cannot be read is told, and changes nothing.
/// In a terminal the signal means that it is closed, and ends the program as ever.
///
/// # Errors
/// When the signal cannot be listened to.
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
