//! The end of a game as players show it on the board: by both kings on centre squares, or by a special piece.

use shakmaty::{Bitboard, Color, Position, Role, Square};

use super::{
    Open, cases::Cases, course::Course, outcome::GameOutcome, press::PressQueue, record::GameRecord,
};
use crate::{
    board::{Code, Placement, Ply, PlyKind, Sensed, Stand},
    event::{CompletedBy, GameResult, Resolution, notice},
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// Hands that set up the pieces rest for no longer than this.
const SWEEP_MS: u64 = 3000;
/// The kings must stand in the centre for this long to show a result.
const KINGS_MS: u64 = 1200;
/// The same on a board that does not know its pieces.
const FELT_KINGS_MS: u64 = 3000;
/// The second king follows the first one within this time.
const OTHER_KING_MS: u64 = 10_000;
/// Kings that show another result than the one that they ended the game with must stand for this long.
const CORRECTED_MS: u64 = 3000;
/// A king that stood on a square for this long was moved there as a move of the game.
const STOOD_MS: u64 = 1500;
/// A special piece must stand for this long to show a result, for codes of special pieces also occur as
/// misreadings.
const SPECIAL_MS: u64 = 3000;
/// The same while the clock runs: as a rule it is stopped at the end.
const SPECIAL_RUNNING_MS: u64 = 10_000;

/// The square where the king of `color` was read last.
fn king(sensed: &Sensed, color: Color) -> Option<Square> {
    let seen = sensed.placement().squares_of(Code::from(color.king()));
    seen.into_iter().max_by_key(|s| sensed.since(*s))
}

/// The squares of both kings in the centre on a board that does not know its pieces. Such a board shows kings
/// there if both kings have left their squares, or were in the centre before, and exactly two pieces are on
/// centre squares that they reached since.
fn felt_kings(stand: &Stand, sensed: &Sensed) -> Option<[Square; 2]> {
    let mut there = Bitboard::EMPTY;
    let mut gone = Millis(u64::MAX);
    for color in Color::ALL {
        let home = stand.board().king_of(color)?;
        if sensed.at(home).is_empty() {
            gone = gone.min(sensed.since(home));
        } else if CENTRE.contains(home) {
            there.add(home);
        } else {
            return None;
        }
    }
    let came = |s: &Square| sensed.at(*s) == Code::UNKNOWN && sensed.since(*s) >= gone;
    there |= CENTRE.into_iter().filter(came).collect::<Bitboard>();
    let mut squares = there.into_iter();
    match (squares.next(), squares.next(), squares.next()) {
        (Some(a), Some(b), None) => Some([a, b]),
        _ => None,
    }
}

/// The four squares in the middle.
const CENTRE: Bitboard = Bitboard(0x0000_0018_1800_0000);

/// True where a king leaves for the middle by more than one step, as players put it there to show a result.
pub(super) fn is_sign_of_result(piece: Code, from: Square, to: Square) -> bool {
    let is_king = Color::ALL
        .into_iter()
        .any(|color| piece == Code::from(color.king()));
    is_king && CENTRE.contains(to) && from.distance(to) > 1
}

/// The kings that stand in the middle as a sign of a result: from where, and where.
fn signs(sensed: &Sensed, stand: &Stand) -> Vec<[Square; 2]> {
    let signs = Color::ALL.into_iter().filter_map(|color| {
        let way = [stand.board().king_of(color)?, king(sensed, color)?];
        is_sign_of_result(Code::from(color.king()), way[0], way[1]).then_some(way)
    });
    signs.collect()
}

/// True while one king stands in the middle, where no move brings it, and the other one may follow: nobody has played on since.
/// Somebody may press in between, as out of habit. Where it has followed, the result comes next, unless its show is `spent`.
pub(super) fn may_come(ctx: &mut Ctx<'_>, stand: &Stand, spent: bool) -> bool {
    if ctx.sensed.is_felt() {
        return false;
    }
    let Some(&[home, to]) = signs(ctx.sensed, stand).first() else {
        return false;
    };
    let kings = Color::ALL.map(|color| [stand.board().king_of(color), king(ctx.sensed, color)]);
    let hands: Bitboard = kings.into_iter().flatten().flatten().collect();
    // A piece of the middle may make room for a king.
    let elsewhere = stand.placement().differing(ctx.sensed.placement()) & !hands & !CENTRE;
    let has_come = kings_say(ctx.sensed).is_some() && !spent;
    elsewhere.is_empty()
        && ctx.sensed.at(home).is_empty()
        && (has_come || !ctx.passed(ctx.sensed.since(to), OTHER_KING_MS))
}

/// The result that both kings show on centre squares (protocol section 7), if they stand there. Any two
/// centre squares touch, so no legal position looks like it.
pub(super) fn kings_say(sensed: &Sensed) -> Option<GameResult> {
    let shown = |color: Color| {
        CENTRE
            .into_iter()
            .any(|s| sensed.at(s) == Code::from(color.king()))
    };
    if !shown(Color::White) || !shown(Color::Black) {
        return None;
    }
    let kings = [king(sensed, Color::White)?, king(sensed, Color::Black)?];
    kings.iter().all(|s| CENTRE.contains(*s)).then(|| meaning(kings))
}

/// The result that two kings on these squares show. It does not matter which king is on which square.
fn meaning(kings: [Square; 2]) -> GameResult {
    match kings.map(Square::is_light) {
        [true, true] => GameResult::WhiteWins,
        [false, false] => GameResult::BlackWins,
        _ => GameResult::Draw,
    }
}

/// A result that the board shows.
pub(super) struct ShownResult {
    pub(super) result: GameResult,
    since: Millis,
    /// How long the board must show it, in milliseconds.
    wait_ms: u64,
    pub(super) by_kings: bool,
}

impl GameOutcome {
    /// The result that the board shows, and has shown for long enough.
    pub(super) fn look_for_shown(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        presses: &PressQueue,
    ) -> Option<ShownResult> {
        let by_kings = shown_by_kings(ctx, course.record.stand());
        let shown: Vec<_> = by_kings
            .into_iter()
            .chain(shown_by_piece(ctx, course, presses))
            .collect();
        if self.show_spent {
            self.show_spent = !shown.is_empty();
            return None;
        }
        let mut shown = shown.into_iter();
        shown.find(|shown| ctx.passed(shown.since, shown.wait_ms))
    }

    /// Looks whether the kings contradict a mate. The mate stands (5.1.1). A notice asks once for the right
    /// result.
    pub(super) fn look_for_contradicted_mate(&mut self, ctx: &mut Ctx<'_>, course: &Course, in_gap: bool) {
        let Some(result) = self.result.filter(|_| !self.confirmed && !self.shown) else {
            return;
        };
        if !course.record.stand().chess().is_some_and(Position::is_checkmate) {
            return;
        }
        let shown = shown_by_kings(ctx, course.record.stand()).filter(|shown| shown.result != result);
        let Some(shown) = shown else {
            self.show_spent &= in_gap;
            return;
        };
        if !self.show_spent && ctx.passed(shown.since, shown.wait_ms) {
            self.show_spent = true;
            let question = format!(
                "The board says {}, and the game ended by checkmate, {}: which is it? Enter the result.",
                shown.result.as_str(),
                result.as_str(),
            );
            course.notice(ctx, notice::RESULT_CONTRADICTS, &question);
        }
    }

    /// Another result, if the kings, which ended the game, were put on other squares since, and all else stands as it did.
    pub(super) fn corrected_by_kings(&self, ctx: &mut Ctx<'_>, stand: &Stand) -> Option<GameResult> {
        if !self.shown || self.confirmed || ctx.sensed.is_felt() {
            return None;
        }
        let is_other = |shown: &ShownResult| Some(shown.result) != self.result;
        let shown = shown_by_kings(ctx, stand).filter(is_other)?;
        // A piece of the middle may have made room for a king.
        let kings = Color::ALL.map(|color| Code::from(color.king()));
        let stood = stand.placement();
        let elsewhere = stood.differing(ctx.sensed.placement()) & !CENTRE;
        let all_else_stands = elsewhere.into_iter().all(|s| kings.contains(&stood.at(s)));
        let is_due = all_else_stands && ctx.passed(shown.since, CORRECTED_MS);
        is_due.then_some(shown.result)
    }
}

fn shown_by_kings(ctx: &Ctx<'_>, stand: &Stand) -> Option<ShownResult> {
    let felt = ctx.sensed.is_felt();
    if !felt && kings_say(ctx.sensed).is_none() {
        return None;
    }
    let (result, since, wait_ms) = if let Some(kings) = felt.then(|| felt_kings(stand, ctx.sensed)).flatten()
    {
        let [one, other] = kings.map(|s| ctx.sensed.since(s));
        (meaning(kings), one.max(other), FELT_KINGS_MS)
    } else {
        let since = |color| king(ctx.sensed, color).map_or(ctx.now, |s| ctx.sensed.since(s));
        let both = since(Color::White).max(since(Color::Black));
        (kings_say(ctx.sensed)?, both, KINGS_MS)
    };
    Some(ShownResult {
        result,
        since,
        wait_ms,
        by_kings: true,
    })
}

fn shown_by_piece(ctx: &Ctx<'_>, course: &Course, presses: &PressQueue) -> Vec<ShownResult> {
    if !ctx.sensed.placement().shows_special() {
        return Vec::new();
    }
    let meanings = [
        (13, GameResult::Draw),
        (14, GameResult::WhiteWins),
        (15, GameResult::BlackWins),
    ];
    let shown = |(code, result)| {
        let square = ctx.sensed.placement().squares_of(Code(code)).single_square()?;
        let since = ctx.sensed.since(square);
        // A chip that is misread on its square is put there by no hand, and who goes on playing shows no result.
        let is_misread = ctx.clock.runs() && !ctx.sensed.before(square).is_empty();
        let is_put = !is_misread && since > course.began;
        let goes_on = course.record.last().is_some_and(|last| last.at > since) || !presses.is_empty();
        (is_put && !goes_on).then_some(ShownResult {
            result,
            since,
            wait_ms: if ctx.clock.runs() {
                SPECIAL_RUNNING_MS
            } else {
                SPECIAL_MS
            },
            by_kings: false,
        })
    };
    meanings.into_iter().filter_map(shown).collect()
}

/// Both kings stand in the centre. Steps of the kings on their way there were no moves of the game.
pub(super) fn settle_before_kings(ctx: &mut Ctx<'_>, course: &mut Course, cases: &mut Cases) {
    let mut keep = course.record.plies();
    while keep > 0 && keep + 2 > course.record.plies() && is_step_to_centre(ctx, &course.record, keep - 1) {
        keep -= 1;
    }
    course.retract(ctx, keep, "kings_to_the_centre");
    enter_before_kings(ctx, course);
    supersede_moves_to_centre(ctx, course, cases);
}

/// The pieces stand in the initial position again. Whatever moved while hands swept the board, after the last press, was no
/// half-move, nor did a lever complete one that was touched meanwhile.
pub(in crate::watcher) fn retract_set_up(ctx: &mut Ctx<'_>, course: &mut Course) {
    let record = &course.record;
    let by_clock = |index: &usize| {
        record[*index].completed_by == CompletedBy::Clock && !is_amid_set_up(ctx.sensed, record, *index)
    };
    let (kept, began) = match (0..record.plies()).rev().find(by_clock) {
        Some(last) => (last + 1, swept_since(ctx.sensed, course, last)),
        None => (0, swept_in_one(ctx.sensed)),
    };
    let mut after = course.record.iter().skip(kept);
    if let Some(swept) = after.position(|made| began.is_some_and(|began| made.at >= began)) {
        course.retract(ctx, kept + swept, "pieces_set_up_anew");
    }
}

/// True where hands had begun to set up the pieces before somebody pressed for half-move `index`: a square that it does not touch shows
/// what the initial position has there, and has shown something else in the turn before.
fn is_amid_set_up(sensed: &Sensed, record: &GameRecord, index: usize) -> bool {
    let made = &record[index];
    let began = index.checked_sub(1).map_or(Millis(0), |before| record[before].at);
    let (before, array) = (record.stand_at(index).placement(), Placement::ARRAY);
    let untouched = !before.differing(made.stand.placement());
    let is_set_up = |square| {
        let at = sensed.since(square);
        sensed.at(square) == array.at(square) && began < at && at < made.at
    };
    (untouched & before.differing(&array)).into_iter().any(is_set_up)
}

/// When hands began to sweep the board, after half-move `last`, which was the last that somebody pressed for.
fn swept_since(sensed: &Sensed, course: &Course, last: usize) -> Option<Millis> {
    let pressed = &course.record[last];
    let next = course.record.get(last + 1)?;
    let own = next.kind.from_to().map(|(from, _)| from);
    let stood = pressed.stand.placement().occupied() & !Placement::ARRAY.occupied();
    let came = Placement::ARRAY.occupied();
    let times = (stood | came).into_iter().filter(|s| Some(*s) != own);
    let times = times.map(|s| sensed.since(s));
    times.filter(|at| *at > pressed.at).min()
}

/// When hands began to set up the pieces that stand on the board, where nobody rested for longer than [`SWEEP_MS`] since.
fn swept_in_one(sensed: &Sensed) -> Option<Millis> {
    let mut times: Vec<_> = Square::ALL.iter().map(|square| sensed.since(*square)).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let pause = times
        .windows(2)
        .position(|pair| pair[0].since(pair[1]) > SWEEP_MS)?;
    times.get(pause).copied()
}

/// A king that seemed to move out of turn, or further than a king goes, and stands in the middle with the other one, was put there to
/// show the result.
fn supersede_moves_to_centre(ctx: &mut Ctx<'_>, course: &Course, cases: &mut Cases) {
    let out_of_turn = |open: &Open| {
        let king = open.offender.and_then(|color| king(ctx.sensed, color));
        let stands = |square: &String| king.is_some_and(|king| king.to_string() == *square);
        open.kind == IrregularityKind::MovedOutOfTurn && open.case_file.said.squares.iter().any(stands)
    };
    while let Some(index) = cases.find(out_of_turn) {
        cases.resolve(ctx, course, index, Resolution::Superseded);
    }
    let signs = signs(ctx.sensed, course.record.stand()).into_iter();
    let signs: Vec<_> = signs.map(|way| way.map(|square| square.to_string())).collect();
    let further = |open: &Open| {
        let squares = &open.case_file.said.squares;
        let is_of =
            |sign: &[String; 2]| squares.len() == 2 && sign.iter().all(|square| squares.contains(square));
        open.kind == IrregularityKind::IllegalMove && signs.iter().any(is_of)
    };
    while let Some(index) = cases.find(further) {
        cases.withdraw(ctx, course, index);
    }
}

/// True if half-move `index` of the record was a step of a king to the centre: nobody pressed for it, and
/// the king still stands there or went on soon.
fn is_step_to_centre(ctx: &Ctx<'_>, record: &GameRecord, index: usize) -> bool {
    let made = &record[index];
    let Some(shakmaty::Move::Normal {
        role: Role::King, to, ..
    }) = made.kind.legal()
    else {
        return false;
    };
    let color = record.mover(index + 1);
    let stays = king(ctx.sensed, color) == Some(to);
    made.completed_by != CompletedBy::Clock && (stays || ctx.sensed.since(to).since(made.at) < STOOD_MS)
}

/// True if the king stood for a while where `ply` put it before it went on to the centre.
fn stood(ctx: &Ctx<'_>, ply: &Ply) -> bool {
    let Some(to) = ply.kind.legal().map(shakmaty::Move::to) else {
        return false;
    };
    ctx.sensed.at(to).is_empty() && ctx.sensed.since(to).since(ply.at) >= STOOD_MS
}

/// Enters the half-moves into the record that were made before the kings went to the centre.
fn enter_before_kings(ctx: &mut Ctx<'_>, course: &mut Course) {
    let best = course.lines.best().clone();
    let from = course.announced();
    if !course.on_record() || !course.record.withdrawn.is_empty() {
        return;
    }
    let last_pressed = best.plies.rposition(|p| p.pressed.is_some());
    for (i, ply) in best.plies.iter().enumerate().skip(from) {
        let king = matches!(
            ply.kind,
            PlyKind::Legal(shakmaty::Move::Normal { role: Role::King, .. })
        );
        let vouched = last_pressed.is_some_and(|last| i <= last) || stood(ctx, ply);
        if (king && !vouched) || ply.kind.legal().is_none() {
            break;
        }
        let by = if ply.pressed.is_some() {
            CompletedBy::Clock
        } else {
            CompletedBy::Stillness
        };
        course.announce(ctx, ply, by);
    }
}

/// The question for an arbiter if `result`, which the board shows, contradicts the last ruling; none if
/// it does not.
pub(in crate::watcher) fn contradicts(
    record: &GameRecord,
    cases: &Cases,
    result: GameResult,
) -> Option<String> {
    // A ruling that was carried out or accepted holds as well, as long as nobody has played on.
    let holds = |open: &&Open| match &open.ended {
        None => true,
        Some(ended) => {
            matches!(ended.how, Resolution::Restored | Resolution::Stands) && record.plies() <= open.ply
        }
    };
    let last = cases.all().filter(holds);
    let ruled = last.filter_map(|open| {
        let penalty = &open.case_file.said.ruling.penalty;
        let winner = (penalty.kind == crate::laws::PenaltyKind::Loss).then_some(penalty.to?)?;
        Some((open.said, &open.case_file.said, winner))
    });
    let (_, said, winner) = ruled.max_by_key(|(at, ..)| *at)?;
    if result.winner() == Some(winner) {
        return None;
    }
    Some(format!(
        "The board says {}, and the last ruling, on {}, says that {} wins: which is it? Enter the result.",
        result.as_str(),
        said.kind.as_str(),
        winner.in_words(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::board::Placement;

    fn said(white: Square, black: Square) -> Option<GameResult> {
        let mut placement = Placement::default();
        placement.set(white, Code::from(Color::White.king()));
        placement.set(black, Code::from(Color::Black.king()));
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), &placement);
        kings_say(&sensed)
    }

    #[test]
    fn kings_on_light_squares_mean_that_white_won() {
        assert_eq!(said(Square::E4, Square::D5), Some(GameResult::WhiteWins));
        assert_eq!(said(Square::D5, Square::E4), Some(GameResult::WhiteWins));
    }

    #[test]
    fn kings_on_dark_squares_mean_that_black_won() {
        assert_eq!(said(Square::D4, Square::E5), Some(GameResult::BlackWins));
    }

    #[test]
    fn kings_on_one_of_each_colour_mean_a_draw() {
        assert_eq!(said(Square::E4, Square::E5), Some(GameResult::Draw));
        assert_eq!(said(Square::D4, Square::D5), Some(GameResult::Draw));
    }

    #[test]
    fn one_king_in_the_centre_means_nothing() {
        assert_eq!(said(Square::E4, Square::E6), None);
        assert_eq!(said(Square::E1, Square::E8), None);
    }
}
