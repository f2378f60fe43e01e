//! One evening as it is told by MQTT, by `dgt2mqtt pgn` from the journal, by the folder of the broadcast, and by the
//! arbiter's page with its interface for tools of others: the same games, half-moves, results and names. What an
//! arbiter puts right is in all of them, and in the journal once, though the daemon is killed at every command.

mod livechess;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use dgt2mqtt::event::{Event, GameResult};
use serde_json::{Value, json};
use shakmaty::Square;

use crate::{
    broker::{Got, Mosquitto, PATIENCE, Subscriber, free_port},
    hall::{self, Daemon, journal, program, until},
    page::{Server, http},
    reader::{read_by_others, recorded},
    seated::Players,
};

const NAMES: [[&str; 2]; 4] = [
    ["Reti, R", "Tartakower, S"],
    ["Menchik, V", "Thomas, G"],
    ["Löwe, Ä", "O'Kelly, A"],
    ["Short, N", "Long, B"],
];

/// Board, game, half-moves, result, and whether it is the last game of its board.
const EVENING: [(usize, u32, &str, GameResult, bool); 6] = [
    (
        1,
        1,
        "e2e4 c7c5 g1f3 b8c6 f1b5 a7a6",
        GameResult::WhiteWins,
        false,
    ),
    (1, 2, "", GameResult::BlackByForfeit, true),
    (2, 1, "", GameResult::WhiteByForfeit, true),
    (3, 1, "e2e4 e7e5 b1d4 d7d6 d2d3", GameResult::Draw, true),
    (4, 1, "f2f3 e7e5 g2g4 d8h4", GameResult::BlackWins, false),
    (4, 2, "d2d4", GameResult::Open, true),
];

/// The tags that every PGN of a game has.
const TAGS: [&str; 7] = ["Event", "Date", "Round", "White", "Black", "Result", "FEN"];

/// What persons say of each board, in its order: all of it is in the journal, once.
const SAID: [&[&str]; 4] = [
    &[
        "case_noted",
        "irregularity_resolved",
        "game_ended",
        "moves_retracted",
        "move",
        "move",
        "move",
        "move",
        "move",
        "game_resumed",
        "game_ended",
        "game_started",
        "game_ended",
    ],
    &["game_started", "game_ended"],
    &[
        "irregularity",
        "irregularity_resolved",
        "move",
        "move",
        "move",
        "game_ended",
    ],
    &[],
];

/// Milliseconds that the daemon has for a command before it is killed, the one time and the next: it may not have read
/// it, be about to write it, or have answered.
const INSTANTS_MS: [u64; 7] = [3, 17, 0, 40, 8, 26, 12];

/// Four boards, their daemon, a page, and somebody who hears all of it.
struct Evening {
    folder: tempfile::TempDir,
    broker: Mosquitto,
    boards: Vec<Players>,
    daemon: Option<Daemon>,
    page: Option<Server>,
    livechess: u16,
    subscriber: Subscriber,
    /// Commands sent so far.
    sent: usize,
}

