//! Goes on with another round.

use tokio::task::JoinError;

use super::{Daemon, parts::tables};
use crate::{
    descriptors,
    gateway::{desk::Done, needs},
};

impl Daemon {
    /// Goes on with the configuration and round in force: tells the players to the boards, and the round to all other parts.
    pub(super) fn begin_round(&mut self) {
        self.config = self.desk.config();
        descriptors::expect(needs::descriptors(&self.config));
        self.tables.send_if_modified(|present| {
            let next = tables(&self.config);
            let changed = *present != next;
            *present = next;
            changed
        });
        self.caster.change(self.config.broadcast.clone());
        self.say_info();
    }

    /// Takes the result of a command about the round.
    pub(super) async fn desk_done(&mut self, done: Result<Done, JoinError>) {
        match done {
            Ok(done) => {
                let (changed, reply) = self.desk.take(done);
                if changed {
                    self.begin_round();
                    self.renumber_retired().await;
                }
                let noted = self.under_way.take();
                self.answer(noted, reply);
            }
            Err(error) => {
                self.under_way = None;
                tracing::error!("a command about the round failed: {error}");
            }
        }
    }
}
