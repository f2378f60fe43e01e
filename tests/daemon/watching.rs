//! Whether all is well can be asked: of the daemon, of the page, by Prometheus with the alarms that are in `contrib`.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    hall::{Daemon, one_board, program, until},
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Status and body; none where nothing listens.
fn ask(port: u16, path: &str, accept: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let question = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn answers(port: u16, path: &str, status: u16) -> String {
    until(&format!("{path} {status}"), PATIENCE, || {
        ask(port, path, "*/*").filter(|(found, _)| *found == status)
    })
    .1
}

/// promtool, where it is to be had.
fn promtool() -> Option<Command> {
    let own = Path::new(ROOT).join("target/tools/promtool");
    let place = if own.exists() {
        own
    } else {
        PathBuf::from("promtool")
    };
    let mut command = Command::new(place);
    let is_there = command.arg("--version").output().is_ok();
    if !is_there {
        skipped!("no promtool here (it is in Debian's prometheus)");
    }
    is_there.then(|| Command::new(command.get_program()))
}

/// The names of figures in a text.
fn figures(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let figures = words.filter(|word| word.starts_with("dgt2mqtt_"));
    figures.map(str::to_owned).collect()
}

#[test]
fn the_daemon_says_whether_it_is_well_and_ready() {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    mosquitto.stop();
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let port = free_port();
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        format!("{text}[metrics]\nlisten = \"127.0.0.1:{port}\"\n"),
    )
    .unwrap();
    let daemon = Daemon::start(&config);
    assert_eq!(answers(port, "/healthz", 200), "ok\n");
    // Until its loop has come round for the first time it says that.
    let started = |answer: &(u16, String)| answer.1 != "it is starting\n";
    let (status, why) = until("it has started", PATIENCE, || {
        ask(port, "/readyz", "*/*").filter(started)
    });
    assert_eq!((status, why.as_str()), (503, "no broker is connected\n"));
    mosquitto.resume();
    assert_eq!(answers(port, "/readyz", 200), "ok\n");
    let plain = until("the board's game", PATIENCE, || {
        let text = ask(port, "/metrics", "*/*")?.1;
        let plays = ["board_online{board=\"1\"} 1\n", "board_playing{board=\"1\"} 1\n"];
        plays.iter().all(|figure| text.contains(figure)).then_some(text)
    });
    assert!(plain.contains("# TYPE dgt2mqtt_board_restarts_total counter\n") && !plain.contains("# EOF"));
    assert!(plain.contains("dgt2mqtt_board_restarts_total{board=\"1\"} 0\n"));
    let (_, open) = ask(port, "/metrics", "application/openmetrics-text;version=1.0.0").unwrap();
    assert!(open.ends_with("\n# EOF\n") && open.contains("# TYPE dgt2mqtt_board_restarts counter\n"));
    let names = |text: &str| {
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        samples
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&plain), names(&open));
    let manual = include_str!("../../docs/reliability.md");
    for name in figures(&names(&plain).join(" ")) {
        assert!(
            manual.contains(&format!("`{name}`")),
            "{name} is not in docs/reliability.md"
        );
    }
    // Alarms and board speak of nothing else.
    for file in ["prometheus/dgt2mqtt.rules.yml", "grafana/dgt2mqtt.json"] {
        let text = fs::read_to_string(Path::new(ROOT).join("contrib").join(file)).unwrap();
        let unknown: Vec<_> = figures(&text).difference(&figures(&plain)).cloned().collect();
        assert_eq!(unknown, [""; 0], "{file}");
    }
    if let Some(mut promtool) = promtool() {
        let mut child = promtool
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(plain.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
    assert!(daemon.stop());
}

#[test]
fn the_alarms_ring_when_they_should() {
    let folder = Path::new(ROOT).join("contrib/prometheus");
    for [verb, what, file] in [
        ["check", "rules", "dgt2mqtt.rules.yml"],
        ["test", "rules", "dgt2mqtt.rules.test.yml"],
    ] {
        let Some(mut promtool) = promtool() else { return };
        let output = promtool
            .args([verb, what, file])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
}

#[test]
fn the_board_of_grafana_is_whole() {
    let text = fs::read_to_string(Path::new(ROOT).join("contrib/grafana/dgt2mqtt.json")).unwrap();
    let board: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert!(panels.len() > 8 && ids.len() == panels.len());
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        assert!(
            !targets.is_empty() && targets.iter().all(|target| target["expr"].is_string()),
            "{panel}"
        );
        let place = &panel["gridPos"];
        assert!(
            place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24,
            "{place}"
        );
    }
    // What the board asks for is checked as rules are.
    let expressions = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    let rules: String = expressions
        .enumerate()
        .map(|(n, target)| format!("      - record: panel:{n}\n        expr: {}\n", target["expr"]))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("board.yml");
    fs::write(&file, format!("groups:\n  - name: board\n    rules:\n{rules}")).unwrap();
    let Some(mut promtool) = promtool() else { return };
    let output = promtool.args(["check", "rules"]).arg(&file).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_page_says_whether_it_is_well_and_ready_without_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    mosquitto.stop();
    let token = folder.path().join("token");
    fs::write(&token, "0123456789abcdefghij").unwrap();
    let port = free_port();
    let mut command = program();
    command
        .args(["dashboard", "--listen", &format!("127.0.0.1:{port}"), "--broker"])
        .arg(format!("mqtt://127.0.0.1:{}", mosquitto.port))
        .arg("--token-file")
        .arg(&token)
        .env("HOME", folder.path())
        .current_dir(folder.path());
    let _page = Running(
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    assert_eq!(answers(port, "/healthz", 200), "ok\n");
    answers(port, "/readyz", 503);
    mosquitto.resume();
    assert_eq!(answers(port, "/readyz", 200), "ok\n");
    let (status, _) = ask(port, "/api/me", "*/*").unwrap();
    assert!((400..500).contains(&status), "the rest wants a token: {status}");
}