impl Evening {
    async fn begin() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path(), "");
        let boards: Vec<_> = (1..=4).map(Players::sit_down).collect();
        let mut text = format!(
            "[gateway]\nname = \"gw\"\ncommands = true\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"journal.sqlite\"\n\
             [broadcast]\nfolder = \"open\"\nname = \"Vienna\"\nround = 2\npairings = \"pairings.csv\"\n",
            broker.port
        );
        let mut pairings = "board,white,black\n".to_owned();
        for (number, (players, [white, black])) in (1..).zip(boards.iter().zip(NAMES)) {
            text += &format!("[[board]]\nid = \"{number}\"\nport = \"{}\"\n", players.port);
            pairings += &format!("{number},\"{white}\",\"{black}\"\n");
        }
        fs::write(folder.path().join("dgt2mqtt.toml"), text).unwrap();
        fs::write(folder.path().join("pairings.csv"), pairings).unwrap();
        let subscriber = Subscriber::new(broker.port, "dgt2mqtt/gw/#").await;
        let mut evening = Self {
            folder,
            broker,
            boards,
            daemon: None,
            page: None,
            livechess: 0,
            subscriber,
            sent: 0,
        };
        evening.start();
        evening
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("dgt2mqtt.toml")
    }

    /// Daemon and page, anew.
    fn start(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
        self.page = None;
        self.livechess = free_port();
        let livechess = self.livechess.to_string();
        self.daemon = Some(Daemon::start(&self.config()));
        self.page = Some(Server::start(
            self.broker.port,
            free_port(),
            &["--livechess", &livechess],
        ));
        for (number, players) in (1..).zip(&self.boards) {
            until("the board", PATIENCE, || {
                let seen = self.get(&format!("/api/board/gw/{number}"))?;
                let is_read = seen["online"] == true && seen["placement"].is_string();
                (is_read && players.are_watched()).then_some(())
            });
        }
    }

    fn page(&self) -> u16 {
        self.page.as_ref().unwrap().port
    }

    fn get(&self, path: &str) -> Option<Value> {
        let (status, body) = http(self.page(), "GET", path, "", &Value::Null);
        (status == 200).then(|| serde_json::from_str(&body).unwrap())
    }

    /// A person says something. The daemon is killed an instant later; another one is told the same, and answers.
    async fn command(&mut self, board: &str, verb: &str, mut fields: Value) {
        fields["ref"] = json!(format!("arbiter-{}", self.sent));
        let topic = |way: &str| format!("dgt2mqtt/gw/board/{board}/{way}/{verb}");
        let (asked, replied) = (topic("cmd"), topic("reply"));
        self.subscriber
            .publish(&asked, false, fields.to_string(), None)
            .await;
        let instant = INSTANTS_MS[self.sent % INSTANTS_MS.len()];
        self.sent += 1;
        tokio::time::sleep(Duration::from_millis(instant)).await;
        self.daemon.take().unwrap().kill();
        let heard = self.subscriber.all().len();
        self.daemon = Some(Daemon::start(&self.config()));
        until("the boards are read again", PATIENCE, || {
            let news = self.subscriber.all().split_off(heard);
            let is_read = |(number, players): (usize, &Players)| {
                let place = format!("dgt2mqtt/gw/board/{number}/status");
                let status = news.iter().rfind(|got| got.topic == place)?;
                (status.text() == "online" && players.are_watched()).then_some(())
            };
            (1..).zip(&self.boards).map(is_read).collect::<Option<()>>()
        });
        self.subscriber
            .publish(&asked, false, fields.to_string(), None)
            .await;
        let is_answer = |got: &Got| got.topic == replied && got.json()["ref"] == fields["ref"];
        let answer = self.subscriber.wait("an answer", is_answer).await.json();
        assert_eq!(answer["ok"], true, "{verb} {fields}: {answer}");
    }

    /// Waits for an event of a board, in its journal.
    fn event(&self, board: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        until(what, PATIENCE, || {
            let events = journal(&self.config(), board);
            events.into_iter().find(&fits)
        })
    }

    fn played(&self, board: &str, ply: usize) {
        self.event(board, "the last half-move", |event| {
            event["type"] == "move" && event["ply"] == ply
        });
    }
}

/// Plays what [`EVENING`] says, with the mistakes that were put right.
async fn play(evening: &mut Evening) {
    evening.boards[0].play("e2e4 e7e5 g1f3 b8c6");
    evening.boards[0].carry(Square::F1, Square::H3);
    let case = evening.event("1", "the illegal move", |event| event["kind"] == "illegal_move")["id"].clone();
    evening.boards[0].put_back(&[Square::H3, Square::F1]);
    evening.event("1", "that it is put right", |event| {
        event["type"] == "irregularity_resolved"
    });
    evening.boards[0].play("f1b5 a7a6");
    evening.played("1", 6);
    let penalty = json!({ "kind": "time", "seconds": 120, "to": "black" });
    for (board, verb, fields) in [
        ("1", "note", json!({ "irregularity": case, "penalty": penalty })),
        ("1", "dismiss", json!({ "irregularity": case })),
        ("1", "result", json!({ "result": "0-1", "reason": "wrong board" })),
        (
            "1",
            "correct",
            json!({ "ply": 2, "delete": 1, "insert": ["c7c5"] }),
        ),
        ("1", "resume", json!({})),
        ("1", "result", json!({ "result": "1-0" })),
        ("1", "result", json!({ "result": "-/+", "game": 2 })),
        ("2", "result", json!({ "result": "+/-", "game": 1 })),
    ] {
        evening.command(board, verb, fields).await;
    }

    evening.boards[2].play("e2e4 e7e5");
    evening.played("3", 2);
    let seen = json!({ "kind": "two_hands", "offender": "white" });
    evening.command("3", "report", seen).await;
    let case = evening.event("3", "the report", |event| event["kind"] == "two_hands")["id"].clone();
    let dismissed = json!({ "irregularity": case });
    evening.command("3", "dismiss", dismissed).await;
    let stands = json!({ "ply": 3, "insert": ["b1d4", "d7d6", "d2d3"], "illegal": true });
    evening.command("3", "correct", stands).await;
    evening
        .command("3", "result", json!({ "result": "1/2-1/2" }))
        .await;

    evening.boards[3].play("f2f3 e7e5 g2g4 d8h4");
    evening.event("4", "checkmate", |event| event["type"] == "game_ended");
    evening.boards[3].set_up();
    until("that it is seen", PATIENCE, || {
        let seen = evening.get("/api/board/gw/4")?;
        (seen["problems"] == json!([])).then_some(())
    });
    evening.boards[3].play("d2d4");
    evening.event("4", "its first half-move", |event| {
        event["type"] == "move" && event["game"] == 2
    });
}

