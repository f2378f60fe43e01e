//! Work on the folder, which may lie on a share that is slow or does not answer at all. It is done in another thread: boards and
//! broker have this one.

use std::{path::Path, time::Duration};

use tokio::{
    task::{JoinError, spawn_blocking},
    time::timeout,
};

/// A folder that has not answered for so long is told.
const SLOW: Duration = Duration::from_secs(10);

/// Does `work` on the folder at `root`, however long that takes.
///
/// # Errors
/// When the work panics.
pub(super) async fn patiently<T: Send + 'static>(
    root: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let mut done = spawn_blocking(work);
    if let Ok(done) = timeout(SLOW, &mut done).await {
        return done;
    }
    let folder = root.display();
    tracing::warn!(
        "broadcast: {folder} has not answered for {} s, so the public sees nothing new: is the share there, and the disk well? All else goes on",
        SLOW.as_secs()
    );
    let done = done.await;
    tracing::info!("broadcast: {folder} answers again");
    done
}
