//! Events of a board leave in order whatever the broker refuses: one kind of event for a while, or what is above its limit. With
//! boards on which games are played, and with events that are made up.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    event::{Body, Event},
    journal::Entry,
    link::file::read_capture,
};
use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{Got, Mosquitto, PATIENCE, Subscriber, all_heard, heard},
    hall::{Daemon, Seat, Simulator, configure, fixture, journal, playing, replay, until},
    offences::OFFENCES,
    replayed::{Played, taped, told},
    retold::Retold,
    seed::{in_rounds, rng, rounds},
    station::{self, Station, broker as plain},
    wiring::Wiring,
};

/// An event of one of two types.
fn event(board: &str, seq: u64, is_offence: bool, size: usize) -> Event {
    let body = if is_offence {
        Body::Notice {
            code: "test".to_owned(),
            message: "x".repeat(size),
        }
    } else {
        Body::BoardDisconnected {
            reason: format!("event {seq}"),
        }
    };
    Event {
        body,
        ..station::event(board, seq)
    }
}

async fn feed(station: &Station, board: &str, events: impl IntoIterator<Item = Event>) {
    for event in events {
        let entry = Entry {
            board: board.to_owned(),
            events: vec![event],
            ..Entry::default()
        };
        station.journal.append(entry).await.await.unwrap();
    }
}

