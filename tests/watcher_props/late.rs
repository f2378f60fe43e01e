//! Bytes that come late but whole: what waited is not read as if it had been played in one instant.

use std::collections::BTreeMap;

use dgt2mqtt::{
    capture::{Act, Capture, Record, replay::settings_of},
    event::Event,
    sim::{
        board::SimulatedIdentity,
        player::{Cue, Delivery, Pace, PlayedBoard},
        rehearsal::Rehearsal,
    },
    time::Millis,
};

use crate::{
    play::{Fixture, Played, fixtures, play_replayed, play_whole, recorded},
    said::{accused_besides, said},
};

/// The same with everything from the board held back in `window`, until its end.
pub(crate) fn held_back(capture: &Capture, window: (Millis, Millis)) -> Capture {
    let mut late = capture.clone();
    for record in &mut late.records {
        if matches!(record.act, Act::FromBoard(_)) && window.0 <= record.at && record.at < window.1 {
            record.at = window.1;
        }
    }
    late.records.sort_by_key(|record| record.at);
    late
}

/// What comes of it where the process was suspended, which had something to do `due` ms after that began: its capture tells it.
pub(crate) fn suspended(capture: &Capture, window: (Millis, Millis), due: u64) -> Played {
    let mut late = held_back(capture, window);
    let [since, until] = [(window.0 + due).min(window.1), window.1 + 20].map(Millis::seconds);
    let line = format!("{since:.3} {until:.3}");
    late.header.push("stood-still", &line).unwrap();
    play_replayed(&late)
}

/// What comes of lines that stand still.
#[derive(Default)]
struct Outcome {
    games: usize,
    same: usize,
    /// Who was accused of nothing.
    wrong: Vec<String>,
    /// What was suspected besides.
    suspicions: Vec<String>,
}

impl Outcome {
    /// Nobody is accused besides, but for what is `known`, and that once; so many of a thousand games come out the same, and in so few
    /// somebody is suspected besides.
    fn holds(self, known: Option<&str>, least_same: usize, most_suspicions: usize) {
        let Self {
            games,
            same,
            mut wrong,
            suspicions,
        } = self;
        let besides = (wrong.len(), suspicions.len());
        println!(
            "{same} of {games} the same, {} accusations, {} suspicions besides",
            besides.0, besides.1
        );
        if let Some(place) = wrong.iter().position(|it| Some(it.as_str()) == known) {
            wrong.remove(place);
        }
        assert!(wrong.is_empty(), "of {games}:\n{}", wrong.join("\n"));
        assert!(same * 1000 >= games * least_same, "{same} of {games} the same");
        let few = suspicions.len() * 1000 <= games * most_suspicions;
        assert!(few, "of {games}:\n{}", suspicions.join("\n"));
    }
}

/// The random instants of a fixture. They do not depend on which other fixtures there are.
pub(crate) fn instants_of(name: &str, seed: u64) -> fastrand::Rng {
    let mix = |seed: u64, byte: u8| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    fastrand::Rng::with_seed(name.bytes().fold(seed, mix))
}

/// Holds the line back for `ms` at a random instant of each fixture, from `first` on.
fn stands_still(
    ms: u64,
    seed: u64,
    first: u64,
    play: impl Fn(&Capture, (Millis, Millis)) -> Played,
    out: &mut Outcome,
) {
    for fixture in fixtures() {
        let Fixture { name, capture, .. } = fixture;
        let mut random = instants_of(name, seed ^ ms);
        let end = capture.end().0;
        let from = Millis(random.u64(first..end.max(first + 1)));
        let (whole, late) = (fixture.whole(), play(capture, (from, from + ms)));
        out.games += 1;
        out.same += usize::from(whole.moves == late.moves);
        let told = said(&whole.events);
        let besides = said(&late.events).into_iter().filter(|it| it.is_besides(&told));
        out.suspicions.extend(besides.map(|it| {
            let (kind, ply) = (it.what.kind.as_str(), it.what.ply);
            format!("{ms} ms, {name} from {from:?}: {kind}@{ply}")
        }));
        let wrong = accused_besides(&late.events, &whole.events, false);
        out.wrong.extend(
            wrong
                .into_iter()
                .map(|it| format!("{ms} ms, {name} from {from:?}: {it}")),
        );
    }
}

