//! Another board than that of the game answers at its port: cables were exchanged, or a spare board takes the place of a broken one.
//! What it tells is no part of the game before the same position stands on it, or a person says so.

use super::phase::Phase;
use crate::{
    board::{Orientation, Placement},
    dgt::{Identity, Message, PieceCode, Squares},
    event::{Body, notice},
};

/// On which board the present game is played.
#[derive(Clone, Debug, Default)]
pub(super) struct PlayedOn {
    /// What the board on which the game is played has told of itself.
    pub(super) board: Identity,
    /// What stands on the other board, in its own order of squares, while another one answers.
    other: Option<Other>,
}

#[derive(Clone, Debug, Default)]
struct Other {
    /// None before its first dump.
    squares: Option<Squares>,
}

/// What a message of another board brings.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// It is the first one: what there is to tell.
    pub(super) told: Option<Body>,
    /// The position of the game stands on that board: it is that of the game from now on, and shows these squares.
    pub(super) shown: Option<Squares>,
}

impl PlayedOn {
    /// Takes a message of a board that has told `answers` of itself. Returns nothing for one of the game's own board: it counts.
    pub(super) fn foreign(
        &mut self,
        phase: &Phase,
        lies: Orientation,
        answers: &Identity,
        message: &Message<'_>,
    ) -> Option<Foreign> {
        if !has_begun(phase) || !answers.is_of_another(&self.board) {
            self.accept(answers);
            return None;
        }
        let told = self.other.is_none().then(|| self.is_another(answers));
        self.other.get_or_insert_default();
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
            .filter(|squares| shows_the_game(phase, &lies.placement(squares)));
        if shown.is_some() {
            self.accept(answers);
        }
        Some(Foreign { told, shown })
    }

    /// The board that answers is that of the game. After a break of the link it tells its numbers anew, one after the other.
    fn accept(&mut self, answers: &Identity) {
        self.other = None;
        if answers.is_of_another(&self.board) {
            self.board = answers.clone();
        }
        for serial in answers.serials() {
            if self.board.serials().all(|known| known != serial) {
                self.board.learn_serial(serial);
            }
        }
    }

    /// A person's command begins another game, or sets the position: the board that answers is meant. Returns what stands on it,
    /// where it is another one.
    pub(super) fn take_as_meant(&mut self, answers: &Identity) -> Option<Squares> {
        let squares = self.other_squares()?;
        self.accept(answers);
        Some(squares)
    }

    fn other_squares(&self) -> Option<Squares> {
        self.other.as_ref()?.squares
    }

    fn set_other(&mut self, squares: [PieceCode; 64]) {
        self.other = Some(Other {
            squares: Some(squares),
        });
    }

    fn is_another(&self, answers: &Identity) -> Body {
        let [there, before] = [answers, &self.board].map(|board| board.serial().unwrap_or("?"));
        let message = format!(
            "The board with the serial number {there} answers, and the game was played on {before}. What it tells is no part of the game \
             before the position of the game stands on it. If cables were exchanged, exchange them back. If it takes the other one's place, \
             put up the position of the game, or send `set_position`; a game of its own begins with `new_game`."
        );
        Body::notice(notice::ANOTHER_BOARD, message)
    }
}

/// True where the game has half-moves, and goes on.
fn has_begun(phase: &Phase) -> bool {
    let game = phase.game();
    game.is_some_and(|game| game.is_watched() && game.course.record.plies() > 0)
}

fn shows_the_game(phase: &Phase, seen: &Placement) -> bool {
    let game = phase.game();
    game.is_some_and(|game| game.course.record.stand().placement() == seen)
}

#[cfg(test)]
mod tests;
