//! The four acts that count together (7.5): one row for each edition, control and supervision.

use super::{
    case::{
        Case,
        Edition::{self, *},
        Supervision::{self, *},
        TimeControl::{self, *},
    },
    options::{Blitz2023, Options, Text2023, TwoHands2017},
};
use crate::terms::IrregularityKind::{self, *};

/// The cost of an offence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sanction {
    /// The edition fixes no cost.
    Nothing,
    /// Seconds for the opponent.
    Seconds(u32),
    /// Seconds for the opponent on which texts and practice differ (2023, B.2 and B.3).
    Contested {
        /// The seconds by the usual reading.
        usual: u32,
        /// The seconds by the other reading.
        other: u32,
    },
    /// The offender loses, or draws if the opponent cannot mate.
    Loss,
}

impl Sanction {
    /// The sanction in this case, with contested amounts settled by `options`.
    #[must_use]
    pub fn settled(self, case: &Case, options: &Options) -> Self {
        let Self::Contested { usual, other } = self else {
            return self;
        };
        let takes_other = if case.is_unsupervised() {
            options.blitz_2023_unsupervised == Text2023::Translation
        } else {
            options.blitz_2023_supervised == Blitz2023::Letter
        };
        Self::Seconds(if takes_other { other } else { usual })
    }
}

/// Until when an arbiter can act upon an offence, and who must raise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Until the game ends.
    GameEnd,
    /// Until the opponent has made his next move. The arbiter sees the offence, or the opponent claims it.
    Reply,
    /// Until the opponent has made his next move, and only if the opponent claims (1997, C3).
    ReplyOnClaim,
}

/// One row of the matrix.
#[derive(Clone, Copy, Debug)]
pub struct OffenceRule {
    /// Edition of the Laws.
    pub edition: Edition,
    /// Time control.
    pub control: TimeControl,
    /// Supervision; none where the edition or the control makes no difference.
    pub supervision: Option<Supervision>,
    /// The acts that count.
    pub counts: &'static [IrregularityKind],
    /// The sanctions for the first, the second, and the third and any later offence.
    pub sanctions: [Sanction; 3],
    /// Until when an arbiter can act upon it.
    pub window: Window,
}

const ILLEGAL: &[IrregularityKind] = &[IllegalMove];
const ILLEGAL_PAWN: &[IrregularityKind] = &[IllegalMove, PromotionNotReplaced];
const ILLEGAL_PAWN_PRESS: &[IrregularityKind] = &[IllegalMove, PromotionNotReplaced, PressWithoutMove];
const ALL_FOUR: &[IrregularityKind] = &[IllegalMove, PromotionNotReplaced, PressWithoutMove, TwoHands];

use Sanction::{Loss, Nothing};
const MIN_2: [Sanction; 3] = [Sanction::Seconds(120), Loss, Loss];
const MIN_1: [Sanction; 3] = [Sanction::Seconds(60), Loss, Loss];
const MIN_1_OR_2: [Sanction; 3] = [
    Sanction::Contested {
        usual: 60,
        other: 120,
    },
    Loss,
    Loss,
];
const AT_ONCE: [Sanction; 3] = [Loss, Loss, Loss];
const NO_TARIFF: [Sanction; 3] = [Nothing, Nothing, Nothing];

const fn row(
    edition: Edition,
    control: TimeControl,
    supervision: Option<Supervision>,
    counts: &'static [IrregularityKind],
    sanctions: [Sanction; 3],
    window: Window,
) -> OffenceRule {
    OffenceRule {
        edition,
        control,
        supervision,
        counts,
        sanctions,
        window,
    }
}

