//! The commands that read the configuration.

use std::{io, path::PathBuf};

use clap::Args;

use super::{check, journal, logging, names, pgn, reach, run};
use crate::{
    config::{Config, ConfigError, Env},
    journal::query::Filter,
};

/// Where the configuration is.
#[derive(Debug, Args)]
struct File {
    /// Configuration file; else $DGT2MQTT_CONFIG, ./dgt2mqtt.toml, that of the user, that in /etc
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl File {
    fn load(&self) -> Result<Config, ConfigError> {
        let env = Env::from_process();
        let path = Config::find(self.config.as_deref(), &env)?;
        Config::load(&path, &env)
    }
}

/// Watch the boards of the configuration: the daemon.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    file: File,
}

impl Run {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let config = self.file.load()?;
        logging::init();
        run::run(config, || self.file.load())
    }
}

/// Check a configuration and say what it means.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    file: File,
    /// Try the ports and brokers as well
    #[arg(long)]
    connect: bool,
}

impl Check {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let reach = check::Reach {
            port: &reach::port,
            session: &reach::session,
        };
        let env = Env::from_process();
        let mut out = io::stdout().lock();
        check::check(
            self.file.config.as_deref(),
            &env,
            self.connect.then_some(&reach),
            &mut out,
        )
    }
}

/// What of the journal.
#[derive(Debug, Args)]
struct Kept {
    #[command(flatten)]
    file: File,
    /// Only this board
    #[arg(long, value_parser = names::board_id)]
    board: Option<String>,
    /// Only this game of its board
    #[arg(long)]
    game: Option<u32>,
}

impl Kept {
    /// Where the journal is, and what of it.
    fn find(self) -> anyhow::Result<(PathBuf, Filter)> {
        let filter = Filter {
            board: self.board,
            game: self.game,
            ..Filter::default()
        };
        Ok((self.file.load()?.journal.path, filter))
    }
}

/// Print the events kept on this machine, or the commands, as JSON Lines.
#[derive(Debug, Args)]
pub(super) struct ShowJournal {
    #[command(flatten)]
    kept: Kept,
    /// Only this type of event
    #[arg(long = "type")]
    kind: Option<String>,
    /// Only events with at least this number on their board
    #[arg(long)]
    since_seq: Option<u64>,
    /// Only the last so many
    #[arg(long)]
    last: Option<u64>,
    /// Instead of events the commands of arbiters, with when they came and what was answered
    #[arg(long, conflicts_with_all = ["game", "kind", "since_seq"])]
    commands: bool,
}

impl ShowJournal {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let (path, filter) = self.kept.find()?;
        let filter = Filter {
            kind: self.kind,
            since_seq: self.since_seq,
            last: self.last,
            ..filter
        };
        let mut out = io::stdout().lock();
        if self.commands {
            journal::print_commands(&path, &filter, &mut out)
        } else {
            journal::print(&path, &filter, &mut out)
        }
    }
}

/// Print the games kept on this machine, as PGN.
#[derive(Debug, Args)]
pub(super) struct ShowGames {
    #[command(flatten)]
    kept: Kept,
}

impl ShowGames {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let (path, filter) = self.kept.find()?;
        pgn::print(&path, &filter, &mut io::stdout().lock())
    }
}
