//! The players set up the next game, after a game or during one.

use shakmaty::Bitboard;

use super::{Core, Phase};
use crate::{
    board::{Orientation, Placement},
    event::GameResult,
    time::Millis,
    watcher::arrays::{array_named, is_full_array, is_proper_array},
};

/// The squares of the pawns in the initial position.
const PAWNS: Bitboard = Bitboard(0x00ff_0000_0000_ff00);
/// After a game, the initial position must stand for this long to begin the next one.
const NEW_ARRAY_MS: u64 = 1000;
/// During a game, the initial position must stand for this long before it means a new game.
const RESET_MS: u64 = 3000;

impl Core {
    /// Looks whether the players have set up the next game, after a game or during one.
    pub(super) fn look_for_next(&mut self, now: Millis) {
        let is_set_up = !matches!(&self.phase, Phase::Game(game) if game.outcome.parked)
            && (self.array_stands(now) || self.turned_array_stands(now));
        let Some((game, mut ctx)) = self.game_and_ctx(now).filter(|_| is_set_up) else {
            return;
        };
        if game.outcome.result.is_none() {
            game.retract_set_up(&mut ctx);
            // If the next round is paired already, the players set up its game and do not analyse the last one.
            if game.table.round == ctx.settings.round && ctx.settings.players.iter().any(Option::is_some) {
                return self.park(now);
            }
            game.end(&mut ctx, GameResult::Open, "pieces_set_up_anew");
        }
        self.phase = Phase::Waiting(Box::default());
        self.orient();
        self.look_for_start(now);
    }

    /// True where the pieces are set up anew the other way round, because the players have changed colours and not their seats.
    fn turned_array_stands(&mut self, now: Millis) -> bool {
        let (Phase::Game(game), Some(raw)) = (&self.phase, &self.raw) else {
            return false;
        };
        if !game.is_watched()
            || game.record.plies() == 0
            || self.sensed.placement().occupied() != Placement::ARRAY.occupied()
        {
            return false;
        }
        let is_other = |found: &Orientation| *found != self.orientation;
        let found = Orientation::of_start(raw).filter(is_other);
        found.is_some_and(|found| is_proper_array(&found.placement(raw))) && self.has_stood(now, RESET_MS)
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
        // On most boards the number of pieces decides, and it is not necessary to compare them.
        if !seen.occupied().is_superset(PAWNS) || seen.occupied().count() != 32 {
            return false;
        }
        let named = array_named(seen);
        let array = if over {
            is_full_array(&named)
        } else {
            game.record.plies() > 0 && is_proper_array(&named)
        };
        if !array
            || !over && game.lines.all().any(|line| line.placement().agrees(seen))
            || !over && game.is_to_be_put_right(seen)
            || !over && game.overruled.as_ref().is_some_and(|shown| shown.is_shown(seen))
        {
            return false;
        }
        self.has_stood(now, if over { NEW_ARRAY_MS } else { RESET_MS })
    }
}
