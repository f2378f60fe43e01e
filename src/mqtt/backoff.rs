//! Waiting longer after each failure, never in step with others.

use std::time::Duration;

/// Doubling delays with jitter.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// Delays from about `first` up to about `longest`.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            next: first,
        }
    }

    /// The next delay: between half and one and a half of a step that doubles each time.
    pub fn delay(&mut self) -> Duration {
        let step = self.next;
        self.next = (step * 2).min(self.longest);
        step.mul_f64(0.5 + fastrand::f64())
    }

    /// It worked: start over.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_start_over() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(1));
        let mut backoff = Backoff::new(first, longest);
        for step in [100, 200, 400, 800, 1000, 1000] {
            let delay = backoff.delay().as_millis();
            assert!((step / 2..=step * 3 / 2).contains(&delay), "{delay} for {step}");
        }
        backoff.reset();
        assert!(backoff.delay() <= first.mul_f64(1.5));
    }
}
