//! A round that was begun under a wrong number gets the right one, with all that is of it.

use std::fs;

use serde_json::{Value, json};

use crate::{
    broker::{Got, PATIENCE, free_port},
    hall::{journal, program, until},
    page::Server,
    rounds_begin::{Hall, has},
    rounds_put_right::{enter, forfeit, pairings, to_board},
};

#[tokio::test]
async fn a_round_that_was_begun_under_a_wrong_number_gets_the_right_one_with_its_games() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    let text = "board,white,black\n1,Moss,Tal\n2,Euwe,Kolb\n3,Berg,Dorn\n";
    hall.arbiter.done("pairings", pairings(text, 1, true)).await;
    hall.next(json!({ "force": true })).await;
    // It is the second round.
    let next = "board,white,black\n1,Tal,Euwe\n2,Kolb,Moss\n3,Dorn,Berg\n";
    hall.arbiter.done("pairings", pairings(next, 3, true)).await;
    hall.arbiter.names("1", "Tal").await;
    assert_eq!(
        to_board(&hall, "1", "result", forfeit("f", "+/-", 1)).await["ok"],
        true
    );
    hall.arbiter.done("results", enter(3, "1-0")).await;
    let wrong = ["open/round-3/game-1.pgn", "open/round-3/game-3.pgn"];
    hall.has(wrong[0], &["[Round \"3.1\"]", "[Result \"1-0\"]"]);
    hall.has(wrong[1], &["[Round \"3.3\"]", "[Result \"1-0\"]"]);

    for (fields, code) in [
        (json!({ "round": 2, "to": 4 }), "round_not_in_force"),
        (json!({ "round": 3, "to": 3 }), "round_not_in_force"),
        (json!({ "round": 3, "to": 100 }), "bad_fields"),
    ] {
        assert_eq!(hall.arbiter.refused("renumber", fields).await, code);
    }
    let right = json!({ "round": 3, "to": 2, "sender": "Anna" });
    let state = hall.arbiter.done("renumber", right.clone()).await;
    assert_eq!(state, json!({ "round": 2, "formerly": 3 }));
    let files = ["open/round-2/game-1.pgn", "open/round-2/game-3.pgn"];
    hall.has(
        files[0],
        &["[White \"Tal\"]", "[Round \"2.1\"]", "[Result \"1-0\"]"],
    );
    hall.has(files[1], &["[Round \"2.3\"]", "[Result \"1-0\"]"]);
    let corrected = hall.arbiter.event("names_corrected", 1).await;
    assert_eq!(
        (&corrected["round"], &corrected["white"]),
        (&json!(2), &json!("Tal"))
    );
    assert!(!hall.folder.path().join("open/round-3").exists());
    let is_pgn = |got: &Got| got.topic == "dgt2mqtt/gw/board/1/pgn" && got.text().contains("[Round \"2");
    hall.arbiter
        .subscriber
        .wait("the game with its round", is_pgn)
        .await;

    // It stays so, and the command that comes twice changes nothing.
    hall.kill().await;
    assert_eq!(hall.arbiter.done("renumber", right).await, state);
    hall.has(files[0], &["[Round \"2.1\"]", "[Result \"1-0\"]"]);
    let open = hall.next(json!({})).await;
    assert_eq!(open["round"], 2);
    let open: Vec<_> = open["without_result"]
        .as_array()
        .unwrap()
        .iter()
        .map(|seat| &seat["board"])
        .collect();
    assert_eq!(open, ["2"], "the games of the round count");
    // The third round begins as itself.
    hall.next(json!({ "force": true })).await;
    hall.arbiter.done("pairings", pairings(text, 3, true)).await;
    hall.has(
        "open/round-3/game-1.pgn",
        &["[White \"Moss\"]", "[Round \"3.1\"]", "[Result \"*\"]"],
    );
    hall.has(
        files[0],
        &["[White \"Tal\"]", "[Round \"2.1\"]", "[Result \"1-0\"]"],
    );
    let taken = json!({ "round": 3, "to": 2 });
    assert_eq!(hall.arbiter.refused("renumber", taken).await, "round_taken");
    assert!(hall.daemon.take().unwrap().stop());
}

