//! Plays captures to a watcher whose daemon may be killed meanwhile.

use std::{
    convert::Infallible,
    fs,
    path::Path,
    sync::{LazyLock, OnceLock},
};

use dgt2mqtt::{
    capture::{
        Act, Capture, Record,
        replay::{replay, settings_of},
    },
    event::{Event, GameResult},
    sim::shown::ShownBoard,
    time::Millis,
    watcher::{Settings, Snapshot, Watcher},
};

use serde_json::json;

use crate::{
    drain, pass,
    told::{played, scripts},
};

/// What came of a capture.
pub(crate) struct Played {
    /// The half-moves on record.
    pub(crate) moves: Vec<String>,
    pub(crate) events: Vec<Event>,
}

/// A capture of the fixtures, and what comes of it where nobody is killed, which is found out once for all tests.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) capture: Capture,
    whole: OnceLock<Played>,
}

impl Fixture {
    fn new(name: &str, capture: Capture) -> Self {
        Self {
            name: name.to_owned(),
            capture,
            whole: OnceLock::new(),
        }
    }

    pub(crate) fn whole(&self) -> &Played {
        self.whole.get_or_init(|| play_whole(&self.capture))
    }
}

/// A real game, and all scripts in which the board can be asked.
pub(crate) fn fixtures() -> &'static [Fixture] {
    static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
        let mut fixtures = vec![recorded("vienna-1910")];
        fixtures.extend(
            scripts()
                .iter()
                .map(|script| Fixture::new(&script.name, played(script))),
        );
        fixtures.retain(|fixture| answers(&fixture.capture));
        fixtures
    });
    &FIXTURES
}

/// The capture of this name in the fixtures.
pub(crate) fn recorded(name: &str) -> Fixture {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let text = fs::read(folder.join(format!("{name}.dgtcap"))).unwrap();
    Fixture::new(name, Capture::parse(&text).unwrap())
}

/// With the cable out nothing can be asked, and a board that feels only occupation never can.
pub(crate) fn answers(capture: &Capture) -> bool {
    capture.header.protocol().is_none() && capture.records.iter().all(|r| r.act != Act::LinkDown)
}

/// What the daemons of a play know of the time of day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TimeOfDay {
    Known,
    Unknown,
    /// Somebody, or the network, sets the clock ahead by an hour while no daemon runs.
    SetAhead,
}

/// A capture that is played to a watcher, and what the board would show if it were asked.
pub(crate) struct Play {
    settings: Settings,
    time: TimeOfDay,
    pub(crate) watcher: Watcher,
    pub(crate) seen: Vec<Event>,
    shown: ShownBoard,
    /// What the journal has.
    kept: Option<Snapshot>,
    /// How many events it has.
    kept_events: usize,
    /// When it is to have what was heard since.
    keep_at: Option<Millis>,
}

impl Play {
    /// A daemon that knows the time of day, and so for how long it was away.
    pub(crate) fn of(capture: &Capture) -> Self {
        Self::begin(capture, TimeOfDay::Known)
    }

    fn begin(capture: &Capture, time: TimeOfDay) -> Self {
        let mut settings = settings_of(&capture.header, "1");
        if time != TimeOfDay::Unknown {
            settings.epoch_ms.get_or_insert(0);
        }
        let mut watcher = Watcher::new(settings.clone(), None);
        watcher.handle_link_up(Millis(0), "port");
        Self {
            settings,
            time,
            watcher,
            seen: Vec::new(),
            shown: ShownBoard::default(),
            kept: None,
            kept_events: 0,
            keep_at: None,
        }
    }

