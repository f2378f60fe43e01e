//! Somebody sets the wall clock while games are public: what was published stays, and every copy of a game has its day.

use std::{fs, path::Path, time::Duration};

use dgt2mqtt::game::pgn::tag;

use crate::{
    broker::{Mosquitto, Subscriber},
    faketime,
    hall::{Daemon, journal, one_board, program, until},
};

/// How long whatever must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A daemon that broadcasts into `open`, with its wall clock as `offset` says; none where that cannot be had.
fn broadcasting(config: &Path, offset: &str) -> Option<Daemon> {
    let library = faketime::library()?;
    let text = fs::read_to_string(config).unwrap();
    if !text.contains("[broadcast]") {
        fs::write(config, text + "[broadcast]\nfolder = \"open\"\n").unwrap();
    }
    set(config, offset);
    let stamp = config.with_file_name("time");
    Some(Daemon::start_with(config, |command| {
        faketime::lies(command, &library);
        command.env("FAKETIME_TIMESTAMP_FILE", stamp);
    }))
}

/// Sets the wall clock of the daemon.
fn set(config: &Path, offset: &str) {
    fs::write(config.with_file_name("time"), offset).unwrap();
}

fn public(config: &Path) -> String {
    fs::read_to_string(config.with_file_name("open").join("round-1/game-1.pgn")).unwrap_or_default()
}

/// Waits until the public has `count` half-moves with the times they took.
fn half_moves(config: &Path, count: usize) {
    until("half-moves", PATIENCE, || {
        (public(config).matches("[%clk").count() >= count).then_some(())
    });
}

/// What `dgt2mqtt pgn` prints.
fn printed(config: &Path) -> String {
    let output = program().args(["pgn", "--config"]).arg(config).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The longest time that a half-move took, in minutes.
fn longest(pgn: &str) -> u32 {
    let line = pgn.replace('\n', " ");
    let times = line.split("[%emt ").skip(1).map(|rest| {
        let mut parts = rest
            .split([':', ']'])
            .map(|part| part.parse::<u32>().unwrap_or(0));
        parts.next().unwrap() * 60 + parts.next().unwrap()
    });
    times.max().unwrap()
}

/// A machine whose clock was ahead is put right by a time server, and the daemon is started again.
#[test]
fn what_was_public_stays_when_the_wall_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let (_simulator, config) = one_board(folder.path(), 1);
    let Some(daemon) = broadcasting(&config, "+2h") else {
        return;
    };
    half_moves(&config, 4);
    let before = public(&config);
    let first = before.split("\n\n").nth(1).unwrap()[..20].to_owned();
    assert!(first.starts_with("1. "), "{before}");
    set(&config, "+0");
    until("the result", PATIENCE, || {
        let text = public(&config);
        assert!(text.contains(&first), "it went back: {text}");
        let result = tag(&text, "Result")?;
        (result != "*").then_some(())
    });
    let whole = public(&config);
    assert!(longest(&whole) < 2, "{whole}");
    assert!(daemon.stop());
    let Some(daemon) = broadcasting(&config, "-1h") else {
        return;
    };
    let connected = |events: &[serde_json::Value]| {
        events
            .iter()
            .filter(|event| event["type"] == "board_connected")
            .count()
    };
    until("the board again", PATIENCE, || {
        assert_eq!(public(&config), whole);
        (connected(&journal(&config, "1")) > 1).then_some(())
    });
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(public(&config), whole);
    assert!(daemon.stop());
}

/// A small computer without a battery gets the time from a server that it reaches in mid-game.
#[tokio::test(flavor = "multi_thread")]
async fn a_game_that_began_before_the_clock_was_set_has_its_day_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let Some(daemon) = broadcasting(&config, "-900d") else {
        return;
    };
    half_moves(&config, 2);
    let today = jiff::Timestamp::now().strftime("%Y.%m.%d").to_string();
    assert_ne!(tag(&public(&config), "Date"), Some(today.clone()));
    set(&config, "+0");
    until("the result", PATIENCE, || {
        (tag(&public(&config), "Result")? != "*").then_some(())
    });
    assert!(daemon.stop());
    let daemon = broadcasting(&config, "+0").unwrap();
    let retained = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/#").await;
    retained
        .wait("the board online", |got| {
            got.topic.ends_with("/status") && got.payload == b"online"
        })
        .await;
    let sent = retained.wait("the game", |got| got.topic.ends_with("/pgn")).await;
    let sent = String::from_utf8(sent.payload.to_vec()).unwrap();
    for text in [public(&config), printed(&config), sent] {
        let date = tag(&text, "Date").unwrap();
        assert!(date >= today, "{date} is before {today}: {text}");
    }
    assert!(longest(&public(&config)) < 2, "{}", public(&config));
    assert_eq!(longest(&printed(&config)), longest(&public(&config)));
    assert!(daemon.stop());
}
