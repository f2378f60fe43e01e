//! Commands of the arbiter.

use super::{
    command::{Command, CommandError, Reply},
    core::Core,
};
use crate::time::Millis;

impl Core {
    pub(super) fn command(&mut self, _now: Millis, command: Command) -> Result<Reply, CommandError> {
        match command {
            Command::Resync => {
                self.want_dump();
                Ok(Reply {
                    game: Some(self.game_view()),
                })
            }
            _ => Err(CommandError::Refused("not yet".into())),
        }
    }
}
