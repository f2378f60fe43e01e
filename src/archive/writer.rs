//! Writes what waits on the intake into the database, and goes on trying where that is away.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{database::Database, shared::SharedIntake, trouble::DatabaseTrouble};
use crate::{config::DatabaseConfig, link::Backoff, time::Millis};

/// First and longest delay between attempts to connect, and when a connection counts as good.
const BACKOFF_MS: (u64, u64, u64) = (250, 30_000, 10_000);
/// How many rows go into one transaction.
const BATCH: usize = 200;
/// How long the end waits for the database. What it does not take until then is asked for at the next start.
const FAREWELL: Duration = Duration::from_secs(5);

/// Keeps what comes to the intake until `stop`, and then what waits there.
pub(crate) async fn keep(
    database: DatabaseConfig,
    tournament: String,
    shared: SharedIntake,
    stop: CancellationToken,
) {
    let writer = Writer {
        database,
        tournament,
        shared: shared.clone(),
        stop: stop.clone(),
    };
    tokio::select! {
        () = writer.run() => {}
        () = async { stop.cancelled().await; tokio::time::sleep(FAREWELL).await } => {}
    }
    if shared.intake().has_work() {
        tracing::warn!(
            "the database did not take everything before the end; the archive asks for the rest at its next start"
        );
    }
}

struct Writer {
    database: DatabaseConfig,
    tournament: String,
    shared: SharedIntake,
    stop: CancellationToken,
}

impl Writer {
    async fn run(&self) {
        let (first, longest, stable) = BACKOFF_MS;
        let mut backoff = Backoff::new(first, longest, stable);
        let mut rng = fastrand::Rng::new();
        let mut said = String::new();
        loop {
            let since = self.shared.now_ms();
            let (has_worked, trouble) = match self.session(&mut said).await {
                Ok(()) => return,
                Err(ended) => ended,
            };
            self.shared.intake().unload();
            if has_worked {
                backoff.up(Millis(since));
            }
            // The same trouble is told once, until the database works again.
            let words = trouble.to_string();
            if words != said {
                tracing::error!(
                    "the database takes no events: {words}. Events wait here, and what finds no room is asked for later; going on trying"
                );
                said = words;
            }
            if self.stop.is_cancelled() && !self.shared.intake().has_work() {
                return;
            }
            let delay = backoff.failed(Millis(self.shared.now_ms()), &mut rng);
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
    }

    /// Works for one connection, until the end is near and nothing waits. Else tells whether it took something, and
    /// what is wrong.
    async fn session(&self, said: &mut String) -> Result<(), (bool, DatabaseTrouble)> {
        let mut database = Database::open(&self.database, &self.tournament)
            .await
            .map_err(|trouble| (false, trouble))?;
        let kept = database.kept().await.map_err(|trouble| (false, trouble))?;
        self.shared.intake().load(kept);
        tracing::info!("the database takes the events of {:?}", self.tournament);
        said.clear();
        let mut most = BATCH;
        loop {
            let (rows, holes) = self.shared.intake().batch(most);
            if rows.is_empty() && holes.is_empty() {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                tokio::select! {
                    () = self.shared.rung() => {}
                    () = self.stop.cancelled() => {}
                    () = database.ended() => return Err((true, DatabaseTrouble::Gone)),
                }
                continue;
            }
            match database.write(&rows, &holes).await {
                Ok(()) => {
                    self.shared.intake().written(rows.len(), holes.len());
                    most = (2 * most).min(BATCH);
                }
                // One of them is at fault: find out which.
                Err(trouble) if trouble.is_about_rows() && rows.len() > 1 => most = rows.len() / 2,
                Err(trouble) if trouble.is_about_rows() && rows.len() == 1 => {
                    self.shared.intake().set_aside(&trouble.to_string());
                }
                Err(trouble) => return Err((true, trouble)),
            }
        }
    }
}
