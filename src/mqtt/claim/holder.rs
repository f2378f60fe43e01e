//! What the broker retains of the last holder of our name, and how long that one may live although nobody hears it.

use std::{fs::OpenOptions, io::Read as _, os::unix::fs::MetadataExt as _, path::Path, time::Duration};

use serde::Deserialize;

use crate::{
    journal::{LastRun, process_in, run_of_machine},
    mqtt::word::Word,
};

/// Some brokers look rarely whose keep-alive is over.
const MARGIN: Duration = Duration::from_secs(5);
/// What a holder has that does not tell, as older programs: the usual settings.
const USUAL_KEEP_ALIVE: u64 = 15;
const USUAL_HEALTH: u64 = 30;
/// The longest that is believed of both, in seconds: whoever may write to the broker chooses them.
const LONGEST: u64 = 300;

/// The fields of `info` that the claim reads.
#[derive(Debug, Deserialize)]
pub(super) struct Info {
    pub(super) boot_id: String,
    /// None where the program is too old to tell, as with those below.
    pub(super) journal: Option<String>,
    #[serde(default)]
    pub(super) journal_at: Option<String>,
    #[serde(default)]
    journal_era: Option<String>,
    #[serde(default)]
    host: String,
    #[serde(default)]
    keep_alive_s: Option<u64>,
    #[serde(default)]
    health_interval_s: Option<u64>,
}

impl Info {
    pub(super) fn run(&self) -> LastRun {
        LastRun {
            boot: self.boot_id.clone(),
            journal: self.journal.clone(),
            era: self.journal_era.clone(),
        }
    }

    /// The word that this gateway has the name. None where no gateway has such a boot id.
    pub(super) fn word(&self) -> Option<Word> {
        let word = Word {
            boot: self.boot_id.clone(),
            host: self.host.clone(),
            holds: true,
            journal: self.journal.clone(),
        };
        word.bounded()
    }
}

/// How long a holder may live of which nobody hears. `keep_alive` is the longest that is known at this end. The broker ends a connection
/// that is silent for one and a half keep-alives, and says `offline`; a holder ends one on which it hears nothing for two. Where no
/// words can be said, only `health` tells that the holder lives.
pub(super) fn longest_silence(info: Option<&Info>, keep_alive: Duration, is_mute: bool) -> Duration {
    let told = |field: fn(&Info) -> Option<u64>, usual| {
        let told = info.and_then(field).unwrap_or(usual).min(LONGEST);
        Duration::from_secs(told)
    };
    let theirs = told(|info| info.keep_alive_s, USUAL_KEEP_ALIVE);
    let keep_alive = theirs.max(keep_alive.min(Duration::from_secs(LONGEST)));
    let given_up = keep_alive * 2 + MARGIN;
    if is_mute {
        given_up.max(told(|info| info.health_interval_s, USUAL_HEALTH) + MARGIN)
    } else {
        given_up
    }
}

/// Which lock this process holds on its journal at `path`, and since which start of the machine: of two processes that say the same the
/// earlier one is gone. None where it holds none.
#[must_use]
pub fn journal_at(path: &Path) -> Option<String> {
    let machine = run_of_machine()?;
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    // Where the disk takes no writes, the lock in the file is that of a process before this one.
    let mut lock = OpenOptions::new().read(true).write(true).open(lock).ok()?;
    let mut holder = String::new();
    lock.read_to_string(&mut holder).ok()?;
    let file = lock.metadata().ok()?;
    let is_ours = process_in(&holder) == std::process::id().to_string();
    is_ours.then(|| format!("{machine} {:x}:{:x}", file.dev(), file.ino()))
}