/// Waits until an event gives the game at the board the round.
async fn is_of_round(hall: &Hall, board: &str, game: u32, round: u32) -> Value {
    let topic = format!("dgt2mqtt/gw/board/{board}/event/names_corrected");
    let is_it = |got: &Got| got.topic == topic && got.json()["game"] == game && got.json()["round"] == round;
    hall.arbiter.subscriber.wait("its round", is_it).await.json()
}

fn text(first: &str) -> String {
    format!("board,white,black\n1,{first},Tal\n2,Euwe,Kolb\n")
}

#[tokio::test]
async fn earlier_games_of_the_round_follow_and_so_do_those_of_boards_that_are_gone() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    hall.arbiter
        .done("pairings", pairings(&text("Moss"), 1, true))
        .await;
    assert_eq!(
        to_board(&hall, "1", "result", forfeit("a", "+/-", 1)).await["ok"],
        true
    );
    hall.next(json!({ "force": true })).await;
    // It is the second round. A board has two games in it, and another one is taken out of the configuration.
    hall.arbiter
        .done("pairings", pairings(&text("Berg"), 3, true))
        .await;
    hall.arbiter.names("1", "Berg").await;
    for (board, game, reference) in [("1", 2, "b"), ("1", 3, "c"), ("2", 1, "d"), ("2", 2, "e")] {
        let answer = to_board(&hall, board, "result", forfeit(reference, "-/+", game)).await;
        assert_eq!(answer["ok"], true, "{answer}");
    }
    let config = hall.folder.path().join("dgt2mqtt.toml");
    let known = fs::read_to_string(&config).unwrap();
    fs::write(&config, known.replace("id = \"2\"", "id = \"9\"")).unwrap();
    hall.arbiter.done("reload", json!({})).await;

    hall.arbiter
        .done("renumber", json!({ "round": 3, "to": 2 }))
        .await;
    for (board, game, white) in [
        ("1", 2, "Berg"),
        ("1", 3, "Berg"),
        ("2", 1, "Euwe"),
        ("2", 2, "Euwe"),
    ] {
        let told = is_of_round(&hall, board, game, 2).await;
        assert_eq!(told["white"], white, "{told}");
    }
    // Only the folder still knows the game of the board that is gone.
    let gone = "open/round-2/game-2.pgn";
    hall.has(gone, &["[White \"Euwe\"]", "[Round \"2.2\"]", "[Result \"0-1\"]"]);
    // The first round keeps its number, and nothing is told twice.
    hall.kill().await;
    hall.arbiter
        .done("renumber", json!({ "round": 3, "to": 2 }))
        .await;
    hall.arbiter.done("reload", json!({})).await;
    assert_eq!(
        to_board(&hall, "1", "result", forfeit("f", "+/-", 3)).await["ok"],
        true
    );
    assert_eq!(
        to_board(&hall, "2", "result", forfeit("g", "+/-", 2)).await["ok"],
        true
    );
    assert!(hall.daemon.take().unwrap().stop());
    let told = ["1", "2"].map(|board| journal(&config, board)).concat();
    let told = told.iter().filter(|event| event["type"] == "names_corrected");
    let mut told: Vec<_> = told
        .map(|event| {
            (
                event["board"].as_str().unwrap(),
                event["game"].as_u64().unwrap(),
                event["round"].as_u64().unwrap(),
            )
        })
        .collect();
    told.sort_unstable();
    assert_eq!(told, [("1", 2, 2), ("1", 3, 2), ("2", 1, 2), ("2", 2, 2)]);
}

