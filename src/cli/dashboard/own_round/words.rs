//! The commands of the page to a broadcast that its own program writes: the next round begins, and results of games of
//! which no board tells are entered. They are those that gateways know, with the same answers.

use serde_json::{Value, json};

use super::OwnRound;
use crate::{
    config::Broadcast,
    dashboard::{Ask, BoardKey},
    mqtt::{NextRound, ResultsAsked, command::SENDER},
    tournament::{self, EnteredResults, InForce, Pairings, PairingsError},
};

/// Why a command is refused.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
enum Refused {
    #[error("{0}")]
    Fields(String),
    #[error(
        "this broadcast has its pairings from its file: change that, and read the configuration again (SIGHUP)"
    )]
    OfFile,
    #[error("round {present} is in force, and round {asked} does not follow it: begin round {}", .present + 1)]
    NotNext { asked: u32, present: u32 },
    #[error(
        "a gateway of its boards says which round is played: begin the round there, and the broadcast follows"
    )]
    Follows,
    #[error(
        "round {0} cannot begin: {1}; or name `round = {0}` and its `pairings` in the configuration of the page"
    )]
    Unpaired(u32, PairingsError),
    #[error(
        "round {0} cannot begin: the broadcast has no file of pairings; name `pairings` in the configuration of the page"
    )]
    NoFile(u32),
    #[error(
        "the games go to lichess: name the `broadcast` there once for all rounds, or `round = {0}` and its round on lichess in the configuration of the page"
    )]
    Lichess(u32),
    #[error("{0:?} is no position to begin with: {1}; write the FEN of the position before the first move")]
    Start(String, String),
    #[error(
        "round {0} is in force: look at its games again, and give `round`, the number of the round that the results are of. One that this broadcast began before takes them as well, without leaving round {0}"
    )]
    NotPresent(u32),
    #[error("game {0} is not in the pairings of round {1}")]
    NoGame(usize, u32),
    #[error(
        "it cannot be kept in the folder ({0}), so nothing was changed: see to the disk and send it again"
    )]
    NotKept(String),
}

impl Refused {
    fn code(&self) -> &'static str {
        match self {
            Self::Fields(_) => "bad_fields",
            Self::OfFile => "round_of_file",
            Self::NotNext { .. } => "round_not_next",
            Self::Follows => "round_follows",
            Self::Unpaired(..) | Self::NoFile(_) => "broadcast_unpaired",
            Self::Lichess(_) => "broadcast_lichess_missing",
            Self::Start(..) => "start_wrong",
            Self::NotPresent(_) => "round_not_present",
            Self::NoGame(..) => "game_not_paired",
            Self::NotKept(_) => "broadcast_not_kept",
        }
    }
}

impl OwnRound {
    /// Carries a command out, and answers it.
    pub(super) fn answer(&mut self, ask: Ask) {
        let by = ask.fields.get(SENDER).and_then(Value::as_str).map(str::to_owned);
        let mut fields = ask.fields;
        fields.remove(SENDER);
        let fields = Value::Object(fields);
        let wrong = |error: serde_json::Error| Refused::Fields(error.to_string());
        let done = match ask.verb.as_str() {
            "next_round" => serde_json::from_value(fields)
                .map_err(wrong)
                .and_then(|asked| self.begin(&asked)),
            "results" => serde_json::from_value(fields)
                .map_err(wrong)
                .and_then(|asked| self.enter(asked, by.as_deref())),
            _ => Err(Refused::OfFile),
        };
        let reply = match done {
            Ok(state) => json!({ "ok": true, "state": state }),
            Err(refused) => {
                tracing::warn!("{}: the command {} is refused: {refused}", self.label(), ask.verb);
                json!({ "ok": false, "error": { "code": refused.code(), "message": refused.to_string() } })
            }
        };
        // The page may be closed.
        let _ = ask.answer.send(Ok(reply));
    }

