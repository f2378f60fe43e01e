//! A task that stands still, because the machine is busy or the process was stopped: what came meanwhile is heard before what was due.

use super::BoardTask;
use crate::time::Millis;

/// A task that is later than this, in milliseconds, stood still.
const LATE_MS: u64 = 20;
/// What was due waits this long, in milliseconds, for what waited on the line.
const HEARD_MS: u64 = 20;
/// After so long, in milliseconds, the reader may be told only after what was due that something waits on its line.
const LONG_MS: u64 = 1000;
/// It waits no longer than this, in milliseconds, however late the task is again and again.
const MOST_MS: u64 = 2000;

/// What was put off for what waited on the line.
#[derive(Debug, Default)]
pub(super) struct PutOff {
    /// Since when, and until when, it was last.
    last: Option<(Millis, Millis)>,
    /// More waits on the line than was read at once.
    pub(super) more_waits: bool,
}

impl PutOff {
    /// How late a task is, in milliseconds, that stood still. Where more waits on the line, all that is due waits for that.
    fn late_ms(&self) -> u64 {
        if self.more_waits { 0 } else { LATE_MS }
    }

    /// Until when what has been due since `due` waits, as bytes come at `now`.
    fn until(&mut self, due: Millis, now: Millis) -> Millis {
        let again = self.last.filter(|(_, until)| *until == due);
        let since = again.map_or(now, |(since, _)| since);
        let until = if now.since(since) < MOST_MS {
            now + HEARD_MS
        } else {
            now
        };
        self.last = Some((since, until));
        until
    }
}

impl BoardTask {
    /// Has the watcher do what is due by now, each at its time, and returns the time. Nothing waits on the line.
    pub(super) fn catch_up(&mut self) -> Millis {
        let now = self.now();
        if let Some(since) = self.late_since(now, LATE_MS) {
            let is_long = now.since(since) > LONG_MS;
            let until = if is_long {
                self.put_off.until(since, now)
            } else {
                now
            };
            self.stood_still(since, until, now);
        }
        self.pass(now)
    }

    /// The same as bytes come. If the task stood still, the watcher hears them first.
    pub(super) fn catch_up_with_bytes(&mut self) -> Millis {
        let now = self.now();
        if let Some(since) = self.late_since(now, self.put_off.late_ms()) {
            let until = self.put_off.until(since, now);
            self.stood_still(since, until, now);
        }
        self.pass(now)
    }

    /// Since when something has been due. On a line that tells its own times, only the line makes time pass.
    fn late_since(&self, now: Millis, late_ms: u64) -> Option<Millis> {
        let is_own = self.told.is_none();
        self.watcher.late_since(now, late_ms).filter(|_| is_own)
    }

    fn stood_still(&mut self, since: Millis, until: Millis, now: Millis) {
        let tape = self.tape.as_mut();
        let since = tape.map_or(since, |tape| tape.stood_still(since, until, now));
        self.watcher.stood_still(since, until);
    }

    fn pass(&mut self, now: Millis) -> Millis {
        if self.told.is_none() {
            self.watcher.catch_up(now);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_put_off_for_bytes_but_not_for_ever() {
        let mut put_off = PutOff::default();
        assert_eq!(put_off.until(Millis(1000), Millis(1500)), Millis(1520));
        let mut due = Millis(1520);
        let mut times = 0;
        loop {
            let now = due + LATE_MS + 1;
            let until = put_off.until(due, now);
            if until == now {
                break;
            }
            due = until;
            times += 1;
        }
        assert_eq!(times, 2000 / 41);
        assert_eq!(
            put_off.until(Millis(9000), Millis(9100)),
            Millis(9120),
            "something else is due"
        );
    }
}
