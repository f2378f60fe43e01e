//! Why the watcher says what it says: the explanations that it weighs at a moment, how likely each is, what each
//! paid for what, and what is being waited for.

use std::fmt;

use crate::{board::Item, time::Millis};

/// The rival explanations at a moment.
#[derive(Clone, Debug)]
pub struct Account {
    /// When, since the start of the capture or of the daemon.
    pub at: Millis,
    /// The event that was decided then; none for a moment that was asked for.
    pub seq: Option<u64>,
    /// The half-moves that all of them go on from.
    pub base: usize,
    /// Half-moves of the record by then.
    pub recorded: usize,
    /// The explanations, the likeliest first.
    pub hypotheses: Vec<Hypothesis>,
    /// How many more there are.
    pub more: usize,
    /// What is being waited for.
    pub waits: Vec<&'static str>,
}

/// One explanation of what was read.
#[derive(Clone, Debug)]
pub struct Hypothesis {
    /// How likely it is among all of them, 0 to 1.
    pub probability: f64,
    /// Its half-moves since the base, as they are written down; what is no legal half-move as squares.
    pub half_moves: Vec<String>,
    /// The same, for a program.
    pub acts: Vec<Acted>,
    /// Presses whose half-moves it has yet to find.
    pub owed: usize,
    /// The half-move of the game with which pieces fell by it.
    pub fell_at: Option<usize>,
    /// What is wrong with board or pieces by it.
    pub faults: Vec<String>,
    /// Squares that show something else than it says, with what is read there.
    pub differing: Vec<String>,
    /// What it pays, in nats, the dearest first.
    pub paid: Vec<(Item, f32)>,
}

/// A half-move of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acted {
    /// UCI, as in the events; `0000` for an act that no single move describes.
    pub uci: String,
    /// It is an act that the Laws do not allow.
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

impl Account {
    /// The same with what is being waited for.
    pub(super) fn waiting_for(mut self, waits: &[&'static str]) -> Self {
        self.waits = waits.to_vec();
        self
    }
}
