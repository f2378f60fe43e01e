//! A machine that is busy: the daemon gets no processor for moments, again and again, and what comes meanwhile waits together with
//! what is due. What it says is what `replay` says of what it heard. `DGT2MQTT_FULL=1`: 20 rounds.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use dgt2mqtt::capture::{Act, Capture, Record};
use dgt2mqtt::link::file::read_capture;
use fastrand::Rng;
use tokio::time::sleep;

use crate::{
    broker::{Mosquitto, Subscriber},
    hall::{Daemon, Seat, Simulator, configure, fixture},
    replayed::{difference_up_to_the_stop, tape, taped, told},
    seed::in_rounds_at_once,
    wiring::Wiring,
};

/// What is still to be said when all that `replay` tells is told.
const REST: Duration = Duration::from_secs(3);

/// How many boards a daemon has.
const BOARDS: usize = 8;
/// No game lasts longer.
const LONGEST: Duration = Duration::from_secs(28);

/// Some of all games of our own captures, with whatever goes wrong in them.
fn games(random: &mut Rng) -> Vec<(PathBuf, Capture)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(fixture("vienna-1910").parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "dgtcap"));
    paths.sort();
    random.shuffle(&mut paths);
    let games = paths.into_iter().map(|path| {
        let capture = read_capture(&path).unwrap();
        (path, capture)
    });
    games
        .filter(|(_, capture)| Duration::from_millis(capture.end().0) < LONGEST && is_plain(capture))
        .take(BOARDS)
        .collect()
}

/// True where the board is a DGT board whose link is up all the time and gathers nothing.
fn is_plain(capture: &Capture) -> bool {
    let header = &capture.header;
    let is_up = |record: &Record| !matches!(record.act, Act::LinkDown);
    header.protocol().is_none() && header.gathered_ms().is_none() && capture.records.iter().all(is_up)
}

/// Stops the daemon for moments, until all games are over.
async fn is_busy(daemon: &Daemon, until: Instant, random: &mut Rng) {
    while Instant::now() < until {
        daemon.signal("STOP");
        sleep(Duration::from_millis(random.u64(5..=700))).await;
        daemon.signal("CONT");
        sleep(Duration::from_millis(random.u64(5..=900))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_machine_says_what_replay_says_of_what_it_heard() {
    in_rounds_at_once(2, |random| a_machine_is_busy(Wiring::Alone, random)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_one_with_a_line_of_boards() {
    in_rounds_at_once(2, |random| a_machine_is_busy(Wiring::Line, random)).await;
}

async fn a_machine_is_busy(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/#").await;
    let (paths, captures): (Vec<_>, Vec<_>) = games(&mut random).into_iter().unzip();
    let simulator = Simulator::start(wiring.options(), &paths);
    let seats = (1..).zip(&captures).zip(&simulator.ports);
    let seats: Vec<_> = seats
        .map(|((id, capture), port)| Seat {
            id: id.to_string(),
            port,
            capture,
        })
        .collect();
    let config = configure(folder.path(), mosquitto.port, &seats);
    taped(&config);
    let daemon = Daemon::start(&config);
    let lasts = captures.iter().map(|capture| capture.end().0).max().unwrap();
    let until = Instant::now() + Duration::from_millis(lasts) + REST;
    is_busy(&daemon, until, &mut random).await;
    sleep(REST).await;
    assert!(daemon.stop());
    let (mut wrong, mut standstills) = (Vec::new(), 0);
    for (seat, path) in seats.iter().zip(&paths) {
        let events = told(&config, &subscriber, &seat.id).await;
        let tape = tape(&config, &seat.id);
        standstills += read_capture(&tape).unwrap().header.stood_still().len();
        let difference = difference_up_to_the_stop(&events, &tape);
        wrong.extend(difference.map(|difference| format!("{}: {difference}", path.display())));
    }
    println!("{standstills} standstills at {BOARDS} boards");
    assert!(
        wrong.is_empty() && standstills > 0,
        "{standstills} standstills, {wrong:#?}"
    );
}
