//! The next game begins before its last piece stands: what becomes of the one before.

use std::fs;

use dgt2mqtt::{
    capture::{Capture, replay::replay},
    event::{Body, Event, notice},
    watcher::{Settings, Watcher},
};

/// What is told of the game before: its end, or that it waits for its result.
fn told_of_the_first(settings: Settings) -> Vec<&'static str> {
    let recorded = fs::read("fixtures/next-game-before-the-last-piece-stands.dgtcap").unwrap();
    let capture = Capture::parse(&recorded).unwrap();
    let mut told = Vec::new();
    replay(&mut Watcher::new(settings, None), &capture, |event: Event| {
        match event.body {
            Body::GameEnded { .. } => told.push("ended"),
            Body::Notice { code, .. } if code == notice::SET_UP_WITHOUT_RESULT => told.push("waits"),
            Body::MovesRetracted { .. } => told.push("taken back"),
            _ => {}
        }
        Ok::<(), ()>(())
    })
    .unwrap();
    told
}

#[test]
fn a_game_of_nobody_ends() {
    assert_eq!(told_of_the_first(Settings::default()), ["ended"]);
}

#[test]
fn a_game_of_the_round_waits_for_its_result() {
    let settings = Settings {
        players: [Some("Moss".into()), Some("Tufteland".into())],
        ..Settings::default()
    };
    assert_eq!(told_of_the_first(settings), ["waits"]);
}
