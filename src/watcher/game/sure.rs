//! The certainty of an accusation. At most one in a thousand `certain` accusations may be false
//! (`examples/fit` counts them), so an accusation is not `certain` where anything else is amiss.

use shakmaty::{Bitboard, CastlingMode, Color, Square, uci::UciMove};

use super::{
    Made, Open, absent::rests_on_absent, finding::Finding, flags::TOLD_MS, glimpse::TICKS, trust::Trust,
};
use crate::{
    board::{Code, Placement, Stand, act::Reason},
    event::{Certainty, CompletedBy},
    laws::{IrregularityKind, offence::is_counted_kind},
    time::Millis,
    watcher::{
        arrays::{is_full_array, may_castle_as_in_chess960},
        ctx::Ctx,
        gathers::TOGETHER_MS,
    },
};

/// A player makes up for the press of one of so many half-moves.
const MADE_UP_FOR: usize = 4;
/// For this many half-moves after a correction, other parts of the record may be wrong, too.
const SHAKY: usize = 24;

/// A piece that has not been read where it stands for so long (milliseconds) is in no hand that makes a half-move.
const UNREAD_MS: u64 = 5000;

/// A piece that stands between two squares is read on one and on the other within this time (milliseconds).
const BETWEEN_MS: u64 = 60_000;

/// An act whose posterior is less is only suspected.
const LIKELY: f64 = 0.6;

/// True for kinds that depend on the position that the record has.
fn follows_from_the_record(kind: IrregularityKind) -> bool {
    matches!(
        kind,
        IrregularityKind::IllegalMove
            | IrregularityKind::PressWithoutMove
            | IrregularityKind::PiecesDisplaced
    )
}

/// True for kinds that depend on when something happened, and not only on what stands on the board.
fn rests_on_times(kind: IrregularityKind) -> bool {
    matches!(
        kind,
        IrregularityKind::InitialPositionWrong
            | IrregularityKind::PressWithoutMove
            | IrregularityKind::PiecesDisplaced
    )
}

/// True when a piece that seems to have moved has gone to one of its squares from the next in an instant, where it stands in
/// `placement`: it stands between the two. A hand takes longer to carry a piece, unless it only pushes it.
fn has_hopped(ctx: &Ctx<'_>, finding: &Finding, placement: &Placement) -> bool {
    let since = ctx.now - BETWEEN_MS;
    let hopped = |square: Square| ctx.sensed.hops(square, placement.at(square), since) > 0;
    finding.squares.into_iter().any(hopped)
}

/// True when a piece that seems to have been displaced has gone and come more than once where it stands, or where it stood before: its
/// chip or the square fails.
fn comes_and_goes(ctx: &Ctx<'_>, finding: &Finding) -> bool {
    let lately = ctx.now - BETWEEN_MS;
    let fails =
        |square: Square| ctx.sensed.blinked_before(square) > 1 || ctx.sensed.blinks_again(square, lately);
    finding.squares.into_iter().any(fails)
}

/// True when a piece was read to leave in the very instant of the press: both came in one lump, and nobody knows which was first.
/// Or when the opponent's left after it on a line that gathers, within its period: nobody knows how soon, and he may have moved it.
fn came_with_the_press(ctx: &Ctx<'_>, finding: &Finding, stood: &Placement) -> bool {
    let left = |square: Square| {
        let emptied = ctx.sensed.emptied_at(square);
        emptied.unwrap_or_else(|| ctx.sensed.since(square))
    };
    let together = finding.at..=finding.at + ctx.sensed.slack();
    let is_opponents = |square| {
        stood
            .at(square)
            .color()
            .is_some_and(|of| Some(of) != finding.offender)
    };
    let mut squares = finding.squares.into_iter();
    squares
        .any(|square| left(square) == finding.at || is_opponents(square) && together.contains(&left(square)))
}

/// True when one of `squares` changed while the clock stood, before it was started and pressed at `at`: hands that put pieces where
/// they have to stand make no half-moves.
fn changed_beside(ctx: &Ctx<'_>, squares: Bitboard, at: Millis) -> bool {
    let beside = |square| ctx.clock.stood_at(ctx.sensed.since(square), at);
    squares.into_iter().any(beside)
}

