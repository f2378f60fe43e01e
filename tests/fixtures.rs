//! The captures in `fixtures/` and what ought to come out of each. `UPDATE_GOLDEN=1` writes the
//! captures of the scripts and the events anew, but never events that contradict what a script expects.
#![allow(clippy::unwrap_used)]

#[macro_use]
#[path = "help/skipped.rs"]
mod skipped;
#[path = "help/told/mod.rs"]
mod told;

use std::{collections::BTreeSet, env, fs, panic::catch_unwind, path::PathBuf};

use dgt2mqtt::{capture::Capture, sim::script::Script};
use told::{
    events, played, scripts,
    summary::{rulings, summary},
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn updating() -> bool {
    env::var_os("UPDATE_GOLDEN").is_some()
}

fn names(ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
        .collect()
}

/// True when the kept file has this text, or has it from now on.
fn is_kept(name: &str, text: &str) -> bool {
    let path = folder().join(name);
    if updating() {
        fs::write(&path, text).unwrap();
    }
    fs::read_to_string(&path).is_ok_and(|kept| kept == text)
}

fn captures_not_kept(scripts: &[Script]) -> Vec<&str> {
    let differing = scripts
        .iter()
        .filter(|s| !is_kept(&format!("{}.dgtcap", s.name), &played(s).to_string()));
    differing.map(|s| s.name.as_str()).collect()
}

#[test]
fn the_captures_are_those_of_the_scripts() {
    let scripts = scripts();
    let unique: BTreeSet<_> = scripts.iter().map(|s| &s.name).collect();
    assert_eq!(unique.len(), scripts.len(), "a name is used twice");
    let differing = captures_not_kept(&scripts);
    assert!(
        differing.is_empty(),
        "UPDATE_GOLDEN=1 writes them anew: {differing:?}"
    );
}

/// What a script says by hand decides: events that contradict it are neither kept nor accepted.
#[test]
fn what_comes_out_is_what_the_scripts_expect() {
    let mut wrong = Vec::new();
    for script in scripts() {
        let said = catch_unwind(|| summary(&events(&played(&script), &script.name)))
            .unwrap_or_else(|_| vec!["panicked".into()]);
        if said != script.expected {
            let (wanted, said) = (script.expected.join(" "), said.join(" "));
            wrong.push(format!(
                "{}: {}\n  wanted: {wanted}\n  said:   {said}",
                script.name, script.story
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Where a script says what the Laws prescribe, that is what they prescribe.
#[test]
fn the_rulings_are_those_the_scripts_expect() {
    let mut wrong = Vec::new();
    for script in scripts() {
        let said = rulings(&events(&played(&script), &script.name));
        if !script.rulings.is_empty() && said != script.rulings {
            let (wanted, said) = (script.rulings.join("\n    "), said.join("\n    "));
            wrong.push(format!(
                "{}:\n  wanted:\n    {wanted}\n  said:\n    {said}",
                script.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_event_is_exactly_as_kept() {
    let scripts = scripts();
    if updating() {
        captures_not_kept(&scripts);
    }
    let mut differing = Vec::new();
    for name in names(".dgtcap") {
        let text = fs::read(folder().join(format!("{name}.dgtcap"))).unwrap();
        let capture = Capture::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let events = events(&capture, &name);
        let script = scripts.iter().find(|script| script.name == name);
        let contradicts = script.is_some_and(|script| summary(&events) != script.expected);
        let lines: String = events
            .iter()
            .map(|event| serde_json::to_string(event).unwrap() + "\n")
            .collect();
        if contradicts || !is_kept(&format!("{name}.jsonl"), &lines) {
            differing.push(name);
        }
    }
    assert!(
        differing.is_empty(),
        "not as kept (UPDATE_GOLDEN=1 writes what does not contradict a script): {differing:?}"
    );
}

#[test]
fn every_file_has_its_counterpart() {
    if env::var_os("UPDATE_GOLDEN").is_some() {
        skipped!("the files are being written beside it");
        return;
    }
    let captures = names(".dgtcap");
    assert_eq!(names(".jsonl"), captures);
    let scripts = scripts();
    let names = scripts.iter().map(|script| &script.name);
    let orphans: Vec<_> = names.filter(|name| !captures.contains(*name)).collect();
    assert!(
        orphans.is_empty(),
        "scripts without a capture, which UPDATE_GOLDEN=1 writes: {orphans:?}"
    );
}
