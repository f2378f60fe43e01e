//! The next round by one word: it begins by pairings that are known already, and outlives a kill. The dashboard's own
//! broadcast follows.

use std::{fs, path::Path, process::Command, time::Duration};

use dgt2mqtt::link::file::read_capture;
use serde_json::{Value, json};

use crate::{
    arbiter::Arbiter,
    broker::{Mosquitto, PATIENCE, free_port},
    hall::{Daemon, Seat, configure, fixture, until},
    page::Server,
};

const ARRAY: &str = "bbqnrkrn/pppppppp/8/8/8/8/PPPPPPPP/BBQNRKRN w KQkq - 0 1";

/// A hall of two boards at which nobody sits, its broker, arbiter and daemon. `cast` is what stands in `[broadcast]`.
pub struct Hall {
    pub folder: tempfile::TempDir,
    pub broker: Mosquitto,
    pub arbiter: Arbiter,
    pub daemon: Option<Daemon>,
    boots: Vec<String>,
}

impl Hall {
    pub async fn begin(cast: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path(), "");
        let capture = read_capture(&fixture("game-after-a-game")).unwrap();
        let seats = [("1", "/nowhere/a"), ("2", "/nowhere/b")].map(|(id, port)| Seat {
            id: id.into(),
            port,
            capture: &capture,
        });
        let config = configure(folder.path(), broker.port, &seats);
        let text = fs::read_to_string(&config).unwrap() + "[broadcast]\nfolder = \"open\"\n" + cast;
        fs::write(&config, text).unwrap();
        let arbiter = Arbiter::new(broker.port).await;
        let mut hall = Self {
            folder,
            broker,
            arbiter,
            daemon: None,
            boots: Vec::new(),
        };
        hall.start().await;
        hall
    }

    /// Starts the daemon, and returns who plays at the board.
    pub async fn start(&mut self) -> Value {
        self.daemon = Some(Daemon::start(&self.folder.path().join("dgt2mqtt.toml")));
        let known: Vec<&str> = self.boots.iter().map(String::as_str).collect();
        let (players, boot) = self.arbiter.players(&known).await;
        self.boots.push(boot);
        players
    }

    /// Kills the daemon and starts it anew.
    pub async fn kill(&mut self) -> Value {
        self.daemon.take().unwrap().kill();
        self.start().await
    }

    pub async fn next(&self, fields: Value) -> Value {
        self.arbiter.done("next_round", fields).await
    }

    async fn refused(&self, fields: Value) -> String {
        self.arbiter.refused("next_round", fields).await
    }

    /// Waits until a file has all of `parts`.
    pub fn has(&self, file: &str, parts: &[&str]) {
        has(self.folder.path(), file, parts);
    }
}

pub fn has(folder: &Path, file: &str, parts: &[&str]) {
    until(&format!("{parts:?} in {file}"), PATIENCE, || {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
        parts.iter().all(|part| text.contains(part)).then_some(())
    });
}

