//! The queries of `contrib/archive` tell what happened at three boards.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use dgt2mqtt::link::file::read_capture;
use serde_json::{Value, json};

use crate::{
    archive::Archive,
    broker::{Got, Mosquitto, PATIENCE, Subscriber},
    database::Postgres,
    hall::{Daemon, Seat, Simulator, as_published, configure, fixture, journal, until},
};

/// Games with all that the queries are about, and an arbiter who rules.
const GAMES: [&str; 3] = [
    "illegal-stands-rapid",
    "spare-queen-and-a-long-thought",
    "vienna-1910",
];

/// The queries by their names.
fn queries() -> BTreeMap<String, String> {
    let text = include_str!("../../contrib/archive/queries.sql");
    let parts = text.split(";\n").filter(|part| part.contains("select"));
    let named = parts.map(|part| {
        let names = part
            .lines()
            .filter_map(|line| line.strip_prefix("-- ")?.split_once(": "));
        let is_name = |name: &&str| {
            name.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let name = names.map(|(name, _)| name).find(is_name).expect("a name");
        (name.to_owned(), part.to_owned())
    });
    named.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_queries_tell_of_an_evening() {
    let Some(postgres) = Postgres::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let paths = GAMES.map(fixture);
    let simulator = Simulator::start(&["--speed", "3"], &paths);
    let captures = paths.each_ref().map(|path| read_capture(path).unwrap());
    let seats: Vec<Seat<'_>> = (1..)
        .zip(simulator.ports.iter().zip(&captures))
        .map(|(id, (port, capture))| Seat {
            id: id.to_string(),
            port,
            capture,
        })
        .collect();
    let config = configure(folder.path(), mosquitto.port, &seats);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text + "[broadcast]\nfolder = \"public\"\nround = 4\n").unwrap();
    let archive = Archive::start(&Archive::configure(
        folder.path(),
        mosquitto.port,
        &postgres.url(),
        "",
    ));
    let daemon = Daemon::start(&config);
    for (board, ply) in [("1", 5), ("2", 8), ("3", 21)] {
        subscriber.played(board, ply).await;
    }
    let accused = subscriber
        .wait("the offence", |got| {
            got.topic.ends_with("/board/1/event/irregularity")
        })
        .await
        .json();
    let penalty = json!({ "kind": "time", "seconds": 60, "to": "black" });
    let id = &accused["id"];
    for (verb, fields) in [
        (
            "note",
            json!({ "ref": "1", "sender": "Anna", "irregularity": id, "penalty": penalty }),
        ),
        (
            "report",
            json!({ "ref": "2", "sender": "Boris", "kind": "disturbing", "offender": "black", "ply": 5 }),
        ),
    ] {
        let topic = format!("dgt2mqtt/gw/board/1/cmd/{verb}");
        subscriber.publish(&topic, false, fields.to_string(), None).await;
    }
    let reported =
        |got: &Got| got.topic.ends_with("/board/1/event/irregularity") && got.json()["kind"] == "disturbing";
    let reported = subscriber.wait("the report", reported).await.json();
    let fields = json!({ "ref": "3", "sender": "Boris", "irregularity": reported["id"] });
    let topic = "dgt2mqtt/gw/board/1/cmd/dismiss";
    subscriber.publish(topic, false, fields.to_string(), None).await;
    subscriber
        .wait("the dismissal", |got| {
            got.topic.ends_with("/event/irregularity_resolved") && got.json()["how"] == "dismissed"
        })
        .await;
    assert!(daemon.stop());
    let mut events = Vec::new();
    for board in ["1", "2", "3"] {
        let told = journal(&config, board);
        until("all events", PATIENCE, || {
            let kept = as_published(postgres.events("gw", board)?);
            (kept == as_published(told.clone())).then_some(())
        });
        events.extend(told);
    }
    assert!(archive.stop());
    let queries = queries();
    assert_eq!(queries.len(), 10);
    let answers = queries.iter().map(|(name, query)| {
        let rows = postgres.rows(query);
        (name.as_str(), rows.iter().map(|row| row.join("|")).collect())
    });
    tell_what_happened(&answers.collect(), &events);
}

/// The answers are those that the events give, counted in another way.
fn tell_what_happened(answers: &BTreeMap<&str, Vec<String>>, events: &[Value]) {
    let is = |name: &str, rows: &[&str]| assert_eq!(answers[name], rows, "{name}");
    let accusations: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "irregularity")
        .collect();
    let illegal: Vec<&&Value> = accusations
        .iter()
        .filter(|event| event["kind"] == "illegal_move")
        .collect();
    let boards: BTreeSet<&str> = illegal.iter().map(|event| text(event, "board")).collect();
    let expected = format!("Spring Open|4|{}|0|{}", illegal.len(), boards.len());
    is("illegal_moves_by_round", &[expected.as_str()]);
    is(
        "by_arbiter",
        &["Spring Open|Anna|0|0|0|1", "Spring Open|Boris|1|0|0|0"],
    );
    is("rulings", &["Spring Open|illegal_move|time|time|1"]);
    is(
        "false_accusations",
        &[
            "Spring Open|4|gw|1|1|5|disturbing|black|certain|dismissed|Boris",
            "Spring Open|4|gw|2|1|3|promotion_not_replaced|white|probable|superseded|",
        ],
    );
    is("results_by_round", &["Spring Open|4|1|0|0|0|2"]);
    // A loaded machine hears late, and may suspect what it would not have otherwise.
    let answered: BTreeSet<&str> = events
        .iter()
        .filter(|event| event["type"] == "irregularity_resolved")
        .map(|event| text(event, "irregularity"))
        .collect();
    let open = accusations
        .iter()
        .filter(|event| !answered.contains(text(event, "id")));
    let rows = open.map(|event| {
        let (board, kind) = (text(event, "board"), text(event, "kind"));
        let offender = event["offender"].as_str().unwrap_or_default();
        let (game, ply) = (&event["game"], &event["ply"]);
        format!("Spring Open|4|gw|{board}|{game}|{ply}|{kind}|{offender}|suspected|")
    });
    let told = &answers["still_open"];
    let rows: Vec<_> = rows.collect();
    assert_eq!(told.len(), rows.len(), "{told:?}");
    assert!(
        told.iter().zip(&rows).all(|(row, start)| row.starts_with(start)),
        "{told:?}"
    );

    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for event in &accusations {
        let kind = format!("{}|{}", text(event, "kind"), text(event, "certainty"));
        *kinds.entry(kind).or_default() += 1;
    }
    let by_round: BTreeSet<String> = answers["irregularities_by_round"].iter().cloned().collect();
    let expected = kinds
        .iter()
        .map(|(kind, times)| format!("Spring Open|4|{kind}|{times}"));
    assert_eq!(by_round, expected.collect());

    let late = |event: &&&Value| event["t"].as_f64().unwrap() - event["at"].as_f64().unwrap();
    let longest = illegal.iter().map(late).fold(0.0, f64::max);
    let told = answers["how_late"]
        .iter()
        .find(|row| row.contains("illegal_move"))
        .unwrap();
    let told: f64 = told.rsplit('|').next().unwrap().parse().unwrap();
    assert!(longest > 0.0 && (told - longest).abs() < 0.01, "{told} {longest}");

    let open = &answers["games_without_result"];
    let begins = |row: &str, start: &str| assert!(row.starts_with(start), "{row}");
    assert_eq!(open.len(), 2);
    begins(&open[0], "Spring Open|4|gw|1|1|||5|");
    begins(&open[1], "Spring Open|4|gw|2|1|||8|");

    for (board, row) in ["1", "2", "3"].iter().zip(&answers["troubled_boards"]) {
        let count = |kind: &str| {
            let of_board = events
                .iter()
                .filter(|event| event["board"] == *board && event["type"] == kind);
            of_board.count()
        };
        let expected = format!(
            "Spring Open|gw|{board}|{}|{}|{}|",
            count("board_disconnected"),
            count("clock_disconnected"),
            count("moves_retracted")
        );
        begins(row, &expected);
        assert!(row.ends_with(&format!("|{}|0", count("notice"))), "{row}");
    }
}

fn text<'e>(event: &'e Value, field: &str) -> &'e str {
    event[field].as_str().unwrap()
}
