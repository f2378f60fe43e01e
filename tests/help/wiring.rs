//! Where the boards of a test hang: each at a port of its own, or all on one line that they share. What holds of the
//! one holds of the other.
#![allow(dead_code)] // shared by several test programs.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use dgt2mqtt::{capture::Header, sim::games};
use fastrand::Rng;

use crate::hall::{Simulator, one_board, playing, save, vienna};

/// How boards are wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wiring {
    /// Each at a port of its own.
    Alone,
    /// All on one line.
    Line,
}

/// Boards that always have something to tell.
pub struct Restless {
    /// What a configuration says of them.
    pub tables: String,
    /// Their names there.
    pub ids: Vec<String>,
    /// Who plays those of a line.
    _simulator: Option<Simulator>,
}

impl Wiring {
    /// One board with a loose cable; or three on which people play fast: over a line a board that comes and goes is
    /// not looked for so often.
    pub fn restless(self, folder: &Path) -> Restless {
        match self {
            Self::Alone => {
                let path = folder.join("board.dgtcap");
                fs::write(&path, loose()).unwrap();
                Restless::new(&[format!("capture:{}", path.display())], None)
            }
            Self::Line => {
                let paths: Vec<_> = (1..=3).map(|seed| game(folder, seed)).collect();
                let simulator = Simulator::start(&["--line", "--speed", "4"], &paths);
                Restless::new(&simulator.ports.clone(), Some(simulator))
            }
        }
    }

    /// As `hall::one_board`: the demo's game, three times as fast.
    pub fn one_board(self, folder: &Path, broker: u16) -> (Simulator, PathBuf) {
        match self {
            Self::Alone => one_board(folder, broker),
            Self::Line => playing(folder, broker, "1", &vienna(), &["--speed", "3", "--line"]),
        }
    }
}

impl Restless {
    fn new(ports: &[String], simulator: Option<Simulator>) -> Self {
        let (mut tables, mut ids) = (String::new(), Vec::new());
        for (id, port) in (7..).zip(ports) {
            writeln!(tables, "[[board]]\nid = \"{id}\"\nport = \"{port}\"").unwrap();
            ids.push(id.to_string());
        }
        Self {
            tables,
            ids,
            _simulator: simulator,
        }
    }
}

/// A board whose cable is pulled and put back all the time: two events in 0.6 s.
fn loose() -> String {
    let mut text = String::from("# dgtcap 1\n0.000 > 4d\n0.012 < 93 00 05 01 08\n0.020 > 42\n");
    let squares = "00 ".repeat(64);
    for n in 0..400 {
        let at = |tenths: u32| f64::from(n * 6 + tenths) / 10.0;
        writeln!(text, "{:.3} < 86 00 43 {}", at(1), squares.trim()).unwrap();
        writeln!(text, "{:.3} ! down\n{:.3} ! up", at(3), at(6)).unwrap();
    }
    text
}

/// A long game that is made up.
fn game(folder: &Path, seed: u64) -> PathBuf {
    let moves = games::made_up(&mut Rng::with_seed(seed));
    let capture = games::play(&moves, Header::default(), seed).unwrap();
    save(folder, &format!("restless-{seed}"), &capture)
}
