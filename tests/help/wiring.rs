//! Where the boards of a test hang: each at a port of its own, or all on one line that they share. What holds of the
//! one holds of the other.
#![allow(dead_code)] // shared by several test programs.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use dgt2mqtt::{capture::Header, sim::games};
use fastrand::Rng;

use crate::hall::{Simulator, playing, save, vienna};

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
        self.playing(folder, broker, &vienna(), &["--speed", "3"])
    }

    /// As `hall::playing`: a capture at board 1.
    pub fn playing(self, folder: &Path, broker: u16, path: &Path, options: &[&str]) -> (Simulator, PathBuf) {
        playing(folder, broker, "1", path, &[options, self.options()].concat())
    }

    /// What the simulator is told for it.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::Alone => &[],
            Self::Line => &["--line"],
        }
    }

    /// The name of a board's `port` by a link to its device, which this makes.
    pub fn linked(self, port: &str, link: &Path) -> String {
        let (place, device) = port.rsplit_once('@').unwrap_or(("", port));
        symlink(device, link).unwrap();
        match self {
            Self::Alone => link.display().to_string(),
            Self::Line => format!("{place}@{}", link.display()),
        }
    }

    /// The port of board `n`, counted from 0, if a device at `address` answers for all of them.
    pub fn port(self, n: u16, address: &str) -> String {
        match self {
            Self::Alone => format!("tcp://{address}"),
            Self::Line => format!("bus:{}@tcp://{address}", 1025 + n),
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
