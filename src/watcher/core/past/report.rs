//! A person reports an irregularity of an earlier game. Its case belongs to that game.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use shakmaty::Color;

use super::{Case, Past};
use crate::{
    board::Sensed,
    event::{Body, Certainty, Event, Irregularity, Resolution, notice},
    laws::Facts,
    time::Millis,
    watcher::{
        Rules, Settings,
        clock::Clock,
        command::{CommandError, Report},
        ctx::Ctx,
        game::{Ended, Game, Open, case_file::CaseFile},
        outbox::Outbox,
        timing::Timing,
    },
};

impl Past {
    /// The game as the watcher would have it, with the irregularities of `events`.
    fn game(&self, events: &[Event], sensed: &Sensed, rules: Arc<Rules>, now: Millis) -> Game {
        let mut game = Game::new(self.number, self.record.start.clone(), sensed, now);
        game.course.record = self.record.clone();
        game.outcome.result = self.result;
        game.rules = rules;
        game.cases.is_past = true;
        for event in events {
            let Body::Irregularity(said) = &event.body else {
                continue;
            };
            let ended = self.cases.get(&event.id).and_then(ended);
            let is_off = ended
                .as_ref()
                .is_some_and(|ended| matches!(ended.how, Resolution::Dismissed | Resolution::Superseded));
            let counted = said.offence_number > 0 && said.certainty != Certainty::Suspected && !is_off;
            let open = open_of(event, said, &game.rules, counted, ended);
            if let Some(side) = open.offender.filter(|_| counted) {
                game.cases.offences[side as usize] += 1;
            }
            game.cases.closed.push(open);
        }
        game
    }
}

fn ended(case: &Case) -> Option<Ended> {
    let closed = case.ended.as_ref()?;
    Some(Ended {
        how: closed.how,
        by: closed.by.clone(),
        counted: false,
        before: None,
    })
}

fn open_of(event: &Event, said: &Irregularity, rules: &Rules, counted: bool, ended: Option<Ended>) -> Open {
    let case = rules.case(Facts::new(said.kind, said.offender));
    Open {
        id: event.id.clone(),
        kind: said.kind,
        offender: said.offender.map(Color::from),
        ply: said.ply as usize,
        target: None,
        ruled: None,
        act: None,
        counted,
        may_stand: false,
        said: Millis(0),
        case_file: Box::new(CaseFile::of_past(case, said.clone())),
        by_hand: event.source.is_some(),
        ended,
    }
}

/// The rules by which a game was played, as far as its `events` tell; the rest is as it is `configured` now. Besides what nobody
/// knows, if there is something.
fn rules_of(events: &[Event], configured: &Rules) -> (Rules, Option<&'static str>) {
    let rulings = events.iter().rev().filter_map(|event| match &event.body {
        Body::Irregularity(said) => Some(&said.ruling),
        Body::RulingAmended(amended) => Some(&amended.ruling),
        _ => None,
    });
    let mut named = rulings.filter_map(|ruling| {
        Some((
            read(ruling.laws.as_deref()?)?,
            read(ruling.time_control.as_deref()?)?,
        ))
    });
    let Some((laws, time_control)) = named.next() else {
        return (
            configured.clone(),
            Some("No ruling in this game says by which rules it was played"),
        );
    };
    let is_configured = (laws, time_control) == (configured.laws, configured.time_control);
    let rules = Rules {
        laws,
        time_control,
        ..configured.clone()
    };
    let unknown = "The rulings in this game say nothing of its periods and its supervision";
    (rules, (!is_configured).then_some(unknown))
}

fn read<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(name.into()).ok()
}

/// Takes the report and rules on it, by the record of that game alone: nobody knows what stood on the board, or on the
/// clock.
pub(super) fn report_on(
    out: &mut Outbox,
    settings: &Settings,
    now: Millis,
    past: &Past,
    events: &[Event],
    report: Report,
) -> Result<(), CommandError> {
    let plies = past.record.plies();
    let ply = report.ply.map_or(plies, |ply| (ply as usize).min(plies));
    let sensed = Sensed::settled(past.record.stand_at(ply).placement());
    let clock = Clock::new(settings.clock_side);
    let (rules, unknown) = rules_of(events, &settings.rules);
    let rules = Arc::new(rules);
    let mut game = past.game(events, &sensed, rules.clone(), now);
    let mut ctx = Ctx {
        now,
        settings,
        rules: rules.clone(),
        sensed: &sensed,
        clock: &clock,
        out,
        look_again: &mut None,
        dump_wanted: &mut false,
        sign_wanted: &mut false,
        timing: Timing {
            told: now,
            ..Timing::default()
        },
    };
    game.report(&mut ctx, report)?;
    if let Some(unknown) = unknown {
        let message = format!(
            "{unknown}: the report is ruled on by {}. If they were others, do not go by this ruling.",
            rules.in_words()
        );
        game.course.notice(&mut ctx, notice::RULES_UNKNOWN, &message);
    }
    Ok(())
}
