//! Compares what a watcher said with what happened.

use std::ops::AddAssign;

use crate::{
    event::{Body, Certainty, Event, GameResult, Irregularity, Resolution},
    laws::IrregularityKind,
    sim::mess::{HalfMove, Knowable, Offence, Truth},
};

/// Counts of one game or of many.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// How many games.
    pub games: usize,
    /// How many half-moves were played.
    pub plies: usize,
    /// How many of them are right in the record, up to the first wrong one.
    pub right: usize,
    /// Of how many half-moves something can be known.
    pub asked: usize,
    /// How many of these the record has in their order, whatever is wrong between them.
    pub followed: usize,
    /// How many games have no wrong half-move.
    pub exact: usize,
    /// How many accusations are false.
    pub accused_falsely: usize,
    /// How many offences were committed.
    pub offences: usize,
    /// How many of the offences were reported.
    pub found: usize,
    /// The sum of the times from the offence to its report, in milliseconds.
    pub waited: u64,
    /// How often half-moves were said and corrected.
    pub corrections: usize,
    /// How many suspicions, and withdrawn reports that nobody could have known to be wrong.
    pub advice: usize,
    /// How many games have another result in the record.
    pub results_wrong: usize,
    /// How many games end with another position in the record than on the board.
    pub unexplained: usize,
    /// What was wrong, in words.
    pub faults: Vec<String>,
}

impl AddAssign for Judgement {
    fn add_assign(&mut self, other: Self) {
        self.games += other.games;
        self.plies += other.plies;
        self.right += other.right;
        self.asked += other.asked;
        self.followed += other.followed;
        self.exact += other.exact;
        self.accused_falsely += other.accused_falsely;
        self.offences += other.offences;
        self.found += other.found;
        self.waited += other.waited;
        self.corrections += other.corrections;
        self.advice += other.advice;
        self.results_wrong += other.results_wrong;
        self.unexplained += other.unexplained;
        self.faults.extend(other.faults);
    }
}

/// A half-move of the record: its UCI and the placement after it.
type Recorded = (String, String);

#[derive(Default)]
struct Record {
    games: usize,
    start: String,
    moves: Vec<Recorded>,
    /// The half-moves of the games before.
    before: Vec<Vec<Recorded>>,
    result: Option<GameResult>,
    corrections: usize,
}

fn placement(fen: &str) -> String {
    fen.split(' ').next().unwrap_or_default().to_owned()
}

impl Record {
    fn of(events: &[Event]) -> Self {
        let mut record = Self::default();
        for event in events {
            match &event.body {
                Body::GameStarted { fen, .. } => {
                    record.games += 1;
                    record.start = placement(fen);
                    if record.games > 1 {
                        record.before.push(std::mem::take(&mut record.moves));
                    }
                    record.result = None;
                }
                Body::Move(made) => {
                    record.moves.truncate(made.ply as usize - 1);
                    record.moves.push((made.uci.clone(), placement(&made.fen)));
                }
                Body::MovesRetracted { to_ply, reason, .. } => {
                    record.moves.truncate(*to_ply as usize);
                    record.corrections += usize::from(reason == "correction");
                }
                Body::GameEnded { result, .. } => record.result = Some(*result),
                _ => {}
            }
        }
        record
    }

    /// How many half-moves are right, up to the first that is not.
    fn right(&self, truth: &Truth) -> usize {
        let mut right = 0;
        while let Some(made) = truth.moves.get(right) {
            let open = |made: &&HalfMove| made.known == Knowable::InAnyOrder;
            let until = right + truth.moves[right..].iter().take_while(open).count();
            if until > right {
                // These may be recorded in any order that leads to the same placement.
                let same = |got: &Recorded| got.1 == truth.moves[until - 1].placement;
                if !self.moves.get(until - 1).is_some_and(same) {
                    break;
                }
                right = until;
            } else {
                if self.moves.get(right).is_none_or(|got| !is_told(made, &got.0)) {
                    break;
                }
                right += 1;
            }
        }
        right
    }

    /// How many half-moves of the game there are of which something can be known, and how many of these the
    /// record has in their order.
    fn followed(&self, truth: &Truth) -> (usize, usize) {
        let asked: Vec<&HalfMove> = truth
            .moves
            .iter()
            .filter(|made| made.known != Knowable::Nothing)
            .collect();
        if self.right(truth) == truth.moves.len() {
            return (asked.len(), asked.len());
        }
        // The half-moves of a second game are no part of the record of this one.
        let told = self.before.first().unwrap_or(&self.moves);
        let mut longest = vec![0; told.len() + 1];
        for made in &asked {
            let mut diagonal = 0;
            for (index, got) in told.iter().enumerate() {
                let above = longest[index + 1];
                longest[index + 1] = if is_told(made, &got.0) {
                    diagonal + 1
                } else {
                    above.max(longest[index])
                };
                diagonal = above;
            }
        }
        (asked.len(), longest[told.len()])
    }
}

/// Whether `uci` says of a half-move what can be known of it.
pub fn is_told(made: &HalfMove, uci: &str) -> bool {
    match made.known {
        Knowable::Origin => uci.get(..2) == made.uci.get(..2),
        Knowable::Goal => uci.get(2..) == made.uci.get(2..),
        _ => uci == made.uci,
    }
}

impl Judgement {
    /// The judgement of one game.
    #[must_use]
    pub fn of(truth: &Truth, events: &[Event]) -> Self {
        let record = Record::of(events);
        let mut verdict = Self {
            games: 1,
            plies: truth.moves.len(),
            right: record.right(truth),
            asked: record.followed(truth).0,
            followed: record.followed(truth).1,
            corrections: record.corrections,
            ..Self::default()
        };
        verdict.judge_moves(truth, &record);
        verdict.judge_accusations(truth, events);
        verdict
    }

