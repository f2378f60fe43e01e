//! The lifecycle of games at one board: a game begins, ends, and the players set up the next.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color};

use super::{
    Core, Phase, occupancy,
    start::{ARRAY_MS, Setup, WRONG_ARRAY_MS},
};
use crate::{
    board::{Lines, Orientation, Placement, Stand},
    event::{Body, Certainty, GameResult},
    time::Millis,
    watcher::{
        OrientationSetting, Table,
        arrays::{
            Array, castling_of, has_kings_and_queens_exchanged, has_pawn_astray, is_full_array, is_playable,
            kind_of, lacks_one, lacks_unplayed, stand_of,
        },
        game::{Game, array, gap},
        midway::Midway,
    },
};

/// If pieces are missing or stand in the middle, and more squares than these are wrong, a game had begun
/// before.
const MOST_WRONG: usize = 10;
/// So many half-moves that follow the Laws show which way round the board lies.
const PLAYED: usize = 10;
/// The board reads a piece that was put down before a press at most this long after the press.
const READ_MS: u64 = 250;
/// A board that is connected during a game is taken as it stands after this long at rest.
const MID_GAME_MS: u64 = 1000;

impl Core {
    /// Looks whether a game begins.
    pub(super) fn look_for_start(&mut self, now: Millis) {
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        let still = now.since(self.sensed.last_change());
        // What is known from before a gap is of no use before the board was read again.
        if self.raw.is_none() || self.gap.is_some() {
            return;
        }
        let stands_since = setup.stands_since(&self.sensed, now);
        if still >= ARRAY_MS {
            setup.note(
                &self.sensed,
                now,
                &self.clock,
                self.settings.rules.periods.first(),
            );
            if now < stands_since + WRONG_ARRAY_MS {
                self.look_at(stands_since + WRONG_ARRAY_MS);
            }
        } else {
            self.look_at(self.sensed.last_change() + ARRAY_MS);
        }
        if self.clock.runs() {
            self.start_by_clock(now);
        } else {
            self.start_by_moves(now);
        }
    }

    /// The increment of the first period, in seconds.
    fn first_increment(&self) -> u32 {
        self.settings
            .rules
            .periods
            .first()
            .map_or(0, |period| period.increment)
    }

    fn start_by_clock(&mut self, now: Millis) {
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        if let Some(array) = setup.array.clone()
            && array.differing(self.sensed.placement()).count() <= 6
        {
            let started = *setup.started.get_or_insert(now);
            // A game from a right initial position begins at once. Otherwise a piece may be misread, or be on
            // its way to its square.
            let moved = setup
                .lines
                .as_ref()
                .is_some_and(|lines| !lines.best().plies.is_empty());
            let due = started
                + if matches!(kind_of(&array), Array::Wrong(_)) && !moved {
                    WRONG_ARRAY_MS
                } else {
                    0
                };
            if now < due {
                self.look_at(due);
            } else {
                self.begin(now, &array);
            }
            return;
        }
        // The position does not come from the initial position that stood there before.
        if setup.array.take().is_some() {
            setup.lines = None;
        }
        self.start_mid_game(now, 1);
    }

    /// Looks whether a game is in progress, as when the daemon starts during a game. The running clock tells
    /// whose move it is where its sides are known; otherwise the half-moves tell it. Without a clock,
    /// `needed` half-moves in turn must show that a game is played at all.
    fn start_mid_game(&mut self, now: Millis, needed: usize) {
        let rest = self.sensed.last_change() + MID_GAME_MS;
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        if let Some(midway) = &mut setup.midway {
            midway.hear_clock(&self.clock, self.settings.rules.periods.first());
            midway.tick(now, &self.sensed);
            if let Some(due) = midway.given_up_at().map(|at| at.max(rest)) {
                if now < due {
                    self.look_at(due);
                } else {
                    setup.midway = None;
                }
            }
        }
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        if setup.midway.is_none() {
            if now < rest {
                self.look_at(rest);
                return;
            }
            if !is_playable(self.sensed.placement()) || self.lie_as_likely() {
                return;
            }
            let Phase::Waiting(setup) = &mut self.phase else {
                return;
            };
            let first = self.settings.rules.periods.first();
            setup.midway = Some(Midway::new(&self.sensed, now, &self.clock, first));
            setup.missed_until = None;
        }
        self.take_up_midway(now, needed, rest);
    }