#[tokio::test]
async fn a_round_that_is_known_begins_by_one_word() {
    let mut hall = Hall::begin("round = 1\n").await;
    let text =
        format!("round,board,white,black,start\n1,1,Moss,Tal,\n2,1,Berg,Dorn,{ARRAY}\n3,1,Euwe,Kolb,\n");
    let put = json!({ "text": text, "round": 1, "put": true });
    hall.arbiter.done("pairings", put).await;

    // A board without a result keeps the round open, and is named.
    let state = hall.next(json!({ "begin": 2 })).await;
    assert_eq!(
        (
            &state["round"],
            &state["closed"],
            &state["without_result"][0]["white"]
        ),
        (&json!(1), &json!(false), &json!("Moss")),
        "{state}"
    );
    assert_eq!(state["begun"], Value::Null);
    for (wrong, code) in [
        (json!({ "begin": 3, "force": true }), "round_not_next"),
        (
            json!({ "begin": 2, "force": true, "start": "nonsense" }),
            "start_wrong",
        ),
        (json!({ "begin": 100 }), "bad_fields"),
    ] {
        assert_eq!(hall.refused(wrong).await, code);
    }
    assert_eq!(hall.kill().await["1"][0], "Moss", "nothing has begun");

    let forfeit = json!({ "ref": "f", "result": "+/-", "game": 1 });
    let topic = "dgt2mqtt/gw/board/1/cmd/result";
    hall.arbiter
        .subscriber
        .publish(topic, false, forfeit.to_string(), None)
        .await;
    hall.arbiter.event("game_ended", 1).await;
    let state = hall.next(json!({ "begin": 2 })).await;
    assert_eq!(
        (&state["round"], &state["begun"]),
        (&json!(2), &json!(true)),
        "{state}"
    );
    assert_eq!(state["former"]["closed"], true);
    hall.arbiter.names("1", "Berg").await;
    let second = ["[White \"Berg\"]", "[Round \"2.1\"]", ARRAY];
    hall.has("open/round-2/game-1.pgn", &second);

    // The word comes twice, also after the daemon was killed.
    assert_eq!(
        hall.next(json!({ "begin": 2 })).await,
        json!({ "round": 2, "begun": true })
    );
    assert_eq!(hall.kill().await["1"][0], "Berg");
    assert_eq!(
        hall.next(json!({ "begin": 2, "force": true })).await,
        json!({ "round": 2, "begun": true })
    );

    // The array was that of the second round alone. After the last round nothing is known.
    assert_eq!(
        hall.next(json!({ "begin": 3, "force": true })).await["begun"],
        true
    );
    hall.has("open/round-3/game-1.pgn", &["Euwe", "[Round \"3.1\"]"]);
    assert_eq!(
        hall.refused(json!({ "begin": 4, "force": true })).await,
        "round_unpaired"
    );
    assert_eq!(hall.kill().await["1"][0], "Euwe");
    assert!(hall.daemon.take().unwrap().stop());
}

#[tokio::test]
async fn a_round_has_begun_or_not_whenever_the_daemon_is_killed() {
    let mut hall = Hall::begin("round = 1\n").await;
    let rows: String = (1..=6)
        .map(|round| format!("{round},1,White {round},Black\n"))
        .collect();
    let text = format!("round,board,white,black\n{rows}");
    hall.arbiter
        .done("pairings", json!({ "text": text, "round": 1, "put": true }))
        .await;
    for (round, ms) in (2..).zip([0, 3, 7, 15, 40]) {
        let begin = json!({ "begin": round, "force": true });
        hall.arbiter.say("next_round", &begin).await;
        tokio::time::sleep(Duration::from_millis(ms)).await;
        let white = hall.kill().await["1"][0].clone();
        let either = [round - 1, round].map(|round| json!(format!("White {round}")));
        assert!(either.contains(&white), "killed after {ms} ms: {white}");
        assert_eq!(hall.next(begin).await["begun"], true);
        hall.arbiter.names("1", &format!("White {round}")).await;
    }
    assert!(hall.daemon.take().unwrap().stop());
}

