//! The hypotheses and what they pay, as `replay --explain` prints them.

use shakmaty::Square;

use super::Course;
use crate::{
    board::{Code, Line, PlyKind, Sensed, weight},
    time::Millis,
    watcher::{
        explain::{Account, Acted, Hypothesis},
        game::names,
        outbox::Outbox,
    },
};

/// Number of hypotheses that are printed, the likeliest first.
const TOLD: usize = 6;

/// The reading of a square in words: the letter that a FEN uses, where the piece is known.
fn letter(code: Code) -> String {
    match code.piece() {
        Some(piece) => piece.char().to_string(),
        None if code.is_empty() => "nothing".to_owned(),
        None if code == Code::UNKNOWN => "a piece".to_owned(),
        None => format!("code {}", code.0),
    }
}

/// The sensor faults that `line` assumes, in words.
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

impl Course {
    /// The hypotheses at `now`. Event `seq` is the reason why they are printed.
    pub(in crate::watcher) fn account(
        &self,
        sensed: &Sensed,
        now: Millis,
        seq: Option<u64>,
        out: &Outbox,
    ) -> Account {
        let lines = self.lines.all();
        let totals: Vec<f32> = lines.clone().map(|line| line.total(sensed, now)).collect();
        let odds = weight::posterior(&totals);
        let mut told: Vec<_> = lines.clone().zip(odds).collect();
        told.sort_by(|a, b| b.1.total_cmp(&a.1));
        let most = if out.whole_accounts { lines.len() } else { TOLD };
        let hypotheses = told.iter().take(most);
        Account {
            at: now,
            seq,
            base: self.base,
            recorded: self.record.plies(),
            hypotheses: hypotheses
                .map(|(line, p)| self.hypothesis(line, *p, sensed, now))
                .collect(),
            more: lines.len().saturating_sub(most),
            waits: Vec::new(),
        }
    }

    fn hypothesis(&self, line: &Line, probability: f64, sensed: &Sensed, now: Millis) -> Hypothesis {
        let mut before = self.record.stand_at(self.base).clone();
        let (mut half_moves, mut acts) = (Vec::new(), Vec::new());
        for (n, ply) in (self.base + 1..).zip(&line.plies) {
            let made_in = ply.made_in.as_ref().unwrap_or(&before);
            let (uci, san) = names(made_in, &ply.kind, self.record.mode());
            let mark = match ply.kind {
                PlyKind::Legal(_) => "",
                PlyKind::Ruled(_) => " by ruling",
                PlyKind::Recovered(_) => " unseen",
                PlyKind::Illegal(_) | PlyKind::Suspect(_) => " illegal",
            };
            let pressed = if ply.pressed.is_some() { "" } else { "~" };
            let uci = uci.to_string();
            let name = san.map_or_else(|| uci.clone(), |san| san.to_string());
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

    /// The number of the half-move that the press at `pressed` completed, if `line` is true.
    pub(in crate::watcher::game) fn ply_pressed_at(&self, line: &Line, pressed: Millis) -> Option<usize> {
        let own = line.plies.iter().position(|ply| ply.pressed == Some(pressed));
        let recorded = || self.record.iter().rposition(|made| made.at == pressed);
        own.map(|index| self.base + index + 1)
            .or_else(|| recorded().map(|index| index + 1))
    }
}
