//! A number that was published never means another event, whatever happens to the disk: the program itself, a real
//! broker, a real file system with an error.
//!
//! `DGT2MQTT_FULL=1`: twenty times each, with instants from the seed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{Mosquitto, Subscriber},
    disk::ImageDisk,
    faketime,
    seed::{rng, rounds},
    wiring::{Restless, Wiring},
};

/// One hall: a broker that stays, a subscriber, and the place of the journal.
pub struct Scene {
    _mosquitto: Mosquitto,
    pub subscriber: Subscriber,
    boards: Restless,
    pub config: PathBuf,
    pub folder: tempfile::TempDir,
    /// By how much the wall clock of the daemons is off.
    stamp: Option<&'static str>,
}

impl Scene {
    pub async fn new(wiring: Wiring, state: impl Fn(&Path) -> PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mosquitto = Mosquitto::start(folder.path(), "");
        let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
        let boards = wiring.restless(folder.path());
        let text = format!(
            "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"{}\"\n[limits]\nhealth_interval_s = 5\n{}",
            mosquitto.port,
            state(folder.path()).join("journal.sqlite").display(),
            boards.tables
        );
        let config = folder.path().join("dgt2mqtt.toml");
        std::fs::write(&config, text).unwrap();
        Self {
            _mosquitto: mosquitto,
            subscriber,
            boards,
            config,
            folder,
            stamp: None,
        }
    }

    pub fn start(&self) -> Daemon {
        let log = self.folder.path().join("daemon.log");
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(log)
            .unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"));
        command
            .args(["run", "--config"])
            .arg(&self.config)
            .stdout(Stdio::null())
            .stderr(log);
        if let Some(offset) = self.stamp {
            faketime::lies(&mut command, &faketime::library().unwrap());
            command.env("FAKETIME", offset);
        }
        Daemon(command.spawn().unwrap())
    }

    fn events(&self) -> Vec<Value> {
        let got = self.subscriber.all().into_iter();
        got.filter(|got| got.topic.contains("/event/"))
            .map(|got| got.json())
            .collect()
    }

    /// The highest number that came of each board.
    fn highest(&self) -> Vec<Option<u64>> {
        let events = self.events();
        let of = |id: &String| {
            let own = events.iter().filter(|event| event["board"] == **id);
            own.filter_map(|event| event["seq"].as_u64()).max()
        };
        self.boards.ids.iter().map(of).collect()
    }

    /// Waits for so many arrivals, a new number of each board among them, and for an instant more.
    pub async fn more(&self, count: usize, rng: &mut Rng) {
        let (before, highest) = (self.events().len(), self.highest());
        let is_higher = || self.highest().iter().zip(&highest).all(|(now, then)| now > then);
        self.subscriber
            .wait("more events", |_| {
                self.events().len() >= before + count && is_higher()
            })
            .await;
        tokio::time::sleep(Duration::from_millis(rng.u64(0..700))).await;
    }

    /// How many times it was said of each board that the journal is behind.
    fn behind(&self) -> Vec<usize> {
        let events = self.events();
        let of = |id: &String| {
            let own = events
                .iter()
                .filter(|event| event["board"] == **id && event["code"] == "journal_behind");
            own.map(|event| event["seq"].as_u64())
                .collect::<BTreeSet<_>>()
                .len()
        };
        self.boards.ids.iter().map(of).collect()
    }

    /// Waits until an event or `health` says it.
    async fn said(&self, code: &str) {
        self.subscriber
            .wait(code, |got| {
                let text = String::from_utf8_lossy(&got.payload);
                (got.topic.ends_with("/notice") || got.topic.ends_with("gw/health")) && text.contains(code)
            })
            .await;
    }

    /// No number of a board has two contents, and none comes late for who drops the numbers that he has seen. None is missing
    /// but before a notice of what happened to the journal.
    fn check(&self, what: &str) {
        let log = std::fs::read_to_string(self.folder.path().join("daemon.log")).unwrap();
        for id in &self.boards.ids {
            let (mut by_seq, mut highest) = (BTreeMap::new(), 0);
            let events = self.events();
            let own = || events.iter().filter(|event| event["board"] == **id);
            let is_journals = |event: &Value| {
                event["code"]
                    .as_str()
                    .is_some_and(|code| code.starts_with("journal_"))
            };
            let notices: BTreeSet<_> = own()
                .filter(|event| is_journals(event))
                .filter_map(|event| event["seq"].as_u64())
                .collect();
            for event in own() {
                let seq = event["seq"].as_u64().unwrap();
                assert_eq!(event["id"], format!("gw/{id}/{seq}"));
                let former = by_seq.insert(seq, event.clone());
                let is_new = former.is_none();
                assert!(
                    former.is_none_or(|former| former == *event),
                    "{what}: two events of board {id} have number {seq}\n{log}"
                );
                assert!(
                    !is_new || seq > highest,
                    "{what}: {seq} of board {id} comes after {highest}\n{log}"
                );
                // What was taken before the broker told its numbers comes first, with the number that it had.
                let says_why = is_journals(event)
                    || event["formerly"].is_string() && notices.range(seq..).next().is_some();
                assert!(
                    !is_new || seq == highest + 1 || says_why,
                    "{what}: {seq} of board {id} comes after {highest}, and tells nothing of it: {event}\n{log}"
                );
                highest = highest.max(seq);
            }
            assert!(highest > 0, "{what}: board {id} has said nothing\n{log}");
        }
    }
}