#[tokio::test]
async fn a_round_begins_by_the_configured_file_and_the_dashboard_follows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pairings.csv");
    let rows =
        |second: &str| format!("round,board,white,black\n1,1,Moss,Tal\n2,1,{second},Dorn\n3,1,Euwe,Kolb\n");
    fs::write(&file, rows("Berk")).unwrap();
    let mut hall = Hall::begin(&format!("round = 1\npairings = \"{}\"\n", file.display())).await;
    let whole = "round,board,white,white_title,black\n1,1,Moss,GM,Tal\n2,1,Berg,IM,Dorn\n";
    fs::write(hall.folder.path().join("hall.csv"), whole).unwrap();
    let config = hall.folder.path().join("collector.toml");
    let text = "[broadcast]\nfolder = \"hall\"\npairings = \"hall.csv\"\nboards = [\"gw/1\"]\n";
    fs::write(&config, text).unwrap();
    let dashboard = || {
        Server::start(
            hall.broker.port,
            free_port(),
            &["--config", config.to_str().unwrap()],
        )
    };
    let page = dashboard();
    hall.has("hall/round-1/game-1.pgn", &["Moss", "GM"]);

    hall.next(json!({ "begin": 2, "force": true })).await;
    hall.has("open/round-2/game-1.pgn", &["Berk"]);
    hall.has("hall/round-2/game-1.pgn", &["Berg", "IM"]);
    // Killed, it goes on with that round.
    drop(page);
    fs::remove_file(hall.folder.path().join("hall/round-2/game-1.pgn")).unwrap();
    let page = dashboard();
    hall.has("hall/round-2/game-1.pgn", &["Berg", "IM"]);
    assert!(!hall.folder.path().join("hall/round-3").exists());

    // A reload corrects the names of the round that began, and they stay.
    fs::write(&file, rows("Berg")).unwrap();
    hall.arbiter.done("reload", json!({})).await;
    hall.has("open/round-2/game-1.pgn", &["Berg"]);
    fs::remove_file(&file).unwrap();
    assert_eq!(
        hall.refused(json!({ "begin": 3, "force": true })).await,
        "round_unpaired"
    );
    fs::write(&file, rows("Berg")).unwrap();

    // The dashboard's own file has no third round: it takes the names of the gateway.
    hall.next(json!({ "begin": 3, "force": true })).await;
    hall.has(
        "hall/round-3/game-1.pgn",
        &["[White \"Euwe\"]", "[Black \"Kolb\"]"],
    );
    assert_eq!(hall.kill().await["1"][0], "Euwe");
    // A later word of its configuration goes first.
    let later = text
        .replace("boards", "round = 4\nboards")
        .replace("pairings = \"hall.csv\"\n", "");
    fs::write(&config, later).unwrap();
    let hung_up = Command::new("kill")
        .args(["-HUP", &page.child.id().to_string()])
        .status();
    assert!(hung_up.unwrap().success());
    hall.has("hall/round-4/game-1.pgn", &["[Round \"4.1\"]"]);
    assert!(hall.daemon.take().unwrap().stop());
}

