//! A broadcast among gateways that go on, go back, and lag behind others.

use std::{collections::BTreeSet, fs};

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::tournament::Tournament;

/// When the second round was begun too early.
const EARLY: &str = "2026-11-21T14:00:00Z";

/// A broadcast of two gateways, `a` and `b`.
struct Scene {
    folder: TempDir,
    configured: watch::Sender<Option<Broadcast>>,
    own: OwnRound,
}

impl Scene {
    /// The configuration names `round`, and a file with `rows`.
    fn of(round: u32, rows: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("hall.csv"), rows).unwrap();
        let configured = watch::Sender::new(Some(broadcast(folder.path(), round)));
        let (own, _) = of(configured.subscribe(), Shared::default());
        Self {
            folder,
            configured,
            own,
        }
    }

    /// A gateway says its round, when that began, and which wrong numbers it had.
    fn says(&self, gateway: &str, round: u32, began: &str, formerly: &[u32]) {
        let info = json!({ "round": round, "round_began": began, "round_formerly": formerly, "players": {} });
        let mut hall = self.own.shared.hall();
        hall.take(&format!("{gateway}/status"), b"online", 0);
        hall.take(&format!("{gateway}/info"), info.to_string().as_bytes(), 0);
    }

    /// The rounds to which the broadcast goes at what the gateways say by now.
    fn follows(&mut self) -> Vec<u32> {
        let mut rounds = Vec::new();
        while let Some(next) = self.own.next() {
            rounds.push(next.in_force.round);
            self.own.take(next);
            assert!(rounds.len() < 5, "it goes to and fro: {rounds:?}");
        }
        rounds
    }

    /// The number of the round in force.
    fn round(&self) -> u32 {
        self.own.present(self.configured.borrow().as_ref().unwrap())
    }

    /// Reads the configuration again, which names `round`.
    fn reads(&mut self, round: u32) {
        self.configured
            .send_replace(Some(broadcast(self.folder.path(), round)));
        self.own.read();
    }

    /// White's name at the first board, where the round in force has other pairings than the configuration.
    fn white(&self) -> Option<String> {
        let pairings = self.own.in_force.as_ref()?.pairings.as_ref()?;
        Some(pairings.boards.first()?.as_ref()?.white.name.clone())
    }
}

fn broadcast(folder: &Path, round: u32) -> Broadcast {
    let file = folder.join("hall.csv");
    Broadcast {
        group: None,
        folder: folder.join("public"),
        tournament: Tournament {
            round,
            rounds: 3,
            ..Tournament::default()
        },
        formerly: BTreeSet::new(),
        pairings: Pairings::of_round(&fs::read_to_string(&file).unwrap(), round, 2).unwrap_or_default(),
        others: BTreeMap::new(),
        pairings_file: Some(file),
        boards: vec!["a/1".to_owned(), "b/1".to_owned()],
        begins_ms: None,
        lichess: None,
        listen: None,
    }
}

fn now() -> String {
    Timestamp::now().to_string()
}

const ROWS: &str = "round,board,white,black\n1,1,Moss,Tal\n2,1,Berg,Dorn\n3,1,Euwe,Kolb\n";

#[test]
fn a_gateway_that_lags_does_not_take_the_others_back_again() {
    let mut scene = Scene::of(1, ROWS);
    for gateway in ["a", "b"] {
        scene.says(gateway, 2, EARLY, &[]);
    }
    assert_eq!(scene.follows(), [2]);
    // The first that goes back takes the broadcast along, and the other one follows.
    scene.says("a", 1, EARLY, &[2]);
    assert_eq!(scene.follows(), [1]);
    scene.says("b", 1, EARLY, &[2]);
    assert_eq!(scene.follows(), [0; 0]);
    // The second round begins when its time has come.
    scene.says("b", 2, &now(), &[]);
    assert_eq!(scene.follows(), [2]);
    scene.own.shared.hall().take("b/status", b"offline", 0);
    assert_eq!(scene.follows(), [0; 0], "a link that is down takes nothing back");
    scene.says("b", 2, &now(), &[]);
    scene.says("a", 2, &now(), &[]);
    assert_eq!(scene.follows(), [0; 0]);
    // It was too early again.
    scene.says("a", 1, EARLY, &[2]);
    assert_eq!(scene.follows(), [0; 0], "the other one may lag or lead");
    scene.says("b", 1, EARLY, &[2]);
    assert_eq!(scene.follows(), [1]);
}

#[test]
fn pairings_that_are_corrected_reach_a_round_that_is_in_force_again() {
    let mut scene = Scene::of(2, ROWS);
    scene.says("a", 2, EARLY, &[]);
    scene.says("a", 1, EARLY, &[2]);
    assert_eq!(scene.follows(), [1]);
    assert_eq!(scene.white().as_deref(), Some("Moss"));
    fs::write(
        scene.folder.path().join("hall.csv"),
        ROWS.replace("Moss", "Mosse"),
    )
    .unwrap();
    scene.reads(2);
    assert_eq!((scene.round(), scene.white().as_deref()), (1, Some("Mosse")));
}

#[test]
fn a_round_under_its_right_number_has_not_the_pairings_of_another() {
    let mut scene = Scene::of(1, ROWS);
    scene.says("a", 2, EARLY, &[]);
    assert_eq!(scene.follows(), [2]);
    scene.says("a", 3, EARLY, &[2]);
    assert_eq!(scene.follows()[0], 3);
    scene.reads(1);
    assert_ne!(scene.white().as_deref(), Some("Euwe"));
}

#[test]
fn wrong_numbers_are_known_after_the_configuration_is_read_again() {
    let mut scene = Scene::of(1, ROWS);
    for gateway in ["a", "b"] {
        scene.says(gateway, 2, EARLY, &[]);
    }
    assert_eq!(scene.follows(), [2]);
    scene.says("a", 1, EARLY, &[2]);
    assert_eq!(scene.follows(), [1]);
    scene.reads(1);
    assert_eq!((scene.follows(), scene.round()), (vec![], 1), "`b` lags");

    // The configuration gets the right number, too.
    let mut scene = Scene::of(1, ROWS);
    scene.says("a", 1, EARLY, &[]);
    scene.says("a", 2, EARLY, &[1]);
    assert_eq!(scene.follows()[0], 2);
    scene.reads(2);
    let in_force = scene.own.in_force.as_ref().unwrap();
    assert_eq!(in_force.formerly, BTreeSet::from([1]));
    assert!(in_force.renumbered_ms.is_some());
}