    /// Takes up the game in progress once the side to move is known.
    fn take_up_midway(&mut self, now: Millis, needed: usize, rest: Millis) {
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        let Some(midway) = &mut setup.midway else { return };
        if let (Some(_), Some(turn)) = (self.clock.white_side(), self.clock.running())
            && midway.is_quiet(now)
        {
            let from = midway.from.clone();
            self.begin_mid_game(now, &from, turn, None);
            return;
        }
        let Some(way) = midway.decided(now, &self.sensed, needed) else {
            if let Some(at) = midway.deadline(now) {
                self.look_at(at);
            }
            return;
        };
        // What looks like one half-move may be a part of another. After two that fit, the board need not be
        // at rest.
        if way.lines.best().plies.len() <= needed && now < rest {
            self.look_at(rest);
            return;
        }
        let from = midway.from.clone();
        if let Some(white) = way.white {
            // The players' first half-moves told whose side it is, and there may have been others before.
            if midway.is_late && self.clock.white_side().is_none() {
                if !midway.from_first_time {
                    setup.missed_until = Some(now);
                    midway.is_unsure = true;
                }
                self.clock.guess_late(white);
            } else {
                self.clock.found(white);
            }
        }
        self.begin_mid_game(now, &from, way.turn, Some(way.lines));
    }

    fn start_by_moves(&mut self, now: Millis) {
        let attached = self.clock.attached == Some(true);
        let Phase::Waiting(setup) = &mut self.phase else {
            return;
        };
        if setup.array.is_none() {
            self.start_mid_game(now, 4);
            return;
        }
        let Some(lines) = &mut setup.lines else { return };
        lines.tick(now, &self.sensed);
        if lines.best().plies.is_empty() && lines.best().misplaced(&self.sensed).any() {
            return self.lie_by_first_move(now);
        }
        // If a clock is attached, somebody will start it. Without one, the first half-move starts the game.
        let needed = if attached { 3 } else { 1 };
        let best = lines.best();
        if best.plies.len() < needed || !best.misplaced(&self.sensed).is_empty() {
            return;
        }
        let wait = self.sensed.last_change() + if best.plies.len() > needed { 0 } else { 1500 };
        if now < wait {
            self.look_at(wait);
            return;
        }
        if let Some(array) = setup.array.clone() {
            self.begin(now, &array);
        }
    }

    /// Turns a board that feels only which squares are occupied, if the first half-move shows that it lies the other way round.
    fn lie_by_first_move(&mut self, now: Millis) {
        let is_auto = self.settings.orientation == OrientationSetting::Auto;
        let Some(raw) = self.raw.as_ref().filter(|_| is_auto && self.sensed.is_felt()) else {
            return;
        };
        let due = self.sensed.last_change() + occupancy::FIRST_MOVE_MS;
        if now < due && !self.orientation.is_sideways() {
            self.look_at(due);
        } else if let Some((other, lines)) = occupancy::by_first_move(self.orientation, raw, now) {
            self.turn_to(other);
            if let Phase::Waiting(setup) = &mut self.phase {
                setup.array = Some(Placement::ARRAY);
                setup.lines = Some(lines);
            }
        }
    }

