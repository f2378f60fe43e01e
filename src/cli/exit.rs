//! Exit codes, and the words for a person about an error.

use std::{io, process::ExitCode};

use tokio::signal::{
    ctrl_c,
    unix::{SignalKind, signal},
};

use super::logging;
use crate::config::ConfigError;

pub(super) const DONE: u8 = 0;
pub(super) const FAILED: u8 = 1;
pub(super) const USAGE: u8 = 2;
/// The configuration is wrong: a unit sets `RestartPreventExitStatus=78`.
pub(super) const CONFIG: u8 = 78;

/// Writes the error to standard error. A reader that has seen enough (`| head`) is no error.
pub(super) fn report(result: anyhow::Result<()>) -> ExitCode {
    logging::flush();
    let Err(error) = result else {
        return ExitCode::from(DONE);
    };
    if is_broken_pipe(&error) {
        return ExitCode::from(DONE);
    }
    eprintln!("dgt2mqtt: {}", told(&error));
    let is_config = error.downcast_ref::<ConfigError>().is_some();
    ExitCode::from(if is_config { CONFIG } else { FAILED })
}

/// The error and its causes. A cause that a message has already told is left out.
fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

/// Waits until Ctrl-C or SIGTERM ask the program to end.
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

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow!("no such file")
            .context("cannot read a: no such file")
            .context("check");
        assert_eq!(told(&error), "check: cannot read a: no such file");
    }
}
