//! What changes the ruling on an irregularity that was reported: the answer to whether the opponent can mate, the
//! arbiter's word on who raised it, and later half-moves.

use shakmaty::{CastlingMode, Chess, Color};

use super::{
    Open,
    case_file::{CaseFile, Mate},
    cases::Cases,
    course::Course,
    record::GameRecord,
};
use crate::{
    board::Stand,
    event::{Advice, Amendment, Body, Why},
    laws::{
        IrregularityKind, PositionRuling, Ruling, Side,
        clock_proposal::{self, ClockHistory, Proposal},
    },
    mate::Verdict,
    watcher::{ctx::Ctx, outbox::MateQuestion},
};

impl CaseFile {
    /// Rules on it, an irregularity of half-move `ply` after which `target` should stand, and writes its text.
    pub(super) fn rule(&mut self, ctx: &Ctx<'_>, record: &GameRecord, ply: usize, target: Option<&Stand>) {
        let target = target.map(|stand| (stand.fen(), stand.turn()));
        let advice = self.advice(ctx, record, ply, target);
        self.take_advice(ctx, advice);
    }

    /// Takes `advice` into the report, and writes its text.
    fn take_advice(&mut self, ctx: &Ctx<'_>, advice: Advice) {
        self.said.articles.clone_from(&advice.articles);
        self.said.offence_number = self.case.facts.offence_number;
        self.said.ruling = advice;
        self.put_into_words(ctx);
    }

    /// The advice on it, an irregularity of half-move `ply`, with times for the clock as it stands.
    fn advice(
        &self,
        ctx: &Ctx<'_>,
        record: &GameRecord,
        ply: usize,
        target: Option<(String, Color)>,
    ) -> Advice {
        let ruling = self.ruling(ctx);
        let turn = target.as_ref().map(|(_, turn)| *turn);
        let proposal = self.times(ctx, record, ply, turn, &ruling);
        Advice {
            penalty: ruling.penalty,
            position: ruling.position,
            articles: ruling.articles,
            target_fen: target.map(|(fen, _)| fen),
            clock_proposal: proposal.map(|p| p.clock),
            clock_alternative: proposal.and_then(|p| p.alternative),
            clock_working: proposal.map(|p| p.working),
            provisional: matches!(self.mate, Mate::Asked(_)),
            laws: Some(self.case.edition.as_str().to_owned()),
            time_control: Some(self.case.time_control.as_str().to_owned()),
        }
    }

    fn times(
        &self,
        ctx: &Ctx<'_>,
        record: &GameRecord,
        ply: usize,
        turn: Option<Color>,
        ruling: &Ruling,
    ) -> Option<Proposal> {
        let history = ClockHistory {
            at_press: self.said.clock?,
            increment_ms: self.increment_ms,
            present: ctx.clock.state(),
        };
        let offender = self.case.facts.offender;
        match self.case.facts.irregularity {
            IrregularityKind::IllegalMove
            | IrregularityKind::PromotionNotReplaced
            | IrregularityKind::PressWithoutMove
            | IrregularityKind::TwoHands
            | IrregularityKind::CastlingIncomplete => {
                let offender = offender?;
                if record.plies() > ply && ruling.position != PositionRuling::ReplaceWithQueen {
                    let moves = (record.plies() - ply + 2) / 2;
                    return clock_proposal::later(
                        record.clock_before(ply),
                        ctx.clock.state()?,
                        offender,
                        moves as u32,
                        ruling,
                    );
                }
                clock_proposal::at_once(&history, offender, ruling)
            }
            IrregularityKind::ThreefoldClaim | IrregularityKind::FiftyClaim => {
                clock_proposal::at_once(&history, offender?, ruling)
            }
            IrregularityKind::PiecesDisplaced => {
                Some(clock_proposal::give_back(&history, offender?, self.case.edition))
            }
            IrregularityKind::DisplacedPieceFound
            | IrregularityKind::WrongColourPromotion
            | IrregularityKind::MovedOutOfTurn => {
                Some(clock_proposal::unchanged(history.at_press, Side::from(turn?)))
            }
            _ => None,
        }
    }
}