#[tokio::test]
async fn a_board_without_sensors_has_a_file_and_its_result_by_hand() {
    let mut hall = Hall::begin("round = 1\n").await;
    let put = |result: &str| {
        let head = "board,white,white_title,white_team,black,black_team,result";
        let text = format!(
            "{head}\n1,Moss,,Riga,Tal,Oslo,\n2,Euwe,,Rome,Kolb,Bern,\n3,Berg,WIM,Oslo,Dorn,Riga,{result}\n"
        );
        json!({ "text": text, "round": 1, "put": true })
    };
    hall.arbiter.done("pairings", put("")).await;
    let third = "open/round-1/game-3.pgn";
    hall.has(
        third,
        &["[White \"Berg\"]", "[WhiteTitle \"WIM\"]", "[Result \"*\"]"],
    );
    hall.arbiter.done("pairings", put("0-1")).await;
    let index = |hall: &Hall| -> Value {
        let text = fs::read_to_string(hall.folder.path().join("open/round-1/index.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    hall.has(third, &["[Result \"0-1\"]"]);
    for _ in 0..2 {
        // The index is written after the games.
        hall.has("open/round-1/index.json", &["\"result\": \"0-1\""]);
        let index = index(&hall);
        assert_eq!(index["pairings"][2]["result"], "0-1", "{index}");
        assert_eq!(index["matches"][0]["points"], json!([1.0, 0.0]), "{index}");
        // The daemon writes what it knows, and not what it finds.
        hall.daemon.take().unwrap().kill();
        fs::remove_file(hall.folder.path().join(third)).unwrap();
        hall.start().await;
        hall.has(third, &["[White \"Berg\"]", "[Result \"0-1\"]"]);
    }
    assert!(hall.daemon.take().unwrap().stop());
}

/// An arbiter enters the result of such a game, changes it and takes it back: each word counts until the next, whatever
/// dies, and pairings that are put right for another reason leave it alone.
#[tokio::test]
async fn results_of_games_without_a_board_are_entered_changed_and_taken_back() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    let put = |white: &str| {
        let text = format!(
            "round,board,white,black\n1,1,{white},Tal\n1,2,Euwe,Kolb\n1,3,Berg,Dorn\n2,1,Moss,Kolb\n"
        );
        json!({ "text": text, "round": 1, "put": true })
    };
    let checked = json!({ "text": "board,white,black\n1,A,B\n3,C,D\n", "round": 1 });
    let seats = hall.arbiter.done("pairings", checked).await["boards"].clone();
    assert_eq!(seats.as_array().map(Vec::len), Some(3), "{seats}");
    assert_eq!((&seats[2]["board"], &seats[2]["id"]), (&json!(3), &Value::Null));
    hall.arbiter.done("pairings", put("Mos")).await;
    let listed = hall.arbiter.done("results", json!({})).await;
    let berg = json!({ "game": 3, "white": "Berg", "black": "Dorn", "result": null, "by": null });
    assert_eq!(listed, json!({ "round": 1, "games": [berg], "public": true }));
    let third = "open/round-1/game-3.pgn";
    hall.has(third, &["[Result \"*\"]"]);

    let enter = |result: Value| json!({ "round": 1, "results": { "3": result }, "sender": "Anna" });
    let entered = hall.arbiter.done("results", enter(json!("1-0"))).await;
    assert_eq!(entered["games"][0]["result"], "1-0", "{entered}");
    assert_eq!(entered["games"][0]["by"], "Anna", "{entered}");
    hall.has(third, &["[Result \"1-0\"]"]);
    hall.arbiter.done("results", enter(json!("1/2-1/2"))).await;
    hall.has(third, &["[Result \"1/2-1/2\"]"]);
    // Names are put right, and the gateway dies.
    hall.arbiter.done("pairings", put("Moss")).await;
    hall.has("open/round-1/game-1.pgn", &["[White \"Moss\"]"]);
    hall.kill().await;
    hall.has(third, &["[Result \"1/2-1/2\"]"]);
    let open = hall.arbiter.done("next_round", json!({})).await["without_result"].clone();
    assert_eq!(open.as_array().map(Vec::len), Some(2), "the boards alone: {open}");

    hall.arbiter.done("results", enter(Value::Null)).await;
    hall.has(third, &["[Result \"*\"]"]);
    let open = hall.arbiter.done("next_round", json!({ "begin": 2 })).await["without_result"].clone();
    let without_board = json!({ "board": null, "game": 3, "white": "Berg", "black": "Dorn" });
    assert_eq!(open[2], without_board, "nobody forgets the game: {open}");

    for (fields, code) in [
        (
            json!({ "round": 2, "results": { "3": "1-0" } }),
            "round_not_present",
        ),
        (json!({ "results": { "3": "1-0" } }), "round_not_present"),
        (
            json!({ "round": 1, "results": { "4": "1-0" } }),
            "game_not_paired",
        ),
        (
            json!({ "round": 1, "results": { "0": "1-0" } }),
            "game_not_paired",
        ),
        (json!({ "round": 1, "results": { "3": "2-0" } }), "bad_fields"),
        (json!({ "round": 1, "results": { "three": "1-0" } }), "bad_fields"),
    ] {
        let answer = hall.arbiter.ask("results", fields.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{fields}: {answer}");
    }
    hall.has(third, &["[Result \"*\"]"]);
    // The next round has none of it.
    hall.next(json!({ "begin": 2, "force": true })).await;
    assert_eq!(hall.arbiter.done("results", json!({})).await["games"], json!([]));
    assert!(hall.daemon.take().unwrap().stop());
}
