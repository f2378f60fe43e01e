//! What changes the ruling on an irregularity that was reported: the answer to whether the opponent can mate, the
//! arbiter's word on who raised it, and later half-moves.

use shakmaty::{CastlingMode, Chess, Color};

use super::{
    Game, Open,
    case_file::{CaseFile, Mate},
};
use crate::{
    event::{Advice, Amendment, Body, ClockState, Why},
    laws::{
        IrregularityKind, PositionRuling, Ruling, Side,
        clock_proposal::{self, ClockHistory, Proposal},
    },
    mate::Verdict,
    watcher::{ctx::Ctx, outbox::MateQuestion},
};

impl Game {
    /// The advice on an irregularity of half-move `ply`, with times for the clock as it stands.
    pub(super) fn advice(
        &self,
        ctx: &Ctx<'_>,
        case_file: &CaseFile,
        ply: usize,
        target: Option<(&str, Color)>,
    ) -> Advice {
        let ruling = case_file.ruling(ctx);
        let proposal = self.times(ctx, case_file, ply, target.map(|(_, turn)| turn), &ruling);
        Advice {
            penalty: ruling.penalty,
            position: ruling.position,
            articles: ruling.articles,
            target_fen: target.map(|(fen, _)| fen.to_owned()),
            clock_proposal: proposal.map(|p| p.clock),
            clock_alternative: proposal.and_then(|p| p.alternative),
            clock_working: proposal.map(|p| p.working),
            provisional: matches!(case_file.mate, Mate::Asked(_)),
            laws: Some(case_file.case.edition.as_str().to_owned()),
            time_control: Some(case_file.case.time_control.as_str().to_owned()),
        }
    }

    fn times(
        &self,
        ctx: &Ctx<'_>,
        case_file: &CaseFile,
        ply: usize,
        turn: Option<Color>,
        ruling: &Ruling,
    ) -> Option<Proposal> {
        let history = ClockHistory {
            at_press: case_file.said.clock?,
            increment_ms: case_file.increment_ms,
            present: ctx.clock.state(),
        };
        let offender = case_file.case.facts.offender;
        match case_file.case.facts.irregularity {
            IrregularityKind::IllegalMove
            | IrregularityKind::PromotionNotReplaced
            | IrregularityKind::PressWithoutMove
            | IrregularityKind::TwoHands
            | IrregularityKind::CastlingIncomplete => {
                let offender = offender?;
                if self.record.plies() > ply && ruling.position != PositionRuling::ReplaceWithQueen {
                    let moves = (self.record.plies() - ply + 2) / 2;
                    return clock_proposal::later(
                        self.clock_before(ply),
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
            IrregularityKind::PiecesDisplaced => Some(clock_proposal::give_back(
                &history,
                offender?,
                case_file.case.edition,
            )),
            IrregularityKind::DisplacedPieceFound
            | IrregularityKind::WrongColourPromotion
            | IrregularityKind::MovedOutOfTurn => {
                Some(clock_proposal::unchanged(history.at_press, Side::from(turn?)))
            }
            _ => None,
        }
    }

    /// The reading of the clock in the position before half-move `ply`.
    fn clock_before(&self, ply: usize) -> Option<ClockState> {
        self.record.get(ply.checked_sub(2)?)?.clock
    }

    /// Amends the open rulings after half-moves were played or taken back.
    pub(super) fn played_on(&mut self, ctx: &mut Ctx<'_>) {
        let made = self.record.moves_completed();
        for i in 0..self.cases.open.len() {
            let answered = self.is_answered(self.cases.open[i].offender, self.cases.open[i].ply);
            let case_file = &mut self.cases.open[i].case_file;
            let facts = &mut case_file.case.facts;
            facts.moves_completed = made;
            // A later half-move does not make late what a person raised in time.
            if !case_file.raised {
                facts.opponent_has_replied = answered;
            }
            self.amend(ctx, i, Why::Played);
        }
    }

    /// True when the opponent of `offender` has made a half-move after the offender's act at half-move `ply`.
    pub(super) fn is_answered(&self, offender: Option<Color>, ply: usize) -> bool {
        offender.is_some_and(|offender| {
            (ply.max(1)..=self.record.plies()).any(|later| self.record.mover(later) != offender)
        })
    }

    /// The clock was stopped. Proposes times for irregularities after which half-moves were played.
    pub(in crate::watcher) fn propose_times(&mut self, ctx: &mut Ctx<'_>) {
        for i in 0..self.cases.open.len() {
            if self.record.plies() > self.cases.open[i].ply {
                self.amend(ctx, i, Why::ClockStopped);
            }
        }
    }

    /// Reports a new ruling on an open irregularity, if it differs from the last one.
    pub(super) fn amend(&mut self, ctx: &mut Ctx<'_>, index: usize, why: Why) {
        let open = &self.cases.open[index];
        let (case_file, before) = (&open.case_file, &open.case_file.said.ruling);
        let target = before.target_fen.clone();
        let turn = open.target.as_ref().map(|stand| stand.turn());
        let advice = self.advice(ctx, case_file, open.ply, target.as_deref().zip(turn));
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
        case_file.said.articles.clone_from(&advice.articles);
        case_file.said.offence_number = case_file.case.facts.offence_number;
        case_file.said.ruling = advice;
        case_file.put_into_words(ctx);
        let amendment = Amendment {
            irregularity: open.id.clone(),
            why,
            articles: case_file.said.articles.clone(),
            offence_number: case_file.said.offence_number,
            ruling: case_file.said.ruling.clone(),
            text: case_file.said.text.clone(),
        };
        *self.cases.open[index].case_file = case_file;
        self.emit(ctx, None, Body::RulingAmended(Box::new(amendment)));
    }

    /// Takes the answer to whether the offender's opponent can mate.
    pub(in crate::watcher) fn mate_answered(&mut self, ctx: &mut Ctx<'_>, id: &str, verdict: &Verdict) {
        let Some(i) = self.cases.find(|open| open.id == id) else {
            return;
        };
        let case_file = &mut self.cases.open[i].case_file;
        if !matches!(case_file.mate, Mate::Asked(_)) {
            return;
        }
        case_file.mate = match verdict {
            Verdict::Undetermined(_) => Mate::Undetermined,
            Verdict::Winnable(_) | Verdict::Unwinnable(_) => Mate::Known,
        };
        case_file.case.facts.opponent_can_mate = !matches!(verdict, Verdict::Unwinnable(_));
        self.amend(ctx, i, Why::MateChecked);
    }

    /// The questions without an answer. After a restart the shell asks them again.
    pub(in crate::watcher) fn open_questions(&self) -> Vec<MateQuestion> {
        self.cases
            .open
            .iter()
            .filter_map(|open| self.question(open))
            .collect()
    }

    /// The question on which the ruling of `open` depends, if one does.
    pub(super) fn question(&self, open: &Open) -> Option<MateQuestion> {
        let Mate::Asked(fen) = &open.case_file.mate else {
            return None;
        };
        let facts = &open.case_file.case.facts;
        let loser = match facts.irregularity {
            IrregularityKind::BothFlags => facts.first_flag.side(),
            _ => facts.offender,
        };
        MateQuestion::of(&open.id, fen, self.record.mode(), Color::from(loser?.opponent()))
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
