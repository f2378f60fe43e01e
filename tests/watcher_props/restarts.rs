//! A restart changes nothing: the daemon goes on from what it kept, and asks the board what stands there.

use std::{env, fs, path::Path};

use dgt2mqtt::{
    capture::{Act, Capture, Record},
    dgt::{ClockReading, Decoder, Message, PieceCode},
    event::{Event, GameResult},
    time::Millis,
    watcher::{GameView, Settings, Snapshot, Watcher},
};

use crate::{
    drain, encoded, pass,
    table::{self, collection, script},
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

/// A capture that is played to a watcher, and what the board would show if it were asked.
struct Play {
    settings: Settings,
    watcher: Watcher,
    seen: Vec<Event>,
    decoder: Decoder,
    squares: [PieceCode; 64],
    clock: Option<ClockReading>,
    /// What the journal has.
    kept: String,
}

impl Play {
    fn of(capture: &Capture) -> Self {
        let settings = table::settings(capture, "1");
        let mut watcher = Watcher::new(settings.clone(), None);
        watcher.handle_link_up(Millis(0), "port");
        Self {
            settings,
            watcher,
            seen: Vec::new(),
            decoder: Decoder::new(),
            squares: [PieceCode::EMPTY; 64],
            clock: None,
            kept: String::new(),
        }
    }

    fn act(&mut self, at: Millis, act: &Act) {
        match act {
            Act::FromBoard(bytes) => {
                let (squares, clock) = (&mut self.squares, &mut self.clock);
                self.decoder.push(at, bytes, &mut |message| match message {
                    Message::Dump(all) => *squares = *all,
                    Message::Field { square, piece } => squares[usize::from(square)] = piece,
                    Message::Clock(reading) => *clock = Some(reading),
                    Message::NoClock => *clock = None,
                    _ => {}
                });
                self.watcher.handle_bytes(at, bytes);
            }
            Act::LinkUp => self.watcher.handle_link_up(at, "port"),
            Act::LinkDown => self.watcher.handle_link_down(at, "cable"),
            Act::ToBoard(_) => {}
        }
        drain(&mut self.watcher, &mut self.seen);
    }

    fn keep(&mut self) {
        self.kept = serde_json::to_string(&self.watcher.snapshot()).unwrap();
    }

    /// The daemon goes on from what was kept.
    fn restart(&mut self) {
        let back = Snapshot::kept(Some(&self.kept), self.seen.len() as u64);
        assert_eq!(back.lost(), [""; 0], "{}", self.kept);
        self.watcher = Watcher::new(self.settings.clone(), Some(back));
        let again = serde_json::to_string(&self.watcher.snapshot()).unwrap();
        assert!(again == self.kept, "{} became {again}", self.kept);
    }

    /// It is started at `at` and asks the board what stands there.
    fn ask(&mut self, at: Millis) {
        self.watcher.handle_link_up(at, "port");
        let clock = self.clock.map_or(Message::NoClock, Message::Clock);
        let answers = [encoded(Message::Dump(&self.squares)), encoded(clock)];
        self.watcher.handle_bytes(at + 1, &answers.concat());
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
fn fixtures() -> Vec<(String, Capture)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let text = fs::read(folder.join("vienna-1910.dgtcap")).unwrap();
    let mut captures = vec![("vienna-1910".to_owned(), Capture::parse(&text).unwrap())];
    for script in script::read_all(&folder.join("scripts")) {
        captures.push((script.name.clone(), script.capture()));
    }
    captures.retain(|(_, capture)| answers(capture));
    captures
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
