//! The files of one round, and what each of them holds at a given time.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    by_hand::ByHand,
    clocks::TimedClock,
    index::{Index, IndexPairing, RoundCount, TournamentFile, json},
    kept::KeptFile,
    mark::{self, Marks, PublicMark},
    record::{PublicRecord, PublicState, ShownGame},
    runs::HeardAt,
    teams::matches,
};
use crate::{
    event::{Body, Event, GameResult},
    game::{Period, Pgn},
    tournament::{Delay, Pairing, Pairings, Player, Tournament},
};

/// A round while it is played.
#[derive(Clone, Debug)]
pub struct Round {
    tournament: Tournament,
    pairings: Pairings,
    /// The boards in their order: the first plays the first pairing.
    tables: Vec<Table>,
    /// The results that somebody entered in the pairings.
    by_hand: ByHand,
    /// The games in the folder by their numbers, which stay as they are if nothing else is known of them.
    kept: BTreeMap<usize, KeptFile>,
    /// The number of games of the other rounds, by the rounds' numbers.
    others: BTreeMap<u32, RoundCount>,
    /// The games that were public in other rounds, each with its board.
    elsewhere: Vec<(String, PublicMark)>,
    /// True where nothing but the times decides which games are of this round.
    goes_by_time: bool,
}

/// A game as it is public.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// `GATEWAY/BOARD`; none for a pairing without a board.
    pub board: Option<String>,
    /// The content of its file.
    pub pgn: String,
}

#[derive(Clone, Debug)]
struct Table {
    /// `GATEWAY/BOARD`.
    id: String,
    record: PublicRecord,
    /// The game that was last shown, and the number of its state. With many boards most of them have not changed.
    shown: Option<(PublicState, Option<ShownGame>)>,
}

impl Table {
    fn shown(&mut self, now_ms: i64, delay: Delay) -> Option<ShownGame> {
        let picture = self.record.picture(now_ms, delay);
        match &self.shown {
            Some((former, shown)) if *former == picture => shown.clone(),
            _ => {
                let shown = self.record.shown(now_ms, delay);
                self.shown = Some((picture, shown.clone()));
                shown
            }
        }
    }
}

/// Contents of files by path, relative to the folder of the tournament.
pub type Files = BTreeMap<String, String>;

impl Round {
    /// A round at `tables` (each `GATEWAY/BOARD`) in their order. Results in the pairings were always known.
    #[must_use]
    pub fn new(tournament: Tournament, pairings: Pairings, tables: Vec<String>) -> Self {
        let mut by_hand = ByHand::default();
        by_hand.take(&pairings, 0);
        let tables = tables.into_iter().map(|id| Table {
            id,
            record: PublicRecord::default(),
            shown: None,
        });
        Self {
            tournament,
            pairings,
            tables: tables.collect(),
            by_hand,
            kept: BTreeMap::new(),
            others: BTreeMap::new(),
            elsewhere: Vec::new(),
            goes_by_time: false,
        }
    }