/// A network that hangs, a machine that sleeps: nobody is accused of what he is not accused of where bytes come as they are
/// said, and so many of a thousand games come out the same. Read as if all had happened in one instant, 921 came out the same.
#[test]
fn a_line_that_stands_still_accuses_nobody() {
    let (windows, seeds): (&[u64], _) = if is_full() {
        (&[1000, 2000, 5000, 10_000, 20_000, 60_000], 1..21)
    } else {
        (&[2000, 5000, 10_000, 20_000], 1..2)
    };
    let mut out = Outcome::default();
    for seed in seeds {
        for ms in windows {
            stands_still(
                *ms,
                seed,
                3000,
                |it, window| play_whole(&held_back(it, window)),
                &mut out,
            );
        }
    }
    out.holds(None, 975, 8);
}

/// The first half-move of a game from a position comes in one instant with its press, and the sides of the clock are taken for each
/// other: once in 38,400 games.
const WRONG_SIDE: &str =
    "1000 ms, second-offence-against-a-bare-king from Millis(3555): pieces_displaced of Some(Black) at 4";

/// A process that is suspended at any time after the board was first read, also before the game begins.
#[test]
fn a_process_that_is_suspended_accuses_nobody() {
    let (lengths, seeds): (&[u64], _) = if is_full() {
        (&[1000, 2000, 5000, 10_000, 20_000, 60_000], 1..21)
    } else {
        (&[2000, 20_000], 1..2)
    };
    let mut out = Outcome::default();
    for seed in seeds {
        for ms in lengths {
            let due = seed * 97 % 1000;
            stands_still(*ms, seed, 250, |it, window| suspended(it, window, due), &mut out);
        }
    }
    out.holds(Some(WRONG_SIDE), 975, 10);
}

pub(crate) fn is_full() -> bool {
    std::env::var_os("DGT2MQTT_FULL").is_some()
}

/// What comes of a board that answers its watcher, over a line that stands still for a while.
fn answered(capture: &Capture, window: (Millis, Millis)) -> Vec<Event> {
    let turn = |at, way| Cue {
        record: Record {
            at,
            act: Act::FromBoard(Vec::new()),
        },
        way,
    };
    let mut cues: Vec<Cue> = capture.records.iter().cloned().map(Cue::plain).collect();
    cues.extend([turn(window.0, Delivery::Hold), turn(window.1, Delivery::Release)]);
    cues.sort_by_key(|cue| cue.record.at);
    let player = PlayedBoard::staged(cues, SimulatedIdentity::synthetic(1), Pace::default());
    let mut rehearsal = Rehearsal::new(player, settings_of(&capture.header, "1"));
    // A board that is greeted anew while the line stands still waits to be listened to.
    rehearsal.run_out(window.1.max(capture.end()) + 30_000);
    rehearsal.end().events
}

/// Who is accused where the line stands still for `ms`, from `from` on, who is not where it does not.
fn accused_falsely(fixture: &Fixture, ms: u64, from: u64, board_answers: bool) -> Vec<String> {
    let window = (Millis(from), Millis(from + ms));
    let said = if board_answers {
        answered(&fixture.capture, window)
    } else {
        play_whole(&held_back(&fixture.capture, window)).events
    };
    accused_besides(&said, &fixture.whole().events, false)
}

/// The same with a board that answers what it is asked, as at a daemon.
#[test]
fn nor_does_it_where_the_board_answers() {
    // What a simulated board answers is not gathered.
    let told = |fixture: &&Fixture| !fixture.name.starts_with("gathered");
    let fixtures: Vec<_> = fixtures().iter().filter(told).collect();
    let (seeds, step) = if is_full() { (1..21, 1) } else { (1..2, 7) };
    let (mut games, mut wrong) = (0, Vec::new());
    for seed in seeds {
        for ms in [1000, 2000, 5000, 10_000, 20_000, 60_000] {
            let mut random = fastrand::Rng::with_seed(seed ^ ms);
            for (i, fixture) in fixtures.iter().enumerate() {
                let name = &fixture.name;
                let from = random.u64(3000..fixture.capture.end().0.max(3001));
                if !(i as u64 + ms / 1000).is_multiple_of(step) {
                    continue;
                }
                games += 1;
                let accused = accused_falsely(fixture, ms, from, true);
                wrong.extend(
                    accused
                        .iter()
                        .map(|player| format!("{ms} ms, {name} from {from}: {player}")),
                );
            }
        }
    }
    println!("{games} games, {} accusations", wrong.len());
    assert!(wrong.is_empty(), "of {games}:\n{}", wrong.join("\n"));
}

