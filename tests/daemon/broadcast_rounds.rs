//! The next round begins without a restart: the configuration is read again at SIGHUP, the former round
//! is completed as far as the public may see it, and nothing of either is lost when the program is killed.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use dgt2mqtt::link::file::read_capture;
use serde_json::Value;

use crate::{
    hall::{Daemon, Seat, Simulator, configure, fixture, journal, program, until},
    lichess,
};

/// How long whatever must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

fn hang_up(pid: u32) {
    let sent = Command::new("kill").args(["-HUP", &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

const PAIRINGS: &str =
    "round,board,white,black\n3,1,\"Reti, R\",\"Tartakower, S\"\n4,1,\"Menchik, V\",\"Thomas, G\"\n";

/// How many moves the journal has of a game.
fn moves(config: &Path, game: u32) -> usize {
    let events = journal(config, "1");
    events
        .iter()
        .filter(|event| event["type"] == "move" && event["game"] == game)
        .count()
}

#[test]
fn the_next_round_begins_at_sighup_and_the_former_one_is_completed_when_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let game = fixture("game-after-a-game");
    let capture = read_capture(&game).unwrap();
    let simulator = Simulator::start(&[], &[game]);
    let seats = [Seat {
        id: "1".into(),
        port: &simulator.ports[0],
        capture: &capture,
    }];
    // Nothing listens at the broker's port: a broadcast needs none.
    let config = configure(folder.path(), 1, &seats);
    fs::write(folder.path().join("pairings.csv"), PAIRINGS).unwrap();
    let rest = fs::read_to_string(&config).unwrap();
    fs::write(folder.path().join("lichess-token"), "lip_secret").unwrap();
    let (lichess, pushes) = lichess::server(vec![lichess::GOOD], None);
    let round = |number: u32| {
        let push = format!(
            "lichess = {{ round = \"a1B2c3D{number}\", token_file = \"lichess-token\", server = \"http://127.0.0.1:{lichess}\" }}\n"
        );
        let text = format!(
            "{rest}[broadcast]\nfolder = \"open\"\nround = {number}\nrounds = 5\npairings = \"pairings.csv\"\ndelay_minutes = 1\n{push}"
        );
        fs::write(&config, text).unwrap();
    };
    let log = || read(folder.path().join("daemon.log"));
    let said = |what: &str| {
        until(what, PATIENCE, || log().contains(what).then_some(()));
    };
    let open = folder.path().join("open");
    let public = |number: u32| read(open.join(format!("round-{number}/game-1.pgn")));

    round(3);
    let daemon = Daemon::start(&config);
    until("the journal", PATIENCE, || (!public(3).is_empty()).then_some(()));
    // When it was not there yet: it ended later than that.
    let mut looked = Instant::now();
    let ended = until("the end of the first game", PATIENCE, || {
        let before = std::mem::replace(&mut looked, Instant::now());
        let events = journal(&config, "1");
        let ended = events.iter().any(|event| event["type"] == "game_ended");
        ended.then_some(before)
    });
    // A mistake in the file: it is told, and the round goes on.
    fs::write(
        &config,
        format!("{rest}[broadcast]\nfolder = \"open\"\nround = \"four\"\n"),
    )
    .unwrap();
    hang_up(daemon.id());
    said("is not taken over");
    assert!(!open.join("round-4").exists());
    // The same with what only a restart can change.
    round(4);
    let text = fs::read_to_string(&config)
        .unwrap()
        .replace("[journal]", "[journal]\nmax_age_days = 89");
    fs::write(&config, text).unwrap();
    hang_up(daemon.id());
    said("wants a restart");
    until("the next round", PATIENCE, || {
        public(4).contains("Menchik").then_some(())
    });

    until("the second game", PATIENCE, || {
        (moves(&config, 2) == 2).then_some(())
    });
    assert!(
        public(3).contains("Reti") && public(3).contains("????.??.??"),
        "held back: {}",
        public(3)
    );
    daemon.kill();
    let daemon = Daemon::start(&config);
    assert!(
        ended.elapsed() < Duration::from_secs(55),
        "too slow to see anything"
    );
    until("the rest of the former round", 2 * PATIENCE, || {
        let text = public(3);
        assert!(
            !text.contains("Nf3") || ended.elapsed() > Duration::from_secs(50),
            "too early: {text}"
        );
        text.ends_with("1-0\n").then_some(())
    });
    assert!(ended.elapsed() > Duration::from_secs(58), "{:?}", ended.elapsed());
    assert_eq!(moves(&config, 1), 2);
    assert!(
        public(3).contains("1. Nf3") && public(3).contains("Tartakower"),
        "{}",
        public(3)
    );
    until("the second game in public", 2 * PATIENCE, || {
        public(4).contains("1. ").then_some(())
    });
    assert!(
        public(4).contains("Menchik") && public(4).ends_with("*\n"),
        "{}",
        public(4)
    );
    assert!(public(3).ends_with("1-0\n"), "{}", public(3));
    let tournament: Value = serde_json::from_str(&read(open.join("tournament.json"))).unwrap();
    assert_eq!(tournament["rounds"][2]["count"], 1);
    assert_eq!(tournament["rounds"][3]["live"], 1);
    assert!(daemon.stop());

    // Each round went to its own round on lichess, to its end and not before it was public.
    let pushes: Vec<_> = pushes.try_iter().collect();
    let to = |round: &str| {
        let path = format!("/round/a1b2c3d{round}/push ");
        pushes.iter().filter(move |push| push.head[0].contains(&path))
    };
    let last = to("3").next_back().unwrap();
    assert!(
        last.body.contains("1. Nf3") && last.body.ends_with("1-0\n"),
        "{}",
        last.body
    );
    assert!(last.at - ended > Duration::from_secs(50));
    assert!(to("4").next_back().unwrap().body.contains("Menchik"));
    assert!(to("4").all(|push| !push.body.contains("Reti")));
}

struct Dashboard(Child);

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_dashboard_begins_the_next_round_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let config: PathBuf = folder.path().join("collector.toml");
    let round = |number: u32| {
        let text = format!(
            "[broker]\nurls = [\"mqtt://127.0.0.1:1\"]\n[broadcast]\nfolder = \"open\"\nround = {number}\nboards = [\"a/1\", \"b/1\"]\n"
        );
        fs::write(&config, text).unwrap();
    };
    round(1);
    let dashboard = program()
        .args(["dashboard", "--listen", "127.0.0.1:0", "--config"])
        .arg(&config)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let dashboard = Dashboard(dashboard);
    let is_there = |name: &str| {
        let path = folder.path().join(name);
        until(name, PATIENCE, || path.exists().then_some(()));
    };
    is_there("open/round-1/game-2.pgn");
    round(2);
    hang_up(dashboard.0.id());
    is_there("open/round-2/game-2.pgn");
}

/// A dashboard that broadcasts `round` into the folder `open` beside `config`.
fn broadcaster(config: &Path, round: u32) -> Dashboard {
    let text = format!(
        "[broker]\nurls = [\"mqtt://127.0.0.1:1\"]\n[broadcast]\nfolder = \"open\"\nround = {round}\nboards = [\"a/1\"]\n"
    );
    fs::write(config, text).unwrap();
    let dashboard = program()
        .args(["dashboard", "--listen", "127.0.0.1:0", "--config"])
        .arg(config)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Dashboard(dashboard)
}

#[test]
fn a_folder_that_another_writes_is_left_to_it_and_taken_over_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let is_there = |name: &str| {
        let path = folder.path().join(name);
        until(name, PATIENCE, || path.exists().then_some(()));
    };
    let first = broadcaster(&folder.path().join("first.toml"), 1);
    is_there("open/round-1/game-1.pgn");
    let mut second = broadcaster(&folder.path().join("second.toml"), 2);
    let mut log = BufReader::new(second.0.stderr.take().unwrap()).lines();
    let by = format!("is written by another dgt2mqtt (process {})", first.0.id());
    let said = log.by_ref().map(Result::unwrap).find(|line| line.contains(&by));
    assert!(said.is_some());
    assert!(!folder.path().join("open/round-2").exists());
    // By SIGKILL.
    drop(first);
    is_there("open/round-2/game-1.pgn");
}
