//! Gives a case its ruling. It finds the act that governs, the rule on that act, and what the rule means here.

use super::{
    case::{Case, Edition, TimeControl},
    edition,
    facts::{RaisedBy, ResponseTo},
    offence::{self, Sanction, Window},
    options::{
        Analogy, Blitz1997, BothFlags as FlagsReading, BothFlagsOf2014, Contested, Options, PawnAfterReply,
        Text2023, TwoHandsPosition,
    },
    provision::{self, Effect, Place, Situation},
    ruling::Ruling,
};
use crate::terms::{
    IrregularityKind::{self, *},
    Penalty, PenaltyKind, PositionRuling, Side,
};

/// The ruling that the Laws prescribe. Every case has one. Where the Laws would name a player whom the case does not
/// know, the penalty is left to the arbiter.
///
/// Whether anybody acts on the ruling is not for this function to know.
#[must_use]
pub fn decide(case: &Case, options: &Options) -> Ruling {
    let facts = &case.facts;
    let kind = governing_act(case);
    if facts.game_over {
        return untouched(case, kind, &[]);
    }
    // A dead position is itself the ending that such a move brings about.
    if facts.move_ends_game && kind != DeadPosition {
        return untouched(case, kind, edition::ending_articles(case.edition));
    }
    let mut ruling = match treatment(case, kind, options) {
        Treatment::Offence(kind, sanction) => offence_ruling(case, kind, sanction, options),
        Treatment::Provision(situation) => provision_ruling(case, kind, situation, options),
    };
    if case.is_unsupervised() && options.article_7_unsupervised == Analogy::Arbiter && is_by_analogy(kind) {
        (ruling.penalty, ruling.position) = (ARBITER, PositionRuling::Continue);
    }
    if blitz_by_translation(case, options) {
        ruling.articles.retain(|article| article != "A.3");
    }
    ruling
}

/// True for the acts of Articles 7.2, 7.3, 7.4 and 7.6, which the appendix for few arbiters does not name.
fn is_by_analogy(kind: IrregularityKind) -> bool {
    matches!(
        kind,
        InitialPositionWrong
            | BoardOrientationWrong
            | ColoursReversed
            | PiecesDisplaced
            | DisplacedPieceFound
    )
}

/// True where the options follow a translation of B.3 (2023) that does not bring in A.3.
fn blitz_by_translation(case: &Case, options: &Options) -> bool {
    case.edition == Edition::Laws2023
        && case.time_control == TimeControl::Blitz
        && case.is_unsupervised()
        && options.blitz_2023_unsupervised == Text2023::Translation
}

/// The endings that come before the fall of a flag (6.9 names Article 5 and 9.6 first).
const BEFORE_A_FLAG: [IrregularityKind; 3] = [DeadPosition, Fivefold, SeventyFive];

/// Acts in making a move, the governing one first. A player who does not have the move commits no illegal move. An
/// illegal castling is simply illegal, finished or not.
const ACTS_OF_A_MOVE: [IrregularityKind; 11] = [
    MovedOutOfTurn,
    IllegalMove,
    PromotionNotReplaced,
    PressWithoutMove,
    TwoHands,
    WrongColourPromotion,
    CastlingIncomplete,
    RookFirstCastling,
    TouchMove,
    PressWithOtherHand,
    PiecesDisplaced,
];

/// The irregularity that governs, of several in one act.
fn governing_act(case: &Case) -> IrregularityKind {
    let facts = &case.facts;
    let first = facts.irregularity;
    let present = |kind: &IrregularityKind| facts.acts().any(|k| k == *kind);
    if matches!(first, FlagFall | BothFlags) {
        let ends = |kind: &IrregularityKind| {
            let cell = provision::cell(case.edition, *kind, repetition(case, *kind));
            present(kind) && cell.is_some_and(|c| c.effect == Effect::Draw)
        };
        return BEFORE_A_FLAG.into_iter().find(ends).unwrap_or(first);
    }
    if !ACTS_OF_A_MOVE.contains(&first) {
        return first;
    }
    // An act that this edition does not count cannot govern one that it counts.
    let weighs = |kind: &IrregularityKind| {
        present(kind) && (!offence::is_counted_kind(*kind) || offence::rule(case).counts.contains(kind))
    };
    ACTS_OF_A_MOVE
        .into_iter()
        .find(weighs)
        .filter(|k| offence::is_counted_kind(*k) || *k == MovedOutOfTurn)
        .unwrap_or(first)
}

