//! `dgt2mqtt journal`: the events and commands kept on this machine, as JSON Lines.

use std::{
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, bail};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::journal::{
    commands::{KeptCommand, commands},
    query::{Filter, each_event},
};

/// Writes the events that `filter` lets through to `out`, oldest first. The daemon may be running.
///
/// # Errors
/// When the journal is missing or cannot be read, or `out` cannot be written.
pub(super) fn print(path: &Path, filter: &Filter, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut out = BufWriter::new(out);
    each(path, filter, |json| {
        writeln!(out, "{json}").context("cannot write the events")
    })?;
    out.flush().context("cannot write the events")
}

/// Writes the commands of arbiters and the answers they got to `out`, oldest first.
///
/// # Errors
/// As [`print`].
pub(super) fn print_commands(path: &Path, filter: &Filter, out: &mut dyn Write) -> anyhow::Result<()> {
    must_exist(path)?;
    let kept =
        commands(path, filter).with_context(|| format!("cannot read the journal {}", path.display()))?;
    let mut out = BufWriter::new(out);
    for kept in &kept {
        writeln!(out, "{}", command(kept)).context("cannot write the commands")?;
    }
    out.flush().context("cannot write the commands")
}

/// A text of the journal as JSON, which it was when it was written.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// A command as one object: its payload, its time and its answer.
fn command(kept: &KeptCommand) -> Value {
    let reply = read(&kept.record.reply);
    let time = Timestamp::from_millisecond(kept.received_ms).ok();
    json!({
        "board": Some(&kept.board).filter(|board| !board.is_empty()),
        "game": kept.game,
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
