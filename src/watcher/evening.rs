//! How an evening at one board goes: a game begins, is over, and the next one is set up.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color};

use super::{
    core::{Core, Phase},
    game::Game,
    start::{ARRAY_MS, Array, is_full_array, is_playable, kind_of, stand_of},
};
use crate::{
    board::{Orientation, Placement, Stand},
    dgt::ClockSide,
    event::{Body, GameResult},
    time::Millis,
};

/// A new array must stand this long after a game.
const NEW_ARRAY_MS: u64 = 1000;
/// The initial array during a game must stand this long before it means a new one.
const RESET_MS: u64 = 3000;
/// A board that came in mid-game is taken as it stands after this long.
const MID_GAME_MS: u64 = 1000;

impl Core {
    /// Whether a game begins.
    pub(super) fn look_for_start(&mut self, now: Millis) {
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        let still = now.since(self.sensed.last_change());
        if self.raw.is_none() {
            return;
        }
        if still >= ARRAY_MS {
            setup.note(&self.sensed, now);
        } else {
            self.look_again = Some(self.sensed.last_change() + ARRAY_MS);
        }
        if self.clock.runs() {
            self.start_by_clock(now);
        } else {
            self.start_by_moves(now);
        }
    }

    fn start_by_clock(&mut self, now: Millis) {
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        if let Some(array) = setup.array.clone()
            && array.differing(self.sensed.placement()).count() <= 6
        {
            self.begin(now, &array);
            return;
        }
        let since = self.sensed.last_change() + MID_GAME_MS;
        if now < since {
            self.look_again = Some(since);
        } else if is_playable(self.sensed.placement()) {
            self.begin_mid_game(now);
        }
    }

    fn start_by_moves(&mut self, now: Millis) {
        let attached = self.clock.attached == Some(true);
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        if setup.array.is_none() {
            setup.either_side(&self.sensed, now);
        }
        let Some(lines) = &mut setup.lines else { return };
        lines.tick(now, &self.sensed);
        let needed = match (setup.array.is_some(), attached) {
            (true, false) => 1,
            (true, true) => 3,
            (false, _) => 4,
        };
        let best = lines.best();
        if best.plies.len() < needed || !best.misplaced(&self.sensed).is_empty() {
            return;
        }
        let wait = self.sensed.last_change() + if best.plies.len() > needed { 0 } else { 1500 };
        if now < wait {
            self.look_again = Some(wait);
            return;
        }
        let lines = setup.lines.take();
        if let Some(array) = setup.array.clone() {
            self.begin(now, &array);
        } else {
            self.begin_mid_game(now);
        }
        if let (Phase::Game(game), Some(lines)) = (&mut self.phase, lines) {
            game.take_lines(lines);
        }
    }

    /// A game begins from `array`.
    fn begin(&mut self, now: Millis, array: &Placement) {
        let stand = Arc::new(stand_of(array));
        let lines = match &mut self.phase {
            Phase::Waiting(setup) => setup.lines.take(),
            Phase::Game(_) => None,
        };
        self.start_game(now, stand);
        let Phase::Game(game) = &mut self.phase else {
            return;
        };
        if let Some(lines) = lines {
            game.take_lines(lines);
        }
        game.lines.clock_runs = self.clock.runs();
        game.clock_used = self.clock.runs();
        // The side whose time runs is White's, unless White has moved already.
        if let Some(counting) = self.clock.counting() {
            let black_to_move = game.lines.best().turn() == Color::Black;
            self.clock
                .found(if black_to_move { counting.other() } else { counting });
        }
        let sideways = self.orientation.is_sideways();
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if sideways {
            game.board_sideways(&mut ctx);
        }
        if let Array::Wrong(squares) = kind_of(array) {
            game.array_wrong(&mut ctx, array, squares);
        }
    }

    /// The daemon came in mid-game: it tracks from what stands.
    fn begin_mid_game(&mut self, now: Millis) {
        if self.clock.white_side().is_none() && self.clock.counting().is_some() {
            // Left and right do not turn with the board: nothing but custom tells them apart here.
            self.clock.found(match self.orientation {
                Orientation::Turned => ClockSide::Right,
                _ => ClockSide::Left,
            });
        }
        let turn = self.clock.running().unwrap_or(Color::White);
        let stand = Stand::of_placement(self.sensed.placement(), turn, CastlingMode::Standard);
        self.start_game(now, Arc::new(stand));
        let runs = self.clock.runs();
        if let Phase::Game(game) = &mut self.phase {
            game.lines.clock_runs = runs;
            game.clock_used = runs;
        }
    }

    pub(super) fn start_game(&mut self, now: Millis, stand: Arc<Stand>) {
        self.games += 1;
        let chess960 = stand.mode() == CastlingMode::Chess960;
        let fen = stand.fen();
        let game = Game::new(self.games, stand, &self.sensed, now);
        self.phase = Phase::Game(Box::new(game));
        self.emit(now, Body::GameStarted { fen, chess960 });
    }

    /// Whether the next game is being set up: an array after a game, or in the middle of one.
    pub(super) fn look_for_next(&mut self, now: Millis) {
        let Phase::Game(game) = &mut self.phase else {
            return;
        };
        let over = game.result.is_some();
        if !is_full_array(self.sensed.placement()) || (!over && game.plies() == 0) {
            return;
        }
        if !over
            && game
                .lines
                .all()
                .iter()
                .any(|l| l.placement() == self.sensed.placement())
        {
            return;
        }
        let due = self.sensed.last_change() + if over { NEW_ARRAY_MS } else { RESET_MS };
        if now < due {
            self.look_again = Some(self.look_again.map_or(due, |at| at.min(due)));
            return;
        }
        if !over && let Some((game, mut ctx)) = self.game_and_ctx(now) {
            game.end(&mut ctx, GameResult::Open, "pieces_set_up_anew");
        }
        self.phase = Phase::Waiting(Box::default());
        self.look_for_start(now);
    }
}
