//! The name of a board among all gateways.

/// A board among all gateways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BoardKey {
    /// Its gateway's name.
    pub(crate) gateway: String,
    /// Its id.
    pub(crate) board: String,
}

impl BoardKey {
    /// The board that is named as `GATEWAY/BOARD`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (gateway, board) = name.split_once('/')?;
        Some(Self {
            gateway: gateway.to_owned(),
            board: board.to_owned(),
        })
    }
}
