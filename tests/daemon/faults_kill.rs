//! The program is killed soon after an illegal move was completed by a press, while the board goes on: what was heard
//! before is said after it, once, and nobody is accused besides. `DGT2MQTT_FULL=1` takes 20 random instants after the
//! press and 40 at any time, half of them over a line for many boards; their seed is printed. The same is asked of a program
//! that is killed every two seconds, that is ended beside pieces that were displaced, and that is suspended.

use std::{
    ops::RangeInclusive,
    path::Path,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::{Act, Capture},
    dgt::{ClockReading, Decoder, Message, bus::Address},
    link::file::read_capture,
    sim::{
        board::SimulatedIdentity,
        line::{SimulatedLine, Troubles},
        player::{Pace, PlayedBoard},
        port::Socket,
        serve::{Serving, Station},
        slave::Slave,
    },
};
use fastrand::Rng;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, all_heard, heard},
    hall::{Daemon, Seat, configure, journal, moves, replay, save},
    offences::OFFENCES,
};

/// The daemon listens when the game begins.
const LEAD: u64 = 5000;
/// How long a killed daemon is away: a unit that is restarted at once.
const AWAY: Duration = Duration::from_millis(300);
/// By then it listens again, after it was struck.
const LISTENS: Duration = Duration::from_millis(1500);
/// An offence that is said at this time began this long before at the most: a hand lifts, carries and puts down, and presses.
const ACT: f64 = 1.0;
/// Between two kills.
const EVERY: u64 = 2000;
/// Pieces that are displaced, and put right or not.
const DISPLACED: [&str; 6] = [
    "pieces-displaced",
    "pieces-displaced-put-right-at-once",
    "displaced-just-after-the-press",
    "knocked-over-and-put-back",
    "knocked-over-and-put-back-after-the-press",
    "knocked-on-by-the-opponent",
];
/// How many boards play at a time.
const AT_ONCE: usize = 4;

/// When the daemon is killed, or what else befalls it.
#[derive(Clone, Copy, Debug)]
enum When {
    /// So many milliseconds after the press that completes the offence.
    AfterThePress(u64),
    /// At this part of the capture.
    At(f64),
    /// At this part of the first two seconds, and every two seconds from there.
    Every(f64),
    /// At this part of the capture it is told to end.
    Ended(f64),
    /// It is told to end at this part of the first so many milliseconds, and again after each such time.
    EndedEvery(f64, u64),
    /// From this part of the capture it does not run for so many milliseconds.
    Suspended(f64, u64),
}

/// A game with an offence, and a kill in it.
#[derive(Clone, Copy)]
struct Try {
    name: &'static str,
    when: When,
    /// The board hangs on a line for many.
    over_line: bool,
}

impl Try {
    fn new(name: &'static str, when: When) -> Self {
        Self {
            name,
            when,
            over_line: false,
        }
    }

    fn over_line(self) -> Self {
        Self {
            over_line: true,
            ..self
        }
    }

    /// Plugs the board in; how the configuration names its port.
    async fn plug_in(self, player: PlayedBoard, place: Socket, serving: Serving) -> (Station, String) {
        if !self.over_line {
            let station = Station::new(player, place, serving).await.unwrap();
            let port = station.name();
            return (station, port);
        }
        let address = Address::new(90).unwrap();
        let line = SimulatedLine::new(
            vec![player.on_line(Slave::new(address.get()))],
            Troubles::default(),
            1,
        );
        let station = Station::new(line, place, serving).await.unwrap();
        let port = format!("bus:{}@{}", address.get(), station.name());
        (station, port)
    }
}

/// What came of one.
struct Played {
    got: Vec<Value>,
    /// What `replay` says.
    expected: Vec<Value>,
    /// When nobody listened, in seconds.
    away: Vec<RangeInclusive<f64>>,
}

impl Played {
    /// Who is accused by `replay` of what was done while nobody listened.
    fn unheard(&self) -> Vec<String> {
        let at = |event: &Value| event["at"].as_f64().or_else(|| event["t"].as_f64());
        let unheard = |event: &&Value| {
            at(event).is_some_and(|at| {
                let mut away = self.away.iter();
                away.any(|away| at >= *away.start() && at - ACT <= *away.end())
            })
        };
        accusations(&self.expected.iter().filter(unheard).cloned().collect::<Vec<_>>())
    }
}

