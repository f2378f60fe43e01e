//! What the editions say beside the matrix: move bars, who may speak, amounts and article numbers.

use super::{
    case::{
        Case,
        Edition::{self, *},
        Supervision::*,
        TimeControl::*,
    },
    offence::Sanction::{self, Contested, Seconds},
    options::Options,
};
use crate::terms::IrregularityKind::{self, *};

/// From which move on an error of the start is no longer put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    /// The error is always put right.
    Never,
    /// The error is never put right.
    AtOnce,
    /// The bar comes down once each player has completed this many moves.
    Moves(u32),
    /// As `Moves`, in rapid and blitz only.
    QuickplayMoves(u32),
    /// As `Moves`, in rapid and blitz with too few arbiters only.
    UnsupervisedMoves(u32),
}

impl Bar {
    /// True when the bar has come down.
    #[must_use]
    pub fn is_down(self, case: &Case) -> bool {
        let done = case.facts.moves_completed.by_each();
        match self {
            Self::Never => false,
            Self::AtOnce => true,
            Self::Moves(n) => done >= n,
            Self::QuickplayMoves(n) => case.is_quickplay() && done >= n,
            Self::UnsupervisedMoves(n) => case.is_unsupervised() && done >= n,
        }
    }
}

/// What one edition says outside the matrix of offences.
#[derive(Clone, Copy, Debug)]
pub struct EditionRules {
    /// The edition.
    pub edition: Edition,
    /// The bar for a wrong initial position or a turned board.
    pub set_up_bar: Bar,
    /// The bar for reversed colours.
    pub colours_bar: Bar,
    /// The bar for a clock that was set wrongly.
    pub clock_bar: Bar,
    /// True where in rapid and blitz the arbiter neither calls a flag nor enforces Article 4 unless a player asks, and
    /// where both flags down are a draw (1997: B5, B6, B8).
    pub players_call_in_quickplay: bool,
    /// What a wrong draw claim costs, in standard, rapid and blitz.
    pub wrong_claim: [Sanction; 3],
}

/// The editions, oldest first. The amount of 1997 is an option: no source at hand gives it.
#[rustfmt::skip]
pub const EDITIONS: [EditionRules; 5] = [
    EditionRules { edition: Laws1997, set_up_bar: Bar::QuickplayMoves(3), colours_bar: Bar::AtOnce, clock_bar: Bar::Never,
        players_call_in_quickplay: true, wrong_claim: [Sanction::Nothing; 3] },
    EditionRules { edition: Laws2014, set_up_bar: Bar::UnsupervisedMoves(10), colours_bar: Bar::AtOnce, clock_bar: Bar::UnsupervisedMoves(10),
        players_call_in_quickplay: false, wrong_claim: [Seconds(120), Seconds(120), Seconds(60)] },
    EditionRules { edition: Proposal2017, set_up_bar: Bar::UnsupervisedMoves(10), colours_bar: Bar::Moves(10), clock_bar: Bar::UnsupervisedMoves(10),
        players_call_in_quickplay: false, wrong_claim: [Seconds(120), Seconds(120), Seconds(60)] },
    EditionRules { edition: Laws2018, set_up_bar: Bar::UnsupervisedMoves(10), colours_bar: Bar::Moves(10), clock_bar: Bar::UnsupervisedMoves(10),
        players_call_in_quickplay: false, wrong_claim: [Seconds(120), Seconds(120), Seconds(60)] },
    EditionRules { edition: Laws2023, set_up_bar: Bar::UnsupervisedMoves(10), colours_bar: Bar::Moves(10), clock_bar: Bar::UnsupervisedMoves(10),
        players_call_in_quickplay: false, wrong_claim: [Seconds(120), Seconds(60), Contested { usual: 60, other: 120 }] },
];

/// The rules of an edition.
#[must_use]
pub fn rules(edition: Edition) -> &'static EditionRules {
    // `EDITIONS` is in the order of the enum, as a test shows.
    &EDITIONS[edition as usize]
}

/// Seconds that a wrong draw claim gives to the opponent.
#[must_use]
pub fn wrong_claim_seconds(case: &Case, options: &Options) -> u32 {
    match rules(case.edition).wrong_claim[case.time_control as usize].settled(case, options) {
        Seconds(n) => n,
        _ => options.wrong_claim_1997.0,
    }
}