/// Each of these accused somebody: a piece that came back while nothing was heard, a lump too short to be known by its silence,
/// lumps while no clock ran, two presses in one instant, times before and after the start of a clock that came as one, a lever
/// that sprang back after a lump, a game that began in one.
#[test]
fn what_was_said_falsely_once_is_not_said() {
    let knocked = "knocked-on-by-the-opponent-and-left-there";
    let other = recorded(knocked);
    let all = fixtures().iter().chain([&other]);
    let fixtures: BTreeMap<&str, &Fixture> = all.map(|fixture| (fixture.name.as_str(), fixture)).collect();
    for (name, ms, from) in [
        ("knocked-over-and-put-back-after-the-press", 1000, 5595),
        ("pieces-displaced-put-right-at-once", 20_000, 5555),
        ("illegal-unexplained", 1000, 3208),
        ("illegal-opponents-piece", 1000, 3561),
        ("clock-cable-out-and-in", 60_000, 8335),
        ("game-broken-off", 20_000, 7138),
        ("start-position-put-right-before-the-clock", 20_000, 3067),
        ("offences-of-two-kinds", 5000, 9207),
        ("piece-put-there-while-the-clock-stands", 2000, 4960),
        ("lever-springs-back", 2000, 3051),
        ("illegal-unexplained", 5000, 7883),
        ("second-offence-against-a-bare-king", 10_000, 3245),
        // What came after the press seemed to come with it.
        (knocked, 1000, 7023),
        (knocked, 5000, 6829),
        (knocked, 10_000, 7120),
        // What came soon after a press in a lump came late.
        ("castling-rook-after-the-press", 60_000, 9475),
        ("white-moves-before-the-clock-is-started", 10_000, 3100),
        ("dead-chip-and-an-illegal-move", 5000, 8819),
        ("lever-springs-back", 1000, 3116),
        ("lever-springs-back", 1000, 6137),
        ("lever-springs-back", 2000, 5499),
        // A change and a frame came in one instant, after little more than a second.
        ("knocked-over-and-put-back-after-the-press", 1000, 5122),
        // Hands moved a piece while the clock stood, and it was started and pressed in the lump or after it.
        ("position-set-up-while-the-clock-stood", 60_000, 7293),
        ("position-set-up-while-the-clock-stood", 2000, 9025),
        ("position-set-up-while-the-clock-stood", 5000, 8485),
        ("a-pawn-left-astray-while-the-clock-stood", 2000, 4875),
        ("a-pawn-left-astray-while-the-clock-stood", 5000, 6469),
    ] {
        assert_eq!(
            accused_falsely(fixtures[name], ms, from, false),
            [""; 0],
            "{name}"
        );
    }
    for (name, ms, from) in [
        // A press and the reply came in one instant, after a fraction of a second.
        ("illegal-capture", 300, 3660),
        ("illegal-capture", 600, 3500),
        ("illegal-second-loses", 5000, 8712),
        ("famous-rook-to-e1", 5000, 5989),
        // It was silent for two milliseconds less than a silence is.
        ("illegal-unexplained", 1000, 3208),
        // The lever sprang back while an earlier press waited.
        ("lever-springs-back", 1000, 3025),
        // Two frames did.
        ("lever-springs-back", 1000, 5292),
        ("lever-springs-back", 1000, 8225),
        // The clock stood, or a half-move was taken back beside it.
        ("position-set-up-while-the-clock-stood", 2000, 9025),
        ("position-set-up-while-the-clock-stood", 10_000, 7446),
        ("flag-falls-and-the-players-play-on", 5000, 15_095),
        ("taken-back-and-made-otherwise-while-the-clock-stands", 5000, 8697),
    ] {
        assert_eq!(accused_falsely(fixtures[name], ms, from, true), [""; 0], "{name}");
    }
}
