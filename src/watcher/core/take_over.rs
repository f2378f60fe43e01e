//! What was watched beside the game takes its place, and is told.

use std::{collections::BTreeMap, mem};

use super::{
    beside::{Beside, leave},
    lifecycle::look_for_start,
    meanwhile::{Meanwhile, Occasion},
    next_game::array_stands,
    phase::Phase,
    play::Play,
    start::Setup,
    unsaid::Unsaid,
    world::World,
};
use crate::{
    event::{Body, GameResult, notice},
    time::Millis,
    watcher::{Settings, Table, game::gap},
};

/// So many half-moves that follow the Laws show which way round the board lies.
const PLAYED: usize = 10;

/// Decides what can be decided of the copy, and whether there has to be one at all.
pub(super) fn review(world: &mut World, play: &mut Play, beside: &mut Beside, now: Millis) {
    beside.watch_on(play, &world.clock);
    let mut again = false;
    beside.step(world, play.out.before, |world, copy| {
        copy.look_again = None;
        match copy.phase {
            Phase::Waiting(_) => look_for_start(world, copy, now),
            Phase::Game(_) => {
                copy.review(world, now);
                again = array_stands(world, copy, now);
            }
        }
    });
    if again && play.phase.is_parked() {
        // What was watched was an analysis, or a game that ended without a clock. What follows is another
        // game.
        beside.watch_set_up(Setup::default(), play.games, &world.clock);
        beside.step(world, play.out.before, |world, copy| {
            look_for_start(world, copy, now);
        });
    }
    beside.unwatch_aside_when_over();
    ask_whether_it_goes_on(world, play, beside, now);
    if beside.get().is_some_and(Meanwhile::is_surely_a_game) {
        if let Some((game, mut ctx)) = play.game_and_ctx(world, now) {
            game.end(&mut ctx, GameResult::Open, "pieces_set_up_anew");
        }
        next_has_begun(&world.settings, play, beside, now);
    }
}

/// Gives notice, once, where a game that has a result is played on by the clock.
fn ask_whether_it_goes_on(world: &World, play: &mut Play, beside: &mut Beside, now: Millis) {
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return;
    };
    let plies = game.course.record.plies();
    let goes_on = |it: &&mut Meanwhile| !it.asked && it.is_played_on(plies);
    let Some(meanwhile) = beside.get_mut().filter(goes_on) else {
        return;
    };
    meanwhile.asked = true;
    let message = "The game has a result, and it is played on by the clock. If it goes on, send `resume`: what was played since \
                   is told then.";
    game.course.notice(&mut ctx, notice::PLAYED_ON, message);
}

/// Watches what stands on the board beside a game that is lost in a gap. Ends that game once the watcher gives the gap up, and
/// takes up what it has watched.
pub(super) fn take_up_anew(world: &mut World, play: &mut Play, beside: &mut Beside, now: Millis) {
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return;
    };
    if !game.is_watched() || game.gap.is_open {
        return;
    }
    if !game.gap.is_unexplained(&game.course) {
        // The game is found again.
        beside.take(Occasion::Lost);
        return;
    }
    if !game.gap.is_lost(&ctx, &game.course) || !gap::is_at_rest(&mut ctx) {
        return;
    }
    let setup = Setup {
        in_doubt: true,
        absent: game.doubt.absent || game.trust().is_board_faulty(),
        ..Setup::default()
    };
    if !game.gap.given_up(&mut ctx) {
        beside.watch_beside_lost(setup, play.games, &world.clock);
        return;
    }
    let is_played = game.course.record.plies() >= PLAYED;
    game.end(&mut ctx, GameResult::Open, "moves_missed");
    world.board.orientation_shown |= is_played;
    play.phase = Phase::Waiting(Box::new(setup));
    if let Some(next) = beside.take(Occasion::Lost) {
        take_over(&world.settings, play, now, *next);
    }
    beside.keep_up(world, play, |world, play| look_for_start(world, play, now));
}

/// The present game as a copy that is watched on, where it goes on and has half-moves: a command is about to begin another one.
pub(super) fn about_to_put_aside(
    world: &World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
) -> Option<Box<Meanwhile>> {
    // The game that was put aside first is the one that was played.
    if let Some(first) = beside.take_aside() {
        return Some(first);
    }
    let (game, mut ctx) = play.game_and_ctx(world, now)?;
    if !game.is_watched() || game.course.record.plies() == 0 {
        return None;
    }
    game.settle_rest(&mut ctx);
    let Phase::Game(game) = &mut play.phase else {
        return None;
    };
    let on = leave(game);
    let aside = Occasion::PutAside(on.course.number);
    Some(Meanwhile::new(aside, Phase::Game(on), play.games, &world.clock))
}

