//! The commands that read the configuration.

use std::{io, path::PathBuf};

use clap::Args;

use super::{
    backup, check, diagnose, journal, logging, names, pgn, reach, restore, run,
    said_time::{self, SaidTime},
};
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
    /// Which gateway of the file of a whole hall; else $DGT2MQTT_GATEWAY, else the one with the name of this machine
    #[arg(long, value_name = "NAME", value_parser = names::gateway)]
    gateway: Option<String>,
}

impl File {
    fn env(&self) -> Env {
        Env::from_process().of_gateway(self.gateway.as_deref())
    }

    fn find(&self) -> Result<(PathBuf, Config), ConfigError> {
        let env = self.env();
        let path = Config::find(self.config.as_deref(), &env)?;
        let config = Config::load(&path, &env)?;
        Ok((path, config))
    }

    fn load(&self) -> Result<Config, ConfigError> {
        self.find().map(|(_, config)| config)
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
        run::run(config, move || self.file.load())
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
        let env = self.file.env();
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
    /// The path of the journal, and the filter for its events.
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
    /// Only from this time on: 20:14, "2026-11-26 20:14" (both local time) or 2026-11-26T20:14:00+01:00
    #[arg(long, value_parser = said_time::parse, value_name = "TIME")]
    since: Option<SaidTime>,
    /// Only before this time
    #[arg(long, value_parser = said_time::parse, value_name = "TIME")]
    until: Option<SaidTime>,
    /// Only the last so many
    #[arg(long)]
    last: Option<u64>,
    /// Instead of events the commands of arbiters, with when they came and what was answered
    #[arg(long, conflicts_with_all = ["kind", "since_seq"])]
    commands: bool,
}

impl ShowJournal {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let (path, filter) = self.kept.find()?;
        let (since_ms, until_ms) = said_time::stretch(&path, self.since, self.until)?;
        let filter = Filter {
            since_ms,
            until_ms,
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
    /// Also games that somebody gave up for another one: trials before the round, games that were begun by mistake
    #[arg(long)]
    all: bool,
}

impl ShowGames {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let (path, filter) = self.kept.find()?;
        // Whoever names a game wants that.
        let all = self.all || filter.game.is_some();
        let left_out = pgn::print(&path, &filter, all, &mut io::stdout().lock())?;
        if !left_out.is_empty() {
            let named = left_out
                .iter()
                .map(|(board, game)| format!("game {game} of board {board}"));
            eprintln!(
                "left out, because somebody gave them up for another one: {} (--all prints them)",
                named.collect::<Vec<_>>().join(", ")
            );
        }
        Ok(())
    }
}

/// Write what makes the evening whole into one file; the daemon may be running.
#[derive(Debug, Args)]
pub(super) struct Backup {
    #[command(flatten)]
    file: File,
    /// The backup to write (.tar.gz)
    #[arg(value_name = "FILE")]
    to: PathBuf,
    /// Overwrite a file that is there
    #[arg(long)]
    force: bool,
}

impl Backup {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let (path, config) = self.file.find()?;
        backup::backup(&path, &config, &self.to, self.force)
    }
}

/// Put back what backup wrote, while no daemon runs.
#[derive(Debug, Args)]
pub(super) struct PutBack {
    #[command(flatten)]
    file: File,
    /// The backup
    #[arg(value_name = "FILE")]
    from: PathBuf,
    /// Set a journal aside that is there
    #[arg(long)]
    force: bool,
}

impl PutBack {
    pub(super) fn run(self) -> anyhow::Result<()> {
        restore::restore(
            &self.from,
            self.file.config.as_deref(),
            self.file.env(),
            self.force,
        )
    }
}

/// Write one archive for a report of what went wrong, after saying what is in it.
#[derive(Debug, Args)]
pub(super) struct Diagnose {
    #[command(flatten)]
    file: File,
    /// The archive to write (.tar.gz)
    #[arg(value_name = "FILE")]
    to: PathBuf,
    /// Overwrite a file that is there
    #[arg(long)]
    force: bool,
    /// Only say what would be in it
    #[arg(long)]
    list: bool,
    /// Add the last game of this board and what is kept of it
    #[arg(long, value_parser = names::board_id)]
    board: Option<String>,
    /// Add a capture; may be given several times
    #[arg(long, value_name = "FILE")]
    capture: Vec<PathBuf>,
    /// A file with the log, where it does not go to the system's
    #[arg(long, value_name = "FILE", conflicts_with = "unit")]
    log: Option<PathBuf>,
    /// The service whose log is taken
    #[arg(long, value_name = "NAME", default_value = "dgt2mqtt")]
    unit: String,
}

impl Diagnose {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let wanted = diagnose::ArchiveParts {
            log: self.log.as_deref(),
            unit: &self.unit,
            board: self.board.as_deref(),
            captures: &self.capture,
        };
        diagnose::list(&wanted);
        if self.list {
            return Ok(());
        }
        let env = self.file.env();
        let path = Config::find(self.file.config.as_deref(), &env)?;
        let config = Config::load(&path, &env);
        diagnose::diagnose(&path, &config, &wanted, &self.to, self.force)
    }
}