    /// The number of the round, from 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.tournament.round
    }

    /// Takes the times at which somebody entered the results in the pairings.
    pub(super) fn enter(&mut self, by_hand: ByHand) {
        self.by_hand = by_hand;
    }

    /// Keeps what the folder has of a game of this round, until more is known of the game.
    pub(super) fn keep(&mut self, game: usize, kept: KeptFile) {
        self.kept.insert(game, kept);
    }

    /// Takes the number of games of another round.
    pub(super) fn know_other(&mut self, number: u32, count: RoundCount) {
        self.others.insert(number, count);
    }

    /// Takes what was public of this round before, and what of others. With `goes_by_time` somebody says when the rounds
    /// began, so that a game may be of another round than it was.
    pub(super) fn remember(
        &mut self,
        marks: Marks,
        elsewhere: Vec<(String, PublicMark)>,
        goes_by_time: bool,
    ) {
        for (board, mark) in marks {
            if let Some(table) = self.tables.iter_mut().find(|table| table.id == board) {
                table.record.remember(mark);
            }
        }
        (self.elsewhere, self.goes_by_time) = (elsewhere, goes_by_time);
    }

    /// Takes an event of any board. True when files may change. A game belongs to its end to the round in which it
    /// began.
    pub fn take(&mut self, event: &Event, heard: impl Into<HeardAt>) -> bool {
        let board = event.id.rsplit_once('/').map_or("", |(table, _)| table);
        let Some(i) = self.tables.iter().position(|known| known.id == board) else {
            return false;
        };
        let Some((at_ms, noted)) = self.tables[i].record.note(event, heard.into()) else {
            return false;
        };
        let is_start = matches!(event.body, Body::GameStarted { .. });
        if is_start && !self.is_ours(i, event, at_ms) {
            return false;
        }
        self.tables[i].record.take_noted(event, noted)
    }

    /// True where the game that `event` begins at a table is of this round. The times in events are those of a wall
    /// clock, which somebody may have set since the round began. So what was public before goes first.
    fn is_ours(&self, table: usize, event: &Event, at_ms: i64) -> bool {
        let Tournament {
            since_ms, until_ms, ..
        } = self.tournament;
        let has_begun = since_ms <= at_ms;
        let goes_on = until_ms.is_none_or(|until_ms| at_ms < until_ms);
        if self.goes_by_time {
            return has_begun && goes_on;
        }
        let Table { id, record, .. } = &self.tables[table];
        let (game, time) = (event.game.unwrap_or_default(), event.time.as_deref());
        let mut elsewhere = self.elsewhere.iter();
        let was_elsewhere = elsewhere.any(|(board, mark)| board == id && mark.is_of(game, time));
        let is_later = (has_begun || record.is_past_its_mark()) && goes_on;
        record.has_mark_of(game, time) || is_later && !was_elsewhere
    }

    /// Takes a reading of the clock of a board, `GATEWAY/BOARD`. Returns when it becomes public at the earliest, as Unix
    /// time in milliseconds.
    pub fn take_clock(&mut self, board: &str, clock: TimedClock) -> Option<i64> {
        let delay = self.tournament.delay;
        let table = self.tables.iter_mut().find(|known| known.id == board)?;
        table.record.take_clock(clock, delay)
    }

    /// When the passing of time next changes the files, as Unix time in milliseconds.
    #[must_use]
    pub fn next_change_ms(&self, now_ms: i64) -> Option<i64> {
        let delay = self.tournament.delay;
        let of_boards = self
            .tables
            .iter()
            .filter_map(|table| table.record.next_change_ms(now_ms, delay));
        of_boards.chain(self.by_hand.next_change_ms(now_ms, delay)).min()
    }

    /// What each file holds at `now_ms`.
    #[must_use]
    pub fn files(&mut self, now_ms: i64) -> Files {
        let boards = self.boards(now_ms);
        let folder = format!("round-{}", self.tournament.round);
        let mut files = Files::new();
        let marks = self.marks(now_ms);
        if !marks.is_empty() {
            files.insert(mark::name(self.tournament.round), mark::text(&marks));
        }
        let games: Vec<String> = boards.iter().map(Board::text).collect();
        for (number, game) in (1..).zip(&games) {
            files.insert(format!("{folder}/game-{number}.pgn"), game.clone());
        }
        if self.tournament.combined {
            files.insert(format!("{folder}/games.pgn"), games.join("\n"));
        }
        let pairings = boards
            .iter()
            .map(|board| IndexPairing::new(&board.pairing, &board.pgn.result, board.live));
        let index = Index {
            pairings: pairings.collect(),
            matches: matches(
                boards
                    .iter()
                    .map(|board| (&board.pairing, board.pgn.result.as_str())),
            ),
        };
        files.insert(format!("{folder}/index.json"), json(&index));
        files.insert("tournament.json".into(), json(&self.summary(count(&boards))));
        files
    }

    /// What is public at `now_ms`, for the time after a restart.
    fn marks(&mut self, now_ms: i64) -> Marks {
        let delay = self.tournament.delay;
        let marks = self.tables.iter_mut().filter_map(|table| {
            let shown = table.shown(now_ms, delay).map(|shown| shown.number);
            Some((table.id.clone(), table.record.mark(shown, now_ms, delay)?))
        });
        marks.collect()
    }

    /// How many games there are at `now_ms`.
    pub(super) fn count(&mut self, now_ms: i64) -> RoundCount {
        count(&self.boards(now_ms))
    }

    /// The games among `files`, in their order.
    #[must_use]
    pub fn published(&self, files: &Files) -> Vec<Published> {
        let number = self.tournament.round;
        let games = (1..).map_while(|game| files.get(&format!("round-{number}/game-{game}.pgn")));
        let boards = self.tables.iter().map(|table| Some(table.id.clone()));
        let games = games.zip(boards.chain(std::iter::repeat(None)));
        games
            .map(|(pgn, board)| Published {
                board,
                pgn: pgn.clone(),
            })
            .collect()
    }

    fn boards(&mut self, now_ms: i64) -> Vec<Board> {
        let count = self.tables.len().max(self.pairings.boards.len());
        let mut seen = BTreeSet::new();
        (0..count)
            .map(|i| {
                let delay = self.tournament.delay;
                let shown = self
                    .tables
                    .get_mut(i)
                    .and_then(|table| table.shown(now_ms, delay));
                let by_hand = self.by_hand.shown(i + 1, now_ms, delay).map(str::to_owned);
                let pairing = self.pairings.boards.get(i).cloned().flatten();
                let pairing = pairing.map(|pairing| Pairing {
                    result: by_hand,
                    ..pairing
                });
                let kept = self.kept.get(&(i + 1)).filter(|_| shown.is_none()).cloned();
                let mut board = self.board(i + 1, pairing, shown, kept);
                // A reader tells games apart by their players, so no two games may have the same.
                let nameless = board.players().iter().all(|name| name == "?");
                if nameless || !seen.insert(board.players()) {
                    board.pgn.tags.push(("Board".into(), (i + 1).to_string()));
                }
                board
            })
            .collect()
    }

    fn board(
        &self,
        number: usize,
        pairing: Option<Pairing>,
        shown: Option<ShownGame>,
        kept: Option<KeptFile>,
    ) -> Board {
        let live = shown.as_ref().map(|shown| shown.live);
        let live = live.unwrap_or_else(|| kept.as_ref().is_some_and(KeptFile::is_live));
        let names = shown.as_ref().map(|shown| shown.players.clone());
        // Pairings go first. A name in the table of a board is for halls without pairings.
        let pairing = pairing.unwrap_or_else(|| {
            let [white, black] = names.unwrap_or_default().map(named);
            Pairing {
                white,
                black,
                ..Pairing::default()
            }
        });
        let date = shown.as_ref().and_then(|shown| shown.date.clone());
        let by_hand = pairing.result.as_deref();
        let start = pairing.start.as_ref().or(self.tournament.start.as_ref());
        let mut pgn = shown.map_or_else(|| unplayed(by_hand, start.map(String::as_str)), |shown| shown.pgn);
        pgn.tags = self.tags(number, &pairing, date);
        if let Some(kept) = &kept {
            kept.result().clone_into(&mut pgn.result);
        }
        Board {
            pairing,
            pgn,
            live,
            kept,
        }
    }

    fn tags(&self, number: usize, pairing: &Pairing, date: Option<String>) -> Vec<(String, String)> {
        let Tournament {
            name,
            site,
            round,
            periods,
            ..
        } = &self.tournament;
        let known = |own: &Option<String>, other: &Option<String>| {
            own.clone()
                .or_else(|| other.clone())
                .unwrap_or_else(|| "?".into())
        };
        let player = |player: &Player| {
            if player.name.is_empty() {
                "?".to_owned()
            } else {
                player.name.clone()
            }
        };
        let mut tags = vec![
            ("Event".to_owned(), known(name, &self.pairings.name)),
            ("Site".to_owned(), known(site, &self.pairings.site)),
            ("Date".to_owned(), date.unwrap_or_else(|| "????.??.??".into())),
            ("Round".to_owned(), format!("{round}.{number}")),
            ("White".to_owned(), player(&pairing.white)),
            ("Black".to_owned(), player(&pairing.black)),
        ];
        let periods = if periods.is_empty() {
            &self.pairings.periods
        } else {
            periods
        };
        if let Some(control) = time_control(periods) {
            tags.push(("TimeControl".into(), control));
        }
        for (side, player) in [("White", &pairing.white), ("Black", &pairing.black)] {
            let more = [
                ("Title", &player.title),
                ("Elo", &player.elo),
                ("FideId", &player.fide_id),
                ("Country", &player.federation),
                ("Team", &player.team),
            ];
            tags.extend(
                more.into_iter()
                    .filter_map(|(what, value)| Some((format!("{side}{what}"), value.clone()?))),
            );
        }
        tags
    }

    fn summary(&self, own: RoundCount) -> TournamentFile {
        let Tournament {
            name, round, rounds, ..
        } = &self.tournament;
        let name = name.clone().or_else(|| self.pairings.name.clone());
        let name = name.unwrap_or_else(|| "?".into());
        let count = |number| match self.others.get(&number) {
            _ if number == *round => own,
            Some(other) => *other,
            None => RoundCount::default(),
        };
        let rounds = (1..=*rounds.max(round)).map(count);
        TournamentFile {
            id: name.clone(),
            name,
            rounds: rounds.collect(),
        }
    }
}

