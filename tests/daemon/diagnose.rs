//! What is handed on when something went wrong: `diagnose` and `record --anonymous` say nothing of what is nobody's business.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    net::TcpListener,
    path::Path,
    process::{Output, Stdio},
};

use dgt2mqtt::{
    capture::Act,
    dgt::{Decoder, Message},
    link::file::read_capture,
};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    hall::{self, Daemon, Simulator, one_board, program, replay, until, vienna},
};

const SECRETS: [&str; 4] = [
    "hunter-password",
    "hunter-user",
    "Hunter, White",
    "Hunter, Arbiter",
];

/// The files of an archive.
fn files(path: &Path) -> BTreeMap<String, String> {
    let archive = fs::File::open(path).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (name, text)
    });
    entries.collect()
}

fn diagnose(config: &Path, to: &Path, options: &[&str]) -> Output {
    let mut command = program();
    command
        .args(["diagnose", "--config"])
        .arg(config)
        .args(options)
        .arg(to);
    command.env("DGT2MQTT__BROKER__PASSWORD", SECRETS[0]);
    command.output().unwrap()
}

/// What was said to be in the archive, before it was written.
fn listed(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let lines = said.lines().filter_map(|line| line.strip_prefix("  "));
    lines
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_has_what_was_listed_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replace(
        "keep_alive",
        &format!("username = \"{}\"\nkeep_alive", SECRETS[1]),
    );
    let text = text.replace("[journal]", "[journal]\ncaptures = true");
    fs::write(at("token"), "0123456789abcdefgh").unwrap();
    let text = format!(
        "# {}\n{text}table = {{ white = \"{}\" }}\n[[dashboard.people]]\nname = \"{}\"\nrole = \"arbiter\"\ntoken_file = \"token\"\n",
        SECRETS[0], SECRETS[2], SECRETS[3]
    );
    fs::write(&config, &text).unwrap();
    let daemon = Daemon::start_with(&config, |command| {
        command.env("DGT2MQTT__BROKER__PASSWORD", SECRETS[0]);
    });
    subscriber
        .wait("health", |got| got.topic == "dgt2mqtt/gw/health")
        .await;
    subscriber
        .wait("a move", |got| got.topic.ends_with("/1/event/move"))
        .await;
    let archive = at("report.tar.gz");
    let log = at("daemon.log").display().to_string();
    let list = listed(&diagnose(&config, &archive, &["--log", &log, "--list"]));
    assert!(!archive.exists(), "a list writes nothing");
    assert_eq!(listed(&diagnose(&config, &archive, &["--log", &log])), list);
    let found = files(&archive);
    let mut names: Vec<_> = found.keys().map(String::as_str).collect();
    names.push("mistakes.txt"); // there are none
    names.sort_unstable();
    let mut wanted: Vec<_> = list.iter().map(String::as_str).collect();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    for (name, text) in &found {
        for secret in SECRETS {
            // The log says who sits there when a game begins, and the list says so.
            if name != "log.txt" || secret != SECRETS[2] {
                assert!(!text.contains(secret), "{name} has {secret}");
            }
        }
        assert!(!text.contains("not to be had"), "{name}: {text}");
    }
    assert!(found["versions.txt"].contains(env!("CARGO_PKG_VERSION")));
    assert!(found["configuration.toml"].contains("token_file = \"token\""));
    assert!(found["log.txt"].contains("gateway \"gw\""));
    assert!(found["health.json"].contains("uptime_s"));
    assert!(
        found["journal.txt"].contains("board 1: "),
        "{}",
        found["journal.txt"]
    );

    // On request the last game, and captures.
    let capture = vienna().display().to_string();
    let more = ["--log", &log, "--force", "--board", "1", "--capture", &capture];
    listed(&diagnose(&config, &archive, &more));
    let found = files(&archive);
    let first = found["game.jsonl"].lines().next().unwrap();
    assert!(
        first.contains("\"type\":\"game_started\"") && first.contains(SECRETS[2]),
        "{first}"
    );
    assert!(
        serde_json::from_str::<serde_json::Value>(&found["state.json"])
            .unwrap()
            .is_object()
    );
    assert_eq!(
        found["captures/1-vienna-1910.dgtcap"],
        fs::read_to_string(vienna()).unwrap()
    );
    assert!(daemon.stop());
    // What was said over the line is with it, and plays again; what lies elsewhere is not.
    fs::write(at("elsewhere"), SECRETS[0]).unwrap();
    let former = at("captures/1.before.dgtcap");
    std::os::unix::fs::symlink(at("elsewhere"), &former).unwrap();
    listed(&diagnose(&config, &archive, &more));
    let line = at("line.dgtcap");
    let found = files(&archive);
    assert!(found["line/1.before.dgtcap"].starts_with("not to be had"));
    fs::write(&line, &found["line/1.dgtcap"]).unwrap();
    let moves = |events: Vec<serde_json::Value>| {
        let moves = events.into_iter().filter(|event| event["type"] == "move");
        moves.map(|event| event["uci"].clone()).collect::<Vec<_>>()
    };
    let played = moves(hall::journal(&config, "1"));
    assert!(!played.is_empty() && moves(replay(&line, "1")).starts_with(&played));
}

