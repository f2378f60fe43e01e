//! A person puts the record right: half-moves are taken out and put in, and those after them stay as they
//! were.

use std::sync::Arc;

use shakmaty::{CastlingMode, Square, uci::UciMove};

use super::{Made, Open, cases::Cases, course::Course, names, press::PressQueue, record::GameRecord};
use crate::{
    board::{Code, Explanation, IllegalAct, PlyKind, Stand, explain},
    event::{CompletedBy, Resolution},
    time::Millis,
    watcher::{
        command::{CommandError, Correct},
        ctx::Ctx,
        not_now::NotNow,
    },
};

/// Largest number of half-moves that one command may put in.
const MOST_INSERTED: usize = 600;

impl GameRecord {
    /// The half-moves as `order` has them.
    ///
    /// # Errors
    /// An error says that a half-move does not exist or cannot be played.
    pub(in crate::watcher) fn corrected(&self, order: &Correct) -> Result<Vec<Made>, CommandError> {
        let have = self.plies();
        let (ply, delete) = (order.ply as usize, order.delete as usize);
        if ply == 0 || ply > have + 1 {
            return Err(NotNow::PlyOutside { have, most: have + 1 }.into());
        }
        if delete > have - (ply - 1) {
            return Err(NotNow::TooManyTakenOut { have, delete, ply }.into());
        }
        if order.insert.len() > MOST_INSERTED {
            return Err(NotNow::TooManyPutIn {
                given: order.insert.len(),
                most: MOST_INSERTED,
            }
            .into());
        }
        let mut known = self.clone();
        known.truncate(ply - 1);
        let mut made = self[..ply - 1].to_vec();
        let mut stand = self.stand_at(ply - 1).clone();
        let at = made.last().map_or(Millis(0), |made| made.at);
        for text in &order.insert {
            let entered = known.entered(&stand, text, order.illegal, at, made.len() + 1);
            let Some(entered) = entered else {
                return Err(no_move(
                    made.len() + 1,
                    text,
                    &stand,
                    "give another, or send `illegal`: true with its UCI where an illegal move stands",
                ));
            };
            stand = entered.stand.clone();
            made.push(entered);
        }
        for old in &self[ply - 1 + delete..] {
            match follows(old, &stand) {
                Some(next) => {
                    stand = next.stand.clone();
                    made.push(next);
                }
                None if order.drop_rest => break,
                None => {
                    return Err(no_move(
                        made.len() + 1,
                        &old.uci.to_string(),
                        &stand,
                        "it does not follow any more; change it, too, or send `drop_rest`: true",
                    ));
                }
            }
        }
        Ok(made)
    }

    /// The position after a half-move that a player has written down and not made.
    pub(in crate::watcher) fn after_written(&self, written: &str) -> Result<Arc<Stand>, CommandError> {
        let found = legal(self.stand(), written, self.mode());
        let remedy = "give the half-move that was written down, as UCI or SAN";
        found
            .map(|(_, after)| Arc::new(after))
            .ok_or_else(|| no_move(self.plies() + 1, written, self.stand(), remedy))
    }

    /// Half-move `ply` as a person enters it; none where it cannot be played. One that was on the record before has the times of
    /// then.
    fn entered(&self, stand: &Arc<Stand>, text: &str, illegal: bool, at: Millis, ply: usize) -> Option<Made> {
        let (kind, after) = match legal(stand, text, self.mode()) {
            Some(found) => found,
            None if illegal => carried(stand, text)?,
            None => return None,
        };
        let (uci, san) = names(stand, &kind, self.mode());
        let before = self.former(ply, &uci.to_string(), &after);
        Some(Made {
            kind,
            uci,
            san,
            stand: Arc::new(after),
            completed_by: CompletedBy::Ruling,
            clock: before.map(|(clock, _)| clock),
            at: before.map_or(at, |(_, before)| before.max(at)),
            accepted: false,
            landed: true,
        })
    }
}

fn no_move(ply: usize, uci: &str, stand: &Stand, remedy: &'static str) -> CommandError {
    CommandError::NoMove {
        ply: ply as u32,
        uci: uci.chars().take(20).collect(),
        fen: stand.fen(),
        remedy,
    }
}

/// The legal half-move with this name, in UCI or SAN.
fn legal(stand: &Stand, text: &str, mode: CastlingMode) -> Option<(PlyKind, Stand)> {
    let bare = |san: &str| {
        san.trim()
            .trim_end_matches(['+', '#', '!', '?'])
            .replace('0', "O")
    };
    let called = |mv| {
        UciMove::from_move(mv, mode).to_string() == text.trim()
            || bare(&stand.san(mv).to_string()) == bare(text)
    };
    let found = stand.candidates().find(|candidate| called(candidate.mv))?;
    Some((PlyKind::Legal(found.mv), stand.after(&found)))
}

