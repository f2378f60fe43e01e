//! The demo's game: the capture that is kept, and what the watcher makes of it.

use std::{env, fs, path::Path};

use dgt2mqtt::{
    capture::{Capture, replay::replay},
    event::{Body, Event},
    sim::{
        games::from_pgn,
        story::{self, IRREGULARITIES, PGN},
    },
    watcher::{Settings, Watcher},
};
use shakmaty::CastlingMode;

fn events(capture: &Capture) -> Vec<Event> {
    let mut watcher = Watcher::new(Settings::default(), None);
    let mut events = Vec::new();
    replay(&mut watcher, capture, |event| {
        events.push(event);
        Ok::<(), ()>(())
    })
    .unwrap();
    events
}

#[test]
fn the_kept_capture_is_the_one_that_is_told() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vienna-1910.dgtcap");
    let told = story::capture(1).unwrap().to_string();
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &told).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    assert!(kept == told, "run with UPDATE_GOLDEN=1 when the change is meant");
}

#[test]
fn the_watcher_sees_the_whole_story() {
    for seed in 1..=12 {
        let events = events(&story::capture(seed).unwrap());
        let seen: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.body {
                Body::Irregularity(it) => Some((it.kind, it.offender, it.ply)),
                _ => None,
            })
            .collect();
        let wanted: Vec<_> = IRREGULARITIES
            .map(|(kind, side, ply)| (kind, Some(side), ply))
            .to_vec();
        assert_eq!(seen, wanted, "seed {seed}");
        let resolved = events
            .iter()
            .filter(|e| matches!(e.body, Body::IrregularityResolved { .. }));
        assert_eq!(resolved.count(), wanted.len(), "seed {seed}");
        let moves: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.body {
                Body::Move(mv) => Some(mv.uci.clone()),
                _ => None,
            })
            .collect();
        let game: Vec<_> = from_pgn(PGN).unwrap()[0]
            .iter()
            .map(|mv| mv.to_uci(CastlingMode::Standard).to_string())
            .collect();
        assert_eq!(moves, game, "seed {seed}");
    }
}
