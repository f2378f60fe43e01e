//! How much of what the watcher said with a probability was true: half-moves and accusations, compared with
//! the truth.

use std::{collections::BTreeMap, fmt, ops::AddAssign};

use crate::{
    event::{Body, Certainty, Event, MoveMade},
    laws::IrregularityKind,
    sim::mess::{Knowable, Truth},
    watcher::{Account, explain::Hypothesis},
};

use super::{
    Rehearsed,
    verdict::{Accusation, Judged, accusations, is_told},
};

/// How many of the things that were said with a probability were true.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// How many things were said.
    pub said: usize,
    /// How many of them are true.
    pub truly: usize,
    /// How many of them should be true by their probabilities.
    expected: f64,
}

impl Tally {
    fn one(probability: f64, truly: bool) -> Self {
        Self {
            said: 1,
            truly: usize::from(truly),
            expected: probability,
        }
    }

    /// How many of them are not true.
    #[must_use]
    pub fn falsely(self) -> usize {
        self.said - self.truly
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.said += other.said;
        self.truly += other.truly;
        self.expected += other.expected;
    }
}

/// A part of a whole in percent. If the whole is nothing, a dash.
fn percent(part: f64, whole: usize) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.2}", 100.0 * part / whole as f64),
    }
}

/// The things that were said, counted in rows by their probability.
#[derive(Clone, Debug, Default)]
struct Table([Tally; BOUNDS.len() + 1]);

/// Where one row of a table ends and the next begins.
const BOUNDS: [f64; 7] = [0.5, 0.8, 0.9, 0.97, 0.99, 0.999, 0.9999];

impl Table {
    fn count(&mut self, probability: f64, truly: bool) {
        let row = BOUNDS.iter().filter(|bound| probability >= **bound).count();
        self.0[row] += Tally::one(probability, truly);
    }
}

impl AddAssign<&Self> for Table {
    fn add_assign(&mut self, other: &Self) {
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum += part;
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| p | said | true | true, % | p on average, % |\n|---|---|---|---|---|"
        )?;
        for (row, count) in self.0.iter().enumerate() {
            let from = row.checked_sub(1).map_or(0.0, |below| BOUNDS[below]);
            let to = BOUNDS.get(row).copied().unwrap_or(1.0);
            writeln!(
                f,
                "| {from} to {to} | {} | {} | {} | {} |",
                count.said,
                count.truly,
                percent(count.truly as f64, count.said),
                percent(count.expected, count.said)
            )?;
        }
        Ok(())
    }
}

/// What the watcher said of many games, by how sure it was.
#[derive(Clone, Debug, Default)]
pub struct Reliability {
    /// Half-moves by the posterior of all hypotheses that have them.
    half_moves: Table,
    /// Half-moves by their share of the posterior of the hypotheses that have any half-move there.
    rivals: Table,
    /// Half-moves that no hypothesis had when they were said: a search or a ruling gave them.
    unweighed: Tally,
    /// Half-moves of games with a piece that is not read: nobody can always know where such a piece goes.
    guessed: Tally,
    /// Half-moves that do not count: those after a wrong one, and those of which nothing can be known.
    unasked: usize,
    /// Accusations by the posterior of the hypotheses by which they are right.
    accusations: Table,
    /// Accusations by their certainty and their kind.
    kinds: BTreeMap<(u8, &'static str), Tally>,
    /// How many accusations were withdrawn where nobody could have known better.
    withdrawn: usize,
    /// Accusations that are false although they were said to be certain.
    pub wrong: Vec<String>,
}

impl AddAssign for Reliability {
    fn add_assign(&mut self, other: Self) {
        self.half_moves += &other.half_moves;
        self.rivals += &other.rivals;
        self.unweighed += other.unweighed;
        self.guessed += other.guessed;
        self.unasked += other.unasked;
        self.accusations += &other.accusations;
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.withdrawn += other.withdrawn;
        self.wrong.extend(other.wrong);
    }
}

impl Reliability {
    /// The counts of one game.
    #[must_use]
    pub fn of(truth: &Truth, rehearsal: &Rehearsed) -> Self {
        let mut reliability = Self::default();
        reliability.count_half_moves(truth, rehearsal);
        for accusation in accusations(truth, &rehearsal.events).0 {
            let account = account_of(rehearsal, accusation.event);
            reliability.count_accusation(&accusation, account);
        }
        reliability
    }

    /// All accusations of this certainty.
    #[must_use]
    pub fn said(&self, certainty: Certainty) -> Tally {
        let mut sum = Tally::default();
        for ((sure, _), count) in &self.kinds {
            if *sure == certainty as u8 {
                sum += *count;
            }
        }
        sum
    }

    fn count_half_moves(&mut self, truth: &Truth, rehearsal: &Rehearsed) {
        // A half-move counts only if all half-moves before it in the record are right.
        let mut right: Vec<bool> = Vec::new();
        let mut games = 0;
        for event in &rehearsal.events {
            match &event.body {
                Body::GameStarted { .. } => {
                    games += 1;
                    right.clear();
                }
                Body::MovesRetracted { to_ply, .. } => right.truncate(*to_ply as usize),
                Body::Move(made) => {
                    right.truncate(made.ply as usize - 1);
                    let told = is_right(truth, made);
                    let asked = games == 1 && right.iter().all(|right| *right);
                    right.push(told.unwrap_or(true));
                    match told.filter(|_| asked) {
                        Some(truly) if truth.calm => self.guessed += Tally::one(0.0, truly),
                        Some(truly) => self.count_half_move(made, account_of(rehearsal, event), truly),
                        None => self.unasked += 1,
                    }
                }
                _ => {}
            }
        }
    }

