//! Games played as boards that share one line, in virtual time: what their watchers say must be what is said of each game alone. The
//! captures of the corpus are kept outside of the project (set `DGT2MQTT_CORPUS` to their folder).

use std::{env, path::Path};

use dgt2mqtt::{
    capture::{Capture, replay::settings_of},
    dgt::{bus::BusCommand, line::budget},
    event::{Body, Event},
    sim::{
        board::SimulatedIdentity,
        line::Troubles,
        mess::Fault,
        player::{Pace, PlayedBoard},
        rehearsal::{
            kinds,
            line::{LineRehearsal, address},
            verdict::Judgement,
        },
    },
    time::Millis,
    watcher::{MOST_GATHERED_MS, Settings},
};

use crate::told::{
    self,
    collection::{captures, folder},
    score::{Run, Score, capture, truth},
};

/// What goes wrong on a line comes from a seed; `DGT2MQTT_SEED` sets it.
pub fn troubles_seed() -> u64 {
    env::var("DGT2MQTT_SEED").map_or(1, |text| text.parse().unwrap())
}

/// These captures on one line, each watched as the gateway does.
pub fn hall(captures: Vec<Capture>, troubles: Troubles) -> LineRehearsal {
    LineRehearsal::new(boards(captures), troubles, troubles_seed())
}

fn boards(captures: Vec<Capture>) -> Vec<(PlayedBoard, Settings)> {
    let count = captures.len() as u64;
    let gathered = budget::gathered_ms(count).min(MOST_GATHERED_MS);
    let boards = captures.into_iter().enumerate().map(|(n, capture)| {
        let mut settings = settings_of(&capture.header, &n.to_string());
        settings.gathered_ms = gathered;
        settings.boards_on_line = count;
        let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(n as u16), Pace::default());
        (player, settings)
    });
    boards.collect()
}

/// No game takes longer.
const END: Millis = Millis(8 * 3_600_000);

/// Plays the captures of `names` on one line, held against the truth beside them.
fn score(folder: &Path, names: &[String], mut hall: LineRehearsal) -> Score {
    hall.run(END);
    held_against_truth(folder, names, &mut hall)
}

fn held_against_truth(folder: &Path, names: &[String], hall: &mut LineRehearsal) -> Score {
    let mut score = Score::default();
    for (name, seat) in names.iter().zip(&mut hall.seats) {
        let events = std::mem::take(&mut seat.events);
        let truth = truth(folder, name);
        score.add(name, &Run { truth, events });
    }
    score
}

fn named(folder: &Path, is: impl Fn(&str) -> bool, count: usize) -> Vec<String> {
    let all = captures(folder);
    // From all kinds: the list is sorted by them.
    let fits: Vec<String> = all.into_iter().filter(|name| is(name)).collect();
    let step = (fits.len() / count).max(1);
    fits.into_iter().step_by(step).take(count).collect()
}

fn read(folder: &Path, names: &[String]) -> Vec<Capture> {
    names.iter().map(|name| capture(folder, name)).collect()
}

const TWELVE: [&str; 12] = [
    "board_turned-standard",
    "cable_gap-standard",
    "flag_fall-rapid",
    "illegal_castling-standard",
    "illegal_geometry-rapid",
    "illegal_king_in_check-standard",
    "knocked_and_restored-standard",
    "promotion_wrong_colour-standard",
    "second_illegal_loses-rapid",
    "two_games-rapid",
    "whole_game-standard",
    "whole_game-rapid",
];

/// These captures on a line where one answer of a hundred is damaged, and where for a while another program asks, too: more seldom on a
/// line of many boards, which has less time to spare.
fn bad_hall(captures: Vec<Capture>, seed: u64) -> LineRehearsal {
    let troubles = Troubles {
        noise: 0.01,
        ..Troubles::default()
    };
    let count = captures.len();
    let mut hall = LineRehearsal::new(boards(captures), troubles, seed);
    let pause = count as u64 * 57 / 4;
    for n in 0..200 {
        let to = address(n % count);
        let words = match n % 4 {
            0 => b"B".to_vec(),
            1 => BusCommand::Dump(to).bytes().to_vec(),
            2 => BusCommand::Clock(to).bytes().to_vec(),
            _ => BusCommand::Ping(Some(to)).bytes().to_vec(),
        };
        hall.others.push_back((Millis(60_000 + n as u64 * pause), words));
    }
    hall
}

