//! The round that was put in force by a command, as `check` tells it.

use std::io;

use crate::{broadcast::InForce, config::Config};

/// Goes on with the round that is kept beside the journal, as the daemon does, and says so to `out`.
///
/// # Errors
/// Those of `out`.
pub(super) fn take(config: &mut Config, out: &mut dyn io::Write) -> io::Result<()> {
    match InForce::kept(&config.journal.path) {
        Ok(None) => Ok(()),
        Ok(Some(in_force)) => {
            config.put_in_force(&in_force);
            let round = in_force.round;
            match &config.in_force {
                Some(_) => writeln!(
                    out,
                    "Round {round} was put in force by a command: it counts, and not what the file says of rounds.\n"
                ),
                None => writeln!(
                    out,
                    "Round {round} was put in force by a command: the file says a later one, which counts.\n"
                ),
            }
        }
        Err(error) => writeln!(
            out,
            "Whether a round was put in force by a command cannot be read here ({error}): the daemon's user can.\n"
        ),
    }
}
