//! A restart changes nothing: the daemon goes on from what it kept, and asks the board what stands there.

use std::{env, fs};

use dgt2mqtt::{
    capture::{Act, Capture, Record},
    dgt::{ClockReading, Decoder, Message},
    event::{Body, Certainty, Event, GameResult},
    laws::IrregularityKind,
    time::Millis,
    watcher::{GameView, Heard, Watcher},
};

use crate::{
    heard::{Until, deaf, heard_and_untold},
    late::{instants_of, is_full},
    play::{Fixture, Play, Played, answers, fixtures, play_killed, play_killed_once, recorded},
    said::{Said, accused_besides, said},
    told::collection,
};

/// What a restart must not change.
#[derive(Clone, Debug)]
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
    /// At this time, between events, and not before it has written down what it weighs.
    StoppedAt(Millis),
}

/// How long a killed daemon is away: a unit that is restarted at once.
pub(crate) const AWAY_MS: u64 = 300;

/// `play`, with the daemon killed at `at`.
fn kill(play: &mut Play, at: Millis, killed: Killed) -> Play {
    play.keep();
    let mut play = play.restarted();
    if matches!(killed, Killed::ThriceAfter(_)) {
        play = play.restarted();
        play.ask(at);
        play.keep();
        play = play.restarted();
    }
    play.ask(at);
    play
}

/// What comes of a capture where the daemon is killed once, for each of `moments`, which are in order; none after its end.
/// What comes before a kill is played once for all.
fn each_killed(capture: &Capture, moments: &[Killed]) -> Vec<Option<Kept>> {
    let rest = |mut killed: Play, records: &[Record]| {
        killed.play_on(records, capture);
        kept(&killed.watcher)
    };
    let mut outcomes: Vec<Option<Kept>> = Vec::new();
    let mut play = Play::of(capture);
    for (i, Record { at, act }) in capture.records.iter().enumerate() {
        while let Some(now @ Killed::StoppedAt(due)) = moments.get(outcomes.len()).copied()
            && due <= *at
        {
            play.pass(due);
            let killed = kill(&mut play, due, now);
            outcomes.push(Some(rest(killed, &capture.records[i..])));
        }
        play.pass(*at);
        play.act(*at, act);
        let mut same = None;
        while let Some(now @ (Killed::After(n) | Killed::ThriceAfter(n))) =
            moments.get(outcomes.len()).copied()
            && play.seen.len() >= n
        {
            // Events of one moment come to the same.
            let outcome =
                same.get_or_insert_with(|| rest(kill(&mut play, *at, now), &capture.records[i + 1..]));
            outcomes.push(Some(outcome.clone()));
        }
    }
    outcomes.resize(moments.len(), None);
    outcomes
}

/// Kills the daemon as `moments` say. Returns how often, and what came out otherwise than without.
fn killed(name: &str, capture: &Capture, moments: impl Fn(usize) -> Vec<Killed>) -> (usize, Vec<String>) {
    let mut whole = Play::of(capture);
    whole.play_on(&capture.records, capture);
    let wanted = kept(&whole.watcher);
    let moments = moments(whole.seen.len());
    let mut wrong = Vec::new();
    for (moment, got) in moments.iter().zip(each_killed(capture, &moments)) {
        let Some(got) = got else { continue };
        if !got.is_as_good_as(&wanted) {
            wrong.push(format!(
                "{name}, {moment:?}:\n  {got:?}\n  instead of\n  {wanted:?}"
            ));
        }
    }
    (moments.len(), wrong)
}

