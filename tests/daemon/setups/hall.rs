//! A hall: brokers, gateways, and all who read them.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    Size,
    brokers::{Brokers, Setup},
    costs::{Cost, cost},
    gateways::Gateway,
    reader::{Key, Reader},
};
use crate::{
    archive::Archive,
    broker::{PATIENCE, free_port},
    database::Postgres,
    hall::until,
    page::Server,
};

pub struct Hall {
    // What must end first stands first.
    pub page: Option<Server>,
    pub archive: Option<Archive>,
    pub gateways: Vec<Gateway>,
    pub reader: Reader,
    pub brokers: Brokers,
    pub postgres: Option<Postgres>,
    pub folder: TempDir,
    pub begun: Instant,
    /// When the last fault was over.
    pub healed: Instant,
    page_port: u16,
    config: PathBuf,
}

impl Hall {
    /// None, with a message, where the brokers are not installed. Without a database there is no archive.
    pub async fn open(setup: Setup, size: Size) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let brokers = Brokers::start(setup, folder.path(), size.gateways).await?;
        let postgres = Postgres::start();
        let config = folder.path().join("archive.toml");
        let archive = postgres.as_ref().map_or_else(String::new, |postgres| {
            format!(
                "[archive]\ndatabase = \"{}\"\nevent = \"Olympiad\"\n",
                postgres.url()
            )
        });
        let boards: Vec<String> = (0..size.gateways * size.boards)
            .map(|n| format!("\"row-{}/{}\"", n / size.boards, n + 1))
            .collect();
        fs::write(folder.path().join("password"), "any").unwrap();
        let login = brokers.login();
        let text = format!(
            "[broker]\nurls = [{}]\nkeep_alive = 5\n{login}{archive}[broadcast]\nfolder = \"open\"\nboards = [{}]\n",
            brokers.urls(),
            boards.join(", ")
        );
        fs::write(&config, text).unwrap();
        let reader = Reader::start(&brokers.ports(), !login.is_empty());
        let gateways = (0..size.gateways)
            .map(|n| Gateway::start(n, folder.path(), &brokers, size.boards, size.speed))
            .collect();
        let mut hall = Self {
            page: None,
            archive: None,
            gateways,
            reader,
            brokers,
            postgres,
            folder,
            begun: Instant::now(),
            healed: Instant::now(),
            page_port: free_port(),
            config,
        };
        hall.keep();
        hall.serve();
        Some(hall)
    }

    /// Starts the archive (again).
    pub fn keep(&mut self) {
        let ports = self.brokers.read_apart();
        let archive = self
            .postgres
            .is_some()
            .then(|| Archive::start_at(&self.config, &ports));
        self.archive = archive;
    }

    /// Starts the page (again).
    pub fn serve(&mut self) {
        let mut options = vec!["--config".to_owned(), self.config.display().to_string()];
        for port in self.brokers.read_apart() {
            options.extend(["--broker".to_owned(), format!("mqtt://127.0.0.1:{port}")]);
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        self.page = Some(Server::start_at(self.page_port, &options));
    }

    /// Whether all parts are there in which something can break.
    pub fn is_whole(&self) -> bool {
        self.postgres.is_some() && self.brokers.disk.is_some() && self.gateways[0].disk.is_some()
    }

    pub fn keys(&self) -> Vec<Key> {
        self.gateways.iter().flat_map(Gateway::keys).collect()
    }

    /// That the brokers still run: one that dies of a fault is a finding.
    pub fn has_lived(&mut self) {
        for broker in &mut self.brokers.central {
            if !broker.lives() {
                println!("           a broker has died of it, and is started again");
                broker.resume();
            }
        }
    }

    /// Measures what the hall costs while nothing breaks.
    pub async fn measure(&self, seconds: u64) {
        let boards = self.keys().len();
        // The greeting and the first half-moves are over then.
        let all_played = || self.keys().iter().all(|key| self.reader.events(key).len() > 2);
        let deadline = Instant::now() + PATIENCE;
        while !all_played() {
            assert!(Instant::now() < deadline, "not all boards are heard");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        println!(
            "all {boards} boards are heard after {:.1} s",
            self.begun.elapsed().as_secs_f64()
        );
        let parts = self.parts();
        let costs = |parts: &[(&str, Vec<u32>)]| -> Vec<Cost> {
            parts.iter().map(|(_, processes)| cost(processes)).collect()
        };
        let carried = || -> u64 {
            self.brokers
                .lines
                .iter()
                .flatten()
                .map(super::cut::Cut::carried)
                .sum()
        };
        let events = || -> u64 {
            self.keys()
                .iter()
                .map(|key| self.reader.events(key).len() as u64)
                .sum()
        };
        let (before, bytes, told, since) = (costs(&parts), carried(), events(), Instant::now());
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let span = since.elapsed().as_secs_f64();
        let hundred = 100.0 / boards as f64;
        println!(
            "without faults, for {span:.0} s, for 100 boards ({:.1} events a second in all):",
            (events() - told) as f64 / span
        );
        for ((name, _), (then, now)) in parts.iter().zip(before.iter().zip(costs(&parts))) {
            println!(
                "  {name:<22} {:6.2} % of a core, {:7.1} MB",
                100.0 * hundred * (now.cpu - then.cpu) / span,
                hundred * now.memory
            );
        }
        println!(
            "  {:<22} {:6.2} kB/s",
            "network",
            hundred * (carried() - bytes) as f64 / span / 1000.0
        );
    }

    /// The processes, by what they are.
    fn parts(&self) -> Vec<(&'static str, Vec<u32>)> {
        let brokers = &self.brokers;
        let mut parts = vec![
            ("gateways", self.gateways.iter().map(Gateway::process).collect()),
            (
                "brokers",
                brokers
                    .central
                    .iter()
                    .map(super::brokers::Broker::process)
                    .collect(),
            ),
        ];
        if !brokers.own.is_empty() {
            parts.push((
                "brokers of gateways",
                brokers
                    .own
                    .iter()
                    .map(crate::broker::Mosquitto::process)
                    .collect(),
            ));
        }
        parts.extend(
            self.page
                .iter()
                .map(|page| ("page with broadcast", vec![page.child.id()])),
        );
        parts.extend(
            self.archive
                .iter()
                .map(|archive| ("archive", vec![archive.process()])),
        );
        parts.extend(
            self.postgres
                .iter()
                .map(|postgres| ("database", vec![postgres.process()])),
        );
        parts.push(("(players)", self.gateways.iter().map(Gateway::players).collect()));
        parts
    }

    /// Lets the play stand still, and waits until nobody has anything more to tell.
    pub async fn rest(&self) {
        for gateway in &self.gateways {
            super::brokers::signal(gateway.players(), "STOP");
        }
        let counts = || -> Vec<usize> {
            self.gateways
                .iter()
                .map(|gateway| gateway.journal().len())
                .collect()
        };
        let mut before = Vec::new();
        until("rest", 3 * PATIENCE, || {
            std::thread::sleep(Duration::from_secs(6));
            let now = counts();
            let is_still = now == before;
            before = now;
            is_still.then_some(())
        });
    }
}