pub struct Daemon(Child);

impl Daemon {
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub fn stop(mut self) {
        let status = Command::new("kill").arg(self.0.id().to_string()).status();
        assert!(status.unwrap().success());
        self.0.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_card_that_dies_in_the_middle_of_a_game_gives_no_number_twice() {
    a_card_dies(Wiring::Alone).await;
}

#[tokio::test]
async fn nor_does_a_card_that_dies_while_a_line_of_many_boards_is_played_on() {
    a_card_dies(Wiring::Line).await;
}

async fn a_card_dies(wiring: Wiring) {
    let mut rng = rng();
    for round in 0..rounds() {
        let scene = Scene::new(wiring, |folder| folder.join("disk")).await;
        let at = |name: &str| scene.folder.path().join(name);
        let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
            return;
        };
        let daemon = scene.start();
        scene.more(4, &mut rng).await;
        disk.fail();
        scene.said("journal_failing").await;
        scene.more(4, &mut rng).await;
        if rng.bool() {
            daemon.kill();
        } else {
            daemon.stop();
        }
        // It starts from memory on the card as it is.
        let daemon = scene.start();
        scene.more(4, &mut rng).await;
        daemon.kill();
        let disk = disk.repair();
        let before = scene.behind();
        let daemon = scene.start();
        scene
            .subscriber
            .wait("what the journal does not have of each board", |_| {
                scene.behind().iter().zip(&before).all(|(now, then)| now > then)
            })
            .await;
        scene.more(4, &mut rng).await;
        daemon.kill();
        scene.check(&format!("round {round}"));
        // What it knows it has on the disk again: the next start finds nothing.
        let said = scene.events().len();
        let daemon = scene.start();
        scene.more(3, &mut rng).await;
        daemon.stop();
        scene.check(&format!("round {round}, in the end"));
        let again = scene.events().split_off(said);
        assert!(
            again.iter().all(|event| event["code"] != "journal_behind"),
            "{again:#?}"
        );
        drop(disk);
    }
}

/// What happens to the folder of the journal while the daemon runs, or after it.
type Harm = (&'static str, bool, fn(&Path));

const HARMS: [Harm; 5] = [
    ("removed while running", true, |state| {
        std::fs::remove_dir_all(state).unwrap();
    }),
    ("its log removed while running", true, |state| {
        std::fs::remove_file(state.join("journal.sqlite-wal")).unwrap();
    }),
    ("a backup over it while running", true, restore),
    ("removed after a kill", false, |state| {
        std::fs::remove_dir_all(state).unwrap();
    }),
    ("a backup over it after a kill", false, restore),
];

/// Puts back what was saved, as somebody does it with `cp`.
pub fn restore(state: &Path) {
    let _ = std::fs::remove_dir_all(state);
    copy(&state.with_extension("backup"), state);
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[tokio::test]
async fn a_journal_that_is_removed_or_restored_gives_no_number_twice() {
    a_journal_is_harmed(Wiring::Alone, &HARMS).await;
}

/// Of what may happen to it one thing while the daemon runs, and all with `DGT2MQTT_FULL=1`.
#[tokio::test]
async fn nor_does_a_journal_that_is_removed_while_a_line_of_many_boards_is_played_on() {
    let harms = if rounds() > 1 { &HARMS } else { &HARMS[..1] };
    a_journal_is_harmed(Wiring::Line, harms).await;
}

async fn a_journal_is_harmed(wiring: Wiring, harms: &[Harm]) {
    let mut rng = rng();
    for round in 0..rounds() {
        for &(what, is_running, harm) in harms {
            let scene = Scene::new(wiring, |folder| folder.join("state")).await;
            let state = scene.folder.path().join("state");
            let daemon = scene.start();
            scene.more(4, &mut rng).await;
            copy(&state, &state.with_extension("backup"));
            scene.more(4, &mut rng).await;
            if is_running {
                harm(&state);
                // Sometimes before anything was noticed.
                let patience = if rng.bool() { 0 } else { 2500 };
                tokio::time::sleep(Duration::from_millis(rng.u64(0..=patience))).await;
                daemon.kill();
            } else {
                daemon.kill();
                harm(&state);
            }
            let daemon = scene.start();
            scene.more(4, &mut rng).await;
            daemon.kill();
            scene.check(&format!("{what}, round {round}"));
        }
    }
}

/// A computer without a battery for its clock, on which the journal is lost again and again before somebody sets the time.
#[tokio::test]
async fn nor_does_one_that_is_removed_while_the_clock_shows_a_year_before_1970() {
    if faketime::library().is_none() {
        return;
    }
    let mut rng = rng();
    for round in 0..rounds() {
        let mut scene = Scene::new(Wiring::Alone, |folder| folder.join("state")).await;
        let state = scene.folder.path().join("state");
        for stamp in [None, Some("-60y"), Some("-60y"), Some("-10y"), None] {
            scene.stamp = stamp;
            let daemon = scene.start();
            scene.more(4, &mut rng).await;
            daemon.kill();
            std::fs::remove_dir_all(&state).unwrap();
        }
        scene.check(&format!("round {round}"));
    }
}
