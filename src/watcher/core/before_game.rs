//! What a person reports before the first half-move: a player who is late has begun no game yet. The report waits for the game
//! to which it belongs.

use serde::{Deserialize, Serialize};

use super::{phase::Phase, play::Play, world::World};
use crate::{
    time::Millis,
    watcher::{
        command::{CommandError, Report},
        not_now::NotNow,
    },
};

/// Largest number of reports that wait.
const MOST_WAITING: usize = 16;

/// A report that waits for its game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::watcher) struct WaitingReport {
    /// Number of the game.
    game: u32,
    by: Option<String>,
    report: Box<Report>,
}

/// True for a report of conduct before game `next`, which is the next one: the board has no game, or its game is over and the report names
/// the next.
pub(super) fn is_before_game(phase: &Phase, next: u32, report: &Report) -> bool {
    let is_next = match phase {
        Phase::Waiting(_) => report.game.is_none_or(|game| game == next),
        Phase::Game(_) => report.game == Some(next),
    };
    is_next && report.kind.is_conduct()
}

impl WaitingReport {
    /// The report of `by`, which waits for game `next`. `waiting` are those that wait already.
    pub(super) fn of(
        report: Report,
        next: u32,
        by: Option<String>,
        waiting: &[Self],
    ) -> Result<Self, CommandError> {
        if waiting.len() >= MOST_WAITING {
            return Err(NotNow::TooManyReports(MOST_WAITING).into());
        }
        report.has_its_words()?;
        let report = Report {
            ply: Some(0),
            game: None,
            ..report
        };
        Ok(Self {
            game: next,
            by,
            report: Box::new(report),
        })
    }
}

/// Tells what was reported before the game, once that has begun.
pub(super) fn tell_due(waiting: &mut Vec<WaitingReport>, world: &World, play: &mut Play, now: Millis) {
    let number = play.phase.game().map(|game| game.course.number);
    if waiting.first().is_none_or(|first| number < Some(first.game)) {
        return;
    }
    for WaitingReport { by, report, .. } in std::mem::take(waiting) {
        play.out.by_command = true;
        play.out.by = by;
        if let Some((game, mut ctx)) = play.game_and_ctx(world, now) {
            // It was taken when it was given, so nothing refuses it now.
            let _ = game.report(&mut ctx, *report);
        }
        play.out.by_command = false;
        play.out.by = None;
    }
}
