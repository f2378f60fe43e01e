//! `dgt2mqtt restore`: restores what `backup` wrote. It loses no file that is there: each is set aside, or stays.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{
    backup::{BROADCAST, CONFIGURATION, FORMAT, JOURNAL, LABEL, Label, PAIRINGS, ROUND, TABLES},
    settings,
    tarball::{self, with_ending},
};
use crate::{
    broadcast::{Files, Folder},
    config::{Config, ConfigError, Env},
    journal::backup::Restore,
    tournament::{InForce, tables},
};

/// How many bytes a text in a backup may have.
const MOST: u64 = 16 << 20;
/// How many bytes all its texts may have.
const MOST_TEXTS: u64 = 64 << 20;
/// How many bytes its journal may have.
const MOST_JOURNAL: u64 = 8 << 30;

/// The files of a backup, except for the journal, which is too large to be held in memory.
#[derive(Default)]
struct Texts {
    label: Option<Label>,
    configuration: Option<String>,
    pairings: Option<String>,
    round: Option<InForce>,
    tables: Option<Vec<String>>,
    shown: Files,
    /// How many bytes of texts were read.
    read: u64,
    /// How many bytes of the journal were read.
    journal: u64,
}

impl Texts {
    fn take(&mut self, name: &str, content: &mut dyn Read) -> anyhow::Result<()> {
        if name == JOURNAL {
            return take_journal(content, &mut io::sink(), &mut self.journal);
        }
        let mut text = String::new();
        let most = MOST.min(MOST_TEXTS - self.read);
        let read = content.take(most + 1).read_to_string(&mut text);
        let read = read.with_context(|| format!("cannot read {name} in the backup"))? as u64;
        if read > most {
            bail!(
                "{name} in the backup has more than {} MiB, or all texts together have more than {} MiB",
                MOST >> 20,
                MOST_TEXTS >> 20
            );
        }
        self.read += read;
        match name {
            LABEL => self.label = Some(serde_json::from_str(&text)?),
            CONFIGURATION => self.configuration = Some(text),
            PAIRINGS => self.pairings = Some(text),
            ROUND => self.round = Some(serde_json::from_str(&text)?),
            TABLES => self.tables = Some(serde_json::from_str(&text)?),
            _ => {
                if let Some(name) = name.strip_prefix(BROADCAST) {
                    self.shown.insert(name.to_owned(), text);
                }
            }
        }
        Ok(())
    }
}

/// Copies a journal of a backup; `taken` counts its bytes and those before it.
fn take_journal(content: &mut dyn Read, to: &mut dyn Write, taken: &mut u64) -> anyhow::Result<()> {
    *taken += io::copy(&mut content.take(MOST_JOURNAL + 1 - *taken), to)?;
    if *taken > MOST_JOURNAL {
        bail!(
            "the journal in the backup has more than {} GiB",
            MOST_JOURNAL >> 30
        );
    }
    Ok(())
}

/// Restores `file` by the configuration that is here. If there is none, it takes that of the backup, and puts it at
/// `wanted` or where it was.
///
/// # Errors
/// When the file is no whole backup, a daemon runs here, a journal is here and may not be replaced, or a file cannot be
/// written.
pub(super) fn restore(file: &Path, wanted: Option<&Path>, env: Env, force: bool) -> anyhow::Result<()> {
    let mut texts = Texts::default();
    tarball::read(file, |name, content| texts.take(name, content))?;
    let no_backup = || format!("{} is no backup of this program", file.display());
    let label = texts.label.take().with_context(no_backup)?;
    let configuration = texts.configuration.take().with_context(no_backup)?;
    if label.format > FORMAT {
        bail!(
            "{} was written by version {} of this program: restore it with that or a later one",
            file.display(),
            label.program
        );
    }
    // The gateway that was backed up is meant, unless another one is named.
    let env = env.on_machine(&label.gateway);
    let path = place_configuration(wanted, &env, &label, &configuration, texts.pairings.as_deref())?;
    let config = Config::load(&path, &env)?;
    let journal = &config.journal.path;
    let place = Restore::begin(journal)?;
    if place.is_taken() && !force {
        bail!(
            "there is a journal {} already: --force sets it aside and puts that of the backup in its place",
            journal.display()
        );
    }
    unpack(file, &place.fresh())?;
    place.check()?;
    if let Some(aside) = place.set_aside()? {
        eprintln!("The journal that was there is now {}.", aside.display());
    }
    if let Some(round) = &texts.round {
        round
            .keep(journal)
            .context("cannot write the round that is in force")?;
    }
    if let Some(bound) = &texts.tables {
        tables::keep(journal, bound).context("cannot write which board stands on which table")?;
    }
    if let Some(broadcast) = &config.broadcast {
        Folder::put_back(&broadcast.folder, &texts.shown)
            .context("cannot write what the public was shown")?;
    }
    place.finish()?;
    eprintln!(
        "Restored the backup of gateway {:?} made at {}: journal {}.",
        label.gateway,
        label.made,
        journal.display()
    );
    Ok(())
}

