//! Files that others can reach as well: read and written so that none of them keeps us waiting or leads elsewhere.

pub(crate) mod plain;
pub(crate) mod shared;
