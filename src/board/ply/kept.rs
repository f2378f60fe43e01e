//! The half-moves of all lines as a snapshot keeps them. They are a tree, for lines share most of their
//! half-moves.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{fen::Fen, uci::UciMove};

use super::{Plies, Ply, PlyKind};
use crate::{
    board::{act::IllegalAct, stand::Stand},
    time::Millis,
};

/// The tree of half-moves. Each stands after the half-move that it follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::board) struct KeptPlies(Vec<KeptPly>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KeptPly {
    /// The number of the half-move before it; none for the first of a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<usize>,
    kind: KeptKind,
    at: Millis,
    began: Millis,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    seen: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    landed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pressed: Option<Millis>,
    #[serde(default, skip_serializing_if = "is_nothing")]
    missed: f32,
    /// The position in which it was made, as a FEN, where the half-move before leads to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_in: Option<String>,
}

/// A half-move in UCI, or an illegal act.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptKind {
    Legal(String),
    Ruled(String),
    Recovered(String),
    Illegal(Box<IllegalAct>),
    Suspect(Box<IllegalAct>),
}

fn is_nothing(nats: &f32) -> bool {
    *nats == 0.0
}

/// The tree while it is made: half-moves, each with the number of the one before it.
#[derive(Debug, Default)]
pub(in crate::board) struct Tree<'a>(Vec<(Option<usize>, &'a Ply)>);

impl<'a> Tree<'a> {
    /// Takes in what is new in `plies`. Returns the number of the last one.
    pub(in crate::board) fn take_in(&mut self, plies: &'a Plies) -> Option<usize> {
        let mut before = None;
        for ply in plies {
            let known = |(after, other): &(Option<usize>, &Ply)| *after == before && other.is_same(ply);
            let number = self.0.iter().position(known).unwrap_or_else(|| {
                self.0.push((before, ply));
                self.0.len() - 1
            });
            before = Some(number);
        }
        before
    }

    pub(in crate::board) fn keep(&self) -> KeptPlies {
        KeptPlies(
            self.0
                .iter()
                .map(|(after, ply)| KeptPly::of(*after, ply))
                .collect(),
        )
    }
}

/// The tree that was read back: each half-move with those before it.
#[derive(Debug)]
pub(in crate::board) struct Grown(Vec<Plies>);

impl KeptPlies {
    /// The tree, which grows from `base`.
    pub(in crate::board) fn restore(&self, base: &Arc<Stand>) -> Result<Grown, String> {
        let mut grown: Vec<Plies> = Vec::with_capacity(self.0.len());
        for (number, kept) in self.0.iter().enumerate() {
            let mut plies = match kept.after {
                None => Plies::default(),
                Some(after) => {
                    let known = grown.get(after).cloned();
                    known.ok_or_else(|| format!("half-move {number} of the hypotheses follows {after}"))?
                }
            };
            let ply = kept.restore(plies.last().map_or(base, |before| &before.stand))?;
            plies.push(ply);
            grown.push(plies);
        }
        Ok(Grown(grown))
    }
}

impl Grown {
    /// The half-moves up to number `last`.
    pub(in crate::board) fn line_to(&self, last: Option<usize>) -> Result<Plies, String> {
        let Some(number) = last else {
            return Ok(Plies::default());
        };
        let none = || format!("a hypothesis ends with half-move {number} of {}", self.0.len());
        self.0.get(number).cloned().ok_or_else(none)
    }
}

impl Ply {
    /// True when a snapshot keeps the same of both.
    fn is_same(&self, other: &Self) -> bool {
        let times = |ply: &Self| (ply.at, ply.began, ply.pressed, ply.seen, ply.landed);
        let made_in = |ply: &Self| ply.made_in.as_ref().map(|stand| stand.placement().clone());
        times(self) == times(other)
            && self.missed == other.missed
            && self.kind == other.kind
            && made_in(self) == made_in(other)
    }
}

impl KeptPly {
    fn of(after: Option<usize>, ply: &Ply) -> Self {
        // In the game's castling mode: in Chess960 UCI writes castling as a king that takes its own rook.
        let uci = |mv| UciMove::from_move(mv, ply.stand.mode()).to_string();
        Self {
            after,
            kind: match &ply.kind {
                PlyKind::Legal(mv) => KeptKind::Legal(uci(*mv)),
                PlyKind::Ruled(mv) => KeptKind::Ruled(uci(*mv)),
                PlyKind::Recovered(mv) => KeptKind::Recovered(uci(*mv)),
                PlyKind::Illegal(act) => KeptKind::Illegal(act.clone()),
                PlyKind::Suspect(act) => KeptKind::Suspect(act.clone()),
            },
            at: ply.at,
            began: ply.began,
            seen: ply.seen,
            landed: ply.landed,
            pressed: ply.pressed,
            missed: ply.missed,
            made_in: ply.made_in.as_ref().map(|stand| stand.fen()),
        }
    }

    fn restore(&self, before: &Arc<Stand>) -> Result<Ply, String> {
        let read = |text: &String| {
            let fen = text.parse::<Fen>();
            let fen = fen.map_err(|error| format!("{text:?} is no FEN: {error}"))?;
            Ok::<_, String>(Arc::new(Stand::of_setup(fen.into_setup(), before.mode())))
        };
        let made_in = self.made_in.as_ref().map(read).transpose()?;
        let (kind, stand) = self.kind.restore(made_in.as_ref().unwrap_or(before))?;
        if !self.missed.is_finite() {
            return Err(format!("a half-move that has cost {}", self.missed));
        }
        Ok(Ply {
            kind,
            at: self.at,
            began: self.began,
            seen: self.seen,
            landed: self.landed,
            pressed: self.pressed,
            missed: self.missed,
            stand: Arc::new(stand),
            made_in,
        })
    }
}

impl KeptKind {
    /// What was played on `before`, and where it leads.
    fn restore(&self, before: &Stand) -> Result<(PlyKind, Stand), String> {
        let made = |uci: &str, kind: fn(shakmaty::Move) -> PlyKind| {
            let none = || format!("{uci:?} is no half-move of {}", before.fen());
            let named = before.named(uci).ok_or_else(none);
            named.map(|candidate| (kind(candidate.mv), before.after(&candidate)))
        };
        match self {
            Self::Legal(uci) => made(uci, PlyKind::Legal),
            Self::Ruled(uci) => made(uci, PlyKind::Ruled),
            Self::Recovered(uci) => made(uci, PlyKind::Recovered),
            Self::Illegal(act) => Ok((PlyKind::Illegal(act.clone()), before.left_as(&act.placement()))),
            Self::Suspect(act) => Ok((PlyKind::Suspect(act.clone()), before.left_as(&act.placement()))),
        }
    }
}
