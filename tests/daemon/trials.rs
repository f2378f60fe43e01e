//! What was tried at a daemon that runs, and came to nothing: commands that are nothing but depth, users of the same
//! machine who look at its files.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::{
    broker::{Mosquitto, Subscriber},
    hall::{Daemon, one_board},
};

/// Texts that open far more than any parser should follow, each within the bound on a command.
fn bombs() -> Vec<String> {
    let deep = |open: &str, close: &str, times: usize| open.repeat(times) + "0" + &close.repeat(times);
    vec![
        "[".repeat(60_000),
        "{\"ref\":".repeat(8_000),
        deep("[", "]", 30_000),
        deep("{\"a\":", "}", 10_000),
        format!("{{\"ref\":{}}}", deep("[", "]", 30_000)),
        format!("{{\"fen\":{}}}", deep("[{\"b\":", "}]", 7_000)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_depth_alone_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let mut daemon = Daemon::start(&config);
    subscriber
        .wait("a move", |got| got.topic.ends_with("/1/event/move"))
        .await;
    let commands = [
        "cmd/history",
        "board/1/cmd/new_game",
        "board/1/cmd/position",
        "board/1/cmd/dismiss",
    ];
    let refused = |topic: &str| {
        let topic = format!("dgt2mqtt/gw/{}", topic.replace("cmd/", "reply/"));
        let all = subscriber.all();
        let replies = all.iter().filter(|got| got.topic == topic);
        replies.filter(|got| got.json()["ok"] == false).count()
    };
    for topic in commands {
        for (n, bomb) in bombs().into_iter().enumerate() {
            subscriber
                .publish(&format!("dgt2mqtt/gw/{topic}"), false, bomb, None)
                .await;
            // One after the other: who is flooded does not answer all.
            subscriber.until("a refusal", || refused(topic) > n).await;
        }
    }
    // Also where only gateways speak.
    for topic in ["claim", "echo", "board/1/numbers"] {
        for bomb in bombs() {
            let topic = format!("dgt2mqtt/gw/{topic}");
            subscriber.publish(&topic, false, bomb, None).await;
        }
    }
    assert!(daemon.lives());
    subscriber
        .wait("the end of the game", |got| {
            got.topic.ends_with("/1/event/game_ended")
        })
        .await;
    assert!(daemon.stop());
}

/// What somebody without rights says to a command; none where nobody can become one.
fn as_nobody(words: &[&str]) -> Option<bool> {
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let run = |words: &[&str]| {
        let output = Command::new("setpriv").args(nobody).args(words).output();
        output.is_ok_and(|output| output.status.success())
    };
    run(&["true"]).then(|| run(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn other_users_of_the_machine_do_not_see_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    // Only what the daemon makes keeps them out.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text.replace(
            "\"journal.sqlite\"",
            "\"state/7/journal.sqlite\"\ncaptures = true",
        ),
    )
    .unwrap();
    let daemon = Daemon::start(&config);
    subscriber
        .wait("a move", |got| got.topic.ends_with("/1/event/move"))
        .await;
    let state = folder.path().join("state");
    for made in [&state, &state.join("7")] {
        let mode = fs::metadata(made).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", made.display());
    }
    let see = |path: &Path| as_nobody(&["cat", path.to_str().unwrap()]);
    let Some(sees_configuration) = see(&config) else {
        skipped!("nobody else can be tried (that needs root and setpriv)");
        return;
    };
    assert!(
        sees_configuration,
        "it has no secret: passwords in it are refused"
    );
    for file in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite.lock"] {
        assert_eq!(see(&state.join("7").join(file)), Some(false), "{file}");
    }
    // A backup is where others may look.
    let backup = folder.path().join("backup.tar.gz");
    let made = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .args(["backup", "--config"])
        .args([&config, &backup])
        .status();
    assert!(made.unwrap().success());
    assert_eq!(see(&backup), Some(false));
    let environment = format!("/proc/{}/environ", daemon.id());
    assert_eq!(see(Path::new(&environment)), Some(false));
    assert!(daemon.stop());
    let captures = fs::read_dir(state.join("7").join("captures")).unwrap();
    let modes = captures.map(|file| file.unwrap().metadata().unwrap().permissions().mode() & 0o077);
    let modes: Vec<_> = modes.collect();
    assert!(
        !modes.is_empty() && modes.iter().all(|others| *others == 0),
        "{modes:?}"
    );
}
