//! How long to wait before the next attempt.

use fastrand::Rng;

use crate::time::Millis;

/// Doubling delays with jitter, so that twenty boards behind one hub, or twenty gateways behind one broker, do not come
/// back in step. Only a connection that held for a while counts as a success: one that is accepted and cut at once must
/// not be tried in a hot loop.
#[derive(Clone, Debug)]
pub struct Backoff {
    first_ms: u64,
    longest_ms: u64,
    stable_ms: u64,
    next_ms: u64,
    up_since: Option<Millis>,
}

impl Backoff {
    /// Delays in milliseconds from `first_ms` to `longest_ms`. After `stable_ms` of connection the next delay is the
    /// first again.
    #[must_use]
    pub fn new(first_ms: u64, longest_ms: u64, stable_ms: u64) -> Self {
        Self {
            first_ms,
            longest_ms,
            stable_ms,
            next_ms: first_ms,
            up_since: None,
        }
    }

    /// The connection is up.
    pub fn up(&mut self, now: Millis) {
        self.up_since = Some(now);
    }

    /// Notes that the connection or the attempt failed. Returns the milliseconds to wait before the next attempt,
    /// between half and all of the present delay.
    pub fn failed(&mut self, now: Millis, rng: &mut Rng) -> u64 {
        if let Some(since) = self.up_since.take()
            && now.since(since) >= self.stable_ms
        {
            self.next_ms = self.first_ms;
        }
        let delay = self.next_ms;
        self.next_ms = (delay * 2).min(self.longest_ms);
        rng.u64(delay.div_ceil(2)..=delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_longest() {
        let (mut backoff, mut rng) = (Backoff::new(200, 1000, 5000), Rng::with_seed(1));
        for most in [200, 400, 800, 1000, 1000] {
            let delay = backoff.failed(Millis(0), &mut rng);
            assert!((most / 2..=most).contains(&delay), "{delay} for {most}");
        }
    }

    #[test]
    fn only_a_stable_connection_starts_anew() {
        let (mut backoff, mut rng) = (Backoff::new(200, 10_000, 5000), Rng::with_seed(1));
        backoff.failed(Millis(0), &mut rng);
        backoff.up(Millis(1000));
        assert!(backoff.failed(Millis(1001), &mut rng) >= 200);
        backoff.up(Millis(2000));
        assert!(backoff.failed(Millis(7000), &mut rng) <= 200);
    }
}
