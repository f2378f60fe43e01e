//! Archives (`.tar.gz`) of files that belong together. An archive gets its name only when it is whole. One that was cut
//! off later is not taken for whole, because its checksum is at the end.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use super::output::replaceable;

/// How many files an archive may have that is read.
const MOST_FILES: usize = 10_000;

/// An archive that is being written, which only its owner can read. It is removed with this value unless it is
/// finished.
pub(super) struct Tarball {
    tar: Option<tar::Builder<GzEncoder<File>>>,
    path: PathBuf,
    part: PathBuf,
    made: u64,
}

impl Tarball {
    /// Begins the archive `path`. An existing one is only replaced with `force`.
    ///
    /// # Errors
    /// When it exists, or cannot be written.
    pub(super) fn create(path: &Path, force: bool) -> anyhow::Result<Self> {
        replaceable(path)?;
        if !force && path.exists() {
            bail!("{} is there already; --force overwrites it", path.display());
        }
        let part = with_ending(path, ".part");
        // An interrupted run may have left the file, or somebody who wants to read along.
        let _ = fs::remove_file(&part);
        let file = own(&part)?;
        let made = jiff::Timestamp::now().as_second();
        Ok(Self {
            tar: Some(tar::Builder::new(GzEncoder::new(file, Compression::fast()))),
            path: path.to_owned(),
            part,
            made: u64::try_from(made).unwrap_or(0),
        })
    }

    /// An empty file beside the archive, for content on its way into it.
    pub(super) fn scratch(&self) -> anyhow::Result<Scratch> {
        let scratch = Scratch(with_ending(&self.path, ".part.journal"));
        scratch.clear();
        own(&scratch.0)?;
        Ok(scratch)
    }

    /// Adds a text.
    pub(super) fn text(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        self.add(name, text.len() as u64, text.as_bytes())
    }

    /// Adds the content of the file at `path`.
    pub(super) fn file(&mut self, name: &str, path: &Path) -> anyhow::Result<()> {
        let cannot = || format!("cannot read {}", path.display());
        let file = File::open(path).with_context(cannot)?;
        self.opened(name, file).with_context(cannot)
    }

    /// Adds the content of an open file.
    pub(super) fn opened(&mut self, name: &str, file: File) -> anyhow::Result<()> {
        let size = file.metadata()?.len();
        // Of a file that grows meanwhile, only the bytes at the start are taken.
        self.add(name, size, file.take(size))
    }

    fn add(&mut self, name: &str, size: u64, content: impl Read) -> anyhow::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o600);
        header.set_mtime(self.made);
        let tar = self.tar.as_mut().context("the archive is finished already")?;
        tar.append_data(&mut header, name, content)
            .with_context(|| format!("cannot write {}", self.part.display()))
    }

    /// Ends the archive and gives it its name. When this returns, a loss of power does not undo it.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let tar = self.tar.take().context("the archive is finished already")?;
        let end = || -> io::Result<()> {
            tar.into_inner()?.finish()?.sync_all()?;
            fs::rename(&self.part, &self.path)?;
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
        };
        end().with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for Tarball {
    fn drop(&mut self) {
        // After `finish` there is no such file any more.
        let _ = fs::remove_file(&self.part);
    }
}

/// Makes a new file that only its owner can read.
fn own(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    options
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A file that is removed with this value.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn clear(&self) {
        for ending in ["", "-wal", "-shm", "-journal"] {
            // A file that was never there need not be removed.
            let _ = fs::remove_file(with_ending(&self.0, ending));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Hands each file of the archive at `path` to `take`, and checks that the archive is as it was written.
///
/// # Errors
/// When the archive cannot be read, or is not whole; and those of `take`.
pub(super) fn read(
    path: &Path,
    mut take: impl FnMut(&str, &mut dyn Read) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let not_whole = || {
        format!(
            "{} is no whole archive: it was cut off, damaged, or is something else; take another one",
            path.display()
        )
    };
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut tar = tar::Archive::new(GzDecoder::new(file));
    for (n, entry) in tar.entries().with_context(not_whole)?.enumerate() {
        if n == MOST_FILES {
            bail!("{} has more than {MOST_FILES} files", path.display());
        }
        let mut entry = entry.with_context(not_whole)?;
        let name = entry
            .path()
            .with_context(not_whole)?
            .to_string_lossy()
            .into_owned();
        take(&name, &mut entry)?;
    }
    // The checksum comes behind the last file.
    io::copy(&mut tar.into_inner(), &mut io::sink())
        .map(|_| ())
        .with_context(not_whole)
}

pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        let mut archive = Tarball::create(path, true).unwrap();
        archive.text("one", "1").unwrap();
        archive.text("two", text).unwrap();
        archive.finish().unwrap();
    }

    fn names(path: &Path) -> anyhow::Result<Vec<String>> {
        let mut names = Vec::new();
        read(path, |name, content| {
            io::copy(content, &mut io::sink())?;
            names.push(name.to_owned());
            Ok(())
        })
        .map(|()| names)
    }

    #[test]
    fn what_is_cut_off_or_changed_is_not_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.gz");
        let mut rng = fastrand::Rng::with_seed(1);
        let text: String = (0..20_000).map(|_| rng.alphanumeric()).collect();
        write(&path, &text);
        assert_eq!(names(&path).unwrap(), ["one", "two"]);
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(names(&path).is_err(), "{length} of {}", whole.len());
        }
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert!(names(&path).is_err());
    }

    #[test]
    fn an_archive_takes_the_place_of_no_device() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("a.tar.gz");
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        assert!(Tarball::create(&link, true).is_err());
        assert!(link.is_symlink() && fs::read_dir(folder.path()).unwrap().count() == 1);
    }

    #[test]
    fn an_archive_of_too_many_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.gz");
        for (count, is_read) in [(MOST_FILES, true), (MOST_FILES + 1, false)] {
            let mut archive = Tarball::create(&path, true).unwrap();
            for _ in 0..count {
                archive.text("a", "").unwrap();
            }
            archive.finish().unwrap();
            assert_eq!(names(&path).is_ok(), is_read);
        }
    }

    #[test]
    fn nobody_else_reads_what_is_being_written() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("elsewhere"), "not ours").unwrap();
        for name in ["a.tar.gz.part", "a.tar.gz.part.journal"] {
            symlink(at("elsewhere"), at(name)).unwrap();
        }
        let archive = Tarball::create(&at("a.tar.gz"), false).unwrap();
        let scratch = archive.scratch().unwrap();
        let fill = rusqlite::Connection::open_in_memory().unwrap();
        fill.execute_batch("CREATE TABLE t (a)").unwrap();
        let to = scratch.path().to_string_lossy();
        fill.execute("VACUUM INTO ?1", [to]).unwrap();
        for path in [archive.part.as_path(), scratch.path()] {
            let data = fs::symlink_metadata(path).unwrap();
            assert!(
                data.is_file() && data.permissions().mode() & 0o077 == 0,
                "{}",
                path.display()
            );
        }
        assert_eq!(fs::read_to_string(at("elsewhere")).unwrap(), "not ours");
    }

    #[test]
    fn what_is_not_finished_leaves_nothing_and_what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.gz");
        write(&path, "first");
        assert!(Tarball::create(&path, false).is_err());
        let mut archive = Tarball::create(&path, true).unwrap();
        archive.text("three", "3").unwrap();
        drop(archive);
        assert_eq!(names(&path).unwrap(), ["one", "two"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
