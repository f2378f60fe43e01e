//! Rounds by commands: pairings are looked through and put in force, a round is closed, and the next one begins.

use std::{fs, path::Path};

use dgt2mqtt::link::file::read_capture;
use serde_json::{Value, json};

use crate::{
    arbiter::Arbiter,
    broker::{self, Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, Seat, Simulator, configure, fixture, journal, one_board, program, until},
};

/// What `check` says of the configuration.
fn checked(config: &Path) -> String {
    let check = program()
        .args(["check", "--config"])
        .arg(config)
        .output()
        .unwrap();
    String::from_utf8(check.stdout).unwrap()
}

fn table(white: &str) -> String {
    format!("board,white,black\n1,{white},Black\n")
}

fn put(white: &str, round: u32) -> Value {
    json!({ "text": table(white), "round": round, "put": true })
}

#[tokio::test]
async fn a_round_follows_another_by_commands_and_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let path = fixture("game-after-a-game");
    let capture = read_capture(&path).unwrap();
    let port = folder.path().join("board");
    let seat = Seat {
        id: "1".into(),
        port: port.to_str().unwrap(),
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    let text =
        fs::read_to_string(&config).unwrap() + "[broadcast]\nfolder = \"open\"\nname = \"Open\"\nround = 1\n";
    fs::write(&config, text).unwrap();
    let arbiter = Arbiter::new(mosquitto.port).await;
    let daemon = Daemon::start(&config);
    arbiter
        .subscriber
        .wait("online", |got| got.text() == "online")
        .await;

    let first = arbiter.info(None, &[]).await;

    // What is wrong is told with its line, and not put in force.
    let wrong = "board,white,white_elo,black\n1,A,21OO,B\n1,C,,A\n9,D,,E\n3,2100,F,G\n";
    let state = arbiter
        .done("pairings", json!({ "text": wrong, "round": 1 }))
        .await;
    let found: Vec<_> = state["wrong"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (&m["code"], &m["line"]))
        .collect();
    let expected = json!([
        ["rating_no_number", 2],
        ["player_twice", 3],
        ["board_twice", 3],
        ["board_unknown", 4],
        ["column_shifted", 5]
    ]);
    assert_eq!(json!(found), expected);
    let code = arbiter
        .refused("pairings", json!({ "text": wrong, "round": 1, "put": true }))
        .await;
    assert_eq!(code, "pairings_wrong");
    assert!(!folder.path().join("journal.sqlite.round").exists());
    let state = arbiter
        .done("pairings", json!({ "text": table("Moss"), "round": 1 }))
        .await;
    assert_eq!(state["boards"][0]["white"]["name"], "Moss", "{state}");

    // The first round is put in force, and the daemon is killed.
    arbiter.done("pairings", put("Moss", 1)).await;
    daemon.kill();
    let daemon = Daemon::start(&config);
    let second = arbiter.info(Some("Moss"), &[&first]).await;
    // A board without a result keeps the round open.
    assert_eq!(arbiter.refused("pairings", put("Berg", 2)).await, "round_open");
    let state = arbiter.done("next_round", json!({})).await;
    assert_eq!(
        (&state["closed"], &state["without_result"][0]["white"]),
        (&json!(false), &json!("Moss"))
    );
    assert_eq!(arbiter.refused("pairings", put("Berg", 2)).await, "round_open");
    let simulator = Simulator::start(&[], std::slice::from_ref(&path));
    std::os::unix::fs::symlink(&simulator.ports[0], &port).unwrap();
    let begun = arbiter.event("game_started", 1).await;
    assert_eq!((&begun["white"], &begun["round"]), (&json!("Moss"), &json!(1)));

    // A name is put right: the game that goes on has it, too.
    arbiter.done("pairings", put("Mosse", 1)).await;
    let is_right = |got: &broker::Got| {
        got.topic == "dgt2mqtt/gw/board/1/pgn" && got.text().contains("[White \"Mosse\"]")
    };
    arbiter.subscriber.wait("the name in the PGN", is_right).await;

    // The next round while the game goes on: what has begun keeps its names.
    let state = arbiter.done("next_round", json!({ "force": true })).await;
    assert_eq!(state["closed"], true);
    arbiter.done("pairings", put("Berg", 2)).await;
    arbiter.info(Some("Berg"), &[]).await;
    arbiter.event("game_ended", 1).await;
    let begun = arbiter.event("game_started", 2).await;
    assert_eq!(
        (&begun["white"], &begun["round"], &begun["event"]),
        (&json!("Berg"), &json!(2), &json!("Open"))
    );
    let public = |round: u32| {
        let file = folder.path().join(format!("open/round-{round}/game-1.pgn"));
        fs::read_to_string(file).unwrap_or_default()
    };
    until("the file of the second round", PATIENCE, || {
        let text = public(2);
        (text.contains("[White \"Berg\"]") && text.contains("[Round \"2")).then_some(())
    });
    until("the file of the first", PATIENCE, || {
        let text = public(1);
        (text.contains("[White \"Mosse\"]") && text.contains("[Result \"1-0\"]")).then_some(())
    });

    // A later word of the configuration counts more, an earlier one less.
    assert_eq!(
        arbiter
            .refused("pairings", json!({ "text": table("X"), "round": 0 }))
            .await,
        "bad_fields"
    );
    daemon.kill();
    let text = fs::read_to_string(&config)
        .unwrap()
        .replace("round = 1", "round = 3");
    fs::write(&config, text).unwrap();
    let daemon = Daemon::start(&config);
    arbiter.info(None, &[&first, &second]).await;
    assert_eq!(arbiter.refused("pairings", put("Berg", 2)).await, "round_older");
    assert!(daemon.stop());
}