/// Games of all files below `folder`, by their tag `Round`, which names the board.
fn by_round(folder: &Path) -> Option<BTreeMap<String, Vec<Value>>> {
    let mut games: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for game in read_by_others(folder)? {
        let round = game["headers"]["Round"].as_str().unwrap().to_owned();
        games.entry(round).or_default().push(game);
    }
    Some(games)
}

/// What `told` and the truth have that is not the same.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare(&mut self, what: &str, told: impl Into<Value>, truth: impl Into<Value>) {
        let (told, truth) = (told.into(), truth.into());
        if told != truth {
            self.0.push(format!("{what}: {told}, not {truth}"));
        }
    }
}

/// The events as a subscriber has them, each once.
fn of_mqtt(subscriber: &Subscriber, board: usize) -> Vec<Value> {
    let place = format!("/board/{board}/event/");
    let got = subscriber.all().into_iter();
    let events = got.filter(|got| got.topic.contains(&place)).map(|got| got.json());
    let events: BTreeMap<u64, Value> = events
        .map(|event| (event["seq"].as_u64().unwrap(), event))
        .collect();
    events.into_values().collect()
}

/// What is not the same in the four ways.
fn differences(evening: &Evening) -> Vec<String> {
    let mut found = Differences::default();
    of_persons(evening, &mut found);
    let printed = program()
        .args(["pgn", "--config"])
        .arg(evening.config())
        .output()
        .unwrap();
    let kept = tempfile::tempdir().unwrap();
    fs::write(kept.path().join("kept.pgn"), printed.stdout).unwrap();
    let of_journal = by_round(kept.path());
    let of_folder = by_round(&evening.folder.path().join("open/round-2"));
    let retained = tempfile::tempdir().unwrap();
    for (board, _) in (1..).zip(NAMES) {
        let place = format!("/board/{board}/pgn");
        let told = evening.subscriber.all();
        // None lies there between two games.
        let last = told
            .iter()
            .rfind(|got| got.topic.ends_with(&place) && !got.payload.is_empty());
        let text = last.map(Got::text).unwrap_or_default();
        fs::write(retained.path().join(format!("{board}.pgn")), text).unwrap();
    }
    let of_topic = by_round(retained.path());
    for (board, number, moves, result, is_last) in EVENING {
        let name = |way: &str| format!("board {board}, game {number}, {way}");
        let events = of_mqtt(&evening.subscriber, board);
        let of_game: Vec<Value> = events
            .into_iter()
            .filter(|event| event["game"] == number)
            .collect();
        found.compare(&name("MQTT"), hall::moves(&of_game).join(" "), moves);
        let of_game: Vec<Event> = of_game
            .into_iter()
            .map(|event| serde_json::from_value(event).unwrap())
            .collect();
        let (followed, told) = recorded(&of_game, number);
        found.compare(&name("MQTT, result"), told.as_str(), result.as_str());

        let page = evening.get(&format!("/api/game/gw/{board}/{number}"));
        let page = page.unwrap_or_default();
        let made = page["moves"].as_array().cloned().unwrap_or_default();
        let made: Vec<&str> = made.iter().filter_map(|made| made["uci"].as_str()).collect();
        found.compare(&name("page"), made.join(" "), moves);
        let end = page["end"]["result"].as_str().unwrap_or("*");
        found.compare(&name("page, result"), end, result.as_str());
        found.compare(
            &name("page, names"),
            page["players"].clone(),
            json!(NAMES[board - 1]),
        );
        if is_last {
            let san = page["moves"].as_array().cloned().unwrap_or_default();
            livechess::compare(evening, &mut found, board, &san, result);
        }

        let (Some(journal), Some(folder), Some(topic)) = (&of_journal, &of_folder, &of_topic) else {
            continue;
        };
        let round = format!("2.{board}");
        let journal = journal
            .get(&round)
            .and_then(|games| games.get(number as usize - 1));
        of_pgn(&mut found, &name("journal"), journal, &followed, result);
        // A game that nobody came to makes room for the next one.
        if is_last && !moves.is_empty() {
            let topic = topic.get(&round).and_then(|games| games.first());
            of_pgn(&mut found, &name("its topic"), topic, &followed, result);
            found.compare(&name("tags of its topic"), tags(topic), tags(journal));
        }
        // The public sees the game of the round.
        if number == 1 {
            let games = folder.get(&round).cloned().unwrap_or_default();
            found.compare(&name("in its own file and in games.pgn"), games.len(), 2);
            for game in &games {
                of_pgn(&mut found, &name("folder"), Some(game), &followed, result);
            }
            found.compare(&name("tags"), tags(games.first()), tags(journal));
            let [white, black] = NAMES[board - 1];
            let headers = &journal.unwrap_or(&Value::Null)["headers"];
            let names = json!([headers["White"], headers["Black"], headers["Event"]]);
            found.compare(&name("names"), names, json!([white, black, "Vienna"]));
        }
    }
    found.0
}

