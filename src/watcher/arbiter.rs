//! Commands of the arbiter: they enter by the same door as a reading of the sensors.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color, Position};

use super::{
    advice::Finding,
    command::{Command, CommandError, Reply},
    core::{Core, Phase},
    game::{Ctx, Game},
    snapshot::stand_of_fen,
    start::{is_full_array, is_playable, stand_of},
};
use crate::{
    board::{PlyKind, Stand},
    event::{CompletedBy, GameResult, Resolution},
    laws::{IrregularityKind, RaisedBy},
    time::Millis,
};

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
            Command::Report { kind, offender } => self.report(ctx, kind, offender.map(Color::from)),
            Command::Retract { to_ply } => {
                let have = self.plies() as u32;
                if to_ply > have {
                    return Err(CommandError::NoSuchPly { asked: to_ply, have });
                }
                self.go_back(ctx, to_ply as usize, "retracted_by_arbiter");
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
        self.uncount(&open);
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
            let stand = Arc::new(self.stand().with_placement(ctx.sensed.placement()));
            if let Some(made) = self.record.last_mut() {
                made.stand = stand;
            }
        }
        self.resolve(ctx, i, Resolution::Stands);
        self.restart_lines(ctx);
        Ok(())
    }

    fn raised_by(&mut self, ctx: &Ctx<'_>, id: String, by: RaisedBy) -> Result<(), CommandError> {
        let Some(open) = self.open.iter_mut().find(|open| open.id == id) else {
            return Err(CommandError::UnknownIrregularity(id));
        };
        let unsupervised = ctx.settings.supervision == crate::laws::Supervision::NotAdequate;
        open.may_stand = by == RaisedBy::Nobody && unsupervised;
        Ok(())
    }

    /// What only a person can see is answered with the same kind of ruling.
    fn report(
        &mut self,
        ctx: &mut Ctx<'_>,
        kind: IrregularityKind,
        offender: Option<Color>,
    ) -> Result<(), CommandError> {
        let ply = match kind {
            // These speak of the half-move just made.
            IrregularityKind::TwoHands | IrregularityKind::TouchMove if self.plies() > 0 => self.plies(),
            _ => self.plies() + 1,
        };
        let before = self.stand_at(ply - 1).clone();
        let playable = before.chess().is_some_and(|chess| !chess.is_game_over());
        if !playable && self.result.is_some() {
            return Err(CommandError::Refused("the game is over".into()));
        }
        let by = offender.unwrap_or_else(|| before.turn());
        let mut finding = Finding::new(self, by, ply, before.clone(), ctx.sensed.placement().clone());
        finding.kind = kind;
        finding.offender = offender;
        finding.at = ctx.now;
        finding.clock = ctx.clock.state();
        finding.target = (kind == IrregularityKind::TwoHands).then_some(before);
        self.accuse(ctx, finding, None);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::{
        dgt::{ClockReading, ClockTime, Lever, Message, PieceCode},
        watcher::{Settings, Watcher},
    };

    fn hear(watcher: &mut Watcher, at: u64, message: Message<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        while let Some(due) = watcher.poll_timeout().filter(|due| due.0 <= at) {
            watcher.handle_timeout(due);
        }
        watcher.handle_bytes(Millis(at), &bytes);
    }

    fn clock(lever: Lever) -> Message<'static> {
        let time = ClockTime {
            seconds: 600,
            ..ClockTime::default()
        };
        Message::Clock(ClockReading {
            left: time,
            right: time,
            running: true,
            lever,
            battery_low: false,
        })
    }

    /// A board on which 1.e4 was played and pressed.
    fn after_e4() -> Watcher {
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        let mut squares = [PieceCode::EMPTY; 64];
        for (i, man) in [8, 9, 10, 12, 11, 10, 9, 8].into_iter().enumerate() {
            (squares[i], squares[8 + i]) = (PieceCode(man), PieceCode(7));
            (squares[56 + i], squares[48 + i]) = (PieceCode(man - 6), PieceCode(1));
        }
        hear(&mut watcher, 100, Message::Dump(&squares));
        hear(&mut watcher, 1500, clock(Lever::LeftHigh));
        for (at, square, piece) in [(3000, 52, PieceCode::EMPTY), (3300, 36, PieceCode(1))] {
            hear(&mut watcher, at, Message::Field { square, piece });
        }
        hear(&mut watcher, 3600, clock(Lever::RightHigh));
        hear(&mut watcher, 5000, clock(Lever::RightHigh));
        assert_eq!(watcher.game().moves, ["e2e4"]);
        watcher
    }

    fn refused(watcher: &mut Watcher, command: Command) -> &'static str {
        let before = watcher.game();
        let refusal = watcher.handle_command(Millis(6000), command).unwrap_err();
        assert_eq!(watcher.game(), before, "a refused command changes nothing");
        refusal.code()
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut watcher = after_e4();
        let unknown = || "gw/1/99".to_owned();
        let (dismiss, accept) = (
            Command::Dismiss {
                irregularity: unknown(),
            },
            Command::Accept {
                irregularity: unknown(),
            },
        );
        assert_eq!(refused(&mut watcher, dismiss), "unknown_irregularity");
        assert_eq!(refused(&mut watcher, accept), "unknown_irregularity");
        assert_eq!(
            refused(&mut watcher, Command::Retract { to_ply: 2 }),
            "no_such_ply"
        );
        for fen in ["", "8/8/8/8/8/8/8/8 w - - 0 1", "nonsense"] {
            let fen = fen.to_owned();
            assert_eq!(refused(&mut watcher, Command::SetPosition { fen }), "bad_fen");
        }
    }

    #[test]
    fn without_a_board_or_a_game_there_is_nothing_to_command() {
        let mut watcher = Watcher::new(Settings::default(), None);
        assert_eq!(refused(&mut watcher, Command::NewGame), "refused");
        let result = GameResult::Draw;
        assert_eq!(refused(&mut watcher, Command::Result { result }), "no_game");
    }

    #[test]
    fn a_position_of_the_game_is_gone_back_to() {
        let mut watcher = after_e4();
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1".to_owned();
        watcher
            .handle_command(Millis(6000), Command::SetPosition { fen })
            .unwrap();
        let game = watcher.game();
        assert_eq!((game.game, game.moves.len()), (Some(1), 0));
    }

    #[test]
    fn the_arbiter_s_result_goes_before_an_earlier_one() {
        let mut watcher = after_e4();
        for result in [GameResult::WhiteWins, GameResult::Draw] {
            watcher
                .handle_command(Millis(6000), Command::Result { result })
                .unwrap();
            assert_eq!(watcher.game().result, Some(result));
        }
    }

    #[test]
    fn what_a_person_saw_is_kept_until_it_is_dismissed() {
        let mut watcher = after_e4();
        let report = Command::Report {
            kind: IrregularityKind::ColoursReversed,
            offender: None,
        };
        watcher.handle_command(Millis(6000), report).unwrap();
        let open = watcher.game().open_irregularities;
        let [id] = &open[..] else { panic!("{open:?}") };
        let irregularity = id.clone();
        watcher
            .handle_command(Millis(7000), Command::Dismiss { irregularity })
            .unwrap();
        assert!(watcher.game().open_irregularities.is_empty());
    }
}
