//! The figures that the recogniser must reach on captures kept outside of the project (set
//! `DGT2MQTT_CORPUS` to their folder): real games, and simulated ones with the truth beside each.
#![allow(clippy::unwrap_used)]

mod table;

use std::{collections::BTreeMap, fs, path::Path};

use dgt2mqtt::{
    capture::Capture,
    event::{Body, Certainty, Event, GameResult},
    sim::gathered::gathered,
};
use serde_json::Value;
use table::collection::{captures, folder};

struct Run {
    truth: Value,
    events: Vec<Event>,
}

fn run(folder: &Path, name: &str) -> Run {
    run_as(folder, name, |capture| capture)
}

/// The same with what `line` makes of the capture.
fn run_as(folder: &Path, name: &str, line: impl Fn(Capture) -> Capture) -> Run {
    let read = |ending: &str| fs::read(folder.join(format!("{name}.{ending}"))).unwrap();
    let truth: Value = serde_json::from_slice(&read("truth.json")).unwrap();
    let mut capture = Capture::parse(&read("dgtcap")).unwrap();
    for (key, field) in [
        ("laws", "laws"),
        ("time-control", "time_control"),
        ("supervision", "supervision"),
    ] {
        let stands = capture.header.lines().iter().any(|(known, _)| known == key);
        if let (false, Some(value)) = (stands, truth[field].as_str()) {
            capture.header.push(key, value).unwrap();
        }
    }
    let events = table::events(&line(capture), "1");
    Run { truth, events }
}

#[derive(Debug, Default)]
struct Played {
    moves: Vec<String>,
    result: Option<GameResult>,
}

fn played(events: &[Event]) -> Vec<Played> {
    let mut games: Vec<Played> = Vec::new();
    for event in events {
        if matches!(event.body, Body::GameStarted { .. }) {
            games.push(Played::default());
        }
        let Some(game) = games.last_mut() else { continue };
        match &event.body {
            Body::Move(made) => {
                game.moves.truncate(made.ply as usize - 1);
                game.moves.push(made.uci.clone());
            }
            Body::MovesRetracted { to_ply, .. } => game.moves.truncate(*to_ply as usize),
            Body::GameEnded { result, .. } => game.result = Some(*result),
            _ => {}
        }
    }
    games
}

#[derive(Debug, Default)]
struct Score {
    captures: usize,
    exact: usize,
    plies: usize,
    plies_right: usize,
    offences: usize,
    found: usize,
    false_alarms: usize,
    results: usize,
    results_right: usize,
    wrong: Vec<String>,
}

impl Score {
    fn add(&mut self, name: &str, run: &Run) {
        let wanted = run.truth["games"].as_array().unwrap();
        let got = played(&run.events);
        let mut exact = got.len() == wanted.len();
        for (i, game) in wanted.iter().enumerate() {
            let moves: Vec<&str> = game["moves"]
                .as_array()
                .unwrap()
                .iter()
                .map(|m| m["uci"].as_str().unwrap())
                .collect();
            let none = Played::default();
            let played = got.get(i).unwrap_or(&none);
            let right = moves
                .iter()
                .zip(&played.moves)
                .take_while(|(a, b)| same(a, b))
                .count();
            exact &= right == moves.len() && right == played.moves.len();
            self.plies += moves.len();
            self.plies_right += right;
            if game["ended_by"].is_string() {
                self.results += 1;
                let result = played.result.map(GameResult::as_str);
                self.results_right += usize::from(result == game["result"].as_str());
            }
        }
        self.captures += 1;
        self.exact += usize::from(exact);
        if !exact {
            self.wrong.push(format!("{name}: moves"));
        }
        self.irregularities(name, run);
    }

    fn irregularities(&mut self, name: &str, run: &Run) {
        let mut said: Vec<_> = run
            .events
            .iter()
            .filter_map(|event| match &event.body {
                Body::Irregularity(it) => Some(it),
                _ => None,
            })
            .collect();
        for wanted in run.truth["irregularities"].as_array().unwrap() {
            self.offences += 1;
            let kinds: Vec<&Value> = match wanted["kinds"].as_array() {
                Some(kinds) => kinds.iter().collect(),
                None => vec![&wanted["kind"]],
            };
            let hit = said.iter().position(|it| {
                let kind = serde_json::to_value(it.kind).unwrap();
                let offender = serde_json::to_value(it.offender).unwrap();
                let suspected = wanted["certainty"] == "suspected" && offender.is_null();
                kinds.contains(&&kind)
                    && (wanted["offender"].is_null() || wanted["offender"] == offender || suspected)
                    && (wanted["ply"].as_u64().unwrap_or(0) == 0 || wanted["ply"] == it.ply)
            });
            if let Some(hit) = hit {
                said.remove(hit);
                self.found += 1;
            } else {
                self.wrong.push(format!(
                    "{name}: missed {} at ply {}",
                    wanted["kind"], wanted["ply"]
                ));
            }
        }
        for it in said.iter().filter(|it| it.certainty != Certainty::Suspected) {
            self.false_alarms += 1;
            self.wrong
                .push(format!("{name}: false alarm {:?} at ply {}", it.kind, it.ply));
        }
    }
}