/// Articles on a counted act in 1997, in 2014 and since 2017. The first is the act's own.
#[rustfmt::skip]
const OFFENCE_ARTICLES: &[(IrregularityKind, [&[&str]; 3])] = &[
    (IllegalMove,          [&["7.4", "6.13"], &["7.5.a", "7.5.b"], &["7.5.1", "7.5.5", "7.1"]]),
    (PromotionNotReplaced, [&["7.4", "6.13"], &["7.5.a", "7.5.b"], &["7.5.2", "7.5.5", "7.1"]]),
    (PressWithoutMove,     [&["13.4"],        &["12.9"],           &["7.5.3", "7.5.5", "7.1"]]),
    (TwoHands,             [&["13.4"],        &["4.1", "12.9"],    &["7.5.4", "7.5.5", "7.1"]]),
];

/// The column of article numbers that an edition reads, of three.
#[must_use]
pub fn column(edition: Edition) -> usize {
    match edition {
        Laws1997 => 0,
        Laws2014 => 1,
        Proposal2017 | Laws2018 | Laws2023 => 2,
    }
}

/// Articles on a counted act in the edition's own numbering, without the appendices.
#[must_use]
pub fn offence_articles(edition: Edition, kind: IrregularityKind) -> &'static [&'static str] {
    OFFENCE_ARTICLES
        .iter()
        .find(|(k, _)| *k == kind)
        .map_or(&[], |(_, by_column)| by_column[column(edition)])
}

/// Articles of the appendices on the counted acts, for rapid adequate, rapid not adequate, blitz adequate and blitz not
/// adequate.
#[rustfmt::skip]
const APPENDIX: [[&[&str]; 4]; 5] = [
    /* 1997 */ [&[],             &[],                &["C3"],         &["C3"]],
    /* 2014 */ [&["A.3"],        &["A.4.b"],         &["B.2", "B.3"], &["A.4.b", "B.2"]],
    /* 2017 */ [&["A.3"],        &["A.4.2.1"],       &["B.2", "B.3"], &["A.4.2.1"]],
    /* 2018 */ [&["A.3"],        &["A.4.2"],         &["B.3", "B.2"], &["A.4.2", "B.4", "B.2"]],
    /* 2023 */ [&["A.4", "A.3"], &["A.5.2", "A.3"],  &["B.2"],        &["B.3", "A.3", "A.5.2"]],
];

/// Articles of the appendix that brings the counted acts to this control and supervision.
#[must_use]
pub fn appendix(case: &Case) -> &'static [&'static str] {
    let row = &APPENDIX[case.edition as usize];
    match (case.time_control, case.supervision) {
        (Standard, _) => &[],
        (Rapid, Adequate) => row[0],
        (Rapid, NotAdequate) => row[1],
        (Blitz, Adequate) => row[2],
        (Blitz, NotAdequate) => row[3],
    }
}

/// True where the players need not record their moves. For blitz, only some of the editions at hand say so.
#[must_use]
pub fn need_not_record(case: &Case) -> bool {
    match (case.edition, case.time_control) {
        (_, Standard) | (Laws2014 | Proposal2017, Blitz) => false,
        (_, Rapid) | (Laws1997, Blitz) => true,
        (Laws2018 | Laws2023, Blitz) => case.is_unsupervised(),
    }
}

/// Articles under which a move that ends the game stands as made.
#[must_use]
pub fn ending_articles(edition: Edition) -> &'static [&'static str] {
    [
        &["5.1", "5.2"][..],
        &["5.1.a", "5.2"],
        &["5.1.1", "5.2.1", "5.2.2", "6.2.1"],
    ][column(edition)]
}

/// The article that halves what a wrong draw claim costs.
#[must_use]
pub fn halving_articles(case: &Case) -> &'static [&'static str] {
    match (case.edition, case.time_control) {
        (Laws1997, _) | (Laws2014 | Proposal2017 | Laws2018, Standard | Rapid) | (Laws2023, Standard) => &[],
        (Laws2014 | Proposal2017 | Laws2018, Blitz) => &["B.2"],
        (Laws2023, Rapid) => &["A.3"],
        (Laws2023, Blitz) if case.is_unsupervised() => &["A.3", "B.3"],
        (Laws2023, Blitz) => &["B.2"],
    }
}
