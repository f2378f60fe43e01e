//! An earlier game of the board, built from its events. When a person puts something right in it, new events
//! of that game tell so.

mod report;

use std::{collections::BTreeMap, sync::Arc};

use shakmaty::CastlingMode;

use super::{Core, snapshot::stand_of_fen, view};
use crate::{
    board::{IllegalAct, PlyKind},
    event::{Body, Event, GameResult, MoveMade, Resolution, notice},
    time::Millis,
    watcher::{
        Settings,
        command::{Command, CommandError, Reply},
        game::{
            Made,
            correct::{CORRECTED, CorrectedRecord, squares_of},
            record::GameRecord,
        },
        not_now::NotNow,
        outbox::Outbox,
        state::GameView,
    },
};

/// The events of the journal that a command concerns and the watcher does not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needed {
    /// The events of the game with this number.
    Game(u32),
    /// The events of the game to which the event with this `seq` belongs.
    GameOf(u64),
}

/// An earlier game, built from its events.
#[derive(Debug)]
pub(super) struct Past {
    number: u32,
    record: GameRecord,
    result: Option<GameResult>,
    cases: BTreeMap<String, Case>,
}

/// An irregularity of an earlier game, or a suspicion.
#[derive(Debug, Default)]
struct Case {
    ended: Option<Closed>,
    /// How it had ended before it was dismissed.
    before: Option<Resolution>,
}

#[derive(Debug)]
struct Closed {
    how: Resolution,
    by: Option<String>,
}

impl Past {
    /// The game of `events`; none if its start is not among them.
    pub(super) fn of(events: &[Event]) -> Option<Self> {
        let mut past: Option<Self> = None;
        for event in events {
            match (&event.body, &mut past) {
                (Body::GameStarted { fen, chess960, .. }, None) => {
                    let mode = CastlingMode::from_chess960(*chess960);
                    past = Some(Self {
                        number: event.game?,
                        record: GameRecord::new(Arc::new(stand_of_fen(fen, mode)?)),
                        result: None,
                        cases: BTreeMap::new(),
                    });
                }
                (_, Some(past)) if event.game == Some(past.number) => past.take(event),
                _ => {}
            }
        }
        past
    }

    /// Number of its half-moves.
    pub(super) fn plies(&self) -> usize {
        self.record.plies()
    }

    fn take(&mut self, event: &Event) {
        match &event.body {
            Body::Move(made) => {
                self.record.truncate((made.ply as usize).saturating_sub(1));
                if let Some(made) = self.made_of(made) {
                    self.record.push(made);
                }
            }
            Body::MovesRetracted {
                to_ply,
                fen,
                reason,
                chess960,
            } => {
                self.record.truncate(*to_ply as usize);
                // Former versions did not tell that of a game in which Black began.
                let mode = match reason.as_str() {
                    notice::BLACK_BEGAN => self.record.mode(),
                    _ => CastlingMode::from_chess960(*chess960),
                };
                if let Some(start) = fen.as_ref().and_then(|fen| stand_of_fen(fen, mode)) {
                    self.record = GameRecord::new(Arc::new(start));
                }
            }
            Body::GameEnded { result, .. } => self.result = Some(*result),
            Body::GameResumed { .. } => self.result = None,
            Body::Irregularity(_) => {
                self.cases.insert(event.id.clone(), Case::default());
            }
            Body::IrregularityResolved { irregularity, how } => {
                if let Some(case) = self.cases.get_mut(irregularity) {
                    case.before = case.ended.take().map(|closed| closed.how);
                    case.ended = Some(Closed {
                        how: *how,
                        by: event.by.clone(),
                    });
                }
            }
            Body::IrregularityReopened { irregularity, .. } => {
                if let Some(case) = self.cases.get_mut(irregularity) {
                    let by = None;
                    case.ended = case.before.take().map(|how| Closed { how, by });
                }
            }
            _ => {}
        }
    }

    /// The half-move of an event; none if its FEN is no position, or its names are none of a half-move.
    fn made_of(&self, told: &MoveMade) -> Option<Made> {
        let (before, mode) = (self.record.stand(), self.record.mode());
        let after = Arc::new(stand_of_fen(&told.fen, mode)?);
        let kind = match before.named(&told.uci).filter(|_| !told.illegal) {
            Some(legal) => PlyKind::Legal(legal.mv),
            None => PlyKind::Illegal(Box::new(IllegalAct::left(
                squares_of(&told.uci),
                after.placement(),
            ))),
        };
        Some(Made {
            kind,
            uci: told.uci.parse().ok()?,
            san: told.san.as_deref().map(str::parse).transpose().ok()?,
            stand: after,
            completed_by: told.completed_by,
            clock: told.clock,
            at: Millis(0),
            accepted: false,
            made_in: None,
            landed: true,
        })
    }

    fn view(&self, last_seq: u64) -> GameView {
        let open = self.cases.iter().filter(|(_, case)| case.ended.is_none());
        let open = open.map(|(id, _)| id.clone()).collect();
        view::of_record(self.number, &self.record, self.result, open, last_seq)
    }

