//! Pushes the games of a round to a broadcast on lichess, over its HTTP API.
//!
//! Each push carries the present state of all games, and the server works out what is new. So nothing is queued: if the
//! server cannot be reached, the newest state goes as soon as it can.

mod call;
mod told;

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use self::call::{Caller, PushAnswer, PushError};
pub use self::told::{Pushed, PushedGame};
use super::round::Published;
use crate::config::Lichess;

/// The server's limit of games in one push.
const MAX_GAMES: usize = 100;
/// The time between two pushes: moves within it go together, and the server is spared.
const INTERVAL: Duration = Duration::from_secs(1);
/// First and longest wait after a failure that may pass.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// The complaint while no game can be sent.
const NAMELESS: &str = "no game has the names of its players, by which lichess tells games apart: \
    give `pairings`, or a `table` at each board";

/// Pushes `games` at every change until `stop`, and tells `told` what the server answered.
pub async fn push(
    settings: Lichess,
    mut games: watch::Receiver<Vec<Published>>,
    told: watch::Sender<Option<Pushed>>,
    stop: CancellationToken,
) {
    let mut pusher = Pusher::new(settings, told);
    let work = async {
        games.mark_changed();
        while games.changed().await.is_ok() {
            let now = games.borrow_and_update().clone();
            if let Err(wait) = pusher.send(&now).await {
                sleep(wait).await;
                games.mark_changed();
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = stop.cancelled() => {}
    }
}

struct Pusher {
    caller: Caller,
    told: watch::Sender<Option<Pushed>>,
    /// The complaints that the log already has.
    complained: BTreeSet<String>,
    failures: u32,
}

impl Pusher {
    fn new(settings: Lichess, told: watch::Sender<Option<Pushed>>) -> Self {
        let round = settings.round.clone();
        told.send_replace(Some(Pushed {
            round,
            ..Pushed::default()
        }));
        Self {
            caller: Caller::new(settings),
            told,
            complained: BTreeSet::new(),
            failures: 0,
        }
    }

    /// Sends the present state. An error says how long to wait before the next try.
    async fn send(&mut self, games: &[Published]) -> Result<(), Duration> {
        let known: Vec<_> = (1..).zip(games).filter(|(_, game)| is_known(&game.pgn)).collect();
        if known.is_empty() {
            if !games.is_empty() {
                self.complain(NAMELESS);
                self.tell(|told| told.error = Some(NAMELESS.to_owned()));
            }
            return Ok(());
        }
        let sent: Vec<&str> = known
            .iter()
            .take(MAX_GAMES)
            .map(|(_, game)| game.pgn.as_str())
            .collect();
        match self.caller.push(sent.join("\n")).await {
            Ok(answer) => {
                self.taken(&known, answer);
                sleep(INTERVAL).await;
                Ok(())
            }
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn taken(&mut self, known: &[(usize, &Published)], answer: PushAnswer) {
        if self.failures > 0 {
            tracing::info!("lichess: pushing works again");
        }
        self.failures = 0;
        let mut answers = answer.games.into_iter();
        let games: Vec<_> = known
            .iter()
            .enumerate()
            .map(|(i, (number, game))| {
                let answer = answers.next();
                let (moves, error) = match answer {
                    Some(answer) => (answer.moves, answer.error),
                    None if i >= MAX_GAMES => {
                        let many = format!("lichess takes {MAX_GAMES} games; this one was not sent");
                        (None, Some(many))
                    }
                    None => (None, Some("lichess says nothing of it".to_owned())),
                };
                PushedGame {
                    board: game.board.clone(),
                    game: *number,
                    moves,
                    error,
                }
            })
            .collect();
        for game in &games {
            if let Some(error) = &game.error {
                self.complain(&format!(
                    "it does not take game {}: {error}; the other games go on",
                    game.game
                ));
            }
        }
        self.tell(|told| {
            let now = Timestamp::from_second(Timestamp::now().as_second());
            told.taken = now.ok().map(|now| now.to_string());
            told.error = None;
            told.games = games;
        });
    }

    fn failed(&mut self, error: &PushError) -> Duration {
        if self.failures == 0 {
            tracing::warn!("lichess: {error}; the newest state is sent again until it is taken");
        }
        self.tell(|told| told.error = Some(error.to_string()));
        let wait = RETRY.0.saturating_mul(1 << self.failures.min(5)).min(RETRY.1);
        self.failures += 1;
        error.peace().unwrap_or(wait)
    }

    fn tell(&self, change: impl FnOnce(&mut Pushed)) {
        self.told.send_modify(|told| change(told.get_or_insert_default()));
    }

    /// Makes each complaint once.
    fn complain(&mut self, what: &str) {
        if self.complained.insert(what.to_owned()) {
            tracing::warn!("lichess: {what}");
        }
    }
}

/// False for a game without a player's name: lichess could not tell it from others, and drops it.
fn is_known(game: &str) -> bool {
    !(game.contains("\n[White \"?\"]") && game.contains("\n[Black \"?\"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_of_nobody_are_left_out() {
        assert!(!is_known("[Round \"1.1\"]\n[White \"?\"]\n[Black \"?\"]\n\n*\n"));
        assert!(is_known("[Round \"1.1\"]\n[White \"A\"]\n[Black \"?\"]\n\n*\n"));
    }
}
