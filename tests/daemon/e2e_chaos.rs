//! What a hall can do to the chain: the broker is restarted, the daemon killed, a cable pulled, while
//! games are played. Nothing may be lost, out of order, or said twice in two ways.
//!
//! The times come from a seed that is printed; `DGT2MQTT_SEED` sets it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::{Act, Capture, Header, Record},
    sim::games,
    time::Millis,
};
use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, all_heard, heard},
    hall::{Daemon, Seat, Simulator, accusations, configure, journal, moves, save},
    seed::seed,
    wiring::Wiring,
};

/// What happens in an evening, and how often.
#[derive(Clone, Copy)]
struct Evening {
    wiring: Wiring,
    games: usize,
    /// Half-moves of each game.
    plies: usize,
    broker_restarts: usize,
    kills: usize,
    /// The faults are over by then, and the games soon after.
    span_ms: u64,
}

const LONG: Evening = Evening {
    wiring: Wiring::Alone,
    games: 5,
    plies: 11,
    broker_restarts: 5,
    kills: 5,
    span_ms: 55_000,
};

/// Boards with these captures. On the first three people play on while the daemon is dead; on the others, and on those of a line, the
/// game stands still: there only what was in the air may be missed.
fn attach(evening: Evening, folder: &Path, paths: &[PathBuf]) -> Vec<Simulator> {
    if evening.wiring == Wiring::Line {
        return vec![Simulator::start(&["--line"], paths)];
    }
    let link = folder.join("board");
    vec![
        Simulator::start(&["--no-wait", "--link", link.to_str().unwrap()], &paths[..3]),
        Simulator::start(&["--listen", "127.0.0.1:0"], &paths[3..]),
    ]
}

/// A game with its moves as UCI.
struct Game {
    capture: Capture,
    uci: Vec<String>,
}

impl Game {
    fn new(seed: u64, plies: usize) -> Self {
        let mut made = games::made_up(&mut Rng::with_seed(seed));
        made.truncate(plies);
        let standard = shakmaty::CastlingMode::Standard;
        let mut header = Header::default();
        header.push("time-control", "rapid").unwrap();
        Self {
            uci: made.iter().map(|mv| mv.to_uci(standard).to_string()).collect(),
            capture: games::play(&made, header, seed).unwrap(),
        }
    }

    /// The cable is pulled twice, for two to four seconds, during which nothing is played.
    fn unplugged(mut self, rng: &mut Rng) -> Self {
        let end = self.capture.end().0;
        let first = rng.u64(end / 6..end / 3);
        let second = rng.u64(end / 2..end * 5 / 6);
        for at in [second, first] {
            let away = rng.u64(2000..4000);
            let place = self.capture.records.partition_point(|record| record.at.0 <= at);
            for record in &mut self.capture.records[place..] {
                record.at = record.at + away;
            }
            let act = |at, act| Record { at: Millis(at), act };
            let pulled = [act(at, Act::LinkDown), act(at + away, Act::LinkUp)];
            self.capture.records.splice(place..place, pulled);
        }
        self
    }
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Broker,
    Kill,
}

/// Fault times in order, at least a second apart.
fn schedule(evening: Evening, rng: &mut Rng) -> Vec<(u64, Fault)> {
    let mut faults = [
        vec![Fault::Broker; evening.broker_restarts],
        vec![Fault::Kill; evening.kills],
    ]
    .concat();
    rng.shuffle(&mut faults);
    let slot = evening.span_ms / faults.len() as u64;
    let place = |(n, fault)| (n as u64 * slot + rng.u64(1000..slot), fault);
    faults.into_iter().enumerate().map(place).collect()
}

/// Does what the schedule says; returns the daemon that runs at the end.
async fn inject(
    schedule: &[(u64, Fault)],
    rng: &mut Rng,
    config: &Path,
    mosquitto: &mut Mosquitto,
) -> Daemon {
    let start = Instant::now();
    let mut daemon = Daemon::start(config);
    for (at, fault) in schedule {
        let due = start + Duration::from_millis(*at);
        tokio::time::sleep_until(due.into()).await;
        let away = Duration::from_millis(rng.u64(100..2500));
        println!(
            "{:6.2} s  {fault:?}, back after {away:?}",
            start.elapsed().as_secs_f64()
        );
        match fault {
            Fault::Broker => {
                mosquitto.stop();
                tokio::time::sleep(away).await;
                mosquitto.resume();
            }
            Fault::Kill => {
                daemon.kill();
                tokio::time::sleep(away).await;
                daemon = Daemon::start(config);
            }
        }
    }
    daemon
}