/// [`TAGS`] of a game.
fn tags(game: Option<&Value>) -> Vec<Value> {
    let of = |tag: &str| game.map_or(Value::Null, |game| game["headers"][tag].clone());
    TAGS.map(of).to_vec()
}

/// A PGN as others read it.
fn of_pgn(found: &mut Differences, name: &str, game: Option<&Value>, moves: &[String], result: GameResult) {
    let Some(game) = game else {
        return found.0.push(format!("{name}: it is missing"));
    };
    found.compare(&format!("{name}, errors"), game["errors"].clone(), json!([]));
    found.compare(name, game["moves"].clone(), json!(moves));
    found.compare(
        &format!("{name}, result"),
        game["headers"]["Result"].clone(),
        result.in_pgn(),
    );
    found.compare(
        &format!("{name}, how it ended"),
        game["headers"]["Termination"].clone(),
        json!(result.termination()),
    );
}

/// What persons said: once in the journal, once on MQTT, and as often at its case on the page.
fn of_persons(evening: &Evening, found: &mut Differences) {
    for (board, said) in (1..).zip(SAID) {
        let by_persons = |events: Vec<Value>| -> Vec<Value> {
            let of = |event: &Value| event["source"] == "arbiter";
            events.into_iter().filter(of).collect()
        };
        let kept = by_persons(journal(&evening.config(), &board.to_string()));
        let types: Vec<_> = kept.iter().map(|event| event["type"].clone()).collect();
        found.compare(
            &format!("board {board}, by persons, in the journal"),
            types,
            json!(said),
        );
        let heard = by_persons(of_mqtt(&evening.subscriber, board));
        found.compare(&format!("board {board}, by persons, MQTT"), heard, kept);
    }
    let page = evening.get("/api/board/gw/1").unwrap_or_default();
    let entries = page["cases"][0]["journal"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let by_persons: Vec<_> = entries
        .iter()
        .filter(|entry| entry["source"] == "arbiter")
        .map(|entry| json!([entry["what"], entry["how"], entry["penalty"]["seconds"]]))
        .collect();
    let expected = json!([["noted", null, 120], ["ended", "dismissed", null]]);
    found.compare("the case on the page, by persons", by_persons, expected);
}

fn all_agree(evening: &Evening, when: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = differences(evening);
        if found.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{when}:\n{}", found.join("\n"));
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evening_is_the_same_in_whatever_way_it_is_told() {
    let mut evening = Evening::begin().await;
    play(&mut evening).await;
    all_agree(&evening, "at the end of the evening");
    evening.start();
    all_agree(&evening, "after a restart of daemon and page");
}
