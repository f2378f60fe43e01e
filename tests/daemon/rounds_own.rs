//! Broadcasts that the page's program writes itself: groups of one event, and the round and the results that an arbiter
//! says on the page.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    hall::until,
    page::{Server, http},
    relay::{self, Relay},
    rounds_begin::{Hall, has},
    rounds_put_right::{forfeit, to_board},
};

/// Says something to a broadcast of the page, and returns the answer.
fn say(page: &Server, name: &str, verb: &str, fields: &Value) -> Value {
    let body = json!({ "gateway": name, "verb": verb, "fields": fields });
    let (status, answer) = http(page.port, "POST", "/api/round", "", &body);
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

/// No gateway of the hall is there, or tells a round: the arbiter's word begins it for each group, and it outlives kills.
#[tokio::test]
async fn a_broadcast_of_the_page_begins_its_round_and_takes_results_by_one_word() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let path = |name: &str| folder.path().join(name);
    let rows = "round,board,white,white_title,black\n1,1,Moss,FM,Tal\n1,2,Berg,,Dorn\n2,1,Euwe,GM,Kolb\n2,2,Berg,,Tal\n";
    fs::write(path("open.csv"), rows).unwrap();
    let config = path("hall.toml");
    let text = "[broadcast]\nfolder = \"hall\"\nrounds = 3\n[broadcast.groups.open]\npairings = \"open.csv\"\nboards = [\"row-1/1\"]\n\
                [broadcast.groups.rapid]\nboards = [\"row-2/1\"]\n";
    fs::write(&config, text).unwrap();
    let start = || Server::start(broker.port, free_port(), &["--config", config.to_str().unwrap()]);
    let page = start();
    has(folder.path(), "hall/open/round-1/game-1.pgn", &["Moss", "FM"]);
    let second = "hall/open/round-1/game-2.pgn";
    has(folder.path(), second, &["Berg", "[Result \"*\"]"]);

    // The second table has no sensors.
    let listed = say(&page, "/open", "results", &json!({}))["state"].clone();
    assert_eq!(listed["games"][0]["white"], "Berg", "{listed}");
    let open = say(&page, "/open", "next_round", &json!({ "begin": 2 }))["state"].clone();
    assert_eq!(
        open["without_result"],
        json!([
            { "board": "row-1/1", "game": 1, "white": "Moss", "black": "Tal" },
            { "board": null, "game": 2, "white": "Berg", "black": "Dorn" }
        ]),
        "nothing is known of a gateway that is away"
    );
    let entered = say(
        &page,
        "/open",
        "results",
        &json!({ "round": 1, "results": { "2": "0-1" } }),
    );
    assert_eq!(entered["state"]["games"][0]["result"], "0-1", "{entered}");
    has(folder.path(), second, &["[Result \"0-1\"]"]);
    drop(page);
    fs::remove_file(path(second)).unwrap();
    let page = start();
    has(folder.path(), second, &["Berg", "[Result \"0-1\"]"]);
    // The file is corrected: a name is spelt otherwise, or others played there, and it is not their result.
    let reload = |rows: &str| {
        fs::write(path("open.csv"), rows).unwrap();
        let hung_up = Command::new("kill")
            .args(["-HUP", &page.child.id().to_string()])
            .status();
        assert!(hung_up.unwrap().success());
    };
    reload(&rows.replace("1,2,Berg", "1,2,Bergman"));
    has(folder.path(), second, &["Bergman", "[Result \"0-1\"]"]);
    reload(&rows.replace("1,2,Berg,,Dorn", "1,2,Dorn,,Berg"));
    has(folder.path(), second, &["[White \"Dorn\"]", "[Result \"*\"]"]);
    reload(rows);
    has(folder.path(), second, &["\"Berg\"", "[Result \"0-1\"]"]);

    for (name, verb, fields, code) in [
        ("/open", "next_round", json!({ "begin": 3 }), "round_not_next"),
        (
            "/rapid",
            "next_round",
            json!({ "begin": 2 }),
            "broadcast_unpaired",
        ),
        ("/open", "next_round", json!({ "begin": "two" }), "bad_fields"),
        ("/open", "next_round", json!({ "force": true }), "bad_fields"),
        (
            "/open",
            "next_round",
            json!({ "begin": 2, "force": true, "start": "nonsense" }),
            "start_wrong",
        ),
        (
            "/open",
            "results",
            json!({ "round": 2, "results": { "2": "1-0" } }),
            "round_not_present",
        ),
        (
            "/open",
            "results",
            json!({ "round": 1, "results": { "3": "1-0" } }),
            "game_not_paired",
        ),
        (
            "/open",
            "pairings",
            json!({ "text": "", "round": 1 }),
            "round_of_file",
        ),
        ("/open", "bind", json!({}), "round_of_file"),
    ] {
        let answer = say(&page, name, verb, &fields);
        assert_eq!(answer["error"]["code"], code, "{verb} {fields}: {answer}");
    }
    let body = json!({ "gateway": "/women", "verb": "next_round", "fields": {} });
    assert_eq!(
        http(page.port, "POST", "/api/round", "", &body).0,
        400,
        "there is no such group"
    );

    let forced = json!({ "begin": 2, "force": true });
    let begun = say(&page, "/open", "next_round", &forced);
    assert_eq!(begun["state"], json!({ "round": 2, "begun": true }));
    has(folder.path(), "hall/open/round-2/game-1.pgn", &["Euwe", "GM"]);
    has(folder.path(), second, &["[Result \"0-1\"]"]);
    // The word twice is one word, also over a kill.
    drop(page);
    let page = start();
    let begun = say(&page, "/open", "next_round", &json!({ "begin": 2 }));
    assert_eq!(begun["state"], json!({ "round": 2, "begun": true }));
    let games = say(&page, "/open", "results", &json!({}))["state"].clone();
    assert_eq!(
        (&games["round"], &games["games"][0]["result"]),
        (&json!(2), &Value::Null),
        "{games}"
    );
    has(
        folder.path(),
        "hall/open/round-2/games.pgn",
        &["Euwe", "[Result \"*\"]"],
    );
}

