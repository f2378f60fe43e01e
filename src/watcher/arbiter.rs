//! Commands of the arbiter: they enter by the same door as a reading of the sensors.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color, Position as _};

use super::{
    advice::Finding,
    command::{Command, CommandError, Reply, Report},
    core::{Core, Phase},
    game::{Ctx, Game},
    snapshot::stand_of_fen,
    start::{is_full_array, is_playable, stand_of},
};
use crate::{
    board::{PlyKind, Sensed, Stand},
    event::{CompletedBy, GameResult, Resolution, Why},
    laws::{
        IrregularityKind, RaisedBy,
        offence::{self, Window},
    },
    time::Millis,
};

/// The board is taken as it stands when no square has changed for so long.
const STILL_MS: u64 = 1000;
/// More irregularities than any game has: further ones are not taken from a person.
const MOST_IRREGULARITIES: usize = 256;
/// A man that was lifted is in a hand for so long; then it was taken off the board.
const IN_HAND_MS: u64 = 10_000;

/// Whether what stands on the board may be taken for a position: nobody is moving a man.
fn at_rest(sensed: &Sensed, now: Millis) -> Result<(), CommandError> {
    let refused = |why: String| Err(CommandError::Refused(why));
    let recently = |ms| Millis(now.0.saturating_sub(ms));
    if let Some(square) = sensed.lifted_since(recently(IN_HAND_MS)) {
        let seconds = now.since(sensed.since(square)).div_ceil(1000);
        return refused(format!(
            "a man was lifted from {square} {seconds} s ago and has not been put down: put it down and repeat the command with another `ref`; if it was taken off the board, wait until that is {} s ago",
            IN_HAND_MS / 1000
        ));
    }
    if sensed.last_change() > recently(STILL_MS) {
        let why = "men are being moved on the board: repeat the command with another `ref` when it has stood still for a second";
        return refused(why.to_owned());
    }
    Ok(())
}

impl Core {
    pub(super) fn command(&mut self, now: Millis, command: Command) -> Result<Reply, CommandError> {
        match command {
            Command::Resync => self.want_dump(),
            Command::NewGame => self.new_game(now)?,
            Command::SetPosition { fen } => self.set_position(now, &fen)?,
            other => {
                let (game, mut ctx) = self.game_and_ctx(now).ok_or(CommandError::NoGame)?;
                game.command(&mut ctx, other)?;
            }
        }
        self.review(now);
        Ok(Reply {
            game: Some(self.game_view()),
        })
    }

    /// The game that goes on is over, and a new one starts from what stands on the board.
    fn new_game(&mut self, now: Millis) -> Result<(), CommandError> {
        let placement = self.sensed.placement().clone();
        if self.raw.is_none() || !is_playable(&placement) {
            let why = "the board does not show one king of each colour, so no game can start from it";
            return Err(CommandError::Refused(why.into()));
        }
        at_rest(&self.sensed, now)?;
        self.end_game(now, "new_game_by_arbiter");
        let stand = if is_full_array(&placement) {
            stand_of(&placement)
        } else {
            let turn = self.clock.running().unwrap_or(Color::White);
            Stand::of_placement(&placement, turn, CastlingMode::Standard)
        };
        self.begin_from(now, Arc::new(stand));
        Ok(())
    }

    /// The game's position is another one than the record's.
    fn set_position(&mut self, now: Millis, fen: &str) -> Result<(), CommandError> {
        let parsed: shakmaty::fen::Fen = fen
            .parse()
            .map_err(|e: shakmaty::fen::ParseFenError| CommandError::BadFen(e.to_string()))?;
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            let (placement, turn) = (
                crate::board::Placement::from(&parsed.as_setup().board),
                parsed.as_setup().turn,
            );
            let known = (0..=game.plies()).rev().find(|ply| {
                let stand = game.stand_at(*ply);
                *stand.placement() == placement && stand.turn() == turn
            });
            if let Some(ply) = known {
                game.result = None;
                game.go_back(&mut ctx, ply, "position_set_by_arbiter");
                return Ok(());
            }
        }
        let stand = stand_of_fen(fen, CastlingMode::Standard)
            .filter(|stand| stand.chess().is_some())
            .ok_or_else(|| CommandError::BadFen("no game can stand in this position".into()))?;
        self.end_game(now, "position_set_by_arbiter");
        self.begin_from(now, Arc::new(stand));
        Ok(())
    }

    fn begin_from(&mut self, now: Millis, stand: Arc<Stand>) {
        self.start_game(now, stand);
        let runs = self.clock.runs();
        if let Phase::Game(game) = &mut self.phase {
            game.lines.set_clock_runs(runs);
            game.clock_used = runs;
        }
    }

    fn end_game(&mut self, now: Millis, reason: &str) {
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            game.settle_rest(&mut ctx);
            game.end(&mut ctx, GameResult::Open, reason);
        }
    }
}