    fn judge_moves(&mut self, truth: &Truth, record: &Record) {
        let name = |got: Option<&Recorded>| got.map_or_else(|| "nothing".to_owned(), |got| got.0.clone());
        if record.games != 1 {
            self.faults.push(format!("{} games began", record.games));
        }
        // With a piece that is not read, and after a gap of which no log tells, it is enough that the record
        // follows the game.
        let unknown = truth.moves.len() - self.asked;
        if truth.calm {
            (self.right, self.exact) = (truth.moves.len(), 1);
            return;
        }
        if unknown > 0 {
            self.right = unknown + self.followed;
        }
        if self.right < truth.moves.len() && unknown > 0 {
            let missing = self.asked - self.followed;
            self.faults.push(format!("{missing} half-moves are not followed"));
        } else if self.right < truth.moves.len() {
            let (ply, got) = (self.right + 1, name(record.moves.get(self.right)));
            self.faults.push(format!(
                "half-move {ply}: {} became {got}",
                truth.moves[self.right].uci
            ));
        } else if record.moves.len() > truth.moves.len() && unknown == 0 {
            let extra = name(record.moves.get(truth.moves.len()));
            self.faults.push(format!("{extra} after the end"));
        } else if record.games == 1 {
            self.exact = 1;
        }
        let last = |moves: Option<String>, start: &String| moves.unwrap_or_else(|| start.clone());
        let stands = last(truth.moves.last().map(|m| m.placement.clone()), &truth.start);
        let recorded = last(record.moves.last().map(|m| m.1.clone()), &record.start);
        self.unexplained = usize::from(stands != recorded && self.right < truth.moves.len());
        if record.result != truth.result {
            self.results_wrong = 1;
            self.faults.push(format!(
                "the result is {:?}, not {:?}",
                record.result, truth.result
            ));
        }
    }

    fn judge_accusations(&mut self, truth: &Truth, events: &[Event]) {
        self.offences = truth.offences.len();
        let (accusations, missed) = accusations(truth, events);
        for Accusation { event, said, is } in accusations {
            match is {
                Judged::Found(offence) => {
                    self.found += 1;
                    self.waited += ((event.t * 1000.0) as u64).saturating_sub(offence.at);
                }
                Judged::Advice | Judged::Withdrawn => self.advice += 1,
                Judged::False => {
                    self.accused_falsely += 1;
                    let (kind, ply) = (said.kind.as_str(), said.ply);
                    self.faults.push(format!(
                        "falsely {kind} by {:?} at half-move {ply}, {:.1} s",
                        said.offender, event.t
                    ));
                }
            }
        }
        for offence in missed {
            let (kind, ply, at) = (offence.kinds[0].as_str(), offence.ply, offence.at / 1000);
            self.faults.push(format!(
                "missed {kind} by {:?} at half-move {ply}, {at} s {}",
                offence.offender, offence.how
            ));
        }
    }
}

/// What an accusation turns out to be.
#[derive(Clone, Copy, Debug)]
pub enum Judged<'a> {
    /// The offence was committed.
    Found(&'a Offence),
    /// Nobody was accused.
    Advice,
    /// Nobody could know better, and it was withdrawn.
    Withdrawn,
    /// The offence was not committed.
    False,
}

/// A report of an irregularity, judged.
#[derive(Clone, Copy, Debug)]
pub struct Accusation<'a> {
    /// The event that reports it.
    pub event: &'a Event,
    /// What the event says.
    pub said: &'a Irregularity,
    /// What the accusation turns out to be.
    pub is: Judged<'a>,
}

/// All accusations, and the offences that were missed.
#[must_use]
pub fn accusations<'a>(truth: &'a Truth, events: &'a [Event]) -> (Vec<Accusation<'a>>, Vec<&'a Offence>) {
    let mut open: Vec<&Offence> = truth.offences.iter().collect();
    let mut accusations = Vec::new();
    for event in events {
        let Body::Irregularity(said) = &event.body else {
            continue;
        };
        let fits = |o: &&Offence| {
            let who = o.offender.is_none() || o.offender == said.offender;
            o.kinds.contains(&said.kind) && who && o.ply == said.ply as usize
        };
        let is = if let Some(index) = open.iter().position(fits) {
            Judged::Found(open.remove(index))
        } else if is_advice(said) {
            Judged::Advice
        } else if truth.may.contains(&said.kind) && is_withdrawn(truth, event, said, events) {
            Judged::Withdrawn
        } else {
            Judged::False
        };
        accusations.push(Accusation { event, said, is });
    }
    (accusations, open)
}

/// Whether the report was taken back, or no half-move followed that could have proved it wrong.
fn is_withdrawn(truth: &Truth, event: &Event, said: &Irregularity, events: &[Event]) -> bool {
    let how = events.iter().find_map(|later| match &later.body {
        Body::IrregularityResolved { irregularity, how } if *irregularity == event.id => Some(*how),
        _ => None,
    });
    match how {
        Some(how) => matches!(how, Resolution::Superseded | Resolution::Dismissed),
        None => said.ply as usize >= truth.moves.len(),
    }
}

fn is_advice(said: &Irregularity) -> bool {
    use IrregularityKind as Kind;
    said.certainty == Certainty::Suspected
        || matches!(
            said.kind,
            Kind::TouchMove | Kind::TwoHands | Kind::RookFirstCastling
        )
}