/// The first irregularity of a fixture, under another number.
fn irregularity(fixture_name: &str, seq: u64) -> Event {
    let events = std::fs::read_to_string(fixture(fixture_name).with_extension("jsonl")).unwrap();
    let line = events
        .lines()
        .find(|line| line.contains(r#""type":"irregularity""#));
    let event: Event = serde_json::from_str(line.unwrap()).unwrap();
    Event {
        body: event.body,
        ..station::event("7", seq)
    }
}

/// Brokers that take less than an irregularity has: it goes in fewer languages, then without words, then a notice stands for it. Each
/// says where the whole is.
#[tokio::test]
async fn an_irregularity_that_is_above_the_limit_goes_in_the_longest_form_that_fits() {
    for (limit, languages, kind) in [
        (4000, 2, "irregularity"),
        (1900, 1, "irregularity"),
        (1100, 0, "irregularity"),
        (700, 0, "notice"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("allow_anonymous true\nmax_packet_size {limit}");
        let mosquitto = Mosquitto::start_with(folder.path(), &options, "");
        let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
        let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
        let events = [
            event("7", 1, false, 0),
            irregularity("illegal-king-left-in-check", 2),
            event("7", 3, false, 0),
        ];
        feed(&station, "7", events).await;
        station.delivered().await;
        let told = |got: &Got| got.topic.contains("/7/event/") && got.json()["seq"] == 3;
        subscriber.wait("the last", told).await;
        assert_eq!(subscriber.numbers("7"), [1, 2, 3], "{limit}");
        let all = subscriber.all();
        let got = all
            .iter()
            .find(|got| got.topic.contains("/7/event/") && got.json()["seq"] == 2);
        let told = got.unwrap().json();
        assert_eq!(told["type"], kind, "{limit}: {told}");
        let texts = told["text"].as_object().map_or(0, serde_json::Map::len);
        assert_eq!(texts, languages, "{limit}: {told}");
        if languages < 2 {
            assert_eq!(told["abridged"], true, "{limit}: {told}");
            assert_eq!(told["whole"], "history", "{limit}: {told}");
        }
        station.shut_down().await;
    }
}

/// Who may write what; taken over by a broker that runs.
fn allow(folder: &Path, notices: bool) {
    let kind = if notices { "+" } else { "board_disconnected" };
    let rules = format!(
        "topic read #\ntopic write dgt2mqtt/gw/+\ntopic write dgt2mqtt/gw/board/+/+\ntopic write dgt2mqtt/gw/board/+/event/{kind}\n"
    );
    std::fs::write(folder.join("acl"), rules).unwrap();
}

/// Has a broker read again who may write what.
fn take_over(mosquitto: &Mosquitto) {
    let id = mosquitto.process().to_string();
    let told = Command::new("kill").args(["-HUP", &id]).status();
    assert!(told.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn games_are_told_whole_where_one_kind_of_their_events_is_refused_for_a_while() {
    in_rounds(|random| a_kind_is_refused(Wiring::Alone, random)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_are_games_on_a_line_of_many_boards() {
    in_rounds(|random| a_kind_is_refused(Wiring::Line, random)).await;
}

/// Where something else is told than was played. Over a line a board may be late on a busy machine, and then what is told at first
/// is put right.
fn otherwise(events: &[Value], game: &Played, wiring: Wiring) -> Option<String> {
    match wiring {
        Wiring::Alone => game.missing(events),
        Wiring::Line => Retold::new(events, &replay(&game.path, "1")).difference(),
    }
}

/// The program itself, with two boards. From a random instant of their games on the broker refuses the kind of one of the events
/// that come after it, of one board or of both, and some seconds longer.
async fn a_kind_is_refused(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("acl");
    let refuse = |what: &str| std::fs::write(&rules, format!("topic readwrite #\n{what}")).unwrap();
    refuse("");
    let access = format!("allow_anonymous true\nacl_file {}", rules.display());
    let mosquitto = Mosquitto::start_with(folder.path(), &access, "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let paths = [(); 2].map(|()| fixture(OFFENCES[random.usize(..OFFENCES.len())]));
    let simulator = Simulator::start(wiring.options(), &paths);
    let captures = [&paths[0], &paths[1]].map(|path| read_capture(path).unwrap());
    let ids = ["1", "2"];
    let seat = |n: usize| Seat {
        id: ids[n].into(),
        port: &simulator.ports[n],
        capture: &captures[n],
    };
    let config = configure(folder.path(), mosquitto.port, &[seat(0), seat(1)]);
    taped(&config);
    let games = paths.clone().map(Played::of);
    let last = captures.iter().map(|capture| capture.end().0).max().unwrap();
    let meant = paths.each_ref().map(|path| replay(path, "1"));
    let (n, is_of_both) = (random.usize(..2), random.bool());
    let event = &meant[n][random.usize(..meant[n].len())];
    let kind = event["type"].as_str().unwrap();
    let board = if is_of_both { "+" } else { ids[n] };
    let from = random.u64(..=(event["t"].as_f64().unwrap() * 1000.0) as u64);
    let long = random.u64(..8000);

    let start = Instant::now();
    let daemon = Daemon::start(&config);
    tokio::time::sleep(Duration::from_millis(from)).await;
    refuse(&format!("topic deny dgt2mqtt/gw/board/{board}/event/{kind}\n"));
    take_over(&mosquitto);
    until("a refusal", PATIENCE, || {
        let log = std::fs::read_to_string(config.with_file_name("daemon.log")).unwrap();
        let is_refused = |line: &str| line.contains("does not take our messages") && line.contains(kind);
        log.lines().any(is_refused).then_some(())
    });
    tokio::time::sleep(Duration::from_millis(long)).await;
    refuse("");
    take_over(&mosquitto);

    let what = format!("{kind} of {board} refused from {from} ms on, and {long} ms longer");
    let deadline = start + Duration::from_millis(last) + PATIENCE;
    for (id, game) in ids.iter().zip(&games) {
        while let Some(difference) = otherwise(&heard(&subscriber, id).events, game, wiring) {
            assert!(
                Instant::now() < deadline,
                "{what}: not as `replay` says: {difference}"
            );
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
    // Whatever else is to be said.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(daemon.stop());
    let mut count = 0;
    for (id, game) in ids.iter().zip(&games) {
        let events = told(&config, &subscriber, id).await;
        assert_eq!(otherwise(&events, game, wiring), None, "{what}");
        if wiring == Wiring::Alone {
            game.is_whole_in(&events, &config, id);
        }
        count += events.len();
    }
    println!("{what}: {count} events compared");
}

#[tokio::test]
async fn one_kind_of_event_that_is_refused_for_a_while_is_waited_for() {
    let mut rng = rng();
    for round in 0..rounds() {
        let folder = tempfile::tempdir().unwrap();
        allow(folder.path(), false);
        let access = format!(
            "allow_anonymous true\nacl_file {}",
            folder.path().join("acl").display()
        );
        let mosquitto = Mosquitto::start_with(folder.path(), &access, "");
        let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
        let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
        let offences: Vec<u64> = (0..3).map(|_| rng.u64(2..20)).collect();
        for board in ["7", "8"] {
            let events = (1..=20).map(|seq| event(board, seq, board == "7" && offences.contains(&seq), 50));
            feed(&station, board, events).await;
        }
        subscriber
            .wait("all of board 8", |got| {
                got.topic.contains("/8/event/") && got.json()["seq"] == 20
            })
            .await;
        tokio::time::sleep(Duration::from_millis(rng.u64(0..3000))).await;
        let first = *offences.iter().min().unwrap();
        assert!(subscriber.numbers("7").len() < usize::try_from(first).unwrap());
        allow(folder.path(), true);
        take_over(&mosquitto);
        station.delivered().await;
        subscriber
            .wait("all of board 7", |got| {
                got.topic.contains("/7/event/") && got.json()["seq"] == 20
            })
            .await;
        assert_eq!(
            subscriber.numbers("7"),
            (1..=20).collect::<Vec<_>>(),
            "round {round}"
        );
        station.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_above_the_brokers_limit_goes_in_a_short_form_in_its_turn() {
    in_rounds(some_are_above_the_limit).await;
}

async fn some_are_above_the_limit(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start_with(folder.path(), "allow_anonymous true\nmax_packet_size 700", "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    let large: Vec<u64> = (0..5).map(|_| random.u64(1..=20)).collect();
    let events = (1..=20).map(|seq| event("7", seq, large.contains(&seq), 900));
    feed(&station, "7", events).await;
    station.delivered().await;
    subscriber
        .wait("the last", |got| {
            got.topic.contains("/7/event/") && got.json()["seq"] == 20
        })
        .await;
    assert_eq!(subscriber.numbers("7"), (1..=20).collect::<Vec<_>>());
    let large: BTreeSet<_> = large.into_iter().collect();
    let events = heard(&subscriber, "7").events;
    for event in &events {
        assert_eq!(
            is_abridged(event),
            large.contains(&event["seq"].as_u64().unwrap()),
            "{event}"
        );
    }
    station.shut_down().await;
}

/// True for a notice that stands for an event, and says where that is to be had.
fn is_abridged(event: &Value) -> bool {
    let is_short = event["type"] == "notice" && event["code"] == "event_abridged";
    assert!(
        !is_short || event["abridged"] == true && event["message"].as_str().unwrap().contains("history"),
        "{event}"
    );
    is_short
}

#[tokio::test(flavor = "multi_thread")]
async fn so_do_those_of_a_game_with_an_offence() {
    in_rounds(a_game_is_above_the_limit).await;
}

async fn a_game_is_above_the_limit(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let limit = random.usize(700..2000);
    let options = format!("allow_anonymous true\nmax_packet_size {limit}");
    let mosquitto = Mosquitto::start_with(folder.path(), &options, "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let game = Played::of(fixture(OFFENCES[random.usize(..OFFENCES.len())]));
    let (_simulator, config) = playing(folder.path(), mosquitto.port, "1", &game.path, &[]);
    taped(&config);
    let daemon = Daemon::start(&config);
    let is_event = |got: &Got| got.topic.contains("/1/event/");
    subscriber.wait("an event", is_event).await;
    until("the whole game in the journal", PATIENCE, || {
        game.missing(&journal(&config, "1")).is_none().then_some(())
    });
    // Whatever else is to be said.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(daemon.stop());
    let kept = journal(&config, "1");
    game.is_whole_in(&kept, &config, "1");
    let got = all_heard(&subscriber, "1", kept.len()).await;
    let numbers = |events: &[Value]| {
        events
            .iter()
            .map(|event| event["seq"].as_u64())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&got), numbers(&kept), "{limit} bytes");
    let mut short = 0;
    for (got, kept) in got.iter().zip(&kept) {
        short += usize::from(got["abridged"] == true);
        if !is_abridged(got) {
            for field in [
                "type",
                "ply",
                "uci",
                "kind",
                "offender",
                "certainty",
                "irregularity",
                "t",
            ] {
                assert_eq!(got[field], kept[field], "{limit} bytes: {got}");
            }
        }
    }
    println!("{limit} bytes: {} events, {short} of them short", kept.len());
}

/// As little as the gateway puts up with, and the longest names: every event goes in some form.
#[tokio::test(flavor = "multi_thread")]
async fn at_the_smallest_limit_every_event_of_a_game_comes() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start_with(folder.path(), "allow_anonymous true\nmax_packet_size 700", "");
    let (base, gateway, board) = ("b".repeat(128), "g".repeat(32), "t".repeat(32));
    let subscriber = Subscriber::new(mosquitto.port, "+/+/board/+/event/#").await;
    let (_simulator, config) = playing(
        folder.path(),
        mosquitto.port,
        &board,
        &fixture("famous-king-to-a5"),
        &[],
    );
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text.replace(
        "name = \"gw\"",
        &format!("name = \"{gateway}\"\nbase_topic = \"{base}\""),
    );
    std::fs::write(&config, text).unwrap();
    let daemon = Daemon::start(&config);
    subscriber.wait("an event", |_| true).await;
    let kept = until("the end of the game", PATIENCE, || {
        let kept = journal(&config, &board);
        let is_over = kept.iter().any(|event| event["type"] == "game_ended");
        is_over.then_some(kept)
    });
    assert!(kept.iter().any(|event| event["type"] == "irregularity"));
    let last = kept.last().unwrap()["seq"].clone();
    subscriber
        .wait("the last event", |got| got.json()["seq"] == last)
        .await;
    let numbers: Vec<_> = kept.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(subscriber.numbers(&board), numbers);
    assert!(daemon.stop());
}
