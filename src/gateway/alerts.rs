//! Notices pushed to phones. They read the journal beside everything else: their troubles are their own.

use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    alert,
    config::{AlertConfig, Config},
    journal::Journal,
};

/// Those who are told; gone with the value.
pub(super) struct Alerts {
    journal: Journal,
    told: Vec<AlertConfig>,
    work: JoinSet<()>,
    _stop: DropGuard,
}

impl Alerts {
    /// Tells whom `config` names.
    pub(super) fn start(config: &Config, journal: &Journal) -> Self {
        let stop = CancellationToken::new();
        let mut work = JoinSet::new();
        for alert in &config.alerts {
            let (path, news) = (config.journal.path.clone(), journal.news());
            work.spawn(alert::tell(alert.clone(), path, news, stop.clone()));
        }
        Self {
            journal: journal.clone(),
            told: config.alerts.clone(),
            work,
            _stop: stop.drop_guard(),
        }
    }

    /// Tells others, if `config` names others.
    pub(super) async fn change(&mut self, config: &Config) {
        if self.told != config.alerts {
            // A message that is under way is sent again by those who follow.
            self.work.shutdown().await;
            let journal = self.journal.clone();
            *self = Self::start(config, &journal);
        }
    }
}
