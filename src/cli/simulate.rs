//! `dgt2mqtt simulate`: captures, or games that are made up, as boards on pseudo terminals.

use std::{
    fs,
    io::{self, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use fastrand::Rng;
use tokio::task::JoinSet;

use super::names;
use crate::{
    capture::{Capture, Header},
    dgt::bus::Address,
    link::file::read_capture,
    sim::{
        board::SimulatedIdentity,
        games,
        line::{SimulatedLine, Troubles},
        mess::{self, FaultRates},
        player::{Pace, PlayedBoard},
        port::Socket,
        serve::{Serving, Station},
        slave::Slave,
        whole::told_by,
    },
    watcher::Protocol,
};

/// Play captures, or made-up games, as boards on pseudo terminals.
///
/// Prints what a host is to open, one line for each board, and answers it as a board does. A game begins
/// when the host listens and stands still while none does. With --line the boards share one port.
#[derive(Debug, Args)]
pub(super) struct Simulate {
    /// Captures, each on a board of its own
    #[arg(required_unless_present = "boards", conflicts_with = "boards")]
    captures: Vec<PathBuf>,
    /// As many boards with games that are made up
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    boards: Option<u16>,
    /// Games for --boards, from a PGN file
    #[arg(long, requires = "boards")]
    games: Option<PathBuf>,
    /// All boards on one line: they share a port, and speak when they are asked
    #[arg(long, conflicts_with_all = ["slow_line", "no_wait"])]
    line: bool,
    /// The chance of an answer on the line to be damaged
    #[arg(long, value_name = "CHANCE", default_value_t = 0.0, requires = "line", value_parser = chance)]
    noise: f64,
    /// The first board of the line answers so many milliseconds later than the others
    #[arg(long, value_name = "MS", default_value_t = 0, requires = "line", value_parser = clap::value_parser!(u64).range(..=1000))]
    late: u64,
    /// What the boards speak: all but DGT's have no clock, and with occ1 they feel only which squares are occupied
    #[arg(long, value_parser = names::one_of::<Protocol, _>(Protocol::NAMES), default_value = "dgt")]
    protocol: Protocol,
    /// What goes wrong in made-up games, as KIND[=CHANCE],... ; an unknown kind lists them all
    #[arg(
        long,
        value_name = "KIND[=CHANCE],...",
        requires = "boards",
        conflicts_with = "games"
    )]
    faults: Option<FaultRates>,
    /// Seed of what is made up
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// So many times faster than it was
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Stable name of the terminal; further boards get -2, -3 and so on
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    link: Option<PathBuf>,
    /// Serve over TCP instead; further boards get the next ports
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The game goes on while no host listens, and the host misses it
    #[arg(long)]
    no_wait: bool,
    /// No faster than 9600 baud
    #[arg(long)]
    slow_line: bool,
    /// Go on answering when the games are over
    #[arg(long)]
    keep: bool,
    /// Seconds to go on answering when a game is over
    #[arg(long, default_value_t = 5.0, value_parser = seconds, conflicts_with = "keep")]
    linger: f64,
}

/// Reads a speed from the command line.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if (0.01..=10_000.0).contains(&speed) => Ok(speed),
        _ => Err("a speed is a number from 0.01 to 10000".to_owned()),
    }
}

fn chance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(chance) if (0.0..=0.5).contains(&chance) => Ok(chance),
        _ => Err("a chance of an answer is a number from 0 to 0.5".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("write seconds, at most a day".to_owned()),
    }
}

