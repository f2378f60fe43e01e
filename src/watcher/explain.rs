//! Why the watcher says what it says: the explanations that it weighs at a moment, how likely each is, what each
//! paid for what, and what is being waited for.

use std::fmt;

use super::{
    core::{Core, Phase},
    game::{Game, names},
    outbox::Outbox,
};
use shakmaty::Square;

use crate::{
    board::{Code, Item, Line, PlyKind, Sensed, weight},
    time::Millis,
};

/// So many of the likeliest explanations are told.
const TOLD: usize = 6;

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

/// What a square shows, as a FEN writes it.
fn letter(code: Code) -> String {
    match code.piece() {
        Some(piece) => piece.char().to_string(),
        None if code.is_empty() => "nothing".to_owned(),
        None if code == Code::MAN => "a piece".to_owned(),
        None => format!("code {}", code.0),
    }
}

/// What is wrong with board or pieces by `line`.
fn faults(line: &Line) -> Vec<String> {
    let faults = line.faults();
    let named = |square: Square| format!("{} on {square}", letter(line.placement().at(square)));
    let mut words: Vec<String> = Vec::new();
    if faults.hidden.any() {
        let hidden: Vec<_> = faults.hidden.into_iter().map(named).collect();
        words.push(format!("{} not read", hidden.join(", ")));
    }
    if faults.silent.any() {
        let silent: Vec<_> = faults.silent.into_iter().map(|s| s.to_string()).collect();
        words.push(format!("{} may read nothing", silent.join(", ")));
    }
    if let Some(fall) = faults.fall {
        let fallen: Vec<_> = fall.homes().into_iter().map(named).collect();
        let over = if fall.is_over() { ", put back" } else { "" };
        words.push(format!("{} fell{over}", fallen.join(", ")));
    }
    words
}

impl Account {
    /// The same with what is being waited for.
    fn waiting_for(mut self, waits: &[&'static str]) -> Self {
        self.waits = waits.to_vec();
        self
    }
}

impl Core {
    /// What is weighed at `now`; none where no game goes on.
    pub(super) fn account(&self, now: Millis) -> Option<Account> {
        match &self.phase {
            Phase::Game(game) => Some(
                game.account(&self.sensed, now, None, &self.out)
                    .waiting_for(&self.out.waits),
            ),
            Phase::Waiting(_) => None,
        }
    }
}

impl Game {
    /// What is weighed at `now`, on account of event `seq`.
    pub(super) fn account(&self, sensed: &Sensed, now: Millis, seq: Option<u64>, out: &Outbox) -> Account {
        let lines = self.lines.all();
        let totals: Vec<f32> = lines.iter().map(|line| line.total(sensed, now)).collect();
        let odds = weight::posterior(&totals);
        let mut told: Vec<_> = lines.iter().zip(odds).collect();
        told.sort_by(|a, b| b.1.total_cmp(&a.1));
        let most = if out.whole_accounts { lines.len() } else { TOLD };
        let hypotheses = told.iter().take(most);
        Account {
            at: now,
            seq,
            base: self.base,
            recorded: self.plies(),
            hypotheses: hypotheses
                .map(|(line, p)| self.hypothesis(line, *p, sensed, now))
                .collect(),
            more: lines.len().saturating_sub(most),
            waits: Vec::new(),
        }
    }

    fn hypothesis(&self, line: &Line, probability: f64, sensed: &Sensed, now: Millis) -> Hypothesis {
        let mut before = self.stand_at(self.base).clone();
        let (mut half_moves, mut acts) = (Vec::new(), Vec::new());
        for (n, ply) in (self.base + 1..).zip(&line.plies) {
            let (uci, san) = names(&before, &ply.kind, self.mode);
            let mark = match ply.kind {
                PlyKind::Legal(_) => "",
                PlyKind::Ruled(_) => " by ruling",
                PlyKind::Recovered(_) => " unseen",
                PlyKind::Illegal(_) | PlyKind::Suspect(_) => " illegal",
            };
            let pressed = if ply.pressed.is_some() { "" } else { "~" };
            let name = san.unwrap_or_else(|| uci.clone());
            acts.push(Acted {
                uci,
                illegal: ply.kind.legal().is_none(),
            });
            half_moves.push(format!("{n}.{name}{pressed}{mark}"));
            before = ply.stand.clone();
        }
        let differing = line.differing().into_iter();
        Hypothesis {
            probability,
            half_moves,
            acts,
            owed: line.waiting(),
            fell_at: line
                .faults()
                .fall
                .and_then(|fall| self.ply_pressed_at(line, fall.pressed)),
            faults: faults(line),
            differing: differing
                .map(|s| format!("{s} reads {}", letter(sensed.at(s))))
                .collect(),
            paid: line.account(sensed, now).items(),
        }
    }

    /// The half-move of the game that was pressed for at `pressed` by `line`.
    pub(super) fn ply_pressed_at(&self, line: &Line, pressed: Millis) -> Option<usize> {
        let own = line.plies.iter().position(|ply| ply.pressed == Some(pressed));
        let recorded = || self.record.iter().rposition(|made| made.at == pressed);
        own.map(|index| self.base + index + 1)
            .or_else(|| recorded().map(|index| index + 1))
    }
}
