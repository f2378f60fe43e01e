//! Irregularities as the events tell them: what was said, what became of it, and who did what when.
//!
//! A case is *open* while it waits for an arbiter; lists, counts and the wall show open cases. A case of the present
//! game is open until somebody or something ended it. A suspicion is open until the game has a result at the latest. A
//! case of an earlier game is open only if an arbiter opened it again.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    board::Board,
    games::{FoldedGame, Players},
    key::BoardKey,
};
use crate::{
    event::{Amendment, Body, Certainty, Event, GameResult, Irregularity, Resolution, Source},
    laws::{Penalty, PenaltyKind},
};

/// An irregularity and what became of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CaseView {
    id: String,
    gateway: String,
    board: String,
    game: Option<u32>,
    /// True where its game is the present one.
    present: bool,
    pub(super) time: Option<String>,
    t: Option<f64>,
    /// The players of its game.
    players: Players,
    /// The round of its game, if known.
    round: Option<u32>,
    /// When its game began.
    began: Option<String>,
    /// The irregularity, with the ruling as it is now; null while the page still asks for the event.
    irregularity: Option<Box<Irregularity>>,
    amended: bool,
    /// True while it waits for an arbiter.
    open: bool,
    how: Option<Resolution>,
    resolved_time: Option<String>,
    /// The penalty that was given and not taken back.
    penalty: Option<Penalty>,
    /// What was done about it, the oldest first.
    journal: Vec<EntryView>,
}

/// Something that was done about an irregularity.
#[derive(Clone, Debug, Default, Serialize)]
struct EntryView {
    what: What,
    time: Option<String>,
    /// Set where a person did it.
    source: Option<Source>,
    /// The person's name, if known.
    by: Option<String>,
    how: Option<Resolution>,
    penalty: Option<Penalty>,
    note: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
enum What {
    #[default]
    Said,
    Amended,
    Ended,
    Reopened,
    Noted,
}

/// A case while its events are read.
#[derive(Debug)]
struct Case {
    view: CaseView,
    /// How it had ended before it was dismissed.
    before: Option<Resolution>,
    reopened: bool,
}

impl Board {
    /// All known cases, the newest first.
    pub(super) fn cases(&self, key: &BoardKey) -> Vec<CaseView> {
        let mut cases = self.folded(key);
        cases.reverse();
        cases
    }

    /// The open cases, the oldest first. State and events come on two lanes, so of some cases only the state tells, and
    /// nothing but their id is known yet.
    pub(super) fn open_cases(&self, key: &BoardKey) -> Vec<CaseView> {
        let mut open = self.folded(key);
        open.retain(|case| case.open);
        let known = |id: &String| self.event(id).is_some();
        let unknown = self.listed_open().into_iter().filter(|id| !known(id));
        open.extend(unknown.map(|id| self.untold(key, id)));
        open
    }

    fn folded(&self, key: &BoardKey) -> Vec<CaseView> {
        let is_case = |event: &Event| matches!(event.body, Body::Irregularity(_));
        // Most boards have none, and their games need not be gone through for each half-move.
        if !self.events.values().any(is_case) {
            return Vec::new();
        }
        let games = self.folded_games();
        let mut cases: BTreeMap<u64, Case> = BTreeMap::new();
        for event in self.events.values() {
            if let Body::Irregularity(irregularity) = &event.body {
                let case = self.said(key, event, irregularity, &games);
                cases.insert(event.seq, case);
            } else if let Some(case) = event.body.concerns().and_then(|id| cases.get_mut(&seq_of(id)?)) {
                case.take(event);
            }
        }
        let listed = self.listed_open();
        let is_over = self.game.result.is_some_and(|result| result != GameResult::Open);
        let views = cases.into_values().map(|case| {
            let open = case.is_open(&listed, is_over);
            CaseView { open, ..case.view }
        });
        views.collect()
    }

    fn said(
        &self,
        key: &BoardKey,
        event: &Event,
        irregularity: &Irregularity,
        games: &BTreeMap<u32, FoldedGame>,
    ) -> Case {
        let game = event.game.and_then(|number| games.get(&number));
        let mut view = CaseView {
            game: event.game,
            present: event.game.is_some() && event.game == self.game.game,
            time: event.time.clone(),
            t: Some(event.t),
            players: game.map_or_else(|| self.players(), |game| game.players.clone()),
            round: game.and_then(|game| game.round),
            began: game.and_then(|game| game.began.clone()),
            irregularity: Some(Box::new(irregularity.clone())),
            ..self.untold(key, event.id.clone())
        };
        view.journal.push(entry(event));
        Case {
            view,
            before: None,
            reopened: false,
        }
    }

    fn untold(&self, key: &BoardKey, id: String) -> CaseView {
        CaseView {
            id,
            gateway: key.gateway.clone(),
            board: key.board.clone(),
            game: self.game.game,
            present: true,
            time: None,
            t: None,
            players: self.players(),
            round: None,
            began: None,
            irregularity: None,
            amended: false,
            open: true,
            how: None,
            resolved_time: None,
            penalty: None,
            journal: Vec::new(),
        }
    }
}

fn seq_of(id: &str) -> Option<u64> {
    id.rsplit_once('/')?.1.parse().ok()
}

fn entry(event: &Event) -> EntryView {
    EntryView {
        time: event.time.clone(),
        source: event.source,
        by: event.by.clone(),
        ..EntryView::default()
    }
}

impl Case {
    fn take(&mut self, event: &Event) {
        let mut entry = entry(event);
        let view = &mut self.view;
        match &event.body {
            Body::RulingAmended(amendment) => {
                entry.what = What::Amended;
                view.amend(amendment);
            }
            Body::IrregularityResolved { how, .. } => {
                entry.what = What::Ended;
                entry.how = Some(*how);
                self.before = view.how.replace(*how);
                view.resolved_time.clone_from(&event.time);
            }
            Body::IrregularityReopened { open, .. } => {
                entry.what = What::Reopened;
                self.reopened = *open;
                view.how = if *open { None } else { self.before.take() };
                entry.how = view.how;
            }
            Body::CaseNoted { penalty, note, .. } => {
                entry.what = What::Noted;
                (entry.penalty, entry.note) = (*penalty, note.clone());
                if let Some(penalty) = penalty {
                    view.penalty = Some(*penalty).filter(|given| given.kind != PenaltyKind::None);
                }
            }
            _ => return,
        }
        view.journal.push(entry);
    }

    fn is_open(&self, listed: &[String], is_over: bool) -> bool {
        let CaseView {
            id,
            how,
            present,
            irregularity,
            ..
        } = &self.view;
        let is_suspicion = irregularity
            .as_ref()
            .is_some_and(|said| said.certainty == Certainty::Suspected);
        match how {
            Some(_) => false,
            None if self.reopened => true,
            None if is_suspicion => *present && !is_over,
            None => *present && listed.contains(id),
        }
    }
}

impl CaseView {
    fn amend(&mut self, amendment: &Amendment) {
        self.amended = true;
        if let Some(irregularity) = &mut self.irregularity {
            irregularity.articles.clone_from(&amendment.articles);
            irregularity.offence_number = amendment.offence_number;
            irregularity.ruling = amendment.ruling.clone();
            irregularity.text.clone_from(&amendment.text);
        }
    }
}
