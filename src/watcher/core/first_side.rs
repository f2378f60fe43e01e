//! Whose time runs first, where somebody had started the wrong side before anything was played, or where the first press shows that
//! the game began otherwise: a pawn stood astray in the initial position, or Black has begun.

use shakmaty::Color;

use crate::{
    dgt::ClockSide,
    watcher::{
        clock::Clock,
        ctx::Ctx,
        game::{Game, array},
    },
};

/// Somebody had started the wrong side first, stopped the clock, and has started the other one before anything was played: that
/// side is rather White's. A press has to bear it out.
pub(super) fn started_otherwise(game: &Game, clock: &mut Clock) {
    // After a gap the lever may have gone over by a press that nobody heard.
    if game.is_untouched() && !clock.was_found_running() {
        runs_first(clock, game.course.record.start.turn());
    }
}

/// Somebody had started the wrong side first, and has turned the lever before anything was played: that was no press. Returns who
/// begins.
pub(super) fn pressed_first(game: &mut Game, ctx: &mut Ctx<'_>) -> Option<Color> {
    if ctx.clock.is_configured() || !game.is_watched() || !game.was_pressed_first_of_all(ctx) {
        return None;
    }
    game.presses.judged = None;
    game.course.lines.forget_presses();
    Some(game.course.record.start.turn())
}

/// Somebody had started the wrong side first, and the player who begins found his lever down: he put it over, and pressed. That was no
/// press of his opponent's. Returns whose time runs.
pub(super) fn turned_first(game: &mut Game, ctx: &mut Ctx<'_>) -> Option<Color> {
    if !game.was_lever_turned_first(ctx) {
        return None;
    }
    game.presses.judged = None;
    game.course.lines.forget_presses();
    Some(game.course.to_move())
}

/// The first press was for a half-move that the position does not allow in which the game began, as the watcher has it, and
/// another beginning does: the game began so. Whoever pressed has the move there. Returns White's side of the clock, as that shows it.
pub(super) fn begin_otherwise(game: &mut Game, ctx: &mut Ctx<'_>) -> Option<ClockSide> {
    if !game.is_watched() || game.gap.is_open {
        return None;
    }
    let beginning = array::begun_otherwise(ctx, &game.course, &game.cases, &game.presses)?;
    let (pressed, turn) = (beginning.press.side, beginning.start.turn());
    if ctx.clock.is_configured() && pressed != turn {
        return None;
    }
    let side = ctx.clock.side_of(pressed);
    if let Some(finding) = array::begin_otherwise(ctx, &mut game.course, &mut game.presses, beginning) {
        game.accuse(ctx, finding, None);
    }
    Some(if turn == Color::White { side } else { side.other() })
}

/// The time that runs is that of `first`, the player who is to move, unless White's side is known. A press has to bear it out.
pub(super) fn runs_first(clock: &mut Clock, first: Color) {
    let Some(counting) = clock.counting() else {
        return;
    };
    let white = if first == Color::White {
        counting
    } else {
        counting.other()
    };
    if clock.white_side().is_some_and(|side| side != white) {
        clock.guess(white);
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        dgt::{Lever, Message, PieceCode},
        event::Certainty,
        time::Millis,
        watcher::{
            ClockSideSetting, Settings, Watcher,
            testing::{certainties, clock, hear, initial_pieces},
        },
    };

    /// Somebody presses before anything was played.
    fn pressed_first(clock_side: ClockSideSetting) -> Vec<Certainty> {
        let settings = Settings {
            clock_side,
            ..Settings::default()
        };
        let mut watcher = Watcher::new(settings, None);
        watcher.handle_link_up(Millis(0), "port");
        hear(&mut watcher, 100, Message::Dump(&initial_pieces()));
        hear(&mut watcher, 1500, clock(Lever::LeftHigh));
        for at in (4000..8000).step_by(1000) {
            hear(&mut watcher, at, clock(Lever::RightHigh));
        }
        certainties(&mut watcher)
    }

    /// White plays 1.e4, which is pressed for, and again the other way `after` that; then Black plays 1...c5 and White 2.d4, and the
    /// times are as where the wrong side was started first.
    fn turned_first(clock_side: ClockSideSetting, after: u64) -> Vec<Certainty> {
        let settings = Settings {
            clock_side,
            ..Settings::default()
        };
        let mut watcher = Watcher::new(settings, None);
        watcher.handle_link_up(Millis(0), "port");
        hear(&mut watcher, 100, Message::Dump(&initial_pieces()));
        hear(&mut watcher, 1500, clock(Lever::RightHigh));
        let mut place = |at, square, code| {
            let piece = PieceCode(code);
            hear(&mut watcher, at, Message::Field { square, piece });
        };
        place(4000, 52, 0);
        place(4400, 36, 1);
        hear(&mut watcher, 5000, clock(Lever::LeftHigh));
        hear(&mut watcher, 5000 + after, clock(Lever::RightHigh));
        for at in (8000..12_000).step_by(1000) {
            hear(&mut watcher, at, clock(Lever::RightHigh));
        }
        let replies = [
            (12_000, 10, 26, 7, Lever::LeftHigh),
            (16_000, 51, 35, 1, Lever::RightHigh),
        ];
        for (at, from, to, code, lever) in replies {
            for (at, square, code) in [(at, from, 0), (at + 400, to, code)] {
                let piece = PieceCode(code);
                hear(&mut watcher, at, Message::Field { square, piece });
            }
            for at in (at + 1000..at + 4000).step_by(1000) {
                hear(&mut watcher, at, clock(lever));
            }
        }
        certainties(&mut watcher)
    }

    #[test]
    fn a_lever_that_is_put_over_before_the_first_press_accuses_nobody() {
        for after in [150, 482, 900] {
            assert_eq!(turned_first(ClockSideSetting::Auto, after), [], "{after} ms");
        }
        let sides = [ClockSideSetting::WhiteLeft, ClockSideSetting::WhiteRight];
        let told = sides.map(|side| turned_first(side, 482).len());
        assert_eq!(
            told.iter().sum::<usize>(),
            1,
            "{told:?}: where White's side is known"
        );
    }

    #[test]
    fn a_press_before_anything_was_played_is_an_offence_only_where_whites_side_is_known() {
        assert_eq!(pressed_first(ClockSideSetting::Auto), []);
        let sides = [ClockSideSetting::WhiteLeft, ClockSideSetting::WhiteRight];
        let told = sides.map(|side| pressed_first(side).len());
        assert_eq!(
            told.iter().sum::<usize>(),
            1,
            "{told:?}: by White, and not by Black"
        );
    }
}