impl Simulate {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let players = self.players()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            tokio::select! {
                done = self.serve(players) => done,
                stopped = super::exit::stopped() => stopped.context("cannot wait for signals"),
            }
        })
    }

    async fn serve(&self, players: Vec<PlayedBoard>) -> anyhow::Result<()> {
        let serving = Serving {
            slow_line: self.slow_line,
            linger: (!self.keep).then(|| Duration::from_secs_f64(self.linger)),
        };
        if self.line {
            return self.serve_line(players, serving).await;
        }
        let mut stations = Vec::new();
        for (number, player) in (1u16..).zip(players) {
            let place = self.place(number)?;
            let station = Station::new(player, place, serving).await;
            stations.push(station.context("cannot attach a simulated board")?);
        }
        let mut out = io::stdout().lock();
        for station in &stations {
            writeln!(out, "{}", station.name()).context("cannot say where the boards are")?;
        }
        out.flush().context("cannot say where the boards are")?;
        drop(out);
        let mut running: JoinSet<io::Result<()>> = stations.into_iter().map(Station::run).collect();
        while let Some(ended) = running.join_next().await {
            ended?.context("a simulated board failed")?;
        }
        Ok(())
    }

    /// Serves all boards on one port, and tells for each what a host must open.
    async fn serve_line(&self, players: Vec<PlayedBoard>, serving: Serving) -> anyhow::Result<()> {
        let serials: Vec<String> = (1u16..)
            .zip(&players)
            .map(|(number, _)| SimulatedIdentity::synthetic(number).serial)
            .collect();
        let mut slaves = Vec::new();
        for (player, serial) in players.into_iter().zip(&serials) {
            if player.speaks_unasked() {
                bail!("a board that speaks unasked cannot share a line: leave `--line` or `--protocol` out");
            }
            let address = Address::of_serial(serial).context("a simulated board has no address on a line")?;
            slaves.push(player.on_line(Slave::new(address.get())));
        }
        let troubles = Troubles {
            noise: self.noise,
            late_ms: self.late,
        };
        let line = SimulatedLine::new(slaves, troubles, self.seed);
        let station = Station::new(line, self.place(1)?, serving).await;
        let station = station.context("cannot attach a simulated line")?;
        let mut out = io::stdout().lock();
        for serial in serials {
            writeln!(out, "bus:{serial}@{}", station.name()).context("cannot say where the boards are")?;
        }
        out.flush().context("cannot say where the boards are")?;
        drop(out);
        station.run().await.context("the simulated line failed")
    }

    fn place(&self, number: u16) -> anyhow::Result<Socket> {
        if let Some(mut address) = self.listen {
            if address.port() != 0 {
                let port = address
                    .port()
                    .checked_add(number - 1)
                    .context("no TCP port is left")?;
                address.set_port(port);
            }
            return Ok(Socket::Tcp(address));
        }
        Ok(Socket::Pty(
            self.link.as_deref().map(|link| numbered(link, number)),
        ))
    }

    fn players(&self) -> anyhow::Result<Vec<PlayedBoard>> {
        let pace = Pace {
            speed: self.speed,
            wait: !self.no_wait,
        };
        if let (Some(boards), Some(faults)) = (self.boards, &self.faults) {
            let messy = |number: u16| {
                let seed = self.seed.wrapping_add(u64::from(number));
                mess::play(faults, seed).player(self.protocol.family(), number + 1, pace)
            };
            return Ok((0..boards).map(messy).collect());
        }
        let mut captures = self.captures()?;
        if let Some(family) = self.protocol.family() {
            for capture in &mut captures {
                if capture.header.protocol().is_none() {
                    *capture = told_by(family, capture)?;
                }
            }
        }
        let captures = (1u16..).zip(captures);
        let player =
            |(number, capture)| PlayedBoard::new(capture, SimulatedIdentity::synthetic(number), pace);
        Ok(captures.map(player).collect())
    }

    fn captures(&self) -> anyhow::Result<Vec<Capture>> {
        let Some(boards) = self.boards else {
            let read = self.captures.iter().map(|path| Ok(read_capture(path)?));
            return read.collect();
        };
        let read = match &self.games {
            Some(path) => {
                let text =
                    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
                let games = games::from_pgn(&text).with_context(|| path.display().to_string())?;
                if games.is_empty() {
                    bail!("{}: no games", path.display());
                }
                games
            }
            None => Vec::new(),
        };
        let one = |number: u16| {
            let seed = self.seed.wrapping_add(u64::from(number));
            let mut header = Header::default();
            header.push("board", &format!("sim-{}", number + 1))?;
            header.push("time-control", "rapid")?;
            let moves = match read.len() {
                0 => games::made_up(&mut Rng::with_seed(seed)),
                games => read[usize::from(number) % games].clone(),
            };
            Ok(games::play(&moves, header, seed)?)
        };
        (0..boards).map(one).collect()
    }
}

fn numbered(link: &Path, number: u16) -> PathBuf {
    if number == 1 {
        return link.to_owned();
    }
    let mut name = link.as_os_str().to_owned();
    name.push(format!("-{number}"));
    name.into()
}