/// The backup is from before the number was put right: the files of the public are those of this very round.
#[tokio::test]
async fn the_number_is_put_right_again_after_a_backup_was_restored() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    hall.arbiter
        .done("pairings", pairings(&text("Berg"), 3, true))
        .await;
    assert_eq!(
        to_board(&hall, "1", "result", forfeit("a", "+/-", 1)).await["ok"],
        true
    );
    hall.has("open/round-3/game-1.pgn", &["[Result \"1-0\"]"]);
    let call = |verb: &str, options: &[&str]| {
        let mut command = program();
        command
            .args([verb, "--config"])
            .arg(hall.folder.path().join("dgt2mqtt.toml"));
        let done = command
            .arg(hall.folder.path().join("kept.tar.gz"))
            .args(options)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    call("backup", &[]);
    let right = json!({ "round": 3, "to": 2 });
    hall.arbiter.done("renumber", right.clone()).await;
    let file = "open/round-2/game-1.pgn";
    hall.has(file, &["[Round \"2.1\"]", "[Result \"1-0\"]"]);
    assert!(hall.daemon.take().unwrap().stop());
    call("restore", &["--force"]);
    hall.start().await;
    hall.has(
        "open/round-3/game-1.pgn",
        &["[Round \"3.1\"]", "[Result \"1-0\"]"],
    );
    hall.arbiter.done("renumber", right).await;
    let is_gone = || (!hall.folder.path().join("open/round-3").exists()).then_some(());
    until("nothing is left of the wrong number", PATIENCE, is_gone);
    hall.has(file, &["[Round \"2.1\"]", "[Result \"1-0\"]"]);
    assert!(hall.daemon.take().unwrap().stop());
}

/// A broadcast that the page's program writes has the round of the gateways, also under its right number.
#[tokio::test]
async fn the_broadcast_of_the_page_follows() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    let path = |name: &str| hall.folder.path().join(name);
    let own = path("collector.toml");
    fs::write(
        path("own.csv"),
        "board,white,white_title,black\n1,Moss,GM,Tal\n2,Euwe,,Kolb\n",
    )
    .unwrap();
    fs::write(
        &own,
        "[broadcast]\nfolder = \"hall\"\nround = 1\npairings = \"own.csv\"\nboards = [\"gw/1\", \"gw/2\"]\nhold_results_seconds = 0\n",
    )
    .unwrap();
    let options = ["--config", own.to_str().unwrap()];
    let page = Server::start(hall.broker.port, free_port(), &options);
    hall.arbiter
        .done("pairings", pairings(&text("Moss"), 1, true))
        .await;
    has(hall.folder.path(), "hall/round-1/game-1.pgn", &["Moss", "GM"]);
    hall.next(json!({ "force": true })).await;
    hall.arbiter
        .done("pairings", pairings(&text("Berg"), 4, true))
        .await;
    assert_eq!(
        to_board(&hall, "1", "result", forfeit("a", "+/-", 1)).await["ok"],
        true
    );
    has(
        hall.folder.path(),
        "hall/round-4/game-1.pgn",
        &["Berg", "[Round \"4.1\"]", "[Result \"1-0\"]"],
    );

    hall.arbiter
        .done("renumber", json!({ "round": 4, "to": 2 }))
        .await;
    let first = "hall/round-2/game-1.pgn";
    has(
        hall.folder.path(),
        first,
        &["Berg", "[Round \"2.1\"]", "[Result \"1-0\"]"],
    );
    let is_gone = || (!path("hall/round-4").exists()).then_some(());
    until("nothing is left of the wrong number", PATIENCE, is_gone);
    has(
        hall.folder.path(),
        "hall/round-1/game-1.pgn",
        &["Moss", "GM", "[Round \"1.1\"]"],
    );

    // The page is away while the number is put right again. The round stays that round.
    drop(page);
    hall.arbiter
        .done("renumber", json!({ "round": 2, "to": 3 }))
        .await;
    let page = Server::start(hall.broker.port, free_port(), &options);
    has(
        hall.folder.path(),
        "hall/round-3/game-1.pgn",
        &["Berg", "[Round \"3.1\"]", "[Result \"1-0\"]"],
    );
    drop(page);
    let _page = Server::start(hall.broker.port, free_port(), &options);
    has(
        hall.folder.path(),
        "hall/round-3/game-1.pgn",
        &["Berg", "[Round \"3.1\"]", "[Result \"1-0\"]"],
    );
    // The fourth round begins as itself.
    hall.next(json!({ "force": true })).await;
    hall.arbiter
        .done("pairings", pairings(&text("Lund"), 4, true))
        .await;
    has(
        hall.folder.path(),
        "hall/round-4/game-1.pgn",
        &["Lund", "[Round \"4.1\"]", "[Result \"*\"]"],
    );
    has(
        hall.folder.path(),
        "hall/round-3/game-1.pgn",
        &["Berg", "[Round \"3.1\"]", "[Result \"1-0\"]"],
    );
    assert!(hall.daemon.take().unwrap().stop());
}
