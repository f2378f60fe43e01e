//! Runs the tasks that push notices to phones. They read the journal beside all other work, so their troubles delay
//! nobody.

use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    alert,
    config::{AlertConfig, Config},
    journal::Journal,
};

/// The tasks, which end with this value.
pub(super) struct Alerts {
    journal: Journal,
    told: Vec<AlertConfig>,
    work: JoinSet<()>,
    _stop: DropGuard,
}

impl Alerts {
    /// Starts a task for each place that `config` names.
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

    /// Starts the tasks anew, if `config` names other places.
    pub(super) async fn change(&mut self, config: &Config) {
        if self.told != config.alerts {
            // The new tasks send again the message that is under way.
            self.work.shutdown().await;
            let journal = self.journal.clone();
            *self = Self::start(config, &journal);
        }
    }
}
