//! Going on with another round: by a reload of the configuration, or by a command.

use tokio::task::JoinError;

use super::{Daemon, parts::tables};
use crate::{config::Config, gateway::desk::Done};

impl Daemon {
    /// Takes over what the new configuration says of the broadcast: the next round.
    pub(super) fn change(&mut self, config: &Config) {
        if self.desk.reconfigure(config) {
            tracing::info!("the configuration was read again");
        } else {
            tracing::warn!(
                "the configuration was read again, and only [broadcast] was taken over: what else has changed in it wants a restart"
            );
        }
        self.begin_round();
    }

    /// Goes on with the round that is in force: the boards are told who sits there, and so is everybody else.
    fn begin_round(&mut self) {
        self.config = self.desk.config();
        self.tables.send_if_modified(|present| {
            let next = tables(&self.config);
            let changed = *present != next;
            *present = next;
            changed
        });
        self.caster.change(self.config.broadcast.clone());
        self.say_info();
    }

    /// A command about the round is done.
    pub(super) fn desk_done(&mut self, done: Result<Done, JoinError>) {
        match done {
            Ok(done) => {
                let (changed, reply) = self.desk.take(done);
                if changed {
                    self.begin_round();
                }
                self.publisher_handle().reply(reply);
            }
            Err(error) => tracing::error!("a command about the round failed: {error}"),
        }
    }
}
