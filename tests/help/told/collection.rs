//! Captures kept outside of the project (set `DGT2MQTT_CORPUS` to their folder).

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// A folder of captures kept outside of the project; none, with a word about it, where it is not there.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let corpus = env::var_os("DGT2MQTT_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    let folder = corpus.join(name);
    if !folder.is_dir() {
        skipped!("{} is not there (DGT2MQTT_CORPUS says where)", folder.display());
        return None;
    }
    Some(folder)
}

/// The names of the captures in a folder.
pub(crate) fn captures(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter_map(|name| name.strip_suffix(".dgtcap").map(str::to_owned))
        .collect();
    names.sort();
    names
}
