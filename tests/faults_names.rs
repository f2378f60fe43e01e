//! Two gateways of one name at one broker: one of them publishes, the other says so and waits.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, dead_code)] // a test, with processes of its own.

mod broker;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use broker::{Mosquitto, PATIENCE, Subscriber};
use fastrand::Rng;
use serde_json::Value;

fn rounds() -> usize {
    std::env::var_os("DGT2MQTT_FULL").map_or(1, |_| 20)
}

fn rng() -> Rng {
    let seed = std::env::var("DGT2MQTT_SEED").map_or(1, |text| text.parse().unwrap());
    println!("seed {seed}");
    Rng::with_seed(seed)
}

/// A board whose cable is pulled and put back all the time.
fn board() -> String {
    let mut text = String::from("# dgtcap 1\n0.000 > 4d\n0.012 < 93 00 05 01 08\n0.020 > 42\n");
    let squares = "00 ".repeat(64);
    for n in 0..400 {
        let at = |tenths: u32| f64::from(n * 6 + tenths) / 10.0;
        writeln!(text, "{:.3} < 86 00 43 {}", at(1), squares.trim()).unwrap();
        writeln!(text, "{:.3} ! down\n{:.3} ! up", at(3), at(6)).unwrap();
    }
    text
}

/// A gateway in a folder of its own.
struct Gateway {
    config: PathBuf,
    child: Option<Child>,
}

impl Gateway {
    fn prepare(folder: &Path, broker: u16) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let capture = folder.join("board.dgtcap");
        std::fs::write(&capture, board()).unwrap();
        let text = format!(
            "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{broker}\"]\n[journal]\npath = \"{}\"\n[[board]]\nid = \"7\"\nport = \"capture:{}\"\n",
            folder.join("journal.sqlite").display(),
            capture.display()
        );
        let config = folder.join("dgt2mqtt.toml");
        std::fs::write(&config, text).unwrap();
        Self { config, child: None }
    }

    fn start(&mut self) {
        let log = self.log();
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(log)
            .unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
            .args(["run", "--config"])
            .arg(&self.config)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.child = Some(child.unwrap());
    }

    fn log(&self) -> PathBuf {
        self.config.with_file_name("daemon.log")
    }

    async fn says(&self, what: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = std::fs::read_to_string(self.log()).unwrap_or_default();
            if log.contains(what) {
                return;
            }
            assert!(Instant::now() < deadline, "{what:?} is not said:\n{log}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends it by a kill, or as a service manager does.
    fn end(&mut self, kill: bool) {
        if let Some(mut child) = self.child.take() {
            if kill {
                child.kill().unwrap();
            } else {
                let status = Command::new("kill").arg(child.id().to_string()).status();
                assert!(status.unwrap().success());
            }
            child.wait().unwrap();
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.end(true);
        if std::thread::panicking() {
            println!("{}", std::fs::read_to_string(self.log()).unwrap_or_default());
        }
    }
}

fn events(subscriber: &Subscriber) -> Vec<Value> {
    let got = subscriber.all().into_iter();
    got.filter(|got| got.topic.contains("/event/"))
        .map(|got| got.json())
        .collect()
}

async fn more(subscriber: &Subscriber, count: usize, rng: &mut Rng) {
    let before = events(subscriber).len();
    subscriber
        .wait("more events", |_| events(subscriber).len() >= before + count)
        .await;
    tokio::time::sleep(Duration::from_millis(rng.u64(0..700))).await;
}

fn status(subscriber: &Subscriber) -> String {
    let mut words = subscriber
        .all()
        .into_iter()
        .filter(|got| got.topic == "dgt2mqtt/gw/status");
    words.next_back().unwrap().text()
}

#[tokio::test]
async fn of_two_gateways_of_one_name_one_publishes_and_the_other_takes_over() {
    let mut rng = rng();
    for round in 0..rounds() {
        let folder = tempfile::tempdir().unwrap();
        let mosquitto = Mosquitto::start(folder.path(), "");
        let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
        let mut first = Gateway::prepare(&folder.path().join("first"), mosquitto.port);
        let mut second = Gateway::prepare(&folder.path().join("second"), mosquitto.port);
        first.start();
        more(&subscriber, 3, &mut rng).await;
        second.start();
        second.says("another gateway has our name").await;
        first.says("another gateway of our name").await;
        more(&subscriber, 4, &mut rng).await;
        assert_eq!(status(&subscriber), "online");
        // It leaves without a word of its own, or its will is set right.
        second.end(rng.bool());
        more(&subscriber, 2, &mut rng).await;
        second.start();
        tokio::time::sleep(Duration::from_millis(rng.u64(0..5000))).await;
        let is_killed = rng.bool();
        first.end(is_killed);
        more(&subscriber, 4, &mut rng).await;
        first.start();
        more(&subscriber, 4, &mut rng).await;
        second.end(rng.bool());
        more(&subscriber, 4, &mut rng).await;
        assert_eq!(status(&subscriber), "online", "round {round}");
        let (mut by_seq, mut highest) = (BTreeMap::new(), 0);
        for event in events(&subscriber) {
            let seq = event["seq"].as_u64().unwrap();
            let former = by_seq.insert(seq, event.clone());
            let is_new = former.is_none();
            assert!(
                former.is_none_or(|former| former == event),
                "round {round}: number {seq} twice"
            );
            assert!(!is_new || seq > highest, "round {round}: {seq} after {highest}");
            highest = highest.max(seq);
        }
        first.end(false);
    }
}
