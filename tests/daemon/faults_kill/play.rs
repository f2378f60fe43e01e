//! A game at a board that goes on whatever happens to the daemon, and what came of it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::Capture,
    dgt::bus::Address,
    link::file::read_capture,
    sim::{
        board::SimulatedIdentity,
        line::{SimulatedLine, Troubles},
        player::{Pace, PlayedBoard},
        port::Socket,
        serve::{Serving, Station},
        slave::Slave,
    },
    time::Millis,
};
use serde_json::Value;
use tokio::task::{JoinSet, block_in_place};

use super::heard::{Act, Away, Overheard, SharedLog, acts, lateness};
use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, all_heard, heard},
    hall::{Daemon, Seat, as_published, configure, journal, replay, save, until},
    replayed::{difference_up_to_the_stop, tape, taped},
    wire::presses,
};

/// The daemon listens when the game begins.
const LEAD: u64 = 5000;
/// For longer than a game, a machine sleeps for so long, in milliseconds.
pub(super) const A_MINUTE: u64 = 60_000;
/// How long a killed daemon is away: a unit that is restarted at once.
const AWAY: Duration = Duration::from_millis(300);
/// Between two kills.
const EVERY: u64 = 2000;

/// When the daemon is killed, or what else befalls it.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
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
pub(super) struct Try {
    pub(super) name: &'static str,
    pub(super) when: When,
    /// The board hangs on a line for many.
    pub(super) over_line: bool,
}

impl Try {
    pub(super) fn new(name: &'static str, when: When) -> Self {
        Self {
            name,
            when,
            over_line: false,
        }
    }

    pub(super) fn over_line(self) -> Self {
        Self {
            over_line: true,
            ..self
        }
    }

    /// Plugs the board in; how the configuration names its port.
    async fn plug_in(
        self,
        player: PlayedBoard,
        place: Socket,
        serving: Serving,
        log: &SharedLog,
    ) -> (Station, String) {
        if !self.over_line {
            let overheard = Overheard::new(player, log);
            let station = Station::new(overheard, place, serving).await.unwrap();
            let port = station.name();
            return (station, port);
        }
        let address = Address::new(90).unwrap();
        let line = SimulatedLine::new(
            vec![player.on_line(Slave::new(address.get()))],
            Troubles::default(),
            1,
        );
        let overheard = Overheard::new(line, log);
        let station = Station::new(overheard, place, serving).await.unwrap();
        let port = format!("bus:{}@{}", address.get(), station.name());
        (station, port)
    }
}

/// What came of one.
pub(super) struct Played {
    pub(super) got: Vec<Value>,
    /// What `replay` says.
    pub(super) expected: Vec<Value>,
    /// The accusations of `replay`, and what the daemon could hear of each.
    pub(super) acts: Vec<Act>,
    /// By how many milliseconds the board was late.
    pub(super) late: u64,
    /// The board tells only who asks, and for a minute nobody did, longer than its game went on.
    pub(super) is_deaf: bool,
    /// Where the daemon was suspended and the board said all the same: how what was told differs from what `replay` tells of what was
    /// heard, if it does.
    pub(super) heard_otherwise: Option<Option<String>>,
}

/// Who is accused of what, at which half-move.
pub(super) fn accusations(events: &[Value]) -> Vec<String> {
    irregularities(events, false)
}

/// Who is suspected of what, at which half-move.
pub(super) fn suspicions(events: &[Value]) -> Vec<String> {
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
    presses(capture).into_iter().rfind(|at| at.0 <= said).unwrap().0
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
            assert!(block_in_place(|| daemon.stop()), "it did not end well: {}", log());
        }
        When::AfterThePress(_) | When::At(_) | When::Every(_) => block_in_place(|| daemon.kill()),
    }
    tokio::time::sleep(AWAY).await;
    block_in_place(|| begin(config))
}

/// A daemon that has said in its log that it begins: nobody ends what has not.
pub(super) fn begin(config: &Path) -> Daemon {
    let before = begun(config);
    let daemon = Daemon::start(config);
    until("the daemon begins", PATIENCE, || {
        (begun(config) > before).then_some(())
    });
    daemon
}

