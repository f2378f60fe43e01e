//! A number that was published never means another event, whatever happens to the disk: the program itself, a real
//! broker, a real file system with an error.
//!
//! `DGT2MQTT_FULL=1`: twenty times each, with instants from the seed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{Mosquitto, Subscriber},
    disk::ImageDisk,
    faketime,
    hall::{Simulator, fixture, journal, replay},
    numbered::{nothing_between_is_missing, numbered, said},
    offences::FROM_THE_ARRAY,
    retold::{Retold, Tally},
    seed::{rounds, so_often},
    wiring::{Restless, Wiring},
};

/// By then the game is over, or something is missing.
const OVER: Duration = Duration::from_secs(45);
/// How many rounds at a time: mostly they wait.
const AT_ONCE: usize = 8;
/// The board on which a game is played.
const GAME: &str = "1";

/// One hall: a broker that stays, a subscriber, and the place of the journal.
pub struct Scene {
    mosquitto: Mosquitto,
    pub subscriber: Subscriber,
    boards: Restless,
    pub config: PathBuf,
    name: &'static str,
    /// What `replay` tells of the game.
    meant: Vec<Value>,
    _game: Simulator,
    pub folder: tempfile::TempDir,
    /// By how much the wall clock of the daemons is off.
    stamp: Option<&'static str>,
}

