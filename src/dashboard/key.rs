//! The name of a board among all gateways.

/// A board among all gateways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BoardKey {
    /// Its gateway's name.
    pub(crate) gateway: String,
    /// Its id.
    pub(crate) board: String,
}
