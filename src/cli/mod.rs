//! The command line: one file for each command. Standard output carries data only.
#![allow(clippy::disallowed_methods)] // commands run on the wall clock and start the runtime.

mod archive;
mod backup;
mod check;
mod collecting;
mod configured;
mod dashboard;
#[cfg(feature = "demo")]
mod demo;
mod diagnose;
mod exit;
mod forward;
mod gateways;
mod in_force;
mod init;
mod journal;
mod logging;
pub mod mate;
mod names;
mod output;
mod pgn;
mod ports;
mod reach;
mod record;
mod reload;
mod replay;
mod restore;
pub mod rule;
mod run;
mod said_time;
pub mod schema;
mod settings;
mod simulate;
mod tarball;

use std::{io, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};

/// Watches electronic chess boards and tells the arbiter over MQTT about irregularities.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Init),
    Run(configured::Run),
    Dashboard(dashboard::Dashboard),
    Archive(archive::Archive),
    #[cfg(feature = "demo")]
    Demo(demo::Demo),
    Replay(replay::Replay),
    Record(record::RecordArgs),
    Forward(forward::Forward),
    Simulate(simulate::Simulate),
    Ports(ports::PortsArgs),
    Gateways(gateways::Gateways),
    Check(configured::Check),
    Journal(configured::ShowJournal),
    Pgn(configured::ShowGames),
    Backup(configured::Backup),
    Restore(configured::PutBack),
    Diagnose(configured::Diagnose),
    Schema(schema::PrintSchema),
    /// Say what the Laws prescribe: one JSON case a line in, one ruling a line out
    Rule,
    /// Say whether a side can still mate: one line FEN<TAB>white|black in, one answer out
    Mate,
}

/// The whole command line, for man pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Reads the command line, runs the command and tells the outcome: 0 done, 1 failed, 2 wrong usage, 78 bad
/// configuration.
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
        Command::Init(init) => init.run(),
        Command::Run(run) => run.run(),
        Command::Dashboard(dashboard) => dashboard.run(),
        Command::Archive(archive) => archive.run(),
        #[cfg(feature = "demo")]
        Command::Demo(demo) => demo.run(),
        Command::Replay(replay) => replay.run(),
        Command::Record(record) => record.run(),
        Command::Forward(forward) => forward.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Ports(ports) => ports.run(),
        Command::Gateways(gateways) => gateways.run(),
        Command::Check(check) => check.run(),
        Command::Journal(journal) => journal.run(),
        Command::Pgn(pgn) => pgn.run(),
        Command::Backup(backup) => backup.run(),
        Command::Restore(restore) => restore.run(),
        Command::Diagnose(diagnose) => diagnose.run(),
        Command::Schema(schema) => schema.run(),
        Command::Rule => rule::run(io::stdin().lock(), io::stdout().lock()),
        Command::Mate => mate::run(io::stdin().lock(), io::stdout().lock()),
    })
}
