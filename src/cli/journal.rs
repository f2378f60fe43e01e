//! `dgt2mqtt journal`: the events and commands kept on this machine, as JSON Lines.

use std::{io::Write, path::Path};

use anyhow::{Context, bail};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::journal::query::{Filter, KeptCommand, each_command, each_event};

/// Writes the events that `filter` lets through to `out`, oldest first. The daemon may be running.
///
/// # Errors
/// When the journal is missing or cannot be read, or `out` cannot be written.
pub(super) fn print(path: &Path, filter: &Filter, out: &mut dyn Write) -> anyhow::Result<()> {
    each(path, filter, |json| {
        writeln!(out, "{json}").context("cannot write the events")
    })
}

/// Writes the commands of arbiters and the answers they got to `out`, oldest first.
///
/// # Errors
/// As [`print`].
pub(super) fn print_commands(path: &Path, filter: &Filter, out: &mut dyn Write) -> anyhow::Result<()> {
    must_exist(path)?;
    let mut outcome = Ok(());
    each_command(path, filter, |kept| {
        outcome = writeln!(out, "{}", command(&kept)).context("cannot write the commands");
        outcome.is_ok()
    })
    .with_context(|| format!("cannot read the journal {}", path.display()))?;
    outcome
}

/// A command as one object: its payload, its time and its answer.
fn command(kept: &KeptCommand) -> Value {
    // All these texts were JSON when they were written.
    let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let reply = read(&kept.record.reply);
    let time = Timestamp::from_millisecond(kept.received_ms).ok();
    json!({
        "board": Some(&kept.board).filter(|board| !board.is_empty()),
        "time": time.map(|time| format!("{time:.3}")),
        "verb": &kept.record.verb,
        "ref": kept.record.reference.as_deref().map(read),
        "sender": &reply["sender"],
        "fields": read(&kept.record.payload),
        "reply": &reply,
    })
}

fn must_exist(path: &Path) -> anyhow::Result<()> {
    if !path.exists() {
        bail!(
            "there is no journal {}: has the daemon run with this configuration?",
            path.display()
        );
    }
    Ok(())
}

/// Shows the events that `filter` lets through, as JSON, oldest first, until one cannot be shown.
pub(super) fn each(
    path: &Path,
    filter: &Filter,
    mut show: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    must_exist(path)?;
    let mut outcome = Ok(());
    each_event(path, filter, |kept| {
        outcome = show(kept.json);
        outcome.is_ok()
    })
    .with_context(|| format!("cannot read the journal {}", path.display()))?;
    outcome
}
