//! Holds what each reader has in the end against the journals of the gateways.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    gateways::Gateway,
    hall::Hall,
    reader::{Key, digest},
};
use crate::{
    broker::PATIENCE, database::Postgres, hall::moves, numbered::jump, page::http, reader::half_moves,
};

/// The events of each board, in order.
type Journals = BTreeMap<Key, Vec<Value>>;

/// Compares, and prints what came of it.
pub async fn compare(hall: &mut Hall) {
    let journals = journals(&hall.gateways);
    let total: usize = journals.values().map(Vec::len).sum();
    let due: BTreeMap<&Key, Vec<u64>> = journals
        .iter()
        .map(|(key, events)| (key, events.iter().map(digest).collect()))
        .collect();
    until_none("the subscriber", || {
        due.iter()
            .filter(|(key, events)| hall.reader.events(key) != **events)
            .map(|(key, _)| format!("{key:?}"))
            .collect()
    })
    .await;
    assert!(
        hall.reader.contradicted().is_empty(),
        "two contents: {:?}",
        hall.reader.contradicted()
    );
    println!(
        "{total} events of {} boards: the subscriber has each once, in order; it asked for {} of them",
        journals.len(),
        hall.reader.asked_for()
    );
    for (n, raw) in hall.reader.raw().iter().enumerate() {
        println!(
            "  broker {n} alone told {} events, left out {} when they were due, and told {} once more or late",
            raw.arrived, raw.left_out, raw.again
        );
        for (nth, known) in raw.connections.iter().enumerate().skip(1) {
            println!(
                "    connection {}: it {} the session, and had {} retained games of {}",
                nth + 1,
                if known.has_session {
                    "knew"
                } else {
                    "had forgotten"
                },
                known.games,
                journals.len()
            );
        }
    }
    if let Some(postgres) = &hall.postgres {
        until_none("the archive", || archived(postgres, &hall.gateways, &due)).await;
        println!("  so has the archive");
    }
    let port = hall.page.as_ref().unwrap().port;
    until_none("the page", || {
        let wrong = |(key, events): (&Key, &Vec<Value>)| {
            let wrong = shown(port, key, events)?;
            let last = hall.reader.last(key);
            Some(format!("{wrong}, the brokers have {last:?} of {}", events.len()))
        };
        journals.iter().filter_map(wrong).collect()
    })
    .await;
    println!("  the page has the half-moves and cases of all boards");
    let open = hall.folder.path().join("open/round-1");
    let published = |(n, events): (usize, &Vec<Value>)| {
        let file = fs::read_to_string(open.join(format!("game-{n}.pgn"))).unwrap_or_default();
        let shown = half_moves(&file).len();
        (shown != moves(events).len()).then(|| format!("game {n}: {shown} of {}", moves(events).len()))
    };
    until_none("the broadcast", || {
        let mut numbered: Vec<(usize, &Vec<Value>)> = journals
            .iter()
            .map(|((_, board), events)| (board.parse().unwrap(), events))
            .collect();
        numbered.sort_by_key(|(n, _)| *n);
        numbered.into_iter().filter_map(published).collect()
    })
    .await;
    println!("  the broadcast has all half-moves");
    accusations(&journals);
    for gateway in &mut hall.gateways {
        assert!(gateway.stop(), "{} did not end well", gateway.name);
        assert!(!gateway.log().contains("panicked"), "{}", gateway.log());
    }
}

fn journals(gateways: &[Gateway]) -> Journals {
    let mut journals = Journals::new();
    for gateway in gateways {
        for event in gateway.journal() {
            let board = event["board"].as_str().unwrap().to_owned();
            journals
                .entry((gateway.name.clone(), board))
                .or_default()
                .push(event);
        }
    }
    for ((gateway, board), events) in &journals {
        let mut last = 0;
        for event in events {
            let seq = event["seq"].as_u64().unwrap();
            // A disk that was full makes them jump.
            let is_named = |notice: &Value| jump(notice).is_some_and(|(from, to)| from <= last && to == seq);
            assert!(
                seq == last + 1 || seq > last && events.iter().any(is_named),
                "board {board} of {gateway}: {seq} comes after {last}"
            );
            last = seq;
        }
    }
    journals
}

/// Waits until nothing is wrong any more.
async fn until_none(what: &str, mut wrong: impl FnMut() -> Vec<String>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let wrong = wrong();
        if wrong.is_empty() {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{what} is not right: {} wrong: {:?}",
            wrong.len(),
            &wrong[..wrong.len().min(5)]
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Boards of which the archive has something else than the journals.
fn archived(postgres: &Postgres, gateways: &[Gateway], due: &BTreeMap<&Key, Vec<u64>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for gateway in gateways {
        let query = format!(
            "select board, payload from dgt2mqtt.event where gateway = '{}' order by board, seq",
            gateway.name
        );
        let mut kept: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for row in postgres.ask(&query).unwrap_or_default() {
            let event: Value = serde_json::from_str(&row[1..].join("\t")).unwrap();
            kept.entry(row[0].clone()).or_default().push(digest(&event));
        }
        let of = |key: &Key| kept.get(&key.1).cloned().unwrap_or_default();
        wrong.extend(
            gateway
                .keys()
                .filter(|key| due.get(key).is_some_and(|due| *due != of(key)))
                .map(|key| format!("{key:?}")),
        );
    }
    wrong
}

/// What is wrong of a board on the page, if anything is.
pub fn shown(port: u16, key: &Key, events: &[Value]) -> Option<String> {
    let (gateway, board) = key;
    let (status, body) = http(
        port,
        "GET",
        &format!("/api/board/{gateway}/{board}"),
        "",
        &Value::Null,
    );
    let detail: Value = serde_json::from_str(&body).unwrap_or_default();
    let made = |made: &Value| made["uci"].as_str().unwrap_or_default().to_owned();
    let shown: Vec<String> = detail["moves"]
        .as_array()
        .into_iter()
        .flatten()
        .map(made)
        .collect();
    let mut cases: Vec<&str> = detail["cases"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|case| case["id"].as_str())
        .collect();
    let mut due: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "irregularity")
        .filter_map(|event| event["id"].as_str())
        .collect();
    cases.sort_unstable();
    due.sort_unstable();
    let is_right =
        status == 200 && shown == moves(events) && cases == due && detail["gateway_online"] == true;
    (!is_right).then(|| {
        format!(
            "{key:?}: {status}, {} half-moves of {}, cases {cases:?} of {due:?}, online {}",
            shown.len(),
            moves(events).len(),
            detail["gateway_online"]
        )
    })
}

/// The games have nothing wrong, so that nobody is accused but of what a fault hid.
fn accusations(journals: &Journals) {
    let all = || {
        journals
            .values()
            .flatten()
            .filter(|event| event["type"] == "irregularity")
    };
    let accused: Vec<&Value> = all().filter(|event| event["certainty"] != "suspected").collect();
    let played: usize = journals.values().map(|events| moves(events).len()).sum();
    println!(
        "{played} half-moves of clean games: {} suspicions, {} accusations",
        all().count() - accused.len(),
        accused.len()
    );
    assert!(accused.is_empty(), "{accused:#?}");
}
