//! The folder on the disk: each file is replaced whole, and only when it changes.

use std::{io, path::PathBuf};

use super::{round::Files, shared};

/// Why a file of the folder cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; check that the folder exists or can be made, is no link, and that this user may write there", path.display())]
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
                None => shared::read(&self.root, &name).is_ok_and(|before| before == text),
            };
            let written = if is_same {
                Ok(())
            } else {
                shared::replace(&self.root, &name, &text)
            };
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

#[cfg(test)]
mod tests {
    use std::fs;

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
    fn a_link_in_the_way_leads_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let journal = root.path().join("journal");
        fs::write(&journal, "the record").unwrap();
        let open = root.path().join("open");
        fs::create_dir_all(open.join("round-1")).unwrap();
        for name in ["game-1.pgn.tmp", "game-1.pgn"] {
            std::os::unix::fs::symlink(&journal, open.join("round-1").join(name)).unwrap();
        }
        Folder::new(open.clone()).write(files("one")).unwrap();
        assert_eq!(fs::read_to_string(&journal).unwrap(), "the record");
        let path = open.join("round-1/game-1.pgn");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
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