/// The colours of a board were exchanged in the pairings, and nobody sees it before the game is over.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_corrected_after_the_result_are_right_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let text = fs::read_to_string(&config).unwrap() + "[broadcast]\nfolder = \"open\"\nname = \"Open\"\n";
    fs::write(&config, text).unwrap();
    let arbiter = Arbiter::new(mosquitto.port).await;
    let daemon = Daemon::start(&config);
    let first = arbiter.info(None, &[]).await;
    arbiter.done("pairings", put("Moss", 1)).await;
    arbiter.event("game_ended", 1).await;

    let right = json!({ "text": "board,white,black\n1,Black,Moss\n", "round": 1, "put": true });
    arbiter.done("pairings", right).await;
    let told = arbiter.event("names_corrected", 1).await;
    assert_eq!(
        (&told["white"], &told["black"], &told["round"], &told["event"]),
        (&json!("Black"), &json!("Moss"), &json!(1), &json!("Open"))
    );
    let has_names = |text: &str| text.contains("[White \"Black\"]\n[Black \"Moss\"]");
    let is_sent = |got: &broker::Got| got.topic == "dgt2mqtt/gw/board/1/pgn" && has_names(&got.text());
    arbiter.subscriber.wait("the retained PGN", is_sent).await;
    until("the file", PATIENCE, || {
        let file = folder.path().join("open/round-1/game-1.pgn");
        has_names(&fs::read_to_string(file).ok()?).then_some(())
    });
    let printed = program().args(["pgn", "--config"]).arg(&config).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(has_names(&printed), "{printed}");

    assert!(daemon.stop());
    let daemon = Daemon::start(&config);
    arbiter.info(Some("Black"), &[&first]).await;
    let again = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/pgn").await;
    let pgn = again.wait("the PGN", |_| true).await;
    assert!(has_names(&pgn.text()), "{}", pgn.text());
    assert!(daemon.stop());
    let corrected = journal(&config, "1").into_iter();
    let corrected = corrected.filter(|event| event["type"] == "names_corrected");
    assert_eq!(corrected.count(), 1, "a restart corrects nothing");
}

#[tokio::test]
async fn a_hall_without_a_broadcast_has_rounds_too() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let path = fixture("game-after-a-game");
    let capture = read_capture(&path).unwrap();
    let seat = Seat {
        id: "1".into(),
        port: "/nowhere/board",
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    let arbiter = Arbiter::new(mosquitto.port).await;
    let daemon = Daemon::start(&config);
    arbiter
        .subscriber
        .wait("online", |got| got.text() == "online")
        .await;
    assert_eq!(arbiter.refused("next_round", json!({})).await, "no_round");
    arbiter.done("pairings", put("Moss", 1)).await;
    arbiter.info(Some("Moss"), &[]).await;
    // A result of a game that nobody came to is one, and closes the round.
    let state = arbiter.done("next_round", json!({})).await;
    assert_eq!(state["without_result"][0]["board"], "1", "{state}");
    let forfeit = json!({ "ref": "f", "result": "+/-", "game": 1 });
    arbiter
        .subscriber
        .publish("dgt2mqtt/gw/board/1/cmd/result", false, forfeit.to_string(), None)
        .await;
    let ended = arbiter.event("game_ended", 1).await;
    assert_eq!(ended["result"], "+/-");
    let state = arbiter.done("next_round", json!({})).await;
    assert_eq!(
        (&state["closed"], &state["without_result"]),
        (&json!(true), &json!([]))
    );
    arbiter.done("pairings", put("Berg", 2)).await;
    arbiter.info(Some("Berg"), &[]).await;
    // Who checks the configuration hears what counts.
    let said = checked(&config);
    assert!(said.contains("Round 2 was put in force"), "{said}");
    assert!(said.contains("Berg"), "{said}");
    assert!(daemon.stop());
}

