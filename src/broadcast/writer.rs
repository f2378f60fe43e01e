//! Writes the folder after every event, and whenever something that was held back becomes public.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    clocks::TimedClock,
    folder::{Folder, FolderError},
    note::{self, RoundNote},
    open::{OpenedRounds, open},
    patient::patiently,
    round::{Files, Published},
    rounds::{Picture, Rounds},
    steady::SteadyClock,
};
use crate::{
    config::{Broadcast, Lichess},
    event::Event,
};

/// Moves within this time are written together. No viewer sees the difference.
const TOGETHER: Duration = Duration::from_millis(100);
/// How long to wait before trying again to write the folder.
const PATIENCE: Duration = Duration::from_secs(5);

/// Nothing is waited for in one go for longer. A wait of years would be too long for a timer.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// How often the writer looks whether its files are still there. A look costs no more than to ask for each of them.
const LOOK: Duration = Duration::from_secs(60);

/// Events and readings of clocks that are told together.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// The events, each with the Unix time in milliseconds that it has if it names none itself.
    pub events: Vec<(Event, i64)>,
    /// True where other earlier events follow at once. The writer waits for these, because the public would see games
    /// go back.
    pub more: bool,
    /// Readings of clocks, each with its board, `GATEWAY/BOARD`. None comes before the events that happened before it
    /// were told for the first time.
    pub clocks: Vec<(String, TimedClock)>,
}

/// The games as they were last written, for the push and for the public's view.
pub(super) type Games = watch::Receiver<Vec<Published>>;

/// A broadcast: events in, files out.
#[derive(Debug)]
pub(super) struct Writer {
    clock: SteadyClock,
    rounds: Rounds,
    folder: Option<Folder>,
    /// The folder's place.
    root: PathBuf,
    /// The notes of the rounds. A restart needs them.
    notes: Arc<[RoundNote]>,
    current: watch::Sender<Vec<Published>>,
    former: watch::Sender<Vec<Published>>,
    failed: bool,
}

/// The games for those who send them on.
pub(super) struct Readers {
    pub(super) current: Games,
    /// The games of the former round, and its round on lichess.
    pub(super) former: Option<(Lichess, Games)>,
}

impl Writer {
    /// A broadcast as configured. A board whose name has no gateway is one of `gateway`.
    pub(super) fn new(settings: &Broadcast, gateway: &str) -> (Self, Readers) {
        let clock = SteadyClock::start();
        let OpenedRounds {
            rounds,
            lichess,
            notes,
        } = open(settings, gateway, clock.now_ms());
        let (number, before) = rounds.numbers();
        let folder = settings.folder.display();
        let boards = settings.boards.len();
        match before {
            None => tracing::info!("broadcast: round {number}, boards: {boards}, to {folder}"),
            Some(before) => tracing::info!(
                "broadcast: round {number}, boards: {boards}, to {folder}; what is to come of round {before} is still written"
            ),
        }
        let (current, current_games) = watch::channel(Vec::new());
        let (former, former_games) = watch::channel(Vec::new());
        let writer = Self {
            clock,
            rounds,
            folder: Some(Folder::new(settings.folder.clone())),
            root: settings.folder.clone(),
            notes: notes.into(),
            current,
            former,
            failed: false,
        };
        let readers = Readers {
            current: current_games,
            former: lichess.map(|lichess| (lichess, former_games)),
        };
        (writer, readers)
    }

