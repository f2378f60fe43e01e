//! What a watcher tells of captures, and of scripts.
#![allow(dead_code, clippy::unwrap_used)] // Each test uses another part of it, and fails where it fails.

pub(crate) mod collection;
pub(crate) mod score;
pub(crate) mod summary;

use std::{fs, path::Path};

use dgt2mqtt::{
    capture::{
        Capture,
        replay::{replay, settings_of},
    },
    event::Event,
    sim::{
        script::{Script, parse},
        tabletop::Manner,
    },
    watcher::Watcher,
};

/// The scripts of `fixtures/`, in the order of the files' names.
pub(crate) fn scripts() -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scripts");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    texts.flat_map(|text| parse(&text)).collect()
}

/// A script as tidy hands play it.
pub(crate) fn played(script: &Script) -> Capture {
    script.play(Manner::Tidy).unwrap()
}

/// What a watcher makes of a capture.
pub(crate) fn events(capture: &Capture, board: &str) -> Vec<Event> {
    let mut watcher = Watcher::new(settings_of(&capture.header, board), None);
    let mut events = Vec::new();
    let run = replay(&mut watcher, capture, |event| {
        events.push(event);
        Ok::<(), ()>(())
    });
    assert!(run.is_ok());
    events
}