/// The two bodies of rules, of which one answers.
enum Treatment {
    Offence(IrregularityKind, Sanction),
    Provision(Situation),
}

fn treatment(case: &Case, kind: IrregularityKind, options: &Options) -> Treatment {
    let facts = &case.facts;
    let offence_as = |kind| {
        offence::sanction(case, kind, facts.offence_number, options).map(|s| Treatment::Offence(kind, s))
    };
    let counted = match kind {
        PressWithoutMove if facts.response_to.is_some() => None,
        IllegalMove | PromotionNotReplaced | PressWithoutMove | TwoHands => offence_as(kind),
        IllegalPositionObserved if !case.is_unsupervised() => offence_as(IllegalMove),
        WrongColourPromotion if options.wrong_colour_promotion == Contested::IllegalMove => {
            offence_as(PromotionNotReplaced)
        }
        CastlingIncomplete if options.castling_incomplete == Contested::IllegalMove => {
            offence_as(IllegalMove)
        }
        _ => None,
    };
    counted.unwrap_or_else(|| Treatment::Provision(situation(case, kind, options)))
}

/// The row that applies to an irregularity.
fn situation(case: &Case, kind: IrregularityKind, options: &Options) -> Situation {
    let facts = &case.facts;
    let rules = edition::rules(case.edition);
    let barred = |bar: edition::Bar| {
        if bar.is_down(case) {
            Situation::TooLate
        } else {
            Situation::Plain
        }
    };
    let players_call = rules.players_call_in_quickplay && case.is_quickplay();
    match kind {
        InitialPositionWrong | BoardOrientationWrong => barred(rules.set_up_bar),
        ColoursReversed => barred(rules.colours_bar),
        ClockSettingWrong => barred(rules.clock_bar),
        PressWithoutMove => match facts.response_to {
            None => Situation::Plain,
            Some(ResponseTo::OwnUnpressedMove) => Situation::LatePress,
            Some(ResponseTo::OpponentIllegalMove) => Situation::AfterIllegalMove,
            Some(ResponseTo::OpponentDisplacedPieces) => Situation::AfterDisplacement,
        },
        PromotionNotReplaced | WrongColourPromotion | CastlingIncomplete if !facts.clock_pressed => {
            Situation::NotCompleted
        }
        TouchMove | RookFirstCastling => {
            // The opponent must have touched a piece to reply.
            if facts.opponent_touched_piece || facts.opponent_has_replied {
                Situation::TooLate
            } else if players_call && facts.raised_by != RaisedBy::Opponent {
                Situation::NotAskedFor
            } else {
                Situation::Plain
            }
        }
        FlagFall | BothFlags => flag_situation(case, kind, players_call, options),
        NotRecording if edition::need_not_record(case) => Situation::NotRequired,
        ThreefoldClaim | FiftyClaim => match facts.claim_correct {
            Some(true) => Situation::Right,
            Some(false) => Situation::Wrong,
            None => Situation::Unclaimed,
        },
        Fivefold | SeventyFive | DeadPosition => repetition(case, kind),
        IllegalPositionObserved => match (facts.next_move_completed, facts.illegal_position_persists) {
            (false, _) => Situation::Waiting,
            (true, true) => Situation::Persists,
            (true, false) => Situation::Gone,
        },
        _ => Situation::Plain,
    }
}

fn repetition(case: &Case, kind: IrregularityKind) -> Situation {
    if kind == Fivefold && case.facts.consecutive {
        Situation::Consecutive
    } else {
        Situation::Plain
    }
}

