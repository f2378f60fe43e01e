//! The round that a command put in force, and the order of the boards that a command bound, in the words of `check`.

use std::io;

use crate::{
    config::Config,
    tournament::{InForce, tables},
};

/// Takes over what is kept beside the journal, as the daemon does, and tells `out` of it.
///
/// # Errors
/// The errors of `out`.
pub(super) fn take(config: &mut Config, out: &mut dyn io::Write) -> io::Result<()> {
    take_round(config, out)?;
    match tables::kept(&config.journal.path) {
        Ok(None) => Ok(()),
        Ok(Some(bound)) if config.bind(&bound) => writeln!(
            out,
            "The boards were bound to their tables by a command: that counts, from the first table {}.\n",
            config.tables().join(", ")
        ),
        Ok(Some(_)) => writeln!(
            out,
            "The boards were bound to their tables by a command, and one of them is not in the file any more: the order of the file counts; \
             bind them anew.\n"
        ),
        Err(error) => writeln!(
            out,
            "Whether boards were bound to tables by a command cannot be read here ({error}): the daemon's user can.\n"
        ),
    }
}

fn take_round(config: &mut Config, out: &mut dyn io::Write) -> io::Result<()> {
    match InForce::kept(&config.journal.path) {
        Ok(None) => Ok(()),
        Ok(Some(in_force)) => {
            config.put_in_force(&in_force);
            let round = in_force.round;
            match &config.in_force {
                Some(in_force) if in_force.pairings.is_none() => writeln!(
                    out,
                    "Round {round} is that of the file. A command closed it, or entered results by hand, which count.\n"
                ),
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