#[test]
fn a_bad_configuration_is_diagnosed_too() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("dgt2mqtt.toml");
    let archive = folder.path().join("report.tar.gz");
    let text = "[gateway]\nname = \"gw\"\n[broker]\npassword = \"hunter-password\"\nurls = [\"mqtt://hunter-user:x@host\"]\n";
    fs::write(&config, text).unwrap();
    listed(&diagnose(&config, &archive, &[]));
    let found = files(&archive);
    assert!(
        found["mistakes.txt"].contains("password"),
        "{}",
        found["mistakes.txt"]
    );
    fs::write(&config, "password = hunter-password").unwrap();
    listed(&diagnose(&config, &archive, &["--force"]));
    for (name, text) in found.into_iter().chain(files(&archive)) {
        assert!(
            !text.contains("hunter-password") && !text.contains("hunter-user"),
            "{name}: {text}"
        );
    }
}

#[test]
fn an_anonymous_recording_does_not_say_whose_board_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let simulator = Simulator::start(&["--speed", "3"], &[vienna()]);
    let serials = |path: &Path| {
        let capture = read_capture(path).unwrap();
        let (mut decoder, mut serials, mut fields) = (Decoder::new(), Vec::new(), 0);
        for record in &capture.records {
            if let Act::FromBoard(bytes) = &record.act {
                decoder.push(record.at, bytes, &mut |message| match message {
                    Message::Serial(serial) => serials.push(serial.to_owned()),
                    Message::Field { .. } => fields += 1,
                    _ => {}
                });
            }
        }
        (serials, fields, capture.header)
    };
    let record = |options: &[&str], name: &str| {
        let path = folder.path().join(name);
        let mut command = program();
        command
            .args(["record", "--port", &simulator.ports[0], "--output"])
            .arg(&path)
            .args(options);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        // It hands what it has to the disk every five seconds.
        until("a move", PATIENCE, || {
            (path.exists() && serials(&path).1 > 0).then_some(())
        });
        let stopped = std::process::Command::new("kill")
            .arg(child.id().to_string())
            .status();
        assert!(stopped.unwrap().success() && child.wait().unwrap().success());
        serials(&path)
    };
    let (known, _, header) = record(&[], "open.dgtcap");
    assert!(
        known.iter().any(|serial| serial.contains(|c: char| c != '0')),
        "{known:?}"
    );
    assert!(header.epoch_ms().is_some());
    let (hidden, fields, header) = record(&["--anonymous"], "anonymous.dgtcap");
    assert!(
        !hidden.is_empty() && hidden.iter().all(|serial| serial.bytes().all(|b| b == b'0')),
        "{hidden:?}"
    );
    assert!(fields > 0 && header.epoch_ms().is_none() && header.board().is_none());
}

/// Whoever records a board that is switched off sees that nothing comes, and sees when it does.
#[test]
fn a_recording_says_whether_a_board_answers() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let (capture, log) = (folder.path().join("b.dgtcap"), folder.path().join("log"));
    let mut command = program();
    command
        .args(["record", "--port", &format!("tcp://{address}"), "--output"])
        .arg(&capture)
        .stderr(fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let says = |words: &str| {
        let said = || fs::read_to_string(&log).unwrap();
        until(words, PATIENCE, || said().contains(words).then_some(()));
    };
    says("No board answers at tcp://");
    drop(silent);
    let _simulator = Simulator::start(&["--listen", &address], &[vienna()]);
    says("The board answers.");
    let stopped = std::process::Command::new("kill")
        .arg(child.id().to_string())
        .status();
    assert!(stopped.unwrap().success() && child.wait().unwrap().success());
    says(" bytes of the board in ");
    assert_eq!(
        fs::read_to_string(&log)
            .unwrap()
            .matches("No board answers")
            .count(),
        1
    );
}
