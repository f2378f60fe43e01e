//! Somebody who shares the folder of a broadcast puts links and pipes in the place of its files while a game is broadcast: nothing outside
//! is written, and the round comes right.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, heard},
    hall::{Daemon, journal, playing},
    reader::half_moves,
    replayed::{Played, sans, taped},
    seed::in_rounds,
};

/// What a broadcast writes of a round.
const FILES: [&str; 3] = ["game-1.pgn", "games.pgn", "index.json"];

/// Whoever shares the folder.
struct Neighbour {
    root: PathBuf,
    /// What must not be written.
    outside: PathBuf,
    random: Rng,
    tricks: usize,
}

impl Neighbour {
    /// Puts something in the place of a file or of the round.
    fn play_a_trick(&mut self) {
        let round = self.root.join("round-1");
        let file = *self.random.choice(FILES).as_ref().unwrap();
        let place = match self.random.u8(..4) {
            0 => round.join(file),
            1 => round.join(format!("{file}.tmp")),
            2 => self.root.join(
                *self
                    .random
                    .choice([".lock", "tournament.json.tmp"])
                    .as_ref()
                    .unwrap(),
            ),
            _ => return self.take_the_round(&round),
        };
        // It may be written at this instant, or have been taken away.
        let _ = fs::remove_file(&place);
        let victim = self.outside.join("victim");
        let done = match self.random.u8(..4) {
            0 => symlink(&victim, &place).is_ok(),
            1 => fs::hard_link(&victim, &place).is_ok(),
            2 => symlink(self.outside.join("not-there"), &place).is_ok(),
            _ => Command::new("mkfifo")
                .arg(&place)
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap()
                .success(),
        };
        self.tricks += usize::from(done);
    }

    /// For a while the round is a link to a folder elsewhere.
    fn take_the_round(&mut self, round: &Path) {
        let aside = self.root.join("aside");
        if fs::rename(round, &aside).is_err() {
            return;
        }
        let is_taken = symlink(&self.outside, round).is_ok();
        self.tricks += usize::from(is_taken);
        thread::sleep(Duration::from_millis(self.random.u64(0..1500)));
        if is_taken {
            fs::remove_file(round).unwrap();
        }
        // Where the broadcast has made it anew meanwhile, that one stays.
        if fs::rename(&aside, round).is_err() {
            fs::remove_dir_all(&aside).unwrap();
        }
    }

    /// Goes on until `is_over`, and says how often.
    fn go_on(mut self, is_over: Arc<AtomicBool>) -> JoinHandle<usize> {
        thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                self.play_a_trick();
                thread::sleep(Duration::from_millis(self.random.u64(0..200)));
            }
            self.tricks
        })
    }
}

/// The files below a folder, with what they have.
fn all_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn links_in_the_place_of_files_lead_nowhere_while_a_game_is_broadcast() {
    in_rounds(links_are_put_in_place).await;
}

async fn links_are_put_in_place(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("open"), folder.path().join("outside"));
    fs::create_dir_all(&outside).unwrap();
    for name in ["victim", "game-1.pgn", "index.json"] {
        fs::write(outside.join(name), "the record").unwrap();
    }
    let before = all_below(&outside);
    let game = Played::by_chance(&mut random);
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = playing(folder.path(), mosquitto.port, "1", &game.path, &[]);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}[broadcast]\nfolder = \"open\"\n")).unwrap();
    taped(&config);
    let neighbour = Neighbour {
        root: root.clone(),
        outside: outside.clone(),
        random: random.fork(),
        tricks: 0,
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let neighbour = neighbour.go_on(is_over.clone());
    let daemon = Daemon::start(&config);
    // A file that does not change any more is not written again: he leaves before the last half-move, at any instant.
    let moved = |events: &[Value]| events.iter().filter(|event| event["type"] == "move").count();
    let leaves = random.usize(1..game.moves().len());
    subscriber
        .until("half-moves", || moved(&heard(&subscriber, "1").events) >= leaves)
        .await;
    is_over.store(true, Ordering::Relaxed);
    let tricks = neighbour.join().unwrap();
    game.is_over(&subscriber, "1").await;
    let events = journal(&config, "1");
    let san = sans(&events);
    let is_right = |name: &str| {
        let path = root.join("round-1").join(name);
        let is_plain = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        is_plain && half_moves(&fs::read_to_string(&path).unwrap()) == san
    };
    let deadline = Instant::now() + PATIENCE;
    while !["game-1.pgn", "games.pgn"].into_iter().all(is_right) {
        assert!(
            Instant::now() < deadline,
            "{san:?} are not in the files of the round:\n{}\n{}",
            fs::read_to_string(root.join("round-1/game-1.pgn")).unwrap_or_default(),
            fs::read_to_string(folder.path().join("daemon.log")).unwrap()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(daemon.stop());
    assert_eq!(all_below(&outside), before, "something outside was written");
    game.is_whole(&config, &subscriber, "1").await;
    println!("{tricks} tricks, {} half-moves", san.len());
    assert!(tricks > 0);
}
