//! The file beside the journal that keeps how far each place was told to which alerts are pushed.

use std::{fs, io, path::Path};

use super::place::beside;

/// The position of the last event of which the place `key` was told, and what else was kept of it.
#[must_use]
pub fn read(path: &Path, key: &str) -> Option<(u64, String)> {
    let text = fs::read_to_string(beside(path, &format!(".alerted-{key}"))).ok()?;
    let (position, rest) = text.split_once('\n').unwrap_or((&text, ""));
    Some((position.trim().parse().ok()?, rest.to_owned()))
}

/// Keeps the position in the first line, and `rest` below. A power cut may undo that without harm: then a message comes
/// twice.
///
/// # Errors
/// When the file cannot be written.
pub fn keep(path: &Path, key: &str, position: u64, rest: &str) -> io::Result<()> {
    let place = beside(path, &format!(".alerted-{key}"));
    let fresh = beside(&place, ".new");
    fs::write(&fresh, format!("{position}\n{rest}"))?;
    fs::rename(&fresh, &place)
}
