//! Hands what a watcher says to the journal first, and then to everybody else.

use std::path::Path;

use super::{BoardError, BoardTask};
use crate::{
    broadcast::GameDate,
    event::{Event, notice},
    game::pgn::with_tag,
    gateway::{history, standing::BoardStanding},
    journal::{AppendError, CommandRecord, Committed, Entry, Written},
    mqtt::{BoardState, CommandReply, StateKey},
    watcher::{Needed, StateSet},
};

/// The day on which `game` of `board` began, according to its events in the journal, which is read in another thread.
pub(super) async fn date_of(path: &Path, board: &str, game: Option<u32>) -> GameDate {
    let Some(game) = game else {
        return GameDate::default();
    };
    let (path, board) = (path.to_owned(), board.to_owned());
    let reading = tokio::task::spawn_blocking(move || {
        // A journal that cannot be read says so itself. The game then has the day that the watcher knows.
        let events = history::game(&path, &board, &Needed::Game(game)).unwrap_or_default();
        let mut date = GameDate::default();
        events.iter().for_each(|event| date.take(event));
        date
    });
    reading.await.unwrap_or_default()
}

/// An entry that the journal has not answered.
pub(super) struct Pending {
    pub(super) committed: Committed,
    /// The `seq` of its first and of its last event.
    seqs: Option<(u64, u64)>,
    changed: StateSet,
    replies: Vec<CommandReply>,
}

impl BoardTask {
    /// Hands the watcher's events and snapshot to the journal, one entry at a time.
    pub(super) async fn drain(&mut self) {
        self.changed |= self.watcher.take_changed();
        self.note_heard();
        if self.pending.is_some() {
            return;
        }
        let events: Vec<_> = std::iter::from_fn(|| self.watcher.poll_event()).collect();
        if events.is_empty() && self.save_at.is_none_or(|at| self.shared.clock.now() < at) {
            // States without events need not wait for the disk.
            let changed = std::mem::take(&mut self.changed);
            self.publish(changed);
            return;
        }
        self.append(events, None).await;
    }

    /// Sees to it that the disk soon has readings that no event tells of, because the board does not tell them again
    /// after a crash.
    fn note_heard(&mut self) {
        let Some(heard) = self.watcher.take_heard() else {
            return;
        };
        // The wait for the disk goes by the daemon's clock, not by that of the line.
        let due = heard.due(self.shared.clock.now());
        self.save_at = Some(self.save_at.map_or(due, |known| known.min(due)));
    }

    pub(super) async fn append(&mut self, events: Vec<Event>, command: Option<CommandRecord>) {
        self.save_at = None;
        for event in &events {
            self.evening.tell(event);
            self.date.take(event);
        }
        let entry = Entry {
            board: self.plan.id.to_string(),
            events,
            snapshot: self.snapshot(),
            command,
        };
        let seqs = entry.events.first().zip(entry.events.last());
        self.pending = Some(Pending {
            seqs: seqs.map(|(first, last)| (first.seq, last.seq)),
            committed: self.shared.journal.append(entry).await,
            changed: std::mem::take(&mut self.changed),
            replies: std::mem::take(&mut self.replies),
        });
    }

    fn snapshot(&self) -> Option<String> {
        serde_json::to_string(&self.watcher.snapshot())
            .inspect_err(|error| tracing::error!(board = self.plan.id.as_str(), %error, "cannot write the state as JSON"))
            .ok()
    }

    /// Tells everybody else, now that the journal has the entry.
    pub(super) fn committed(&mut self, answer: Result<Written, AppendError>) -> Result<(), BoardError> {
        let Some(pending) = self.pending.take() else {
            return Ok(());
        };
        match answer {
            Ok(Written::Disk) => {
                if let Some(message) = self.shared.losses.written(&self.plan.id) {
                    let now = self.catch_up();
                    self.watcher.handle_notice(now, notice::EVENTS_LOST, &message);
                }
            }
            Ok(Written::Memory) => {}
            // A board that loses events is better than one that stops.
            Err(AppendError::MemoryFull(_)) => self.shared.losses.refused(&self.plan.id, pending.seqs),
            Err(error) => return Err(error.into()),
        }
        self.publish(pending.changed);
        for reply in pending.replies {
            self.shared.publisher.reply(reply);
        }
        Ok(())
    }

    /// The present game as PGN. The watcher asks no wall clock but that of its own run, so the day comes from the events.
    fn pgn(&self) -> Option<String> {
        let pgn = self.watcher.pgn()?;
        let date = self.watcher.game().game.and_then(|game| self.date.of(game));
        Some(match date {
            Some(date) => with_tag(&pgn, "Date", &date),
            None => pgn,
        })
    }

    pub(super) fn publish(&self, changed: StateSet) {
        if changed.status || changed.game {
            let standing = BoardStanding::of(self.watcher.status(), &self.watcher.game());
            self.shared.standings.set(&self.plan.id, standing);
        }
        let (topics, states, id) = (&self.shared.topics, &self.shared.publisher.states, &self.plan.id);
        let set = |state: BoardState, payload: serde_json::Result<Vec<u8>>| match payload {
            Ok(payload) => states.set(StateKey::board(topics, id, state), payload),
            Err(error) => tracing::error!(board = id.as_str(), %error, "cannot write a state as JSON"),
        };
        if changed.status {
            let word = serde_json::to_value(self.watcher.status()).ok();
            let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or("offline");
            states.set(StateKey::board(topics, id, BoardState::Status), word.to_owned());
        }
        if changed.info {
            set(BoardState::Info, serde_json::to_vec(&self.watcher.info()));
        }
        if changed.position {
            set(BoardState::Position, serde_json::to_vec(&self.watcher.position()));
        }
        if changed.game {
            set(BoardState::Game, serde_json::to_vec(&self.watcher.game()));
            if let Some(pgn) = self.pgn() {
                states.set(StateKey::board(topics, id, BoardState::Pgn), pgn);
            }
        }
        if changed.clock {
            let view = self.watcher.clock();
            if let Some(clock) = view.clock {
                let board = format!("{}/{id}", self.plan.settings.gateway);
                let (standing, now) = (self.shared.standings.of(id), self.now());
                self.shared
                    .clocks
                    .tells(board, clock, standing, now, self.epoch_ms);
            }
            if let Ok(payload) = serde_json::to_vec(&view) {
                states.set(StateKey::clock(topics, id, self.shared.clock_interval), payload);
            }
        }
    }
}
