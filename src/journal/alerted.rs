//! How far each place that is pushed to was told, kept beside the journal.

use std::{fs, io, path::Path};

use super::place::beside;

/// The position of the last event of which the place `key` was told.
#[must_use]
pub fn read(path: &Path, key: &str) -> Option<u64> {
    let text = fs::read_to_string(beside(path, &format!(".alerted-{key}"))).ok()?;
    text.trim().parse().ok()
}

/// Keeps it. It is no loss if a power cut takes it: then a message comes twice.
///
/// # Errors
/// When it cannot be written.
pub fn keep(path: &Path, key: &str, position: u64) -> io::Result<()> {
    let place = beside(path, &format!(".alerted-{key}"));
    let fresh = beside(&place, ".new");
    fs::write(&fresh, format!("{position}\n"))?;
    fs::rename(&fresh, &place)
}
