//! A game begins, from an initial position or in progress.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color};

use super::{phase::Phase, play::Play, presses::pressed, world::World};
use crate::{
    board::{Lines, Orientation, Placement, Stand},
    event::{Body, Certainty},
    time::Millis,
    watcher::{
        OrientationSetting, Settings, Table,
        arrays::{
            Array, castling_of, has_kings_and_queens_exchanged, has_pawn_astray, is_full_array, kind_of,
            lacks_one, lacks_unplayed, stand_of,
        },
        clock::Clock,
        ctx::Ctx,
        game::{Game, array, waits::READ_MS},
    },
};

/// If pieces are missing or stand in the middle, and more squares than these are wrong, a game had begun
/// before.
const MOST_WRONG: usize = 10;

/// Begins a game from `array`.
pub(super) fn begin(world: &mut World, play: &mut Play, now: Millis, array: &Placement) {
    let stand = Arc::new(stand_of(array));
    let mut presses = take_presses(&mut play.phase);
    let increment = first_increment(&world.settings);
    let (lines, started, missed, unseen) = match &mut play.phase {
        Phase::Waiting(setup) => (
            setup.lines.take(),
            setup.started.unwrap_or(now),
            setup.missed_until,
            setup.unseen,
        ),
        Phase::Game(_) => (None, now, None, false),
    };
    // Those before somebody started the clock were for another game.
    if !world.clock.was_found_running() {
        presses.retain(|at| *at >= started);
    }
    start_game(world, play, now, stand);
    let Phase::Game(game) = &mut play.phase else {
        return;
    };
    if let Some(lines) = lines {
        game.course.take_lines(lines);
    }
    game.gap.missed_until = missed;
    if unseen {
        game.doubt.of_gap(0);
    }
    game.doubt.absent = lacks_unplayed(array) && is_far_from_array(array);
    game.course.lines.set_clock_runs(world.clock.runs());
    game.course.clock_used = world.clock.runs();
    sit(
        &mut world.clock,
        &game.course.lines,
        &presses,
        started,
        increment,
        missed.is_some(),
    );
    press_again(world, play, &presses);
    let lies = world.board.orientation;
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return;
    };
    let was_heard = game.gap.missed_until.is_none();
    game.unread.begin(&mut ctx, &mut game.course, was_heard);
    report_start(&mut ctx, game, lies, array);
}

/// Finds out how the players sit. The time that ran first was White's, unless an odd number of
/// half-moves had been made before the clock was `started`. `missed` says whether half-moves may be missing.
fn sit(clock: &mut Clock, lines: &Lines, presses: &[Millis], started: Millis, increment: u32, missed: bool) {
    let Some(counting) = clock.counting() else {
        return;
    };
    let plies = &lines.best().plies;
    let before = plies.iter().take_while(|ply| !ply.seen || ply.at < started);
    let odd = !before.count().is_multiple_of(2);
    // They need not have been completed by a press.
    let found = clock.was_found_running();
    let unheard = odd && presses.is_empty() && found;
    let is_first = clock.is_first_time(increment);
    let moved_before = odd && !(unheard && is_first);
    let whites = match presses.last().filter(|_| found) {
        // Nobody knows which presses came before the first that was heard. The last one was for the last half-move before it.
        Some(last) => {
            let by_then = plies.iter().filter(|ply| !ply.seen || ply.at <= *last + READ_MS);
            by_then.count().is_multiple_of(2)
        }
        None => presses.len().is_multiple_of(2) != moved_before,
    };
    let side = if whites { counting } else { counting.other() };
    // Somebody has pressed before the watcher came, and it may have missed the half-move.
    if found && !is_first {
        clock.guess_late(side);
    } else if unheard || missed {
        clock.guess(side);
    } else {
        clock.found(side);
    }
}

/// Reports what is wrong with the way the board lies, and with the initial position `array`.
fn report_start(ctx: &mut Ctx<'_>, game: &mut Game, lies: Orientation, array: &Placement) {
    let reversed = match ctx.settings.orientation {
        OrientationSetting::Auto => false,
        OrientationSetting::Normal => lies == Orientation::Turned,
        OrientationSetting::Turned => lies == Orientation::Normal,
    };
    if lies.is_sideways() {
        let finding = array::board_sideways(ctx, &game.course.record);
        game.accuse(ctx, finding, None);
    } else if reversed {
        let finding = array::colours_reversed(ctx, &game.course.record);
        game.accuse(ctx, finding, None);
    }
    let (squares, certainty) = match kind_of(array) {
        Array::Wrong(squares) if !is_far_from_array(array) => (squares, Certainty::Certain),
        // One of the 960 arrays, and what children make of the one that they know.
        Array::Chess960 if has_kings_and_queens_exchanged(array) => {
            (array.differing(&Placement::ARRAY), Certainty::Suspected)
        }
        _ => return,
    };
    let finding = array::array_wrong(ctx, &game.course.record, array, squares, certainty);
    game.accuse(ctx, finding, None);
}