/// Four boards of a gateway in groups of one process: they come and go with the configuration.
#[tokio::test]
async fn groups_have_their_own_folders_and_names_and_begin_their_rounds() {
    let mut hall = Hall::begin("round = 1\n").await;
    let text = "round,board,white,black\n1,1,Moss,Tal\n1,2,Ann,Bea\n2,1,Berg,Dorn\n2,2,Cora,Dora\n";
    let put = json!({ "text": text, "round": 1, "put": true });
    hall.arbiter.done("pairings", put).await;
    let relay = Relay::start("lip_groups", &["OpenOpen", "WomenWom", "YouthYou"]);
    let path = |name: &str| hall.folder.path().join(name);
    fs::write(path("token"), "lip_groups").unwrap();
    let common = format!(
        "[broadcast]\nfolder = \"hall\"\nname = \"Olympiad\"\nrounds = 3\nlichess = {{ token_file = \"token\", server = \"http://127.0.0.1:{}\" }}\n",
        relay.port
    );
    let group = |name: &str, board: u32, white: [&str; 2], broadcast: &str| {
        let rows = format!(
            "round,board,white,white_title,black\n1,1,{},FM,Xavi\n2,1,{},FM,Yves\n",
            white[0], white[1]
        );
        fs::write(path(&format!("{name}.csv")), rows).unwrap();
        format!(
            "[broadcast.groups.{name}]\npairings = \"{name}.csv\"\nboards = [\"gw/{board}\"]\nlichess.broadcast = \"{broadcast}\"\n"
        )
    };
    let open = group("open", 1, ["Moss", "Berg"], "OpenOpen");
    let women = group("women", 2, ["Ann", "Cora"], "WomenWom");
    let config = path("collector.toml");
    fs::write(&config, format!("{common}{open}{women}")).unwrap();
    let options = ["--config", config.to_str().unwrap()];
    let page = Server::start(hall.broker.port, free_port(), &options);
    hall.has(
        "hall/open/round-1/games.pgn",
        &["[Event \"Olympiad, open\"]", "Moss"],
    );
    hall.has(
        "hall/women/round-1/games.pgn",
        &["[Event \"Olympiad, women\"]", "Ann"],
    );
    hall.next(json!({ "begin": 2, "force": true })).await;
    hall.has(
        "hall/open/round-2/games.pgn",
        &["[Event \"Olympiad, open\"]", "Berg"],
    );
    hall.has(
        "hall/women/round-2/games.pgn",
        &["[Event \"Olympiad, women\"]", "Cora"],
    );
    let women_only = fs::read_to_string(path("hall/women/round-2/games.pgn")).unwrap();
    assert!(!women_only.contains("Berg"), "{women_only}");

    let second_round_has = |broadcast: &str, name: &str| {
        until(&format!("{name} in {broadcast} on the server"), PATIENCE, || {
            let rounds = relay.rounds();
            let mut second = rounds.values().filter(|round| round.name == "Round 2");
            let has = |round: &relay::Kept| round.broadcast == broadcast && round.pgn.contains(name);
            second.any(has).then_some(())
        });
    };
    second_round_has("OpenOpen", "Berg");
    // A group leaves and another one comes; that which stays goes on in its round.
    let youth = group("youth", 1, ["Kid", "Kim"], "YouthYou");
    fs::write(&config, format!("{common}{women}{youth}")).unwrap();
    let hung_up = Command::new("kill")
        .args(["-HUP", &page.child.id().to_string()])
        .status();
    assert!(hung_up.unwrap().success());
    hall.has(
        "hall/youth/round-2/games.pgn",
        &["[Event \"Olympiad, youth\"]", "Kim"],
    );
    fs::remove_dir_all(path("hall/women/round-2")).unwrap();
    fs::remove_dir_all(path("hall/open/round-2")).unwrap();
    drop(page);
    let _page = Server::start(hall.broker.port, free_port(), &options);
    hall.has("hall/women/round-2/games.pgn", &["Cora"]);
    assert!(
        !path("hall/open/round-2").exists(),
        "nobody writes that group any more"
    );

    second_round_has("WomenWom", "Cora");
    second_round_has("YouthYou", "Kim");
    assert_eq!(relay.refused(), [""; 0], "with one token they keep one pace");
    assert!(hall.daemon.take().unwrap().stop());
}

