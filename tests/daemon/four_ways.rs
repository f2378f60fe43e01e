//! One evening as it is told by MQTT, by `dgt2mqtt pgn` from the journal, by the folder of the broadcast, and by the
//! arbiter's page with its interface for tools of others: the same games, half-moves, results and names. What an
//! arbiter put right is in all of them, also after a kill.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use dgt2mqtt::event::{Event, GameResult};
use serde_json::{Value, json};
use shakmaty::Square;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, free_port},
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

/// Four boards, their daemon, a page.
struct Evening {
    folder: tempfile::TempDir,
    broker: Mosquitto,
    boards: Vec<Players>,
    running: Option<(Daemon, Server)>,
    livechess: u16,
}

impl Evening {
    fn begin() -> Self {
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
        let mut evening = Self {
            folder,
            broker,
            boards,
            running: None,
            livechess: 0,
        };
        evening.start();
        evening
    }

    /// Daemon and page, anew.
    fn start(&mut self) {
        if let Some((daemon, _page)) = self.running.take() {
            daemon.kill();
        }
        self.livechess = free_port();
        let daemon = Daemon::start(&self.folder.path().join("dgt2mqtt.toml"));
        let livechess = self.livechess.to_string();
        let page = Server::start(self.broker.port, free_port(), &["--livechess", &livechess]);
        self.running = Some((daemon, page));
        for (number, players) in (1..).zip(&self.boards) {
            until("the board", PATIENCE, || {
                let seen = self.get(&format!("/api/board/gw/{number}"))?;
                let is_read = seen["online"] == true && seen["placement"].is_string();
                (is_read && players.are_watched()).then_some(())
            });
        }
    }

    fn page(&self) -> u16 {
        self.running.as_ref().unwrap().1.port
    }

    fn get(&self, path: &str) -> Option<Value> {
        let (status, body) = http(self.page(), "GET", path, "", &Value::Null);
        (status == 200).then(|| serde_json::from_str(&body).unwrap())
    }

    fn command(&self, board: &str, verb: &str, fields: &Value) {
        let body = json!({ "gateway": "gw", "board": board, "verb": verb, "fields": fields });
        let (_, said) = http(self.page(), "POST", "/api/command", "", &body);
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["ok"], true, "{verb} {fields}: {said}");
    }

    /// Waits for an event of a board, in its journal.
    fn event(&self, board: &str, what: &str, fits: impl Fn(&Value) -> bool) {
        until(what, PATIENCE, || {
            let events = journal(&self.folder.path().join("dgt2mqtt.toml"), board);
            events.iter().any(&fits).then_some(())
        });
    }

    fn played(&self, board: &str, ply: usize) {
        self.event(board, "the last half-move", |event| {
            event["type"] == "move" && event["ply"] == ply
        });
    }
}

