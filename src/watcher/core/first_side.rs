//! Whose time runs first, where somebody had started the wrong side before anything was played.

use shakmaty::Color;

use crate::watcher::{clock::Clock, ctx::Ctx, game::Game};

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

/// The time that runs is that of `first`, the player who begins, unless White's side is known. A press has to bear it out.
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
        dgt::{Lever, Message},
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