/// The configuration that is here, or if there is none that of the backup, with its pairings. A configuration that is
/// here stays, and that of the backup is put beside it.
fn place_configuration(
    wanted: Option<&Path>,
    env: &Env,
    label: &Label,
    text: &str,
    pairings: Option<&str>,
) -> anyhow::Result<PathBuf> {
    let path = match Config::find(wanted, env) {
        Ok(path) => path,
        Err(ConfigError::NotFound { .. }) => label.configuration.clone(),
        Err(error) => return Err(error.into()),
    };
    match fs::read_to_string(&path) {
        Ok(present) if present == text => {}
        Ok(_) => {
            let beside = with_ending(&path, ".restored");
            put(&beside, text)?;
            eprintln!(
                "The configuration {} stays as it is; that of the backup is {}.",
                path.display(),
                beside.display()
            );
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let settings = settings::read(text)?;
            put(&path, text)?;
            eprintln!("The configuration of the backup is now {}.", path.display());
            let place = settings::pairings(&settings, &path, &label.gateway).filter(|place| !place.exists());
            match place.zip(pairings) {
                Some((place, pairings)) if is_below(&place, &path) => put(&place, pairings)?,
                Some((place, _)) => eprintln!(
                    "The pairings of the backup are left out: {} is not in the folder of the configuration.",
                    place.display()
                ),
                None => {}
            }
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
    Ok(path)
}

/// True where `place` is in the folder of the configuration. Whoever wrote the backup may not name other places.
fn is_below(place: &Path, configuration: &Path) -> bool {
    let folder = configuration.parent().unwrap_or_else(|| Path::new(""));
    place.strip_prefix(folder).is_ok_and(|rest| {
        let mut parts = rest.components();
        parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    })
}

/// Writes a file as a whole.
fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    let fresh = with_ending(path, ".part");
    let written = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // An interrupted run may have left it, or another user.
        let _ = fs::remove_file(&fresh);
        let mut file = File::create_new(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the journal of the backup to `to`.
fn unpack(file: &Path, to: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", to.display());
    for ending in ["", "-journal", "-wal", "-shm"] {
        // An interrupted run may have left it, or another user. None of it belongs to what comes now.
        let _ = fs::remove_file(with_ending(to, ending));
    }
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    let mut out = options.open(to).with_context(cannot)?;
    let mut taken = 0;
    tarball::read(file, |name, content| {
        if name == JOURNAL {
            take_journal(content, &mut out, &mut taken).with_context(cannot)?;
        }
        Ok(())
    })?;
    out.sync_all().with_context(cannot)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_backup_of_somebody_else_says_neither_where_nor_how_much() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("here/dgt2mqtt.toml");
        for (n, (named, is_put)) in [
            ("../out", false),
            ("a/../../out", false),
            ("/tmp/out", false),
            ("a/in", true),
        ]
        .into_iter()
        .enumerate()
        {
            let path = path.with_file_name(format!("{n}.toml"));
            let named = named.replace("/tmp", &folder.path().to_string_lossy());
            let text = format!("[broadcast]\npairings = {named:?}\n");
            let label = Label {
                format: FORMAT,
                program: String::new(),
                made: String::new(),
                gateway: String::new(),
                configuration: path.clone(),
            };
            place_configuration(Some(&path), &Env::default(), &label, &text, Some("pairings")).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(path.with_file_name("a/in").exists(), is_put, "{named}");
        }
        assert!(!folder.path().join("out").exists());

        let mut texts = Texts::default();
        let mut take = |size: u64| texts.take("other", &mut io::repeat(b'a').take(size));
        assert!(take(MOST + 1).is_err());
        for _ in 0..MOST_TEXTS / MOST {
            take(MOST).unwrap();
        }
        assert!(take(1).unwrap_err().to_string().contains("64 MiB"));
        let mut taken = MOST_JOURNAL - 3;
        let mut take = |mut bytes: &[u8]| take_journal(&mut bytes, &mut io::sink(), &mut taken);
        take(b"123").unwrap();
        assert!(take(b"4").unwrap_err().to_string().contains("8 GiB"));
    }

    #[test]
    fn a_journal_is_unpacked_into_a_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut archive = tarball::Tarball::create(&at("a.tar.gz"), false).unwrap();
        archive.text(JOURNAL, "the journal").unwrap();
        archive.finish().unwrap();
        fs::write(at("elsewhere"), "not ours").unwrap();
        let to = at("journal.sqlite.restoring");
        symlink(at("elsewhere"), &to).unwrap();
        unpack(&at("a.tar.gz"), &to).unwrap();
        let data = fs::symlink_metadata(&to).unwrap();
        assert!(data.is_file() && data.permissions().mode() & 0o077 == 0);
        assert_eq!(fs::read_to_string(&to).unwrap(), "the journal");
        assert_eq!(fs::read_to_string(at("elsewhere")).unwrap(), "not ours");
    }
}