/// Castling may be written as the king's two squares or as king takes rook.
fn same(a: &str, b: &str) -> bool {
    let short = |uci: &str| match uci {
        "e1h1" => "e1g1".to_owned(),
        "e1a1" => "e1c1".to_owned(),
        "e8h8" => "e8g8".to_owned(),
        "e8a8" => "e8c8".to_owned(),
        other => other.to_owned(),
    };
    short(a) == short(b)
}

fn score(folder: &Path, names: &[String]) -> Score {
    let mut score = Score::default();
    for name in names {
        score.add(name, &run(folder, name));
    }
    score
}

#[test]
fn real_games_are_reproduced_exactly() {
    let Some(folder) = folder("real") else { return };
    let score = score(&folder, &captures(&folder));
    assert!(score.captures >= 3);
    assert_eq!(score.exact, score.captures, "{:#?}", score.wrong);
    assert_eq!(
        (score.found, score.false_alarms),
        (score.offences, 0),
        "{:#?}",
        score.wrong
    );
    assert_eq!(score.results_right, score.results);
}

#[test]
fn tidy_games_are_reproduced_exactly() {
    let Some(folder) = folder("captures") else { return };
    let kinds = ["whole_game-clean", "whole_game-standard", "whole_game-rapid"];
    let names: Vec<_> = captures(&folder)
        .into_iter()
        .filter(|name| kinds.iter().any(|kind| name.starts_with(kind)))
        .collect();
    let score = score(&folder, &names);
    assert!(score.captures > 0);
    assert_eq!(score.exact, score.captures, "{:#?}", score.wrong);
    assert_eq!(
        (score.found, score.false_alarms),
        (score.offences, 0),
        "{:#?}",
        score.wrong
    );
}

/// Over a line that gathers nobody is accused of anything but what he did, whether or not it is known that it does.
#[test]
fn games_over_a_line_that_gathers_reach_the_figures() {
    let Some(folder) = folder("captures") else { return };
    for (ms, told) in [(1000, true), (1000, false), (2000, true)] {
        let mut score = Score::default();
        for name in captures(&folder) {
            let gathers = |capture: Capture| {
                let mut late = gathered(&capture, ms);
                if told {
                    late.header.push("gathered", &format!("{ms} ms")).unwrap();
                }
                late
            };
            score.add(&name, &run_as(&folder, &name, gathers));
        }
        assert_eq!(score.false_alarms, 0, "{ms} ms, {told}: {:#?}", score.wrong);
        let exact = score.exact as f64 / score.captures as f64;
        let found = score.found as f64 / score.offences as f64;
        assert!(
            exact >= 0.99 && found >= 0.95,
            "{exact:.3}, {found:.3}: {:#?}",
            score.wrong
        );
    }
}

#[test]
fn messy_games_reach_the_figures() {
    let Some(folder) = folder("captures") else { return };
    let names = captures(&folder);
    let mut by_kind: BTreeMap<String, Score> = BTreeMap::new();
    let mut total = Score::default();
    for name in &names {
        let run = run(&folder, name);
        total.add(name, &run);
        let kind = name.rsplit_once('-').map_or(name.as_str(), |(kind, _)| kind);
        by_kind.entry(kind.to_owned()).or_default().add(name, &run);
    }
    for (kind, score) in by_kind {
        eprintln!(
            "{kind:44} {:3}/{:3} games {:5}/{:5} half-moves {:3}/{:3} irregularities, {} false alarms",
            score.exact,
            score.captures,
            score.plies_right,
            score.plies,
            score.found,
            score.offences,
            score.false_alarms
        );
    }
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let false_alarms = 10_000.0 * share(total.false_alarms, total.plies);
    let figures = [
        ("games", share(total.exact, total.captures), 0.98),
        ("half-moves", share(total.plies_right, total.plies), 0.998),
        ("irregularities", share(total.found, total.offences), 0.98),
        ("results", share(total.results_right, total.results), 0.99),
    ];
    for (what, reached, floor) in figures {
        assert!(
            reached >= floor,
            "{what}: {reached:.4} of {floor}\n{:#?}",
            total.wrong
        );
    }
    assert!(
        false_alarms <= 1.0,
        "false alarms in 10,000: {false_alarms:.2}\n{:#?}",
        total.wrong
    );
}
