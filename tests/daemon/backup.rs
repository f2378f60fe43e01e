//! `backup` beside a daemon that works, and `restore`: what comes back is whole, however either is interrupted, and no
//! number of an event is used twice.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    event::{Body, Event},
    journal::{Entry, Journal, JournalSettings},
    tournament::{InForce, Pairings, tables},
};
use serde_json::Value;

use crate::{
    broker::{self, Mosquitto, Subscriber},
    hall::{Daemon, journal, program},
    seed::is_full,
    wiring::Wiring,
};

/// Events of a journal that takes a while to copy.
const EVENTS: u64 = 2_500;

/// Kills of each command.
fn kills() -> u32 {
    if std::env::var_os("DGT2MQTT_FULL").is_some() {
        100
    } else {
        6
    }
}

fn call(verb: &str, config: &Path, archive: &Path, options: &[&str]) -> Output {
    let mut command = program();
    command
        .arg(verb)
        .arg("--config")
        .arg(config)
        .args(options)
        .arg(archive);
    command.output().unwrap()
}

fn done(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

fn seqs(events: &[Value]) -> Vec<u64> {
    events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect()
}

/// The events that a subscriber got: no number has two contents.
fn heard(subscriber: &Subscriber) -> BTreeMap<u64, Value> {
    let mut heard = BTreeMap::new();
    for got in subscriber.all() {
        if got.topic.contains("/board/1/event/") {
            let event = got.json();
            let seq = event["seq"].as_u64().unwrap();
            let former = heard.insert(seq, event.clone());
            assert!(
                former.is_none_or(|former| former == event),
                "two events have number {seq}"
            );
        }
    }
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evening_is_backed_up_while_it_goes_on_and_restored() {
    is_backed_up_and_restored(Wiring::Alone).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn so_is_an_evening_on_a_line_of_many_boards() {
    if is_full() {
        is_backed_up_and_restored(Wiring::Line).await;
    }
}

async fn is_backed_up_and_restored(wiring: Wiring) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = wiring.one_board(folder.path(), mosquitto.port);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(at("round.csv"), "board,white,black\n1,A,B\n").unwrap();
    fs::write(
        &config,
        format!("{text}[broadcast]\nfolder = \"public\"\npairings = \"round.csv\"\n"),
    )
    .unwrap();
    let in_force = InForce {
        round: 2,
        pairings: Pairings::parse("board,white,black\n1,Anna,Boris\n", 2).ok(),
        since_ms: 7,
        ..InForce::default()
    };
    in_force.keep(&at("journal.sqlite")).unwrap();
    let bound = ["1".to_owned()];
    tables::keep(&at("journal.sqlite"), &bound).unwrap();
    let daemon = Daemon::start(&config);
    let is_move =
        |got: &broker::Got, ply: u64| got.topic.ends_with("/1/event/move") && got.json()["ply"] == ply;
    subscriber.wait("two half-moves", |got| is_move(got, 2)).await;
    let archive = at("evening.tar.gz");
    done(&call("backup", &config, &archive, &[]));
    assert!(refused(&call("backup", &config, &archive, &[])).contains("--force"));
    let last = heard(&subscriber).into_keys().last().unwrap();
    subscriber
        .wait("what is not in the backup", |got| {
            got.topic.contains("/1/event/") && got.json()["seq"].as_u64() > Some(last)
        })
        .await;
    let said = refused(&call("restore", &config, &archive, &["--force"]));
    let advice = [
        "the daemon is running",
        "systemctl stop dgt2mqtt",
        "restore",
        "systemctl start dgt2mqtt",
    ];
    assert!(advice.iter().all(|words| said.contains(words)), "{said}");
    assert!(daemon.stop());
    let before = journal(&config, "1");
    assert!(refused(&call("restore", &config, &archive, &[])).contains("--force"));
    assert_eq!(journal(&config, "1"), before, "a refusal changes nothing");

    // On another machine.
    let other = at("other");
    let elsewhere = other.join("dgt2mqtt.toml");
    done(&call("restore", &elsewhere, &archive, &[]));
    let restored = journal(&elsewhere, "1");
    assert!(
        restored.len() >= 3 && before.starts_with(&restored),
        "{restored:#?}"
    );
    assert_eq!(
        InForce::kept(&other.join("journal.sqlite")).unwrap(),
        Some(in_force.clone())
    );
    assert_eq!(
        tables::kept(&other.join("journal.sqlite")).unwrap(),
        Some(bound.to_vec())
    );
    for name in ["dgt2mqtt.toml", "round.csv", "public/round-2/.begun"] {
        assert_eq!(
            fs::read(other.join(name)).unwrap(),
            fs::read(at(name)).unwrap(),
            "{name}"
        );
    }

    // And here, in the place of what was said since.
    fs::write(&config, fs::read_to_string(&config).unwrap() + "# changed\n").unwrap();
    InForce {
        round: 3,
        ..in_force.clone()
    }
    .keep(&at("journal.sqlite"))
    .unwrap();
    let said = done(&call("restore", &config, &archive, &["--force"]));
    assert!(
        said.contains("stays as it is") && said.contains(".replaced-"),
        "{said}"
    );
    assert!(fs::read_to_string(&config).unwrap().ends_with("# changed\n"));
    assert_eq!(journal(&config, "1"), restored);
    assert_eq!(InForce::kept(&at("journal.sqlite")).unwrap(), Some(in_force));
    let known = heard(&subscriber);
    let daemon = Daemon::start(&config);
    let highest = *known.keys().last().unwrap();
    let notice = subscriber
        .wait("the notice", |got| {
            got.topic.ends_with("/1/event/notice") && got.json()["code"] == "journal_restored"
        })
        .await;
    assert!(notice.json()["seq"].as_u64().unwrap() > highest + 1_000_000);
    assert!(daemon.stop());
    heard(&subscriber);
    // It is said once.
    let daemon = Daemon::start(&config);
    let after = notice.json()["seq"].as_u64().unwrap();
    subscriber
        .wait("another event", |got| {
            got.topic.ends_with("event/board_connected") && got.json()["seq"].as_u64() > Some(after)
        })
        .await;
    assert!(daemon.stop());
    let notices = heard(&subscriber);
    let notices = notices
        .values()
        .filter(|event| event["code"] == "journal_restored");
    assert_eq!(notices.count(), 1);
}

/// Games that were played since the backup keep their numbers: what is played after it has others.
#[tokio::test(flavor = "multi_thread")]
async fn games_since_the_backup_keep_their_numbers() {
    games_are_played_since_the_backup(Wiring::Alone).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn so_do_games_on_a_line_of_many_boards() {
    if is_full() {
        games_are_played_since_the_backup(Wiring::Line).await;
    }
}

async fn games_are_played_since_the_backup(wiring: Wiring) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = wiring.one_board(folder.path(), mosquitto.port);
    let daemon = Daemon::start(&config);
    let state = subscriber
        .wait("the game", |got| {
            got.topic.ends_with("/1/game")
                && got.json()["moves"]
                    .as_array()
                    .is_some_and(|moves| moves.len() > 1)
        })
        .await;
    assert_eq!(state.json()["game"], 1);
    let archive = folder.path().join("evening.tar.gz");
    done(&call("backup", &config, &archive, &[]));
    assert!(daemon.stop());
    // Six more games, as the broker keeps the last of them.
    let mut last = state.json();
    last["game"] = 7.into();
    subscriber
        .publish(&state.topic, true, last.to_string(), None)
        .await;
    subscriber
        .wait("the last of them at the broker", |got| {
            got.topic == state.topic && got.json()["game"] == 7
        })
        .await;
    done(&call("restore", &config, &archive, &["--force"]));
    let before = heard(&subscriber).into_keys().last();
    let daemon = Daemon::start(&config);
    let notice = subscriber
        .wait("the notice", |got| {
            got.topic.ends_with("/event/notice") && got.json()["code"] == "journal_behind"
        })
        .await;
    let said = notice.json()["message"].as_str().unwrap().to_owned();
    assert!(said.contains("its next game has number 8"), "{said}");
    subscriber
        .wait("the game that is played", |got| {
            got.topic.ends_with("/1/event/game_started") && got.json()["game"] == 8
        })
        .await;
    assert!(daemon.stop());
    for (seq, event) in heard(&subscriber) {
        // What was said before the broker was asked is of the game of the backup.
        let is_new = event["game"].as_u64().is_none_or(|game| game == 1 || game == 8);
        assert!(Some(seq) <= before || is_new, "{event}");
    }
}

/// A journal with `seqs`, and the configuration beside it.
async fn filled(folder: &Path, seqs: std::ops::RangeInclusive<u64>) -> (Journal, PathBuf) {
    fs::create_dir_all(folder).unwrap();
    let config = folder.join("dgt2mqtt.toml");
    let text = "[gateway]\nname = \"gw\"\n[journal]\npath = \"journal.sqlite\"\n[[board]]\nid = \"1\"\nport = \"/dev/none\"\n";
    fs::write(&config, text).unwrap();
    let settings = JournalSettings::at(folder.join("journal.sqlite"));
    let (journal, _) = Journal::open(settings, "gw").unwrap();
    append(&journal, seqs).await;
    (journal, config)
}

async fn append(journal: &Journal, seqs: std::ops::RangeInclusive<u64>) {
    let mut rng = fastrand::Rng::with_seed(*seqs.start());
    let mut event = |seq: u64| Event {
        v: 1,
        formerly: None,
        unsent_as: None,
        id: format!("gw/1/{seq}"),
        seq,
        body: Body::Notice {
            code: "test".to_owned(),
            message: (0..300).map(|_| rng.alphanumeric()).collect(),
        },
        board: "1".to_owned(),
        game: Some(1),
        t: 0.0,
        at: None,
        time: None,
        source: None,
        by: None,
    };
    let entry = Entry {
        board: "1".to_owned(),
        events: seqs.map(&mut event).collect(),
        snapshot: None,
        command: None,
    };
    journal.append(entry).await.await.unwrap();
}

/// Kills one command again and again, at moments spread over the time that it takes.
struct Kills {
    verb: &'static str,
    /// How long it takes when nobody kills it. On a busy machine the first run may have been slow: it is less after
    /// each run that was over before its kill.
    whole: Duration,
    made: u32,
    wanted: u32,
    runs: u32,
}

impl Kills {
    /// Runs the command once as a whole.
    fn new(verb: &'static str, config: &Path, archive: &Path) -> Self {
        let began = Instant::now();
        done(&call(verb, config, archive, &["--force"]));
        let (whole, wanted) = (began.elapsed(), kills());
        Self {
            verb,
            whole,
            made: 0,
            wanted,
            runs: 0,
        }
    }

    /// Whether there are more to come.
    fn are_wanted(&self) -> bool {
        assert!(
            self.runs < 10 * self.wanted,
            "{} kills of {}",
            self.made,
            self.runs
        );
        self.made < self.wanted
    }

    /// Runs the command and kills it after a part of the time that it takes.
    fn kill(&mut self, config: &Path, archive: &Path) {
        let after = self.whole * self.made / self.wanted;
        let mut command = program();
        command.arg(self.verb).arg("--force");
        command.arg("--config").arg(config).arg(archive);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(after);
        child.kill().unwrap();
        self.runs += 1;
        let status = child.wait().unwrap();
        if status.signal().is_some() {
            self.made += 1;
        } else {
            assert!(status.success(), "{status}");
            self.whole = after;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_killed_is_whole_or_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let (journal_here, config) = filled(&folder.path().join("here"), 1..=EVENTS).await;
    let archive = folder.path().join("backup.tar.gz");
    let mut kills = Kills::new("backup", &config, &archive);
    let mut last = EVENTS;
    while kills.are_wanted() {
        // None is there, or an earlier one.
        if kills.runs.is_multiple_of(2) {
            fs::remove_file(&archive).unwrap();
        }
        append(&journal_here, last + 1..=last + 10).await;
        last += 10;
        kills.kill(&config, &archive);
        let elsewhere = folder
            .path()
            .join(format!("elsewhere-{}/dgt2mqtt.toml", kills.runs));
        // What is left under another name lacks its name alone, or is refused.
        let part = folder.path().join("backup.tar.gz.part");
        let (is_named, left) = if archive.exists() {
            (true, &archive)
        } else {
            (false, &part)
        };
        if left.exists() {
            let restored = call("restore", &elsewhere, left, &[]);
            if is_named || restored.status.success() {
                done(&restored);
                let seqs = seqs(&journal(&elsewhere, "1"));
                assert!(seqs.len() as u64 >= EVENTS && seqs == (1..=seqs.len() as u64).collect::<Vec<_>>());
            } else {
                refused(&restored);
                assert!(!elsewhere.exists());
            }
        }
        done(&call("backup", &config, &archive, &["--force"]));
        assert_eq!(
            fs::read_dir(folder.path())
                .unwrap()
                .filter(|file| {
                    file.as_ref()
                        .unwrap()
                        .file_name()
                        .to_string_lossy()
                        .contains("backup")
                })
                .count(),
            1,
            "the next one takes away what was left"
        );
    }
    journal_here.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_is_killed_leaves_a_whole_journal_or_none_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("here");
    let (journal_here, config) = filled(&here, 1..=EVENTS).await;
    let archive = folder.path().join("backup.tar.gz");
    done(&call("backup", &config, &archive, &[]));
    append(&journal_here, EVENTS + 1..=EVENTS + 10).await;
    journal_here.close().await;
    let spare = folder.path().join("spare");
    fs::create_dir(&spare).unwrap();
    for file in ["journal.sqlite", "journal.sqlite.lock"] {
        fs::copy(here.join(file), spare.join(file)).unwrap();
    }
    let mut kills = Kills::new("restore", &config, &archive);
    while kills.are_wanted() {
        fs::remove_dir_all(&here).unwrap();
        fs::create_dir(&here).unwrap();
        for file in fs::read_dir(&spare).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), here.join(file.file_name())).unwrap();
        }
        kills.kill(&config, &archive);
        // The journal of before is in its place or aside.
        let journals = fs::read_dir(&here).unwrap().map(|file| file.unwrap().path());
        let journals: Vec<_> = journals
            .filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                name == "journal.sqlite" || name.starts_with("journal.sqlite.replaced-")
            })
            .collect();
        let count = |path: &PathBuf| {
            let connection = rusqlite::Connection::open(path).unwrap();
            let sound: String = connection
                .query_row("PRAGMA integrity_check", [], |row| row.get(0))
                .unwrap();
            assert_eq!(sound, "ok");
            connection
                .query_row("SELECT count(*) FROM events", [], |row| row.get::<_, u64>(0))
                .unwrap()
        };
        let counts: Vec<u64> = journals.iter().map(count).collect();
        assert!(counts.contains(&(EVENTS + 10)), "{counts:?}");
        assert!(
            counts.iter().all(|count| [EVENTS, EVENTS + 10].contains(count)),
            "{counts:?}"
        );
        done(&call("restore", &config, &archive, &["--force"]));
        assert_eq!(journal(&config, "1").len() as u64, EVENTS);
    }
}
