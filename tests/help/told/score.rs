//! What was said of captures against the truth beside each.

use std::{fs, path::Path};

use dgt2mqtt::{
    capture::Capture,
    event::{Body, Certainty, Event, GameResult},
};
use serde_json::Value;

/// What was said of one capture, and what is true.
pub(crate) struct Run {
    pub(crate) truth: Value,
    pub(crate) events: Vec<Event>,
}

/// The truth beside the capture of this name.
pub(crate) fn truth(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(format!("{name}.truth.json"))).unwrap()).unwrap()
}

/// The capture of this name, with what the truth knows of its rules.
pub(crate) fn capture(folder: &Path, name: &str) -> Capture {
    let truth = truth(folder, name);
    let mut capture = Capture::parse(&fs::read(folder.join(format!("{name}.dgtcap"))).unwrap()).unwrap();
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
    capture
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
pub(crate) struct Score {
    pub(crate) captures: usize,
    pub(crate) exact: usize,
    pub(crate) plies: usize,
    pub(crate) plies_right: usize,
    pub(crate) offences: usize,
    pub(crate) found: usize,
    pub(crate) false_alarms: usize,
    pub(crate) results: usize,
    pub(crate) results_right: usize,
    pub(crate) wrong: Vec<String>,
}

impl Score {
    pub(crate) fn add(&mut self, name: &str, run: &Run) {
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