/// When the clock was pressed.
fn presses(capture: &Capture) -> Vec<u64> {
    let (mut decoder, mut last) = (Decoder::new(), None::<ClockReading>);
    let mut presses = Vec::new();
    for record in &capture.records {
        let Act::FromBoard(bytes) = &record.act else {
            continue;
        };
        decoder.push(record.at, bytes, &mut |message| {
            if let Message::Clock(reading) = message {
                if last.is_some_and(|last| last.running && last.lever != reading.lever) {
                    presses.push(record.at.0);
                }
                last = Some(reading);
            }
        });
    }
    presses
}

/// Who is accused of what, at which half-move.
fn accusations(events: &[Value]) -> Vec<String> {
    irregularities(events, false)
}

/// Who is suspected of what, at which half-move.
fn suspicions(events: &[Value]) -> Vec<String> {
    irregularities(events, true)
}

fn irregularities(events: &[Value], suspected: bool) -> Vec<String> {
    let of_them =
        |event: &&Value| event["type"] == "irregularity" && (event["certainty"] == "suspected") == suspected;
    let mut said: Vec<_> = events
        .iter()
        .filter(of_them)
        .map(|event| format!("{} of {} at {}", event["kind"], event["offender"], event["ply"]))
        .collect();
    said.sort();
    said
}

/// When the offence is complete by the clock.
fn pressed(capture: &Capture, expected: &[Value]) -> u64 {
    let offence = expected
        .iter()
        .find(|event| event["kind"] == "illegal_move")
        .unwrap();
    let said = (offence["t"].as_f64().unwrap() * 1000.0) as u64;
    let mut before = presses(capture).into_iter().rev();
    before.find(|at| *at <= said).unwrap()
}

/// The capture, with time before it for the daemon to come.
fn led_in(mut capture: Capture) -> Capture {
    for record in &mut capture.records {
        record.at = record.at + LEAD;
    }
    capture
}

/// The daemon that goes on after `daemon` was struck.
async fn struck(daemon: Daemon, config: &Path, when: When) -> Daemon {
    match when {
        When::Suspended(_, ms) => {
            daemon.signal("STOP");
            tokio::time::sleep(Duration::from_millis(ms)).await;
            daemon.signal("CONT");
            return daemon;
        }
        When::Ended(_) | When::EndedEvery(..) => {
            let log = || std::fs::read_to_string(config.with_file_name("daemon.log")).unwrap();
            assert!(daemon.stop(), "it did not end well: {}", log());
        }
        When::AfterThePress(_) | When::At(_) | When::Every(_) => daemon.kill(),
    }
    tokio::time::sleep(AWAY).await;
    Daemon::start(config)
}

