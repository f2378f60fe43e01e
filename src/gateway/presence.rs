//! Announces the gateway in the local network while the daemon runs, if the configuration wants it.

use tokio::task::spawn_blocking;

use crate::{
    config::Config,
    neighbours::{Announcement, Voice},
};

/// The announcement, if there is one.
pub(super) struct Presence(Option<Voice>);

impl Presence {
    /// Begins to announce. Boards matter more, so the daemon runs without the announcement if that cannot be.
    pub(super) fn begin(config: &Config) -> Self {
        let voice = Announcement::of(config).map(Voice::begin);
        Self(voice.and_then(|voice| match voice {
            Ok(voice) => Some(voice),
            Err(error) => {
                tracing::error!("this gateway cannot be announced in the local network: {error}");
                None
            }
        }))
    }

    /// Announces what `config` says, if that is something else than before.
    pub(super) async fn change(&mut self, config: &Config) {
        if self.0.as_ref().map(Voice::told) != Announcement::of(config).as_ref() {
            self.end().await;
            *self = Self::begin(config);
        }
    }

    /// Says farewell.
    pub(super) async fn end(&mut self) {
        if let Some(voice) = self.0.take() {
            let _ = spawn_blocking(move || voice.end()).await; // a farewell that fails is none
        }
    }
}
