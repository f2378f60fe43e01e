//! The gateways of a hall: their boards, their daemons, their journals.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{brokers::Brokers, reader::Key};
use crate::{
    disk::SmallDisk,
    hall::{Daemon, Simulator, program},
};

/// One gateway.
pub struct Gateway {
    pub name: String,
    pub config: PathBuf,
    /// None while it is dead.
    daemon: Option<Daemon>,
    boards: Simulator,
    pub ids: Vec<String>,
    /// The disk of its journal, where it has one of its own.
    pub disk: Option<SmallDisk>,
}

impl Gateway {
    /// Gateway `n`, with the boards whose numbers follow on those of the gateways before it.
    pub fn start(n: usize, folder: &Path, brokers: &Brokers, boards: usize, speed: f64) -> Self {
        let folder = folder.join(format!("row-{n}"));
        fs::create_dir_all(&folder).unwrap();
        let disk = if n == 0 {
            SmallDisk::sized(&folder, "24m")
        } else {
            None
        };
        let seed = (n * boards + 1).to_string();
        let simulator = Simulator::made_up(&["--seed", &seed, "--speed", &speed.to_string()], boards);
        fs::write(folder.join("password"), "any").unwrap();
        let name = format!("row-{n}");
        let mut text = format!(
            "[gateway]\nname = \"{name}\"\ncommands = true\n{}[journal]\npath = \"journal.sqlite\"\n[event]\ntime_control = \"rapid\"\n",
            brokers.table(n)
        );
        let mut ids = Vec::new();
        for (board, port) in (n * boards + 1..).zip(&simulator.ports) {
            text += &format!("[[board]]\nid = \"{board}\"\nport = \"{port}\"\n");
            ids.push(board.to_string());
        }
        let config = folder.join("dgt2mqtt.toml");
        fs::write(&config, text).unwrap();
        let mut gateway = Self {
            name,
            config,
            daemon: None,
            boards: simulator,
            ids,
            disk,
        };
        gateway.resume();
        gateway
    }

    pub fn resume(&mut self) {
        self.daemon = Some(Daemon::start(&self.config));
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
    }

    /// SIGTERM; whether it ended well.
    pub fn stop(&mut self) -> bool {
        self.daemon.take().is_none_or(Daemon::stop)
    }

    pub fn process(&self) -> u32 {
        self.daemon.as_ref().unwrap().id()
    }

    /// The process that plays its boards.
    pub fn players(&self) -> u32 {
        self.boards.process()
    }

    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.ids.iter().map(|board| (self.name.clone(), board.clone()))
    }

    /// What its journal has, of all boards.
    pub fn journal(&self) -> Vec<Value> {
        let mut command = program();
        command.args(["journal", "--config"]).arg(&self.config);
        said(&mut command)
    }

    /// What it has said to people.
    pub fn log(&self) -> String {
        fs::read_to_string(self.config.with_file_name("daemon.log")).unwrap_or_default()
    }
}

fn said(command: &mut Command) -> Vec<Value> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