/// What the journal had in the end, and what `replay` says.
async fn play(one: Try) -> Played {
    let Try { name, when, .. } = one;
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let capture = led_in(read_capture(&fixtures.join(name).with_extension("dgtcap")).unwrap());
    let expected = replay(&save(folder.path(), name, &capture), "1");
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let place = Socket::Tcp(([127, 0, 0, 1], 0).into());
    let pace = Pace {
        wait: false,
        ..Pace::default()
    };
    let serving = Serving {
        slow_line: false,
        linger: None,
    };
    let player = PlayedBoard::new(capture.clone(), SimulatedIdentity::synthetic(1), pace);
    let start = tokio::time::Instant::now();
    let (station, port) = one.plug_in(player, place, serving).await;
    let mut board = JoinSet::new();
    board.spawn(station.run());
    let seat = Seat {
        id: "1".into(),
        port: &port,
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    let end = capture.end().0;
    let in_play = |part| LEAD + ((end - LEAD) as f64 * part) as u64;
    let strikes = match when {
        When::AfterThePress(after) => vec![pressed(&capture, &expected) + after],
        When::At(part) | When::Ended(part) | When::Suspended(part, _) => vec![in_play(part)],
        When::Every(part) => every(part, EVERY, end),
        When::EndedEvery(part, ms) => every(part, ms, end),
    };
    let back = match when {
        When::Suspended(..) => Duration::ZERO,
        _ => LISTENS,
    };
    let seconds = |at| Duration::from_millis(at).as_secs_f64();
    let away = strikes
        .iter()
        .map(|at| seconds(*at)..=seconds(*at) + back.as_secs_f64())
        .collect();
    let mut daemon = Daemon::start(&config);
    for at in strikes {
        tokio::time::sleep_until(start + Duration::from_millis(at)).await;
        daemon = struck(daemon, &config, when).await;
    }
    tokio::time::sleep_until(start + Duration::from_millis(end)).await;
    let said = accusations(&expected);
    let deadline = Instant::now() + PATIENCE / 9;
    while accusations(&heard(&subscriber, "1").events) != said && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Whatever else is to be said.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(daemon.stop());
    let kept = journal(&config, "1");
    assert_eq!(all_heard(&subscriber, "1", kept.len()).await, kept);
    Played {
        got: kept,
        expected,
        away,
    }
}

/// From a part of the first `step` after the lead-in, every `step` until the end, in milliseconds.
fn every(part: f64, step: u64, end: u64) -> Vec<u64> {
    let first = LEAD + (step as f64 * part) as u64;
    (first..end).step_by(step as usize).collect()
}

/// Plays some at a time; what came of each.
async fn play_all(all: Vec<Try>) -> Vec<(String, Played)> {
    let (mut playing, mut played) = (JoinSet::new(), Vec::new());
    let mut all = all.into_iter();
    loop {
        while playing.len() < AT_ONCE
            && let Some(one) = all.next()
        {
            playing.spawn(async move {
                let played = play(one).await;
                let Try {
                    name,
                    when,
                    over_line,
                } = one;
                let over = if over_line { " over a line" } else { "" };
                (format!("{name}{over}, killed {when:?}"), played)
            });
        }
        let Some(one) = playing.join_next().await else {
            return played;
        };
        played.push(one.unwrap());
    }
}

fn is_full() -> bool {
    std::env::var_os("DGT2MQTT_FULL").is_some()
}

fn random() -> Rng {
    let seed = std::env::var("DGT2MQTT_SEED").map_or(1, |text| text.parse().unwrap());
    println!("seed {seed}");
    Rng::with_seed(seed)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offence_before_a_kill_is_said_after_it_and_once() {
    let mut random = random();
    let mut all: Vec<_> = [100, 500]
        .into_iter()
        .zip(OFFENCES)
        .map(|(after, name)| Try::new(name, When::AfterThePress(after)))
        .collect();
    // What was read is not lost; a round takes a while.
    let read = |name| Try::new(name, When::AfterThePress(500)).over_line();
    all.push(read(OFFENCES[2]));
    if is_full() {
        all = OFFENCES
            .into_iter()
            .flat_map(|name| [100, 500].map(|after| Try::new(name, When::AfterThePress(after))))
            .collect();
        all.extend(OFFENCES.map(read));
        for _ in 0..20 {
            let name = OFFENCES[random.usize(..OFFENCES.len())];
            all.push(Try::new(name, When::AfterThePress(random.u64(50..1500))));
        }
    }
    let count = all.len();
    let mut wrong = Vec::new();
    for (what, Played { got, expected, .. }) in play_all(all).await {
        let as_wanted = (accusations(&expected), moves(&expected));
        let as_said = (accusations(&got), moves(&got));
        if as_said != as_wanted {
            wrong.push(format!("{what}:\n  {as_said:?}\n  instead of\n  {as_wanted:?}"));
        }
    }
    println!("{count} kills after a press, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What came of many: what was missed, which have other half-moves, and who was accused of nothing.
#[derive(Default)]
struct Outcome {
    /// Offences that are neither said nor suspected.
    missed: Vec<String>,
    /// The same, of those that were done while nobody listened.
    unheard: Vec<String>,
    otherwise: Vec<String>,
    wrong: Vec<String>,
}

impl Outcome {
    async fn of(all: Vec<Try>) -> Self {
        let mut outcome = Self::default();
        for (what, played) in play_all(all).await {
            if moves(&played.got) != moves(&played.expected) {
                outcome.otherwise.push(what.clone());
            }
            let (suspected, unheard) = (suspicions(&played.got), played.unheard());
            let (got, mut left) = (accusations(&played.got), accusations(&played.expected));
            for one in &got {
                match left.iter().position(|wanted| wanted == one) {
                    Some(place) => drop(left.remove(place)),
                    None => outcome.wrong.push(format!("{what}: {one}")),
                }
            }
            left.retain(|wanted| !suspected.contains(wanted));
            for one in left {
                let of = if unheard.contains(&one) {
                    &mut outcome.unheard
                } else {
                    &mut outcome.missed
                };
                of.push(format!("{what}: {one}"));
            }
        }
        outcome
    }

    /// Nobody is accused of what was not done, and what was done while somebody listened is said, or suspected at least.
    fn hold(&self, what: &str) {
        let Self {
            missed,
            unheard,
            otherwise,
            wrong,
        } = self;
        println!(
            "{what}: {} offences neither said nor suspected, {} more of which nobody heard, {} false, {} games otherwise",
            missed.len(),
            unheard.len(),
            wrong.len(),
            otherwise.len()
        );
        unheard.iter().for_each(|it| println!("  not heard: {it}"));
        assert!(wrong.is_empty(), "false: {}", wrong.join("\n"));
        assert!(missed.is_empty(), "missed: {}", missed.join("\n"));
    }
}

/// So many of each fault, and half as many over a line: what was missed there is told, and nobody is accused.
async fn has_nobody_accused(
    names: &[&'static str],
    count: usize,
    what: &str,
    when: impl Fn(&mut Rng) -> When,
) {
    let mut random = random();
    let one = || {
        let name = names[random.usize(..names.len())];
        Try::new(name, when(&mut random))
    };
    let mut all: Vec<_> = std::iter::repeat_with(one).take(count + count / 2).collect();
    all.iter_mut().skip(count).for_each(|one| *one = one.over_line());
    let outcome = Outcome::of(all).await;
    outcome.hold(&format!("{} {what}", count + count / 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_every_two_seconds_has_nobody_accused() {
    let count = if is_full() { 20 } else { 2 };
    has_nobody_accused(&OFFENCES, count, "games killed every two seconds", |random| {
        When::Every(random.f64())
    })
    .await;
}

/// Somebody tries one configuration after the other while people play.
#[tokio::test(flavor = "multi_thread")]
async fn nor_has_an_end_every_few_seconds() {
    let count = if is_full() { 20 } else { 2 };
    has_nobody_accused(
        &OFFENCES,
        count,
        "games with an end every few seconds",
        |random| When::EndedEvery(random.f64(), random.u64(2000..=5000)),
    )
    .await;
}

/// Pieces lie about when the daemon ends, and are put right while nobody listens or soon after.
#[tokio::test(flavor = "multi_thread")]
async fn nor_has_an_end_beside_a_displacement() {
    let count = if is_full() { 20 } else { 2 };
    has_nobody_accused(&DISPLACED, count, "ends beside a displacement", |random| {
        When::Ended(random.f64())
    })
    .await;
}

/// A machine that sleeps: what the board said meanwhile waits in the system, and comes in one instant.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_suspended_accuses_nobody_and_has_the_games() {
    let mut random = random();
    let count: usize = if is_full() { 24 } else { 3 };
    let names = [OFFENCES, DISPLACED].concat();
    let all = std::iter::repeat_with(|| {
        let ms = [2000, 5000, 10_000, 20_000][random.usize(..4)];
        let name = names[random.usize(..names.len())];
        Try::new(name, When::Suspended(random.f64(), ms))
    });
    let on_line = count.div_ceil(4);
    let mut all: Vec<_> = all.take(count + on_line).collect();
    all.iter_mut().skip(count).for_each(|one| *one = one.over_line());
    if is_full() {
        all.extend(OFFENCES.map(|name| Try::new(name, When::Suspended(random.f64(), 60_000))));
    }
    let outcome = Outcome::of(all).await;
    outcome.hold("processes suspended");
    assert!(outcome.otherwise.is_empty(), "{}", outcome.otherwise.join("\n"));
}

/// What happens while nobody listens may be missed.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_instant_has_nobody_accused() {
    let mut random = random();
    let count = if is_full() { 40 } else { 3 };
    let mut is_alone = false;
    let all = std::iter::repeat_with(|| {
        is_alone = !is_alone;
        let name = OFFENCES[random.usize(..OFFENCES.len())];
        let one = Try::new(name, When::At(random.f64()));
        if is_alone { one } else { one.over_line() }
    });
    let outcome = Outcome::of(all.take(count).collect()).await;
    outcome.hold(&format!("{count} kills at any instant"));
}