/// How many daemons have said in the log that they begin.
fn begun(config: &Path) -> usize {
    let log = std::fs::read_to_string(config.with_file_name("daemon.log")).unwrap_or_default();
    log.matches(concat!("dgt2mqtt ", env!("CARGO_PKG_VERSION"), ", gateway"))
        .count()
}

/// What the journal had in the end, and what `replay` says. Calls that wait for a process leave the threads to the boards of other
/// games, which would stand still.
async fn play(one: Try) -> Played {
    let Try {
        name,
        when,
        over_line,
    } = one;
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let capture = led_in(read_capture(&fixtures.join(name).with_extension("dgtcap")).unwrap());
    let expected = block_in_place(|| replay(&save(folder.path(), name, &capture), "1"));
    let mosquitto = block_in_place(|| Mosquitto::start(folder.path(), ""));
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
    let log = SharedLog::default();
    let (station, port) = one.plug_in(player, place, serving, &log).await;
    // The board's time begins now, too.
    let start = tokio::time::Instant::now();
    let mut board = JoinSet::new();
    board.spawn(station.run());
    let seat = Seat {
        id: "1".into(),
        port: &port,
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    taped(&config);
    let end = capture.end().0;
    let in_play = |part| LEAD + ((end - LEAD) as f64 * part) as u64;
    let strikes = match when {
        When::AfterThePress(after) => vec![pressed(&capture, &expected) + after],
        When::At(part) | When::Ended(part) | When::Suspended(part, _) => vec![in_play(part)],
        When::Every(part) => every(part, EVERY, end),
        When::EndedEvery(part, ms) => every(part, ms, end),
    };
    let is_suspended = matches!(when, When::Suspended(..));
    let is_deaf = over_line && matches!(when, When::Suspended(_, A_MINUTE));
    let now = || Millis(start.elapsed().as_millis() as u64);
    let (mut struck_at, mut daemon) = (Vec::new(), Daemon::start(&config));
    for at in strikes {
        tokio::time::sleep_until(start + Duration::from_millis(at)).await;
        let begun = now();
        daemon = struck(daemon, &config, when).await;
        struck_at.push((begun, now()));
    }
    tokio::time::sleep_until(start + Duration::from_millis(end)).await;
    let said = accusations(&expected);
    let deadline = Instant::now() + PATIENCE / 9;
    while accusations(&heard(&subscriber, "1").events) != said && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Whatever else is to be said.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(block_in_place(|| daemon.stop()));
    let kept = block_in_place(|| journal(&config, "1"));
    let events = all_heard(&subscriber, "1", kept.len()).await;
    assert_eq!(as_published(events), as_published(kept.clone()));
    let away = struck_at.into_iter().flat_map(|(begun, back)| match when {
        When::Suspended(..) if is_deaf => vec![Away::Deaf(begun..=back)],
        When::Suspended(..) if over_line => Away::suspended(&log, begun, back).into(),
        When::Suspended(..) => Vec::new(),
        When::Ended(_) | When::EndedEvery(..) => vec![Away::struck(&log, begun, back, false)],
        When::AfterThePress(_) | When::At(_) | When::Every(_) => {
            vec![Away::struck(&log, begun, back, true)]
        }
    });
    let away: Vec<_> = away.collect();
    let is_all_heard = is_suspended && !over_line;
    let compared = || block_in_place(|| difference_up_to_the_stop(&kept, &tape(&config, "1")));
    Played {
        heard_otherwise: is_all_heard.then(compared),
        late: lateness(&capture, &log),
        acts: acts(&capture, &expected, &log, over_line, &away),
        got: kept,
        expected,
        is_deaf,
    }
}

/// From a part of the first `step` after the lead-in, every `step` until the end, in milliseconds.
fn every(part: f64, step: u64, end: u64) -> Vec<u64> {
    let first = LEAD + (step as f64 * part) as u64;
    (first..end).step_by(step as usize).collect()
}

/// Plays so many at a time; what came of each.
pub(super) async fn play_all(all: Vec<Try>, at_once: usize) -> Vec<(String, Played)> {
    let (mut playing, mut played) = (JoinSet::new(), Vec::new());
    let mut all = all.into_iter();
    loop {
        while playing.len() < at_once
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