    /// Begins a game from `array`.
    fn begin(&mut self, now: Millis, array: &Placement) {
        let stand = Arc::new(stand_of(array));
        let presses = self.take_presses();
        let increment = self.first_increment();
        let (lines, started, missed, unseen) = match &mut self.phase {
            Phase::Waiting(setup) => (
                setup.lines.take(),
                setup.started.unwrap_or(now),
                setup.missed_until,
                setup.unseen,
            ),
            Phase::Game(_) => (None, now, None, false),
        };
        self.start_game(now, stand);
        let Phase::Game(game) = &mut self.phase else {
            return;
        };
        if let Some(lines) = lines {
            game.course.take_lines(lines);
        }
        game.gap.missed_until = missed;
        game.doubt.gap = unseen.then_some(0);
        game.doubt.absent = lacks_unplayed(array) && is_far_from_array(array);
        game.course.lines.set_clock_runs(self.clock.runs());
        game.course.clock_used = self.clock.runs();
        // The time that ran first was White's, unless an odd number of half-moves had been made before.
        if let Some(counting) = self.clock.counting() {
            let plies = &game.course.lines.best().plies;
            let before = plies.iter().take_while(|ply| !ply.seen || ply.at < started);
            let odd = !before.count().is_multiple_of(2);
            // They need not have been completed by a press.
            let unheard = odd && presses.is_empty() && self.clock.was_found_running();
            let is_first = self.clock.is_first_time(increment);
            let moved_before = odd && !(unheard && is_first);
            let found = self.clock.was_found_running();
            let whites = match presses.last().filter(|_| found) {
                // Nobody knows which presses came before the first that was heard. The last one was for the last half-move before it.
                Some(last) => {
                    let by_then = plies.iter().filter(|ply| !ply.seen || ply.at <= *last + READ_MS);
                    by_then.count().is_multiple_of(2)
                }
                None => presses.len().is_multiple_of(2) != moved_before,
            };
            let side = if whites { counting } else { counting.other() };
            // Somebody has pressed before the watcher came, and it may have missed the half-move.
            if found && !is_first {
                self.clock.guess_late(side);
            } else if unheard || missed.is_some() {
                self.clock.guess(side);
            } else {
                self.clock.found(side);
            }
        }
        self.press_again(&presses);
        let sideways = self.orientation.is_sideways();
        let reversed = match self.settings.orientation {
            OrientationSetting::Auto => false,
            OrientationSetting::Normal => self.orientation == Orientation::Turned,
            OrientationSetting::Turned => self.orientation == Orientation::Normal,
        };
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        let was_heard = game.gap.missed_until.is_none();
        game.unread.begin(&mut ctx, &mut game.course, was_heard);
        if sideways {
            let finding = array::board_sideways(&ctx, &game.course.record);
            game.accuse(&mut ctx, finding, None);
        } else if reversed {
            let finding = array::colours_reversed(&ctx, &game.course.record);
            game.accuse(&mut ctx, finding, None);
        }
        match kind_of(array) {
            Array::Wrong(squares) if !is_far_from_array(array) => {
                let finding =
                    array::array_wrong(&ctx, &game.course.record, array, squares, Certainty::Certain);
                game.accuse(&mut ctx, finding, None);
            }
            // One of the 960 arrays, and what children make of the one that they know.
            Array::Chess960 if has_kings_and_queens_exchanged(array) => {
                let squares = array.differing(&Placement::ARRAY);
                let finding =
                    array::array_wrong(&ctx, &game.course.record, array, squares, Certainty::Suspected);
                game.accuse(&mut ctx, finding, None);
            }
            _ => {}
        }
    }

    /// Begins a game in progress from the position `from`, with the hypotheses `lines` if half-moves have
    /// been seen since.
    fn begin_mid_game(&mut self, now: Millis, from: &Placement, turn: Color, lines: Option<Lines>) {
        let stand = Stand::of_placement(from, turn, castling_of(from));
        let first = lines
            .as_ref()
            .and_then(|lines| lines.best().plies.first()?.kind.legal());
        let stand = first.and_then(|mv| stand.allowing(mv)).unwrap_or(stand);
        let Phase::Waiting(setup) = &self.phase else {
            return;
        };
        let (in_doubt, absent, missed) = (setup.in_doubt, setup.absent, setup.missed_until);
        let is_late = setup.midway.as_ref().is_some_and(|midway| midway.is_late);
        let unsure = setup.midway.as_ref().is_some_and(|midway| midway.is_unsure);
        // If one player alone lacks a piece, the board may not read it. Nor may it those that lack before a game.
        let absent = absent || is_late && lacks_one(from) || lacks_unplayed(from);
        self.start_game(now, Arc::new(stand));
        let runs = self.clock.runs();
        // If the watcher read the beginning in a lump, it knows as little of it as of a gap.
        let read = lines
            .as_ref()
            .and_then(|lines| Some(lines.best().plies.first()?.at));
        let began = read.map_or(self.clock.started_at, |read| read.min(self.clock.started_at));
        let in_lump = runs && self.lumped.is_some_and(|lumped| began <= lumped);
        let is_auto = self.settings.orientation == OrientationSetting::Auto;
        let turned = is_auto && !self.orientation_shown;
        if let Phase::Game(game) = &mut self.phase {
            game.doubt.gap = (in_doubt || in_lump || unsure).then_some(0);
            game.doubt.begun_in_lump = in_lump && !in_doubt && !unsure;
            game.doubt.absent = absent;
            game.doubt.turned = turned;
            game.gap.missed_until = missed;
            game.doubt.shaken |= in_doubt;
            if let Some(lines) = lines {
                game.course.take_lines(lines);
            }
            game.course.lines.set_clock_runs(runs);
            game.course.clock_used = runs;
        }
        // Hardly any half-moves lead there with White to move.
        if !in_doubt
            && turn == Color::White
            && has_pawn_astray(from)
            && let Some((game, mut ctx)) = self.game_and_ctx(now)
        {
            let squares = from.differing(&Placement::ARRAY);
            let finding = array::array_wrong(&ctx, &game.course.record, from, squares, Certainty::Suspected);
            game.accuse(&mut ctx, finding, None);
        }
        // For a game that is taken up anew, the watcher reported this before.
        if self.orientation.is_sideways()
            && !in_doubt
            && let Some((game, mut ctx)) = self.game_and_ctx(now)
        {
            let finding = array::board_sideways(&ctx, &game.course.record);
            game.accuse(&mut ctx, finding, None);
        }
    }

