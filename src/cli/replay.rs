//! `dgt2mqtt replay`: captures through the very same core as the daemon, as fast as it goes.

use std::{
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;

use super::names;
use crate::{
    capture::{Capture, is_board_id, replay::replay},
    laws::{Edition, Supervision, TimeControl},
    link::file,
    time::Millis,
    watcher::{Protocol, Settings, Watcher},
};

/// Print the events of captures as JSON Lines.
///
/// Each capture is a run of its own. What a flag does not say is taken from the capture's header.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// Capture files (.dgtcap, .dgtcap.zst)
    #[arg(required = true)]
    captures: Vec<PathBuf>,
    /// Edition of the Laws of Chess
    #[arg(long, value_parser = names::one_of::<Edition, 5>(names::LAWS))]
    laws: Option<Edition>,
    /// Time control of the games
    #[arg(long, value_parser = names::one_of::<TimeControl, 3>(names::TIME_CONTROLS))]
    time_control: Option<TimeControl>,
    /// Whether there are enough arbiters for the Competition Rules
    #[arg(long, value_parser = names::one_of::<Supervision, 2>(names::SUPERVISIONS))]
    supervision: Option<Supervision>,
    /// What the board spoke
    #[arg(long, value_parser = names::one_of::<Protocol, 2>(names::PROTOCOLS))]
    protocol: Option<Protocol>,
    /// The board's id
    #[arg(long, value_parser = names::board_id)]
    board: Option<String>,
}

impl Replay {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        for path in &self.captures {
            let capture = file::read_capture(path)?;
            let mut watcher = Watcher::new(self.settings(path, &capture), None);
            let mut bar = Bar::new(path, capture.end());
            replay(&mut watcher, &capture, |event| {
                bar.show(event.t);
                let line = serde_json::to_string(&event).map_err(io::Error::from)?;
                writeln!(out, "{line}")
            })
            .context("cannot write the events")?;
            bar.clear();
        }
        out.flush().context("cannot write the events")
    }

    fn settings(&self, path: &Path, capture: &Capture) -> Settings {
        let header = &capture.header;
        let own = || header.board().map_or_else(|| id_from_name(path), str::to_owned);
        Settings {
            gateway: "replay".to_owned(),
            board: self.board.clone().unwrap_or_else(own),
            protocol: self.protocol.or_else(|| header.protocol()).unwrap_or_default(),
            laws: self.laws.or_else(|| header.laws()).unwrap_or_default(),
            time_control: self
                .time_control
                .or_else(|| header.time_control())
                .unwrap_or_default(),
            supervision: self
                .supervision
                .or_else(|| header.supervision())
                .unwrap_or_default(),
            periods: header.periods().to_vec(),
            epoch_ms: header.epoch_ms(),
            ..Settings::default()
        }
    }
}

/// An id from the name of the file, for a capture that does not say which board it is from.
fn id_from_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".zst").unwrap_or(&name);
    let stem = stem.strip_suffix(".dgtcap").unwrap_or(stem);
    let id: String = stem
        .to_ascii_lowercase()
        .chars()
        .map(|c| {
            if is_board_id(c.encode_utf8(&mut [0; 4])) {
                c
            } else {
                '-'
            }
        })
        .take(32)
        .collect();
    if id.is_empty() { "board".to_owned() } else { id }
}

/// The progress bar: on standard error, when that is a terminal and the run lasts long enough to wonder.
struct Bar {
    name: Option<String>,
    end: f64,
    next: Instant,
    shown: bool,
}

impl Bar {
    const WIDTH: usize = 30;
    const EVERY: Duration = Duration::from_millis(100);

    fn new(path: &Path, end: Millis) -> Self {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Self {
            name: io::stderr().is_terminal().then_some(name),
            end: end.seconds().max(f64::MIN_POSITIVE),
            next: Instant::now() + Self::EVERY,
            shown: false,
        }
    }

    fn show(&mut self, t: f64) {
        let Some(name) = &self.name else { return };
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + Self::EVERY;
        self.shown = true;
        let done = ((t / self.end).clamp(0.0, 1.0) * Self::WIDTH as f64) as usize;
        let rest = Self::WIDTH - done;
        eprint!("\r\x1b[K[{}{}] {name}", "#".repeat(done), " ".repeat(rest));
    }

    fn clear(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_gives_a_valid_id() {
        for (name, id) in [
            ("x/Board 7.dgtcap.zst", "board-7"),
            ("é#+.dgtcap", "---"),
            (".dgtcap", "board"),
            ("/", "board"),
        ] {
            assert_eq!(id_from_name(Path::new(name)), id);
            assert!(is_board_id(id));
        }
    }
}