/// When the clock was pressed.
pub(crate) fn presses(capture: &Capture) -> Vec<Millis> {
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

/// Nothing comes out otherwise in any fixture.
fn changes_nothing(moments: impl Fn(&Capture, usize) -> Vec<Killed>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for Fixture { name, capture, .. } in fixtures() {
        let (times, otherwise) = killed(name, capture, |events| moments(capture, events));
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
    let step = if is_full() { 1 } else { 2 };
    changes_nothing(|_, events| (1..=events).step_by(step).map(Killed::ThriceAfter).collect());
}

/// The half-move may still be under way, and what was heard of it is told by no event.
#[test]
fn nor_does_a_stop_soon_after_a_press() {
    let soon = |at: Millis| Killed::StoppedAt(at + 100);
    changes_nothing(|capture, _| presses(capture).into_iter().map(soon).collect());
}

/// The half-moves of the whole game, and of each offence what was said and whether it was taken back.
fn told(played: &Played) -> (Vec<String>, Vec<String>) {
    let mut said: Vec<String> = Vec::new();
    for event in &played.events {
        if let Body::Irregularity(irregularity) = &event.body
            && irregularity.certainty != Certainty::Suspected
        {
            said.push(format!("{} {}", irregularity.kind.as_str(), irregularity.ply));
        }
    }
    said.sort();
    (played.moves.clone(), said)
}

/// What somebody was accused of.
#[derive(Clone, Debug)]
pub(crate) struct Accusation {
    kind: IrregularityKind,
    pub(crate) ply: u64,
    /// The time of its press, in seconds.
    at: Option<f64>,
}

impl Accusation {
    /// The same offence: where the record lacks half-moves, its number is another one, and the press is the same. A flag
    /// falls without one.
    fn is_same_as(&self, other: &Self) -> bool {
        let is_flag = matches!(
            self.kind,
            IrregularityKind::FlagFall | IrregularityKind::BothFlags
        );
        let same_press = self.at.is_some() && self.at == other.at;
        self.kind == other.kind && (self.ply == other.ply || same_press || is_flag)
    }
}

/// All that the events accuse somebody of.
fn accused(played: &Played) -> Vec<Accusation> {
    let accusation = |event: &Event| match &event.body {
        Body::Irregularity(said) if said.certainty != Certainty::Suspected => Some(Accusation {
            kind: said.kind,
            ply: said.ply.into(),
            at: event.at,
        }),
        _ => None,
    };
    played.events.iter().filter_map(accusation).collect()
}

/// What somebody is accused of in `got` besides what is said where the daemon listens to the whole of the game.
pub(crate) fn besides(fixture: &Fixture, got: &Played) -> Vec<Accusation> {
    let mut left = accused(fixture.whole());
    let mut got = accused(got);
    got.retain(|one| {
        let told = left.iter().position(|wanted| wanted.is_same_as(one));
        told.map(|place| left.remove(place)).is_none()
    });
    got
}

/// Kills the daemon at each of the moments that are given for each capture, and tells what came out otherwise.
fn kills_change_nothing(away: u64, moments: impl Fn(&Capture) -> Vec<Millis>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for fixture in fixtures() {
        let Fixture { name, capture, .. } = fixture;
        let wanted = told(fixture.whole());
        let moments = moments(capture);
        tried += moments.len();
        for (moment, got) in moments.iter().zip(play_killed_once(capture, &moments, away)) {
            let Some(got) = got.as_ref().map(told) else {
                continue;
            };
            if got != wanted {
                wrong.push(format!(
                    "{name}, {moment:?}:\n  {got:?}\n  instead of\n  {wanted:?}"
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
        let missed = at - Heard::UPDATES_MS <= record.at && record.at <= at + AWAY_MS;
        let tells = matches!(&record.act, Act::FromBoard(bytes) if bytes.first() == Some(&0x8e));
        !missed || !tells && !presses.contains(&record.at)
    })
}

/// Between a press and its judgement: what was heard is told by no event yet, and the board tells it no more. In full each press both
/// soon after it and later.
#[test]
fn nor_does_a_kill_between_a_press_and_its_judgement() {
    for (turn, after) in [100, 500].into_iter().enumerate() {
        kills_change_nothing(AWAY_MS, |capture| {
            let presses = presses(capture).into_iter().enumerate();
            let tried = presses.filter(|(i, _)| is_full() || i % 2 == turn);
            let killed = tried.map(|(_, at)| at + after);
            killed.filter(|at| is_quiet(capture, *at)).collect()
        });
    }
}

/// The pieces stand, and nobody touches them. In full each game at all of these moments.
#[test]
fn nor_does_a_kill_before_the_game() {
    kills_change_nothing(AWAY_MS, |capture| {
        let moments = [500, 600, 700, 800].map(Millis);
        let tried = match is_full() {
            true => &moments[..],
            false => &moments[capture.records.len() % moments.len()..][..1],
        };
        tried
            .iter()
            .copied()
            .filter(|at| is_quiet(capture, *at))
            .collect()
    });
}

/// Wherever it is: what is done while nobody listens may be missed, and nobody is accused of what came of it. What was heard is told.
#[test]
fn nor_does_a_kill_at_any_instant_accuse_anybody() {
    let (mut tried, mut missed) = (0, 0);
    let (mut heard, mut wrong) = (Vec::new(), Vec::new());
    let seeds = if is_full() { 1..21 } else { 7..8 };
    for (fixture, seed) in fixtures()
        .iter()
        .flat_map(|fixture| seeds.clone().map(move |seed| (fixture, seed)))
    {
        let Fixture { name, capture, .. } = fixture;
        let mut random = instants_of(name, seed);
        let wanted = &fixture.whole().events;
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
            let got = play_killed(capture, &moments, AWAY_MS).events;
            tried += 1;
            missed += accused_besides(wanted, &got, true).len();
            let deaf: Vec<_> = moments.iter().map(|at| deaf(*at, *at + AWAY_MS)).collect();
            heard.extend(heard_and_untold(fixture, &got, &deaf, Until::Said));
            let besides = accused_besides(&got, wanted, true);
            wrong.extend(besides.into_iter().map(|it| format!("{name}, {moments:?}: {it}")));
        }
    }
    println!("{tried} captures, {missed} offences missed");
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
    assert!(heard.is_empty(), "heard and not told:\n{}", heard.join("\n"));
    // 5 of 628, and in full 133 of 12,560.
    let most = if is_full() { 140 } else { 7 };
    assert!(missed <= most, "{missed} offences missed");
}

/// A press after a slow start was taken for that of a half-move that nobody saw, and what was pressed for was displaced, or
/// out of turn.
#[test]
fn what_was_said_falsely_after_a_restart_is_not_said() {
    for (name, at, away) in [
        ("illegal-own-piece", 1619, 1820),
        ("illegal-opponents-piece", 1700, 1900),
    ] {
        let fixture = recorded(name);
        let wanted = told(fixture.whole());
        let got = told(&play_killed(&fixture.capture, &[Millis(at)], away));
        assert_eq!(got, wanted, "{name}");
    }
}

/// The gap was between two presses, or hid the hand that put a piece down, and what was done later was taken for a part of it: the
/// clock had told whose turn it was, hands played on without a rest, or one half-move led to what stood there.
#[test]
fn what_was_passed_over_after_a_restart_is_told() {
    for (name, at) in [
        ("castling-and-a-pawn-knocked-over", 5555),
        ("displaced-and-overlooked", 4244),
        ("illegal-stands-rapid", 4598),
        ("famous-carlsen-inarkiev-2017", 1819),
        ("famous-karpov-chernin-1992", 7283),
        ("famous-gevorgyan-cornette-2019", 13_306),
    ] {
        let fixture = recorded(name);
        let got = said(&play_killed(&fixture.capture, &[Millis(at)], AWAY_MS).events);
        let wanted = said(&fixture.whole().events);
        let is_told = |offence: &Said| got.iter().any(|one| one.tells_of(offence));
        assert!(wanted.iter().all(is_told), "{name}: {got:?}");
    }
}

/// Half-moves or presses are missed, and nobody is accused of what came of it: an illegal move was put right meanwhile, and
/// what was played instead was taken for an early reply to it; a press was missed; a piece that is not read moved. Or a position
/// was set up beside a clock that stood before, and was started while nobody listened or later. Or the press of a lever that somebody
/// had turned before the game came up again.
#[test]
fn nor_is_what_was_said_falsely_after_seconds_away() {
    for (name, at, away) in [
        ("illegal-king-left-in-check", 9517, 3396),
        ("taken-back-while-the-clock-runs", 8524, 764),
        ("dead-chip-that-moved-and-an-illegal-move", 1990, 3628),
        ("position-set-up-while-the-clock-stood", 9715, 300),
        ("position-set-up-while-the-clock-stood", 11_067, 300),
        ("position-set-up-while-the-clock-stood", 11_412, 300),
        ("lever-turned-before-the-first-half-move", 10_440, 300),
        ("a-pawn-left-astray-while-the-clock-stood", 5574, 1862),
        ("a-pawn-left-astray-while-the-clock-stood", 12_865, 1053),
        ("next-game-with-king-and-queen-exchanged", 2725, 3203),
    ] {
        let fixture = recorded(name);
        let wanted = told(fixture.whole()).1;
        let got = told(&play_killed(&fixture.capture, &[Millis(at)], away)).1;
        assert!(got.iter().all(|said| wanted.contains(said)), "{name}: {got:?}");
    }
}

/// King and rook go to and fro, and the daemon was killed beside a frame of the clock that came twice. What stands on the board has stood
/// there before, and half-moves that were told late were taken back.
#[test]
fn nor_is_a_half_move_taken_back_where_a_position_repeats() {
    let Some(folder) = collection::folder("captures") else {
        return;
    };
    let name = "whole_game-bullet-06";
    let bytes = fs::read(folder.join(format!("{name}.dgtcap"))).unwrap();
    let capture = Capture::parse(&bytes).unwrap();
    let (_, otherwise) = killed(name, &capture, |_| vec![Killed::After(80)]);
    assert_eq!(otherwise, [""; 0]);
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

/// The game was taken up anew with a queen on the board that is none of its own, and a king steps into her file: who comes back later
/// still knows that.
#[test]
fn nor_does_one_that_had_taken_the_game_up_anew() {
    let fixture = recorded("queen-off-the-game-is-read-after-a-gap");
    for at in [215_000, 220_000, 226_000, 228_000] {
        let got = play_killed(&fixture.capture, &[Millis(at)], 0);
        let said = accused_besides(&got.events, &fixture.whole().events, false);
        assert_eq!(said, [""; 0], "killed at {at}");
    }
}
