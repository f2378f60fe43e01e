//! The command line: one file for each command. Standard output carries data only.
#![allow(clippy::disallowed_methods)] // commands run on the wall clock and start the runtime.

mod exit;
pub mod journal;
mod names;
mod replay;
pub mod rule;
pub mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Watches electronic chess boards and tells the arbiter over MQTT about irregularities.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Replay(replay::Replay),
}

/// Reads the command line, runs the command and says how it went: 0 done, 1 failed, 2 wrong usage,
/// 78 bad configuration.
#[must_use]
pub fn main() -> ExitCode {
    // clap prints help to stdout with 0 and errors to stderr with 2.
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print(); // nobody is left to tell
            return ExitCode::from(if error.use_stderr() {
                exit::USAGE
            } else {
                exit::DONE
            });
        }
    };
    exit::report(match cli.command {
        Command::Replay(replay) => replay.run(),
    })
}
