//! `dgt2mqtt backup`: writes the journal and all files around it to one file, while the daemon works.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::{settings, tarball::Tarball};
use crate::{
    broadcast::Folder,
    config::Config,
    journal::backup,
    tournament::{InForce, tables},
};

/// Version of the backup's format.
pub(super) const FORMAT: u32 = 1;

// The names in a backup.
pub(super) const LABEL: &str = "backup.json";
pub(super) const CONFIGURATION: &str = "dgt2mqtt.toml";
pub(super) const PAIRINGS: &str = "pairings";
pub(super) const ROUND: &str = "round.json";
pub(super) const TABLES: &str = "tables.json";
pub(super) const BROADCAST: &str = "broadcast/";
pub(super) const JOURNAL: &str = "journal.sqlite";

/// The label of a backup, which comes before all other files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Label {
    pub(super) format: u32,
    /// Version of the program.
    pub(super) program: String,
    pub(super) made: String,
    pub(super) gateway: String,
    /// The path of the configuration.
    pub(super) configuration: PathBuf,
}

/// Writes a backup to `file`, for the daemon whose configuration is at `path`.
///
/// # Errors
/// When there is no journal, or a file cannot be read or written. Then no backup is made, and an existing one stays.
pub(super) fn backup(path: &Path, config: &Config, file: &Path, force: bool) -> anyhow::Result<()> {
    let mut archive = Tarball::create(file, force)?;
    // The journal comes first, because all other files belong to it or are older.
    let journal = archive.scratch()?;
    backup::copy(&config.journal.path, journal.path())?;
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let label = Label {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        made: format!("{:.0}", jiff::Timestamp::now()),
        gateway: config.gateway.to_string(),
        configuration: std::path::absolute(path)?,
    };
    archive.text(LABEL, &serde_json::to_string_pretty(&label)?)?;
    archive.text(CONFIGURATION, &text)?;
    let settings = settings::read(&text)?;
    if let Some(pairings) = settings::pairings(&settings, path, &label.gateway) {
        archive.file(PAIRINGS, &pairings)?;
    }
    let in_force = InForce::kept(&config.journal.path).context("cannot read the round that is in force")?;
    if let Some(in_force) = &in_force {
        archive.text(ROUND, &serde_json::to_string(in_force)?)?;
    }
    let bound =
        tables::kept(&config.journal.path).context("cannot read which board stands on which table")?;
    if let Some(bound) = &bound {
        archive.text(TABLES, &serde_json::to_string(bound)?)?;
    }
    let shown = config
        .broadcast
        .as_ref()
        .map(|broadcast| Folder::kept(&broadcast.folder));
    for (name, text) in shown.iter().flatten() {
        archive.text(&format!("{BROADCAST}{name}"), text)?;
    }
    archive.file(JOURNAL, journal.path())?;
    archive.finish()?;
    eprintln!(
        "Backed up the configuration, the journal and what belongs to them to {}.",
        file.display()
    );
    let left_out = settings::files_elsewhere(&settings);
    if !left_out.is_empty() {
        eprintln!("Not in it are the passwords, tokens and certificates, which the configuration names:");
        left_out.iter().for_each(|file| eprintln!("    {file}"));
    }
    Ok(())
}