/// A round was begun too early, and the arbiter goes back. The broadcasts of the page follow, also one whose configuration names
/// the later round.
#[tokio::test]
async fn a_broadcast_of_the_page_goes_back_to_the_round_before() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    let text = "round,board,white,black\n1,1,Moss,Tal\n2,1,Berg,Dorn\n";
    let put = json!({ "text": text, "round": 1, "put": true });
    hall.arbiter.done("pairings", put.clone()).await;
    fs::write(hall.folder.path().join("hall.csv"), text).unwrap();
    let page = |name: &str, round: u32| {
        let config = hall.folder.path().join(format!("{name}.toml"));
        let text = format!(
            "[broadcast]\nfolder = \"{name}\"\nround = {round}\npairings = \"hall.csv\"\nboards = [\"gw/1\"]\n"
        );
        fs::write(&config, text).unwrap();
        Server::start(
            hall.broker.port,
            free_port(),
            &["--config", config.to_str().unwrap()],
        )
    };
    let pages = [page("first", 1), page("second", 2)];
    hall.has("first/round-1/game-1.pgn", &["Moss"]);
    hall.next(json!({ "begin": 2, "force": true })).await;
    let lost = to_board(&hall, "1", "result", forfeit("late", "-/+", 1)).await;
    assert_eq!(lost["ok"], true, "{lost}");
    for folder in ["first", "second"] {
        hall.has(
            &format!("{folder}/round-2/game-1.pgn"),
            &["Berg", "[Result \"0-1\"]"],
        );
    }

    let mut back = put;
    back["back"] = true.into();
    hall.arbiter.done("pairings", back).await;
    let is_back = |hall: &Hall, folder: &str| {
        hall.has(
            &format!("{folder}/round-1/game-1.pgn"),
            &["[White \"Moss\"]", "[Round \"1.1\"]", "[Result \"0-1\"]"],
        );
        let second = hall.folder.path().join(folder).join("round-2");
        until("no second round", PATIENCE, || (!second.exists()).then_some(()));
    };
    ["first", "second"]
        .iter()
        .for_each(|folder| is_back(&hall, folder));
    // It is so over a kill.
    drop(pages);
    for folder in ["first", "second"] {
        fs::remove_file(hall.folder.path().join(folder).join("round-1/game-1.pgn")).unwrap();
    }
    let pages = [page("first", 1), page("second", 2)];
    ["first", "second"]
        .iter()
        .for_each(|folder| is_back(&hall, folder));

    // The second round begins when its time has come, without the games of the first.
    hall.next(json!({ "begin": 2, "force": true })).await;
    for folder in ["first", "second"] {
        hall.has(
            &format!("{folder}/round-2/game-1.pgn"),
            &["Berg", "[Result \"*\"]"],
        );
        hall.has(
            &format!("{folder}/round-1/game-1.pgn"),
            &["Moss", "[Result \"0-1\"]"],
        );
    }
    drop(pages);
    assert!(hall.daemon.take().unwrap().stop());
}