/// The game that was put aside goes on, with all that was played since. The game that a command had begun was none.
pub(super) fn take_up_put_aside(
    world: &World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
    reason: Option<String>,
) {
    let Some(aside) = beside.take_aside() else {
        return;
    };
    let games = play.games;
    if let Some((game, mut ctx)) = play.game_and_ctx(world, now) {
        game.end(&mut ctx, GameResult::Open, "begun_by_mistake");
    }
    let Phase::Game(game) = &aside.play.phase else {
        return;
    };
    let number = Some(game.course.number);
    play.out
        .emit(&world.settings, number, now, None, Body::GameResumed { reason });
    take_over(&world.settings, play, now, *aside);
    play.games = games;
}

/// Makes the copy the next game, because the parked one is over.
pub(super) fn next_has_begun(settings: &Settings, play: &mut Play, beside: &mut Beside, now: Millis) {
    let Some(mut next) = beside.take(Occasion::SetUpAnew) else {
        return;
    };
    let table = Table::of(settings);
    for body in next.unsaid.iter_mut().filter_map(Unsaid::other) {
        table.name(body);
    }
    if let Phase::Game(game) = &mut next.play.phase {
        game.table = table;
    }
    take_over(settings, play, now, *next);
}

/// Makes the copy the next game, because the parked one is over. If the copy shows an analysis, drops it.
pub(super) fn leave_parked(world: &World, play: &mut Play, beside: &mut Beside, now: Millis) {
    let (parked, copy) = (play.phase.game_mut(), beside.get());
    match parked.zip(copy) {
        Some((parked, copy)) if copy.is_analysis(parked, &world.clock) => {
            beside.unwatch_all();
            parked.outcome.parked = false;
        }
        _ => next_has_begun(&world.settings, play, beside, now),
    }
}

/// Lets the game go on with all that was played meanwhile: the result was a mistake, or the pieces were
/// put back.
pub(super) fn game_goes_on(world: &mut World, play: &mut Play, beside: &mut Beside, now: Millis) {
    if let Some(mut on) = beside.take(Occasion::Ended) {
        if let (Phase::Game(said), Phase::Game(on)) = (&play.phase, &mut on.play.phase) {
            on.cases.take_what_was_ruled(&said.cases);
        }
        return take_over(&world.settings, play, now, *on);
    }
    if let Some(parked) = beside.take(Occasion::SetUpAnew) {
        parked.sit_as_before(&mut world.clock);
    }
    if let Some((game, mut ctx)) = play.game_and_ctx(world, now) {
        game.outcome.result = None;
        game.outcome.show_spent = true;
        game.outcome.parked = false;
        game.course.restart_lines(&ctx);
        if game.course.record.is_empty() {
            // It had not begun, and the game before it may still stand on the board.
            game.overrule(&ctx);
        } else {
            game.look_after_gap(&mut ctx);
        }
    }
}

/// Makes the copy the game, and emits all events that it kept.
fn take_over(settings: &Settings, play: &mut Play, now: Millis, copy: Meanwhile) {
    play.phase = copy.play.phase;
    play.games = copy.play.games;
    let mut names = BTreeMap::new();
    // The players caused these events, and not the person whose command brings them out.
    let by_command = mem::take(&mut play.out.by_command);
    let by = play.out.by.take();
    for event in copy.unsaid {
        let before = event.id(settings);
        let id = say_now(settings, play, now, event, &names);
        names.insert(before, id);
    }
    (play.out.by_command, play.out.by) = (by_command, by);
    if let Phase::Game(game) = &mut play.phase {
        for open in game.cases.all_mut() {
            rename(&mut open.id, &names);
        }
        play.out
            .questions
            .extend(game.cases.questions(game.course.record.mode()));
    }
}

/// Emits an event that the copy kept, under a new id, and returns that id. `names` has the new ids of
/// earlier events.
fn say_now(
    settings: &Settings,
    play: &mut Play,
    now: Millis,
    unsaid: Unsaid,
    names: &BTreeMap<String, String>,
) -> String {
    let (game, at) = (unsaid.game, unsaid.at + play.out.before);
    let mut body = unsaid.into_body();
    if let Some(case) = case_of(&mut body) {
        rename(case, names);
    }
    play.out.emit(settings, game, now, Some(at), body)
}

fn rename(id: &mut String, names: &BTreeMap<String, String>) {
    if let Some(name) = names.get(id) {
        id.clone_from(name);
    }
}

/// The id of the irregularity that an event concerns.
pub(super) fn case_of(body: &mut Body) -> Option<&mut String> {
    match body {
        Body::IrregularityResolved { irregularity, .. }
        | Body::IrregularityReopened { irregularity, .. }
        | Body::CaseNoted { irregularity, .. } => Some(irregularity),
        Body::RulingAmended(amendment) => Some(&mut amendment.irregularity),
        _ => None,
    }
}
