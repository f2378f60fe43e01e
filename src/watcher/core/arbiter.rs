//! Commands of the arbiter. They are inputs of the core, as readings of the sensors are.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color};

use super::{
    Core, Phase,
    before_game::{WaitingReport, is_before_game, take_due},
    expected::is_as_expected,
    past::command_about,
    snapshot::stand_of_fen,
    view,
};
use crate::{
    board::Stand,
    event::GameResult,
    time::Millis,
    watcher::{
        Status,
        arrays::{is_full_array, is_playable, stand_of},
        at_rest::at_rest,
        command::{Command, CommandError, Order, Reply},
        ctx::Ctx,
        game::{Game, TakenBack},
        not_now::NotNow,
    },
};

impl Core {
    /// Carries out a person's command. Every event that comes of it has the person's name.
    pub(in crate::watcher) fn carry_out(&mut self, now: Millis, order: Order) -> Result<Reply, CommandError> {
        is_as_expected(self, order.expects, order.past.as_deref())?;
        self.out.by_command = true;
        self.out.by = order.by;
        let of_board = matches!(order.command, Command::NewGame | Command::SetPosition { .. });
        let done = match order.past {
            Some(events) => {
                let (out, settings) = (&mut self.out, &self.settings);
                command_about(out, settings, self.games, now, order.command, &events).map(Some)
            }
            None => self.command(now, order.command).map(|()| None),
        };
        self.out.by_command = false;
        self.out.by = None;
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
                .game_put_aside()
                .is_some_and(|game| game.course.number == *asked)
        {
            let reason = reason.clone().map(String::from);
            self.take_up_put_aside(now, reason);
            return Ok(());
        }
        let is_before_game = matches!(&command, Command::Report(report) if is_before_game(&self.phase, self.games + 1, report));
        if let Some(asked) = command.game()
            && !matches!(&self.phase, Phase::Game(game) if game.course.number == asked)
            && !(command.is_forfeit() && asked == self.games + 1)
            && !is_before_game
        {
            let last = self.games;
            return Err(CommandError::NoSuchGame { asked, last });
        }
        match command {
            Command::Resync if view::status(self) == Status::Offline => {
                return Err(NotNow::BoardOffline.into());
            }
            Command::Resync => self.dump_wanted = true,
            Command::Rules => self.take_configured_rules(now)?,
            Command::NewGame => {
                self.take_board_as_meant(now);
                self.new_game(now)?;
            }
            Command::SetPosition { fen } => {
                self.take_board_as_meant(now);
                self.set_position(now, &fen)?;
            }
            Command::Result { result, reason, game } => self.set_result(now, result, reason, game)?,
            Command::Resume { reason, .. } => self.take_result_back(now, reason)?,
            Command::Report(report) if is_before_game => {
                let by = self.out.by.clone();
                let waiting = WaitingReport::of(report, self.games + 1, by, &self.reports)?;
                self.reports.push(waiting);
            }
            other => {
                let (game, mut ctx) = self.game_and_ctx(now).ok_or(CommandError::NoGame)?;
                let said = ctx.out.seq;
                let correction = match &other {
                    Command::Correct(order) => Some(order.clone()),
                    _ => None,
                };
                let is_promotion = matches!(other, Command::Promotion { .. });
                change(game, &mut ctx, other)?;
                if game.is_watched() {
                    self.unwatch_changed();
                } else if self.out.seq != said {
                    match correction {
                        Some(order) => self.keep_in_step(now, &order),
                        None if is_promotion => self.unwatch(),
                        None => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells what was reported before the game, once that has begun.
    pub(super) fn tell_reports(&mut self, now: Millis) {
        for (by, report) in take_due(&mut self.reports, &self.phase) {
            self.out.by_command = true;
            self.out.by = by;
            if let Some((game, mut ctx)) = self.game_and_ctx(now) {
                // It was taken when it was given, so nothing refuses it now.
                let _ = game.report(&mut ctx, report);
            }
            self.out.by_command = false;
            self.out.by = None;
        }
    }

    /// Ends the present game, and starts a new one from the position on the board.
    fn new_game(&mut self, now: Millis) -> Result<(), CommandError> {
        let placement = self.sensed.placement().clone();
        if self.raw.is_none() || !is_playable(&placement) {
            return Err(NotNow::NoKings.into());
        }
        if matches!(&self.phase, Phase::Game(game) if game.outcome.parked) {
            self.end_game(now, "new_game_by_arbiter");
            self.next_has_begun(now);
            if matches!(&self.phase, Phase::Game(game) if game.is_watched()) {
                return Ok(());
            }
        }
        at_rest(&self.sensed, now)?;
        let aside = self.about_to_put_aside(now);
        self.end_game(now, "new_game_by_arbiter");
        let stand = if is_full_array(&placement) {
            stand_of(&placement)
        } else {
            let turn = self.clock.running().unwrap_or(Color::White);
            Stand::of_placement(&placement, turn, CastlingMode::Standard)
        };
        self.begin_from(now, Arc::new(stand));
        self.put_aside(aside);
        Ok(())
    }

    /// Sets the position of the game to `fen`.
    fn set_position(&mut self, now: Millis, fen: &str) -> Result<(), CommandError> {
        let parsed: shakmaty::fen::Fen = fen
            .parse()
            .map_err(|e: shakmaty::fen::ParseFenError| CommandError::BadFen(e.to_string()))?;
        let (placement, turn) = (
            crate::board::Placement::from(&parsed.as_setup().board),
            parsed.as_setup().turn,
        );
        let known = |game: &Game| {
            let stood = |ply: &usize| {
                let stand = game.course.record.stand_at(*ply);
                *stand.placement() == placement && stand.turn() == turn
            };
            (0..=game.course.record.plies()).rev().find(stood)
        };
        // The command before this one was a mistake.
        if self.game_put_aside().and_then(known).is_some_and(|ply| ply > 0) {
            self.take_up_put_aside(now, None);
        }
        if let Some((game, mut ctx)) = self.game_and_ctx(now)
            && let Some(ply) = known(game)
        {
            game.outcome.take_up_again(&mut ctx, &game.course);
            game.takebacks().go_back(&mut ctx, ply, "position_set_by_arbiter");
            self.unwatch_all();
            return Ok(());
        }
        let stand = stand_of_fen(fen, CastlingMode::Standard)
            .filter(|stand| stand.chess().is_some())
            .ok_or_else(|| CommandError::BadFen("no game can stand in this position".into()))?;
        let aside = self.about_to_put_aside(now);
        self.end_game(now, "position_set_by_arbiter");
        self.begin_from(now, Arc::new(stand));
        self.put_aside(aside);
        Ok(())
    }

    fn begin_from(&mut self, now: Millis, stand: Arc<Stand>) {
        self.start_game(now, stand);
        let runs = self.clock.runs();
        if let Phase::Game(game) = &mut self.phase {
            game.course.lines.set_clock_runs(runs);
            game.course.clock_used = runs;
        }
    }

    fn end_game(&mut self, now: Millis, reason: &str) {
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            if game.is_watched() {
                game.settle_rest(&mut ctx);
            }
            game.end(&mut ctx, GameResult::Open, reason);
        }
    }
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
