//! `dgt2mqtt journal`: the events and commands kept on this machine, as JSON Lines.

use std::{collections::VecDeque, io::Write, path::Path};

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
    // Which game a command is of is known only once it is read.
    let all = Filter {
        last: filter.last.filter(|_| filter.game.is_none()),
        ..filter.clone()
    };
    let unreadable = || format!("cannot read the journal {}", path.display());
    let mut commands = VecDeque::new();
    let mut outcome = Ok(());
    each_command(path, &all, |kept| {
        let game = match game_of(path, &kept) {
            Ok(game) => game,
            Err(error) => {
                outcome = Err(error);
                return false;
            }
        };
        if filter.game.is_none_or(|asked| game == Some(asked)) {
            commands.push_back(command(&kept, game));
        }
        if filter.last.is_some_and(|last| commands.len() as u64 > last) {
            commands.pop_front();
        }
        true
    })
    .and(outcome)
    .with_context(unreadable)?;
    commands
        .iter()
        .try_for_each(|command| writeln!(out, "{command}").context("cannot write the commands"))
}

/// The number of the game that a command is of: as it says itself, by the irregularity that it names, or as its answer says;
/// else the game that the board had then.
fn game_of(path: &Path, kept: &KeptCommand) -> rusqlite::Result<Option<u32>> {
    if kept.board.is_empty() {
        return Ok(None);
    }
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let fields = read(&kept.record.payload);
    let told = number(&fields["game"]).or_else(|| number(&read(&kept.record.reply)["state"]["game"]["game"]));
    if told.is_some() {
        return Ok(told);
    }
    let named = fields["irregularity"]
        .as_str()
        .and_then(|id| id.rsplit('/').next()?.parse().ok());
    let mut filter = Filter {
        board: Some(kept.board.clone()),
        last: Some(1),
        ..Filter::default()
    };
    match named {
        Some(seq) => {
            filter.since_seq = Some(seq);
            filter.before_seq = Some(seq.saturating_add(1));
        }
        None => filter.until_ms = Some(kept.received_ms.saturating_add(1)),
    }
    let mut game = None;
    each_event(path, &filter, |event| {
        game = number(&read(event.json)["game"]);
        true
    })?;
    Ok(game)
}

/// A text of the journal as JSON, which it was when it was written.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// A command as one object: its payload, its time and its answer.
fn command(kept: &KeptCommand, game: Option<u32>) -> Value {
    let reply = read(&kept.record.reply);
    let time = Timestamp::from_millisecond(kept.received_ms).ok();
    json!({
        "board": Some(&kept.board).filter(|board| !board.is_empty()),
        "game": game,
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
