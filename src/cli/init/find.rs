//! Where boards are: ports that look like one are asked.

use anyhow::Context;

use crate::{
    cli::{check::Found, ports, reach},
    config::Port,
    link::{
        Source,
        enumerate::{self, ports},
        same_number,
    },
};

/// A port that may lead to a board.
#[derive(Debug)]
pub(super) struct Place {
    /// As the configuration names it.
    pub(super) port: Port,
    /// What was said there, or why nothing was; for a person.
    pub(super) said: String,
    /// Whether a board answered.
    pub(super) answers: bool,
}

/// The ports that look like a board's, each under a name that stays. All others are left alone: what hangs there
/// may take a question for an order.
///
/// # Errors
/// When the system does not list its ports.
pub(super) fn attached() -> anyhow::Result<Vec<Place>> {
    let ports = ports().context("cannot list the serial ports")?;
    let asked: Vec<_> = ports
        .iter()
        .filter(|port| port.may_be_board())
        .map(|port| (port, asked(&port.path.to_string_lossy())))
        .collect();
    let serials: Vec<_> = asked
        .iter()
        .flat_map(|(_, found)| found.iter().flat_map(|found| &found.serials))
        .collect();
    asked
        .iter()
        .map(|(port, found)| {
            let name = stable_name(port, &ports, found.as_ref().ok(), &serials);
            Ok(place(name.parse()?, found.clone()))
        })
        .collect()
}

/// A port that somebody named.
pub(super) fn given(port: &Port) -> Place {
    place(port.clone(), asked(port.as_str()))
}

fn asked(port: &str) -> Result<Found, String> {
    let source: Source = port.parse().map_err(|error| format!("{error}"))?;
    reach::asked(&source)
}

fn place(port: Port, found: Result<Found, String>) -> Place {
    let answers = found.is_ok();
    let said = found.map_or_else(|wrong| wrong, |found| found.words);
    Place { port, said, answers }
}

/// The name of the port; where another adapter shares it, the number of the board, if that is one's own.
fn stable_name(
    port: &enumerate::Port,
    ports: &[enumerate::Port],
    found: Option<&Found>,
    serials: &[&String],
) -> String {
    if !ports::is_shared(port, ports) {
        return ports::stable_name(port);
    }
    let is_own = |serial: &&String| serials.iter().filter(|other| same_number(other, serial)).count() == 1;
    match found.and_then(|found| found.serials.iter().find(is_own)) {
        Some(serial) => format!("board:{serial}"),
        None => port.path.display().to_string(),
    }
}
