//! `dgt2mqtt pgn`: the games kept on this machine, from the events of the journal.

use std::{collections::BTreeMap, io::Write, path::Path};

use anyhow::Context;

use super::journal;
use crate::{
    broadcast::{PublicRecord, ShownGame},
    event::{Body, Event, GameResult, notice},
    journal::query::Filter,
    tournament::Delay,
};

/// Writes the games that `filter` lets through to `out`, by board and number: without those that somebody gave up, unless
/// `all` are wanted. Returns how many were left out.
///
/// # Errors
/// When the journal is missing or cannot be read, or `out` cannot be written.
pub(super) fn print(path: &Path, filter: &Filter, all: bool, out: &mut dyn Write) -> anyhow::Result<usize> {
    let mut games = BTreeMap::new();
    journal::each(path, filter, |json| {
        let event = serde_json::from_str(json).context("an event of the journal cannot be read")?;
        take(&mut games, &event);
        Ok(())
    })?;
    let shown = games
        .into_iter()
        .filter_map(|(key, game)| PrintedGame::of(key, &game));
    let shown: Vec<_> = shown.collect();
    let (printed, left_out): (Vec<_>, Vec<_>) = shown
        .iter()
        .partition(|game| all || !game.gives_way_to_one_of(&shown));
    for game in printed {
        writeln!(out, "{}", game.text()).context("cannot write the games")?;
    }
    Ok(left_out.len())
}

/// A board and the number of a game on it.
type Key = (String, u32);

/// A game as its events tell it.
#[derive(Default)]
struct JournalGame {
    record: PublicRecord,
    /// True while its pieces are set up anew without a result: it was played, whatever a person says of the next.
    parked: bool,
    given_up: Option<GivenUp>,
}

/// How a person gave a game up that has no result.
#[derive(Clone, Copy, PartialEq)]
enum GivenUp {
    /// It is over without a result, or another began in its place: it may have been a trial.
    Perhaps,
    /// It was begun by mistake, so it was no game.
    Mistake,
}

impl JournalGame {
    fn take(&mut self, event: &Event) {
        self.record.take(event, 0);
        match &event.body {
            Body::GameEnded { result, reason, .. } => {
                self.given_up = match reason.as_str() {
                    _ if *result != GameResult::Open => None,
                    "begun_by_mistake" => Some(GivenUp::Mistake),
                    "arbiter" => Some(GivenUp::Perhaps),
                    "new_game_by_arbiter" | "position_set_by_arbiter" if !self.parked => {
                        Some(GivenUp::Perhaps)
                    }
                    _ => None,
                };
            }
            Body::GameResumed { .. } => (self.given_up, self.parked) = (None, false),
            Body::Move(_) | Body::MovesRetracted { .. } => self.parked = false,
            Body::Notice { code, .. } => self.parked |= code == notice::SET_UP_WITHOUT_RESULT,
            _ => {}
        }
    }
}

/// Adds an event to its game, and its time to others of the board.
fn take(games: &mut BTreeMap<Key, JournalGame>, event: &Event) {
    let all = (event.board.clone(), 0)..=(event.board.clone(), u32::MAX);
    for ((_, number), game) in games.range_mut(all) {
        if Some(*number) != event.game {
            game.record.take_time(*number, event);
        }
    }
    let Some(number) = event.game else { return };
    let game = games.entry((event.board.clone(), number)).or_default();
    game.take(event);
}

/// A game to be printed, or to be left out.
struct PrintedGame {
    board: String,
    shown: ShownGame,
    given_up: Option<GivenUp>,
}

impl PrintedGame {
    fn of((board, _): Key, game: &JournalGame) -> Option<Self> {
        Some(Self {
            board,
            shown: game.record.shown(i64::MAX, Delay::default())?,
            given_up: game.given_up,
        })
    }

    /// True where it was given up, and one of `games` is the game that it was taken for.
    fn gives_way_to_one_of(&self, games: &[Self]) -> bool {
        match self.given_up {
            None => false,
            Some(GivenUp::Mistake) => true,
            Some(GivenUp::Perhaps) => games.iter().any(|other| self.gives_way_to(other)),
        }
    }

