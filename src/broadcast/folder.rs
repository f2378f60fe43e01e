//! The folder on the disk: each file is replaced whole, and only when it changes.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::round::Files;

/// Why a file of the folder cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; check that the folder exists or can be made, and that this user may write there", path.display())]
pub struct FolderError {
    path: PathBuf,
    source: io::Error,
}

impl FolderError {
    pub(super) fn new(path: PathBuf, source: io::Error) -> Self {
        Self { path, source }
    }
}

/// A folder of broadcast files, and what was last written into it.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    written: Files,
}

impl Folder {
    /// The folder at `root`. Nothing is written yet; files that others put there stay.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            written: Files::new(),
        }
    }

    /// Writes what has changed. Who reads a file sees the old or the new one, never half of it, and
    /// a file that did not change is not touched: its time would tell the public of a move held back.
    ///
    /// # Errors
    /// The first file that cannot be written. It is tried again at the next call.
    pub fn write(&mut self, files: Files) -> Result<(), FolderError> {
        let mut outcome = Ok(());
        for (name, text) in files {
            let path = self.root.join(&name);
            let is_same = match self.written.get(&name) {
                Some(before) => *before == text,
                None => fs::read(&path).is_ok_and(|before| before == text.as_bytes()),
            };
            let written = if is_same { Ok(()) } else { replace(&path, &text) };
            match written {
                Ok(()) => drop(self.written.insert(name, text)),
                Err(source) => {
                    self.written.remove(&name);
                    outcome = outcome.and(Err(FolderError { path, source }));
                }
            }
        }
        outcome
    }
}

/// Programs that watch the folder for `.pgn` and `.json` do not see the file while it is written.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let mut file = fs::File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    // Without this a loss of power may leave the new name with nothing in it.
    file.sync_data()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> Files {
        Files::from([("round-1/game-1.pgn".to_owned(), text.to_owned())])
    }

    #[test]
    fn only_what_changed_is_replaced_and_whole() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("round-1/game-1.pgn");
        let mut folder = Folder::new(root.path().to_owned());
        folder.write(files("one")).unwrap();
        let open = fs::File::open(&path).unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        folder.write(files("one")).unwrap();
        Folder::new(root.path().to_owned()).write(files("one")).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().modified().unwrap(),
            before,
            "untouched"
        );
        folder.write(files("two, longer")).unwrap();
        assert_eq!(
            io::read_to_string(open).unwrap(),
            "one",
            "a reader has the old one"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "two, longer");
        let left = fs::read_dir(root.path().join("round-1")).unwrap().count();
        assert_eq!(left, 1, "nothing temporary stays");
    }

    #[test]
    fn what_could_not_be_written_is_tried_again() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("round-1");
        fs::write(&path, "in the way").unwrap();
        let mut folder = Folder::new(root.path().to_owned());
        let told = folder.write(files("one")).unwrap_err().to_string();
        assert!(told.contains("game-1.pgn"), "{told}");
        fs::remove_file(&path).unwrap();
        folder.write(files("one")).unwrap();
        assert!(path.join("game-1.pgn").exists());
    }
}