/// Who entered a result by hand stays known, also in the next round.
#[tokio::test(flavor = "multi_thread")]
async fn the_journal_keeps_the_commands_of_the_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let capture = read_capture(&fixture("game-after-a-game")).unwrap();
    let seat = Seat {
        id: "1".into(),
        port: "/nowhere/board",
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    let arbiter = Arbiter::new(mosquitto.port).await;
    let daemon = Daemon::start(&config);
    arbiter.info(None, &[]).await;
    let rows = "board,white,black\n1,Moss,Tal\n2,Berg,Dorn\n";
    let pairings = json!({ "sender": "Anna", "text": rows, "round": 1, "put": true });
    arbiter
        .done("pairings", json!({ "text": rows, "round": 1 }))
        .await;
    arbiter.done("pairings", pairings).await;
    arbiter.info(Some("Moss"), &[]).await;
    let entered = json!({ "sender": "Boris", "round": 1, "results": { "2": "1-0" } });
    arbiter.done("results", entered).await;
    arbiter
        .refused("results", json!({ "round": 7, "results": { "2": "1-0" } }))
        .await;
    arbiter
        .done("next_round", json!({ "sender": "Anna", "force": true }))
        .await;
    arbiter.done("ping", json!({})).await;
    assert!(daemon.stop());

    let show = |options: &[&str]| {
        let mut journal = program();
        journal
            .args(["journal", "--commands", "--config"])
            .arg(&config)
            .args(options);
        let output = journal.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<Value>>()
    };
    let kept = show(&[]);
    let told: Vec<_> = kept
        .iter()
        .map(|kept| {
            (
                &kept["board"],
                &kept["verb"],
                &kept["sender"],
                &kept["reply"]["ok"],
            )
        })
        .collect();
    let expected = [
        ("pairings", json!("Anna"), true),
        ("results", json!("Boris"), true),
        ("results", Value::Null, false),
        ("next_round", json!("Anna"), true),
    ];
    let expected = expected.map(|(verb, sender, ok)| json!([null, verb, sender, ok]));
    assert_eq!(json!(told), json!(expected));
    assert_eq!(kept[1]["fields"]["results"], json!({ "2": "1-0" }), "{}", kept[1]);
    // What happened at a time of the evening.
    let time = kept[1]["time"].as_str().unwrap();
    assert!(show(&["--since", time]).len() < 4);
    assert!(!show(&["--until", time]).contains(&kept[1]));
    assert_eq!(show(&["--board", "1"]), [] as [Value; 0]);
}

/// Milliseconds that the daemon has for a command before it is killed.
const INSTANTS_MS: [u64; 8] = [0, 2, 4, 7, 11, 16, 25, 60];

/// The daemon is killed while names and tables are put in force: it goes on with those before or with those after, and
/// the same command again puts them in force.
#[tokio::test]
async fn names_and_tables_are_whole_whenever_the_daemon_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let capture = read_capture(&fixture("game-after-a-game")).unwrap();
    let seats = [("1", "/nowhere/a"), ("2", "/nowhere/b")].map(|(id, port)| Seat {
        id: id.into(),
        port,
        capture: &capture,
    });
    let config = configure(folder.path(), mosquitto.port, &seats);
    let arbiter = Arbiter::new(mosquitto.port).await;
    let mut daemon = Daemon::start(&config);
    let mut boots = vec![arbiter.info(None, &[]).await];
    let pairs = |name: &str| {
        let text = format!("board,white,black\n1,{name},Black\n2,{name} the second,White\n");
        json!({ "text": text, "round": 1, "put": true })
    };
    arbiter.done("pairings", pairs("Name 0")).await;
    let mut former = "Name 0".to_owned();
    for (n, ms) in (1..).zip(INSTANTS_MS) {
        let name = format!("Name {n}");
        let order = [["1", "2"], ["2", "1"]][n % 2];
        for (verb, fields) in [("pairings", pairs(&name)), ("bind", json!({ "boards": order }))] {
            arbiter.say(verb, &fields).await;
            tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
            daemon.kill();
            daemon = Daemon::start(&config);
            let known: Vec<&str> = boots.iter().map(String::as_str).collect();
            let (players, boot) = arbiter.players(&known).await;
            boots.push(boot);
            let whites: Vec<_> = players
                .as_object()
                .unwrap()
                .values()
                .map(|pair| &pair[0])
                .collect();
            let is_whole = |name: &str| {
                let both = [json!(name), json!(format!("{name} the second"))];
                both.iter().all(|white| whites.contains(&white))
            };
            assert!(
                is_whole(&former) || is_whole(&name),
                "killed after {ms} ms: {players}"
            );
            arbiter.done(verb, fields).await;
            former.clone_from(&name);
        }
        arbiter.names(order[0], &name).await;
        let said = checked(&config);
        assert!(
            said.contains(&format!("from the first table {}", order.join(", "))),
            "{said}"
        );
    }
    assert!(daemon.stop());
}

