//! Commands of the arbiter. They are inputs of the core, as readings of the sensors are.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color, Position as _};

use super::{Core, Phase, snapshot::stand_of_fen};
use crate::{
    board::Stand,
    event::{Body, Certainty, ClockState, GameResult},
    laws::{IrregularityKind, Side},
    time::Millis,
    watcher::{
        Status,
        arrays::{is_full_array, is_playable, stand_of},
        at_rest::at_rest,
        command::{Command, CommandError, Order, Reply, Report},
        ctx::Ctx,
        game::advice::{Finding, Scene},
        game::{Game, Open, TakenBack},
        not_now::NotNow,
    },
};

/// Largest number of irregularities of a game. No game has as many; the watcher takes no further reports from
/// a person.
const MOST_IRREGULARITIES: usize = 256;

impl Core {
    /// Carries out a person's command. Every event that comes of it has the person's name.
    pub(in crate::watcher) fn carry_out(&mut self, now: Millis, order: Order) -> Result<Reply, CommandError> {
        self.is_as_expected(order.expects, order.past.as_deref())?;
        self.out.by_command = true;
        self.out.by = order.by;
        let of_board = matches!(order.command, Command::NewGame | Command::SetPosition { .. });
        let done = match order.past {
            Some(events) => self.command_about(now, order.command, &events).map(Some),
            None => self.command(now, order.command).map(|()| None),
        };
        self.out.by_command = false;
        self.out.by = None;
        let past = done?;
        self.review(now);
        let mut reply = past.unwrap_or_else(|| Reply {
            game: Some(self.game_view()),
            offline: false,
        });
        reply.offline = of_board && self.status() == Status::Offline;
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
        let is_before_game = matches!(&command, Command::Report(report) if self.is_before_game(report));
        if let Some(asked) = command.game()
            && !matches!(&self.phase, Phase::Game(game) if game.course.number == asked)
            && !(command.is_forfeit() && asked == self.games + 1)
            && !is_before_game
        {
            let last = self.games;
            return Err(CommandError::NoSuchGame { asked, last });
        }
        match command {
            Command::Resync if self.status() == Status::Offline => return Err(NotNow::BoardOffline.into()),
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
            Command::Report(report) if is_before_game => self.report_before_game(report)?,
            other => {
                let (game, mut ctx) = self.game_and_ctx(now).ok_or(CommandError::NoGame)?;
                let said = ctx.out.seq;
                let correction = match &other {
                    Command::Correct(order) => Some(order.clone()),
                    _ => None,
                };
                let is_promotion = matches!(other, Command::Promotion { .. });
                game.command(&mut ctx, other)?;
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
            game.take_up_again(&mut ctx);
            game.go_back(&mut ctx, ply, "position_set_by_arbiter");
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

impl Game {
    fn command(&mut self, ctx: &mut Ctx<'_>, command: Command) -> Result<(), CommandError> {
        match command {
            Command::Dismiss { irregularity } => self.cases.dismiss(ctx, &self.course, irregularity),
            Command::Accept { irregularity } => self.cases.accept(ctx, &mut self.course, &irregularity),
            Command::Reopen { irregularity } => self.cases.reopen(ctx, &self.course, irregularity),
            Command::Note {
                irregularity,
                penalty,
                note,
            } => self
                .cases
                .note(ctx, &self.course, irregularity, penalty, note.map(Into::into)),
            Command::Correct(order) => self.correct_record(ctx, &order),
            Command::RaisedBy { irregularity, by } => {
                self.cases.raised_by(ctx, &self.course, irregularity, by)
            }
            Command::Report(report) => self.report(ctx, report),
            Command::Retract { to_ply } => {
                let have = self.course.record.plies() as u32;
                if to_ply > have {
                    return Err(CommandError::NoSuchPly { asked: to_ply, have });
                }
                if to_ply < have {
                    self.take_up_again(ctx);
                    self.go_back(ctx, to_ply as usize, "retracted_by_arbiter");
                    let (at, told) = (ctx.now, false);
                    self.course.taken_back = Some(TakenBack { at, told });
                }
                Ok(())
            }
            Command::Promotion { piece, ply } => self.promoted(ctx, ply, piece.into()),
            Command::NewGame
            | Command::SetPosition { .. }
            | Command::Result { .. }
            | Command::Resume { .. }
            | Command::Rules
            | Command::Resync => Ok(()),
        }
    }

    /// Lets a game go on that had ended or was parked.
    fn take_up_again(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_watched() {
            self.outcome.result = None;
            self.outcome.show_spent = true;
            self.outcome.parked = false;
            self.course.emit(ctx, None, Body::GameResumed { reason: None });
        }
    }

    /// Takes a person's report of an irregularity, and rules on it as on a finding of the sensors.
    pub(super) fn report(&mut self, ctx: &mut Ctx<'_>, mut report: Report) -> Result<(), CommandError> {
        if self.cases.open.len() + self.cases.closed.len() >= MOST_IRREGULARITIES {
            return Err(NotNow::TooManyIrregularities(MOST_IRREGULARITIES).into());
        }
        let kind = report.kind;
        report.has_its_words()?;
        let offender = report.offender.map(Color::from);
        let (ply, offender) = match report.ply {
            Some(ply) => self.named_half_move(kind, ply, offender)?,
            None => self.reported_half_move(kind, offender)?,
        };
        if let Some(told) = self.told_already(kind, ply, offender)
            && report.confirmed != Some(true)
        {
            return Err(CommandError::ToldAlready(told));
        }
        if matches!(
            kind,
            IrregularityKind::ThreefoldClaim | IrregularityKind::FiftyClaim
        ) {
            let is_right = self.claim_is_right(kind, report.written_move.as_deref())?;
            report.claim_correct.get_or_insert(is_right);
        }
        if kind == IrregularityKind::FlagFall && report.confirmed == Some(false) {
            flag_may_have_fallen(ctx.clock.state(), offender)?;
        }
        let before = self.course.record.stand_at(ply.saturating_sub(1)).clone();
        let scene = Scene {
            ply,
            before,
            seen: ctx.sensed.placement().clone(),
            at: ctx.now,
            clock: ctx.clock.state(),
        };
        let mut finding = Finding::new(kind, Certainty::Certain, offender, scene);
        finding.first_flag = report.first_flag;
        finding.reported = Some(report);
        self.accuse(ctx, finding, None);
        Ok(())
    }

    /// What the watcher has told and a report would tell again: the same, by the same player, at the same half-move. One that was dismissed does
    /// not count, and one of conduct may happen again.
    fn told_already(&self, kind: IrregularityKind, ply: usize, offender: Option<Color>) -> Option<String> {
        let same = |open: &&Open| {
            let by = open.offender.is_none() || offender.is_none() || open.offender == offender;
            open.kind == kind && open.ply == ply && by && !open.by_hand && !open.is_dismissed()
        };
        let told = self.cases.all().find(same).filter(|_| !kind.is_conduct());
        told.map(|open| open.id.clone())
    }

    /// The half-move that a report names, and the offender.
    fn named_half_move(
        &self,
        kind: IrregularityKind,
        ply: u32,
        offender: Option<Color>,
    ) -> Result<(usize, Option<Color>), NotNow> {
        let (named, have) = (ply as usize, self.course.record.plies());
        if named > have + 1 {
            return Err(NotNow::HalfMoveNotBegun { ply, have });
        }
        // Without a named offender, the player who made the half-move is the offender. An irregularity that
        // is no act of that player has only the offender whom the report names.
        let made = named > 0 && !is_of_nobody(kind);
        Ok((
            named,
            offender.or_else(|| made.then(|| self.course.record.mover(named))),
        ))
    }

    /// The half-move that a report without a number concerns, and the offender.
    fn reported_half_move(
        &self,
        kind: IrregularityKind,
        offender: Option<Color>,
    ) -> Result<(usize, Option<Color>), NotNow> {
        use IrregularityKind::*;
        match kind {
            // These concern a half-move that was made.
            TwoHands | TouchMove | RookFirstCastling | PressWithOtherHand | InvertedRookPromotion => {
                let last = (1..=self.course.record.plies()).rev();
                let ply = last
                    .take(2)
                    .find(|ply| offender.is_none_or(|side| self.course.record.mover(*ply) == side));
                let Some(ply) = ply else {
                    return Err(NotNow::NoHalfMove);
                };
                Ok((ply, Some(self.course.record.mover(ply))))
            }
            // These concern the last half-move of the record, if there is one by this player. Otherwise they
            // concern one that is not on the record yet.
            IllegalMove | PromotionNotReplaced | WrongColourPromotion | CastlingIncomplete
                if self.course.record.plies() > 0
                    && offender
                        .is_none_or(|side| self.course.record.mover(self.course.record.plies()) == side) =>
            {
                Ok((
                    self.course.record.plies(),
                    Some(self.course.record.mover(self.course.record.plies())),
                ))
            }
            InitialPositionWrong | BoardOrientationWrong | ColoursReversed => Ok((0, offender)),
            ThreefoldClaim | FiftyClaim => {
                let turn = self.course.to_move();
                if offender.is_some_and(|side| side != turn) {
                    return Err(NotNow::NotTheirMove);
                }
                Ok((self.course.record.plies() + 1, Some(turn)))
            }
            FlagFall if offender.is_none() => Err(NotNow::OffenderMissing),
            _ => Ok((self.course.record.plies() + 1, offender)),
        }
    }

    /// True if the record supports a draw claim, in the present position or after the half-move that the
    /// claimant wrote down (9.2.1, 9.3.1).
    fn claim_is_right(&self, kind: IrregularityKind, written: Option<&str>) -> Result<bool, CommandError> {
        let (stand, before) = match written {
            Some(written) => (self.after_written(written)?, 1),
            None => (self.course.record.stand().clone(), 0),
        };
        Ok(match kind {
            IrregularityKind::ThreefoldClaim => self.course.record.occurrences(&stand).len() + before >= 3,
            _ => stand.chess().is_some_and(|chess| chess.halfmoves() >= 100),
        })
    }
}

/// True for irregularities that are no act of the player to move.
fn is_of_nobody(kind: IrregularityKind) -> bool {
    let of_nobody = matches!(
        kind,
        IrregularityKind::InitialPositionWrong
            | IrregularityKind::BoardOrientationWrong
            | IrregularityKind::ColoursReversed
            | IrregularityKind::ClockSettingWrong
            | IrregularityKind::BothFlags
            | IrregularityKind::DeadPosition
            | IrregularityKind::Fivefold
            | IrregularityKind::SeventyFive
            | IrregularityKind::IllegalPositionObserved
            | IrregularityKind::DisplacedPieceFound
    );
    of_nobody || kind.is_conduct()
}

/// Refuses the report of a flag fall if the clock shows time for that player.
fn flag_may_have_fallen(clock: Option<ClockState>, offender: Option<Color>) -> Result<(), CommandError> {
    let (Some(clock), Some(side)) = (clock, offender) else {
        return Ok(());
    };
    let left = side.fold_wb(clock.white_ms, clock.black_ms);
    if left == 0 {
        return Ok(());
    }
    let (side, seconds) = (Side::from(side).in_words(), left.div_ceil(1000));
    Err(CommandError::ContradictsClock(format!(
        "the clock shows {}:{:02} for {side}",
        seconds / 60,
        seconds % 60
    )))
}

#[cfg(test)]
mod tests;