impl Trust<'_> {
    /// The certainty of `finding`, given what else is amiss.
    pub(super) fn how_sure(&self, ctx: &Ctx<'_>, finding: &Finding) -> Certainty {
        let by_record = finding.reported.is_none() && follows_from_the_record(finding.kind);
        // Nobody is accused where readings may be missing.
        let unknown =
            ctx.sensed.may_miss_some() || self.is_unmeasured(ctx, finding) || self.is_hasty(ctx, finding);
        // Or where other hypotheses together are nearly as likely.
        let unknown = unknown || finding.posterior.is_some_and(|posterior| posterior < LIKELY);
        // Or where the press may have been the other player's.
        let unknown = unknown || finding.offender.is_some() && ctx.clock.is_guessed();
        let stood = finding.target.as_ref().unwrap_or(&finding.before).placement();
        let unknown = unknown
            || match finding.kind {
                IrregularityKind::FlagFall => self.is_unheard_flag(ctx, finding.at) || self.is_led_to(),
                IrregularityKind::PromotionNotReplaced => self.may_have_been_replaced(finding),
                // Nobody would hear of it if somebody had not stopped the clock.
                IrregularityKind::CastlingIncomplete => self.doubt.any() || self.gap.awaits_rest(),
                IrregularityKind::PressWithoutMove => {
                    self.may_make_up_for(finding) || self.has_none_since_gap()
                }
                // Anybody may have shown a half-move, and the piece goes back. What was pressed, or stopped, would tell.
                IrregularityKind::MovedOutOfTurn => true,
                IrregularityKind::IllegalMove => {
                    changed_beside(ctx, finding.squares, finding.at)
                        || self.is_legal_as_shown(ctx, finding)
                        || rests_on_absent(ctx, finding, self.turn_began(finding.ply))
                        || self.may_be_chess960(finding)
                        || self.may_have_wrong_chip(finding)
                        || self.is_check_by_stranger(finding)
                        || self.rests_on_shown(finding)
                        || self.lacks_since_gap(ctx)
                        || self.began_in_gap(ctx, finding)
                }
                IrregularityKind::PiecesDisplaced => {
                    has_hopped(ctx, finding, stood)
                        || comes_and_goes(ctx, finding)
                        || came_with_the_press(ctx, finding, stood)
                        || self.may_be_no_half_move(ctx, finding)
                }
                _ => false,
            };
        if finding.reported.is_none() && unknown {
            return Certainty::Suspected;
        }
        // In a lump nobody measured either whether somebody stopped the clock soon enough to have seen what
        // the board did not show.
        let unmeasured = ctx.timing.is_unmeasured(finding.at) && self.is_board_faulty();
        if by_record && (unmeasured || self.is_shaky(ctx, finding) || self.puts_back(ctx, finding)) {
            return Certainty::Suspected;
        }
        let doubtful = by_record && (self.was_mistaken() || self.is_untidy(ctx, finding));
        if doubtful && finding.certainty == Certainty::Certain {
            Certainty::Probable
        } else {
            finding.certainty
        }
    }

    /// When the turn began in which half-move `ply` was made.
    fn turn_began(&self, ply: usize) -> Millis {
        let before = ply.checked_sub(2).and_then(|i| self.course.record.get(i));
        before.map_or(self.course.began, |made| made.at)
    }

    /// True when the player has left one of his last half-moves unpressed: he may press for it now (6.2.2).
    fn may_make_up_for(&self, finding: &Finding) -> bool {
        let plies = (1..=self.course.record.plies()).rev();
        let own = plies.filter(|ply| Some(self.course.record.mover(*ply)) == finding.offender);
        let unheard = [CompletedBy::Reply, CompletedBy::Recovered];
        let mut last = own.take(MADE_UP_FOR);
        last.any(|ply| unheard.contains(&self.course.record[ply - 1].completed_by))
    }

    /// True when squares differ from the record as they did when the board was read again after a gap: more was played in it than the
    /// record has.
    fn lacks_since_gap(&self, ctx: &Ctx<'_>) -> bool {
        let differing = self.course.lines.best().differing();
        let until = self.gap.missed_until;
        until.is_some_and(|until| {
            differing
                .into_iter()
                .any(|square| ctx.sensed.since(square) <= until)
        })
    }

    /// True when a square of the act had changed in this turn when the board was read again after a gap: nobody heard what became of it
    /// before.
    fn began_in_gap(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        let turn_began = self.turn_began(finding.ply);
        let is_unheard = |square| (turn_began..=self.gap.read_again()).contains(&ctx.sensed.since(square));
        self.gap.missed_until.is_some() && finding.squares.into_iter().any(is_unheard)
    }

    /// True when no half-move was heard since nobody read the board or the clock: people may have gone back to an earlier position, and
    /// press until the right time runs.
    fn has_none_since_gap(&self) -> bool {
        let until = self.gap.missed_until;
        until.is_some_and(|until| self.course.record.last().is_none_or(|made| made.at <= until))
    }

    /// True when the half-move at which pieces were displaced may be none, and the displaced piece may have made the one that was pressed:
    /// its piece stands between two squares, or it was made while the clock stood.
    fn may_be_no_half_move(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        let record = &self.course.record;
        let Some(made) = record.made_as(finding.ply) else {
            return false;
        };
        let before = record.stand_at(finding.ply - 1).placement();
        let after = made.stand.placement();
        let touched = before.differing(after);
        let since = ctx.now - BETWEEN_MS;
        let is_between = |square: Square| {
            let code = after.at(square);
            ctx.sensed.hops(square, code, since) > 0 && ctx.sensed.blinks(square) > 0
        };
        (touched & after.occupied()).into_iter().any(is_between) || changed_beside(ctx, touched, finding.at)
    }

    /// True when a player moved the opponent's piece back to where it came from, and nobody stopped the clock
    /// because of it. The piece had rather been displaced, and the record has that as a half-move.
    fn puts_back(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        if ctx.is_stopped_since(finding.at) {
            return false;
        }
        let last = finding.ply.checked_sub(2).and_then(|i| self.course.record.get(i));
        let moved = last.and_then(|made| made.kind.from_to());
        let back = moved.map(|(from, to)| format!("{to}{from}"));
        finding.reason == Some(Reason::OpponentsPieceMoved) && back.is_some() && finding.act == back
    }

    /// True when the record is too doubtful to prove anything. Either it is in doubt now; or it was corrected
    /// lately, some half-moves came without a press or nobody read the board for a while, and nobody stopped
    /// the clock because of it; or the board does not read all pieces, and the record was corrected or nobody
    /// heard a half-move of it.
    fn is_shaky(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        let is_bare = finding.kind == IrregularityKind::PressWithoutMove;
        let is_read = is_bare && finding.offender.is_some_and(|by| self.reads_all_of(ctx, by));
        if !is_read && self.is_unproven(ctx, Some(finding.at)) || self.doubt.is_begun_in_lump() {
            return true;
        }
        let may_be_legal = self.doubt.turned && self.course.record.is_legal_turned(finding);
        if self.is_unheard(finding) || may_be_legal || self.rests_on_doubtful_act(ctx) {
            return true;
        }
        let noticed = ctx.is_stopped_since(finding.at);
        let lately = |completed: fn(CompletedBy) -> bool| {
            let last = self.course.record.iter().rev().take(SHAKY);
            last.map(|made| made.completed_by).any(completed)
        };
        let unpressed = self.gap.missed_until.is_some() || lately(|by| by != CompletedBy::Clock);
        let corrected = self.doubt.corrected;
        let soon =
            corrected.is_some_and(|ply| finding.ply <= ply + SHAKY && (!noticed || finding.ply <= ply));
        let unheard = corrected.is_some() || lately(|by| by == CompletedBy::Recovered);
        soon && unpressed || unheard && self.is_board_faulty()
    }

    /// True when the record has an illegal half-move that was answered, and the watcher only suspected it, or nobody heard the answer or
    /// what followed it, or a lump came since it was made: somebody may have put it right before the answer.
    fn rests_on_doubtful_act(&self, ctx: &Ctx<'_>) -> bool {
        let record = &self.course.record;
        let first = record.plies().saturating_sub(SHAKY);
        let is_said = |ply: usize| {
            // A press without a move names nothing that stands on the board.
            let is_act = |kind| {
                is_counted_kind(kind) && kind != IrregularityKind::PressWithoutMove
                    || kind == IrregularityKind::CastlingIncomplete
            };
            let is_sure = |open: &Open| open.case_file.said.certainty != Certainty::Suspected;
            let mut cases = self.cases.all();
            cases.any(|open| open.ply == ply && is_act(open.kind) && is_sure(open))
        };
        record.iter().enumerate().skip(first).any(|(i, made)| {
            let is_answered = made.kind.legal().is_none() && made.completed_by == CompletedBy::Reply;
            let mut next = record.iter().skip(i + 1).take(2);
            let is_unheard = next.any(|made| made.completed_by == CompletedBy::Recovered);
            is_answered && (!is_said(i + 1) || is_unheard || ctx.timing.is_unmeasured(made.at))
        })
    }

    /// True when the illegal move is legal without those pieces of the record that the board had not read for long, and not since
    /// the half-move before. The record may have missed where they went.
    fn is_legal_as_shown(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        let Some(act) = finding.act.as_ref().and_then(|act| act.parse::<UciMove>().ok()) else {
            return false;
        };
        let turn_began = self.turn_began(finding.ply);
        let mut setup = finding.before.setup();
        let unread = |square: &Square| {
            let (now, since) = (ctx.sensed.at(*square), ctx.sensed.since(*square));
            let (gone, emptied) = if now.is_empty() {
                (finding.at.since(since), since)
            } else {
                let gone = ctx.sensed.was_empty_for(*square).unwrap_or_default();
                (gone, since - gone)
            };
            let differs = now != finding.before.placement().at(*square);
            differs && gone >= UNREAD_MS && emptied < turn_began
        };
        let unread: Bitboard = setup.board.occupied().into_iter().filter(unread).collect();
        for square in unread {
            setup.board.discard_piece_at(square);
        }
        let mode = finding.before.mode();
        let shown = Stand::of_setup(setup, mode);
        unread.any() && shown.moves().iter().any(|mv| mv.to_uci(mode) == act)
    }

    /// True when a king or a rook may have castled by the rule of Chess960: the watcher took the game up in the middle, and took
    /// it for standard chess because of where its kings and rooks stood.
    fn may_be_chess960(&self, finding: &Finding) -> bool {
        let start = &self.course.record.start;
        let begins = is_full_array(start.placement()) && start.turn() == Color::White;
        let guessed = start.mode() == CastlingMode::Standard
            && may_castle_as_in_chess960(start.placement(), finding.before.turn())
            && !begins;
        let king = finding
            .before
            .placement()
            .squares_of(Code::from(finding.before.turn().king()));
        guessed && (finding.squares & king).any()
    }

    /// True when a king is left in check by pieces alone that have stood still ever since the watcher, which had lost track of the game,
    /// took it up anew: a piece that is off the game may lie there, or be read where none stands.
    fn is_check_by_stranger(&self, finding: &Finding) -> bool {
        let record = &self.course.record;
        if !self.doubt.taken_up_anew || finding.reason != Some(Reason::KingLeftInCheck) {
            return false;
        }
        let (by, after) = (finding.before.turn(), finding.before.left_as(&finding.seen));
        let board = after.board();
        let checks = |king| board.attacks_to(king, !by, board.occupied());
        let checkers = board.king_of(by).map_or(Bitboard::EMPTY, checks);
        let mut stands = record.iter().map(|made| &made.stand).chain([&record.start]);
        stands.all(|stand| {
            let stood = |square| stand.placement().at(square) == finding.seen.at(square);
            checkers.into_iter().all(stood)
        })
    }

    /// True when castling is not allowed because of half-moves alone for which nobody pressed: people may have shown them, and put
    /// everything back.
    fn rests_on_shown(&self, finding: &Finding) -> bool {
        if finding.reason != Some(Reason::CastlingNotAllowed) {
            return false;
        }
        let (us, before) = (finding.before.turn(), finding.before.placement());
        let king = before.squares_of(Code::from(us.king()));
        let rooks = before.squares_of(Code::from(us.rook())) & Bitboard::from_rank(us.backrank());
        let to = (finding.squares & !king).first();
        let rook = if to > king.first() {
            rooks.last()
        } else {
            rooks.first()
        };
        let home = rook.map_or(king, |rook| king.with(rook));
        let is_of_home = |(from, to)| home.contains(from) || home.contains(to);
        let touches = |made: &&Made| made.kind.from_to().is_some_and(is_of_home);
        let mut touching = self.course.record.iter().filter(touches).peekable();
        touching.peek().is_some() && touching.all(|made| made.completed_by == CompletedBy::Reply)
    }

    /// True when the piece that moved is one of which the game began with more than a set has: a chip that was put into the wrong
    /// piece looks so, and what moved may have been another piece. Or when the game began with a piece of the wrong colour among a
    /// player's own: what it attacks, and where it may go, is not what the board says.
    fn may_have_wrong_chip(&self, finding: &Finding) -> bool {
        let start = self.course.record.start.placement();
        let is_foreign = |square: Square| start.at(square).color() != Placement::ARRAY.at(square).color();
        let is_surplus = |square: Square| {
            let code = finding.before.placement().at(square);
            let number = |of: &Placement| of.squares_of(code).count();
            !code.is_empty() && number(start) > number(&Placement::ARRAY)
        };
        start.occupied() == Placement::ARRAY.occupied()
            && (finding.squares.into_iter().any(is_surplus) || start.occupied().into_iter().any(is_foreign))
    }

    /// True when nobody heard the press in question, the half-move that it belongs to, or a later one, because nobody read the
    /// board then. Where no illegal half-move stands on the board, the press may belong to the half-move before, too.
    fn is_unheard(&self, finding: &Finding) -> bool {
        use IrregularityKind::{IllegalMove, PiecesDisplaced};
        let (before, told) = match finding.kind {
            // What no single act explains may rest on half-moves of some time ago.
            IllegalMove if finding.reason == Some(Reason::Unexplained) => (SHAKY, 0),
            // It is for the first press since, unless one of the turn before was heard.
            IllegalMove if Some(self.turn_began(finding.ply)) < self.gap.missed_until => (1, TOLD_MS),
            IllegalMove => (1, 0),
            PiecesDisplaced => (2, TOLD_MS),
            _ => (2, 0),
        };
        let until = self.gap.missed_until.map(|until| until + told);
        let first = finding.ply.saturating_sub(before);
        let mut made = self
            .course
            .record
            .iter()
            .skip(first)
            .map(|made| made.completed_by);
        // A displaced piece belongs to the last press that was heard, and before that one others may not have been.
        let displaced = finding.kind == PiecesDisplaced && until.is_some();
        until.is_some_and(|until| finding.at <= until)
            || made.any(|by| by == CompletedBy::Recovered || displaced && by == CompletedBy::Reply)
    }

    /// True where no pawn is read on the last rank by now, and nobody read the board for a part of the turn: a piece may have stood
    /// there meanwhile.
    fn may_have_been_replaced(&self, finding: &Finding) -> bool {
        let began = self.turn_began(self.course.record.plies() + 1);
        let unheard = self.gap.missed_until.is_some_and(|until| until > began);
        finding.certainty != Certainty::Certain && (unheard || self.doubt.any())
    }

    /// True when nobody heard which flag fell first, or which half-moves were made before it.
    fn is_unheard_flag(&self, ctx: &Ctx<'_>, at: Millis) -> bool {
        let until = self.gap.missed_until.max(ctx.timing.lumped);
        let unheard = until.is_some_and(|until| at <= until + TOLD_MS);
        // Half-moves that were missed once are missing from then on.
        let may_be_due = !ctx.rules.periods.is_empty() && !self.flags.in_last_period(ctx);
        unheard && ctx.clock.flags().count() > 1 || (unheard || self.gap.missed_until.is_some()) && may_be_due
    }

    /// True when half-moves that nobody can name lead to what was played, and no two in a row with a name were pressed for: nothing
    /// bears out whose side of the clock is whose.
    fn is_led_to(&self) -> bool {
        let record = &self.course.record;
        let is_nameless =
            |made: &Made| made.completed_by == CompletedBy::Recovered && made.kind.legal().is_none();
        let is_pressed = |made: &Made| made.completed_by == CompletedBy::Clock && made.kind.legal().is_some();
        let bears_out = |two: &[Made]| two.iter().all(is_pressed);
        record.iter().any(is_nameless) && !record.windows(2).any(bears_out)
    }

    /// True when the watcher corrected something in this game, or was not certain of it: the record may be
    /// wrong again.
    fn was_mistaken(&self) -> bool {
        // That a piece was only shown out of turn says nothing of the record.
        let by_record = |open: &&Open| open.kind != IrregularityKind::MovedOutOfTurn && !open.is_dismissed();
        let mut said = self.cases.all().filter(by_record);
        self.doubt.shaken || said.any(|open| open.case_file.said.certainty != Certainty::Certain)
    }

    /// True when the press came before the lump, the decision falls within the lump, and nothing in the lump
    /// shows that time has passed between them.
    fn is_hasty(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        use IrregularityKind::{BothFlags, FlagFall};
        let stopped = ctx.is_stopped_since(finding.at);
        let flag = matches!(finding.kind, BothFlags | FlagFall);
        let before = ctx.timing.catches_up && finding.at < ctx.timing.lump_began;
        before && ctx.sensed.slack() == 0 && !flag && !stopped && self.lump.ticks < TICKS
    }

    /// True when the finding depends on times within a half-move that began in a lump, which nobody measured.
    /// A quarter of a second decides whose hand it was, and less than a second whether a lever sprang back.
    /// The same holds for a piece that came after the press to a square where it may not go.
    fn is_unmeasured(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        let late = |s| ctx.sensed.since(s) > finding.at;
        let gathered = |s| late(s) && ctx.sensed.since(s) <= finding.at + TOGETHER_MS;
        // Messages of one instant get times that are a millisecond apart.
        if ctx
            .timing
            .gathered_until
            .is_some_and(|until| finding.at <= until + TOGETHER_MS)
            && finding.squares.into_iter().any(gathered)
        {
            return true;
        }
        // What decides it came as if it had waited.
        if rests_on_times(finding.kind) && ctx.timing.coincided == Some(ctx.now) {
            return true;
        }
        let late = finding.kind == IrregularityKind::IllegalMove && finding.squares.into_iter().any(late);
        let unexplained = finding.reason == Some(Reason::Unexplained);
        // What no single act explains may rest on half-moves of some time ago.
        let back = if unexplained { SHAKY } else { 0 };
        let began = self.turn_began(finding.ply.saturating_sub(back)).min(finding.at);
        // Nor did anybody see whose hand moved the opponent's piece, or a piece about the time for which the clock stood.
        let by_whom = finding.kind == IrregularityKind::IllegalMove
            && (unexplained
                || finding.reason == Some(Reason::OpponentsPieceMoved)
                || ctx.clock.started_between(began, finding.at));
        (rests_on_times(finding.kind) || late || by_whom) && ctx.timing.is_unmeasured(began)
    }

    /// True when the board does not read some pieces or squares, or shows other differences from the record.
    fn is_untidy(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        let best = self.course.lines.best();
        let unread = self.unread.noticed | ctx.sensed.dead() | best.faults().hidden | best.faults().silent;
        // Where no hypothesis contains the act, its own squares differ, and do not count. Where several
        // pieces fell, the watcher finds one of them first, so no difference counts.
        let explained = best.plies.first().is_some_and(|ply| ply.kind.legal().is_none());
        let own = match finding.kind {
            IrregularityKind::PiecesDisplaced => Bitboard::FULL,
            _ if explained => Bitboard::EMPTY,
            _ => finding.squares,
        };
        unread.any() || (best.differing() & !own).any()
    }
}

#[cfg(test)]
mod tests;