/// The matrix: every combination has exactly one row.
#[rustfmt::skip]
pub const MATRIX: &[OffenceRule] = &[
    row(Laws1997,     Standard, None,              ILLEGAL,            NO_TARIFF,  Window::GameEnd),
    row(Laws1997,     Rapid,    None,              ILLEGAL,            NO_TARIFF,  Window::GameEnd),
    row(Laws1997,     Blitz,    None,              ILLEGAL,            AT_ONCE,    Window::ReplyOnClaim),
    row(Laws2014,     Standard, None,              ILLEGAL_PAWN,       MIN_2,      Window::GameEnd),
    row(Laws2014,     Rapid,    Some(Adequate),    ILLEGAL_PAWN,       MIN_2,      Window::GameEnd),
    row(Laws2014,     Rapid,    Some(NotAdequate), ILLEGAL_PAWN,       AT_ONCE,    Window::Reply),
    row(Laws2014,     Blitz,    Some(Adequate),    ILLEGAL_PAWN,       MIN_1,      Window::GameEnd),
    row(Laws2014,     Blitz,    Some(NotAdequate), ILLEGAL_PAWN,       AT_ONCE,    Window::Reply),
    row(Proposal2017, Standard, None,              ALL_FOUR,           MIN_2,      Window::GameEnd),
    row(Proposal2017, Rapid,    Some(Adequate),    ALL_FOUR,           MIN_2,      Window::GameEnd),
    row(Proposal2017, Rapid,    Some(NotAdequate), ILLEGAL_PAWN_PRESS, AT_ONCE,    Window::Reply),
    row(Proposal2017, Blitz,    Some(Adequate),    ALL_FOUR,           MIN_1,      Window::GameEnd),
    row(Proposal2017, Blitz,    Some(NotAdequate), ILLEGAL_PAWN_PRESS, AT_ONCE,    Window::Reply),
    row(Laws2018,     Standard, None,              ALL_FOUR,           MIN_2,      Window::GameEnd),
    row(Laws2018,     Rapid,    Some(Adequate),    ALL_FOUR,           MIN_2,      Window::GameEnd),
    row(Laws2018,     Rapid,    Some(NotAdequate), ALL_FOUR,           MIN_2,      Window::Reply),
    row(Laws2018,     Blitz,    Some(Adequate),    ALL_FOUR,           MIN_1,      Window::GameEnd),
    row(Laws2018,     Blitz,    Some(NotAdequate), ALL_FOUR,           MIN_1,      Window::Reply),
    row(Laws2023,     Standard, None,              ALL_FOUR,           MIN_2,      Window::GameEnd),
    row(Laws2023,     Rapid,    Some(Adequate),    ALL_FOUR,           MIN_1,      Window::GameEnd),
    row(Laws2023,     Rapid,    Some(NotAdequate), ALL_FOUR,           MIN_1,      Window::Reply),
    row(Laws2023,     Blitz,    Some(Adequate),    ALL_FOUR,           MIN_1_OR_2, Window::GameEnd),
    row(Laws2023,     Blitz,    Some(NotAdequate), ALL_FOUR,           MIN_1_OR_2, Window::Reply),
];

/// The row for a case.
#[must_use]
pub fn rule(case: &Case) -> &'static OffenceRule {
    MATRIX
        .iter()
        .find(|row| {
            row.edition == case.edition
                && row.control == case.time_control
                && row.supervision.is_none_or(|s| s == case.supervision)
        })
        .expect("the matrix has a row for every edition, control and supervision; a test counts them")
}

/// The sanction for the offence of `number` (from 1) in this case, or none where `kind` is no
/// offence there.
#[must_use]
pub fn sanction(case: &Case, kind: IrregularityKind, number: u32, options: &Options) -> Option<Sanction> {
    let rule = rule(case);
    let nth = (number.clamp(1, 3) - 1) as usize;
    if rule.counts.contains(&kind) {
        return Some(rule.sanctions[nth].settled(case, options));
    }
    // A.4.2.1 of the proposal names only 7.5.1 to 7.5.3, while 7.5.4 makes a move with two hands an offence.
    if case.edition == Proposal2017 && kind == TwoHands {
        let general = if case.time_control == Blitz { MIN_1 } else { MIN_2 };
        return match options.proposal_2017_two_hands {
            TwoHands2017::GeneralRule => Some(general[nth]),
            TwoHands2017::Loss => Some(Loss),
            TwoHands2017::Arbiter => None,
        };
    }
    None
}

/// True where the act of a case counts among the player's offences: the edition fixes what it costs.
#[must_use]
pub fn counts(case: &Case, options: &Options) -> bool {
    is_counted_kind(case.facts.irregularity)
        && case
            .facts
            .acts()
            .any(|kind| sanction(case, kind, 1, options).is_some())
}

/// True for the acts that share one count where the edition counts them.
#[must_use]
pub fn is_counted_kind(kind: IrregularityKind) -> bool {
    ALL_FOUR.contains(&kind)
}
