//! The wire of a board that tells whole positions, of any family: its driver on one side, the core on the other.

use super::core::Core;
use crate::{
    dgt::{CommandBytes, Identity, PieceCode, Wish},
    families::{Driver, Family, Told},
    time::Millis,
};

/// A board that tells the same 24 times a second makes nobody look more often than this.
const LOOK_MS: u64 = 250;
/// Of one that tells changes only, it is looked at what that means for as long as nothing changes.
const QUIET_LOOK_MS: u64 = 1500;

/// See the module.
#[derive(Debug)]
pub(super) struct Whole {
    family: &'static Family,
    driver: Box<dyn Driver>,
    identity: Identity,
    /// What stood there when the core was told last, on this link.
    told: Option<[PieceCode; 64]>,
    /// When the core looked last at what stands there.
    looked: Millis,
    /// How much of what was garbled is counted.
    garbled: u64,
}

impl Whole {
    pub(super) fn new(family: &'static Family) -> Self {
        Self {
            family,
            driver: (family.driver)(),
            identity: Identity::default(),
            told: None,
            looked: Millis(0),
            garbled: 0,
        }
    }

    /// It may lead to another board, in mid-sentence.
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
            identity,
            told,
            looked,
            ..
        } = self;
        driver.bytes(now, bytes, &mut |what| match what {
            Told::Squares(squares) => {
                let is_new = told.replace(squares) != Some(squares) || core.gap;
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
                core.identified(identity);
            }
            Told::Battery(battery) => core.battery(now, battery),
        });
        let garbled = self.driver.garbled();
        core.hardware.line_errors += garbled.saturating_sub(self.garbled);
        self.garbled = garbled;
    }

    pub(super) fn handle_timeout(&mut self, now: Millis, core: &mut Core) {
        self.driver.handle_timeout(now);
        core.review(now);
        self.looked = now;
    }

    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        let look = self.told.map(|_| self.looked + QUIET_LOOK_MS);
        self.driver.poll_timeout().into_iter().chain(look).min()
    }

    /// What is told next is looked at, even if it is what was told before.
    pub(super) fn read_anew(&mut self) {
        self.told = None;
    }

    pub(super) fn poll_transmit(&mut self) -> Option<CommandBytes> {
        self.driver.poll_transmit()
    }

    pub(super) fn poll_wish(&mut self) -> Option<Wish> {
        self.driver.poll_wish()
    }
}

#[cfg(test)]
mod tests;
