//! The wire of a board of any family that tells whole positions. It connects the driver of the family with
//! the core.

use super::{core::Core, talk_time::TalkTime};
use crate::{
    dgt::{Identity, PieceCode},
    families::{Driver, Family, Told},
    time::Millis,
};

/// The core reviews an unchanged position no more often than this, though some boards tell it 24 times a
/// second.
const LOOK_MS: u64 = 250;
/// While a board that tells only changes is at rest, the core reviews it this often.
const QUIET_LOOK_MS: u64 = 1500;

/// The wire of such a board.
#[derive(Debug)]
pub(super) struct Whole {
    family: &'static Family,
    pub(super) driver: Box<dyn Driver>,
    pub(super) talk: TalkTime,
    identity: Identity,
    /// The last position on this link that the core got.
    told: Option<[PieceCode; 64]>,
    /// When the core last reviewed the position.
    looked: Millis,
    /// How many garbled messages of the driver are counted.
    garbled: u64,
}

impl Whole {
    pub(super) fn new(family: &'static Family) -> Self {
        Self {
            family,
            driver: (family.driver)(),
            talk: TalkTime::default(),
            identity: Identity::default(),
            told: None,
            looked: Millis(0),
            garbled: 0,
        }
    }

    /// The link may lead to another board, and begin within a message.
    pub(super) fn link_up(&mut self, now: Millis) {
        *self = Self::new(self.family);
        self.driver.link_up(now);
    }

    pub(super) fn link_down(&mut self) {
        *self = Self::new(self.family);
    }

    pub(super) fn bytes(&mut self, now: Millis, bytes: &[u8], core: &mut Core) {
        let Self {
            driver,
            talk,
            identity,
            told,
            looked,
            ..
        } = self;
        driver.bytes(talk.at(now), bytes, &mut |what| match what {
            Told::Squares(squares) => {
                let is_new = told.replace(squares) != Some(squares) || core.world.board.gap.is_some();
                if is_new {
                    core.whole_board(now, &squares, identity);
                }
                if is_new || now >= *looked + LOOK_MS {
                    core.review(now);
                    *looked = now;
                }
            }
            Told::Firmware(main, sub) => {
                identity.firmware = Some((main, sub));
                core.contact.identified(&mut core.play.out.changed, identity);
            }
            Told::Battery(battery) => core.battery(now, battery),
        });
        let garbled = self.driver.garbled();
        core.hardware.line_errors += garbled.saturating_sub(self.garbled);
        self.garbled = garbled;
    }

    pub(super) fn handle_timeout(&mut self, now: Millis, core: &mut Core) {
        self.driver.handle_timeout(self.talk.at(now));
        core.review(now);
        self.looked = now;
    }

    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        let look = self.told.map(|_| self.looked + QUIET_LOOK_MS);
        let talk = self.talk.due(self.driver.poll_timeout());
        talk.into_iter().chain(look).min()
    }

    /// Gives the next position to the core even if it is unchanged.
    pub(super) fn read_anew(&mut self) {
        self.told = None;
    }
}

#[cfg(test)]
mod tests;
