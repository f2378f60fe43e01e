//! Somebody sets the wall clock while the daemon runs: labels change, and nothing else does.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, all_heard, free_port, heard},
    faketime,
    hall::{Daemon, as_published, journal, moves, replay, until, vienna},
    reader::half_moves,
    replayed::{assert_as_replayed, sans},
    seed::{in_rounds, is_full},
    wiring::Wiring,
};

/// A daemon whose wall clock is off by what stands in the file `stamp`; none, with a message, where that cannot be had.
fn with_wall_clock(config: &Path, stamp: &Path) -> Option<Daemon> {
    let library = faketime::library()?;
    Some(Daemon::start_with(config, |command| {
        faketime::lies(command, &library);
        command.env("FAKETIME_TIMESTAMP_FILE", stamp);
    }))
}

/// A small computer gets the time late, then somebody sets it again and again.
#[tokio::test(flavor = "multi_thread")]
async fn a_wall_clock_that_is_set_changes_labels_and_nothing_else() {
    in_rounds(|random| the_wall_clock_is_set(Wiring::Alone, random)).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_it_where_a_line_of_many_boards_is_played_on() {
    if is_full() {
        in_rounds(|random| the_wall_clock_is_set(Wiring::Line, random)).await;
    }
}

async fn the_wall_clock_is_set(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = wiring.playing(folder.path(), mosquitto.port, &vienna(), &[]);
    let stamp = folder.path().join("time");
    let set = |offset: &str| fs::write(&stamp, offset).unwrap();
    // Nobody has set it: decades ago.
    set("-30y");
    let Some(mut daemon) = with_wall_clock(&config, &stamp) else {
        return;
    };
    let moved = |n: usize| {
        let events = heard(&subscriber, "1").events;
        events.iter().filter(|event| event["type"] == "move").count() >= n
    };
    let deadline = Instant::now() + PATIENCE;
    let all = moves(&replay(&vienna(), "1")).len();
    let mut before: Vec<usize> = (0..3).map(|_| random.usize(1..all - 6)).collect();
    before.sort_unstable();
    for (i, n) in before.into_iter().enumerate() {
        while !moved(n) {
            assert!(Instant::now() < deadline, "half-move {n} does not come");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // The first one has the time right, for it is from a server.
        set(["+0", "+1h", "-1h", "+30s", "-30s", "+2d"][if i == 0 { 0 } else { random.usize(..6) }]);
        tokio::time::sleep(Duration::from_millis(random.u64(0..2500))).await;
    }
    subscriber
        .wait("the end of the game", |got| {
            got.topic.ends_with("/1/event/game_ended")
        })
        .await;
    assert!(daemon.lives());
    assert!(daemon.stop());
    let kept = journal(&config, "1");
    let events = all_heard(&subscriber, "1", kept.len()).await;
    assert_eq!(as_published(events.clone()), as_published(kept));
    assert_as_replayed(&events, &vienna(), wiring == Wiring::Alone);
    let seconds: Vec<f64> = events.iter().map(|event| event["t"].as_f64().unwrap()).collect();
    assert!(seconds.is_sorted(), "{seconds:?}");
    let labels: Vec<_> = events.iter().map(|event| event["time"].clone()).collect();
    assert!(
        labels[0].is_null(),
        "a clock that was never set labels nothing: {labels:?}"
    );
    assert!(
        labels.iter().filter(|label| label.is_string()).count() > 3,
        "{labels:?}"
    );
    println!(
        "wall clock set 3 times: {} events compared, 0 lost, 0 repeated in another order",
        events.len()
    );
}

/// The year is another for some seconds, in both directions, while events may be a day old at the most.
#[tokio::test(flavor = "multi_thread")]
async fn a_wall_clock_that_jumps_takes_nothing_from_the_journal() {
    in_rounds(|random| the_wall_clock_jumps(Wiring::Alone, random)).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn nor_from_the_journal_of_a_line_of_many_boards() {
    if is_full() {
        in_rounds(|random| the_wall_clock_jumps(Wiring::Line, random)).await;
    }
}

async fn the_wall_clock_jumps(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = wiring.playing(folder.path(), mosquitto.port, &vienna(), &[]);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text.replace("[journal]\n", "[journal]\nmax_age_days = 1\n"),
    )
    .unwrap();
    let stamp = folder.path().join("time");
    let set = |offset: &str| fs::write(&stamp, offset).unwrap();
    set("+0");
    let Some(daemon) = with_wall_clock(&config, &stamp) else {
        return;
    };
    let year = |event: &Value| event["time"].as_str().map(|time| time[..4].to_owned());
    let years = || {
        let events = heard(&subscriber, "1").events;
        events.iter().filter_map(year).collect::<Vec<_>>()
    };
    let now = jiff::Timestamp::now().to_string()[..4].to_owned();
    let far = |random: &mut Rng| match random.bool() {
        true => format!("+{}y", random.u8(2..60)),
        false => format!("-{}y", random.u8(2..70)),
    };
    let mut offsets: Vec<_> = (0..2).map(|_| (far(&mut random), false)).collect();
    let before_1970 = (format!("-{}y", random.u8(57..70)), false);
    offsets.insert(random.usize(..=2), before_1970);
    offsets.insert(0, ("+0".to_owned(), true));
    offsets.push(("+0".to_owned(), true));
    for (offset, is_there) in offsets {
        tokio::time::sleep(Duration::from_millis(random.u64(..4000))).await;
        let before = heard(&subscriber, "1").events.len();
        set(&offset);
        // Years that no computer has shown are not written on anything.
        until(&format!("an event at {offset}"), PATIENCE, || {
            let events = heard(&subscriber, "1").events;
            let fresh = events.get(before..).unwrap_or_default();
            fresh
                .iter()
                .any(|event| (year(event) == Some(now.clone())) == is_there)
                .then_some(())
        });
        // The journal looks after itself every second.
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    println!("years: {:?}", years());
    subscriber
        .wait("the end of the game", |got| {
            got.topic.ends_with("/1/event/game_ended")
        })
        .await;
    assert!(daemon.stop());
    let kept = journal(&config, "1");
    let events = all_heard(&subscriber, "1", kept.len()).await;
    assert_eq!(as_published(events.clone()), as_published(kept.clone()));
    assert_as_replayed(&events, &vienna(), wiring == Wiring::Alone);
    let numbers: Vec<_> = kept.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let pgn = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .args(["pgn", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    let pgn = String::from_utf8(pgn.stdout).unwrap();
    let played = sans(&replay(&vienna(), "1"));
    assert_eq!(half_moves(&pgn), played, "the game is kept: {pgn}");
    println!(
        "{} events and {} half-moves of the PGN compared",
        events.len(),
        played.len()
    );
}

/// The figure of a name that the daemon tells at `port`.
pub(super) fn figure(port: u16, name: &str) -> Option<f64> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value?.trim().parse().ok()
}

/// A command that is repeated is not carried out again, and what waits for the broker is no older, whatever somebody sets
/// the wall clock to meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_wall_clock_that_jumps_makes_nothing_older() {
    in_rounds(|random| the_wall_clock_jumps_beside_what_waits(Wiring::Alone, random)).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_it_make_older_what_a_line_of_many_boards_said() {
    if is_full() {
        in_rounds(|random| the_wall_clock_jumps_beside_what_waits(Wiring::Line, random)).await;
    }
}

async fn the_wall_clock_jumps_beside_what_waits(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = wiring.one_board(folder.path(), mosquitto.port);
    let port = free_port();
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        format!("{text}[metrics]\nlisten = \"127.0.0.1:{port}\"\n"),
    )
    .unwrap();
    let stamp = folder.path().join("time");
    fs::write(&stamp, "+0").unwrap();
    let Some(daemon) = with_wall_clock(&config, &stamp) else {
        return;
    };
    subscriber
        .wait("a move", |got| got.topic.ends_with("/1/event/move"))
        .await;
    let report = r#"{"ref":"once","kind":"clock_setting_wrong"}"#;
    let replies = || {
        let all = subscriber.all().into_iter();
        all.filter(|got| got.topic.ends_with("/1/reply/report"))
            .collect::<Vec<_>>()
    };
    let days = [random.u16(2..400), random.u16(2..400)];
    let offsets = [
        format!("+{}d", days[0]),
        format!("-{}d", days[1]),
        "+0".to_owned(),
    ];
    for (n, offset) in offsets.iter().enumerate() {
        subscriber
            .publish("dgt2mqtt/gw/board/1/cmd/report", false, report, None)
            .await;
        subscriber.until("the reply", || replies().len() > n).await;
        assert_eq!(replies()[n].json()["ok"], true, "{}", replies()[n].text());
        let (first, mut again) = (replies()[0].json(), replies()[n].json());
        let repeated = again.as_object_mut().and_then(|reply| reply.remove("repeated"));
        assert_eq!(repeated, (n > 0).then_some(true.into()));
        assert_eq!(again, first, "it is answered as before");
        fs::write(&stamp, offset).unwrap();
    }
    mosquitto.stop();
    until("an event that waits", PATIENCE, || {
        figure(port, "dgt2mqtt_outbox_depth").filter(|depth| *depth > 0.0)
    });
    for offset in &offsets {
        fs::write(&stamp, offset).unwrap();
        // The figures are of the last second.
        let uptime = || figure(port, "dgt2mqtt_uptime_seconds");
        let since = until("figures", PATIENCE, uptime);
        until("newer figures", PATIENCE, || {
            uptime().filter(|now| *now > since + 2.0)
        });
        let age = figure(port, "dgt2mqtt_outbox_oldest_seconds").unwrap();
        assert!((0.5..600.0).contains(&age), "{age} s at {offset}");
    }
    assert!(daemon.stop());
    let reported = journal(&config, "1");
    let reported = reported
        .iter()
        .filter(|event| event["kind"] == "clock_setting_wrong");
    assert_eq!(reported.count(), 1);
}
