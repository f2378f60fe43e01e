//! A person reports an irregularity. It is ruled on as a finding of the sensors is.

use shakmaty::{Color, Position as _};

use super::{
    Open,
    cases::Cases,
    finding::{Finding, Scene},
    record::GameRecord,
};
use crate::{
    event::{Certainty, ClockState},
    laws::{IrregularityKind, Side},
    watcher::{
        command::{CommandError, Report},
        ctx::Ctx,
        not_now::NotNow,
    },
};

/// Largest number of irregularities of a game. No game has as many; the watcher takes no further reports from
/// a person.
const MOST_IRREGULARITIES: usize = 256;

/// What a person has reported, as a finding.
///
/// # Errors
/// An error says why the report is refused.
pub(super) fn reported(
    ctx: &Ctx<'_>,
    record: &GameRecord,
    cases: &Cases,
    mut report: Report,
) -> Result<Finding, CommandError> {
    if cases.open.len() + cases.closed.len() >= MOST_IRREGULARITIES {
        return Err(NotNow::TooManyIrregularities(MOST_IRREGULARITIES).into());
    }
    let kind = report.kind;
    report.has_its_words()?;
    let offender = report.offender.map(Color::from);
    let (ply, offender) = match report.ply {
        Some(ply) => named_half_move(record, kind, ply, offender)?,
        None => reported_half_move(record, kind, offender)?,
    };
    if let Some(told) = told_already(cases, kind, ply, offender)
        && report.confirmed != Some(true)
    {
        return Err(CommandError::ToldAlready(told));
    }
    if matches!(
        kind,
        IrregularityKind::ThreefoldClaim | IrregularityKind::FiftyClaim
    ) {
        let is_right = claim_is_right(record, kind, report.written_move.as_deref())?;
        report.claim_correct.get_or_insert(is_right);
    }
    if kind == IrregularityKind::FlagFall && report.confirmed == Some(false) {
        flag_may_have_fallen(ctx.clock.state(), offender)?;
    }
    let before = record.stand_at(ply.saturating_sub(1)).clone();
    let scene = Scene::shown(ctx, ply, before, ctx.now);
    let mut finding = Finding::new(kind, Certainty::Certain, offender, scene);
    finding.first_flag = report.first_flag;
    finding.reported = Some(report);
    Ok(finding)
}

/// What was told and a report would tell again: the same, by the same player, at the same half-move. Two arbiters may have seen it.
/// One that was dismissed does not count, and one of conduct may happen again.
fn told_already(
    cases: &Cases,
    kind: IrregularityKind,
    ply: usize,
    offender: Option<Color>,
) -> Option<String> {
    let same = |open: &&Open| {
        let by = open.offender.is_none() || offender.is_none() || open.offender == offender;
        open.kind == kind && open.ply == ply && by && !open.is_dismissed()
    };
    let told = cases.all().find(same).filter(|_| !kind.is_conduct());
    told.map(|open| open.id.clone())
}

/// The half-move that a report names, and the offender.
fn named_half_move(
    record: &GameRecord,
    kind: IrregularityKind,
    ply: u32,
    offender: Option<Color>,
) -> Result<(usize, Option<Color>), NotNow> {
    let (named, have) = (ply as usize, record.plies());
    if named > have + 1 {
        return Err(NotNow::HalfMoveNotBegun { ply, have });
    }
    // Without a named offender, the player who made the half-move is the offender. An irregularity that
    // is no act of that player has only the offender whom the report names.
    let made = named > 0 && !is_of_nobody(kind);
    Ok((named, offender.or_else(|| made.then(|| record.mover(named)))))
}

/// The half-move that a report without a number concerns, and the offender.
fn reported_half_move(
    record: &GameRecord,
    kind: IrregularityKind,
    offender: Option<Color>,
) -> Result<(usize, Option<Color>), NotNow> {
    use IrregularityKind::*;
    match kind {
        // These concern a half-move that was made.
        TwoHands | TouchMove | RookFirstCastling | PressWithOtherHand | InvertedRookPromotion => {
            let last = (1..=record.plies()).rev();
            let ply = last
                .take(2)
                .find(|ply| offender.is_none_or(|side| record.mover(*ply) == side));
            let Some(ply) = ply else {
                return Err(NotNow::NoHalfMove);
            };
            Ok((ply, Some(record.mover(ply))))
        }
        // These concern the last half-move of the record, if there is one by this player. Otherwise they
        // concern one that is not on the record yet.
        IllegalMove | PromotionNotReplaced | WrongColourPromotion | CastlingIncomplete
            if record.plies() > 0 && offender.is_none_or(|side| record.mover(record.plies()) == side) =>
        {
            Ok((record.plies(), Some(record.mover(record.plies()))))
        }
        InitialPositionWrong | BoardOrientationWrong | ColoursReversed => Ok((0, offender)),
        ThreefoldClaim | FiftyClaim => {
            let turn = record.stand().turn();
            if offender.is_some_and(|side| side != turn) {
                return Err(NotNow::NotTheirMove);
            }
            Ok((record.plies() + 1, Some(turn)))
        }
        FlagFall if offender.is_none() => Err(NotNow::OffenderMissing),
        _ => Ok((record.plies() + 1, offender)),
    }
}

/// True if the record supports a draw claim, in the present position or after the half-move that the
/// claimant wrote down (9.2.1, 9.3.1).
fn claim_is_right(
    record: &GameRecord,
    kind: IrregularityKind,
    written: Option<&str>,
) -> Result<bool, CommandError> {
    let (stand, before) = match written {
        Some(written) => (record.after_written(written)?, 1),
        None => (record.stand().clone(), 0),
    };
    Ok(match kind {
        IrregularityKind::ThreefoldClaim => record.occurrences(&stand).len() + before >= 3,
        _ => stand.chess().is_some_and(|chess| chess.halfmoves() >= 100),
    })
}
/// True for irregularities that are no act of the player to move.
fn is_of_nobody(kind: IrregularityKind) -> bool {
    let of_nobody = matches!(
        kind,
        IrregularityKind::InitialPositionWrong
            | IrregularityKind::BoardOrientationWrong
            | IrregularityKind::ColoursReversed
            | IrregularityKind::ClockSettingWrong
            | IrregularityKind::BothFlags
            | IrregularityKind::DeadPosition
            | IrregularityKind::Fivefold
            | IrregularityKind::SeventyFive
            | IrregularityKind::IllegalPositionObserved
            | IrregularityKind::DisplacedPieceFound
    );
    of_nobody || kind.is_conduct()
}

/// Refuses the report of a flag fall if the clock shows time for that player.
fn flag_may_have_fallen(clock: Option<ClockState>, offender: Option<Color>) -> Result<(), CommandError> {
    let (Some(clock), Some(side)) = (clock, offender) else {
        return Ok(());
    };
    let left = side.fold_wb(clock.white_ms, clock.black_ms);
    if left == 0 {
        return Ok(());
    }
    let (side, seconds) = (Side::from(side).in_words(), left.div_ceil(1000));
    Err(CommandError::ContradictsClock(format!(
        "the clock shows {}:{:02} for {side}",
        seconds / 60,
        seconds % 60
    )))
}