/// An illegal half-move with this name in UCI, and the position after it.
fn carried(stand: &Stand, uci: &str) -> Option<(PlyKind, Stand)> {
    let square = |range| {
        uci.trim()
            .get(range)
            .and_then(|name: &str| name.parse::<Square>().ok())
    };
    let (from, to) = (square(0..2)?, square(2..4)?);
    let piece = stand.placement().at(from);
    if piece.is_empty() || from == to || uci.trim().len() > 4 {
        return None;
    }
    let mut left = stand.placement().clone();
    left.set(from, Code::EMPTY);
    left.set(to, piece);
    let act = IllegalAct::left(Some((from, to)), &left);
    Some((PlyKind::Illegal(Box::new(act)), stand.left_as(&left)))
}

/// The half-move `old`, played from `stand`; none where it cannot be played there.
pub(super) fn follows(old: &Made, stand: &Arc<Stand>) -> Option<Made> {
    let after = match &old.kind {
        PlyKind::Legal(mv) | PlyKind::Ruled(mv) | PlyKind::Recovered(mv) => {
            let found = stand.candidates().find(|candidate| candidate.mv == *mv)?;
            stand.after(&found)
        }
        PlyKind::Illegal(act) | PlyKind::Suspect(act) => {
            let (from, to) = act.from_to()?;
            carried(stand, &format!("{from}{to}"))?.1
        }
    };
    let (uci, san) = names(stand, &old.kind, stand.mode());
    Some(Made {
        uci,
        san,
        stand: Arc::new(after),
        accepted: false,
        ..old.clone()
    })
}

/// Number of half-moves that two records have in common from their start.
pub(in crate::watcher) fn in_common(one: &[Made], other: &[Made]) -> usize {
    let same = |(a, b): &(&Made, &Made)| a.uci == b.uci && a.stand.fen() == b.stand.fen();
    one.iter().zip(other).take_while(same).count()
}

/// Puts the record right as `order` says. The hypotheses start anew from there. Returns false where the record has it so.
///
/// # Errors
/// An error says that a half-move does not exist or cannot be played.
pub(super) fn put_right(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    cases: &mut Cases,
    presses: &PressQueue,
    order: &Correct,
) -> Result<bool, CommandError> {
    let mut made = course.record.corrected(order)?;
    let kept = in_common(&course.record, &made);
    if kept == made.len() && kept == course.record.plies() {
        return Ok(false);
    }
    course.retract(ctx, kept, "corrected_by_arbiter");
    for next in made.drain(kept..) {
        course.enter(ctx, next);
    }
    shift_cases(ctx, course, cases, order);
    course.restart_lines(ctx);
    go_on_after_last(ctx, course, cases, presses);
    Ok(true)
}

/// Where the illegal act of a case stands on the board after the last half-move of the record, the hypotheses know it: it is not told
/// again.
fn go_on_after_last(ctx: &Ctx<'_>, course: &mut Course, cases: &Cases, presses: &PressQueue) {
    let before = course.record.stand().clone();
    let Explanation::Illegal(stands) = explain(&before, ctx.sensed.placement()) else {
        return;
    };
    let next = course.record.plies() + 1;
    let is_told = |open: &Open| {
        let act = open.act.as_ref().and_then(IllegalAct::from_to);
        open.ply == next && act.is_some() && act == stands.from_to()
    };
    if cases.all().any(is_told) {
        course.go_on_after(ctx, presses, before, stands);
    }
}

/// Gives cases the new numbers of their half-moves. A case whose half-move is gone is superseded.
fn shift_cases(ctx: &mut Ctx<'_>, course: &Course, cases: &mut Cases, order: &Correct) {
    let (from, inserted) = (order.ply as usize, order.insert.len());
    let deleted = order.delete as usize;
    for open in cases.all_mut() {
        if open.ply >= from + deleted {
            open.ply = open.ply + inserted - deleted;
        }
    }
    let last = course.record.plies() + 1;
    let beyond = |open: &Open| open.ply > last && !open.by_hand;
    while let Some(i) = cases.find(beyond) {
        cases.resolve(ctx, course, i, Resolution::Superseded);
    }
    for open in cases.all_mut() {
        open.ply = open.ply.min(last);
    }
}
