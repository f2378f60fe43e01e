//! What is decided at a moment, and in which order.

use super::{
    Game, agreed, answered, array, fallen,
    finish::{self, ShownResult},
    outcome, put_back,
    put_right_unseen::{go_on_unseen, put_right_unseen},
    replaced,
    victim::LeftPawn,
    waits,
};
use crate::{
    event::{Resolution, notice},
    watcher::ctx::Ctx,
};

/// Decides all that can be decided by now, in this order. Returns false where the board tells nothing of the game.
pub(in crate::watcher) fn review(game: &mut Game, ctx: &mut Ctx<'_>) -> bool {
    if !game.is_watched() {
        *ctx.sign_wanted = false;
        game.outcome
            .look_for_contradicted_mate(ctx, &game.course, game.gap.is_open);
        if let Some(result) = game.outcome.corrected_by_kings(ctx, game.course.record.stand()) {
            game.end_with(ctx, result, outcome::KINGS, None);
        }
        return false;
    }
    if let Some(stopped) = ctx.clock.stopped_at
        && game.course.clock_used
        && !game.course.lines.frozen
        && !game.unclocked.is_played()
        && ctx.passed(stopped, waits::FREEZE_MS)
    {
        game.course.lines.frozen = true;
    }
    game.course.lines.tick(ctx.now, ctx.sensed);
    if game.gap.is_open {
        *ctx.sign_wanted = false;
        return false;
    }
    if game.is_overruled(ctx) {
        *ctx.sign_wanted = false;
        look_for_flags(game, ctx);
        return false;
    }
    game.unclocked
        .look(ctx, &mut game.course, &game.cases, &game.unread);
    if let Some(index) = put_right_unseen(ctx, &game.positions(), &game.gap) {
        // Nobody saw what was played since.
        game.course.lines.recovering = true;
        game.takebacks().restore(ctx, index);
        go_on_unseen(ctx, &mut game.course);
        game.course.lines.recovering = false;
    }
    put_back::look(ctx, &mut game.course);
    answered::look(
        ctx,
        &mut game.course,
        &game.presses,
        &game.gap,
        &game.doubt,
        &game.cases,
        &game.unread,
    );
    let put_back = agreed::put_back(ctx, &game.positions(), &game.presses, game.agreed);
    game.agreed = put_back.filter(|_| !game.doubt.any());
    // An accusation that waited for a sign of life comes before the next half-move of the record.
    if std::mem::take(ctx.sign_wanted) {
        game.judge(ctx);
    }
    if !*ctx.sign_wanted {
        game.settle(ctx);
    }
    game.gap.recall.look_for_log(ctx, &game.course);
    game.gap.recall.look_for_round_trip(ctx);
    game.gap
        .try_again(ctx, &mut game.course, &mut game.doubt, &game.cases, &game.unread);
    array::look_for_put_right(ctx, &mut game.course, &mut game.cases, &mut game.presses);
    game.take_up_what_stands(ctx);
    game.judge(ctx);
    look_for_falls(game, ctx);
    look_for_left_pawn(game, ctx);
    game.takebacks().look_for_put_right(ctx);
    if game.is_watched()
        && let Some(ply) = game.takebacks().look_for_earlier(ctx)
    {
        game.take_back(ctx, ply);
    }
    game.takebacks().look_for_exchanged(ctx);
    replaced::look_for_replaced(ctx, &mut game.course, &mut game.cases);
    game.look_for_unfelt(ctx);
    look_for_flags(game, ctx);
    if game.is_watched() {
        look_for_result(game, ctx);
    }
    // Hands take the pieces off the board where the clock stands, or once the game is over.
    let stands = game.course.clock_used && !ctx.clock.runs() && !game.unclocked.is_played();
    if !stands && game.agreed.is_none() {
        game.unread
            .look_for_dead_squares(ctx, &game.course, game.gap.read_since);
    }
    game.unread.look(ctx, &game.course, &mut game.doubt);
    if game.is_watched() && game.doubt.is_excused_no_more(ctx, &game.course) {
        game.accuse_of_last(ctx);
    }
    game.doubt.look(ctx, &game.course, game.gap.read_again());
    if game.is_watched() {
        game.lump
            .tell(ctx, &game.course, &mut game.cases, &mut game.hands);
    }
    true
}

/// Reports pieces that fell, if they did.
fn look_for_falls(game: &mut Game, ctx: &mut Ctx<'_>) {
    let Some((finding, fall)) = fallen::found(ctx, &game.trust(), game.suspected_fall) else {
        return;
    };
    game.unread.healed &= !fall.homes();
    let id = game.accuse(ctx, finding, None);
    let index = game.cases.find(|open| open.id == id);
    if index.is_none() {
        // A suspicion opens no case, and the watcher reports it once only.
        game.suspected_fall = Some(fall.pressed);
    }
    match index {
        _ if !fall.is_over() => {}
        Some(index) => game.cases.resolve(ctx, &game.course, index, Resolution::Restored),
        None => game.course.lines.forget_fall(&fall),
    }
}

/// Reports a pawn that was left on the board, if one was.
fn look_for_left_pawn(game: &mut Game, ctx: &mut Ctx<'_>) {
    let left = LeftPawn::of(ctx, &game.trust(), game.suspected_victim);
    let found = left.and_then(|left| left.finding(ctx, &game.course.record, &mut game.presses));
    if let Some(finding) = found {
        game.suspected_victim = Some(finding.at);
        game.accuse(ctx, finding, None);
    }
}

/// Reports flags that have fallen (6.9). Half-moves that were pressed for before go on the record first.
fn look_for_flags(game: &mut Game, ctx: &mut Ctx<'_>) {
    for side in game.flags.down(ctx, &game.course.record) {
        if game.is_watched()
            && let Some(finding) = game.flags.look(ctx, &game.course, &game.gap, side)
        {
            game.accuse(ctx, finding, None);
        }
    }
}

/// Ends the game if the board shows a result. Where that contradicts the last ruling, a notice asks first, and the public waits for
/// the answer.
fn look_for_result(game: &mut Game, ctx: &mut Ctx<'_>) {
    let shown = game.outcome.look_for_shown(ctx, &game.course, &game.presses);
    let Some(ShownResult { result, by_kings, .. }) = shown else {
        return;
    };
    let reason = if by_kings {
        finish::settle_before_kings(ctx, &mut game.course, &mut game.cases);
        outcome::KINGS
    } else {
        game.settle_rest(ctx);
        outcome::SPECIAL_PIECE
    };
    if let Some(question) = finish::contradicts(&game.course.record, &game.cases, result) {
        game.course.notice(ctx, notice::RESULT_CONTRADICTS, &question);
    }
    game.end(ctx, result, reason);
}