fn flag_situation(case: &Case, kind: IrregularityKind, players_call: bool, options: &Options) -> Situation {
    let facts = &case.facts;
    let arbiter_decides = if case.is_unsupervised() {
        options.both_flags_unsupervised == FlagsReading::Arbiter
    } else {
        case.edition == Edition::Laws2014 && options.both_flags_2014 == BothFlagsOf2014::Arbiter
    };
    if facts.prescribed_moves_done {
        Situation::PeriodComplete
    } else if kind == FlagFall && players_call && facts.raised_by != RaisedBy::Opponent {
        Situation::NotAskedFor
    } else if facts.raised_by == RaisedBy::Nobody {
        Situation::Unnoticed
    } else if kind == FlagFall || facts.first_flag.side().is_some() {
        Situation::Plain
    } else if players_call || arbiter_decides {
        Situation::OrderUnknownQuickplay
    } else if facts.last_period {
        Situation::OrderUnknownLast
    } else {
        Situation::OrderUnknown
    }
}

/// The ruling on a counted act: whether it was completed and found in time, the position, and the penalty.
fn offence_ruling(case: &Case, kind: IrregularityKind, sanction: Sanction, options: &Options) -> Ruling {
    let facts = &case.facts;
    if !facts.clock_pressed {
        let position = match kind {
            IllegalMove => PositionRuling::ReinstateBefore,
            _ => PositionRuling::Continue,
        };
        let articles = offence_articles(case, kind).filter(|a| *a != "7.5.5");
        return ruling(NO_PENALTY, position, articles);
    }
    let window = offence::rule(case).window;
    if window != Window::GameEnd {
        let nobody_may = match window {
            Window::ReplyOnClaim => facts.raised_by != RaisedBy::Opponent,
            _ => facts.raised_by == RaisedBy::Nobody,
        };
        if facts.players_agree {
            return ruling(NO_PENALTY, before(case), offence_articles(case, kind));
        }
        let answered = facts.opponent_has_replied
            && (kind != PromotionNotReplaced || options.pawn_after_reply == PawnAfterReply::Stands);
        if answered || nobody_may {
            return ruling(NO_PENALTY, PositionRuling::Stands, offence_articles(case, kind));
        }
    }
    // The edition of 1997 has no rule that puts on a queen.
    let pawn = |k| k == PromotionNotReplaced && offence::rule(case).counts.contains(&k);
    let position = if kind == PromotionNotReplaced || facts.acts().any(pawn) {
        PositionRuling::ReplaceWithQueen
    } else if kind == TwoHands && options.two_hands_position == TwoHandsPosition::Continue {
        PositionRuling::Continue
    } else {
        before(case)
    };
    let penalty = match sanction {
        Sanction::Nothing => NO_PENALTY,
        Sanction::Seconds(n) | Sanction::Contested { usual: n, .. } => time(n, facts.offender),
        Sanction::Loss => loss(case, facts.offender),
    };
    let mut ruling = ruling(penalty, position, offence_articles(case, kind));
    if case.edition == Edition::Laws1997 && penalty.kind == PenaltyKind::Draw {
        cite(&mut ruling, "C4");
        if options.blitz_1997_without_mate == Blitz1997::NoPenalty {
            ruling.penalty = NO_PENALTY;
        }
    }
    ruling
}