    /// True where `other` was played from its beginning in the same round, at the same board or by the same players. One that
    /// goes on from the middle does not have the half-moves of this one.
    fn gives_way_to(&self, other: &Self) -> bool {
        let (mine, its) = (&self.shown, &other.shown);
        let round = |game: &ShownGame| {
            // Without a round, the games of a day are those of one evening.
            let day = game.date.clone().filter(|_| game.round.is_none());
            (game.event.clone(), game.round, day)
        };
        let same_board = self.board == other.board;
        let same_players = mine.players == its.players && mine.players.iter().all(Option::is_some);
        let is_whole = its.pgn.start_fen.is_none() || its.pgn.chess960;
        let is_later = !same_board || its.number > mine.number || its.pgn.result != "*";
        other.given_up.is_none()
            && is_whole
            && is_later
            && (same_board || same_players)
            && round(mine) == round(its)
    }

    fn text(&self) -> String {
        let (board, shown) = (&self.board, &self.shown);
        let known = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".into());
        let [white, black] = &shown.players;
        let mut pgn = shown.pgn.clone();
        let date = shown.date.clone().unwrap_or_else(|| "????.??.??".into());
        pgn.tags = [
            ("Event", known(&shown.event)),
            ("Site", "?".into()),
            ("Date", date),
            (
                "Round",
                match shown.round {
                    Some(round) => format!("{round}.{board}"),
                    None => format!("{board}.{}", shown.number),
                },
            ),
            ("White", known(white)),
            ("Black", known(black)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        pgn.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const MIDDLE: &str = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";

    /// A journal as it is written.
    struct Events {
        games: BTreeMap<Key, JournalGame>,
        seq: u64,
        time: String,
    }

    impl Default for Events {
        fn default() -> Self {
            Self {
                games: BTreeMap::new(),
                seq: 0,
                time: "\"2026-11-21T14:00:00.000Z\"".to_owned(),
            }
        }
    }

    impl Events {
        fn say(&mut self, board: &str, game: u32, body: &str) {
            self.seq += 1;
            let (seq, time) = (self.seq, &self.time);
            let json = format!(
                r#"{{"v":1,"id":"gw/{board}/{seq}","seq":{seq},"board":"{board}","game":{game},"t":0.0,"time":{time},{body}}}"#
            );
            take(&mut self.games, &serde_json::from_str(&json).unwrap());
        }

        /// A game of `round` begins from `fen` with a half-move.
        fn begin(&mut self, board: &str, game: u32, fen: &str, round: u32) {
            self.say(
                board,
                game,
                &format!(
                    r#""type":"game_started","fen":"{fen}","chess960":false,"white":"W{round}","black":"B{round}","event":"Cup","round":{round}"#
                ),
            );
            self.mv(board, game, 1, "e2e4", 60_000);
        }

        fn mv(&mut self, board: &str, game: u32, ply: u32, uci: &str, black_ms: u64) {
            self.say(
                board,
                game,
                &format!(
                    r#""type":"move","ply":{ply},"uci":"{uci}","san":"?","fen":"-","completed_by":"clock","clock":{{"white_ms":60000,"black_ms":{black_ms},"running":null}}"#
                ),
            );
        }

        fn end(&mut self, board: &str, game: u32, result: &str, reason: &str) {
            self.say(
                board,
                game,
                &format!(r#""type":"game_ended","result":"{result}","reason":"{reason}""#),
            );
        }

        /// The games that are printed.
        fn printed(self) -> Vec<(String, u32)> {
            let shown = self.games.into_iter();
            let shown: Vec<_> = shown
                .filter_map(|(key, game)| PrintedGame::of(key, &game))
                .collect();
            let printed = shown.iter().filter(|game| !game.gives_way_to_one_of(&shown));
            printed
                .map(|game| (game.board.clone(), game.shown.number))
                .collect()
        }
    }

    /// The games that are printed where the first ends without a result, for `reason`, and a second begins.
    fn two(reason: &str, second: (&str, &str, u32)) -> Vec<(String, u32)> {
        let mut events = Events::default();
        events.begin("7", 1, INITIAL, 5);
        events.end("7", 1, "*", reason);
        let (board, fen, round) = second;
        events.begin(board, 2, fen, round);
        events.printed()
    }

    #[test]
    fn a_game_that_somebody_gave_up_for_another_is_left_out() {
        let (both, second) = (
            vec![("7".to_owned(), 1), ("7".to_owned(), 2)],
            [("7".to_owned(), 2)],
        );
        assert_eq!(two("arbiter", ("7", INITIAL, 5)), second);
        assert_eq!(two("new_game_by_arbiter", ("7", INITIAL, 5)), second);
        // Nobody gave it up; it is of another round; the other one goes on where it was left.
        assert_eq!(two("moves_missed", ("7", INITIAL, 5)), both);
        assert_eq!(two("pieces_set_up_anew", ("7", INITIAL, 5)), both);
        assert_eq!(two("arbiter", ("7", INITIAL, 6)), both);
        assert_eq!(two("position_set_by_arbiter", ("7", MIDDLE, 5)), both);
        // The same two play at another board.
        let there = [("8".to_owned(), 2)];
        assert_eq!(two("arbiter", ("8", INITIAL, 5)), there);
        assert_eq!(two("arbiter", ("8", INITIAL, 6)).len(), 2);
    }

    #[test]
    fn a_game_without_a_result_stays_where_there_is_no_other() {
        let mut events = Events::default();
        events.begin("7", 1, INITIAL, 5);
        events.end("7", 1, "*", "arbiter");
        events.begin("7", 2, INITIAL, 5);
        events.end("7", 2, "*", "arbiter");
        assert_eq!(events.printed().len(), 2, "nobody knows which was the game");

        let mut events = Events::default();
        events.begin("7", 1, INITIAL, 5);
        events.end("7", 1, "*", "arbiter");
        assert_eq!(events.printed().len(), 1);

        // It was played, and nobody said how it ended.
        let mut events = Events::default();
        events.begin("7", 1, INITIAL, 5);
        events.say(
            "7",
            1,
            r#""type":"notice","code":"set_up_without_result","message":"""#,
        );
        events.end("7", 1, "*", "new_game_by_arbiter");
        events.begin("7", 2, INITIAL, 5);
        assert_eq!(events.printed().len(), 2);
    }

    #[test]
    fn what_was_begun_by_mistake_is_left_out_and_what_was_taken_back_counts() {
        let mut events = Events::default();
        events.begin("7", 1, MIDDLE, 5);
        events.end("7", 1, "*", "new_game_by_arbiter");
        events.begin("7", 2, INITIAL, 5);
        events.end("7", 2, "*", "begun_by_mistake");
        events.say("7", 1, r#""type":"game_resumed","reason":null"#);
        assert_eq!(events.printed(), [("7".to_owned(), 1)]);
    }

    #[test]
    fn events_become_games() {
        let mut events = Events::default();
        events.begin("7", 1, INITIAL, 5);
        events.mv("7", 1, 2, "e7e5", 59_000);
        events.say(
            "7",
            1,
            r#""type":"moves_retracted","to_ply":1,"reason":"correction""#,
        );
        events.mv("7", 1, 2, "c7c5", 59_000);
        events.end("7", 1, "1/2-1/2", "arbiter");
        let (key, game) = events.games.pop_first().unwrap();
        let text = PrintedGame::of(key, &game).unwrap().text();
        assert!(text.contains("[Date \"2026.11.21\"]\n[Round \"5.7\"]"), "{text}");
        assert!(text.contains("[White \"W5\"]\n[Black \"B5\"]"), "{text}");
        assert!(
            text.ends_with("\n1. e4 {[%clk 0:01:00]} 1... c5 {[%clk 0:00:59]} {[%emt 0:00:00]} 1/2-1/2\n"),
            "{text}"
        );
    }

    /// The small computer learned the time when the game was over.
    #[test]
    fn a_game_has_its_day_also_where_the_clock_was_set_later() {
        let begin = |time: &str| {
            let mut events = Events {
                time: "null".to_owned(),
                ..Events::default()
            };
            events.begin("7", 1, INITIAL, 5);
            events.end("7", 1, "1-0", "arbiter");
            events.time = time.to_owned();
            events.begin("7", 2, INITIAL, 6);
            let (key, game) = events.games.pop_first().unwrap();
            PrintedGame::of(key, &game).unwrap().text()
        };
        assert!(begin("null").contains("[Date \"????.??.??\"]"));
        assert!(begin("\"2026-11-21T14:00:00.000Z\"").contains("[Date \"2026.11.21\"]"));
    }

    #[test]
    fn unknown_names_are_question_marks_and_games_have_numbers() {
        let mut events = Events::default();
        let start =
            format!(r#""type":"game_started","fen":"{INITIAL}","chess960":false,"white":"Zimmer, A.""#);
        events.say("7", 3, &start);
        let (key, game) = events.games.pop_first().unwrap();
        let text = PrintedGame::of(key, &game).unwrap().text();
        assert!(
            text.contains("[Round \"7.3\"]\n[White \"Zimmer, A.\"]\n[Black \"?\"]"),
            "{text}"
        );
    }
}