    /// Begins the next round by the pairings of the file, if no gateway says which round is played.
    fn begin(&mut self, asked: &NextRound) -> Result<Value, Refused> {
        let Some(configured) = self.configured.borrow().clone() else {
            return Err(Refused::OfFile);
        };
        let present = self.present(&configured);
        let Some(begin) = asked.begin else {
            return Err(Refused::Fields(
                "`begin` is missing: the number of the round".to_owned(),
            ));
        };
        if let Some(start) = &asked.start {
            tournament::array(start).map_err(|why| Refused::Start(start.clone(), why))?;
        }
        if begin == present {
            return Ok(json!({ "round": present, "begun": true }));
        }
        if begin != present + 1 {
            return Err(Refused::NotNext {
                asked: begin,
                present,
            });
        }
        if !self.rounds(&configured).is_empty() {
            return Err(Refused::Follows);
        }
        let is_of_one_round = |lichess: &crate::config::Lichess| lichess.broadcast.is_none();
        if configured.lichess.as_ref().is_some_and(is_of_one_round) {
            return Err(Refused::Lichess(begin));
        }
        let Some(file) = &configured.pairings_file else {
            return Err(Refused::NoFile(begin));
        };
        let open = self.without_result(&configured);
        if !open.is_empty() && !asked.force {
            return Ok(json!({ "round": present, "without_result": open, "closed": false }));
        }
        let mut next = InForce {
            round: begin,
            since_ms: jiff::Timestamp::now().as_millisecond(),
            is_from_file: true,
            start: asked.start.clone(),
            ..InForce::default()
        };
        next.read_again(file, configured.boards.len())
            .map_err(|error| Refused::Unpaired(begin, error))?;
        let next = next.after(self.leaving(&configured));
        self.warn_of_open();
        self.keep(&next)?;
        tracing::info!("{}: round {begin} begins by a command", self.label());
        Ok(json!({ "round": begin, "begun": true }))
    }

    /// Enters results, and tells the games of which no board tells.
    fn enter(&mut self, asked: ResultsAsked, by: Option<&str>) -> Result<Value, Refused> {
        let Some(configured) = self.configured.borrow().clone() else {
            return Err(Refused::OfFile);
        };
        let present = self.present(&configured);
        let is_asking = asked.results.is_empty();
        let round = asked.round.or_else(|| is_asking.then_some(present));
        let round = round.ok_or(Refused::NotPresent(present))?;
        let mut next = self.leaving(&configured);
        let book = match round == present {
            true => Some(&mut next),
            false => next.others.get_mut(&round),
        };
        let book = book.ok_or(Refused::NotPresent(present))?;
        let read = book.pairings.clone().unwrap_or_default();
        if let Some(stray) = asked.results.keys().find(|game| read.game(**game).is_none()) {
            return Err(Refused::NoGame(*stray, round));
        }
        if !is_asking {
            for (game, result) in asked.results {
                tracing::info!(
                    "{}: the result of game {game} of round {round} is {} by hand, entered by {}",
                    self.label(),
                    result.map_or("none", |result| result.as_str()),
                    by.unwrap_or("somebody without a name")
                );
                let result = result.map(|result| result.as_str().to_owned());
                let now_ms = jiff::Timestamp::now().as_millisecond();
                book.results
                    .enter(&read, game, result, by.map(str::to_owned), now_ms);
            }
        }
        let mut shown = read;
        book.results.put_into(&mut shown);
        let games = book.results.games(&shown, configured.boards.len());
        if !is_asking {
            self.keep(&next)?;
        }
        Ok(json!({ "round": round, "games": games, "public": true }))
    }

    /// Goes on with `next`, once that is on the disk.
    fn keep(&mut self, next: &InForce) -> Result<(), Refused> {
        self.keep_in_folder(next)
            .map_err(|error| Refused::NotKept(error.to_string()))?;
        self.in_force = Some(next.clone());
        Ok(())
    }

    /// The pairings of the present round, with the results that were entered.
    fn pairings(&self, configured: &Broadcast) -> Pairings {
        let mut broadcast = configured.clone();
        if let Some(in_force) = &self.in_force {
            broadcast.put_in_force(in_force);
        }
        broadcast.pairings
    }

    /// The games of the present round that have no result as far as the page knows: of boards that it does not hear it
    /// knows none.
    fn without_result(&self, configured: &Broadcast) -> Vec<Value> {
        let pairings = self.pairings(configured);
        let hall = self.shared.hall();
        let has_result = |board: &String| Some(hall.board(&BoardKey::named(board)?)?.has_result());
        let games = (1..).zip(&pairings.boards);
        let open = games.filter_map(|(game, pairing)| {
            let (pairing, board) = (pairing.as_ref()?, configured.boards.get(game - 1));
            let is_over = pairing.result.is_some() || board.and_then(has_result) == Some(true);
            let names = [&pairing.white.name, &pairing.black.name];
            (!is_over).then(|| json!({ "board": board, "game": game, "white": names[0], "black": names[1] }))
        });
        open.collect()
    }

    /// Says which games of the round that is left have no result and no board: nobody else would.
    pub(super) fn warn_of_open(&self) {
        let Some(configured) = self.configured.borrow().clone() else {
            return;
        };
        let entered = EnteredResults::default();
        let games = entered.games(&self.pairings(&configured), configured.boards.len());
        let open: Vec<String> = games
            .into_iter()
            .filter(|game| game.result.is_none())
            .map(|game| game.game.to_string())
            .collect();
        if !open.is_empty() {
            tracing::warn!(
                "{}: round {} is left, and these games without a board have no result: {}",
                self.label(),
                self.present(&configured),
                open.join(", ")
            );
        }
    }
}
