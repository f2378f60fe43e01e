//! `dgt2mqtt restore`: puts back what `backup` wrote. Nothing that is there is lost: it is set aside, or stays.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{
    archive::{self, with_ending},
    backup::{BROADCAST, CONFIGURATION, FORMAT, JOURNAL, LABEL, Label, PAIRINGS, ROUND, TABLES},
    settings,
};
use crate::{
    broadcast::{Files, Folder, InForce, tables},
    config::{Config, ConfigError, Env},
    journal::backup::Restore,
};

/// Characters of a text in a backup.
const MOST: u64 = 16 << 20;

/// What a backup has but for the journal, which is too large for that.
#[derive(Default)]
struct Texts {
    label: Option<Label>,
    configuration: Option<String>,
    pairings: Option<String>,
    round: Option<InForce>,
    tables: Option<Vec<String>>,
    shown: Files,
}

impl Texts {
    fn take(&mut self, name: &str, content: &mut dyn Read) -> anyhow::Result<()> {
        if name == JOURNAL {
            io::copy(content, &mut io::sink())?;
            return Ok(());
        }
        let mut text = String::new();
        let read = content.take(MOST + 1).read_to_string(&mut text);
        if read.with_context(|| format!("cannot read {name} in the backup"))? as u64 > MOST {
            bail!("{name} in the backup has more than {} MiB", MOST >> 20);
        }
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

/// Restores `file`, by the configuration that is here, or else by its own, which is put to `wanted` or to where it was.
///
/// # Errors
/// When it is no whole backup, a daemon runs here, a journal is here and may not be replaced, or a file cannot be written.
pub(super) fn restore(file: &Path, wanted: Option<&Path>, force: bool) -> anyhow::Result<()> {
    let mut texts = Texts::default();
    archive::read(file, |name, content| texts.take(name, content))?;
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
    let path = place_configuration(wanted, &label, &configuration, texts.pairings.as_deref())?;
    let config = Config::load(&path, &Env::from_process())?;
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

/// The configuration that is here, or, where there is none, that of the backup, with its pairings. One that is here stays: the
/// other is put beside it.
fn place_configuration(
    wanted: Option<&Path>,
    label: &Label,
    text: &str,
    pairings: Option<&str>,
) -> anyhow::Result<PathBuf> {
    let path = match Config::find(wanted, &Env::from_process()) {
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
            put(&path, text)?;
            eprintln!("The configuration of the backup is now {}.", path.display());
            let settings = settings::read(text)?;
            let place = settings::pairings(&settings, &path).filter(|place| !place.exists());
            if let Some((place, pairings)) = place.zip(pairings) {
                put(&place, pairings)?;
            }
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
    Ok(path)
}

/// Writes a file as a whole.
fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    let fresh = with_ending(path, ".part");
    let written = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::create(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the journal of the backup to `to`.
fn unpack(file: &Path, to: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", to.display());
    for ending in ["-journal", "-wal", "-shm"] {
        // Left by one that was interrupted; nothing of it belongs to what comes now.
        let _ = fs::remove_file(with_ending(to, ending));
    }
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut out = options.open(to).with_context(cannot)?;
    archive::read(file, |name, content| {
        if name == JOURNAL {
            io::copy(content, &mut out).with_context(cannot)?;
        }
        Ok(())
    })?;
    out.sync_all().with_context(cannot)
}
