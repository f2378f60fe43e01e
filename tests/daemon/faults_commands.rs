//! Floods of commands: they take neither the place of events nor the log, and what is refused an answer leaves nothing
//! behind.

use std::{fs, path::Path};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    broker::{self, Mosquitto, PATIENCE, Subscriber, free_port},
    faults_clock::figure,
    hall::{Daemon, commands, one_board, until},
    replayed::{Played, taped, told},
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

/// Has the daemon tell its figures at the port that is returned.
fn tell_figures(config: &Path) -> u16 {
    let port = free_port();
    let text = fs::read_to_string(config).unwrap();
    fs::write(
        config,
        format!("{text}[metrics]\nlisten = \"127.0.0.1:{port}\"\n"),
    )
    .unwrap();
    port
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
    let game = Played::by_chance(&mut random);
    let events = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/reply/#").await;
    let (_simulator, config) = wiring.playing(folder.path(), mosquitto.port, &game.path, &[]);
    make_small(&config, 2);
    taped(&config);
    let figures = tell_figures(&config);
    let daemon = Daemon::start(&config);
    let first = random.usize(1..game.moves().len());
    println!("{}: commands from half-move {first} on", game.path.display());
    events.played("1", first as u64).await;

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
    until("the same answer", PATIENCE, || {
        (answers().len() == 2).then_some(())
    });
    let [first, again] = [0, 1].map(|n| answers()[n].json());
    assert_eq!(
        (&again["error"], &again["repeated"]),
        (&first["error"], &true.into())
    );

    game.is_over(&events, "1").await;
    nothing_stays_of_what_is_refused(figures);
    assert!(daemon.stop());
    game.is_whole(&config, &events, "1").await;
    assert!(
        !commands(&config, "1").is_empty(),
        "commands are kept as far as there is room"
    );
    let log = size(&folder.path().join("daemon.log"));
    assert!(log < 200_000, "{log} bytes of log");
    let kept = size(&folder.path().join("journal.sqlite"));
    assert!(kept < MOST_KEPT, "{kept} bytes of journal");
}

/// What a journal of 2 MiB takes on the disk with what it has not folded yet.
const MOST_KEPT: u64 = 6 << 20;

/// Each answer that the broker refused was refused once, and is in no queue: neither do events wait behind it, nor is it sent again.
fn nothing_stays_of_what_is_refused(figures: u16) {
    let get = |name: &str| figure(figures, &format!("dgt2mqtt_{name}"));
    let refused = (COMMANDS / 2) as f64;
    until("all answers refused", PATIENCE, || {
        get("messages_refused_total").filter(|count| *count >= refused)
    });
    until("an empty outbox", PATIENCE, || {
        get("outbox_depth").filter(|depth| *depth == 0.0)
    });
    // An event that is refused is sent again after a second.
    let since = until("figures", PATIENCE, || get("uptime_seconds"));
    until("newer figures", PATIENCE, || {
        get("uptime_seconds").filter(|now| *now > since + 3.0)
    });
    let [again, depth, lost, bytes] = [
        "messages_refused_total",
        "outbox_depth",
        "events_lost_total",
        "journal_bytes",
    ]
    .map(|name| get(name).unwrap());
    println!("{again} answers refused, {depth} events wait, {bytes} bytes of journal");
    assert_eq!((again, depth, lost), (refused, 0.0, 0.0));
    assert!(bytes < MOST_KEPT as f64, "{bytes} bytes of journal");
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
    // With each command the program looks at the board, which is between what the tape has. In one game the opponent lifts a piece just
    // when `replay` says the offence, and the position that goes with it would be another.
    let is_told_apart = |game: &Played| !game.path.ends_with("illegal-while-the-opponent-lifts.dgtcap");
    let mut games = std::iter::repeat_with(|| Played::by_chance(&mut random));
    let game = games.find(is_told_apart).unwrap();
    let events = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/reply/#").await;
    let (_simulator, config) = wiring.playing(folder.path(), mosquitto.port, &game.path, &[]);
    make_small(&config, 1);
    taped(&config);
    let daemon = Daemon::start(&config);
    let first = random.usize(1..game.moves().len());
    println!("{}: commands from half-move {first} on", game.path.display());
    events.played("1", first as u64).await;
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
            .until("the answers", || subscriber.all().len() == so_far + few.len())
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
    game.is_over(&events, "1").await;
    assert!(daemon.stop());
    let told = told(&config, &events, "1").await;
    let (reported, of_the_game): (Vec<Value>, _) = told
        .into_iter()
        .partition(|event| event["kind"] == "clock_setting_wrong");
    assert_eq!(reported.len(), taken, "each command that was taken is told once");
    game.is_whole_in(&of_the_game, &config, "1");
    let log = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    let lines = log.lines().filter(|line| line.contains("over_budget")).count();
    // The flood lasts some seconds, or minutes on a busy machine.
    assert!((1..=5).contains(&lines), "{lines} lines");
    println!("{taken} taken, {refused} refused, {lines} lines in the log");
}

/// Whoever refuses a command, at the door or at the board, it is counted once; and the log tells the number of those that it did not
/// tell one by one, though no more come.
#[tokio::test(flavor = "multi_thread")]
async fn refused_commands_are_counted_and_the_last_of_them_are_told_too() {
    const REFUSED: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let figures = tell_figures(&config);
    let daemon = Daemon::start(&config);
    subscriber.played("1", 1).await;
    for n in 0..REFUSED {
        // Each second one is refused at the door.
        let command = match n % 2 {
            0 => json!({ "ref": n, "irregularity": "none" }),
            _ => json!({ "ref": n, "nonsense": true }),
        };
        let topic = "dgt2mqtt/gw/board/1/cmd/dismiss";
        subscriber.publish(topic, false, command.to_string(), None).await;
        // One after the other: a flood is answered in part.
        let is_reply = |got: &broker::Got| got.topic.ends_with("/1/reply/dismiss") && got.json()["ref"] == n;
        let got = subscriber.wait("the refusal", is_reply).await;
        assert_eq!(got.json()["ok"], false);
    }
    for name in ["commands", "commands_refused"] {
        until("all counted", PATIENCE, || {
            figure(figures, &format!("dgt2mqtt_{name}_total")).filter(|count| *count >= REFUSED as f64)
        });
        assert_eq!(
            figure(figures, &format!("dgt2mqtt_{name}_total")),
            Some(REFUSED as f64)
        );
    }
    // Twenty a minute are told one by one, and then how many there were besides.
    let told = || {
        let log = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
        let one_by_one = log.lines().filter(|line| line.contains("refused: ")).count();
        let more = log.lines().filter_map(|line| {
            let (before, _) = line.split_once(" more commands were refused than")?;
            before.rsplit(' ').next()?.parse::<usize>().ok()
        });
        one_by_one + more.sum::<usize>()
    };
    until("the number of all", PATIENCE, || {
        (told() >= REFUSED).then_some(())
    });
    assert_eq!(told(), REFUSED);
    assert!(daemon.stop());
}