fn provision_ruling(case: &Case, kind: IrregularityKind, situation: Situation, options: &Options) -> Ruling {
    let Some(cell) = provision::cell(case.edition, kind, situation) else {
        // Every situation that `situation` gives has a row, as a test shows. If one were missing, the Laws would be
        // silent, which leaves the matter to the arbiter.
        return ruling(ARBITER, PositionRuling::Continue, std::iter::empty());
    };
    let offender = match kind {
        BothFlags => case.facts.first_flag.side(),
        _ => case.facts.offender,
    };
    let penalty = match cell.effect {
        Effect::None => NO_PENALTY,
        Effect::Arbiter => ARBITER,
        Effect::Draw => DRAW,
        Effect::Loss => loss(case, offender),
        Effect::LossOutright => lost(offender),
        Effect::ClaimTime => time(edition::wrong_claim_seconds(case, options), offender),
    };
    let position = match cell.place {
        Place::BeforeOrIdentifiable => before(case),
        Place::Before => PositionRuling::ReinstateBefore,
        Place::Continue => PositionRuling::Continue,
        Place::NewGame => PositionRuling::NewGame,
        Place::Transfer => PositionRuling::Transfer,
        Place::Queen => PositionRuling::ReplaceWithQueen,
        Place::Stands => PositionRuling::Stands,
    };
    let halved = match cell.effect {
        Effect::ClaimTime => edition::halving_articles(case),
        _ => &[],
    };
    // The appendix says which rules hold in this game, for uncounted acts as well.
    let appendix = match (kind, situation) {
        (PressWithoutMove | TwoHands, Situation::Plain) if case.edition != Edition::Laws1997 => {
            edition::appendix(case)
        }
        _ => &[],
    };
    let articles = cell
        .articles
        .iter()
        .copied()
        .chain(provision::extras(case, kind))
        .chain(halved.iter().chain(appendix).copied());
    ruling(penalty, position, articles)
}

/// The ruling where nothing can be done any more, because the game is over or this very move ended it.
fn untouched(case: &Case, kind: IrregularityKind, ending: &[&str]) -> Ruling {
    let own = if offence::is_counted_kind(kind) {
        offence_articles(case, kind).collect::<Vec<_>>()
    } else {
        let ended = provision::cell(case.edition, kind, Situation::Ended);
        let cell = ended.or_else(|| provision::first_cell(case.edition, kind));
        let articles = cell.map_or(&[][..], |c| c.articles);
        articles
            .iter()
            .copied()
            .chain(provision::extras(case, kind))
            .collect()
    };
    ruling(
        NO_PENALTY,
        PositionRuling::Stands,
        own.into_iter().chain(ending.iter().copied()),
    )
}

/// The articles on a counted act and on the acts with it, and those of the appendix.
fn offence_articles(case: &Case, kind: IrregularityKind) -> impl Iterator<Item = &'static str> + '_ {
    let together = case
        .facts
        .acts()
        .filter(move |k| *k != kind && offence::is_counted_kind(*k));
    std::iter::once(kind)
        .chain(together)
        .flat_map(|k| edition::offence_articles(case.edition, k).iter().copied())
        .chain(edition::appendix(case).iter().copied())
}

const NO_PENALTY: Penalty = Penalty {
    kind: PenaltyKind::None,
    seconds: 0,
    to: None,
};
const ARBITER: Penalty = Penalty {
    kind: PenaltyKind::Arbiter,
    seconds: 0,
    to: None,
};
const DRAW: Penalty = Penalty {
    kind: PenaltyKind::Draw,
    seconds: 0,
    to: None,
};

fn time(seconds: u32, offender: Option<Side>) -> Penalty {
    offender.map_or(ARBITER, |o| Penalty {
        kind: PenaltyKind::Time,
        seconds,
        to: Some(o.opponent()),
    })
}

fn loss(case: &Case, offender: Option<Side>) -> Penalty {
    if !case.facts.opponent_can_mate {
        return DRAW;
    }
    lost(offender)
}

fn lost(offender: Option<Side>) -> Penalty {
    offender.map_or(ARBITER, |o| Penalty {
        kind: PenaltyKind::Loss,
        seconds: 0,
        to: Some(o.opponent()),
    })
}

/// The position just before the act, or the last that can be identified.
fn before(case: &Case) -> PositionRuling {
    if case.facts.last_legal_position_known {
        PositionRuling::ReinstateBefore
    } else {
        PositionRuling::LastIdentifiable
    }
}

fn ruling<'a>(penalty: Penalty, position: PositionRuling, articles: impl Iterator<Item = &'a str>) -> Ruling {
    let mut ruling = Ruling {
        penalty,
        position,
        articles: Vec::new(),
    };
    articles.for_each(|article| cite(&mut ruling, article));
    ruling
}

fn cite(ruling: &mut Ruling, article: &str) {
    if !ruling.articles.iter().any(|a| a == article) {
        ruling.articles.push(article.to_owned());
    }
}
