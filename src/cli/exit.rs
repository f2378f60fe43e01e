//! Exit codes, and how an error is told to a person.

use std::{io, process::ExitCode};

pub(super) const DONE: u8 = 0;
pub(super) const FAILED: u8 = 1;
pub(super) const USAGE: u8 = 2;

/// Says what went wrong on standard error. A reader that has seen enough (`| head`) is no error.
pub(super) fn report(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::from(DONE);
    };
    if is_broken_pipe(&error) {
        return ExitCode::from(DONE);
    }
    eprintln!("dgt2mqtt: {error:#}");
    ExitCode::from(FAILED)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
