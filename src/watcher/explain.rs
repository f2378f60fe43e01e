//! Why the watcher reports what it reports: the hypotheses at a moment, how likely each is, what each pays
//! for, and what the watcher waits for.

use std::fmt;

use crate::{board::Item, time::Millis};

/// The rival hypotheses at a moment.
#[derive(Clone, Debug)]
pub struct Account {
    /// The moment, since the start of the capture or of the daemon.
    pub at: Millis,
    /// The `seq` of the event that was decided then; none for a moment that the caller asked for.
    pub seq: Option<u64>,
    /// The number of half-moves from which all hypotheses go on.
    pub base: usize,
    /// Number of half-moves of the record at that moment.
    pub recorded: usize,
    /// The hypotheses, the likeliest first.
    pub hypotheses: Vec<Hypothesis>,
    /// Number of further hypotheses.
    pub more: usize,
    /// What the watcher waits for.
    pub waits: Vec<&'static str>,
}

/// A hypothesis, as a reader sees it: a line of play that explains all readings and presses.
#[derive(Clone, Debug)]
pub struct Hypothesis {
    /// Its posterior, 0 to 1.
    pub probability: f64,
    /// Its half-moves since the base, in SAN; an illegal act as squares.
    pub half_moves: Vec<String>,
    /// The same, for a program.
    pub acts: Vec<Acted>,
    /// Presses whose half-moves it has yet to find.
    pub owed: usize,
    /// The number of the half-move at which pieces fell, if it assumes a fall.
    pub fell_at: Option<usize>,
    /// The sensor faults that it assumes.
    pub faults: Vec<String>,
    /// Squares that it does not explain, with their readings.
    pub differing: Vec<String>,
    /// What it pays, in nats, the largest item first.
    pub paid: Vec<(Item, f32)>,
}

/// A half-move of a hypothesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acted {
    /// UCI, as in the events; `0000` for an act that no single move describes.
    pub uci: String,
    /// The half-move is an illegal act.
    pub illegal: bool,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.at.seconds())?;
        if let Some(seq) = self.seq {
            write!(f, ", event {seq}")?;
        }
        writeln!(f, ": {} half-moves on the record", self.recorded)?;
        for hypothesis in &self.hypotheses {
            writeln!(f, "  {hypothesis}")?;
        }
        if self.more > 0 {
            writeln!(f, "  and {} less likely", self.more)?;
        }
        for wait in &self.waits {
            writeln!(f, "  waits for {wait}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Hypothesis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:8.4} %  ", self.probability * 100.0)?;
        if self.half_moves.is_empty() {
            f.write_str("(nothing more)")?;
        }
        f.write_str(&self.half_moves.join(" "))?;
        for fault in &self.faults {
            write!(f, "; {fault}")?;
        }
        if !self.differing.is_empty() {
            write!(f, "; but {}", self.differing.join(", "))?;
        }
        f.write_str("\n              pays")?;
        for (item, nats) in &self.paid {
            write!(f, " {nats:.2} {},", item.words())?;
        }
        Ok(())
    }
}