#[tokio::test]
async fn boards_are_bound_to_tables_for_all_rounds_and_keep_them_once_they_have_played() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let path = fixture("game-after-a-game");
    let capture = read_capture(&path).unwrap();
    let seats = ["1", "2", "3"].map(|id| Seat {
        id: id.into(),
        port: ["/nowhere/a", "/nowhere/b", "/nowhere/c"][id.parse::<usize>().unwrap() - 1],
        capture: &capture,
    });
    let config = configure(folder.path(), mosquitto.port, &seats);
    let broadcast = "[broadcast]\nfolder = \"open\"\nround = 1\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + broadcast).unwrap();
    let arbiter = Arbiter::new(mosquitto.port).await;
    let daemon = Daemon::start(&config);
    let first = arbiter.info(None, &[]).await;
    let tables = |state: &Value| -> Vec<(String, String)> {
        let tables = state["boards"].as_array().unwrap().iter();
        tables
            .map(|seat| {
                let name = seat["white"]["name"].as_str().unwrap_or_default();
                (seat["id"].as_str().unwrap().to_owned(), name.to_owned())
            })
            .collect()
    };
    let seated = |boards: [&str; 3], white: [&str; 3]| -> Vec<(String, String)> {
        let pairs = boards.into_iter().zip(white);
        pairs
            .map(|(board, white)| (board.to_owned(), white.to_owned()))
            .collect()
    };
    let round = |white: [&str; 3], round: u32| {
        let rows = (1..)
            .zip(white)
            .map(|(table, white)| format!("{table},{white},Black {table}\n"));
        let text = format!("board,white,black\n{}", rows.collect::<String>());
        json!({ "text": text, "round": round, "put": true })
    };
    arbiter.done("pairings", round(["Moss", "Berg", "Lund"], 1)).await;
    let state = arbiter.done("bind", json!({})).await;
    assert_eq!(tables(&state), seated(["1", "2", "3"], ["Moss", "Berg", "Lund"]));
    assert_eq!(state["bound"], false);

    // Each board has one table.
    for wrong in [json!(["3", "1"]), json!(["3", "1", "3"]), json!(["3", "1", "7"])] {
        assert_eq!(
            arbiter.refused("bind", json!({ "boards": wrong })).await,
            "tables_wrong"
        );
    }
    assert!(!folder.path().join("journal.sqlite.tables").exists());
    let state = arbiter.done("bind", json!({ "boards": ["3", "1", "2"] })).await;
    assert_eq!(tables(&state), seated(["3", "1", "2"], ["Moss", "Berg", "Lund"]));
    assert_eq!(state["bound"], true);
    arbiter.info(Some("Berg"), &[]).await;
    daemon.kill();
    let daemon = Daemon::start(&config);
    arbiter.info(Some("Berg"), &[&first]).await;
    let said = checked(&config);
    assert!(
        said.contains("bound to their tables by a command") && said.contains("3, 1, 2"),
        "{said}"
    );

    // A board with a result of the round keeps its table, the others need not; the public has it at its table.
    let forfeit = json!({ "ref": "f", "result": "+/-", "game": 1 });
    arbiter
        .subscriber
        .publish("dgt2mqtt/gw/board/1/cmd/result", false, forfeit.to_string(), None)
        .await;
    assert_eq!(arbiter.event("game_ended", 1).await["result"], "+/-");
    until("the file of table 2", PATIENCE, || {
        let text = fs::read_to_string(folder.path().join("open/round-1/game-2.pgn")).unwrap_or_default();
        (text.contains("[White \"Berg\"]") && text.contains("[Result \"1-0\"]")).then_some(())
    });
    for moved in [json!(["1", "3", "2"]), json!([])] {
        assert_eq!(
            arbiter.refused("bind", json!({ "boards": moved })).await,
            "boards_played"
        );
    }
    arbiter.done("bind", json!({ "boards": ["2", "1", "3"] })).await;

    // The next round is seated in the same order, and may be bound anew.
    arbiter.done("next_round", json!({ "force": true })).await;
    arbiter.done("pairings", round(["Tal", "Dorn", "Kolb"], 2)).await;
    let state = arbiter.done("bind", json!({})).await;
    assert_eq!(tables(&state), seated(["2", "1", "3"], ["Tal", "Dorn", "Kolb"]));
    let state = arbiter.done("bind", json!({ "boards": [] })).await;
    assert_eq!(tables(&state), seated(["1", "2", "3"], ["Tal", "Dorn", "Kolb"]));
    assert_eq!(state["bound"], false);
    arbiter.info(Some("Tal"), &[]).await;
    assert!(daemon.stop());
}