    /// The presses that came before the watcher saw that the game had begun.
    fn take_presses(&mut self) -> Vec<Millis> {
        match &mut self.phase {
            Phase::Waiting(setup) => std::mem::take(&mut setup.presses),
            Phase::Game(_) => Vec::new(),
        }
    }

    /// Gives `presses` to the half-moves that were seen meanwhile. The players press in turn, and the last
    /// press was by the player whose time does not run.
    fn press_again(&mut self, presses: &[Millis]) {
        let Some(running) = self.clock.running() else {
            return;
        };
        for (i, at) in presses.iter().enumerate() {
            let last = (presses.len() - 1 - i).is_multiple_of(2);
            self.pressed(*at, if last { !running } else { running });
        }
    }

    /// Turns the board as the pieces suggest, where no initial position has shown which way round it lies:
    /// each player's pieces are nearer to that player's side. Returns true when the board was read anew for
    /// that.
    fn lie_as_likely(&mut self) -> bool {
        let (OrientationSetting::Auto, Some(raw)) = (self.settings.orientation, &self.raw) else {
            return false;
        };
        let likely = Orientation::likely(raw);
        if self.orientation_shown || likely == self.orientation {
            return false;
        }
        self.turn_to(likely);
        true
    }

    pub(super) fn start_game(&mut self, now: Millis, stand: Arc<Stand>) {
        // The copy belongs to a game that is no longer the present one.
        self.unwatch();
        self.games += 1;
        let chess960 = stand.mode() == CastlingMode::Chess960;
        let fen = stand.fen();
        let mut game = Game::new(self.games, stand, &self.sensed, now);
        game.table = Table::of(&self.settings);
        game.rules = Arc::new(self.settings.rules.clone());
        self.phase = Phase::Game(Box::new(game));
        let [white, black] = self.settings.players.clone();
        let (event, round) = (self.settings.event.clone(), self.settings.round);
        self.emit(
            now,
            Body::GameStarted {
                fen,
                chess960,
                white,
                black,
                event,
                round,
            },
        );
    }

    /// Watches what stands on the board beside a game that is lost in a gap. Ends that game once the watcher gives the gap up, and
    /// takes up what it has watched.
    pub(super) fn take_up_anew(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if !game.is_watched() || game.gap.is_open {
            return;
        }
        if !game.gap.is_unexplained(&game.course) {
            self.unwatch_lost();
            return;
        }
        if !game.gap.is_lost(&ctx, &game.course) || !gap::is_at_rest(&mut ctx) {
            return;
        }
        let setup = Setup {
            in_doubt: true,
            absent: game.doubt.absent || game.trust().is_board_faulty(),
            ..Setup::default()
        };
        if !game.gap.given_up(&mut ctx) {
            self.watch_beside_lost(setup);
            return;
        }
        let is_played = game.course.record.plies() >= PLAYED;
        game.end(&mut ctx, GameResult::Open, "moves_missed");
        self.orientation_shown |= is_played;
        self.phase = Phase::Waiting(Box::new(setup));
        self.take_up_beside_lost(now);
        self.look_for_start(now);
    }
}

/// True when so much is wrong with the array that a game had begun before, or that it is one of Chess960 that is not read whole.
fn is_far_from_array(array: &Placement) -> bool {
    let wrong = match kind_of(array) {
        Array::Wrong(squares) => squares.count(),
        Array::Standard | Array::Chess960 => 0,
    };
    !is_full_array(array) && wrong > MOST_WRONG
}

#[cfg(test)]
mod tests;