/// Plays what [`EVENING`] says, with the mistakes that were put right.
fn play(evening: &mut Evening) {
    evening.boards[0].play("e2e4 e7e5 g1f3 b8c6");
    evening.boards[0].carry(Square::F1, Square::H3);
    evening.event("1", "the illegal move", |event| event["kind"] == "illegal_move");
    evening.boards[0].put_back(&[Square::H3, Square::F1]);
    evening.event("1", "that it is put right", |event| {
        event["type"] == "irregularity_resolved"
    });
    evening.boards[0].play("f1b5 a7a6");
    evening.played("1", 6);
    evening.command(
        "1",
        "result",
        &json!({ "result": "0-1", "reason": "wrong board" }),
    );
    evening.command(
        "1",
        "correct",
        &json!({ "ply": 2, "delete": 1, "insert": ["c7c5"] }),
    );
    evening.command("1", "result", &json!({ "result": "1-0" }));

    evening.command("1", "result", &json!({ "result": "-/+", "game": 2 }));
    evening.command("2", "result", &json!({ "result": "+/-", "game": 1 }));

    evening.boards[2].play("e2e4 e7e5");
    evening.played("3", 2);
    let stands = json!({ "ply": 3, "insert": ["b1d4", "d7d6", "d2d3"], "illegal": true });
    evening.command("3", "correct", &stands);
    evening.command("3", "result", &json!({ "result": "1/2-1/2" }));

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
fn differences(evening: &Evening, subscriber: &Subscriber) -> Vec<String> {
    let mut found = Differences::default();
    let printed = program()
        .args(["pgn", "--config"])
        .arg(evening.folder.path().join("dgt2mqtt.toml"))
        .output()
        .unwrap();
    let kept = tempfile::tempdir().unwrap();
    fs::write(kept.path().join("kept.pgn"), printed.stdout).unwrap();
    let of_journal = by_round(kept.path());
    let of_folder = by_round(&evening.folder.path().join("open/round-2"));
    for (board, number, moves, result, is_last) in EVENING {
        let name = |way: &str| format!("board {board}, game {number}, {way}");
        let events = of_mqtt(subscriber, board);
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
            of_livechess(evening, &mut found, board, &san, result);
        }

        let (Some(journal), Some(folder)) = (&of_journal, &of_folder) else {
            continue;
        };
        let round = format!("2.{board}");
        let journal = journal
            .get(&round)
            .and_then(|games| games.get(number as usize - 1));
        of_pgn(&mut found, &name("journal"), journal, &followed, result);
        // The public sees the game of the round.
        if number == 1 {
            let games = folder.get(&round).cloned().unwrap_or_default();
            found.compare(&name("in its own file and in games.pgn"), games.len(), 2);
            for game in &games {
                of_pgn(&mut found, &name("folder"), Some(game), &followed, result);
            }
            for tag in TAGS {
                let of = |game: Option<&Value>| game.map_or(Value::Null, |game| game["headers"][tag].clone());
                found.compare(&name(tag), of(games.first()), of(journal));
            }
            let [white, black] = NAMES[board - 1];
            let headers = &journal.unwrap_or(&Value::Null)["headers"];
            let names = json!([headers["White"], headers["Black"], headers["Event"]]);
            found.compare(&name("names"), names, json!([white, black, "Vienna"]));
        }
    }
    found.0
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

/// What tools of others are told of the last game of a board: up to an illegal half-move, which has no name there.
fn of_livechess(
    evening: &Evening,
    found: &mut Differences,
    board: usize,
    made: &[Value],
    result: GameResult,
) {
    let get = |path: &str| -> Value {
        let (_, body) = http(
            evening.livechess,
            "GET",
            &format!("/api/v1.0/{path}"),
            "",
            &Value::Null,
        );
        serde_json::from_str(&body).unwrap_or_default()
    };
    let tournament = get("tournaments")[0]["uuid"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let pairing = get(&format!("round/{tournament}/0"))["pairings"][board - 1].clone();
    let game = get(&format!("game/{}", pairing["uuid"].as_str().unwrap_or_default()));
    let moves = game["moves"].as_array().cloned().unwrap_or_default();
    // Behind the name stand the seconds of the clock.
    let names: Vec<&str> = moves
        .iter()
        .filter_map(|made| made.as_str()?.split(' ').next())
        .collect();
    let named: Vec<&str> = made.iter().map_while(|made| made["san"].as_str()).collect();
    let name = format!("board {board}, LiveChess");
    found.compare(&name, json!(names), json!(named));
    let word = match result {
        GameResult::WhiteWins | GameResult::WhiteByForfeit => json!("WHITEWIN"),
        GameResult::BlackWins | GameResult::BlackByForfeit => json!("BLACKWIN"),
        GameResult::Draw => json!("DRAW"),
        _ => Value::Null,
    };
    found.compare(
        &format!("{name}, result"),
        json!([pairing["result"], game["result"]]),
        json!([word, word]),
    );
    let [white, black] = NAMES[board - 1].map(|name| name.split(',').next().unwrap());
    found.compare(
        &format!("{name}, names"),
        json!([pairing["white"]["lname"], pairing["black"]["lname"]]),
        json!([white, black]),
    );
}

fn all_agree(evening: &Evening, subscriber: &Subscriber, when: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = differences(evening, subscriber);
        if found.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{when}:\n{}", found.join("\n"));
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evening_is_the_same_in_whatever_way_it_is_told() {
    let mut evening = Evening::begin();
    let subscriber = Subscriber::new(evening.broker.port, "dgt2mqtt/gw/board/+/event/#").await;
    play(&mut evening);
    all_agree(&evening, &subscriber, "at the end of the evening");
    evening.start();
    all_agree(&evening, &subscriber, "after a kill");
}
