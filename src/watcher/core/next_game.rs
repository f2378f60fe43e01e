//! The players set up the next game, after a game or during one.

use shakmaty::Bitboard;

use super::{lifecycle::look_for_start, phase::Phase, play::Play, start::Setup, world::World};
use crate::{
    board::{Orientation, Placement, Sensed, orientation::MOST_UNREAD},
    event::{GameResult, notice},
    time::Millis,
    watcher::{
        arrays::{
            MIDDLE, array_named, has_pawn_astray, have_come_home, is_after_first_moves, is_array_as_read,
            is_full_array, is_nearly_right,
        },
        ctx::Ctx,
        game::{Game, finish::retract_set_up},
    },
};

/// The squares between the armies where the board lies sideways.
const MIDDLE_SIDEWAYS: Bitboard = Bitboard(0x3c3c_3c3c_3c3c_3c3c);
/// After a game, the initial position must stand for this long to begin the next one.
const NEW_ARRAY_MS: u64 = 1000;
/// During a game, the initial position must stand for this long before it means a new game.
const RESET_MS: u64 = 3000;

/// Looks whether the players have set up the next game, after a game or during one. Returns what is known of it where the present one
/// waits for its result.
pub(super) fn look_for_next(world: &mut World, play: &mut Play, now: Millis) -> Option<Setup> {
    // What stood there before a gap tells nothing of a next game before the board was read again.
    if world.board.gap.is_some() {
        return None;
    }
    let is_set_up =
        !play.phase.is_parked() && (array_stands(world, play, now) || turned_array_stands(world, play, now));
    if is_set_up {
        return leave(world, play, now, Setup::default());
    }
    None
}

/// The next game begins at the board, as `setup` has it. The present one ends, or waits for its result; then `setup` is returned.
fn leave(world: &mut World, play: &mut Play, now: Millis, setup: Setup) -> Option<Setup> {
    let (game, mut ctx) = play.game_and_ctx(world, now)?;
    if game.outcome.result.is_none() {
        retract_set_up(&mut ctx, &mut game.course);
        // If the next round is paired already, the players set up its game and do not analyse the last one.
        if game.table.round == ctx.settings.round && ctx.settings.players.iter().any(Option::is_some) {
            park(&mut ctx, game);
            return Some(setup);
        }
        game.end(&mut ctx, GameResult::Open, "pieces_set_up_anew");
    }
    play.phase = Phase::Waiting(Box::new(setup));
    world.board.orient(&mut play.phase);
    look_for_start(world, play, now);
    None
}

/// Parks the game: the pieces were set up anew, and the game has no result. A game of the round must get
/// one, so a notice asks an arbiter.
fn park(ctx: &mut Ctx<'_>, game: &mut Game) {
    game.outcome.parked = true;
    let message = "The pieces were set up anew, and the game has no result. It is kept as it is: enter its result, or say that it goes \
                   on (`resume`), or that a new game has begun (`new_game`). What is played by the clock meanwhile is told then.";
    game.course.notice(ctx, notice::SET_UP_WITHOUT_RESULT, message);
}

/// The clock was started. If it shows the first times, and the pieces stand as a few half-moves after the initial position, these
/// were made while the last pieces were being set up: the next game has begun. Returns what is known of it where the present one waits for its result.
pub(super) fn look_for_begun_next(world: &mut World, play: &mut Play, now: Millis) -> Option<Setup> {
    let game = play.phase.game()?;
    let seen = world.board.sensed.placement();
    let is_new = !game.outcome.parked
        && world.clock.has_begun_anew(world.settings.rules.periods.first())
        && have_come_home(game.course.record.stand().placement(), seen)
        && is_after_first_moves(&world.board.sensed, now);
    if is_new {
        let setup = Setup::of_first_moves(&world.board.sensed, now);
        return leave(world, play, now, setup);
    }
    None
}

/// True where the pieces are set up anew another way round: the players have changed colours and not their seats, or the board
/// was turned.
fn turned_array_stands(world: &World, play: &mut Play, now: Millis) -> bool {
    let (Phase::Game(game), Some(raw)) = (&play.phase, &world.board.raw) else {
        return false;
    };
    let occupied = world.board.sensed.placement().occupied();
    if !game.is_watched()
        || game.course.record.plies() == 0
        || occupied.count() + MOST_UNREAD < Placement::ARRAY.occupied().count()
        || (occupied & MIDDLE).any() && (occupied & MIDDLE_SIDEWAYS).any()
    {
        return false;
    }
    let is_other = |found: &Orientation| *found != world.board.orientation;
    let found = Orientation::of_start(raw).filter(is_other);
    found.is_some_and(|found| is_array_as_read(&found.placement(raw)))
        && has_stood(&world.board.sensed, play, now, RESET_MS)
}

/// True where nothing has changed on the board for `ms`. If not, looks again then.
fn has_stood(sensed: &Sensed, play: &mut Play, now: Millis, ms: u64) -> bool {
    let due = sensed.last_change() + ms;
    if now < due {
        play.look_at(due);
    }
    now >= due
}

/// True where the pieces are set up anew, and have stood so for long enough to mean a new game.
pub(super) fn array_stands(world: &World, play: &mut Play, now: Millis) -> bool {
    let Phase::Game(game) = &play.phase else {
        return false;
    };
    let over = game.outcome.result.is_some();
    let seen = world.board.sensed.placement();
    // On most boards these numbers decide, and it is not necessary to compare the pieces.
    let occupied = seen.occupied();
    if occupied.count() < 32 - MOST_UNREAD || (occupied & MIDDLE).count() > 1 {
        return false;
    }
    let named = array_named(seen);
    let is_set = world.clock.is_set_anew(world.settings.rules.periods.first());
    // What a game ended with may be nearly an initial position, too.
    let shows = |placement: &Placement| placement.agrees(seen) || game.unread.is_shown(placement, seen);
    let is_new = || !shows(game.course.record.stand().placement());
    let lacks_some = || is_new() && is_array_as_read(&named);
    let is_anew = is_set || have_come_home(game.course.record.stand().placement(), seen);
    let array = if over {
        is_full_array(&named) || lacks_some() || is_anew && is_new() && has_pawn_astray(&named)
    } else {
        let is_wrong = || is_new() && (is_nearly_right(&named) || has_pawn_astray(&named));
        // What lacks a piece may come of first half-moves to squares that are not read.
        let plies = game.course.record.plies();
        let may_lack_some = is_set || plies > MOST_UNREAD || is_full_array(&named);
        plies > 0 && (may_lack_some && lacks_some() || is_anew && is_wrong())
    };
    if !array
        || !over && game.course.lines.all().any(|line| shows(line.placement()))
        || !over && game.positions().is_to_be_put_right(seen)
        || !over && game.overruled.as_ref().is_some_and(|shown| shown.is_shown(seen))
    {
        return false;
    }
    has_stood(
        &world.board.sensed,
        play,
        now,
        if over { NEW_ARRAY_MS } else { RESET_MS },
    )
}
