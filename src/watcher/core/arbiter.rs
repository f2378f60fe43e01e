//! Commands of the arbiter. They are inputs of the core, as readings of the sensors are.

use super::{
    Core,
    anew::{new_game, set_position},
    before_game::{WaitingReport, is_before_game},
    in_step::keep_in_step,
    past::{Past, command_about},
    phase::Phase,
    play::Play,
    results, rules,
    take_over::take_up_put_aside,
    view,
};
use crate::{
    event::Event,
    time::Millis,
    watcher::{
        Status,
        command::{Command, CommandError, Expected, Order, Reply},
        ctx::Ctx,
        game::{Game, TakenBack},
        last_correction::LastCorrection,
        not_now::NotNow,
    },
};

impl Core {
    /// Carries out a person's command. Every event that comes of it has the person's name.
    pub(in crate::watcher) fn carry_out(&mut self, now: Millis, order: Order) -> Result<Reply, CommandError> {
        is_as_expected(&self.play, order.expects, order.past.as_deref())?;
        self.play.out.by_command = true;
        self.play.out.by = order.by;
        let of_board = is_of_board(&order.command);
        let done = match order.past {
            Some(events) => {
                let (out, settings) = (&mut self.play.out, &self.world.settings);
                command_about(out, settings, self.play.games, now, order.command, &events).map(Some)
            }
            None => self.command(now, order.command).map(|()| None),
        };
        self.play.out.by_command = false;
        self.play.out.by = None;
        let past = done?;
        self.review(now);
        let mut reply = past.unwrap_or_else(|| Reply {
            game: Some(view::game(self)),
            offline: false,
        });
        reply.offline = of_board && view::status(self) == Status::Offline;
        Ok(reply)
    }

    fn command(&mut self, now: Millis, command: Command) -> Result<(), CommandError> {
        if let Command::Resume {
            reason,
            game: Some(asked),
        } = &command
            && self
                .beside
                .game_put_aside()
                .is_some_and(|game| game.course.number == *asked)
        {
            let reason = reason.clone().map(String::from);
            take_up_put_aside(&self.world, &mut self.play, &mut self.beside, now, reason);
            return Ok(());
        }
        let is_before_game = matches!(&command, Command::Report(report) if is_before_game(&self.play.phase, self.play.games + 1, report));
        if let Some(asked) = command.game()
            && !matches!(&self.play.phase, Phase::Game(game) if game.course.number == asked)
            && !(command.is_forfeit() && asked == self.play.games + 1)
            && !is_before_game
        {
            let last = self.play.games;
            return Err(CommandError::NoSuchGame { asked, last });
        }
        if matches!(command, Command::Resync) && view::status(self) == Status::Offline {
            return Err(NotNow::BoardOffline.into());
        }
        if is_of_board(&command) {
            self.take_board_as_meant(now);
        }
        let Self {
            world,
            play,
            beside,
            reports,
            ..
        } = self;
        match command {
            Command::Resync => play.dump_wanted = true,
            Command::Rules => rules::take_configured(world, play, beside, now)?,
            Command::NewGame => new_game(world, play, beside, now)?,
            Command::SetPosition { fen } => set_position(world, play, beside, now, &fen)?,
            Command::Result { result, reason, game } => {
                results::set_result(world, play, beside, now, result, reason, game)?;
            }
            Command::Resume { reason, .. } => results::take_result_back(world, play, beside, now, reason)?,
            Command::Report(report) if is_before_game => {
                let by = play.out.by.clone();
                let waiting = WaitingReport::of(report, play.games + 1, by, reports)?;
                reports.push(waiting);
            }
            other => {
                let (game, mut ctx) = play.game_and_ctx(world, now).ok_or(CommandError::NoGame)?;
                let said = ctx.out.seq;
                let correction = match &other {
                    Command::Correct(order) => Some(order.clone()),
                    _ => None,
                };
                let is_promotion = matches!(other, Command::Promotion { .. });
                change(game, &mut ctx, other)?;
                if game.is_watched() {
                    beside.unwatch_changed();
                } else if play.out.seq != said {
                    match correction {
                        Some(order) => keep_in_step(world, play, beside, now, &order),
                        None if is_promotion => beside.unwatch(),
                        None => {}
                    }
                }
            }
        }
        Ok(())
    }
}

/// Refuses a command whose sender saw another record than the present one, or than that of `past`: a page may be stale, and two
/// arbiters may put the same right.
fn is_as_expected(play: &Play, expects: Expected, past: Option<&[Event]>) -> Result<(), CommandError> {
    let last = match past {
        Some(events) => events.iter().rev().find_map(LastCorrection::of),
        None => play.out.put_right.clone(),
    };
    if let (Some(seen), Some(last)) = (expects.seq, last)
        && last.seq > seen
    {
        return Err(CommandError::MovedOn(last.in_words()));
    }
    let have = match past {
        Some(events) => Past::of(events).map(|past| past.plies()),
        None => play.phase.game().map(|game| game.course.record.plies()),
    };
    match (expects.ply, have) {
        (Some(seen), Some(have)) if seen as usize != have => Err(CommandError::MovedOn(format!(
            "it has {have} half-moves, and had {seen} then"
        ))),
        _ => Ok(()),
    }
}

/// True for a command about what stands on the board.
fn is_of_board(command: &Command) -> bool {
    matches!(command, Command::NewGame | Command::SetPosition { .. })
}

/// Carries out a command about `game`. An arbiter may change everything.
fn change(game: &mut Game, ctx: &mut Ctx<'_>, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Dismiss { irregularity } => game.cases.dismiss(ctx, &game.course, irregularity),
        Command::Accept { irregularity } => game.cases.accept(ctx, &mut game.course, &irregularity),
        Command::Reopen { irregularity } => game.cases.reopen(ctx, &game.course, irregularity),
        Command::Note {
            irregularity,
            penalty,
            note,
        } => game
            .cases
            .note(ctx, &game.course, irregularity, penalty, note.map(Into::into)),
        Command::Correct(order) => game.correct_record(ctx, &order),
        Command::RaisedBy { irregularity, by } => game.cases.raised_by(ctx, &game.course, irregularity, by),
        Command::Report(report) => game.report(ctx, report),
        Command::Retract { to_ply } => {
            let have = game.course.record.plies() as u32;
            if to_ply > have {
                return Err(CommandError::NoSuchPly { asked: to_ply, have });
            }
            if to_ply < have {
                game.outcome.take_up_again(ctx, &game.course);
                game.takebacks()
                    .go_back(ctx, to_ply as usize, "retracted_by_arbiter");
                let (at, told) = (ctx.now, false);
                game.course.taken_back = Some(TakenBack { at, told });
            }
            Ok(())
        }
        Command::Promotion { piece, ply } => game.promoted(ctx, ply, piece.into()),
        Command::NewGame
        | Command::SetPosition { .. }
        | Command::Result { .. }
        | Command::Resume { .. }
        | Command::Rules
        | Command::Resync => Ok(()),
    }
}

#[cfg(test)]
mod tests;