impl Cases {
    /// Amends the open rulings after half-moves were played or taken back.
    pub(super) fn played_on(&mut self, ctx: &mut Ctx<'_>, course: &Course) {
        let made = course.record.moves_completed();
        for i in 0..self.open.len() {
            let answered = course.record.is_answered(self.open[i].offender, self.open[i].ply);
            let case_file = &mut self.open[i].case_file;
            let facts = &mut case_file.case.facts;
            facts.moves_completed = made;
            // A later half-move does not make late what a person raised in time.
            if !case_file.raised {
                facts.opponent_has_replied = answered;
            }
            self.amend(ctx, course, i, Why::Played);
        }
    }

    /// The clock was stopped. Proposes times for irregularities after which half-moves were played.
    pub(in crate::watcher) fn propose_times(&mut self, ctx: &mut Ctx<'_>, course: &Course) {
        for i in 0..self.open.len() {
            if course.record.plies() > self.open[i].ply {
                self.amend(ctx, course, i, Why::ClockStopped);
            }
        }
    }

    /// Reports a new ruling on an open irregularity, if it differs from the last one.
    pub(super) fn amend(&mut self, ctx: &mut Ctx<'_>, course: &Course, index: usize, why: Why) {
        let open = &self.open[index];
        let (case_file, before) = (&open.case_file, &open.case_file.said.ruling);
        let turn = open.target.as_ref().map(|stand| stand.turn());
        let target = before.target_fen.clone().zip(turn);
        let advice = case_file.advice(ctx, &course.record, open.ply, target);
        let same = (advice.penalty, advice.position) == (before.penalty, before.position)
            && advice.articles == before.articles
            && advice.provisional == before.provisional
            && (why != Why::Rules
                || (&advice.laws, &advice.time_control) == (&before.laws, &before.time_control));
        let timely = advice.clock_proposal == before.clock_proposal
            && advice.clock_alternative == before.clock_alternative;
        if same && (timely || why != Why::ClockStopped) {
            return;
        }
        let mut case_file = (*open.case_file).clone();
        case_file.take_advice(ctx, advice);
        let amendment = Amendment {
            irregularity: open.id.clone(),
            why,
            articles: case_file.said.articles.clone(),
            offence_number: case_file.said.offence_number,
            ruling: case_file.said.ruling.clone(),
            text: case_file.said.text.clone(),
        };
        *self.open[index].case_file = case_file;
        course.emit(ctx, None, Body::RulingAmended(Box::new(amendment)));
    }

    /// Takes the answer to whether the offender's opponent can mate.
    pub(in crate::watcher) fn mate_answered(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        id: &str,
        verdict: &Verdict,
    ) {
        let Some(i) = self.find(|open| open.id == id) else {
            return;
        };
        let case_file = &mut self.open[i].case_file;
        if !matches!(case_file.mate, Mate::Asked(_)) {
            return;
        }
        case_file.mate = match verdict {
            Verdict::Undetermined(_) => Mate::Undetermined,
            Verdict::Winnable(_) | Verdict::Unwinnable(_) => Mate::Known,
        };
        case_file.case.facts.opponent_can_mate = !matches!(verdict, Verdict::Unwinnable(_));
        self.amend(ctx, course, i, Why::MateChecked);
    }

    /// The questions without an answer. After a restart the shell asks them again.
    pub(in crate::watcher) fn questions(&self, mode: CastlingMode) -> Vec<MateQuestion> {
        self.open.iter().filter_map(|open| open.question(mode)).collect()
    }
}

impl Open {
    /// The question on which its ruling depends, if one does.
    pub(super) fn question(&self, mode: CastlingMode) -> Option<MateQuestion> {
        let Mate::Asked(fen) = &self.case_file.mate else {
            return None;
        };
        let loser = self.case_file.loser()?;
        MateQuestion::of(&self.id, fen, mode, !loser)
    }
}

impl MateQuestion {
    /// The question whether `winner` can mate in the position of `fen`.
    fn of(irregularity: &str, fen: &str, mode: CastlingMode, winner: Color) -> Option<Self> {
        let fen: shakmaty::fen::Fen = fen.parse().ok()?;
        let position: Chess = fen
            .into_position(mode)
            .or_else(shakmaty::PositionError::ignore_too_much_material)
            .or_else(shakmaty::PositionError::ignore_impossible_check)
            .ok()?;
        Some(Self {
            irregularity: irregularity.to_owned(),
            position,
            winner,
        })
    }
}
