//! `dgt2mqtt journal`: the events kept on this machine, as JSON Lines.

use std::{io::Write, path::Path};

use anyhow::{Context, bail};

use crate::journal::query::{Filter, each_event};

/// Writes the events that `filter` lets through to `out`, oldest first. The daemon may be running.
///
/// # Errors
/// When the journal is missing or cannot be read, or `out` cannot be written.
pub(super) fn print(path: &Path, filter: &Filter, out: &mut dyn Write) -> anyhow::Result<()> {
    each(path, filter, |json| {
        writeln!(out, "{json}").context("cannot write the events")
    })
}

/// Shows the events that `filter` lets through, as JSON, oldest first, until one cannot be shown.
pub(super) fn each(
    path: &Path,
    filter: &Filter,
    mut show: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if !path.exists() {
        bail!(
            "there is no journal {}: has the daemon run with this configuration?",
            path.display()
        );
    }
    let mut outcome = Ok(());
    each_event(path, filter, |kept| {
        outcome = show(kept.json);
        outcome.is_ok()
    })
    .with_context(|| format!("cannot read the journal {}", path.display()))?;
    outcome
}
