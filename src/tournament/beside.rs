//! Keeps what commands put in force in files beside the journal, so that it outlives the daemon.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::files::shared;

/// Folder and name of the file that has the journal's name with `ending`.
fn place(journal: &Path, ending: &str) -> Option<(PathBuf, String)> {
    let folder = journal.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = journal.file_name()?.to_str()?;
    Some((
        folder.map_or_else(|| PathBuf::from("."), Path::to_owned),
        format!("{name}.{ending}"),
    ))
}

/// The value in the file; none if there is no file.
pub(super) fn read<T: DeserializeOwned>(journal: &Path, ending: &str) -> io::Result<Option<T>> {
    let Some((folder, name)) = place(journal, ending) else {
        return Ok(None);
    };
    match shared::read(&folder, &name) {
        Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes `value`. When this returns, a loss of power does not undo it. Where it fails, the former value is still
/// there.
pub(super) fn write(journal: &Path, ending: &str, value: &impl Serialize) -> io::Result<()> {
    let (folder, name) = place(journal, ending).ok_or(io::ErrorKind::InvalidFilename)?;
    shared::replace(&folder, &name, &serde_json::to_string(value)?)?;
    File::open(&folder)?.sync_all()
}
