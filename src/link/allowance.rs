//! Bounds the time that one port may take from the others. Bytes beyond it wait in the system's buffer, and then at the
//! sender.

use std::time::Duration;

use crate::time::Millis;

/// The divisor of all time that gives a port's share. A board in a game takes a hundredth of that share, and a tenth on
/// a small computer.
const SHARE: u32 = 4;
/// How much work a port may cause at once before the share counts: an event log, or a board that comes back with much
/// to tell.
const BURST: Duration = Duration::from_secs(2);

/// The time that a port may still take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    left: Duration,
    burst: Duration,
    /// The time that the port took beyond its share.
    owed: Duration,
    as_of: Millis,
}

impl Allowance {
    pub(crate) fn new(now: Millis) -> Self {
        Self::of(now, BURST)
    }

    /// An allowance with `burst` of work at once, before the share counts.
    pub(crate) fn of(now: Millis, burst: Duration) -> Self {
        Self {
            left: burst,
            burst,
            owed: Duration::ZERO,
            as_of: now,
        }
    }

    /// When the port may be read again; none when that is now.
    pub(crate) fn wait(&mut self, now: Millis) -> Option<Millis> {
        let share = Duration::from_millis(now.since(self.as_of)) / SHARE;
        let rest = share.saturating_sub(self.owed);
        self.owed = self.owed.saturating_sub(share);
        self.left = self.burst.min(self.left + rest);
        self.as_of = self.as_of.max(now);
        self.left.is_zero().then_some(now + 20)
    }

    /// Notes that work on the port's bytes took this time.
    pub(crate) fn spent(&mut self, time: Duration) {
        self.owed += time.saturating_sub(self.left);
        self.left = self.left.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_its_share_and_a_game_all_it_wants() {
        let work = |each: Duration, every: u64| {
            let mut allowance = Allowance::new(Millis(0));
            let (mut now, mut spent, mut waited) = (0, Duration::ZERO, 0);
            while now < 60_000 {
                if allowance.wait(Millis(now)).is_some() {
                    waited += 1;
                    now += 20;
                    continue;
                }
                allowance.spent(each);
                spent += each;
                now += every.max(each.as_millis() as u64);
            }
            (spent, waited)
        };
        // 5 ms of work as fast as it goes, then a half-move's updates, four a second, on a slow computer.
        let (flood, _) = work(Duration::from_millis(5), 0);
        assert!(
            flood > Duration::from_secs(15) && flood < Duration::from_secs(18),
            "{flood:?}"
        );
        let (_, waited) = work(Duration::from_millis(20), 250);
        assert_eq!(waited, 0);
        // One piece of work may take longer than the share allows.
        let (flood, _) = work(Duration::from_millis(800), 0);
        assert!(flood < Duration::from_secs(19), "{flood:?}");
    }
}
