//! Which games are printed, and how.

use super::*;

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const MIDDLE: &str = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";

/// A journal as it is written.
struct Events {
    games: BTreeMap<GameKey, JournalGame>,
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
        let told = format!(r#""chess960":false,"white":"W{round}","black":"B{round}","round":{round}"#);
        self.begin_as(board, game, fen, &told);
    }

    /// A game of which this is `told` begins from `fen` with a half-move.
    fn begin_as(&mut self, board: &str, game: u32, fen: &str, told: &str) {
        let started = format!(r#""type":"game_started","fen":"{fen}","event":"Cup",{told}"#);
        self.say(board, game, &started);
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
    fn printed(&self) -> Vec<(String, u32)> {
        let shown: Vec<_> = self
            .games
            .iter()
            .filter_map(|(key, game)| PrintedGame::of(key.clone(), game))
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

/// How many are printed of a game at board 7 that somebody gave up, of which this was `told`, and of what is played `later`.
fn printed_with(told: &str, later: impl FnOnce(&mut Events)) -> usize {
    let mut events = Events::default();
    events.begin_as("7", 1, INITIAL, told);
    events.end("7", 1, "*", "arbiter");
    later(&mut events);
    events.printed().len()
}

#[test]
fn a_game_between_others_stays() {
    let names = |white, black| format!(r#""chess960":false,"white":{white},"black":{black},"round":5"#);
    let second = |board: &str, told: String| {
        printed_with(&names(r#""Moss""#, r#""Tal""#), |events| {
            events.begin_as(board, 2, INITIAL, &told);
        })
    };
    assert_eq!(second("7", names(r#""Moss""#, r#""Tal""#)), 1);
    assert_eq!(second("7", names("null", "null")), 1);
    assert_eq!(second("7", names(r#""Moss""#, "null")), 1);
    assert_eq!(second("7", names(r#""Berg""#, r#""Dorn""#)), 2);
    assert_eq!(second("7", names(r#""Tal""#, r#""Moss""#)), 2);
    assert_eq!(second("8", names("null", "null")), 2);
}

#[test]
fn a_game_of_another_day_or_of_no_known_day_stays() {
    let second = |round: &str, first_day: &str, second_day: &str| {
        let told = format!(r#""chess960":false,"white":null,"black":null,"round":{round}"#);
        let mut events = Events {
            time: first_day.to_owned(),
            ..Events::default()
        };
        events.begin_as("7", 1, INITIAL, &told);
        events.end("7", 1, "*", "arbiter");
        events.time = second_day.to_owned();
        events.begin_as("7", 2, INITIAL, &told);
        events.printed().len()
    };
    let (friday, saturday) = ("\"2026-11-20T14:00:00.000Z\"", "\"2026-11-21T14:00:00.000Z\"");
    assert_eq!(second("null", friday, friday), 1);
    assert_eq!(second("null", friday, saturday), 2);
    assert_eq!(second("null", "null", "null"), 2);
    assert_eq!(second("5", friday, friday), 1);
    assert_eq!(second("5", "null", "null"), 1);
    assert_eq!(second("5", friday, saturday), 2);
}

#[test]
fn a_game_does_not_give_way_to_a_stub() {
    let mut events = Events::default();
    let told = r#""chess960":false,"white":null,"black":null,"round":5"#;
    events.begin_as("7", 1, INITIAL, told);
    events.mv("7", 1, 2, "e7e5", 59_000);
    events.end("7", 1, "*", "arbiter");
    events.begin_as("7", 2, INITIAL, told);
    let count = |events: &Events| events.printed().len();
    assert_eq!(count(&events), 2);
    events.mv("7", 2, 2, "c7c5", 59_000);
    assert_eq!(count(&events), 1);
    events.say(
        "7",
        2,
        r#""type":"moves_retracted","to_ply":1,"reason":"correction""#,
    );
    assert_eq!(count(&events), 2);
    events.end("7", 2, "1-0", "arbiter");
    assert_eq!(count(&events), 1);
}

#[test]
fn a_game_of_chess960_begins_with_all_pawns_on_their_first_squares() {
    let told = r#""chess960":true,"white":null,"black":null,"round":5"#;
    let second = |fen: &str| printed_with(told, |events| events.begin_as("7", 2, fen, told));
    assert_eq!(
        second("bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w HFhf - 0 1"),
        1
    );
    assert_eq!(
        second("bbqnnrkr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/BBQNNRKR w HFhf - 0 2"),
        2
    );
    assert_eq!(
        second("bbqn1rkr/pppppppp/5n2/8/8/5N2/PPPPPPPP/BBQN1RKR w HFhf - 2 2"),
        2
    );
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
    let start = format!(r#""type":"game_started","fen":"{INITIAL}","chess960":false,"white":"Zimmer, A.""#);
    events.say("7", 3, &start);
    let (key, game) = events.games.pop_first().unwrap();
    let text = PrintedGame::of(key, &game).unwrap().text();
    assert!(
        text.contains("[Round \"7.3\"]\n[White \"Zimmer, A.\"]\n[Black \"?\"]"),
        "{text}"
    );
}