/// Whether the moves are those of the game. Moves that nobody watched may have been played in several
/// orders; where the daemon says so, it may have taken another one.
fn told_as_played(events: &[Value], game: &Game) -> bool {
    let is_ambiguous = events.iter().any(|event| event["code"] == "gap_ambiguous");
    moves(events) == game.uci || is_ambiguous && same_half_moves(events, game)
}

/// Whether the half-moves are those of the game, in whatever order.
fn same_half_moves(events: &[Value], game: &Game) -> bool {
    let (mut told, mut played) = (moves(events), game.uci.clone());
    told.sort();
    played.sort();
    told == played
}

/// Whether a notice says that half-moves are missing.
fn is_open(events: &[Value]) -> bool {
    let mut codes = events.iter().filter_map(|event| event["code"].as_str());
    codes.any(|code| code.starts_with("gap_") || code == "board_log_useless")
}

/// An evening of eight boards, on which people play on while the daemon is killed again and again; what it
/// misses it takes from the boards' logs. `DGT2MQTT_FULL=1`: 200 times.
#[tokio::test]
async fn kills_at_any_instant_lose_nothing() {
    let (kills, plies) = match std::env::var_os("DGT2MQTT_FULL") {
        Some(_) => (200, 40),
        None => (14, 4),
    };
    is_killed(Wiring::Alone, kills, plies).await;
}

/// The same on a line, where the games stand still while nobody asks. What a board has told a daemon that was killed just then it
/// tells the next one again.
#[tokio::test]
async fn kills_at_any_instant_lose_nothing_over_a_line_of_many_boards() {
    let (kills, plies) = match std::env::var_os("DGT2MQTT_FULL") {
        Some(_) => (100, 20),
        None => (14, 4),
    };
    is_killed(Wiring::Line, kills, plies).await;
}

