//! The ruling for a person: title and advice for each irregularity, in English and Russian.
//!
//! The words address the arbiter, stay neutral and cite articles. They say what the Laws prescribe. Where the sensors
//! leave doubt, the words say that first.

mod en;
mod ru;
mod spare;

use std::collections::BTreeMap;

use shakmaty::{Role, fen::Fen, uci::UciMove};

pub use spare::{SparePart, spare, spare_of_amendment};

use super::case::Edition;
use crate::{
    event::{Advice, Certainty, ClockState, Irregularity, Words},
    terms::{IllegalReason, IrregularityKind, Penalty, PenaltyKind, PositionRuling, Side},
};

/// An act that was a move: which piece went from where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActMove {
    /// The piece, where the position before tells it.
    pub piece: Option<Role>,
    /// The square that the piece left.
    pub from: shakmaty::Square,
    /// The square that the piece went to.
    pub to: shakmaty::Square,
}

/// The irregularity that the words are about.
#[derive(Clone, Debug)]
pub struct Occurrence<'a> {
    /// What happened.
    pub kind: IrregularityKind,
    /// What was wrong with the move, for an illegal move.
    pub reason: Option<IllegalReason>,
    /// The player who did it.
    pub offender: Option<Side>,
    /// How sure the program is.
    pub certainty: Certainty,
    /// The edition applied.
    pub edition: Edition,
    /// Number of this offence among those that count together; 0 where the notion does not apply.
    pub offence_number: u32,
    /// The act, where it was a move.
    pub act: Option<ActMove>,
    /// Squares concerned.
    pub squares: &'a [String],
    /// What the Laws say, with position and times to propose.
    pub advice: &'a Advice,
    /// True where too few arbiters see every game, so that an alert may not count as an observation.
    pub raised_by_system: bool,
    /// True where no search could find out whether the opponent can still mate.
    pub mate_undetermined: bool,
    /// The player whose flag fell first, where both are down and that is known.
    pub first_flag: Option<Side>,
    /// The note of the person who reported it.
    pub note: Option<&'a str>,
}

impl<'a> Occurrence<'a> {
    /// The occurrence of an event that has no `text` yet.
    #[must_use]
    pub fn of(irregularity: &'a Irregularity, edition: Edition) -> Self {
        Self {
            kind: irregularity.kind,
            reason: irregularity.reason.as_deref().and_then(IllegalReason::parse),
            offender: irregularity.offender,
            certainty: irregularity.certainty,
            edition,
            offence_number: irregularity.offence_number,
            act: act_move(irregularity),
            squares: &irregularity.squares,
            advice: &irregularity.ruling,
            raised_by_system: false,
            mate_undetermined: false,
            first_flag: None,
            note: irregularity.note.as_deref(),
        }
    }

    /// Adds whose flag fell first, where both flags are down.
    #[must_use]
    pub fn first_flag(mut self, side: Option<Side>) -> Self {
        self.first_flag = side;
        self
    }

    /// True where the ruling cites this very article.
    fn cites(&self, article: &str) -> bool {
        self.advice.articles.iter().any(|a| a == article)
    }

    /// True where the Laws do not require in this game what the players left undone.
    fn is_not_required(&self) -> bool {
        self.advice.penalty.kind == PenaltyKind::None
    }

    /// True for a wrong draw claim, for which the opponent gets time.
    fn is_wrong_claim(&self) -> bool {
        matches!(
            self.kind,
            IrregularityKind::ThreefoldClaim | IrregularityKind::FiftyClaim
        ) && matches!(self.advice.penalty.kind, PenaltyKind::Time)
    }

    /// True where the game is drawn because the offender's opponent cannot mate.
    fn draw_needs_no_mate(&self) -> bool {
        use IrregularityKind::*;
        match self.kind {
            BothFlags => self.first_flag.is_some(),
            DeadPosition | ThreefoldClaim | FiftyClaim | Fivefold | SeventyFive | IllegalPositionObserved => {
                false
            }
            _ => true,
        }
    }

    /// Adds whether no search could find out if the opponent can still mate.
    #[must_use]
    pub fn mate_undetermined(mut self, yes: bool) -> Self {
        self.mate_undetermined = yes;
        self
    }