    fn count_half_move(&mut self, made: &MoveMade, account: Option<&Account>, truly: bool) {
        let index = |account: &Account| (made.ply as usize - 1).checked_sub(account.base);
        let weighed = account.and_then(|account| Some((account, index(account)?)));
        let Some((account, index)) = weighed else {
            self.unweighed += Tally::one(0.0, truly);
            return;
        };
        let has =
            |hypothesis: &&Hypothesis| hypothesis.acts.get(index).is_some_and(|act| act.uci == made.uci);
        let any = |hypothesis: &&Hypothesis| hypothesis.acts.len() > index;
        let (mine, all) = (mass(account, has), mass(account, any));
        if mine > 0.0 {
            self.half_moves.count(mine, truly);
            self.rivals.count(mine / all, truly);
        } else {
            self.unweighed += Tally::one(0.0, truly);
        }
    }

    fn count_accusation(&mut self, accusation: &Accusation<'_>, account: Option<&Account>) {
        let truly = match accusation.is {
            Judged::Found(_) => true,
            Judged::False => false,
            Judged::Advice => return,
            Judged::Withdrawn => {
                self.withdrawn += 1;
                return;
            }
        };
        let said = accusation.said;
        let probability = account.and_then(|account| guilt(account, said.kind, said.ply as usize));
        let kind = (said.certainty as u8, said.kind.as_str());
        *self.kinds.entry(kind).or_default() += Tally::one(probability.unwrap_or_default(), truly);
        if let Some(probability) = probability {
            self.accusations.count(probability, truly);
        }
        if !truly && said.certainty == Certainty::Certain {
            let p = probability.map_or_else(|| "-".to_owned(), |p| format!("{p:.4}"));
            let reason = said.reason.as_deref().unwrap_or_default();
            self.wrong.push(format!(
                "{} {reason} at half-move {}, {:.1} s, p {p}",
                said.kind.as_str(),
                said.ply,
                accusation.event.t
            ));
        }
    }
}

/// What the watcher weighed for `event`.
fn account_of<'a>(rehearsal: &'a Rehearsed, event: &Event) -> Option<&'a Account> {
    let index = rehearsal
        .accounts
        .binary_search_by_key(&Some(event.seq), |account| account.seq);
    index.ok().map(|index| &rehearsal.accounts[index])
}

/// Whether this half-move was played there. None if nobody can know.
fn is_right(truth: &Truth, made: &MoveMade) -> Option<bool> {
    let index = made.ply as usize - 1;
    let Some(really) = truth.moves.get(index) else {
        return Some(false);
    };
    match really.known {
        Knowable::Fully => Some(is_told(really, &made.uci)),
        _ => None,
    }
}

/// The posterior of the hypotheses for which `is` holds.
fn mass(account: &Account, is: impl Fn(&&Hypothesis) -> bool) -> f64 {
    let share: f64 = account.hypotheses.iter().filter(is).map(|h| h.probability).sum();
    share.min(1.0)
}

/// The posterior of the hypotheses by which an offence of this `kind` happened at half-move `ply`. None if
/// the accusation does not follow from hypotheses.
fn guilt(account: &Account, kind: IrregularityKind, ply: usize) -> Option<f64> {
    use IrregularityKind as Kind;
    let index = ply.checked_sub(1 + account.base)?;
    let illegal = |h: &&Hypothesis| h.acts.get(index).is_some_and(|act| act.illegal);
    let unexplained = |h: &&Hypothesis| h.acts.len() <= index && h.owed > 0;
    let share = match kind {
        Kind::PiecesDisplaced => mass(account, |h| h.fell_at == Some(ply)),
        Kind::IllegalMove if mass(account, illegal) > 0.0 => mass(account, illegal),
        Kind::IllegalMove
        | Kind::PressWithoutMove
        | Kind::PromotionNotReplaced
        | Kind::CastlingIncomplete => mass(account, unexplained),
        _ => 0.0,
    };
    (share > 0.0).then_some(share)
}

impl fmt::Display for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Half-moves, by the posterior of the hypotheses that have them:\n\n{}",
            self.half_moves
        )?;
        writeln!(
            f,
            "Half-moves, by their share among the hypotheses that have a half-move there:\n\n{}",
            self.rivals
        )?;
        writeln!(
            f,
            "Reported without being weighed: {}, {} of them true. In games with a piece that is not read: {}, {} of them \
             true. Not counted: {}.\n",
            self.unweighed.said, self.unweighed.truly, self.guessed.said, self.guessed.truly, self.unasked
        )?;
        writeln!(
            f,
            "Accusations, by the posterior of the hypotheses by which they are right:\n\n{}",
            self.accusations
        )?;
        writeln!(
            f,
            "| certainty | kind | said | true | false | false in 1000 |\n|---|---|---|---|---|---|"
        )?;
        for certainty in [Certainty::Certain, Certainty::Probable, Certainty::Suspected] {
            let own = self
                .kinds
                .iter()
                .filter(|((sure, _), _)| *sure == certainty as u8);
            let name = format!("{certainty:?}").to_lowercase();
            for ((_, kind), count) in own {
                row(f, &name, kind, *count)?;
            }
            row(f, &name, "**all**", self.said(certainty))?;
        }
        writeln!(f, "\nWithdrawn, and nobody could know: {}.", self.withdrawn)?;
        self.wrong.iter().try_for_each(|wrong| writeln!(f, "{wrong}"))
    }
}

fn row(f: &mut fmt::Formatter<'_>, certainty: &str, kind: &str, count: Tally) -> fmt::Result {
    let falsely = count.falsely();
    let thousandths = 1000.0 * falsely as f64 / count.said.max(1) as f64;
    writeln!(
        f,
        "| {certainty} | {kind} | {} | {} | {falsely} | {thousandths:.1} |",
        count.said, count.truly
    )
}
