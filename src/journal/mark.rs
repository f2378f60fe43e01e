//! How numbers stay unique when the disk is full and the process dies.
//!
//! Events that wait in memory may reach the broker before they reach the disk. If the process died then, the next one
//! would give their numbers out again. So before such events go out, a ceiling for each board goes into a small file
//! beside the journal, the *mark*. Its blocks were taken while the disk had room and are overwritten in place, which
//! works on a full disk. The next start gives out numbers above the ceiling. That leaves a gap in the numbers, which a
//! notice tells of, but no number comes twice.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

/// Room for some thousand boards.
const SIZE: usize = 64 << 10;
/// How far above the present number a ceiling is set, so that few events write the file.
const STEP: u64 = 64;

/// Stands among the boards where the numbers were compared, and the journal does not know it.
pub(crate) const ALL_SENT: &str = "";

/// The file of ceilings.
#[derive(Debug)]
pub(crate) struct Mark {
    file: File,
    ceilings: BTreeMap<String, u64>,
}

impl Mark {
    /// Opens the file, takes its room and reads the ceilings of a former process.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut text = String::new();
        // An unreadable file (a crash while it was created) holds no ceilings.
        let ceilings = match file.read_to_string(&mut text) {
            Ok(_) => serde_json::from_str(text.trim()).unwrap_or_default(),
            Err(_) => BTreeMap::new(),
        };
        let mut mark = Self { file, ceilings };
        if text.len() < SIZE {
            mark.store()?;
        }
        Ok(mark)
    }

    /// The ceilings of a former process, where nothing can be written.
    pub(crate) fn read(path: &Path) -> BTreeMap<String, u64> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(text.trim()).unwrap_or_default()
    }

    /// The ceilings of a former process: each board must go on above its own.
    pub(crate) fn ceilings(&self) -> &BTreeMap<String, u64> {
        &self.ceilings
    }

    /// True where what the journal has may have been sent, though the journal says that it was not.
    pub(crate) fn says_all_was_sent(&self) -> bool {
        self.ceilings.contains_key(ALL_SENT)
    }

    /// The number up to which the file secures those of a board.
    pub(crate) fn ceiling(&self, board: &str) -> u64 {
        self.ceilings.get(board).copied().unwrap_or(0)
    }

    /// Makes sure that no later process gives out these numbers again.
    pub(crate) fn cover<'a>(&mut self, seqs: impl IntoIterator<Item = (&'a str, u64)>) -> io::Result<()> {
        let former = self.ceilings.clone();
        for (board, seq) in seqs {
            if self.ceilings.get(board).is_none_or(|ceiling| *ceiling < seq) {
                self.ceilings.insert(board.to_owned(), seq + STEP);
            }
        }
        if self.ceilings == former {
            return Ok(());
        }
        // A ceiling that is not on the disk covers nothing.
        let stored = self.store();
        if stored.is_err() {
            self.ceilings = former;
        }
        stored
    }

    /// True where its file system takes writes. The question writes no bytes, and so changes nothing.
    pub(crate) fn is_writable(&mut self) -> bool {
        self.file.write(&[]).is_ok()
    }

    /// Clears the ceilings once the journal itself has all events.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if self.ceilings.is_empty() {
            return Ok(());
        }
        self.ceilings.clear();
        self.store()
    }

    fn store(&mut self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.ceilings)?;
        text.resize(SIZE.max(text.len()), b' ');
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&text)?;
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_outlives_the_process_until_it_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mark");
        let mut mark = Mark::open(&path).unwrap();
        mark.cover([("7", 10)]).unwrap();
        mark.cover([("7", 11)]).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), SIZE as u64);
        drop(mark);
        let mut mark = Mark::open(&path).unwrap();
        assert_eq!(mark.ceilings().get("7"), Some(&(10 + STEP)));
        mark.clear().unwrap();
        drop(mark);
        assert!(Mark::open(&path).unwrap().ceilings().is_empty());
    }

    #[test]
    fn a_mark_of_garbage_is_no_mark() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mark");
        std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
        assert!(Mark::open(&path).unwrap().ceilings().is_empty());
    }
}