impl Game {
    fn command(&mut self, ctx: &mut Ctx<'_>, command: Command) -> Result<(), CommandError> {
        match command {
            Command::Result { result } => self.set_result(ctx, result),
            Command::Dismiss { irregularity } => self.dismiss(ctx, irregularity),
            Command::Accept { irregularity } => self.accept(ctx, irregularity),
            Command::RaisedBy { irregularity, by } => self.raised_by(ctx, irregularity, by),
            Command::Report(report) => self.report(ctx, report),
            Command::Retract { to_ply } => {
                let have = self.plies() as u32;
                if to_ply > have {
                    return Err(CommandError::NoSuchPly { asked: to_ply, have });
                }
                if to_ply < have {
                    // A game that had ended goes on.
                    self.result = None;
                    self.go_back(ctx, to_ply as usize, "retracted_by_arbiter");
                }
                Ok(())
            }
            Command::Promotion { piece, ply } => self.promoted(ctx, ply, piece.into()),
            Command::NewGame | Command::SetPosition { .. } | Command::Resync => Ok(()),
        }
    }

    fn set_result(&mut self, ctx: &mut Ctx<'_>, result: GameResult) -> Result<(), CommandError> {
        if self.result == Some(result) {
            return Ok(());
        }
        if self.result.is_none() {
            self.settle_rest(ctx);
        }
        // A result that the board said, or an earlier one of the arbiter, gives way to this one.
        self.result = None;
        self.end(ctx, result, "arbiter");
        Ok(())
    }

    fn dismiss(&mut self, ctx: &mut Ctx<'_>, id: String) -> Result<(), CommandError> {
        if let Some(i) = self.open.iter().position(|open| open.id == id) {
            self.resolve(ctx, i, Resolution::Dismissed);
            return Ok(());
        }
        let Some(i) = self.closed.iter().position(|open| open.id == id) else {
            return Err(CommandError::UnknownIrregularity(id));
        };
        let open = self.closed.remove(i);
        self.uncount(ctx, &open);
        let body = crate::event::Body::IrregularityResolved {
            irregularity: id,
            how: Resolution::Dismissed,
        };
        self.emit(ctx, None, body);
        Ok(())
    }

    /// The position stands as it is on the board: an illegal move enters the record, displaced
    /// pieces stay where they are.
    fn accept(&mut self, ctx: &mut Ctx<'_>, id: String) -> Result<(), CommandError> {
        let Some(i) = self.open.iter().position(|open| open.id == id) else {
            return Err(CommandError::UnknownIrregularity(id));
        };
        let open = self.open[i].clone();
        if open.ply == self.plies() + 1 && open.act.is_some() {
            let line = self.lines.all().iter().find(|line| {
                line.plies
                    .first()
                    .is_some_and(|ply| matches!(ply.kind, PlyKind::Illegal(_)))
            });
            if let Some(ply) = line.and_then(|line| line.plies.first().cloned()) {
                self.announce(ctx, &ply, CompletedBy::Ruling);
            }
        } else if matches!(
            open.kind,
            IrregularityKind::PiecesDisplaced | IrregularityKind::DisplacedPieceFound
        ) && open.ply == self.plies()
        {
            at_rest(ctx.sensed, ctx.now)?;
            let stand = Arc::new(self.stand().with_placement(ctx.sensed.placement()));
            if let Some(made) = self.record.last_mut() {
                made.stand = stand;
                made.accepted = true;
            }
        }
        self.resolve(ctx, i, Resolution::Stands);
        self.restart_lines(ctx);
        Ok(())
    }

