//! Which of the explanations that were weighed at a moment are true.

use dgt2mqtt::{
    board::Item,
    event::Body,
    laws::IrregularityKind,
    sim::{
        mess::{Knowable, Offence, Truth},
        rehearsal::Rehearsed,
    },
    watcher::{Account, explain::Hypothesis},
};

use crate::logit::{Moment, Rival};

/// Read from the board and the clock so long after it happened, in milliseconds.
const READ_MS: u64 = 600;

/// The moments of a game at which something was decided or looked at, with what was weighed.
pub(crate) fn of(truth: &Truth, rehearsal: &Rehearsed) -> Vec<Moment> {
    let mut record: Vec<String> = Vec::new();
    let (mut moments, mut games) = (Vec::new(), 0);
    let mut between = rehearsal.between.iter().peekable();
    let mut accounts = rehearsal.accounts.iter().peekable();
    for event in &rehearsal.events {
        let now = (event.t * 1000.0).round() as u64;
        while let Some(account) = between.next_if(|account| account.at.0 < now) {
            moments.extend(moment(truth, &record, account));
        }
        while accounts
            .next_if(|account| account.seq < Some(event.seq))
            .is_some()
        {}
        let decided = accounts.next_if(|account| account.seq == Some(event.seq));
        match &event.body {
            Body::GameStarted { .. } => {
                games += 1;
                record.clear();
            }
            Body::Move(made) => {
                moments.extend(decided.and_then(|account| moment(truth, &record, account)));
                record.truncate(made.ply as usize - 1);
                record.push(made.uci.clone());
            }
            Body::MovesRetracted { to_ply, .. } => record.truncate(*to_ply as usize),
            Body::Irregularity(_) => {
                moments.extend(decided.and_then(|account| moment(truth, &record, account)));
            }
            _ => {}
        }
        if games > 1 {
            break;
        }
    }
    moments
}

/// One moment; none where the record was wrong already, where nobody can know, or where nothing is to be decided.
fn moment(truth: &Truth, record: &[String], account: &Account) -> Option<Moment> {
    let before = record.get(..account.base)?;
    let right = |(made, uci): (&_, &String)| is_made(made, uci);
    let furthest = account.hypotheses.iter().map(|h| h.acts.len()).max()? + account.base;
    let known = truth.moves.iter().take(furthest);
    if before.len() > truth.moves.len()
        || !truth.moves.iter().zip(before).all(right)
        || known
            .skip(account.base)
            .any(|made| made.known == Knowable::InAnyOrder)
    {
        return None;
    }
    let held = Held { truth, account };
    let fell = account.hypotheses.iter().any(|h| held.has_right_fall(h));
    let illegal = account.hypotheses.iter().any(|h| held.has_right_offence(h));
    let is_true = |h: &Hypothesis| {
        held.has_played(h)
            && held.has_all(h)
            && (h.fell_at.is_none() && !fell || held.has_right_fall(h))
            && (!illegal || held.has_right_offence(h))
    };
    let rivals: Vec<Rival> = account
        .hypotheses
        .iter()
        .map(|h| Rival::new(&h.paid, is_true(h)))
        .collect();
    let trues = rivals.iter().filter(|rival| rival.is_true).count();
    (0 < trues && trues < rivals.len()).then_some(Moment(rivals))
}

fn is_made(made: &dgt2mqtt::sim::mess::HalfMove, uci: &str) -> bool {
    made.known == Knowable::InAnyOrder || made.uci == uci
}

/// The truth beside what was weighed.
struct Held<'a> {
    truth: &'a Truth,
    account: &'a Account,
}

impl Held<'_> {
    fn now(&self) -> u64 {
        self.account.at.0
    }

    /// Offences of the kind that were committed by now.
    fn offences(&self, is: impl Fn(&IrregularityKind) -> bool) -> impl Iterator<Item = &Offence> {
        let done = |offence: &&Offence| offence.at <= self.now();
        let offences = self.truth.offences.iter().filter(done);
        offences.filter(move |offence| offence.kinds.iter().any(&is))
    }

    /// An illegal act is on the board with half-move `ply`.
    fn is_illegal(&self, ply: usize) -> bool {
        use IrregularityKind as Kind;
        self.offences(|kind| !matches!(kind, Kind::PiecesDisplaced | Kind::PressWithoutMove))
            .any(|offence| offence.ply == ply)
    }

    /// All half-moves of the explanation were made.
    fn has_played(&self, h: &Hypothesis) -> bool {
        (self.account.base..).zip(&h.acts).all(|(index, act)| {
            let made = self.truth.moves.get(index);
            made.is_some_and(|made| made.uci == act.uci) || act.illegal && self.is_illegal(index + 1)
        })
    }

    /// The explanation has all half-moves that were completed, or knows that it lacks them.
    fn has_all(&self, h: &Hypothesis) -> bool {
        let read = |made: &&dgt2mqtt::sim::mess::HalfMove| made.at + READ_MS <= self.now();
        let completed = self.truth.moves.iter().take_while(read).count();
        self.account.base + h.acts.len() + h.owed >= completed
    }

    fn has_right_fall(&self, h: &Hypothesis) -> bool {
        let mut displaced = self.offences(|kind| *kind == IrregularityKind::PiecesDisplaced);
        h.fell_at
            .is_some_and(|ply| displaced.any(|offence| offence.ply == ply))
    }

    /// The explanation has an illegal act where there was one.
    fn has_right_offence(&self, h: &Hypothesis) -> bool {
        let illegal = (self.account.base + 1..)
            .zip(&h.acts)
            .filter(|(_, act)| act.illegal);
        illegal.into_iter().any(|(ply, _)| self.is_illegal(ply))
    }
}

/// The weights behind each item of a bill.
pub(crate) fn weights(item: Item) -> &'static str {
    match item {
        Item::HalfMoves => "PLY",
        Item::Unpressed => "UNPRESSED, LAG",
        Item::LatePress => "LATE_PRESS",
        Item::Elsewhere => "ELSEWHERE",
        Item::EmptyPress => "EMPTY_PRESS",
        Item::Lasted => "LASTING_RATE, LASTING_MS, FELT_RATE",
        Item::Differs => "MISSING, EXTRA, WRONG, GARBLED, TRAIL, GHOST",
        Item::Owed => "OWED",
        Item::Awaited => "AWAITED, EMPTY_PRESS",
        Item::Blind => "BLIND",
        Item::TakenAtOnce => "TAKEN_AT_ONCE",
        Item::Early => "EARLY, ORDER, BEFORE",
        Item::Late => "LATE",
        Item::AtOnce => "AT_ONCE",
        Item::Underpromotion => "UNDERPROMOTION",
        Item::Unfelt => "UNFELT",
        Item::NeverThere => "NEVER_THERE",
        Item::Illegal => "ILLEGAL, CASTLED",
        Item::Recovered => "RECOVERED",
        Item::Contradicted => "CONTRADICTED",
        Item::PutRight => "RESTORED, SPARE, NOTHING_THERE",
        Item::SensorFault => "READ_AFTER_ALL, READ_BEFORE",
        Item::Unread => "UNREAD, UNREAD_BUT_TOLD",
        Item::Displaced => "DISPLACED, CARRIED, FELL_..., STOPPED, CAME_BACK",
        Item::PutBack => "PUT_BACK",
        Item::Shared => "",
    }
}