async fn is_killed(wiring: Wiring, kills: usize, plies: usize) {
    let mut rng = Rng::with_seed(seed());
    let folder = tempfile::tempdir().unwrap();
    let games: Vec<_> = (0..8).map(|_| Game::new(rng.u64(..1 << 32), plies)).collect();
    let paths: Vec<PathBuf> = (0..)
        .zip(&games)
        .map(|(n, game)| save(folder.path(), &format!("game-{n}"), &game.capture))
        .collect();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let link = folder.path().join("board");
    let options = match wiring {
        Wiring::Alone => ["--no-wait", "--link", link.to_str().unwrap()],
        Wiring::Line => ["--line", "--speed", "2"],
    };
    let simulator = Simulator::start(&options, &paths);
    let seats: Vec<_> = (1..)
        .zip(&simulator.ports)
        .zip(&games)
        .map(|((n, port), game): ((u32, _), _)| Seat {
            id: n.to_string(),
            port,
            capture: &game.capture,
        })
        .collect();
    let config = configure(folder.path(), mosquitto.port, &seats);
    let start = Instant::now();
    for _ in 0..kills {
        let daemon = Daemon::start(&config);
        // Often before a board has answered, sometimes long after.
        let lives = if rng.u8(0..4) == 0 { 4000 } else { 1200 };
        tokio::time::sleep(Duration::from_millis(rng.u64(20..lives))).await;
        daemon.kill();
        tokio::time::sleep(Duration::from_millis(rng.u64(0..200))).await;
    }
    let span = start.elapsed();
    let daemon = Daemon::start(&config);
    let longest = games.iter().map(|game| game.capture.end().0).max().unwrap();
    let deadline = start + Duration::from_millis(longest).max(span) + PATIENCE;
    let right = || {
        let told = |(seat, game): (&Seat<'_>, _)| told_as_played(&heard(&subscriber, &seat.id).events, game);
        seats.iter().zip(&games).all(told)
    };
    while Instant::now() < deadline && !right() {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(daemon.stop(), "a stop that was asked for is no failure");
    let (mut compared, mut repeated) = (0, 0);
    for (Seat { id, .. }, game) in seats.iter().zip(&games) {
        let kept = journal(&config, id);
        all_heard(&subscriber, id, kept.len()).await;
        let heard = heard(&subscriber, id);
        assert_eq!(
            heard.events, kept,
            "board {id}: what was heard is not what was kept"
        );
        let is_right = match wiring {
            Wiring::Alone => moves(&kept) == game.uci,
            // There what was in the air may have to be searched for.
            Wiring::Line => told_as_played(&kept, game) || is_open(&kept) || same_half_moves(&kept, game),
        };
        assert!(
            kept.iter()
                .all(|event| event["type"] != "irregularity" || event["certainty"] == "suspected"),
            "board {id}: accused a clean game: {kept:#?}"
        );
        assert!(is_right, "board {id}: {:?} was played: {kept:#?}", game.uci);
        compared += kept.len();
        repeated += heard.arrivals - heard.events.len();
    }
    println!(
        "{kills} kills in {:.0} s; {compared} events of 8 boards compared, 0 lost, {repeated} repeated",
        span.as_secs_f64()
    );
}

#[tokio::test]
async fn faults_lose_nothing() {
    survive(LONG).await;
}

/// `DGT2MQTT_FULL=1`: as long an evening as that of boards with lines of their own.
#[tokio::test]
async fn faults_lose_nothing_over_a_line_of_many_boards() {
    let evening = match std::env::var_os("DGT2MQTT_FULL") {
        Some(_) => LONG,
        None => Evening {
            games: 3,
            plies: 4,
            broker_restarts: 1,
            kills: 2,
            span_ms: 12_000,
            ..LONG
        },
    };
    survive(Evening {
        wiring: Wiring::Line,
        ..evening
    })
    .await;
}

async fn survive(evening: Evening) {
    let mut rng = Rng::with_seed(seed());
    let folder = tempfile::tempdir().unwrap();
    let mut games: Vec<_> = (0..evening.games)
        .map(|_| Game::new(rng.u64(..1 << 32), evening.plies))
        .collect();
    let with_unplugs = games.remove(0).unplugged(&mut rng);
    games.insert(0, with_unplugs);
    let paths: Vec<PathBuf> = (0..)
        .zip(&games)
        .map(|(n, game)| save(folder.path(), &format!("game-{n}"), &game.capture))
        .collect();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let simulators = attach(evening, folder.path(), &paths);
    let ports = simulators.iter().flat_map(|simulator| &simulator.ports);
    let seats: Vec<_> = (1..)
        .zip(ports)
        .zip(&games)
        .map(|((n, port), game): ((u32, _), _)| Seat {
            id: n.to_string(),
            port,
            capture: &game.capture,
        })
        .collect();
    let config = configure(folder.path(), mosquitto.port, &seats);

    let schedule = schedule(evening, &mut rng);
    let mut daemon = inject(&schedule, &mut rng, &config, &mut mosquitto).await;
    let longest = games.iter().map(|game| game.capture.end().0).max().unwrap();
    let deadline = Instant::now() + Duration::from_millis(longest) + PATIENCE;
    let open = || {
        seats
            .iter()
            .zip(&games)
            .filter(|(seat, game)| !told_as_played(&heard(&subscriber, &seat.id).events, game))
            .count()
    };
    while Instant::now() < deadline && open() > 0 {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    // What is decided by stillness after the last move.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(daemon.lives());
    assert!(daemon.stop(), "a stop that was asked for is no failure");
    let log = std::fs::read_to_string(folder.path().join("daemon.log")).unwrap();

    let (mut compared, mut repeated) = (0, 0);
    let mut wrong = Vec::new();
    for (Seat { id, .. }, game) in seats.iter().zip(&games) {
        let kept = journal(&config, id);
        all_heard(&subscriber, id, kept.len()).await;
        let heard = heard(&subscriber, id);
        let lost: BTreeSet<u64> = kept
            .iter()
            .skip(heard.events.len())
            .map(|event| event["seq"].as_u64().unwrap())
            .collect();
        assert!(
            lost.is_empty(),
            "board {id}: {lost:?} are in the journal and were never heard\n{log}"
        );
        assert_eq!(
            heard.events, kept,
            "board {id}: what was heard is not what was kept"
        );
        compared += kept.len();
        repeated += heard.arrivals - heard.events.len();
        let irregularities = kept.iter().filter(|event| event["type"] == "irregularity");
        let kinds: Vec<String> = irregularities
            .map(|event| format!("{} ({}) at {}", event["kind"], event["certainty"], event["ply"]))
            .collect();
        println!(
            "board {id}: {} events, irregularities said of a clean game: {kinds:?}",
            kept.len()
        );
        if !told_as_played(&kept, game) {
            wrong.push(format!(
                "board {id}:\n  played {:?}\n  told   {:?}",
                game.uci,
                moves(&kept)
            ));
        }
        if !accusations(&kept).is_empty() {
            wrong.push(format!("board {id}: accused a clean game of {kinds:?}"));
        }
    }
    println!(
        "{} broker restarts, {} kills, 2 unplugs; {compared} events compared, 0 lost, {repeated} repeated",
        evening.broker_restarts, evening.kills
    );
    if !wrong.is_empty() {
        let seats = seats
            .iter()
            .map(|seat| journal(&config, &seat.id))
            .collect::<Vec<_>>()
            .concat();
        let events: Vec<_> = seats
            .iter()
            .map(|event| event.to_string().chars().take(220).collect::<String>())
            .collect();
        panic!("{}\n{}\n{log}", wrong.join("\n"), events.join("\n"));
    }
}
