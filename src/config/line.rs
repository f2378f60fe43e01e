//! Lines that boards share: `[[line]]`, and the boards that name one.

use std::{collections::HashMap, ops::Range};

use toml::Spanned;

use super::{
    BoardConfig, PortName,
    raw::{RawBoard, RawLine},
    read::Document,
};
use crate::{
    dgt::{bus::Address, line::budget},
    watcher::{MOST_GATHERED_MS, Protocol},
};

/// The ports of the lines by their names.
#[derive(Default)]
pub(super) struct LinePorts {
    ports: HashMap<String, Spanned<String>>,
    /// Ports of lines on which the daemon also looks for boards that are not configured.
    pub(super) searched: Vec<String>,
}

/// Reads `[[line]]`: the lines, and their boards that have no table of their own.
pub(super) fn lines(
    list: Vec<Spanned<RawLine>>,
    document: &mut Document<'_>,
) -> (LinePorts, Vec<Spanned<RawBoard>>) {
    let (mut lines, mut boards) = (LinePorts::default(), Vec::new());
    for raw in list {
        let span = raw.span();
        let RawLine {
            name,
            port,
            boards: listed,
            discover,
        } = raw.into_inner();
        let Some(port) = port else {
            let help = "write `port = \"/dev/serial/by-id/...\"`; `dgt2mqtt ports` lists what is attached";
            document.missing(Some(span), "the line has no port", help);
            continue;
        };
        // A line that no board names needs no name.
        let name = name.unwrap_or_else(|| Spanned::new(span.clone(), format!("line at {}", span.start)));
        for serial in listed {
            let place = serial.span();
            let board = RawBoard {
                id: Some(serial.clone()),
                line: Some(Spanned::new(place.clone(), name.get_ref().clone())),
                serial: Some(serial),
                ..RawBoard::default()
            };
            boards.push(Spanned::new(place, board));
        }
        if discover {
            lines.searched.push(port.get_ref().clone());
        }
        let what = format!("two lines have the name {:?}", name.get_ref());
        let place = name.span();
        if lines.ports.insert(name.into_inner(), port).is_some() {
            document.problem(place, what, "give each line its own name");
        }
    }
    (lines, boards)
}

impl LinePorts {
    /// The port of a board, or its place at a line.
    pub(super) fn port(
        &self,
        raw: &mut RawBoard,
        board: &Range<usize>,
        document: &mut Document<'_>,
    ) -> Option<Spanned<String>> {
        let Some(line) = raw.line.take() else {
            if let Some(serial) = &raw.serial {
                let help =
                    "write `line = \"...\"` with the name of a [[line]] besides, or leave `serial` out";
                document.problem(
                    serial.span(),
                    "a serial number says nothing of a board with a port of its own",
                    help,
                );
            }
            return raw.port.take();
        };
        if let Some(port) = &raw.port {
            document.problem(
                port.span(),
                "the board has a port and is on a line",
                "leave one of them out",
            );
        }
        if raw.protocol != Protocol::Dgt {
            document.problem(
                line.span(),
                "only DGT boards share a line",
                "leave `protocol` out",
            );
        }
        let Some(port) = self.ports.get(line.get_ref()) else {
            let known: Vec<&str> = self.ports.keys().map(String::as_str).collect();
            let help = match known.is_empty() {
                true => "add a table [[line]] with `name` and `port`".to_owned(),
                false => format!("lines are: {}", known.join(", ")),
            };
            document.problem(
                line.span(),
                format!("there is no line {:?}", line.get_ref()),
                help,
            );
            return None;
        };
        let Some(serial) = &raw.serial else {
            let help = "write `serial = \"...\"`, as it stands on the board; `dgt2mqtt ports --line PORT` asks the boards of a line";
            document.missing(
                Some(board.clone()),
                "a board on a line is told from the others by its serial number",
                help,
            );
            return None;
        };
        let place = format!("bus:{}@{}", serial.get_ref(), port.get_ref());
        Some(Spanned::new(serial.span(), place))
    }
}

/// The devices that are lines, and their addresses that are taken.
#[derive(Default)]
pub(super) struct Places(HashMap<String, HashMap<Address, String>>);

impl Places {
    /// True where this device is a line.
    pub(super) fn has(&self, device: &str) -> bool {
        self.0.contains_key(device)
    }

    /// Takes the address on the line at `device` for the board with this serial number.
    ///
    /// # Errors
    /// The serial number of the board that has it.
    pub(super) fn take(&mut self, device: String, serial: &str) -> Result<(), String> {
        let Some(address) = Address::of_serial(serial) else {
            return Ok(());
        };
        let places = self.0.entry(device).or_default();
        places.insert(address, serial.to_owned()).map_or(Ok(()), Err)
    }
}

/// Sets for each board on a line how many share the line, and that it gathers a board's bytes for as long as a round of
/// questions takes.
pub(super) fn share(boards: &mut [BoardConfig]) {
    let mut counts: HashMap<String, u64> = HashMap::new();
    let line = |port: &PortName| port.shared().map(|(_, line)| line.to_owned());
    for line in boards.iter().filter_map(|board| line(&board.port)) {
        *counts.entry(line).or_default() += 1;
    }
    for board in boards {
        let Some(count) = line(&board.port).and_then(|line| counts.get(&line)) else {
            continue;
        };
        board.boards_on_line = *count;
        if board.gathered_ms == 0 {
            board.gathered_ms = budget::gathered_ms(*count).min(MOST_GATHERED_MS);
        }
    }
}
