//! What the archive knows of a gateway.

use crate::mqtt::Whereabouts;

/// For so long two gateways of a name may be seen: a start and the one before it.
const BOTH_MS: u64 = 5_000;

/// A gateway, or several of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedGateway {
    /// By the brokers' places in the configuration.
    pub(super) whereabouts: Whereabouts<usize>,
    /// Since when two have the name.
    doubled_since: Option<u64>,
    /// True once a person was told so.
    is_told: bool,
    /// True once a person was told that it does not answer.
    pub(super) is_mute: bool,
}

impl NamedGateway {
    /// True once, where two gateways have had the name for a while.
    pub(super) fn is_doubled(&mut self, now: u64) -> bool {
        if !self.whereabouts.is_doubled(now) {
            self.doubled_since = None;
            return false;
        }
        let since = *self.doubled_since.get_or_insert(now);
        now >= since + BOTH_MS && !std::mem::replace(&mut self.is_told, true)
    }
}
