//! Exit codes, and how an error is told to a person.

use std::{io, process::ExitCode};

use tokio::signal::{
    ctrl_c,
    unix::{SignalKind, signal},
};

use crate::config::ConfigError;

pub(super) const DONE: u8 = 0;
pub(super) const FAILED: u8 = 1;
pub(super) const USAGE: u8 = 2;
/// Bad configuration: a unit sets `RestartPreventExitStatus=78`.
pub(super) const CONFIG: u8 = 78;

/// Says what went wrong on standard error. A reader that has seen enough (`| head`) is no error.
pub(super) fn report(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::from(DONE);
    };
    if is_broken_pipe(&error) {
        return ExitCode::from(DONE);
    }
    eprintln!("dgt2mqtt: {error:#}");
    let is_config = error.downcast_ref::<ConfigError>().is_some();
    ExitCode::from(if is_config { CONFIG } else { FAILED })
}

/// Waits until somebody wants the program to end: Ctrl-C or SIGTERM.
pub(super) async fn stopped() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = ctrl_c() => pressed,
        _ = terminate.recv() => Ok(()),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        io.or_else(|| cause.downcast_ref::<serde_json::Error>()?.io_error_kind())
    };
    error
        .chain()
        .any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}
