//! Pushes the games of a round to a broadcast on lichess, over its HTTP API.
//!
//! Each push carries the present state of all games, and the server works out what is new. So nothing is queued: if the
//! server cannot be reached, the newest state goes as soon as it can.

mod call;
mod pacer;
mod rounds;
mod told;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use self::call::{Caller, PushAnswer, PushError};
pub use self::{
    pacer::{Pacer, Pacers},
    told::{Pushed, PushedGame},
};
use super::round::Published;
use crate::{
    config::{
        Lichess,
        lichess::{LichessRound, LichessTarget, lichess_target},
    },
    game::pgn::tag,
};

/// First and longest wait after a failure that may pass.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// The complaint while no game can be sent.
const NAMELESS: &str = "no game has the names of both players, by which lichess tells games apart: \
    give `pairings`, or a `table` at each board";
/// The objection to a game of which one player is known. lichess answers as if it took such a game, and shows nothing of it.
const HALF_NAMED: &str = "lichess shows no game without the names of both players, of two letters at least";

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
    /// The place of each game among those sent. A game whose players become known later comes behind the others:
    /// lichess takes a game without moves for the first that it has and does not know by its tags, and so for another
    /// one if it came before that.
    places: BTreeMap<usize, usize>,
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
            places: BTreeMap::new(),
            complained: BTreeSet::new(),
            failures: 0,
            first: 0,
        }
    }

    /// Sends the present state to each round. An error says how long to wait before the next try.
    async fn send(&mut self, games: &[Published]) -> Result<(), Duration> {
        let with = |count: usize| {
            let games = (1..).zip(games);
            games.filter(move |(_, game)| players(&game.pgn) == count)
        };
        let known = self.in_place(with(2).collect());
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
                Ok(answer) => match answer.refusal(own.len()) {
                    Some(error) => failed.push((Some(round), error)),
                    None => taken.extend(answered(&own, answer)),
                },
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
        taken.extend(left.map(|(number, game)| not_taken(*number, game, no_round(&self.rounds))));
        taken.extend(with(1).map(|(number, game)| not_taken(number, game, HALF_NAMED.to_owned())));
        taken.sort_by_key(|game| game.game);
        self.tell_taken(taken, failed.is_empty());
        if failed.is_empty() {
            Ok(())
        } else {
            Err(self.failed(&failed))
        }
    }

    /// The games in the order in which they are sent.
    fn in_place<'a>(&mut self, mut games: Vec<(usize, &'a Published)>) -> Vec<(usize, &'a Published)> {
        for (number, _) in &games {
            let next = self.places.len();
            self.places.entry(*number).or_insert(next);
        }
        games.sort_by_key(|(number, _)| self.places.get(number).copied());
        games
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

fn not_taken(number: usize, game: &Published, why: String) -> PushedGame {
    PushedGame {
        board: game.board.clone(),
        game: number,
        moves: None,
        error: Some(why),
    }
}

fn no_round(rounds: &[LichessRound]) -> String {
    let rounds: Vec<_> = rounds.iter().map(ToString::to_string).collect();
    let rounds = rounds.join(", ");
    format!("no round on lichess takes it: there is {rounds}; name another one in `round`")
}

/// How many players of a game lichess knows. It takes neither a name of one letter nor `unknown` for one.
fn players(pgn: &str) -> usize {
    let is_known = |side: &&str| {
        let name = tag(pgn, side).unwrap_or_default();
        let is_name = name.trim().chars().count() > 1 && !name.trim().eq_ignore_ascii_case("unknown");
        is_name || tag(pgn, &format!("{side}FideId")).is_some()
    };
    ["White", "Black"].into_iter().filter(is_known).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_are_those_that_lichess_takes_for_some() {
        let of = |tags: &str| players(&format!("[Round \"1.1\"]\n{tags}\n\n*\n"));
        assert_eq!(of("[White \"?\"]\n[Black \"?\"]"), 0);
        assert_eq!(of("[White \"Al\"]\n[Black \"?\"]"), 1);
        assert_eq!(of("[White \"A\"]\n[Black \"Unknown\"]"), 0);
        assert_eq!(of("[White \"Al\"]\n[Black \"Bo\"]"), 2);
        assert_eq!(of("[White \"Al\"]\n[Black \"?\"]\n[BlackFideId \"7\"]"), 2);
    }
}
