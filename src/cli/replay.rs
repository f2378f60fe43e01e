//! `dgt2mqtt replay`: captures through the very same core as the daemon, as fast as it goes.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;

use super::names;
use crate::{
    capture::{
        Capture, is_board_id,
        replay::{Outcome, replay, replay_explained, settings_of},
    },
    event::{Body, Event},
    laws::{Edition, Supervision, TimeControl},
    link::file,
    time::Millis,
    watcher::{MOST_GATHERED_MS, Protocol, Rules, Settings, Watcher},
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
    #[arg(long, value_parser = names::one_of::<Edition, _>(names::LAWS))]
    laws: Option<Edition>,
    /// Time control of the games
    #[arg(long, value_parser = names::one_of::<TimeControl, _>(names::TIME_CONTROLS))]
    time_control: Option<TimeControl>,
    /// Whether there are enough arbiters for the Competition Rules
    #[arg(long, value_parser = names::one_of::<Supervision, _>(names::SUPERVISIONS))]
    supervision: Option<Supervision>,
    /// What the board spoke
    #[arg(long, value_parser = names::one_of::<Protocol, _>(Protocol::NAMES))]
    protocol: Option<Protocol>,
    /// How long the line gathered bytes before they got their times, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=MOST_GATHERED_MS))]
    gathered: Option<u64>,
    /// The board's id
    #[arg(long, value_parser = names::board_id)]
    board: Option<String>,
    /// Say for each event which hypotheses were weighed: on standard error, or into a file (--explain=FILE)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    explain: Option<Option<PathBuf>>,
    /// Say what is weighed at this moment, in seconds since the start of the capture; may be given several times
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    explain_at: Vec<Millis>,
}

/// A moment of a capture.
fn seconds(text: &str) -> Result<Millis, String> {
    let seconds: f64 = text.parse().map_err(|_| "write seconds, as in 83.5".to_owned())?;
    if (0.0..1e9).contains(&seconds) {
        Ok(Millis((seconds * 1000.0).round() as u64))
    } else {
        Err("a capture has no such moment: write seconds since its start, as in 83.5".to_owned())
    }
}

impl Replay {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        let mut why = self.why()?;
        for path in &self.captures {
            let mut capture = file::read_capture(path)?;
            capture.header.map_rules_changes(|rules| self.rules(rules));
            let mut watcher = Watcher::new(self.settings(path, &capture), None);
            let mut bar = Bar::new(path, capture.end());
            let mut tell = |event: &Event| {
                bar.show(event.t);
                let line = serde_json::to_string(event).map_err(io::Error::from)?;
                writeln!(out, "{line}")
            };
            match &mut why {
                None => replay(&mut watcher, &capture, |event| tell(&event)),
                Some(why) => replay_explained(&mut watcher, &capture, &self.explain_at, |outcome| {
                    if let Outcome::Event(event, _) = &outcome {
                        tell(event)?;
                    }
                    self.explain(why, &outcome)
                }),
            }
            .context("cannot write the events or what explains them")?;
            bar.clear();
        }
        if let Some(why) = &mut why {
            why.flush().context("cannot write what explains the events")?;
        }
        out.flush().context("cannot write the events")
    }

    /// Where explanations go, if any are asked for.
    fn why(&self) -> anyhow::Result<Option<Box<dyn Write>>> {
        Ok(match &self.explain {
            Some(Some(path)) => {
                let file = File::create(path)
                    .with_context(|| format!("cannot write explanations to {}", path.display()))?;
                Some(Box::new(BufWriter::new(file)))
            }
            None if self.explain_at.is_empty() => None,
            _ => Some(Box::new(io::stderr())),
        })
    }

    fn explain(&self, why: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
        match outcome {
            Outcome::Event(event, Some(account)) if self.explain.is_some() => {
                writeln!(why, "{}\n{account}", in_short(&event.body))
            }
            Outcome::Event(..) => Ok(()),
            Outcome::Moment(_, Some(account)) => writeln!(why, "{account}"),
            Outcome::Moment(at, None) => writeln!(why, "{:.3} s: no game goes on\n", at.seconds()),
        }
    }

    fn settings(&self, path: &Path, capture: &Capture) -> Settings {
        let said = settings_of(&capture.header, &id_from_name(path));
        Settings {
            board: self.board.clone().unwrap_or(said.board),
            protocol: self.protocol.unwrap_or(said.protocol),
            gathered_ms: self.gathered.unwrap_or(said.gathered_ms),
            rules: self.rules(said.rules.clone()),
            ..said
        }
    }

    /// The rules that a capture names, but for what the command line says.
    fn rules(&self, said: Rules) -> Rules {
        Rules {
            laws: self.laws.unwrap_or(said.laws),
            time_control: self.time_control.unwrap_or(said.time_control),
            supervision: self.supervision.unwrap_or(said.supervision),
            ..said
        }
    }
}

/// What an event says, in a few words.
fn in_short(body: &Body) -> String {
    match body {
        Body::Move(made) => {
            let name = made.san.as_ref().unwrap_or(&made.uci);
            format!("move {} {name}", made.ply)
        }
        Body::MovesRetracted { to_ply, reason, .. } => format!("moves after {to_ply} retracted: {reason}"),
        Body::Irregularity(said) => format!(
            "irregularity at half-move {}: {} ({})",
            said.ply,
            said.kind.as_str(),
            said.certainty.in_words()
        ),
        Body::IrregularityResolved { irregularity, how } => {
            format!("{irregularity} {}", how.in_words())
        }
        Body::GameEnded { reason, .. } => format!("game ended: {reason}"),
        Body::Notice { code, message } => format!("notice {code}: {message}"),
        other => other.type_name().to_owned(),
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
