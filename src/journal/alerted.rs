//! The file beside the journal that keeps how far each place was told to which alerts are pushed.

use std::{fs, io, path::Path};

use super::place::beside;

/// The position of the last event of which the place `key` was told.
#[must_use]
pub fn read(path: &Path, key: &str) -> Option<u64> {
    let text = fs::read_to_string(beside(path, &format!(".alerted-{key}"))).ok()?;
    text.trim().parse().ok()
}

/// Keeps the position. A power cut may undo that without harm: then a message comes twice.
///
/// # Errors
/// When the file cannot be written.
pub fn keep(path: &Path, key: &str, position: u64) -> io::Result<()> {
    let place = beside(path, &format!(".alerted-{key}"));
    let fresh = beside(&place, ".new");
    fs::write(&fresh, format!("{position}\n"))?;
    fs::rename(&fresh, &place)
}