    /// Writes until `stop`, or until nobody tells events any more.
    pub(super) async fn run(mut self, mut events: mpsc::Receiver<Bundle>, stop: CancellationToken) {
        // What was public before stays as it is until the writer has all events that happened meanwhile.
        let mut due: Option<Instant> = None;
        let mut changed = true;
        let mut is_told = false;
        let mut looks = interval_at(Instant::now() + LOOK, LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let wait = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                told = events.recv() => {
                    let Some(told) = told else { return };
                    for (event, written_ms) in &told.events {
                        changed |= self.rounds.take(event, self.clock.heard(*written_ms));
                    }
                    let clocks = told.clocks.iter();
                    let clocks = clocks
                        .filter_map(|(board, clock)| self.rounds.take_clock(board, self.clock.read(*clock)));
                    let public = clocks.min().map(|public_ms| after(public_ms, self.clock.now_ms()));
                    is_told = !told.more;
                    if told.more {
                        due = None;
                        changed = true;
                    } else {
                        let soon = std::mem::take(&mut changed).then(|| Instant::now() + TOGETHER);
                        due = [due, soon, public].into_iter().flatten().min();
                    }
                }
                () = wait => due = self.write().await,
                _ = looks.tick(), if is_told => if self.is_robbed().await {
                    due = self.write().await;
                },
                () = stop.cancelled() => {
                    if due.is_some() {
                        self.write().await;
                    }
                    return;
                }
            }
        }
    }

    /// Writes what is public now; returns when to look again.
    async fn write(&mut self) -> Option<Instant> {
        let now_ms = self.clock.now_ms();
        let Picture {
            files,
            current,
            former,
        } = self.rounds.picture(now_ms);
        tell(&self.current, current);
        tell(&self.former, former);
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
        let next_ms = self.rounds.next_change_ms(now_ms)?;
        Some(after(next_ms, now_ms))
    }

    /// True where somebody has taken files away, by mistake or to make the folder anew. The log says so once for each time.
    async fn is_robbed(&mut self) -> bool {
        let Some(mut folder) = self.folder.take() else {
            return false;
        };
        let (root, notes) = (self.root.clone(), Arc::clone(&self.notes));
        let at = self.root.clone();
        let looked = patiently(&at, move || {
            let gone = folder.forget_missing();
            let noted = notes.iter().try_for_each(|note| note::write_missing(&root, note));
            (folder, gone, noted)
        });
        let Ok((folder, gone, noted)) = looked.await else {
            return false;
        };
        self.folder = Some(folder);
        if let Err(error) = noted
            && !self.failed
        {
            tracing::error!("broadcast: {error}");
        }
        if let Some(first) = gone.first() {
            tracing::warn!(
                "broadcast: somebody took files away from {} (number: {}, the first is {first}): they are written again. To begin a round from scratch, stop the program first",
                self.root.display(),
                gone.len()
            );
        }
        !gone.is_empty()
    }

    /// Writes the files in another thread, because the disk may be slow and other tasks of this thread must go on.
    async fn put(&mut self, files: Files) -> Result<(), FolderError> {
        let Some(mut folder) = self.folder.take() else {
            return Ok(());
        };
        let done = patiently(&self.root, move || {
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
}

/// When to look at what becomes public at a Unix time in milliseconds, if it is `now_ms` now.
fn after(public_ms: i64, now_ms: i64) -> Instant {
    let wait = Duration::from_millis(u64::try_from(public_ms.saturating_sub(now_ms)).unwrap_or(0));
    Instant::now() + wait.min(LONGEST_WAIT)
}

fn tell(to: &watch::Sender<Vec<Published>>, games: Vec<Published>) {
    to.send_if_modified(|former| {
        let changed = *former != games;
        *former = games;
        changed
    });
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use super::*;
    use crate::tournament::{Pairings, Tournament};

    #[tokio::test]
    async fn a_folder_that_is_taken_away_comes_back_with_its_note() {
        let place = tempfile::tempdir().unwrap();
        let settings = Broadcast {
            group: None,
            folder: place.path().join("open"),
            tournament: Tournament {
                round: 1,
                rounds: 1,
                ..Tournament::default()
            },
            pairings: Pairings::parse("board,white,black\n1,A,B\n", 1).unwrap(),
            others: BTreeMap::new(),
            pairings_file: None,
            formerly: std::collections::BTreeSet::new(),
            boards: vec!["7".into()],
            begins_ms: None,
            lichess: None,
            listen: None,
        };
        let (mut writer, _readers) = Writer::new(&settings, "gw");
        writer.write().await;
        assert!(!writer.is_robbed().await);
        let round = settings.folder.join("round-1");
        let note = fs::read_to_string(round.join(".begun")).unwrap();
        fs::remove_dir_all(&settings.folder).unwrap();
        assert!(writer.is_robbed().await);
        writer.write().await;
        assert_eq!(fs::read_to_string(round.join(".begun")).unwrap(), note);
        assert!(round.join("game-1.pgn").exists() && round.join("index.json").exists());
        assert!(!writer.is_robbed().await);
    }
}
