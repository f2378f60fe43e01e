//! What a board is called.

/// A board among all gateways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoardKey {
    /// Its gateway's name.
    pub gateway: String,
    /// Its id.
    pub board: String,
}
