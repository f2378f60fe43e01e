//! Writes the folder after every event, and whenever something held back becomes public.

use std::time::Duration;

use jiff::Timestamp;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    folder::{Folder, FolderError, round_began},
    round::{Files, Round, Tournament},
};
use crate::config::Broadcast;

/// Moves of many boards that come at once are written together. No viewer sees the difference.
const TOGETHER: Duration = Duration::from_millis(100);
/// A folder that cannot be written is tried again after this.
const PATIENCE: Duration = Duration::from_secs(5);
/// The wall clock may be set while something waits to become public: it is looked at so often.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// An event, and its time in Unix milliseconds should it have none itself.
pub type Told = (crate::event::Event, i64);

/// A broadcast: events in, files out.
#[derive(Debug)]
pub struct Writer {
    round: Round,
    folder: Option<Folder>,
    /// The games as they were last written, for those who send them on.
    games: watch::Sender<Vec<String>>,
    round_number: u32,
    failed: bool,
}

impl Writer {
    /// A broadcast as it is configured, of the boards of `gateway` where their names name no other.
    /// What it shows is handed to the receiver as well.
    #[must_use]
    pub fn new(settings: &Broadcast, gateway: &str) -> (Self, watch::Receiver<Vec<String>>) {
        let now = Timestamp::now().as_millisecond();
        let tournament = &settings.tournament;
        let began = round_began(&settings.folder, tournament.round, now);
        let tournament = Tournament {
            since_ms: began.unwrap_or_else(|error| {
                tracing::error!("broadcast: {error}");
                now
            }),
            ..tournament.clone()
        };
        let full = |board: &String| match board.contains('/') {
            true => board.clone(),
            false => format!("{gateway}/{board}"),
        };
        let tables = settings.boards.iter().map(full).collect();
        let (games, receiver) = watch::channel(Vec::new());
        let writer = Self {
            round_number: tournament.round,
            round: Round::new(tournament, settings.pairings.clone(), tables),
            folder: Some(Folder::new(settings.folder.clone())),
            games,
            failed: false,
        };
        (writer, receiver)
    }

    /// Writes until `stop`, or until nobody tells events any more.
    pub async fn run(mut self, mut events: mpsc::Receiver<Told>, stop: CancellationToken) {
        let mut due = Some(Instant::now());
        loop {
            let wait = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                told = events.recv() => {
                    let Some((event, at_ms)) = told else { return };
                    if self.round.take(&event, at_ms) {
                        let soon = Instant::now() + TOGETHER;
                        due = Some(due.map_or(soon, |due| due.min(soon)));
                    }
                }
                () = wait => due = self.write().await,
                () = stop.cancelled() => return,
            }
        }
    }

    /// Writes what is public now; when to look again.
    async fn write(&mut self) -> Option<Instant> {
        let now_ms = Timestamp::now().as_millisecond();
        let files = self.round.files(now_ms);
        self.tell_games(&files);
        let written = self.put(files).await;
        if let Err(error) = written {
            if !self.failed {
                tracing::error!("broadcast: {error}");
            }
            self.failed = true;
            return Some(Instant::now() + PATIENCE);
        }
        if self.failed {
            tracing::info!("broadcast: the folder can be written again");
            self.failed = false;
        }
        let next_ms = self.round.next_change_ms(now_ms)?;
        let wait = Duration::from_millis(u64::try_from(next_ms - now_ms).unwrap_or(0));
        Some(Instant::now() + wait.min(LONGEST_WAIT))
    }

    /// The disk may be slow: other tasks of this thread go on meanwhile.
    async fn put(&mut self, files: Files) -> Result<(), FolderError> {
        let Some(mut folder) = self.folder.take() else {
            return Ok(());
        };
        let done = tokio::task::spawn_blocking(move || {
            let written = folder.write(files);
            (folder, written)
        });
        match done.await {
            Ok((folder, written)) => {
                self.folder = Some(folder);
                written
            }
            Err(error) => {
                tracing::error!("broadcast: writing failed and ends: {error}");
                Ok(())
            }
        }
    }

    fn tell_games(&self, files: &Files) {
        let games: Vec<String> = (1..)
            .map_while(|number| files.get(&format!("round-{}/game-{number}.pgn", self.round_number)))
            .cloned()
            .collect();
        self.games.send_if_modified(|former| {
            let changed = *former != games;
            *former = games;
            changed
        });
    }
}
