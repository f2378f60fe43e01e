//! The newest reading of each board's clock, for the broadcast. It is kept in memory alone: a clock tells its times every
//! second, and no disk should be written so often.

use jiff::Timestamp;
use tokio::sync::watch;

use super::standing::BoardStanding;
use crate::{
    broadcast::{LatestClocks, TimedClock},
    event::ClockState,
    time::Millis,
};

/// The newest reading of each clock.
#[derive(Clone, Debug, Default)]
pub(super) struct NewestClocks(watch::Sender<LatestClocks>);

impl NewestClocks {
    /// Takes what the clock of a board (`GATEWAY/BOARD`) shows at `now`, if a game goes on there. `epoch_ms` is the Unix
    /// time in milliseconds at the origin, if the wall clock is set.
    pub(super) fn tells(
        &self,
        board: String,
        clock: ClockState,
        standing: BoardStanding,
        now: Millis,
        epoch_ms: Option<i64>,
    ) {
        let Some(game) = standing.game.filter(|_| standing.playing) else {
            return;
        };
        // Events without a time get that of the journal, which asks the same wall clock.
        let since = i64::try_from(now.0).unwrap_or(i64::MAX);
        let at_ms = epoch_ms.map_or_else(
            || Timestamp::now().as_millisecond(),
            |epoch_ms| epoch_ms.saturating_add(since),
        );
        let read = TimedClock { game, clock, at_ms };
        self.0.send_modify(|latest| {
            latest.insert(board, read);
        });
    }

    /// Forgets a board that is not watched any more.
    pub(super) fn forget(&self, board: &str) {
        self.0.send_if_modified(|latest| {
            latest.remove(board);
            false
        });
    }

    /// A receiver of all readings, which wakes up at each.
    pub(super) fn listen(&self) -> watch::Receiver<LatestClocks> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_told_while_a_game_goes_on() {
        let clocks = NewestClocks::default();
        let mut heard = clocks.listen();
        let clock = ClockState {
            white_ms: 60_000,
            black_ms: 50_000,
            running: None,
        };
        let mut standing = BoardStanding {
            game: Some(3),
            ..BoardStanding::default()
        };
        let tells = |standing| clocks.tells("gw/7".into(), clock, standing, Millis(500), Some(1_000));
        tells(standing);
        assert!(!heard.has_changed().unwrap());
        standing.playing = true;
        tells(standing);
        let read = TimedClock {
            game: 3,
            clock,
            at_ms: 1_500,
        };
        assert_eq!(heard.borrow_and_update().get("gw/7"), Some(&read));
        clocks.forget("gw/7");
        assert!(heard.borrow_and_update().is_empty());
    }
}
