//! A restart changes nothing: the daemon goes on from what it kept, and asks the board what stands there.

use std::{env, fs, path::Path};

use dgt2mqtt::{
    capture::{Act, Capture, Record, replay::settings_of},
    dgt::{ClockReading, Decoder, Message},
    event::{Body, Certainty, Event, GameResult},
    sim::shown::ShownBoard,
    time::Millis,
    watcher::{GameView, Heard, Settings, Snapshot, Watcher},
};

use crate::{
    drain, late, pass,
    told::{collection, played, scripts},
};

/// What a restart must not change.
#[derive(Debug)]
struct Kept {
    moves: Vec<String>,
    result: Option<GameResult>,
    offences: [u64; 2],
}

fn kept(watcher: &Watcher) -> Kept {
    let game: GameView = watcher.game();
    let snapshot = serde_json::to_value(watcher.snapshot()).unwrap();
    let offences = |side: usize| snapshot["game"]["offences"][side].as_u64().unwrap_or(0);
    Kept {
        moves: game.moves,
        result: game.result,
        offences: [offences(0), offences(1)],
    }
}

impl Kept {
    /// What was done while the daemon was away may be missed; nobody is accused because of it.
    fn is_as_good_as(&self, whole: &Self) -> bool {
        let accuses = self.offences.iter().zip(&whole.offences).any(|(a, b)| a > b);
        self.moves == whole.moves && self.result == whole.result && !accuses
    }
}

/// When the daemon is killed and started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    /// After so many events.
    After(usize),
    /// The same, and once more before the board has answered, and once more when it has.
    ThriceAfter(usize),
    /// At this time, between events, and not before it has written down what it weighs. Before a game that is nothing.
    StoppedAt(Millis),
}

/// How long a killed daemon is away: a unit that is restarted at once.
const AWAY_MS: u64 = 300;
/// The daemon puts updates of squares down after so long, presses and events at once.
const UPDATES_MS: u64 = 50;

/// A capture that is played to a watcher, and what the board would show if it were asked.
struct Play {
    settings: Settings,
    watcher: Watcher,
    seen: Vec<Event>,
    shown: ShownBoard,
    /// What the journal has.
    kept: String,
    /// How many events it has.
    kept_events: usize,
    /// When it is to have what was heard since.
    keep_at: Option<Millis>,
}

impl Play {
    fn of(capture: &Capture) -> Self {
        let settings = settings_of(&capture.header, "1");
        let mut watcher = Watcher::new(settings.clone(), None);
        watcher.handle_link_up(Millis(0), "port");
        Self {
            settings,
            watcher,
            seen: Vec::new(),
            shown: ShownBoard::default(),
            kept: String::new(),
            kept_events: 0,
            keep_at: None,
        }
    }

    fn act(&mut self, at: Millis, act: &Act) {
        self.away(at, act);
        match act {
            Act::FromBoard(bytes) => self.watcher.handle_bytes(at, bytes),
            Act::LinkUp => self.watcher.handle_link_up(at, "port"),
            Act::LinkDown => self.watcher.handle_link_down(at, "cable"),
            Act::ToBoard(_) => {}
        }
        drain(&mut self.watcher, &mut self.seen);
    }

    /// What the board does, whoever listens.
    fn away(&mut self, at: Millis, act: &Act) {
        if let Act::FromBoard(bytes) = act {
            self.shown.hear(at, bytes);
        }
    }

    fn keep(&mut self) {
        self.kept = serde_json::to_string(&self.watcher.snapshot()).unwrap();
        self.kept_events = self.seen.len();
        self.keep_at = None;
    }

    /// What the daemon does once it has heard something: see `gateway/board/kept.rs`.
    fn keep_what_is_due(&mut self, now: Millis) {
        let due = match self.watcher.take_heard() {
            Some(Heard::Press) => Some(now),
            Some(Heard::Update) => Some(now + UPDATES_MS),
            None => None,
        };
        self.keep_at = self.keep_at.into_iter().chain(due).min();
        if self.seen.len() > self.kept_events || self.keep_at.is_some_and(|at| at <= now) {
            self.keep();
        }
    }

    /// Time passes until `until`.
    fn pass(&mut self, until: Millis) {
        while let Some(at) = self.keep_at.filter(|at| *at <= until) {
            pass(&mut self.watcher, at, &mut self.seen);
            self.keep_what_is_due(at);
        }
        pass(&mut self.watcher, until, &mut self.seen);
        self.keep_what_is_due(until);
    }