/// Begins a game in progress from the position `from`, with the hypotheses `lines` if half-moves have
/// been seen since.
pub(super) fn begin_mid_game(
    world: &World,
    play: &mut Play,
    now: Millis,
    from: &Placement,
    turn: Color,
    lines: Option<Lines>,
) {
    let stand = Stand::of_placement(from, turn, castling_of(from));
    let first = lines
        .as_ref()
        .and_then(|lines| lines.best().plies.first()?.kind.legal());
    let stand = first.and_then(|mv| stand.allowing(mv)).unwrap_or(stand);
    let Phase::Waiting(setup) = &play.phase else {
        return;
    };
    let (in_doubt, absent, missed) = (setup.in_doubt, setup.absent, setup.missed_until);
    let is_late = setup.midway.as_ref().is_some_and(|midway| midway.is_late);
    let unsure = setup.midway.as_ref().is_some_and(|midway| midway.is_unsure);
    // If one player alone lacks a piece, the board may not read it. Nor may it those that lack before a game.
    let absent = absent || is_late && lacks_one(from) || lacks_unplayed(from);
    start_game(world, play, now, Arc::new(stand));
    let runs = world.clock.runs();
    // If the watcher read the beginning in a lump, it knows as little of it as of a gap.
    let read = lines
        .as_ref()
        .and_then(|lines| Some(lines.best().plies.first()?.at));
    let began = read.map_or(world.clock.started_at, |read| read.min(world.clock.started_at));
    let in_lump = runs && world.timing.is_unmeasured(began);
    let is_auto = world.settings.orientation == OrientationSetting::Auto;
    let turned = is_auto && !world.board.orientation_shown;
    if let Phase::Game(game) = &mut play.phase {
        if in_doubt || in_lump || unsure {
            game.doubt.of_beginning(in_lump && !in_doubt && !unsure);
        }
        game.doubt.absent = absent;
        game.doubt.turned = turned;
        game.gap.missed_until = missed;
        game.doubt.shaken |= in_doubt;
        game.doubt.taken_up_anew = in_doubt;
        if let Some(lines) = lines {
            game.course.take_lines(lines);
        }
        game.course.lines.set_clock_runs(runs);
        game.course.clock_used = runs;
    }
    // Hardly any half-moves lead there with White to move.
    if !in_doubt
        && turn == Color::White
        && has_pawn_astray(from)
        && let Some((game, mut ctx)) = play.game_and_ctx(world, now)
    {
        let squares = from.differing(&Placement::ARRAY);
        let finding = array::array_wrong(&ctx, &game.course.record, from, squares, Certainty::Suspected);
        game.accuse(&mut ctx, finding, None);
    }
    // For a game that is taken up anew, the watcher reported this before.
    if world.board.orientation.is_sideways()
        && !in_doubt
        && let Some((game, mut ctx)) = play.game_and_ctx(world, now)
    {
        let finding = array::board_sideways(&ctx, &game.course.record);
        game.accuse(&mut ctx, finding, None);
    }
}

/// The increment of the first period, in seconds.
fn first_increment(settings: &Settings) -> u32 {
    let first = settings.rules.periods.first();
    first.map_or(0, |period| period.increment)
}

/// The presses that came before the watcher saw that the game had begun.
fn take_presses(phase: &mut Phase) -> Vec<Millis> {
    match phase {
        Phase::Waiting(setup) => std::mem::take(&mut setup.presses),
        Phase::Game(_) => Vec::new(),
    }
}

/// Gives `presses` to the half-moves that were seen meanwhile. The players press in turn, and the last
/// press was by the player whose time does not run.
fn press_again(world: &mut World, play: &mut Play, presses: &[Millis]) {
    let Some(running) = world.clock.running() else {
        return;
    };
    for (i, at) in presses.iter().enumerate() {
        let last = (presses.len() - 1 - i).is_multiple_of(2);
        pressed(world, play, *at, if last { !running } else { running });
    }
}

pub(super) fn start_game(world: &World, play: &mut Play, now: Millis, stand: Arc<Stand>) {
    play.games += 1;
    let chess960 = stand.mode() == CastlingMode::Chess960;
    let fen = stand.fen();
    let mut game = Game::new(play.games, stand, &world.board.sensed, now);
    game.table = Table::of(&world.settings);
    game.rules = Arc::new(world.settings.rules.clone());
    play.phase = Phase::Game(Box::new(game));
    let [white, black] = world.settings.players.clone();
    let (event, round) = (world.settings.event.clone(), world.settings.round);
    play.emit(
        &world.settings,
        now,
        Body::GameStarted {
            fen,
            chess960,
            white,
            black,
            event,
            round,
        },
    );
}

/// True when so much is wrong with the array that a game had begun before, or that it is one of Chess960 that is not read whole.
fn is_far_from_array(array: &Placement) -> bool {
    let wrong = match kind_of(array) {
        Array::Wrong(squares) => squares.count(),
        Array::Standard | Array::Chess960 => 0,
    };
    !is_full_array(array) && wrong > MOST_WRONG
}
