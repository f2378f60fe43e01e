//! The figures that the recogniser must reach on captures kept outside of the project (set
//! `DGT2MQTT_CORPUS` to their folder): real games, and simulated ones with the truth beside each.

use std::{collections::BTreeMap, path::Path};

use dgt2mqtt::{capture::Capture, sim::gathered::gathered};

use crate::told::{
    self,
    collection::{captures, folder},
    score::{Run, Score, capture, truth},
};

fn run(folder: &Path, name: &str) -> Run {
    run_as(folder, name, |capture| capture)
}

/// The same with what `line` makes of the capture.
fn run_as(folder: &Path, name: &str, line: impl Fn(Capture) -> Capture) -> Run {
    Run {
        truth: truth(folder, name),
        events: told::events(&line(capture(folder, name)), "1"),
    }
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
            "{ms} ms, {told}: {exact:.3}, {found:.3}: {:#?}",
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