    /// The daemon goes on from what was kept.
    fn restart(&mut self) {
        // An event that is not in the journal was never sent.
        self.seen.truncate(self.kept_events);
        let back = Snapshot::kept(Some(&self.kept), self.seen.len() as u64);
        assert_eq!(back.lost(), [""; 0], "{}", self.kept);
        self.watcher = Watcher::new(self.settings.clone(), Some(back));
        let again = serde_json::to_string(&self.watcher.snapshot()).unwrap();
        assert!(again == self.kept, "{} became {again}", self.kept);
    }

    /// It is started at `at` and asks the board what stands there.
    fn ask(&mut self, at: Millis) {
        self.watcher.handle_link_up(at, "port");
        self.watcher.handle_bytes(at + 1, &self.shown.answers());
        drain(&mut self.watcher, &mut self.seen);
    }

    fn kill(&mut self, at: Millis, killed: Killed) {
        self.keep();
        self.restart();
        if matches!(killed, Killed::ThriceAfter(_)) {
            self.restart();
            self.ask(at);
            self.keep();
            self.restart();
        }
        self.ask(at);
    }
}

/// Plays a capture, the daemon being killed at once at each of `moments`, and away for a while.
pub(crate) fn play_killed(capture: &Capture, moments: &[Millis], away: u64) -> (Watcher, Vec<Event>) {
    let mut play = Play::of(capture);
    let mut moments = moments.iter().copied().peekable();
    let mut back: Option<Millis> = None;
    for Record { at, act } in &capture.records {
        loop {
            let next = back.or_else(|| moments.peek().copied());
            let Some(due) = next.filter(|due| due <= at) else {
                break;
            };
            if back.take().is_some() {
                play.ask(due);
                play.keep_what_is_due(due);
            } else {
                moments.next();
                play.pass(due);
                if play.watcher.game().start_fen.is_some() && !play.kept.is_empty() {
                    play.restart();
                    back = Some(due + away);
                }
            }
        }
        if back.is_some() {
            play.away(*at, act);
        } else {
            play.pass(*at);
            play.act(*at, act);
            play.keep_what_is_due(*at);
        }
    }
    if let Some(at) = back {
        play.ask(at);
    }
    play.watcher.handle_end(capture.end());
    drain(&mut play.watcher, &mut play.seen);
    (play.watcher, play.seen)
}

/// Plays a capture, the daemon being killed once, if at all.
fn play(capture: &Capture, mut killed: Option<Killed>) -> (Watcher, usize) {
    let mut play = Play::of(capture);
    for Record { at, act } in &capture.records {
        if let Some(Killed::StoppedAt(due)) = killed
            && due <= *at
        {
            pass(&mut play.watcher, due, &mut play.seen);
            if play.watcher.game().start_fen.is_some() {
                play.kill(due, Killed::StoppedAt(due));
            }
            killed = None;
        }
        pass(&mut play.watcher, *at, &mut play.seen);
        play.act(*at, act);
        if let Some(now @ (Killed::After(n) | Killed::ThriceAfter(n))) = killed
            && play.seen.len() >= n
        {
            play.kill(*at, now);
            killed = None;
        }
    }
    play.watcher.handle_end(capture.end());
    drain(&mut play.watcher, &mut play.seen);
    (play.watcher, play.seen.len())
}

/// Kills the daemon as `moments` say. Returns how often, and what came out otherwise than without.
fn killed(name: &str, capture: &Capture, moments: impl Fn(usize) -> Vec<Killed>) -> (usize, Vec<String>) {
    let (watcher, events) = play(capture, None);
    let wanted = kept(&watcher);
    let (mut tried, mut wrong) = (0, Vec::new());
    for moment in moments(events) {
        let got = kept(&play(capture, Some(moment)).0);
        tried += 1;
        if !got.is_as_good_as(&wanted) {
            wrong.push(format!(
                "{name}, {moment:?}:\n  {got:?}\n  instead of\n  {wanted:?}"
            ));
        }
    }
    (tried, wrong)
}

/// When the clock was pressed.
fn presses(capture: &Capture) -> Vec<Millis> {
    let (mut decoder, mut last) = (Decoder::new(), None::<ClockReading>);
    let mut presses = Vec::new();
    for Record { at, act } in &capture.records {
        let Act::FromBoard(bytes) = act else { continue };
        decoder.push(*at, bytes, &mut |message| {
            if let Message::Clock(reading) = message {
                if last.is_some_and(|last| last.running && last.lever != reading.lever) {
                    presses.push(*at);
                }
                last = Some(reading);
            }
        });
    }
    presses
}