/// The half-moves that stand in the end, and what was said to be wrong, in order.
fn stands(events: &[Event]) -> Vec<String> {
    let mut said: Vec<(u32, String)> = Vec::new();
    for event in events {
        match &event.body {
            // What is taken back is of the last game.
            Body::GameStarted { .. } => said.iter_mut().for_each(|(ply, _)| *ply = 0),
            Body::Move(made) => said.push((made.ply, made.uci.clone())),
            Body::MovesRetracted { to_ply, .. } => said.retain(|(ply, _)| ply <= to_ply),
            Body::Irregularity(it) => {
                said.push((0, format!("{:?} by {:?} at {}", it.kind, it.offender, it.ply)));
            }
            _ => {}
        }
    }
    said.into_iter().map(|(_, word)| word).collect()
}

/// These captures on one line say the half-moves and the irregularities of each alone, in order, and nothing besides: as many ways in which
/// boards may answer as `seeds` are tried, on the line that `hall` makes of them.
fn say_and_are_right(names: &[String], seeds: u64, hall: impl Fn(Vec<Capture>, u64) -> LineRehearsal) {
    let Some(folder) = folder("captures") else { return };
    let alone: Vec<_> = read(&folder, names)
        .iter()
        .map(|capture| stands(&told::events(capture, "1")))
        .collect();
    for seed in 1..=seeds {
        let mut hall = hall(read(&folder, names), seed);
        hall.run(END);
        for ((name, alone), seat) in names.iter().zip(&alone).zip(&hall.seats) {
            assert_eq!(stands(&seat.events), *alone, "{name}, seed {seed}");
        }
        let score = held_against_truth(&folder, names, &mut hall);
        assert_eq!(score.false_alarms, 0, "seed {seed}: {:#?}", score.wrong);
        assert_eq!(
            (score.exact, score.plies_right, score.found),
            (names.len(), score.plies, score.offences),
            "seed {seed}: {:#?}",
            score.wrong
        );
        eprintln!("{seed}: {}/{} irregularities", score.found, score.offences);
    }
}

/// In so many ways; a test of every run tries `few`.
fn seeds(few: u64) -> u64 {
    if env::var_os("DGT2MQTT_FULL").is_some() {
        8
    } else {
        few
    }
}

/// One of them is pulled out and put back (`cable_gap`), answers are damaged, and for a while another program asks, too.
#[test]
fn twelve_boards_on_a_bad_line_say_what_each_says_alone() {
    let names = TWELVE.map(|kind| format!("{kind}-00"));
    say_and_are_right(&names, seeds(3), bad_hall);
    let Some(folder) = folder("captures") else { return };
    let mut hall = bad_hall(read(&folder, &names), 1);
    hall.run(END);
    let figures = hall.figures();
    assert!(figures.unasked > 0 && figures.boards.iter().any(|board| board.errors.damaged > 0));
}

/// Forty classical games: a line as full as the documents allow for them.
fn forty() -> Option<Vec<String>> {
    if env::var_os("DGT2MQTT_FULL").is_none() {
        skipped!("set DGT2MQTT_FULL=1");
        return None;
    }
    let folder = folder("captures")?;
    let names = named(&folder, |name| name.contains("-standard"), 40);
    assert!(names.len() == 40 && names.iter().any(|name| name.starts_with("cable_gap")));
    Some(names)
}

/// The same of forty classical games, also with what only the time tells: two hands, a piece touched and another moved.
#[test]
fn forty_boards_on_a_bad_line_say_what_each_says_alone() {
    if let Some(names) = forty() {
        say_and_are_right(&names, seeds(1), bad_hall);
    }
}

#[test]
fn forty_boards_of_classical_games_say_what_each_says_alone() {
    if let Some(names) = forty() {
        say_and_are_right(&names, seeds(1), |captures, seed| {
            LineRehearsal::new(boards(captures), Troubles::default(), seed)
        });
    }
}

/// All captures of the corpus, twelve on a line: what a line costs.
#[test]
fn all_games_on_lines_of_twelve_reach_the_figures() {
    if env::var_os("DGT2MQTT_FULL").is_none() {
        skipped!("set DGT2MQTT_FULL=1");
        return;
    }
    let Some(folder) = folder("captures") else { return };
    let mut total = Score::default();
    for names in captures(&folder).chunks(12) {
        let score = score(&folder, names, hall(read(&folder, names), Troubles::default()));
        total.captures += score.captures;
        total.exact += score.exact;
        total.offences += score.offences;
        total.found += score.found;
        total.false_alarms += score.false_alarms;
        total.wrong.extend(score.wrong);
    }
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    eprintln!("{total:#?}");
    assert_eq!(total.false_alarms, 0, "{:#?}", total.wrong);
    assert!(share(total.exact, total.captures) >= 0.98 && share(total.found, total.offences) >= 0.95);
}

