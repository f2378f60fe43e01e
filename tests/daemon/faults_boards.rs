//! In the middle of games a board gets another name in the configuration, and one is taken out of it. The others play on.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use dgt2mqtt::link::file::read_capture;
use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, heard},
    hall::{Daemon, Seat, Simulator, configure, moves, until},
    replayed::{Played, difference_up_to_the_stop_at, tape, told, with_tape},
    seed::in_rounds,
};

/// A press that came so long before the end of the daemon was heard.
const HEARD: Duration = Duration::from_millis(500);
/// A press that comes so long after the daemon listens again is of an act that it has seen whole.
const WHOLE: Duration = Duration::from_secs(3);
/// How late a busy machine may tell what it has heard.
const LATE: Duration = Duration::from_secs(3);

/// How the daemon learns of another configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Reload,
    Restart,
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_that_are_renamed_and_removed_while_all_play() {
    in_rounds(|random| the_configuration_changes(By::Reload, random)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_it_is_where_the_daemon_is_started_anew_for_it() {
    in_rounds(|random| the_configuration_changes(By::Restart, random)).await;
}

async fn the_configuration_changes(by: By, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let games: Vec<Played> = (0..3).map(|_| Played::by_chance(&mut random)).collect();
    let paths: Vec<_> = games.iter().map(|game| game.path.clone()).collect();
    let simulator = Simulator::start(&[], &paths);
    let [stays, renamed, removed] = ["1", "2", "3"];
    let config = write(
        folder.path(),
        mosquitto.port,
        &games,
        &simulator,
        &[stays, renamed, removed],
    );
    let daemon = Daemon::start(&config);
    games[1].some_instant(&subscriber, renamed, &mut random).await;
    let changed = Instant::now();
    let change = || write(folder.path(), mosquitto.port, &games, &simulator, &[stays, "new"]);
    let daemon = match by {
        By::Restart => {
            assert!(daemon.stop());
            change();
            Daemon::start(&config)
        }
        By::Reload => {
            change();
            daemon.signal("HUP");
            until("the other configuration", PATIENCE, || {
                let log = fs::read_to_string(config.with_file_name("daemon.log")).unwrap();
                log.contains("the configuration was read again").then_some(())
            });
            daemon
        }
    };
    games[0].is_over(&subscriber, stays).await;
    stands(&subscriber, "new", &games[1]).await;
    let left = what_is_left(mosquitto.port).await;
    let stopped = SystemTime::now();
    assert!(daemon.stop());
    for gone in [renamed, removed] {
        let of = [format!("/board/{gone}/"), format!("/dgt2mqtt_gw_{gone}/")];
        let left: Vec<_> = left
            .iter()
            .filter(|topic| of.iter().any(|of| topic.contains(of)))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    for here in [
        "/board/1/game",
        "/board/new/game",
        "/dgt2mqtt_gw_1/",
        "/dgt2mqtt_gw_new/",
    ] {
        assert!(
            left.iter().any(|topic| topic.contains(here)),
            "{here} is missing: {left:?}"
        );
    }
    if by == By::Reload {
        games[0].is_whole(&config, &subscriber, stays).await;
    }
    // Nobody listened from then until the board was there again.
    let back = connected(&subscriber, stays).last().copied().unwrap();
    let heard_of_new = tape(&config, "new");
    for (board, game) in [
        (stays, &games[0]),
        (renamed, &games[1]),
        (removed, &games[2]),
        ("new", &games[1]),
    ] {
        let events = told(&config, &subscriber, board).await;
        let (had, all) = (moves(&events), game.moves());
        let is_right = match board {
            "1" => had == all,
            // Another name is another board, and its game is taken up in the middle.
            "new" => true,
            _ => all.starts_with(&had),
        };
        assert!(is_right, "board {board}: {had:?} of {all:?}:\n{}", lines(&events));
        if board == "new" {
            let difference = difference_up_to_the_stop_at(&events, &heard_of_new, stopped);
            assert_eq!(difference, None, "not as `replay` says of what was heard");
        }
        game.accuses_nobody_besides(&events);
        let begun = connected(&subscriber, board)[0];
        let instant = |second: f64| begun + Duration::from_secs_f64(second);
        // Of a board with another name nobody knows yet whose side of the clock is whose.
        let is_asked = |pressed: f64, told: f64| match board {
            "1" => instant(pressed) + HEARD < changed || instant(pressed) > back + WHOLE,
            "new" => false,
            _ => instant(told) + LATE < changed,
        };
        let untold = game.untold(&events, is_asked);
        assert!(
            untold.is_empty(),
            "board {board} of {}, changed after {:?}, there again after {:?}: {untold:?}\n{}",
            game.path.display(),
            changed - begun,
            back.saturating_duration_since(begun),
            lines(&events)
        );
        println!(
            "board {board}: {} half-moves of {}, {} offences asked, {} events",
            had.len(),
            all.len(),
            game.untold(&[], is_asked).len(),
            events.len()
        );
    }
}

/// When a board was found, each time.
fn connected(subscriber: &Subscriber, board: &str) -> Vec<Instant> {
    let topic = format!("dgt2mqtt/gw/board/{board}/event/board_connected");
    let all = subscriber.all().into_iter();
    all.filter(|got| got.topic == topic).map(|got| got.at).collect()
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

/// Waits until the pieces on a board stand as they do at the end of the game.
async fn stands(subscriber: &Subscriber, board: &str, game: &Played) {
    let placement = game.last_placement();
    let topic = format!("dgt2mqtt/gw/board/{board}/position");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let got = subscriber
            .all()
            .into_iter()
            .rev()
            .find(|got| got.topic == topic && !got.payload.is_empty());
        let shown = got.map(|got| got.json()["placement"].clone());
        if shown.as_ref().is_some_and(|shown| shown == placement) {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "board {board} shows {shown:?}, not {placement}:\n{}",
            lines(&heard(subscriber, board).events)
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The press may be still to come.
    tokio::time::sleep(Duration::from_secs(4)).await;
}

/// A configuration of these boards, in their order.
fn write(folder: &Path, broker: u16, games: &[Played], simulator: &Simulator, ids: &[&str]) -> PathBuf {
    let captures: Vec<_> = games
        .iter()
        .map(|game| read_capture(&game.path).unwrap())
        .collect();
    let seats: Vec<_> = ids
        .iter()
        .zip(&simulator.ports)
        .zip(&captures)
        .map(|((id, port), capture)| Seat {
            id: (*id).to_owned(),
            port,
            capture,
        })
        .collect();
    let config = configure(folder, broker, &seats);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, with_tape(&format!("{text}[home_assistant]\n"))).unwrap();
    config
}

/// The topics of what the broker retains.
async fn what_is_left(broker: u16) -> Vec<String> {
    let late = Subscriber::new(broker, "#").await;
    // What is retained comes before it.
    late.publish("that-was-all", false, "", None).await;
    late.wait("the rest", |got| got.topic == "that-was-all").await;
    let retained = late.all().into_iter().filter(|got| got.retain);
    retained.map(|got| got.topic).collect()
}