    /// A person has raised it, or nobody does: the ruling is made anew.
    fn raised_by(&mut self, ctx: &mut Ctx<'_>, id: String, by: RaisedBy) -> Result<(), CommandError> {
        if self.closed.iter().any(|open| open.id == id) {
            let why = "the irregularity is over: who raises it makes no difference any more";
            return Err(CommandError::Refused(why.into()));
        }
        let Some(i) = self.open.iter().position(|open| open.id == id) else {
            return Err(CommandError::UnknownIrregularity(id));
        };
        let open = &mut self.open[i];
        open.matter.raised = by != RaisedBy::Nobody;
        open.matter.case.facts.raised_by = by;
        // What was raised in time does not stand because of a later reply.
        let until_reply = offence::rule(&open.matter.case).window != Window::GameEnd;
        open.may_stand = open.counted && until_reply && by == RaisedBy::Nobody;
        self.amend(ctx, i, Why::RaisedBy);
        Ok(())
    }

    /// What only a person can see is answered with the same kind of ruling.
    fn report(&mut self, ctx: &mut Ctx<'_>, mut report: Report) -> Result<(), CommandError> {
        if self.open.len() + self.closed.len() >= MOST_IRREGULARITIES {
            return Err(CommandError::Refused(format!(
                "this game has {MOST_IRREGULARITIES} irregularities already, more than any game has: no more are taken before the next game"
            )));
        }
        let kind = report.kind;
        let (ply, offender) = self.reported_half_move(kind, report.offender.map(Color::from))?;
        if matches!(
            kind,
            IrregularityKind::ThreefoldClaim | IrregularityKind::FiftyClaim
        ) {
            report
                .claim_correct
                .get_or_insert_with(|| self.claim_is_right(kind));
        }
        let before = self.stand_at(ply.saturating_sub(1)).clone();
        let by = offender.unwrap_or_else(|| before.turn());
        let mut finding = Finding::new(self, by, ply, before, ctx.sensed.placement().clone());
        finding.kind = kind;
        finding.offender = offender;
        finding.at = ctx.now;
        finding.clock = ctx.clock.state();
        finding.first_flag = report.first_flag;
        finding.reported = Some(report);
        self.accuse(ctx, finding, None);
        Ok(())
    }

    /// The half-move that a report speaks of, and by whom it was.
    fn reported_half_move(
        &self,
        kind: IrregularityKind,
        offender: Option<Color>,
    ) -> Result<(usize, Option<Color>), CommandError> {
        use IrregularityKind::*;
        let refused = |why: &str| Err(CommandError::Refused(why.into()));
        match kind {
            // These speak of a half-move that was made.
            TwoHands | TouchMove | RookFirstCastling | PressWithOtherHand | InvertedRookPromotion => {
                let last = (1..=self.plies()).rev();
                let ply = last
                    .take(2)
                    .find(|ply| offender.is_none_or(|side| self.mover(*ply) == side));
                let Some(ply) = ply else {
                    return refused("that player has made no half-move in this game yet");
                };
                Ok((ply, Some(self.mover(ply))))
            }
            // These were made, or are on the board with nothing on the record yet.
            IllegalMove | PromotionNotReplaced | WrongColourPromotion | CastlingIncomplete
                if self.plies() > 0 && offender.is_none_or(|side| self.mover(self.plies()) == side) =>
            {
                Ok((self.plies(), Some(self.mover(self.plies()))))
            }
            InitialPositionWrong | BoardOrientationWrong | ColoursReversed => Ok((0, offender)),
            ThreefoldClaim | FiftyClaim => {
                let turn = self.to_move();
                if offender.is_some_and(|side| side != turn) {
                    return refused("a draw is claimed by the player who has the move (9.2, 9.3)");
                }
                Ok((self.plies() + 1, Some(turn)))
            }
            FlagFall if offender.is_none() => refused("say whose flag fell: `offender` is missing"),
            _ => Ok((self.plies() + 1, offender)),
        }
    }

    /// Whether the record bears out a draw claim in the present position.
    fn claim_is_right(&self, kind: IrregularityKind) -> bool {
        let stand = self.stand();
        match kind {
            IrregularityKind::ThreefoldClaim => self.occurrences(stand).len() >= 3,
            _ => stand.chess().is_some_and(|chess| chess.halfmoves() >= 100),
        }
    }
}

#[cfg(test)]
mod tests;
