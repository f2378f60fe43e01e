//! Which of the games at a board the public sees.
//!
//! A game that ended with a result is shown until the end of the round, whatever is set up after it. One that was left without a
//! result is shown again where it goes on, or gets its result. If somebody says that the shown game is over without a result, the
//! game after it is shown: people had tried the board before the round, say.

use super::{
    Unfolding,
    act::{PublicAct, What},
};
use crate::event::GameResult;

/// The games of a board in the order in which they began, and the one that is shown.
#[derive(Default)]
pub(super) struct GameChoice {
    games: Vec<Candidate>,
    shown: Option<usize>,
}

struct Candidate {
    game: Unfolding,
    /// True for one that began beside a game with a result, which must first be given up.
    waits: bool,
}

impl GameChoice {
    /// Takes the next act.
    pub(super) fn take(&mut self, act: &PublicAct) {
        if let What::Started(start) = &act.what {
            let waits = self.is_decided();
            self.games.push(Candidate {
                game: Unfolding::new(act, start),
                waits,
            });
            if !waits {
                self.shown = Some(self.games.len() - 1);
            }
            return;
        }
        let number = |candidate: &Candidate| candidate.game.number == act.game;
        let Some(i) = self.games.iter().rposition(number) else {
            return;
        };
        let Candidate { game, waits } = &mut self.games[i];
        game.take(&act.what, act.at);
        let goes_on = game.is_decided() || matches!(act.what, What::Resumed);
        let is_free = !*waits;
        let is_given_up = matches!(
            act.what,
            What::Ended {
                result: GameResult::Open
            }
        );
        if Some(i) == self.shown {
            if is_given_up {
                self.show_another(i);
            }
        } else if goes_on && is_free && !self.is_decided() {
            self.shown = Some(i);
        }
    }

    /// The shown game was given up: one with a result takes its place, else the last that began after it.
    fn show_another(&mut self, given_up: usize) {
        for candidate in &mut self.games {
            candidate.waits = false;
        }
        let after = self.games[given_up + 1..].iter();
        let decided = after.clone().position(|after| after.game.is_decided());
        let after = decided.or_else(|| after.len().checked_sub(1));
        let before = || {
            self.games[..given_up]
                .iter()
                .rposition(|before| before.game.is_decided())
        };
        self.shown = after.map(|n| given_up + 1 + n).or_else(before).or(self.shown);
    }

    fn is_decided(&self) -> bool {
        self.shown
            .is_some_and(|shown| self.games[shown].game.is_decided())
    }

    /// The shown game; none before the first.
    pub(super) fn into_shown(mut self) -> Option<Unfolding> {
        Some(self.games.swap_remove(self.shown?).game)
    }
}
