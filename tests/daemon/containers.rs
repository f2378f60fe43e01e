//! The containers as far as they can be looked at without a registry of images: what is copied is enough, what is started exists, and the
//! script of the Home Assistant add-on is run as it is, with a real broker and a simulated board.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::json;

use crate::broker::{Mosquitto, Subscriber};

const PROGRAM: &str = env!("CARGO_BIN_EXE_dgt2mqtt");

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(file(name)).unwrap()
}

/// The keys of a table of a YAML file that has no more than tables of texts.
fn keys(text: &str, table: &str, indent: &str) -> BTreeSet<String> {
    let lines = text
        .lines()
        .skip_while(|line| *line != format!("{table}:"))
        .skip(1);
    let of_table = lines.take_while(|line| line.starts_with(' '));
    let key = |line: &str| {
        let line = line.strip_prefix(indent)?;
        (!line.starts_with([' ', '-'])).then(|| line.split(':').next().unwrap_or_default().to_owned())
    };
    of_table.filter_map(key).collect()
}

/// The image is built from the files that the list lets through: cargo finds all that its manifest names among them.
#[test]
fn what_is_copied_into_the_image_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let list = text("container/Dockerfile.dockerignore");
    let copied: Vec<_> = list.lines().filter_map(|line| line.strip_prefix('!')).collect();
    assert!(copied.contains(&"src") && copied.contains(&"Cargo.lock"));
    let status = Command::new("cp")
        .arg("-r")
        .args(
            copied
                .iter()
                .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join(name)),
        )
        .arg(folder.path())
        .status();
    assert!(status.unwrap().success());
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--no-deps", "--format-version", "1"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let dockerfile = text("container/Dockerfile");
    let rust = format!("rust:{}-slim-bookworm", env!("CARGO_PKG_RUST_VERSION"));
    assert!(dockerfile.contains(&rust), "{rust}");
}

#[test]
fn options_of_the_add_on_are_explained_in_every_language() {
    let config = text("home-assistant/dgt2mqtt/config.yaml");
    let options = keys(&config, "schema", "  ");
    assert!(options.len() > 5, "{options:?}");
    for language in ["en", "ru"] {
        let words = text(&format!("home-assistant/dgt2mqtt/translations/{language}.yaml"));
        assert_eq!(keys(&words, "configuration", "  "), options, "{language}");
    }
}

/// A process that is ended with the value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_add_on_starts_with_its_options() {
    if Command::new("jq").arg("--version").output().is_err() {
        skipped!("jq is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let mut simulator = Command::new(PROGRAM)
        .args(["simulate", "--boards", "1", "--keep"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let mut lines = BufReader::new(simulator.stdout.take().unwrap());
    let _simulator = Process(simulator);
    lines.read_line(&mut port).unwrap();
    // All options, as the Supervisor writes them.
    let options = json!({
        "gateway": "addon", "boards": [port.trim()], "time_control": "rapid", "commands": true,
        "broker": broker.url().to_string(), "username": "anna", "password": "a \"word\"",
    });
    fs::write(folder.path().join("options.json"), options.to_string()).unwrap();
    let subscriber = Subscriber::new(broker.port, "#").await;
    let program = Path::new(PROGRAM).parent().unwrap().display().to_string();
    let script = Command::new(file("home-assistant/dgt2mqtt/run.sh"))
        .env("DGT2MQTT_DATA", folder.path())
        .env("PATH", format!("{program}:{}", std::env::var("PATH").unwrap()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _script = Process(script.unwrap());

    subscriber
        .wait("the gateway", |got| {
            got.topic == "dgt2mqtt/addon/status" && got.payload == b"online"
        })
        .await;
    subscriber
        .wait("the board", |got| {
            got.topic == "dgt2mqtt/addon/board/1/status" && got.payload == b"online"
        })
        .await;
    subscriber
        .wait("what Home Assistant is told", |got| {
            got.topic.starts_with("homeassistant/")
        })
        .await;
    let config = fs::read_to_string(folder.path().join("dgt2mqtt.toml")).unwrap();
    for line in [
        "time_control = \"rapid\"",
        "commands = true",
        "username = \"anna\"",
    ] {
        assert!(config.contains(line), "{config}");
    }
    let password = fs::read_to_string(folder.path().join("mqtt-password")).unwrap();
    assert_eq!(password, "a \"word\"");
}
