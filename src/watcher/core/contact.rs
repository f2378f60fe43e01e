//! Which board answers, and at which port. The link to it comes and goes.

use super::{another_board::PlayedOn, phase::Phase};
use crate::{dgt::Identity, event::Body, watcher::state::StateSet};

/// The board that answers.
#[derive(Debug, Default)]
pub(in crate::watcher) struct Contact {
    pub(super) link: Option<String>,
    pub(super) connected: bool,
    /// The watcher goes on from a snapshot, and no link was up since.
    pub(super) succeeds: bool,
    /// The next dump may come before the greeting, in which the board identifies itself.
    before_greeting: bool,
    pub(super) identity: Identity,
    pub(super) played_on: PlayedOn,
}

impl Contact {
    /// The link is up, on `port`.
    pub(in crate::watcher) fn link_up(&mut self, changed: &mut StateSet, port: &str) {
        self.link = Some(port.to_string());
        changed.info = true;
    }

    /// The link is down. Returns what there is to tell of a board that answered.
    pub(super) fn link_down(&mut self, changed: &mut StateSet, reason: &str) -> Option<Body> {
        self.link = None;
        let connected = std::mem::take(&mut self.connected);
        changed.status |= connected;
        connected.then(|| Body::BoardDisconnected {
            reason: reason.into(),
        })
    }

    /// Another board may answer at the port.
    pub(in crate::watcher) fn expect_another(&mut self) {
        self.succeeds = false;
    }

    /// True, once, if a game goes on, or may begin, that another daemon watched until now. Its board may report changes all the time.
    pub(in crate::watcher) fn take_succession(&mut self, phase: &Phase) -> bool {
        std::mem::take(&mut self.succeeds) && phase.is_worth_keeping()
    }

    /// The board was asked for a dump before it was greeted.
    pub(in crate::watcher) fn expect_before_greeting(&mut self) {
        self.before_greeting = true;
    }

    /// The board answers. It counts as connected once it has sent all its squares, as it does where it `shows` them: by then it has
    /// identified itself, if it ever does. Returns what there is to tell.
    pub(super) fn hear(&mut self, changed: &mut StateSet, identity: &Identity, shows: bool) -> Option<Body> {
        self.identified(changed, identity);
        let shows = shows && !self.is_before_greeting();
        if !shows || self.connected || self.link.is_none() {
            return None;
        }
        self.connected = true;
        changed.status = true;
        Some(Body::BoardConnected {
            serial: self.identity.serial().map(str::to_string),
            firmware: self.firmware(),
            port: self.link.clone(),
        })
    }

    /// True, once, for a dump that came before the board identified itself, because the greeting could wait.
    fn is_before_greeting(&mut self) -> bool {
        std::mem::take(&mut self.before_greeting) && self.identity.serial().is_none()
    }

    /// Takes what the board has told of itself.
    pub(in crate::watcher) fn identified(&mut self, changed: &mut StateSet, identity: &Identity) {
        if self.identity != *identity {
            self.identity = identity.clone();
            changed.info = true;
        }
    }

    /// The version of the board's firmware, where it is known.
    pub(super) fn firmware(&self) -> Option<String> {
        self.identity.firmware.map(|(main, sub)| format!("{main}.{sub}"))
    }
}
