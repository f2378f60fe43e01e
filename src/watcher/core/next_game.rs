//! The players set up the next game, after a game or during one.

use shakmaty::Bitboard;

use super::{Core, Phase, start::Setup};
use crate::{
    board::{Orientation, Placement, orientation::MOST_UNREAD},
    event::GameResult,
    time::Millis,
    watcher::{
        arrays::{
            MIDDLE, array_named, has_pawn_astray, have_come_home, is_after_first_moves, is_array_as_read,
            is_full_array, is_nearly_right,
        },
        game::finish::retract_set_up,
    },
};

/// The squares between the armies where the board lies sideways.
const MIDDLE_SIDEWAYS: Bitboard = Bitboard(0x3c3c_3c3c_3c3c_3c3c);
/// After a game, the initial position must stand for this long to begin the next one.
const NEW_ARRAY_MS: u64 = 1000;
/// During a game, the initial position must stand for this long before it means a new game.
const RESET_MS: u64 = 3000;

impl Core {
    /// Looks whether the players have set up the next game, after a game or during one.
    pub(super) fn look_for_next(&mut self, now: Millis) {
        let is_set_up = !matches!(&self.phase, Phase::Game(game) if game.outcome.parked)
            && (self.array_stands(now) || self.turned_array_stands(now));
        if is_set_up {
            self.leave(now, Setup::default());
        }
    }

    /// The next game begins at the board, as `setup` has it. The present one ends, or waits for its result.
    fn leave(&mut self, now: Millis, setup: Setup) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if game.outcome.result.is_none() {
            retract_set_up(&mut ctx, &mut game.course);
            // If the next round is paired already, the players set up its game and do not analyse the last one.
            if game.table.round == ctx.settings.round && ctx.settings.players.iter().any(Option::is_some) {
                return self.park(now, setup);
            }
            game.end(&mut ctx, GameResult::Open, "pieces_set_up_anew");
        }
        self.phase = Phase::Waiting(Box::new(setup));
        self.orient();
        self.look_for_start(now);
    }

    /// The clock was started. If it shows the first times, and the pieces stand as a few half-moves after the initial position, these
    /// were made while the last pieces were being set up: the next game has begun.
    pub(super) fn look_for_begun_next(&mut self, now: Millis) {
        let Phase::Game(game) = &self.phase else { return };
        let seen = self.sensed.placement();
        let is_new = !game.outcome.parked
            && self.clock.has_begun_anew(self.settings.rules.periods.first())
            && have_come_home(game.course.record.stand().placement(), seen)
            && is_after_first_moves(&self.sensed, now);
        if is_new {
            let setup = Setup::of_first_moves(&self.sensed, now);
            self.leave(now, setup);
        }
    }

    /// True where the pieces are set up anew another way round: the players have changed colours and not their seats, or the board
    /// was turned.
    fn turned_array_stands(&mut self, now: Millis) -> bool {
        let (Phase::Game(game), Some(raw)) = (&self.phase, &self.raw) else {
            return false;
        };
        let occupied = self.sensed.placement().occupied();
        if !game.is_watched()
            || game.course.record.plies() == 0
            || occupied.count() + MOST_UNREAD < Placement::ARRAY.occupied().count()
            || (occupied & MIDDLE).any() && (occupied & MIDDLE_SIDEWAYS).any()
        {
            return false;
        }
        let is_other = |found: &Orientation| *found != self.orientation;
        let found = Orientation::of_start(raw).filter(is_other);
        found.is_some_and(|found| is_array_as_read(&found.placement(raw))) && self.has_stood(now, RESET_MS)
    }

    /// True where nothing has changed on the board for `ms`. If not, looks again then.
    fn has_stood(&mut self, now: Millis, ms: u64) -> bool {
        let due = self.sensed.last_change() + ms;
        if now < due {
            self.look_at(due);
        }
        now >= due
    }

    /// True where the pieces are set up anew, and have stood so for long enough to mean a new game.
    pub(super) fn array_stands(&mut self, now: Millis) -> bool {
        let Phase::Game(game) = &self.phase else {
            return false;
        };
        let over = game.outcome.result.is_some();
        let seen = self.sensed.placement();
        // On most boards these numbers decide, and it is not necessary to compare the pieces.
        let occupied = seen.occupied();
        if occupied.count() < 32 - MOST_UNREAD || (occupied & MIDDLE).count() > 1 {
            return false;
        }
        let named = array_named(seen);
        let is_set = self.clock.is_set_anew(self.settings.rules.periods.first());
        // What a game ended with may be nearly an initial position, too.
        let shows = |placement: &Placement| placement.agrees(seen) || game.unread.is_shown(placement, seen);
        let is_new = || !shows(game.course.record.stand().placement());
        let lacks_some = || is_new() && is_array_as_read(&named);
        let is_anew = is_set || have_come_home(game.course.record.stand().placement(), seen);
        let array = if over {
            is_full_array(&named) || lacks_some() || is_anew && is_new() && has_pawn_astray(&named)
        } else {
            let is_wrong = || is_new() && (is_nearly_right(&named) || has_pawn_astray(&named));
            // What lacks a piece may come of first half-moves to squares that are not read.
            let plies = game.course.record.plies();
            let may_lack_some = is_set || plies > MOST_UNREAD || is_full_array(&named);
            plies > 0 && (may_lack_some && lacks_some() || is_anew && is_wrong())
        };
        if !array
            || !over && game.course.lines.all().any(|line| shows(line.placement()))
            || !over && game.positions().is_to_be_put_right(seen)
            || !over && game.overruled.as_ref().is_some_and(|shown| shown.is_shown(seen))
        {
            return false;
        }
        self.has_stood(now, if over { NEW_ARRAY_MS } else { RESET_MS })
    }
}
