//! The environment as a value, so that tests need not change that of the process.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The configuration that the daemon reads under systemd's unit.
pub(crate) const OF_THE_UNIT: &str = "/etc/dgt2mqtt/dgt2mqtt.toml";
/// The state folder of that daemon.
pub(crate) const STATE_OF_THE_UNIT: &str = "/var/lib/dgt2mqtt";

/// The variable that says which gateway of a hall a process is.
pub(super) const GATEWAY: &str = "DGT2MQTT_GATEWAY";

/// The prefix of variables that override a key of the file; `__` separates the levels.
const PREFIX: &str = "DGT2MQTT__";

/// Environment variables that are valid Unicode; others cannot concern the configuration.
#[derive(Clone, Default)]
pub struct Env {
    variables: BTreeMap<String, String>,
    /// The name of the machine, without its domain.
    host: Option<String>,
}

impl Env {
    /// The environment of this process.
    #[must_use]
    pub fn from_process() -> Self {
        let env: Self = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        env.on_machine(&rustix::system::uname().nodename().to_string_lossy())
    }

    /// The same on a machine of this name. Its domain does not count.
    #[must_use]
    pub fn on_machine(self, name: &str) -> Self {
        let host = name.split('.').next().filter(|host| !host.is_empty());
        Self {
            host: host.map(str::to_owned),
            ..self
        }
    }

    /// The same where `--gateway` names a gateway, which counts more than the variable.
    #[must_use]
    pub fn of_gateway(mut self, name: Option<&str>) -> Self {
        let named = name.map(|name| (GATEWAY.to_owned(), name.to_owned()));
        self.variables.extend(named);
        self
    }

    /// The gateway that is named, if one is.
    #[must_use]
    pub(super) fn gateway(&self) -> Option<&str> {
        self.get(GATEWAY)
    }

    /// The name of the machine, if it is known.
    #[must_use]
    pub(super) fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// A variable that is set and not empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The configuration files that are tried in this order when none is named.
    #[must_use]
    pub fn config_candidates(&self) -> Vec<PathBuf> {
        let mut candidates = vec![PathBuf::from("dgt2mqtt.toml")];
        let user = self
            .get("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(self.get("HOME")?).join(".config")));
        candidates.extend(user.map(|folder| folder.join("dgt2mqtt/dgt2mqtt.toml")));
        candidates.push(PathBuf::from(OF_THE_UNIT));
        candidates
    }

    /// Where the journal is when the configuration `file` does not say. That is the state folder that systemd gives.
    /// Else it is the unit's folder where `file` is the unit's, and otherwise the user's.
    pub(super) fn default_journal(&self, file: &Path) -> Option<PathBuf> {
        self.journal_beside(Path::new(STATE_OF_THE_UNIT).is_dir(), file)
    }

    fn journal_beside(&self, unit_is_installed: bool, file: &Path) -> Option<PathBuf> {
        const FILE: &str = "journal.sqlite";
        if let Some(folders) = self.get("STATE_DIRECTORY") {
            // systemd separates several folders by colons, and the first is the daemon's.
            return folders
                .split(':')
                .next()
                .map(|folder| PathBuf::from(folder).join(FILE));
        }
        if unit_is_installed && file == Path::new(OF_THE_UNIT) {
            return Some(Path::new(STATE_OF_THE_UNIT).join(FILE));
        }
        let state = match self.get("XDG_STATE_HOME") {
            Some(folder) => PathBuf::from(folder),
            None => PathBuf::from(self.get("HOME")?).join(".local/state"),
        };
        Some(state.join("dgt2mqtt").join(FILE))
    }

    /// The overrides: name of the variable, path of the key, text of the value. Numbers come in numerical order, so
    /// that board 2 exists before board 10 is added.
    pub(super) fn overrides(&self) -> Vec<(&str, Vec<String>, &str)> {
        let mut overrides: Vec<_> = self
            .variables
            .iter()
            .filter_map(|(name, value)| {
                let path = name.strip_prefix(PREFIX)?;
                let path = path.split("__").map(str::to_ascii_lowercase).collect::<Vec<_>>();
                Some((name.as_str(), path, value.as_str()))
            })
            .collect();
        let number = |level: &String| (level.parse::<usize>().unwrap_or(usize::MAX), level.clone());
        overrides.sort_by_cached_key(|(_, path, _)| path.iter().map(number).collect::<Vec<_>>());
        overrides
    }
}

impl FromIterator<(String, String)> for Env {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self {
            variables: variables.into_iter().collect(),
            host: None,
        }
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Env {
    fn from(variables: [(&str, &str); N]) -> Self {
        variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

// Values may be passwords.
impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_the_configuration_of_the_unit_finds_its_journal() {
        let journal = |env: &[(&str, &str)], is_installed, file: &str| {
            let env: Env = env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let path = env.journal_beside(is_installed, Path::new(file));
            path.map(|path| path.display().to_string()).unwrap_or_default()
        };
        let root = [("HOME", "/root")];
        let of_the_unit = "/var/lib/dgt2mqtt/journal.sqlite";
        let of_root = "/root/.local/state/dgt2mqtt/journal.sqlite";
        assert_eq!(journal(&root, true, OF_THE_UNIT), of_the_unit);
        assert_eq!(journal(&root, false, OF_THE_UNIT), of_root);
        assert_eq!(journal(&root, true, "/root/mine.toml"), of_root);
        let under_systemd = [("HOME", "/root"), ("STATE_DIRECTORY", "/srv/dgt")];
        assert_eq!(
            journal(&under_systemd, true, OF_THE_UNIT),
            "/srv/dgt/journal.sqlite"
        );
    }
}