    /// Adds that the system noticed it, and no person (unsupervised rapid and blitz, where few may speak).
    #[must_use]
    pub fn raised_by_system(mut self, yes: bool) -> Self {
        self.raised_by_system = yes;
        self
    }
}

fn act_move(irregularity: &Irregularity) -> Option<ActMove> {
    let act: UciMove = irregularity.act.as_deref()?.parse().ok()?;
    let UciMove::Normal { from, to, .. } = act else {
        return None;
    };
    let before: Option<Fen> = irregularity.fen_before.parse().ok();
    let piece = before.and_then(|fen| fen.as_setup().board.role_at(from));
    Some(ActMove { piece, from, to })
}

/// Title and advice by language: `en` and `ru`.
#[must_use]
pub fn words(occurrence: &Occurrence<'_>) -> BTreeMap<String, Words> {
    let in_language = |code: &str, language: &dyn Language| {
        (
            code.to_owned(),
            Words {
                title: language.title(occurrence),
                advice: advice(language, occurrence),
            },
        )
    };
    BTreeMap::from([in_language("en", &en::English), in_language("ru", &ru::Russian)])
}

/// The sentences of one language.
trait Language {
    /// One line: what happened, by whom, with which move or squares.
    fn title(&self, o: &Occurrence<'_>) -> String;
    /// How far to trust the alert; none when it is certain.
    fn doubt(&self, o: &Occurrence<'_>) -> Option<String>;
    /// The same in a word.
    fn doubt_in_a_word(&self, certainty: Certainty) -> &'static str;
    /// What was seen.
    fn fact(&self, o: &Occurrence<'_>) -> String;
    /// The note of a person.
    fn note(&self, note: &str) -> String;
    /// What becomes of the position.
    fn position(&self, o: &Occurrence<'_>) -> String;
    /// What becomes of the players.
    fn penalty(&self, o: &Occurrence<'_>, penalty: &Penalty) -> String;
    /// The proposed times, and how they come about.
    fn times(&self, o: &Occurrence<'_>, clock: &ClockState) -> String;
    /// How the proposed times come about, in parentheses after them; empty where nothing was changed.
    fn origin(&self, o: &Occurrence<'_>) -> String;
    /// The words that a search for a mate still goes on.
    fn provisional(&self) -> &'static str;
    /// The words that no search can find out whether the opponent can mate.
    fn mate_undetermined(&self) -> &'static str;
    /// The articles, with the edition where it is not the one in force.
    fn articles(&self, articles: &[String], edition: Edition) -> String;
    /// The words before a ruling on something that only a person can confirm.
    fn if_confirmed(&self) -> &'static str;
    /// The words that no person noticed it.
    fn raised_by_system(&self) -> &'static str;
}

fn advice(language: &dyn Language, o: &Occurrence<'_>) -> String {
    let advice = o.advice;
    let mut sentences = Vec::new();
    sentences.extend(language.doubt(o));
    sentences.push(language.fact(o));
    sentences.extend(o.note.and_then(in_one_line).map(|note| language.note(&note)));
    if o.certainty == Certainty::Suspected {
        sentences.push(language.if_confirmed().to_owned());
    }
    // A player who has lost need not put the pieces back. A queen and a draw are told all the same.
    let decided = matches!(advice.penalty.kind, PenaltyKind::Loss | PenaltyKind::Draw);
    if !decided || advice.position == PositionRuling::ReplaceWithQueen {
        sentences.push(language.position(o));
    }
    sentences.push(language.penalty(o, &advice.penalty));
    sentences.extend(
        advice
            .clock_proposal
            .as_ref()
            .filter(|_| !decided)
            .map(|c| language.times(o, c)),
    );
    if advice.provisional {
        sentences.push(language.provisional().to_owned());
    }
    if o.mate_undetermined {
        sentences.push(language.mate_undetermined().to_owned());
    }
    if o.raised_by_system {
        sentences.push(language.raised_by_system().to_owned());
    }
    if !advice.articles.is_empty() {
        sentences.push(language.articles(&advice.articles, o.edition));
    }
    sentences.retain(|s| !s.is_empty());
    sentences.join(" ")
}

/// A note in one line, whatever its form had; none where it is empty.
fn in_one_line(note: &str) -> Option<String> {
    let line = note.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// A time as clocks show it, in whole seconds: `1:23:45`.
fn clock_face(ms: u64) -> String {
    let seconds = ms / 1000;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests;
