//! Another board than that of the game answers at its port: cables were exchanged, or a spare board takes the place of a broken one.
//! What it tells is no part of the game before the same position stands on it, or a person says so.

use super::{Core, Phase};
use crate::{
    board::Placement,
    dgt::{Identity, Message, PieceCode, Squares},
    event::{Body, notice},
    time::Millis,
};

/// On which board the present game is played.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct PlayedOn {
    /// What the board on which the game is played has told of itself.
    pub(in crate::watcher) board: Identity,
    /// What stands on the other board, in its own order of squares, while another one answers.
    other: Option<Other>,
}

#[derive(Clone, Debug, Default)]
struct Other {
    /// None before its first dump.
    squares: Option<Squares>,
}

impl Core {
    /// Takes a message of another board than that of the game. Returns false for one of the game's own board: it counts.
    pub(super) fn is_of_another_board(&mut self, now: Millis, message: &Message<'_>) -> bool {
        if !self.has_begun() || !self.identity.is_of_another(&self.played_on.board) {
            self.accept_board();
            return false;
        }
        if self.played_on.other.is_none() {
            self.played_on.other = Some(Other::default());
            self.unheard();
            self.tell_of_another_board(now);
        }
        match message {
            Message::Dump(squares) => self.set_other(**squares),
            Message::Field { square, piece } => {
                if let Some(mut squares) = self.other_squares() {
                    squares[usize::from(square & 63)] = *piece;
                    self.set_other(squares);
                }
            }
            _ => {}
        }
        let shown = self
            .other_squares()
            .filter(|squares| self.shows_the_game(squares));
        if let Some(squares) = shown {
            self.accept_board();
            self.dump(now, &squares);
        }
        true
    }

    /// The board that answers is that of the game. After a break of the link it tells its numbers anew, one after the other.
    fn accept_board(&mut self) {
        let played_on = &mut self.played_on;
        played_on.other = None;
        if self.identity.is_of_another(&played_on.board) {
            played_on.board = self.identity.clone();
        }
        for serial in self.identity.serials() {
            if played_on.board.serials().all(|known| known != serial) {
                played_on.board.learn_serial(serial);
            }
        }
    }

    /// A person's command begins another game, or sets the position: the board that answers is meant.
    pub(super) fn take_board_as_meant(&mut self, now: Millis) {
        if let Some(squares) = self.other_squares() {
            self.accept_board();
            // What stands there has stood there, and no hand put it there just now.
            self.raw = None;
            self.dump(now, &squares);
        }
    }

    /// True where the game has half-moves, and goes on.
    fn has_begun(&self) -> bool {
        matches!(&self.phase, Phase::Game(game) if game.is_watched() && game.course.record.plies() > 0)
    }

    fn other_squares(&self) -> Option<Squares> {
        self.played_on.other.as_ref()?.squares
    }

    fn set_other(&mut self, squares: [PieceCode; 64]) {
        self.played_on.other = Some(Other {
            squares: Some(squares),
        });
    }

    fn shows_the_game(&self, squares: &Squares) -> bool {
        let seen: Placement = self.orientation.placement(squares);
        matches!(&self.phase, Phase::Game(game) if *game.course.record.stand().placement() == seen)
    }

    fn tell_of_another_board(&mut self, now: Millis) {
        let [there, before] =
            [&self.identity, &self.played_on.board].map(|board| board.serial().unwrap_or("?"));
        let message = format!(
            "The board with the serial number {there} answers, and the game was played on {before}. What it tells is no part of the game \
             before the position of the game stands on it. If cables were exchanged, exchange them back. If it takes the other one's place, \
             put up the position of the game, or send `set_position`; a game of its own begins with `new_game`."
        );
        self.emit(now, Body::notice(notice::ANOTHER_BOARD, message));
    }
}

#[cfg(test)]
mod tests;