/// Made-up games of all kinds, twelve on a line.
#[test]
fn made_up_games_of_all_kinds_accuse_nobody_falsely() {
    let is_full = env::var_os("DGT2MQTT_FULL").is_some();
    let kinds = kinds::all();
    // A line of many boards gathers of itself.
    let kinds: Vec<_> = kinds
        .iter()
        .filter(|kind| kind.fault != Some(Fault::Gathered) && !kind.on_line)
        .collect();
    let (mut all, mut wrong) = (Judgement::default(), Vec::new());
    for seed in 0..if is_full { 8 } else { 1 } {
        for kinds in kinds.chunks(12).take(if is_full { usize::MAX } else { 1 }) {
            let games: Vec<_> = kinds.iter().map(|kind| kind.game(seed).1).collect();
            let mut hall = LineRehearsal::of_games(&games, Troubles::default(), troubles_seed());
            hall.run(END);
            for ((kind, game), seat) in kinds.iter().zip(&games).zip(&hall.seats) {
                let verdict = Judgement::of(&game.truth, &seat.events);
                wrong.extend(
                    verdict
                        .faults
                        .iter()
                        .map(|fault| format!("{} {seed}: {fault}", kind.name)),
                );
                all += verdict;
            }
        }
    }
    all.faults.clear();
    eprintln!("{all:?} {wrong:#?}");
    let falsely = 1e4 * all.accused_falsely as f64 / all.plies as f64;
    assert!(
        falsely < 1.0,
        "{falsely:.1} false accusations in 10,000 half-moves"
    );
    let known = all.followed as f64 / all.asked as f64;
    assert!(known >= 0.98 && all.found as f64 >= 0.9 * all.offences as f64);
}

/// The table of `docs/lines.md` is what the wire makes of it.
#[test]
fn the_rounds_of_the_documentation_are_computed() {
    let document = include_str!("../../docs/lines.md");
    let rows = document.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let boards: u64 = cells.get(1)?.parse().ok()?;
        Some((boards, cells[2..6].to_vec()))
    });
    let mut count = 0;
    for (boards, told) in rows {
        let seconds = |clocks, answer_ms| {
            format!(
                "{:.2} s",
                budget::cycle_us(boards, clocks, answer_ms) as f64 / 1e6
            )
        };
        let computed = [
            seconds(true, 5),
            seconds(true, 10),
            seconds(true, 19),
            seconds(false, 10),
        ];
        assert_eq!(told, computed, "{boards} boards");
        count += 1;
    }
    assert_eq!(count, 6);
}

/// What is played and what is wrong with it, in order.
pub fn told(events: &[Event]) -> Vec<String> {
    let word = |event: &Event| match &event.body {
        Body::Move(made) => Some(made.uci.clone()),
        Body::MovesRetracted { to_ply, .. } => Some(format!("back to {to_ply}")),
        Body::Irregularity(it) => Some(format!("{:?} by {:?} at {}", it.kind, it.offender, it.ply)),
        Body::GameEnded { result, .. } => Some(result.as_str().to_owned()),
        _ => None,
    };
    events.iter().filter_map(word).collect()
}

pub const FIXTURES: [&str; 12] = [
    "adjusting",
    "board-turned",
    "capture-attacker-first",
    "capture-no-empty-square",
    "castling-king-first",
    "castling-long",
    "change-of-mind",
    "chess960",
    "dragged-rook",
    "en-passant-victim-last",
    "illegal-piece-cannot-move-so",
    "kings-drawn",
];

/// Twelve short games; they begin when who watches is there.
pub fn fixtures() -> Vec<Capture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let read = |name: &&str| {
        let bytes = std::fs::read(folder.join(format!("{name}.dgtcap")));
        Capture::parse(&bytes.unwrap_or_else(|error| panic!("{name}: {error}"))).unwrap()
    };
    let mut captures: Vec<Capture> = FIXTURES.iter().map(read).collect();
    // They begin at once, and who watches is not there yet.
    for record in captures.iter_mut().flat_map(|capture| &mut capture.records) {
        record.at = record.at + 4000;
    }
    captures
}

#[test]
fn twelve_fixtures_on_one_line_say_what_each_says_alone() {
    let captures = fixtures();
    let mut hall = hall(captures.clone(), Troubles::default());
    hall.run(Millis(3_600_000));
    let alone = captures.iter().map(|capture| told(&told::events(capture, "1")));
    let wrong: Vec<_> = FIXTURES
        .iter()
        .zip(alone)
        .zip(&hall.seats)
        .map(|((name, alone), seat)| (name, alone, told(&seat.events)))
        .filter(|(_, alone, line)| alone != line)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
