//! Floods of commands: they take neither the place of events nor the log, and what is refused an answer leaves nothing
//! behind.

use std::{fs, path::Path};

use fastrand::Rng;
use serde_json::json;

use crate::{
    broker::{self, Mosquitto, Subscriber},
    hall::{Daemon, are_numbered, commands, journal, moves as moves_of, replay, until, vienna},
    seed::{in_rounds, is_full},
    wiring::Wiring,
};

const COMMANDS: usize = 1_000;

/// A journal that holds little.
fn make_small(config: &Path, mib: u32) {
    let text = fs::read_to_string(config).unwrap();
    let small = format!("path = \"journal.sqlite\"\nmax_size_mib = {mib}\n");
    fs::write(config, text.replace("path = \"journal.sqlite\"\n", &small)).unwrap();
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_commands_displace_no_event() {
    in_rounds(|random| commands_are_refused(Wiring::Alone, random)).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn nor_do_refused_commands_to_a_board_on_a_line() {
    if is_full() {
        in_rounds(|random| commands_are_refused(Wiring::Line, random)).await;
    }
}

async fn commands_are_refused(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    // Answers beside our own topics are refused.
    let acl = folder.path().join("acl");
    fs::write(&acl, "topic readwrite dgt2mqtt/#\n").unwrap();
    let access = format!("allow_anonymous true\nacl_file {}", acl.display());
    let mut mosquitto = Mosquitto::start_with(folder.path(), &access, "");
    // This broker hangs up on what it refuses where its queues are without a limit.
    mosquitto.stop();
    let file = folder.path().join("mosquitto.conf");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("max_queued_messages 0", "max_queued_messages 100000"),
    )
    .unwrap();
    mosquitto.resume();
    let moves = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/move").await;
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/reply/#").await;
    let (_simulator, config) = wiring.one_board(folder.path(), mosquitto.port);
    make_small(&config, 2);
    let daemon = Daemon::start(&config);
    let first = random.u64(1..=12);
    moves.wait("a move", |got| got.json()["ply"] == first).await;

    let long = "x".repeat(60_000);
    let dismiss = "dgt2mqtt/gw/board/1/cmd/dismiss";
    for n in 0..COMMANDS {
        let command = json!({ "ref": format!("r-{n}"), "irregularity": format!("{n}{long}") });
        let inbox = format!("foreign/inbox/{n}/{}", "y".repeat(400));
        // Those that go home tell how far the daemon is: one after the other, so that each is carried out.
        let answer = (n % 2 == 1).then_some((inbox.as_str(), "c"));
        subscriber
            .publish(dismiss, false, command.to_string(), answer)
            .await;
        if n % 2 == 0 {
            let reference = json!(format!("r-{n}"));
            let is_reply =
                |got: &broker::Got| got.topic.ends_with("/1/reply/dismiss") && got.json()["ref"] == reference;
            let got = subscriber.wait("the refusal", is_reply).await;
            assert_eq!(got.json()["ok"], false);
            assert!(got.payload.len() < 2_000, "{} bytes", got.payload.len());
        }
    }
    // The same again is the same answer, though not all of it is kept.
    let again = json!({ "ref": "r-998", "irregularity": format!("998{long}") }).to_string();
    subscriber.publish(dismiss, false, again, None).await;
    let answers = || {
        let all = subscriber.all().into_iter();
        all.filter(|got| got.json()["ref"] == "r-998").collect::<Vec<_>>()
    };
    until("the same answer", broker::PATIENCE, || {
        (answers().len() == 2).then_some(())
    });
    let [first, again] = [0, 1].map(|n| answers()[n].json());
    assert_eq!(
        (&again["error"], &again["repeated"]),
        (&first["error"], &true.into())
    );

    assert!(daemon.stop());
    let events = journal(&config, "1");
    are_numbered(&events);
    assert!(moves_of(&replay(&vienna(), "1")).starts_with(&moves_of(&events)));
    assert!(events.len() > 3);
    assert!(
        !commands(&config, "1").is_empty(),
        "commands are kept as far as there is room"
    );
    let log = size(&folder.path().join("daemon.log"));
    assert!(log < 200_000, "{log} bytes of log");
    let kept = size(&folder.path().join("journal.sqlite"));
    assert!(kept < 6 << 20, "{kept} bytes of journal");
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_commands_displace_no_event() {
    in_rounds(|random| commands_are_accepted(Wiring::Alone, random)).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn nor_do_accepted_commands_to_a_board_on_a_line() {
    if is_full() {
        in_rounds(|random| commands_are_accepted(Wiring::Line, random)).await;
    }
}

async fn commands_are_accepted(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let moves = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/move").await;
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/reply/#").await;
    let (_simulator, config) = wiring.one_board(folder.path(), mosquitto.port);
    make_small(&config, 1);
    let daemon = Daemon::start(&config);
    let first = random.u64(1..=12);
    moves.wait("a move", |got| got.json()["ply"] == first).await;
    let (mut taken, mut refused) = (0, 0);
    let numbers: Vec<_> = (0..600).collect();
    // A few at a time, so that each is looked at.
    for few in numbers.chunks(5) {
        for n in few {
            let command = json!({ "ref": n, "kind": "clock_setting_wrong", "confirmed": true }).to_string();
            subscriber
                .publish("dgt2mqtt/gw/board/1/cmd/report", false, command, None)
                .await;
        }
        let so_far = taken + refused;
        subscriber
            .wait("the answers", |_| subscriber.all().len() == so_far + few.len())
            .await;
        for reply in subscriber.all().iter().skip(so_far).map(broker::Got::json) {
            if reply["ok"] == true {
                taken += 1;
                continue;
            }
            refused += 1;
            assert_eq!(reply["error"]["code"], "over_budget", "{reply}");
            let said = reply["error"]["message"].as_str().unwrap();
            assert!(said.contains("send the command again"), "{said}");
        }
    }
    assert!(taken >= 60 && refused > 300, "{taken} taken, {refused} refused");
    assert!(daemon.stop());
    let events = journal(&config, "1");
    are_numbered(&events);
    assert!(moves_of(&replay(&vienna(), "1")).starts_with(&moves_of(&events)));
    let log = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    let lines = log.lines().filter(|line| line.contains("over_budget")).count();
    // The flood lasts some seconds, or minutes on a busy machine.
    assert!((1..=5).contains(&lines), "{lines} lines");
    println!("{taken} taken, {refused} refused, {lines} lines in the log");
}
