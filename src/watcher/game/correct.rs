//! A person puts the record right: half-moves are taken out and put in, and those after them stay as they
//! were.

use std::sync::Arc;

use shakmaty::{
    CastlingMode, Square,
    fen::{Fen, ParseFenError},
    uci::UciMove,
};

use super::{Made, Open, cases::Cases, course::Course, names, press::PressQueue, record::GameRecord};
use crate::{
    board::{Code, Explanation, IllegalAct, PlyKind, Stand, explain},
    event::{ClockState, CompletedBy, Resolution},
    terms::Side,
    time::Millis,
    watcher::{
        command::{CommandError, Correct},
        ctx::Ctx,
        not_now::NotNow,
    },
};

/// Largest number of half-moves that one command may put in.
const MOST_INSERTED: usize = 600;

/// Why half-moves are taken off the record that a person puts right.
pub(in crate::watcher) const CORRECTED: &str = "corrected_by_arbiter";

/// What a person's correction makes of a record.
pub(in crate::watcher) struct CorrectedRecord {
    /// The position from which the game counts; none where it is that of before.
    pub(in crate::watcher) start: Option<Arc<Stand>>,
    pub(in crate::watcher) made: Vec<Made>,
}

impl CorrectedRecord {
    /// How many half-moves of `record` stay as they are, with their times.
    pub(in crate::watcher) fn kept_of(&self, record: &[Made]) -> usize {
        match self.start {
            Some(_) => 0,
            None => in_common(record, &self.made).min(
                record
                    .iter()
                    .zip(&self.made)
                    .take_while(|(old, new)| old.clock == new.clock)
                    .count(),
            ),
        }
    }

    /// The position after its last half-move.
    fn stand(&self, record: &GameRecord) -> Arc<Stand> {
        let start = self.start.as_ref().unwrap_or(&record.start);
        self.made.last().map_or(start, |made| &made.stand).clone()
    }

    /// Plays the half-moves `rest` from here.
    fn play_on(&mut self, record: &GameRecord, rest: &[Made], drop_rest: bool) -> Result<(), CommandError> {
        for old in rest {
            let stand = self.stand(record);
            match follows(old, &stand) {
                Some(next) => self.made.push(next),
                None if drop_rest => break,
                None => {
                    return Err(no_move(
                        self.made.len() + 1,
                        &old.uci.to_string(),
                        &stand,
                        "it does not follow any more; change it, too, or send `drop_rest`: true",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Gives the half-moves the times that `order` says.
    fn set_clocks(&mut self, order: &Correct) -> Result<(), CommandError> {
        let first = order.ply as usize - 1;
        if order.exchange_clocks {
            for clock in self
                .made
                .iter_mut()
                .skip(first)
                .filter_map(|made| made.clock.as_mut())
            {
                *clock = ClockState {
                    white_ms: clock.black_ms,
                    black_ms: clock.white_ms,
                    running: clock.running.map(Side::opponent),
                };
            }
        }
        let Some(times) = order.clock else {
            return Ok(());
        };
        let have = self.made.len();
        let set = self.made.get_mut(first + order.insert.len().max(1) - 1);
        let made = set.ok_or(NotNow::PlyOutside { have, most: have })?;
        made.clock = Some(ClockState {
            white_ms: times.white_ms.into(),
            black_ms: times.black_ms.into(),
            running: Some(made.stand.turn().into()),
        });
        Ok(())
    }
}

impl GameRecord {
    /// The record as `order` has it.
    ///
    /// # Errors
    /// An error says that a half-move does not exist or cannot be played.
    pub(in crate::watcher) fn corrected(&self, order: &Correct) -> Result<CorrectedRecord, CommandError> {
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
        let mut corrected = CorrectedRecord {
            start: self.other_start(order)?,
            made: Vec::new(),
        };
        match corrected.start {
            Some(_) => corrected.play_on(self, &self[..ply - 1], false)?,
            None => corrected.made = self[..ply - 1].to_vec(),
        }
        let mut known = self.clone();
        known.truncate(ply - 1);
        let at = corrected.made.last().map_or(Millis(0), |made| made.at);
        for text in &order.insert {
            let (number, stand) = (corrected.made.len() + 1, corrected.stand(self));
            let Some(entered) = known.entered(&stand, text, order.illegal, at, number) else {
                return Err(no_move(
                    number,
                    text,
                    &stand,
                    "give another, or send `illegal`: true with its UCI where an illegal move stands",
                ));
            };
            corrected.made.push(entered);
        }
        corrected.play_on(self, &self[ply - 1 + delete..], order.drop_rest)?;
        corrected.set_clocks(order)?;
        Ok(corrected)
    }

    /// The position from which the game counts by `order`; none where it does already.
    fn other_start(&self, order: &Correct) -> Result<Option<Arc<Stand>>, CommandError> {
        if order.fen.is_none() && order.chess960.is_none() {
            return Ok(None);
        }
        let mode = order
            .chess960
            .map_or_else(|| self.mode(), CastlingMode::from_chess960);
        let fen = order.fen.clone().unwrap_or_else(|| self.start.fen());
        let parsed: Fen = fen
            .parse()
            .map_err(|error: ParseFenError| CommandError::BadFen(error.to_string()))?;
        let start = Stand::of_setup(parsed.into_setup(), mode);
        if mode == self.mode() && start.fen() == self.start.fen() {
            return Ok(None);
        }
        let is_game = start.chess().is_some() && start.setup().fullmoves.get() as usize <= MOST_INSERTED;
        let no_game = || CommandError::BadFen("no game can begin in this position".to_owned());
        is_game.then(|| Some(Arc::new(start))).ok_or_else(no_game)
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
        let (kind, after) = match legal(stand, text, stand.mode()) {
            Some(found) => found,
            None if illegal => carried(stand, text)?,
            None => return None,
        };
        let (uci, san) = names(stand, &kind, stand.mode());
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
            made_in: None,
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
    let (from, to) = squares_of(uci.trim())?;
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

/// The squares that a half-move in UCI names.
pub(in crate::watcher) fn squares_of(uci: &str) -> Option<(Square, Square)> {
    let square = |name: Option<&str>| name?.parse().ok();
    square(uci.get(0..2)).zip(square(uci.get(2..4)))
}

/// The half-move `old`, played from `stand`; none where it cannot be played there.
pub(super) fn follows(old: &Made, stand: &Arc<Stand>) -> Option<Made> {
    // Nobody had put back what had been displaced.
    let is_legal = |mv| stand.moves().contains(&mv);
    let made_in = old
        .made_in
        .clone()
        .filter(|_| !old.kind.legal().is_some_and(is_legal));
    let stand = made_in.as_ref().unwrap_or(stand);
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
        made_in: made_in.clone(),
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
    let corrected = course.record.corrected(order)?;
    let kept = corrected.kept_of(&course.record);
    let CorrectedRecord { start, mut made } = corrected;
    if start.is_none() && kept == made.len() && kept == course.record.plies() {
        return Ok(false);
    }
    match start {
        Some(start) => {
            course.record.truncate(0);
            let former = std::mem::take(&mut course.record.former);
            course.count_from(ctx, start, CORRECTED);
            course.record.former = former;
        }
        None => course.retract(ctx, kept, CORRECTED),
    }
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