    pub(crate) fn act(&mut self, at: Millis, act: &Act) {
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

    pub(crate) fn keep(&mut self) {
        self.kept = Some(self.watcher.snapshot());
        self.kept_events = self.seen.len();
        self.keep_at = None;
    }

    /// What the daemon does once it has heard something: see `gateway/board/kept.rs`.
    fn keep_what_is_due(&mut self, now: Millis) {
        let due = self.watcher.take_heard().map(|heard| heard.due(now));
        self.keep_at = self.keep_at.into_iter().chain(due).min();
        if self.seen.len() > self.kept_events || self.keep_at.is_some_and(|at| at <= now) {
            self.keep();
        }
    }

    /// Time passes until `until`. The daemon keeps nothing meanwhile.
    pub(crate) fn pass(&mut self, until: Millis) {
        pass(&mut self.watcher, until, &mut self.seen);
    }

    /// Time passes until `until`, and the daemon keeps what is due.
    fn pass_and_keep(&mut self, until: Millis) {
        while let Some(at) = self.keep_at.filter(|at| *at <= until) {
            self.pass(at);
            self.keep_what_is_due(at);
        }
        self.pass(until);
        self.keep_what_is_due(until);
    }

    /// The play in which the daemon was killed here, and goes on from what was kept.
    pub(crate) fn restarted(&self) -> Self {
        let kept = serde_json::to_string(&self.kept).unwrap();
        // An event that is not in the journal was never sent.
        let seen = self.seen[..self.kept_events].to_vec();
        let back = Snapshot::kept(Some(&kept), seen.len() as u64);
        assert_eq!(back.lost(), [""; 0], "{kept}");
        let mut settings = self.settings.clone();
        if self.time == TimeOfDay::SetAhead {
            settings.epoch_ms = settings.epoch_ms.map(|ms| ms + 3_600_000);
        }
        let watcher = Watcher::new(settings.clone(), Some(back));
        let again = serde_json::to_string(&watcher.snapshot()).unwrap();
        assert!(again == kept, "{kept} became {again}");
        Self {
            settings,
            watcher,
            seen,
            shown: self.shown.clone(),
            kept: self.kept.clone(),
            ..*self
        }
    }

    /// The play in which the journal was lost here. The broker has what was published of the game.
    fn without_journal(&self) -> Self {
        let game = self.watcher.game();
        let kept = json!({ "seq": 0, "games": game.game, "found": [game] }).to_string();
        let back = Snapshot::kept(Some(&kept), 0);
        Self {
            settings: self.settings.clone(),
            time: self.time,
            watcher: Watcher::new(self.settings.clone(), Some(back)),
            seen: Vec::new(),
            shown: self.shown.clone(),
            kept: None,
            kept_events: 0,
            keep_at: None,
        }
    }

    /// The daemon is started at `at` and asks the board what stands there.
    pub(crate) fn ask(&mut self, at: Millis) {
        self.watcher.handle_link_up(at, "port");
        self.watcher.handle_bytes(at + 1, &self.shown.answers());
        drain(&mut self.watcher, &mut self.seen);
    }

    /// Plays `records`, the last ones of `capture`, to the end.
    pub(crate) fn play_on(&mut self, records: &[Record], capture: &Capture) {
        for Record { at, act } in records {
            self.pass(*at);
            self.act(*at, act);
        }
        self.end(capture);
    }

    fn end(&mut self, capture: &Capture) {
        self.watcher.handle_end(capture.end());
        drain(&mut self.watcher, &mut self.seen);
    }

    fn played(self) -> Played {
        Played {
            moves: self.watcher.game().moves,
            events: self.seen,
        }
    }
}

/// Plays a capture, and nobody is killed.
pub(crate) fn play_whole(capture: &Capture) -> Played {
    let mut play = Play::of(capture);
    play.play_on(&capture.records, capture);
    play.played()
}

/// Plays a capture as `replay` does: its header tells when the daemon stood still.
pub(crate) fn play_replayed(capture: &Capture) -> Played {
    let mut watcher = Watcher::new(settings_of(&capture.header, "1"), None);
    let mut events = Vec::new();
    let Ok(_) = replay(&mut watcher, capture, |event| {
        events.push(event);
        Ok::<(), Infallible>(())
    });
    Played {
        moves: watcher.game().moves,
        events,
    }
}

/// Plays a capture, the daemon being killed at each of `moments`, and away for a while.
pub(crate) fn play_killed(capture: &Capture, moments: &[Millis], away: u64) -> Played {
    play_killed_at(capture, moments, away, TimeOfDay::Known)
}

/// The same of daemons that know so much of the time of day.
pub(crate) fn play_killed_at(capture: &Capture, moments: &[Millis], away: u64, time: TimeOfDay) -> Played {
    let play = Play::begin(capture, time);
    kill_on(play, &capture.records, moments, None, away, capture)
}

/// Plays a capture to a daemon that is started at `at`, while somebody plays.
pub(crate) fn play_late(capture: &Capture, at: Millis) -> Played {
    kill_on(Play::of(capture), &capture.records, &[], Some(at), 0, capture)
}

/// Plays a capture to a daemon that loses its journal at `at`, and is away for a while. The broker has what was published of the game.
/// None where no game with half-moves went on then.
pub(crate) fn play_lost(capture: &Capture, at: Millis, away: u64) -> Option<Played> {
    let before = capture.records.partition_point(|record| record.at < at);
    let mut play = Play::of(capture);
    for Record { at, act } in &capture.records[..before] {
        play.pass(*at);
        play.act(*at, act);
    }
    play.pass(at);
    let game = play.watcher.game();
    let goes_on = game.result == Some(GameResult::Open) && !game.moves.is_empty();
    goes_on.then(|| {
        let lost = play.without_journal();
        kill_on(
            lost,
            &capture.records[before..],
            &[],
            Some(at + away),
            away,
            capture,
        )
    })
}

/// Plays a capture once for each of `moments`, which are in order: the daemon is killed then, and away for a while. None
/// where it had kept nothing, so that nothing comes out otherwise. What comes before a kill is played once for all.
pub(crate) fn play_killed_once(capture: &Capture, moments: &[Millis], away: u64) -> Vec<Option<Played>> {
    let mut outcomes = Vec::new();
    let mut play = Play::of(capture);
    for (i, Record { at, act }) in capture.records.iter().enumerate() {
        while let Some(due) = moments.get(outcomes.len()).filter(|due| *due <= at) {
            play.pass_and_keep(*due);
            let killed = play.kept.is_some().then(|| play.restarted());
            let records = &capture.records[i..];
            let rest = |killed| kill_on(killed, records, &[], Some(*due + away), away, capture);
            outcomes.push(killed.map(rest));
        }
        play.pass_and_keep(*at);
        play.act(*at, act);
        play.keep_what_is_due(*at);
    }
    outcomes.resize_with(moments.len(), || None);
    outcomes
}

/// Plays `records`, the last ones of `capture`. The daemon is away until `back`, if it is killed already.
fn kill_on(
    mut play: Play,
    records: &[Record],
    moments: &[Millis],
    mut back: Option<Millis>,
    away: u64,
    capture: &Capture,
) -> Played {
    let mut moments = moments.iter().copied().peekable();
    for Record { at, act } in records {
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
                play.pass_and_keep(due);
                if play.kept.is_some() {
                    play = play.restarted();
                    back = Some(due + away);
                }
            }
        }
        if back.is_some() {
            play.away(*at, act);
        } else if moments.peek().is_none() {
            // Nobody needs what is kept after the last kill.
            play.pass(*at);
            play.act(*at, act);
        } else {
            play.pass_and_keep(*at);
            play.act(*at, act);
            play.keep_what_is_due(*at);
        }
    }
    if let Some(at) = back {
        play.ask(at);
    }
    play.end(capture);
    play.played()
}
