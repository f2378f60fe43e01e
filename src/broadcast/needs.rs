//! How many files and sockets a broadcast has open at most.

use crate::{config::Broadcast, door::ROOM};

/// Two connections to lichess, one of which ends.
const LICHESS: usize = 2;
/// The lock of the folder, and the file that is written.
const FOLDER: usize = 2;

/// The folder's, lichess, the public's view.
pub(crate) fn descriptors(broadcast: &Broadcast) -> usize {
    let lichess = broadcast.lichess.as_ref().map_or(0, |_| LICHESS);
    let public = broadcast.listen.map_or(0, |_| 1 + ROOM);
    FOLDER + lichess + public
}
