//! Whatever happens to the journal is on the page within seconds, and gone from it when somebody has mended it. In
//! `root/journal_found.rs` `health` says the same.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::Browser,
    disk::ImageDisk,
    hall::{Daemon, Simulator, journal, playing, until, vienna},
    page::Server,
};

/// How long it may take until it is shown.
const SOON: Duration = Duration::from_secs(10);
/// What was mended stays for a minute, so that somebody sees it.
const MENDED: Duration = Duration::from_secs(100);

/// A hall with a board on which a game is played, and the page.
struct Scene {
    browser: Browser,
    daemon: Option<Daemon>,
    config: PathBuf,
    /// The folder of the journal.
    state: PathBuf,
    _parts: (Server, Simulator, Mosquitto),
}

impl Scene {
    /// In `folder`; none, with a message, where there is no browser.
    fn new(folder: &Path) -> Option<Self> {
        let broker = Mosquitto::start(folder, "");
        let (simulator, config) = playing(folder, broker.port, "1", &vienna(), &[]);
        let text = fs::read_to_string(&config).unwrap();
        fs::write(
            &config,
            text.replace("\"journal.sqlite\"", "\"state/journal.sqlite\""),
        )
        .unwrap();
        let server = Server::start(broker.port, free_port(), &[]);
        let browser = Browser::start(&json!({}))?;
        browser.open(&server.url("?lang=en"));
        // The game begins when the daemon does.
        let daemon = Some(Daemon::start(&config));
        browser.until(
            "the board",
            "return document.querySelectorAll('.card').length === 1",
        );
        Some(Self {
            browser,
            daemon,
            config,
            state: folder.join("state"),
            _parts: (server, simulator, broker),
        })
    }

    /// Waits until `health` comes in its own time, every half minute, and nothing is left to say.
    fn settles(&self) {
        std::thread::sleep(Duration::from_secs(13));
        self.browser.until(
            "nothing to say",
            "return document.getElementById('outage').hidden",
        );
    }

    fn shows(&self, words: &str) -> bool {
        let text = self
            .browser
            .run("return document.getElementById('outage').innerText");
        text.as_str().unwrap().contains(words)
    }

    /// Waits until the journal has more events than now.
    fn more_events(&self) {
        let before = journal(&self.config, "1").len();
        until("more events", PATIENCE, || {
            (journal(&self.config, "1").len() > before).then_some(())
        });
    }

    /// Writes a backup, or puts it in the journal's place.
    fn call(&self, verb: &str, options: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"));
        command
            .args([verb, "--config"])
            .arg(&self.config)
            .arg(self.config.with_file_name("archive"))
            .args(options);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}

fn takes(what: &str, patience: Duration, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < patience, "{what}: not after {patience:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("{what}: after {:.1?}", start.elapsed());
}

#[test]
fn a_fault_of_the_journal_is_shown_within_seconds_and_gone_when_it_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let Some(scene) = Scene::new(folder.path()) else {
        return;
    };
    scene.settles();

    // Nothing can be written where a file is in the folder's place.
    fs::remove_dir_all(&scene.state).unwrap();
    fs::write(&scene.state, "").unwrap();
    takes("the fault is shown", SOON, || scene.shows("cannot be written"));

    fs::remove_file(&scene.state).unwrap();
    takes("it is mended, and what happened is told", SOON, || {
        !scene.shows("cannot be written") && scene.shows("was removed") && scene.shows("a new one begins")
    });
    takes("nothing is left to say", MENDED, || {
        scene
            .browser
            .run("return document.getElementById('outage').hidden")
            == true
    });
    assert!(scene.state.join("journal.sqlite").exists());
}

/// Somebody puts an older copy of the folder in its place while the daemon writes.
#[test]
fn so_is_a_journal_that_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let Some(scene) = Scene::new(folder.path()) else {
        return;
    };
    scene.more_events();
    let copy = folder.path().join("copy");
    let copied = Command::new("cp").arg("-r").args([&scene.state, &copy]).status();
    assert!(copied.is_ok_and(|status| status.success()));
    scene.settles();
    fs::remove_dir_all(&scene.state).unwrap();
    fs::rename(&copy, &scene.state).unwrap();
    takes("that it was replaced", SOON, || {
        scene.shows("was replaced by another file")
    });
}

/// The file system takes no writes any more.
#[test]
fn so_is_a_disk_that_takes_no_writes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("state")) else {
        return;
    };
    let Some(scene) = Scene::new(folder.path()) else {
        return;
    };
    scene.settles();
    disk.fail();
    takes("that it cannot be written", SOON, || {
        scene.shows("cannot be written")
    });
}

/// A journal from before is restored, and the daemon started with it.
#[test]
fn so_is_a_journal_that_comes_from_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut scene) = Scene::new(folder.path()) else {
        return;
    };
    scene.more_events();
    scene.call("backup", &[]);
    scene.more_events();
    assert!(scene.daemon.take().is_some_and(Daemon::stop));
    scene.call("restore", &["--force"]);
    assert!(!scene.shows("restored from a backup"));
    scene.daemon = Some(Daemon::start(&scene.config));
    takes("that it comes from a backup", SOON, || {
        scene.shows("restored from a backup")
    });
}