impl Scene {
    pub async fn new(wiring: Wiring, rng: &mut Rng, state: impl Fn(&Path) -> PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mosquitto = Mosquitto::start(folder.path(), "");
        let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
        let boards = wiring.restless(folder.path());
        let name = FROM_THE_ARRAY[rng.usize(..FROM_THE_ARRAY.len())];
        let meant = replay(&fixture(name), GAME);
        let game = Simulator::start(wiring.options(), &[fixture(name)]);
        let text = format!(
            "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"{}\"\n[limits]\nhealth_interval_s = 5\n{}[[board]]\nid = \"{GAME}\"\nport = \"{}\"\n",
            mosquitto.port,
            state(folder.path()).join("journal.sqlite").display(),
            boards.tables,
            game.ports[0]
        );
        let config = folder.path().join("dgt2mqtt.toml");
        std::fs::write(&config, text).unwrap();
        Self {
            mosquitto,
            subscriber,
            boards,
            config,
            name,
            meant,
            _game: game,
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
            .until("more events", || {
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

    /// Waits until each board has named a jump so often: what it took while the daemon asked for the name goes before.
    async fn named(&self, times: usize) {
        let names = |event: &Value| event["code"] == "journal_behind" || event["code"] == "numbers_unknown";
        let is_named = || {
            let events = self.events();
            self.boards.ids.iter().all(|id| {
                let own = events
                    .iter()
                    .filter(|event| event["board"] == **id && names(event));
                own.map(|event| event["seq"].as_u64())
                    .collect::<BTreeSet<_>>()
                    .len()
                    >= times
            })
        };
        self.subscriber.until("the jump's name", is_named).await;
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

    /// No number of a board has two contents, none comes late for who drops the numbers that he has seen, and none is missing but
    /// at a jump that a notice names.
    fn check(&self, what: &str) {
        let events = self.events();
        for id in self.boards.ids.iter().map(String::as_str).chain([GAME]) {
            if let Err(wrong) = numbered(&events, id).and_then(|_| self.has_no_hole(&events, id)) {
                let log = std::fs::read_to_string(self.folder.path().join("daemon.log")).unwrap();
                panic!("{what}: {wrong}\n{log}");
            }
        }
    }

    /// Of each run no event of a board comes late, and none is missing but at a jump that a notice names. The second run goes on where
    /// the disk ends, and not where the first one, of which nobody knows by then, has left for.
    fn check_each_run(&self, first: &[Value]) {
        let events = self.events();
        let seq = |event: &Value| event["seq"].as_u64();
        for id in self.boards.ids.iter().map(String::as_str).chain([GAME]) {
            let of = |events: &[Value]| -> Vec<Value> {
                let own = events.iter().filter(|event| event["board"] == *id);
                own.cloned().collect()
            };
            let (first, mut second) = (of(first), of(&events[first.len()..]));
            // What a broker of before hands out once more is of the first.
            second.retain(|event| first.iter().all(|before| before["id"] != event["id"]));
            let goes_on = second.iter().filter_map(seq).min();
            let before = first
                .iter()
                .filter(|event| goes_on.is_none_or(|from| seq(event) < Some(from)));
            let second: Vec<_> = before.cloned().chain(second).collect();
            if id == GAME {
                let besides = [&first, &second].map(|run| Retold::new(run, &self.meant).besides);
                assert_eq!(
                    besides,
                    [const { Vec::<String>::new() }; 2],
                    "who is accused besides"
                );
            }
            let is_right = numbered(&first, id)
                .and_then(|_| numbered(&second, id))
                .and_then(|_| self.has_no_hole(&events, id));
            if let Err(wrong) = is_right {
                let log = std::fs::read_to_string(self.folder.path().join("daemon.log")).unwrap();
                panic!("a dead card and a broker that forgets: {wrong}\n{log}");
            }
        }
    }

    /// All that the journal has of a board in the end was heard, also on both sides of a jump.
    fn has_no_hole(&self, events: &[Value], id: &str) -> Result<(), String> {
        let heard = events.iter().filter(|event| event["board"] == *id).cloned();
        let heard: Vec<_> = heard.collect();
        nothing_between_is_missing(&heard, &journal(&self.config, id))
    }

    /// What is told of the game.
    fn retold(&self) -> Retold {
        let events = numbered(&self.events(), GAME).unwrap_or_default();
        Retold::new(&events, &self.meant)
    }

    /// Waits for the end of the game, and for whatever else is to be said.
    async fn game_over(&self) {
        let deadline = Instant::now() + OVER;
        while !self.retold().is_over && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
    }

    /// How often the daemon has found that its journal was removed or replaced.
    fn noticed(&self) -> usize {
        let log = std::fs::read_to_string(self.folder.path().join("daemon.log")).unwrap();
        log.matches("while the daemon was running: a new one begins")
            .count()
    }

    /// What is told of the game is what was played. Where the daemon has lost what it knew, it takes the game up from the position.
    /// `is_unnoticed` where it lost something that no number tells of.
    fn check_game(&self, what: &str, tally: &Tally, is_unnoticed: bool) {
        self.check(what);
        let mut events = self.events().into_iter();
        let has_lost = is_unnoticed
            || events.any(|event| {
                event["board"] == GAME
                    && (event["code"] == "journal_behind" || event["code"] == "journal_unsecured")
            });
        tally.take(&format!("{what}, {}", self.name), &self.retold(), has_lost);
    }
}

/// Any instant of the game, up to its offence and beyond.
async fn an_instant(rng: &mut Rng) {
    tokio::time::sleep(Duration::from_millis(rng.u64(0..9000))).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_dies_in_the_middle_of_a_game_gives_no_number_twice() {
    Tally::of_rounds(AT_ONCE, |rng, tally| a_card_dies(Wiring::Alone, rng, tally)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_a_card_that_dies_while_a_line_of_many_boards_is_played_on() {
    Tally::of_rounds(AT_ONCE, |rng, tally| a_card_dies(Wiring::Line, rng, tally)).await;
}

async fn a_card_dies(wiring: Wiring, mut rng: Rng, tally: &Tally) {
    let scene = Scene::new(wiring, &mut rng, |folder| folder.join("disk")).await;
    let at = |name: &str| scene.folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
        return;
    };
    let daemon = scene.start();
    scene.more(4, &mut rng).await;
    an_instant(&mut rng).await;
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
        .until("what the journal does not have of each board", || {
            scene.behind().iter().zip(&before).all(|(now, then)| now > then)
        })
        .await;
    scene.more(4, &mut rng).await;
    scene.game_over().await;
    daemon.kill();
    scene.check("a dead card");
    // What it knows it has on the disk again: the next start finds nothing.
    let said = scene.events().len();
    let daemon = scene.start();
    scene.more(3, &mut rng).await;
    daemon.stop();
    scene.check_game("a dead card, in the end", tally, false);
    let again = scene.events().split_off(said);
    assert!(
        again.iter().all(|event| event["code"] != "journal_behind"),
        "{again:#?}"
    );
    drop(disk);
}

/// The broker was on the same card, or had the same power cut.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_a_card_that_dies_where_the_broker_forgets_all() {
    so_often(rounds(), AT_ONCE, |rng| a_card_dies_with_the_broker(false, rng)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_where_the_broker_is_back_as_it_was_before() {
    so_often(rounds(), AT_ONCE, |rng| a_card_dies_with_the_broker(true, rng)).await;
}

async fn a_card_dies_with_the_broker(is_back: bool, mut rng: Rng) {
    let mut scene = Scene::new(Wiring::Alone, &mut rng, |folder| folder.join("disk")).await;
    let at = |name: &str| scene.folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
        return;
    };
    let daemon = scene.start();
    scene.more(4, &mut rng).await;
    let saved = scene.mosquitto.saved();
    an_instant(&mut rng).await;
    // A disk that says that it kept what it lost is beyond what anybody can know who asks a broker that forgot.
    disk.fail_unseen_by(daemon.0.id());
    scene.said("journal_failing").await;
    scene.more(4, &mut rng).await;
    scene.said("journal_unsecured").await;
    if rng.bool() {
        daemon.kill();
    } else {
        daemon.stop();
    }
    let disk = disk.repair();
    let first_run = scene.events();
    let granted = scene.subscriber.grants();
    scene.mosquitto.crash(is_back.then_some(saved.as_slice()));
    if !is_back {
        scene.subscriber.granted_again(granted).await;
    }
    let before = scene.events().len();
    let daemon = scene.start();
    scene
        .subscriber
        .until("what the next run tells", || scene.events().len() > before + 20)
        .await;
    daemon.kill();
    let mut told = BTreeMap::new();
    for event in scene.events() {
        let first = told
            .entry(event["id"].to_string())
            .or_insert_with(|| said(&event));
        let log = std::fs::read_to_string(scene.folder.path().join("daemon.log")).unwrap();
        assert_eq!(*first, said(&event), "{log}");
    }
    scene.check_each_run(&first_run);
    drop(disk);
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
        let copied = std::fs::copy(file.path(), to.join(file.file_name()));
        // A daemon that runs removes files beside its journal.
        assert!(copied.is_ok() || !file.path().exists(), "{file:?}: {copied:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_is_removed_or_restored_gives_no_number_twice() {
    Tally::of_rounds(AT_ONCE, |rng, tally| {
        a_journal_is_harmed(Wiring::Alone, rng, tally)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_a_journal_that_is_removed_while_a_line_of_many_boards_is_played_on() {
    Tally::of_rounds(AT_ONCE, |rng, tally| {
        a_journal_is_harmed(Wiring::Line, rng, tally)
    })
    .await;
}

async fn a_journal_is_harmed(wiring: Wiring, mut rng: Rng, tally: &Tally) {
    // Over a line one of them, and all with `DGT2MQTT_FULL=1`.
    let harms = if wiring == Wiring::Alone || rounds() > 1 {
        &HARMS
    } else {
        &HARMS[..1]
    };
    for &(what, is_running, harm) in harms {
        let scene = Scene::new(wiring, &mut rng, |folder| folder.join("state")).await;
        let state = scene.folder.path().join("state");
        let daemon = scene.start();
        scene.more(4, &mut rng).await;
        copy(&state, &state.with_extension("backup"));
        scene.more(4, &mut rng).await;
        an_instant(&mut rng).await;
        let noticed = scene.noticed();
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
        // What the board had said since the last event went with the files, and no number tells of that.
        let is_unnoticed = is_running && scene.noticed() == noticed;
        let daemon = scene.start();
        scene.more(4, &mut rng).await;
        scene.game_over().await;
        daemon.kill();
        scene.check_game(what, tally, is_unnoticed);
    }
}

/// A computer without a battery for its clock, on which the journal is lost again and again before somebody sets the time.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_one_that_is_removed_while_the_clock_shows_a_year_before_1970() {
    if faketime::library().is_none() {
        return;
    }
    Tally::of_rounds(AT_ONCE, |rng, tally| {
        the_clock_shows_a_year_before_1970(rng, tally)
    })
    .await;
}

async fn the_clock_shows_a_year_before_1970(mut rng: Rng, tally: &Tally) {
    let mut scene = Scene::new(Wiring::Alone, &mut rng, |folder| folder.join("state")).await;
    let state = scene.folder.path().join("state");
    for (jumps, stamp) in [None, Some("-60y"), Some("-60y"), Some("-10y")]
        .into_iter()
        .enumerate()
    {
        scene.stamp = stamp;
        let daemon = scene.start();
        scene.more(4, &mut rng).await;
        // Nobody can name it later: the journal goes.
        scene.named(jumps).await;
        daemon.kill();
        std::fs::remove_dir_all(&state).unwrap();
    }
    scene.stamp = None;
    let daemon = scene.start();
    scene.game_over().await;
    daemon.kill();
    scene.check_game("a year before 1970", tally, false);
}
