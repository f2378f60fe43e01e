//! Reads the configuration for a collector of several gateways, which has no boards of its own.

use std::path::Path;

use super::{
    Broadcast, Collector, ConfigError, Env, Problems, finish, group, hall, read, read_file, validate,
};

/// True where a file is for the dashboard alone: it has a broadcast, and nothing of a gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IsAlone(pub(crate) bool);

impl Collector {
    /// Reads what a collector needs from the file at `path`: broker, topics and broadcasts. A gateway's own file will
    /// do, and so will one without name and boards.
    ///
    /// # Errors
    /// As [`Config::load`](super::Config::load), and [`ConfigError::Between`] where groups have something together that
    /// only one can have.
    pub fn load(path: &Path, env: &Env) -> Result<Self, ConfigError> {
        let text = read_file(path)?;
        let mut collector = Self::of_group(&text, path, env, None);
        let mut problems = Problems::default();
        let mut broadcasts = Vec::new();
        for name in group::names(&text) {
            match Self::of_group(&text, path, env, Some(&name)) {
                Ok(of_group) => {
                    let named = |broadcast| Broadcast {
                        group: Some(name.clone()),
                        ..broadcast
                    };
                    broadcasts.extend(of_group.broadcasts.into_iter().map(named));
                }
                Err(ConfigError::Invalid(found)) => problems.add(found),
                Err(error) => return Err(error),
            }
        }
        match &mut collector {
            Ok(collector) => collector.broadcasts.extend(broadcasts),
            Err(ConfigError::Invalid(found)) => problems.add(std::mem::take(found)),
            Err(_) => {}
        }
        if !problems.is_empty() {
            return Err(ConfigError::Invalid(problems));
        }
        let collector = collector?;
        let conflicts = group::conflicts(&collector.broadcasts);
        if !conflicts.is_empty() {
            return Err(ConfigError::Between {
                path: path.to_owned(),
                conflicts,
            });
        }
        Ok(collector)
    }

    /// What a file that `check` is given has of the dashboard's own: none where that is nothing.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub(crate) fn of_dashboard(path: &Path, env: &Env) -> Result<Option<(Self, IsAlone)>, ConfigError> {
        let text = read_file(path)?;
        let is_alone = hall::is_without_gateway(&text);
        if !is_alone && !group::is_grouped(&text) {
            return Ok(None);
        }
        Ok(Some((Self::load(path, env)?, IsAlone(is_alone))))
    }

    /// The configuration with the broadcast of one group.
    fn of_group(text: &str, path: &Path, env: &Env, group: Option<&str>) -> Result<Self, ConfigError> {
        let mut document = read::Document::new(text, path);
        let raw = hall::read_common(&mut document, env, group);
        let collector = raw.and_then(|(raw, boards)| validate::collector(raw, boards, &mut document));
        finish(collector, document)
    }
}