/// With the cable out nothing can be asked, and a board that feels only occupation never can.
fn answers(capture: &Capture) -> bool {
    capture.header.protocol().is_none() && capture.records.iter().all(|r| r.act != Act::LinkDown)
}

/// A real game, and all scripts in which the board can be asked.
pub(crate) fn fixtures() -> Vec<(String, Capture)> {
    let mut captures = vec![("vienna-1910".to_owned(), recorded("vienna-1910"))];
    for script in scripts() {
        captures.push((script.name.clone(), played(&script)));
    }
    captures.retain(|(_, capture)| answers(capture));
    captures
}

/// The capture of this name in the fixtures.
pub(crate) fn recorded(name: &str) -> Capture {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    Capture::parse(&fs::read(folder.join(format!("{name}.dgtcap"))).unwrap()).unwrap()
}

/// Nothing comes out otherwise in any fixture.
fn changes_nothing(moments: impl Fn(&Capture, usize) -> Vec<Killed>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for (name, capture) in fixtures() {
        let (times, otherwise) = killed(&name, &capture, |events| moments(&capture, events));
        tried += times;
        wrong.extend(otherwise);
    }
    println!("{tried} restarts");
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
}

#[test]
fn a_restart_after_any_event_changes_nothing() {
    changes_nothing(|_, events| (1..=events).map(Killed::After).collect());
}

#[test]
fn nor_do_several_restarts_in_a_row() {
    changes_nothing(|_, events| (1..=events).map(Killed::ThriceAfter).collect());
}

/// The half-move may still be under way, and what was heard of it is told by no event.
#[test]
fn nor_does_a_stop_soon_after_a_press() {
    let soon = |at: Millis| Killed::StoppedAt(at + 100);
    changes_nothing(|capture, _| presses(capture).into_iter().map(soon).collect());
}

/// The half-moves of the whole game, and of each offence what was said and whether it was taken back.
fn told((watcher, events): &(Watcher, Vec<Event>)) -> (Vec<String>, Vec<String>) {
    let mut said: Vec<String> = Vec::new();
    for event in events {
        if let Body::Irregularity(irregularity) = &event.body
            && irregularity.certainty != Certainty::Suspected
        {
            said.push(format!("{} {}", irregularity.kind.as_str(), irregularity.ply));
        }
    }
    said.sort();
    (watcher.game().moves, said)
}

/// Kills the daemon at the moments that are given for each capture, and tells what came out otherwise.
fn kills_change_nothing(away: u64, moments: impl Fn(&Capture) -> Vec<Vec<Millis>>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for (name, capture) in fixtures() {
        let wanted = told(&play_killed(&capture, &[], away));
        for moments in moments(&capture) {
            let got = told(&play_killed(&capture, &moments, away));
            tried += 1;
            if got != wanted {
                wrong.push(format!(
                    "{name}, {moments:?}:\n  {got:?}\n  instead of\n  {wanted:?}"
                ));
            }
        }
    }
    println!("{tried} kills");
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
}

/// True when the board tells nothing that is missed by a daemon that is killed at `at`.
fn is_quiet(capture: &Capture, at: Millis) -> bool {
    let presses = presses(capture);
    capture.records.iter().all(|record| {
        let missed = at - UPDATES_MS <= record.at && record.at <= at + AWAY_MS;
        let tells = matches!(&record.act, Act::FromBoard(bytes) if bytes.first() == Some(&0x8e));
        !missed || !tells && !presses.contains(&record.at)
    })
}

/// Between a press and its judgement: what was heard is told by no event yet, and the board tells it no more.
#[test]
fn nor_does_a_kill_between_a_press_and_its_judgement() {
    for after in [100, 500] {
        kills_change_nothing(AWAY_MS, |capture| {
            let killed = presses(capture).into_iter().map(|at| at + after);
            killed
                .filter(|at| is_quiet(capture, *at))
                .map(|at| vec![at])
                .collect()
        });
    }
}

