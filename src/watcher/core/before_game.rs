//! What a person reports before the first half-move: a player who is late has begun no game yet. The report waits for the game
//! to which it belongs.

use serde::{Deserialize, Serialize};

use super::{Core, Phase};
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

impl Core {
    /// True for a report of conduct before the next game: the board has no game, or its game is over and the report names the
    /// next one.
    pub(super) fn is_before_game(&self, report: &Report) -> bool {
        let next = self.games + 1;
        let is_next = match &self.phase {
            Phase::Waiting(_) => report.game.is_none_or(|game| game == next),
            Phase::Game(_) => report.game == Some(next),
        };
        is_next && report.kind.is_conduct()
    }

    pub(super) fn report_before_game(&mut self, report: Report) -> Result<(), CommandError> {
        if self.reports.len() >= MOST_WAITING {
            return Err(NotNow::TooManyReports(MOST_WAITING).into());
        }
        report.has_its_words()?;
        let report = Report {
            ply: Some(0),
            game: None,
            ..report
        };
        self.reports.push(WaitingReport {
            game: self.games + 1,
            by: self.out.by.clone(),
            report: Box::new(report),
        });
        Ok(())
    }

    /// Tells what was reported before the game, once that has begun.
    pub(super) fn tell_reports(&mut self, now: Millis) {
        if self.reports.is_empty() {
            return;
        }
        let begun = matches!(&self.phase, Phase::Game(game) if game.course.number >= self.reports[0].game);
        if !begun {
            return;
        }
        for waiting in std::mem::take(&mut self.reports) {
            self.out.by_command = true;
            self.out.by = waiting.by;
            if let Some((game, mut ctx)) = self.game_and_ctx(now) {
                // It was taken when it was given, so nothing refuses it now.
                let _ = game.report(&mut ctx, *waiting.report);
            }
            self.out.by_command = false;
            self.out.by = None;
        }
    }
}
