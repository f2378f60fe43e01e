//! Pieces that fell or were displaced while a player moved, and were not in their places at that player's
//! press (7.4, 7.6). The watcher reports them once that is clearly the likeliest hypothesis.

use shakmaty::Square;

use super::{
    cases::Cases,
    doubt::is_noticed,
    finding::{Finding, Scene},
    record::GameRecord,
    trust::Trust,
};
use crate::{
    board::{Fall, Faults, Line, fall::Fallen, row::TOGETHER_MS},
    event::Certainty,
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// Probability above which the watcher reports that pieces fell.
const LIKELY: f64 = 0.8;
/// Probability above which the watcher reports a suspicion, where the piece came back: a square that does not
/// read for a while looks the same.
const POSSIBLE: f64 = 0.1;
/// Number of half-moves that may be read and not be in the record yet.
const AHEAD: usize = 1;
/// Whoever stopped the clock looks at the board for so long before he puts anything right.
const AT_REST_MS: u64 = 1500;
/// After this many half-moves the report is a suspicion: nobody has missed the pieces, and the hypotheses that explain them by
/// other half-moves have been given up.
const MISSED_BY: usize = 4;
/// Probability above which the report is more than a suspicion, where nothing bears it out but that the piece
/// came back slowly, as it would on a square that had not read for a while.
const CLEAR: f64 = 0.95;

/// Looks whether missing pieces fell, and whose hand it was. `told` is the press of which that was said as a suspicion.
pub(super) fn found(ctx: &mut Ctx<'_>, trust: &Trust<'_>, told: Option<Millis>) -> Option<(Finding, Fall)> {
    let (course, unread) = (trust.course, trust.unread);
    let stands = ctx.clock.stopped_at.is_some();
    let (fall, probability) = course.lines.likeliest_fall(ctx.now, ctx.sensed, stands)?;
    // While a piece stands where an early reply would put it, `displaced` looks after it.
    if fall.may_be_reply() && !fall.is_over() || told == Some(fall.pressed) {
        return None;
    }
    // What comes back from where a reply would put it may have been moved there and back, unless it came there faster than that.
    let enough = if fall.is_over() && !fall.carried_like_reply {
        POSSIBLE
    } else {
        LIKELY
    };
    // A player has moved two pieces, and which was his half-move is unknown, or whether the other one fell.
    let is_unclear = probability < enough;
    if is_unclear && !is_noticed_at_rest(ctx, &fall, trust) || trust.is_unproven(ctx, Some(fall.pressed)) {
        return None;
    }
    if left_beside_clock(ctx, &fall) || may_come_back_at_once(ctx, &fall) {
        return None;
    }
    // A record that lags behind the readings is not sure enough for an accusation.
    let ahead = course.lines.best().plies.len() > course.announced() + AHEAD;
    if ahead || !course.on_record() {
        return None;
    }
    // On a board whose squares fail for a while, a faulty square explains the missing piece better than a
    // fall does.
    let stopped = ctx.is_stopped_since(fall.pressed);
    if !stopped && (unread.healed & !fall.homes()).any() {
        return None;
    }
    let ply = course.ply_pressed_at(course.lines.best(), fall.pressed)?;
    let is_theirs = ply <= course.record.plies() && course.record.mover(ply) == fall.by;
    if !is_theirs || displaced_at(trust.cases, ply) || !ctx.is_told(ctx.now, 0) {
        return None;
    }
    // Where nobody measured when the piece came back, nobody knows how long it was gone.
    let measured = !ctx.timing.is_unmeasured(fall.pressed);
    let borne_out = fall.is_borne_out() && probability >= LIKELY;
    let is_sure = measured && !fall.may_be_reply() && (borne_out || probability >= CLEAR);
    let is_sure = is_sure && !has_hand_full(ctx, course.lines.best(), &fall);
    // Whoever stops the clock or presses back has seen whose hand it was.
    let is_open = fall.two_hands && !stopped && !fall.is_noticed();
    // The opponent may have taken the piece off, and may still be about to capture it.
    let is_open_capture = fall.like_capture && !stopped;
    // Until what was put elsewhere is put right, the opponent may be about to move it.
    let is_open_put = fall.is_being_put() && !stopped;
    if (is_open || is_open_put) && !fall.is_over() {
        return None;
    }
    let is_missed = course.record.plies() <= ply + MISSED_BY;
    let clear = is_missed
        && !is_unclear
        && !is_open
        && !is_open_capture
        && !fall.unheard
        && (!fall.is_over() || is_sure);
    Some((finding(&course.record, &fall, ply, clear), fall))
}

/// True where somebody has stopped the clock soon after the press, nothing has moved for a while, and something stands out of place
/// whatever was played.
fn is_noticed_at_rest(ctx: &mut Ctx<'_>, fall: &Fall, trust: &Trust<'_>) -> bool {
    let Some(stopped) = ctx.clock.stopped_at.filter(|_| is_noticed(ctx, fall.pressed)) else {
        return false;
    };
    let rest = stopped.max(ctx.sensed.last_change());
    // What is read nowhere may be put back, and then tells more.
    let are_read = fall.pieces().all(|piece| piece.lies.is_some() && !piece.back);
    are_read
        && ctx.is_told(rest, AT_REST_MS)
        && trust.course.lines.out_of_place(fall, ctx.now, ctx.sensed) >= CLEAR
}

/// True where the pieces left their squares while the clock stood, before the press: the hand that made the half-move has not
/// touched them.
fn left_beside_clock(ctx: &Ctx<'_>, fall: &Fall) -> bool {
    let left = |piece: &Fallen| ctx.sensed.left_at(piece.home, piece.code);
    let mut pieces = fall.pieces();
    pieces.all(|piece| left(piece).is_some_and(|left| ctx.clock.stood_at(left, fall.pressed)))
}

/// True while one of several pieces has just come back: pieces of a rank or file that was not read come back together. Or while one
/// that is back is read where it lay as well: whether it has gone back in an instant tells whether it stands between the two squares.
fn may_come_back_at_once(ctx: &mut Ctx<'_>, fall: &Fall) -> bool {
    let is_open = |piece: &Fallen| piece.lies.is_some() || !fall.is_over();
    let back = fall
        .pieces()
        .filter(|piece| piece.back && is_open(piece))
        .map(|piece| ctx.sensed.since(piece.home));
    let Some(back) = back.max() else {
        return false;
    };
    ctx.at(back + TOGETHER_MS);
    !ctx.passed(back, TOGETHER_MS)
}

/// True while the player to whom the pieces of `fall` were put back holds another piece, which he lifted before. One hand
/// does not do both: a piece that was read nowhere meanwhile had rather not been read on its square.
fn has_hand_full(ctx: &Ctx<'_>, best: &Line, fall: &Fall) -> bool {
    if fall.has_lain() {
        return false;
    }
    let back = fall.homes().into_iter().map(|home| ctx.sensed.since(home)).max();
    let held = |s: Square| {
        let theirs = best.expects(s).color() == Some(!fall.by);
        let since = ctx.sensed.since(s);
        theirs && ctx.sensed.at(s).is_empty() && since > fall.pressed && back.is_some_and(|back| since < back)
    };
    (best.differing() & !fall.squares()).into_iter().any(held)
}

/// True when an irregularity was reported of half-move `ply` that concerns displaced pieces, or whose
/// correction puts them right.
fn displaced_at(cases: &Cases, ply: usize) -> bool {
    let displaced = [
        IrregularityKind::PiecesDisplaced,
        IrregularityKind::DisplacedPieceFound,
        IrregularityKind::CastlingIncomplete,
        IrregularityKind::PromotionNotReplaced,
    ];
    let mut known = cases.all();
    known.any(|open| !open.is_dismissed() && open.ply == ply && displaced.contains(&open.kind))
}

fn finding(record: &GameRecord, fall: &Fall, ply: usize, clear: bool) -> Finding {
    let target = record.stand_at(ply).clone();
    let faults = Faults {
        fall: Some(*fall),
        ..Faults::default()
    };
    let mut seen = target.placement().clone();
    for square in fall.squares() {
        seen.set(square, faults.shown(square, seen.at(square)));
    }
    let before = record.stand_at(ply - 1).clone();
    // A piece that is merely missing may be in a hand, or not be read.
    let certainty = if !clear {
        Certainty::Suspected
    } else if fall.pieces().any(|piece| piece.lies.is_some() && !piece.put) && !fall.by_either {
        Certainty::Certain
    } else {
        Certainty::Probable
    };
    let scene = Scene {
        ply,
        before,
        seen,
        at: fall.pressed,
        clock: record[ply - 1].clock,
    };
    let kind = IrregularityKind::PiecesDisplaced;
    let mut finding = Finding::new(kind, certainty, Some(fall.by), scene);
    finding.squares = fall.squares();
    finding.target = Some(target);
    finding
}

#[cfg(test)]
mod tests {
    use crate::{
        dgt::{Lever, Message, PieceCode},
        event::Certainty,
        time::Millis,
        watcher::testing::{after_e4, certainties, clock, hear, initial_pieces},
    };

    /// White's pawn on d2, on the wire.
    const D2: u8 = 51;
    /// Black's pawn on h7.
    const H7: u8 = 15;

    /// Black plays 1...Nc6 at 6.0 s and presses at 6.8 s. The changes are those of one piece each, and come besides. Returns
    /// how sure the watcher is of each irregularity.
    fn said(changes: &[(u64, u8, u8)]) -> Vec<Certainty> {
        let mut watcher = after_e4();
        let mut all = vec![(5500, Some((1, 0))), (6000, Some((18, 9))), (6800, None)];
        all.extend(
            changes
                .iter()
                .map(|(at, square, code)| (*at, Some((*square, *code)))),
        );
        all.extend((7700..20_000).step_by(1000).map(|at| (at, None)));
        all.sort_by_key(|(at, _)| *at);
        for (at, change) in all {
            let message = match change {
                Some((square, code)) => Message::Field {
                    square,
                    piece: PieceCode(code),
                },
                None => clock(Lever::LeftHigh),
            };
            hear(&mut watcher, at, message);
        }
        certainties(&mut watcher)
    }

    #[test]
    fn a_piece_that_falls_while_the_opponent_replies_is_a_suspicion() {
        // The pawn on h7 falls to h6, and is put back by White.
        let falls = |lifted| {
            said(&[
                (6500, H7, 0),
                (6530, H7 + 8, 7),
                (8300, H7 + 8, 0),
                (8700, H7, 7),
                (lifted, D2, 0),
                (lifted + 4000, D2 - 16, 1),
            ])
        };
        assert_eq!(falls(9500), [Certainty::Certain]);
        assert_eq!(
            falls(6430),
            [Certainty::Suspected],
            "White had lifted the pawn on d2"
        );
    }

    /// Black lifts the knight of b8, and nobody reads the board for 2.5 s. The rook of h8 is missing from then on, for a while.
    #[test]
    fn a_piece_that_nobody_saw_leave_is_no_accusation() {
        let mut watcher = after_e4();
        let field = |square, piece| Message::Field {
            square,
            piece: PieceCode(piece),
        };
        hear(&mut watcher, 5500, field(1, 0));
        watcher.handle_link_down(Millis(5600), "unplugged");
        watcher.handle_link_up(Millis(8100), "port");
        let mut squares = initial_pieces();
        for (square, piece) in [(1, 0), (7, 0), (52, 0), (36, 1)] {
            squares[square] = PieceCode(piece);
        }
        hear(&mut watcher, 8200, Message::Dump(&squares));
        hear(&mut watcher, 8210, clock(Lever::RightHigh));
        hear(&mut watcher, 8500, field(18, 9));
        for at in (9000..10_000).step_by(1000) {
            hear(&mut watcher, at, clock(Lever::RightHigh));
        }
        for at in (10_800..13_000).step_by(1000) {
            hear(&mut watcher, at, clock(Lever::LeftHigh));
        }
        hear(&mut watcher, 13_500, field(7, 8));
        for at in (13_800..20_000).step_by(1000) {
            hear(&mut watcher, at, clock(Lever::LeftHigh));
        }
        assert_eq!(certainties(&mut watcher), [Certainty::Suspected]);
    }

    #[test]
    fn a_piece_that_is_read_again_while_the_player_holds_another_is_a_suspicion() {
        // The pawn on h7 is not read from Black's half-move on, and is read again.
        let returns = |lifted| {
            said(&[
                (5900, H7, 0),
                (10_500, H7, 7),
                (lifted, D2, 0),
                (11_500, D2 - 16, 1),
            ])
        };
        assert_eq!(returns(11_000), [Certainty::Probable]);
        assert_eq!(returns(9900), [Certainty::Suspected]);
    }
}