/// Wherever it is: some that arrive while nobody listens are missed, and nobody is accused of what came of it.
#[test]
fn nor_does_a_kill_at_any_instant_accuse_anybody() {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut tried, mut missed, mut wrong) = (0, 0, Vec::new());
    for (name, capture) in fixtures() {
        let wanted = told(&play_killed(&capture, &[], AWAY_MS));
        for every in [0, 2000] {
            let end = capture.end().0;
            let first = random.u64(..end.max(1));
            let moments: Vec<_> = if every == 0 {
                vec![Millis(first)]
            } else {
                (0..)
                    .map(|n| Millis(first % every + n * every))
                    .take_while(|at| at.0 < end)
                    .collect()
            };
            let got = told(&play_killed(&capture, &moments, AWAY_MS));
            tried += 1;
            missed += wanted.1.iter().filter(|said| !got.1.contains(said)).count();
            if got.1.iter().any(|said| !wanted.1.contains(said)) {
                wrong.push(format!(
                    "{name}, {moments:?}:\n  {got:?}\n  instead of\n  {wanted:?}"
                ));
            }
        }
    }
    println!("{tried} captures, {missed} offences missed");
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
}

/// A press after a slow start was taken for that of a half-move that nobody saw, and what was pressed for was displaced, or
/// out of turn.
#[test]
fn what_was_said_falsely_after_a_restart_is_not_said() {
    for (name, at, away) in [
        ("illegal-own-piece", 1619, 1820),
        ("illegal-opponents-piece", 1700, 1900),
    ] {
        let capture = recorded(name);
        let wanted = told(&play_killed(&capture, &[], AWAY_MS));
        assert_eq!(
            told(&play_killed(&capture, &[Millis(at)], away)),
            wanted,
            "{name}"
        );
    }
}

/// Half-moves or presses are missed, and nobody is accused of what came of it: an illegal move was put right meanwhile, and
/// what was played instead was taken for an early reply to it; a press was missed; a piece that is not read moved.
#[test]
fn nor_is_what_was_said_falsely_after_seconds_away() {
    for (name, at, away) in [
        ("illegal-king-left-in-check", 9517, 3396),
        ("taken-back-while-the-clock-runs", 8524, 764),
        ("dead-chip-that-moved-and-an-illegal-move", 1990, 3628),
    ] {
        let capture = recorded(name);
        let wanted = told(&play_killed(&capture, &[], AWAY_MS)).1;
        let got = told(&play_killed(&capture, &[Millis(at)], away)).1;
        assert!(got.iter().all(|said| wanted.contains(said)), "{name}: {got:?}");
    }
}

/// A machine that starts slowly: half-moves and presses are missed, and nobody is accused of what came of it.
#[test]
fn nor_does_one_that_is_away_for_seconds() {
    let seeds = if late::is_full() { 1..21 } else { 1..3 };
    let (mut tried, mut wrong) = (0, Vec::new());
    for (name, capture) in fixtures() {
        let wanted = told(&play_killed(&capture, &[], AWAY_MS)).1;
        for seed in seeds.clone() {
            let mut random = fastrand::Rng::with_seed(seed ^ capture.end().0);
            let (at, away) = (random.u64(..capture.end().0.max(1)), random.u64(AWAY_MS..5000));
            let mut left = wanted.clone();
            let got = told(&play_killed(&capture, &[Millis(at)], away)).1;
            tried += 1;
            for one in got {
                // A flag falls after another half-move of a record that lacks one.
                let is_told = |wanted: &String| {
                    *wanted == one || one.starts_with("flag_fall") && wanted.starts_with("flag_fall")
                };
                match left.iter().position(is_told) {
                    Some(place) => drop(left.remove(place)),
                    None => wrong.push(format!("{name}, killed at {at} for {away} ms: {one}")),
                }
            }
        }
    }
    println!("{tried} restarts");
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
}

/// The same of captures that others made; all restarts with `DGT2MQTT_FULL=1`.
#[test]
fn nor_does_a_restart_in_a_game_of_the_corpus() {
    let Some(folder) = collection::folder("captures") else {
        return;
    };
    let step = if env::var_os("DGT2MQTT_FULL").is_some() {
        1
    } else {
        17
    };
    let (mut tried, mut wrong) = (0, Vec::new());
    for (i, name) in collection::captures(&folder).into_iter().enumerate() {
        let bytes = fs::read(folder.join(format!("{name}.dgtcap"))).unwrap();
        let capture = Capture::parse(&bytes).unwrap();
        if answers(&capture) {
            let moments = |events: usize| (1 + i % step..=events).step_by(step);
            let (times, otherwise) = killed(&name, &capture, |events| {
                moments(events).map(Killed::After).collect()
            });
            tried += times;
            wrong.extend(otherwise);
        }
    }
    println!("{tried} restarts");
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
}
