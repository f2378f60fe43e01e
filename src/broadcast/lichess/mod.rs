//! Pushes the games of a round to a broadcast on lichess, over its HTTP API.
//!
//! Each push carries the present state of all games, and the server works out what is new. So nothing is queued: if the
//! server cannot be reached, the newest state goes as soon as it can.

mod call;
mod pacer;
mod rounds;
mod told;

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use self::call::{Caller, PushAnswer, PushError};
pub use self::{
    pacer::Pacer,
    told::{Pushed, PushedGame},
};
use super::round::Published;
use crate::config::{
    Lichess,
    lichess::{LichessRound, LichessTarget, lichess_target},
};

/// First and longest wait after a failure that may pass.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// The complaint while no game can be sent.
const NAMELESS: &str = "no game has the names of its players, by which lichess tells games apart: \
    give `pairings`, or a `table` at each board";

/// Pushes `games` at every change until `stop`, when `pacer` lets it, and tells `told` what the server answered.
pub async fn push(
    settings: Lichess,
    pacer: Pacer,
    mut games: watch::Receiver<Vec<Published>>,
    told: watch::Sender<Option<Pushed>>,
    stop: CancellationToken,
) {
    let mut pusher = Pusher::new(settings, pacer.clone(), told);
    let work = async {
        games.mark_changed();
        while games.changed().await.is_ok() {
            // What changes meanwhile goes along.
            pacer.rested().await;
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
    /// Those that are known: of a broadcast they are found or made when there are games.
    rounds: Vec<LichessRound>,
    /// The broadcast, and the number of the round.
    broadcast: Option<(String, u32)>,
    told: watch::Sender<Option<Pushed>>,
    /// The complaints that the log already has.
    complained: BTreeSet<String>,
    failures: u32,
    /// The round with which the next sending begins: those before it were sent when the server had enough.
    first: usize,
}

impl Pusher {
    fn new(settings: Lichess, pacer: Pacer, told: watch::Sender<Option<Pushed>>) -> Self {
        let round = settings.round.clone();
        // Who made the settings has checked them.
        let (rounds, broadcast) = match lichess_target(&round) {
            Ok(LichessTarget::Rounds(rounds)) => (rounds, None),
            Ok(LichessTarget::Broadcast { id, round }) => (Vec::new(), Some((id, round))),
            Err(_) => (Vec::new(), None),
        };
        told.send_replace(Some(Pushed {
            round,
            ..Pushed::default()
        }));
        Self {
            caller: Caller::new(settings, pacer),
            rounds,
            broadcast,
            told,
            complained: BTreeSet::new(),
            failures: 0,
            first: 0,
        }
    }

    /// Sends the present state to each round. An error says how long to wait before the next try.
    async fn send(&mut self, games: &[Published]) -> Result<(), Duration> {
        let known: Vec<_> = (1..).zip(games).filter(|(_, game)| is_known(&game.pgn)).collect();
        if known.is_empty() {
            if !games.is_empty() {
                self.complain(NAMELESS);
                self.tell(|told| told.error = Some(NAMELESS.to_owned()));
            }
            return Ok(());
        }
        let (mut taken, mut failed) = (Vec::new(), Vec::new());
        if let Some((broadcast, round)) = self.broadcast.clone() {
            let rounds = rounds::find(&mut self.caller, &broadcast, round, games.len(), &mut self.rounds);
            if let Err(error) = rounds.await {
                return Err(self.failed(&[(None, error)]));
            }
        }
        let mut rounds: Vec<_> = self.rounds.iter().cloned().enumerate().collect();
        rounds.rotate_left(std::mem::take(&mut self.first));
        for (place, round) in rounds {
            let own: Vec<_> = known
                .iter()
                .filter(|(number, _)| round.games.contains(number))
                .copied()
                .collect();
            if own.is_empty() {
                continue;
            }
            let sent: Vec<&str> = own.iter().map(|(_, game)| game.pgn.as_str()).collect();
            match self.caller.push(&round.id, sent.join("\n")).await {
                Ok(answer) => taken.extend(answered(&own, answer)),
                Err(error) => {
                    // It has enough of the token, not of the round. The others go when it may be asked again, with what
                    // is new by then.
                    let has_enough = error.peace().is_some();
                    failed.push((Some(round), error));
                    if has_enough {
                        self.first = place;
                        break;
                    }
                }
            }
        }
        let is_left = |number: usize| !self.rounds.iter().any(|round| round.games.contains(&number));
        let left = known.iter().filter(|(number, _)| is_left(*number));
        taken.extend(left.map(|(number, game)| not_taken(*number, game, &self.rounds)));
        taken.sort_by_key(|game| game.game);
        self.tell_taken(taken, failed.is_empty());
        if failed.is_empty() {
            Ok(())
        } else {
            Err(self.failed(&failed))
        }
    }

    /// Tells what was answered on the games. Those of a round that did not answer are as they were told before.
    fn tell_taken(&mut self, taken: Vec<PushedGame>, whole: bool) {
        for game in &taken {
            if let Some(error) = &game.error {
                self.complain(&format!(
                    "it does not take game {}: {error}; the other games go on",
                    game.game
                ));
            }
        }
        if whole && self.failures > 0 {
            tracing::info!("lichess: pushing works again");
            self.failures = 0;
        }
        self.tell(|told| {
            if whole {
                let now = Timestamp::from_second(Timestamp::now().as_second());
                told.taken = now.ok().map(|now| now.to_string());
                told.error = None;
                told.games = taken;
                return;
            }
            told.games
                .retain(|old| !taken.iter().any(|new| new.game == old.game));
            told.games.extend(taken);
            told.games.sort_by_key(|game| game.game);
        });
    }

    /// Takes note of what did not go through, with the rounds that it concerns, and how long to wait.
    fn failed(&mut self, errors: &[(Option<LichessRound>, PushError)]) -> Duration {
        let several = self.rounds.len() > 1;
        let said = errors.iter().map(|(round, error)| match round {
            Some(round) if several => format!("{round}: {error}"),
            _ => error.to_string(),
        });
        let said = said.collect::<Vec<_>>().join("; ");
        if self.failures == 0 {
            tracing::warn!("lichess: {said}; the newest state is sent again until it is taken");
        }
        self.tell(|told| told.error = Some(said));
        let wait = RETRY.0.saturating_mul(1 << self.failures.min(5)).min(RETRY.1);
        self.failures += 1;
        let peace = errors.iter().filter_map(|(_, error)| error.peace()).max();
        peace.unwrap_or(wait)
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

/// What the server said of the games that were sent, in their order.
fn answered(own: &[(usize, &Published)], answer: PushAnswer) -> Vec<PushedGame> {
    let mut answers = answer.games.into_iter();
    let game = |(number, game): &(usize, &Published)| {
        let (moves, error) = match answers.next() {
            Some(answer) => (answer.moves, answer.error),
            None => (None, Some("lichess says nothing of it".to_owned())),
        };
        PushedGame {
            board: game.board.clone(),
            game: *number,
            moves,
            error,
        }
    };
    own.iter().map(game).collect()
}

fn not_taken(number: usize, game: &Published, rounds: &[LichessRound]) -> PushedGame {
    let rounds: Vec<_> = rounds.iter().map(ToString::to_string).collect();
    let rounds = rounds.join(", ");
    PushedGame {
        board: game.board.clone(),
        game: number,
        moves: None,
        error: Some(format!(
            "no round on lichess takes it: there is {rounds}; name another one in `round`"
        )),
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
