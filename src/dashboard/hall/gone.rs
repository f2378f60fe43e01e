//! Gateways that an arbiter has taken off the page because they are gone for good. Their retained states stay on the
//! broker, because they are not the page's. The page does not show them until the gateway comes online again.

use std::collections::BTreeSet;

use super::Hall;

/// The gateways that are not shown.
#[derive(Clone, Debug, Default)]
pub(in crate::dashboard) struct Gone {
    gateways: BTreeSet<String>,
    /// The revision at which boards last went off the page.
    pub(in crate::dashboard) revision: u64,
}

impl Gone {
    /// True where the page takes nothing from a gateway.
    pub(in crate::dashboard) fn is_gone(&self, gateway: &str) -> bool {
        self.gateways.contains(gateway)
    }
}

/// Why a gateway stays on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotGone {
    /// The gateway is online.
    #[error("the gateway is online: stop it first, and remove it then")]
    Online,
    /// There is no gateway of the name.
    #[error("no gateway of this name is on the page")]
    Unknown,
}

impl NotGone {
    /// Stable code.
    #[must_use]
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Online => "gateway_online",
            Self::Unknown => "unknown_gateway",
        }
    }
}

impl Hall {
    /// Takes a gateway off the page, with its boards, until it comes online again.
    ///
    /// # Errors
    /// While the gateway is online, or where there is none.
    pub(crate) fn remove_gateway(&mut self, gateway: &str) -> Result<(), NotGone> {
        if self.is_online(gateway) {
            return Err(NotGone::Online);
        }
        let is_known =
            self.gateways.contains_key(gateway) || self.boards.keys().any(|key| key.gateway == gateway);
        if !is_known {
            return Err(NotGone::Unknown);
        }
        while self.drop_one(gateway) {}
        self.revision += 1;
        self.brokers_revision = self.revision;
        self.gone.revision = self.revision;
        self.gone.gateways.insert(gateway.to_owned());
        Ok(())
    }

    /// True when a gateway that was taken off the page comes back with this message. The page must hear its retained
    /// states again.
    pub(in crate::dashboard) fn comes_back(&mut self, topic: &str, payload: &[u8]) -> bool {
        let gateway = topic.strip_suffix("/status").filter(|_| payload == b"online");
        gateway.is_some_and(|gateway| self.gone.gateways.remove(gateway))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dashboard::BoardKey;

    #[test]
    fn a_gateway_goes_when_it_is_away_and_comes_back_by_itself() {
        let mut hall = Hall::default();
        let key = BoardKey {
            gateway: "old".into(),
            board: "1".into(),
        };
        assert_eq!(hall.remove_gateway("old"), Err(NotGone::Unknown));
        hall.take("old/status", b"online", 0);
        hall.take("old/board/1/status", b"online", 0);
        hall.take("new/status", b"online", 0);
        assert_eq!(hall.remove_gateway("old"), Err(NotGone::Online));
        hall.take("old/status", b"offline", 0);
        let before = hall.revision();
        hall.remove_gateway("old").unwrap();
        assert!(hall.gone.revision > before);
        assert!(hall.board(&key).is_none());
        // The broker delivers its retained states after every connect.
        assert!(!hall.comes_back("old/board/1/status", b"online"));
        assert!(!hall.take("old/status", b"offline", 0));
        assert!(!hall.take("old/board/1/status", b"online", 0));
        assert!(hall.board(&key).is_none() && hall.is_online("new"));
        assert!(hall.comes_back("old/status", b"online"));
        assert!(hall.take("old/status", b"online", 0));
        assert!(hall.take("old/board/1/status", b"online", 0));
        assert!(hall.board(&key).is_some());
    }
}