    /// The events that `command` causes in this game.
    fn put_right(&self, command: Command) -> Result<Vec<Body>, CommandError> {
        match command {
            Command::Result { result, reason, .. } if self.result == Some(result) && reason.is_none() => {
                Ok(Vec::new())
            }
            Command::Result { result, reason, .. } => Ok(vec![Body::GameEnded {
                result,
                reason: "arbiter".into(),
                note: reason.map(Into::into),
            }]),
            // Without a result it was left for another game, and nobody watches it any more.
            Command::Resume { .. } if self.result.is_none_or(|result| result == GameResult::Open) => {
                Err(NotNow::NoResult.into())
            }
            Command::Resume { reason, .. } => Ok(vec![Body::GameResumed {
                reason: reason.map(Into::into),
            }]),
            Command::Correct(order) => Ok(self.corrections(self.record.corrected(&order)?)),
            Command::Dismiss { irregularity } => self.close(irregularity, Resolution::Dismissed),
            Command::Accept { irregularity } => self.close(irregularity, Resolution::Stands),
            Command::Reopen { irregularity } => {
                let case = self.case(&irregularity)?;
                if case.ended.is_none() {
                    return Err(NotNow::CaseIsOpen.into());
                }
                let open = case.before.is_none();
                Ok(vec![Body::IrregularityReopened { irregularity, open }])
            }
            Command::Note {
                irregularity,
                penalty,
                note,
            } => {
                self.case(&irregularity)?;
                Ok(vec![Body::CaseNoted {
                    irregularity,
                    penalty,
                    note: note.map(Into::into),
                }])
            }
            Command::RaisedBy { .. } => Err(NotNow::CaseIsOver.into()),
            _ => Err(NotNow::PresentGameOnly.into()),
        }
    }

    fn case(&self, id: &str) -> Result<&Case, CommandError> {
        let unknown = || CommandError::UnknownIrregularity(id.to_owned());
        self.cases.get(id).ok_or_else(unknown)
    }

    fn close(&self, irregularity: String, how: Resolution) -> Result<Vec<Body>, CommandError> {
        let case = self.case(&irregularity)?;
        // A case that is closed already may still be dismissed. Then it no longer counts.
        if let Some(closed) = &case.ended
            && (how != Resolution::Dismissed || closed.how == Resolution::Dismissed)
        {
            return Err(CommandError::closed(closed.how, closed.by.clone()));
        }
        Ok(vec![Body::IrregularityResolved { irregularity, how }])
    }

    fn corrections(&self, corrected: CorrectedRecord) -> Vec<Body> {
        let kept = corrected.kept_of(&self.record);
        let CorrectedRecord { start, made } = corrected;
        let mut bodies = Vec::new();
        if start.is_some() || kept < self.record.len() {
            bodies.push(Body::MovesRetracted {
                to_ply: kept as u32,
                reason: CORRECTED.into(),
                chess960: start
                    .as_ref()
                    .is_some_and(|start| start.mode() == CastlingMode::Chess960),
                fen: start.map(|start| start.fen()),
            });
        }
        let new = made.iter().enumerate().skip(kept);
        bodies.extend(new.map(|(i, made)| made.told(i + 1)));
        bodies
    }
}

/// The events of the journal that `command` needs; none if the watcher has what it needs.
pub(in crate::watcher) fn needs(core: &Core, command: &Command) -> Option<Needed> {
    let present = core.play.phase.game();
    if let Some(number) = command.game() {
        let is_present = present.is_some_and(|game| game.course.number == number);
        let is_aside = matches!(command, Command::Resume { .. })
            && core
                .beside
                .game_put_aside()
                .is_some_and(|game| game.course.number == number);
        return (!is_present && !is_aside && number <= core.play.games).then_some(Needed::Game(number));
    }
    let id = command.irregularity()?;
    let is_present = present.is_some_and(|game| {
        let mut known = game.cases.all();
        known.any(|open| open.id == id)
    });
    let name = format!("{}/{}/", core.world.settings.gateway, core.world.settings.board);
    let seq = id.strip_prefix(&name)?.parse().ok()?;
    (!is_present).then_some(Needed::GameOf(seq))
}

/// Carries out a command about an earlier game, or about a suspicion that the watcher does not keep.
/// `events` are those of that game; the last game of the board has the number `last`.
pub(super) fn command_about(
    out: &mut Outbox,
    settings: &Settings,
    last: u32,
    now: Millis,
    command: Command,
    events: &[Event],
) -> Result<Reply, CommandError> {
    let Some(past) = Past::of(events) else {
        return Err(match (command.game(), command.irregularity()) {
            (None, Some(id)) => CommandError::UnknownIrregularity(id.to_owned()),
            (asked, _) => CommandError::NoSuchGame {
                asked: asked.unwrap_or_default(),
                last,
            },
        });
    };
    let mut told = events.to_vec();
    let before = out.seq;
    match command {
        Command::Report(report) => report::report_on(out, settings, now, &past, events, report)?,
        command => {
            for body in past.put_right(command)? {
                out.emit(settings, Some(past.number), now, None, body);
            }
        }
    }
    let new = out.events.iter().filter(|event| event.seq > before);
    told.extend(new.cloned());
    Ok(Reply {
        game: Past::of(&told).map(|past| past.view(out.seq)),
        offline: false,
    })
}
