//! `dgt2mqtt gateways`: lists the gateways that announce themselves in the local network.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    net::IpAddr,
    time::Duration,
};

use anyhow::Context;
use clap::{Args, value_parser};
use serde::Serialize;

use crate::neighbours::{Announcement, Neighbours, find};

/// List the gateways that announce themselves in the local network.
#[derive(Debug, Args)]
pub(super) struct Gateways {
    /// How long to listen
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// A line of the JSON.
#[derive(Serialize)]
struct Line {
    name: String,
    base_topic: String,
    machine: String,
    addresses: Vec<String>,
    broker: Option<String>,
    version: String,
    boards: u32,
}

impl Gateways {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let found = find(Duration::from_secs(self.seconds))
            .context("cannot listen to the local network by multicast")?;
        let lines = lines(&found);
        let mut out = io::stdout().lock();
        for line in &lines {
            if self.json {
                writeln!(out, "{}", serde_json::to_string(line)?)?;
            } else {
                writeln!(out, "{}", words(line))?;
            }
        }
        tell_beside(&found, &lines);
        Ok(())
    }
}

fn lines(found: &Neighbours) -> Vec<Line> {
    let line = |(told, addresses): &'_ (Announcement, BTreeSet<IpAddr>)| Line {
        name: told.name.to_string(),
        base_topic: told.base_topic.to_string(),
        machine: told.machine.clone(),
        addresses: addresses.iter().map(ToString::to_string).collect(),
        broker: told.broker.as_ref().map(ToString::to_string),
        version: told.version.clone(),
        boards: told.boards,
    };
    found.gateways().into_iter().map(line).collect()
}

fn words(line: &Line) -> String {
    format!(
        "{}/{} on {} ({}), {} boards, broker {}, version {}",
        line.base_topic,
        line.name,
        line.machine,
        line.addresses.join(", "),
        line.boards,
        line.broker.as_deref().unwrap_or("not told"),
        line.version
    )
}

/// Tells on standard error what is no gateway in the list.
fn tell_beside(found: &Neighbours, lines: &[Line]) {
    if lines.is_empty() {
        eprintln!(
            "No gateway announced itself: `announce = true` under [gateway] has one do so, and only in its own network."
        );
    }
    for pair in lines.windows(2).filter(|pair| pair[0].name == pair[1].name) {
        eprintln!(
            "Note: two gateways are called {}, and no two of one broker may be.",
            pair[0].name
        );
    }
    if found.is_full() {
        eprintln!(
            "Note: there were more answers than a hall has gateways, so the list is cut off: somebody makes them up."
        );
    }
    if found.unfit > 0 {
        eprintln!(
            "Note: {} answers had a form that no gateway gives them, and are left out.",
            found.unfit
        );
    }
}