/// One board of the round, as the public sees it.
struct Board {
    pairing: Pairing,
    pgn: Pgn,
    live: bool,
    kept: Option<KeptFile>,
}

impl Board {
    fn text(&self) -> String {
        let round = self.pgn.tags.iter().find(|(name, _)| name == "Round");
        match (&self.kept, round) {
            (Some(kept), Some((_, round))) => kept.in_round(round),
            _ => self.pgn.text(),
        }
    }

    fn players(&self) -> Vec<String> {
        let is_name = |name: &&(String, String)| name.0 == "White" || name.0 == "Black";
        let names = self.pgn.tags.iter().filter(is_name);
        names.map(|(_, value)| value.clone()).collect()
    }
}

fn count(boards: &[Board]) -> RoundCount {
    RoundCount {
        count: boards.len(),
        live: boards.iter().filter(|board| board.live).count(),
    }
}

fn named(name: Option<String>) -> Player {
    Player {
        name: name.unwrap_or_default(),
        ..Player::default()
    }
}

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A game of which no board has told: its tags, and an asterisk or the result that somebody entered. `start` is the FEN
/// with which it will begin, if that is not the initial array.
fn unplayed(result: Option<&str>, start: Option<&str>) -> Pgn {
    let start = start.filter(|fen| *fen != INITIAL);
    // Readers take castling in other arrays than the initial one for that of Chess960.
    let castles = |fen: &str| fen.split(' ').nth(2).is_some_and(|rights| rights != "-");
    let result = result.and_then(|result| serde_json::from_value(result.into()).ok());
    Pgn {
        first_number: 1,
        start_fen: start.map(str::to_owned),
        chess960: start.is_some_and(castles),
        ..Pgn::default()
    }
    .ended(result.unwrap_or(GameResult::Open))
}

/// The time control as the PGN standard writes it (9.6.1): `40/5400+30:1800+30`, in seconds.
fn time_control(periods: &[Period]) -> Option<String> {
    let period = |period: &Period| {
        let moves = period.moves.map_or_else(String::new, |moves| format!("{moves}/"));
        format!("{moves}{}+{}", period.minutes * 60, period.increment)
    };
    let parts: Vec<_> = periods.iter().map(period).collect();
    (!parts.is_empty()).then(|| parts.join(":"))
}

#[cfg(test)]
mod tests;
