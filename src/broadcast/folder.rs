//! The folder on the disk. A file is replaced whole, and only when it changes.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::round::Files;
use crate::files::shared;

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

    /// The files of rounds in the folder at `root`. Unreadable files are left out.
    #[must_use]
    pub fn kept(root: &Path) -> Files {
        let rounds = fs::read_dir(root).into_iter().flatten().flatten();
        let rounds = rounds.filter_map(|round| round.file_name().into_string().ok());
        let mut kept = Files::new();
        for round in rounds.filter(|round| is_round(round)) {
            let files = fs::read_dir(root.join(&round)).into_iter().flatten().flatten();
            for name in files.filter_map(|file| file.file_name().into_string().ok()) {
                let name = format!("{round}/{name}");
                if let Ok(text) = shared::read(root, &name) {
                    kept.insert(name, text);
                }
            }
        }
        kept
    }

    /// Puts back the files that [`Self::kept`] gave, where no file of that name exists. Other names are left out. If
    /// root runs this, the files go to the owner of the nearest folder that was there.
    ///
    /// # Errors
    /// The first file that cannot be written.
    pub fn put_back(root: &Path, files: &Files) -> Result<(), FolderError> {
        for (name, text) in files {
            let is_ours = name.split_once('/').is_some_and(|(round, file)| {
                is_round(round) && !file.contains('/') && !["", ".", ".."].contains(&file)
            });
            if is_ours && shared::read(root, name).is_err() {
                shared::restore(root, name, text)
                    .map_err(|source| FolderError::new(root.join(name), source))?;
            }
        }
        Ok(())
    }

    /// The files that were written and that somebody has taken away since. The next call of [`Self::write`] puts them back.
    pub fn forget_missing(&mut self) -> Vec<String> {
        let Self { root, written } = self;
        let is_gone = |name: &str| is_missing(&root.join(name));
        let gone: Vec<_> = written.keys().filter(|name| is_gone(name)).cloned().collect();
        for name in &gone {
            written.remove(name);
        }
        gone
    }

    /// Writes the files that have changed. A reader sees the old file or the new one, never half of it. A file that did
    /// not change is not touched: its time would tell the public of a move that is held back.
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

/// True where nothing is at `path`. What cannot be looked at may be there.
pub(super) fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// True where a folder of this name holds a round.
fn is_round(name: &str) -> bool {
    name.strip_prefix("round-")
        .is_some_and(|number| number.parse::<u32>().is_ok())
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
    fn what_is_kept_is_put_back_where_nothing_is_and_nowhere_else() {
        let from = tempfile::tempdir().unwrap();
        Folder::new(from.path().to_owned()).write(files("one")).unwrap();
        fs::write(from.path().join("round-1/.begun"), "7").unwrap();
        fs::write(from.path().join("notes"), "not ours").unwrap();
        let mut kept = Folder::kept(from.path());
        let names: Vec<_> = kept.keys().map(String::as_str).collect();
        assert_eq!(names, ["round-1/.begun", "round-1/game-1.pgn"]);
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("public");
        for name in ["../out", "round-1/../../out", "round-1/..", "out", "round-x/out"] {
            kept.insert(name.to_owned(), "harm".to_owned());
        }
        fs::create_dir_all(root.join("round-1")).unwrap();
        fs::write(root.join("round-1/.begun"), "8").unwrap();
        Folder::put_back(&root, &kept).unwrap();
        let names: Vec<_> = Folder::kept(&root).into_iter().collect();
        let expected = [("round-1/.begun", "8"), ("round-1/game-1.pgn", "one")];
        assert_eq!(
            names,
            expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
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
    fn what_is_taken_away_is_missed_and_comes_back() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(root.path().to_owned());
        folder.write(files("one")).unwrap();
        assert!(folder.forget_missing().is_empty());
        fs::remove_dir_all(root.path().join("round-1")).unwrap();
        assert_eq!(folder.forget_missing(), ["round-1/game-1.pgn"]);
        folder.write(files("one")).unwrap();
        assert!(root.path().join("round-1/game-1.pgn").exists());
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
