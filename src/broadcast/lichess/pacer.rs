//! The pace of the calls. lichess counts those of one token together, whichever round they are for.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex, MutexGuard},
    time::{Instant, sleep_until},
};

use crate::config::{Lichess, Secret};

/// The shortest pause between two calls: moves within it go together, and the server is spared.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest pause to which refusals lead. Viewers hardly notice it.
const LONGEST: Duration = Duration::from_secs(16);
/// What the pause shrinks to at each call that is answered. It shrinks slowly, because who was refused once shares the
/// token.
const SHRINKS: f64 = 0.99;

/// The pacers of a process, one for each server and token.
#[derive(Clone, Debug, Default)]
pub struct Pacers(Arc<std::sync::Mutex<Vec<Pacer>>>);

impl Pacers {
    /// The pacer for the server and the token of `settings`. The server counts on when a broadcast begins anew, so a pacer
    /// stays.
    #[must_use]
    pub fn of(&self, settings: &Lichess) -> Pacer {
        let mut pacers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = pacers.iter().find(|pacer| pacer.is_for(settings)) {
            return known.clone();
        }
        let pacer = Pacer::new(settings);
        pacers.push(pacer.clone());
        pacer
    }
}

/// The turns of those who call one server with one token. Clones share them.
#[derive(Clone, Debug)]
pub struct Pacer {
    server: String,
    token: Secret,
    next_call: Arc<Mutex<NextCall>>,
}

impl Pacer {
    /// A pacer for the server and the token of `settings`.
    #[must_use]
    pub fn new(settings: &Lichess) -> Self {
        Self {
            server: settings.server.clone(),
            token: settings.token.clone(),
            next_call: Arc::default(),
        }
    }

    /// True where it is the pacer for the server and the token of `settings`.
    fn is_for(&self, settings: &Lichess) -> bool {
        self.server == settings.server && self.token == settings.token
    }

    /// Waits for a turn, in the order of those who wait. The turn lasts until the guard is dropped.
    pub(super) async fn turn(&self) -> MutexGuard<'_, NextCall> {
        let mut call = self.next_call.lock().await;
        if let Some(at) = call.at {
            sleep_until(at).await;
        }
        // This holds also where the call is given up before it is answered.
        call.at = Some(Instant::now() + SHORTEST);
        call
    }

    /// Waits until a turn would begin, without taking it.
    pub(super) async fn rested(&self) {
        let at = self.next_call.lock().await.at;
        if let Some(at) = at {
            sleep_until(at).await;
        }
    }
}

/// When the next turn begins.
#[derive(Debug, Default)]
pub(super) struct NextCall {
    at: Option<Instant>,
    pace: Pace,
}

impl NextCall {
    /// Takes note that the call was answered. `peace` is how long the server asks everybody with the token to wait.
    pub(super) fn answered(&mut self, peace: Option<Duration>) {
        let rest = match peace {
            Some(peace) => self.pace.refused(peace),
            None => self.pace.taken(),
        };
        self.at = Some(Instant::now() + rest);
    }
}

/// How long the pauses are.
///
/// Other processes may call with the same token, and nothing tells of them but refusals. Without more, the process that
/// was taken last would call again and again, and the others would meet it once a minute, when their peace is over. So
/// a pause has a length by chance, which leaves gaps, and doubles at a refusal.
#[derive(Debug)]
struct Pace {
    pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { pause: SHORTEST }
    }
}

impl Pace {
    /// The pause after a call that was taken.
    fn taken(&mut self) -> Duration {
        self.pause = self.pause.mul_f64(SHRINKS).max(SHORTEST);
        self.pause.mul_f64(1.0 + fastrand::f64())
    }

    /// The pause after a call for which there were too many others. Those who were refused together do not come back
    /// together.
    fn refused(&mut self, peace: Duration) -> Duration {
        self.pause = (self.pause * 2).min(LONGEST);
        peace + self.pause.mul_f64(fastrand::f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest time in seconds that one of so many processes has nothing taken in an hour, where each has always
    /// something to send and the server takes one call a second.
    fn longest_silence(processes: usize, seed: u64) -> f64 {
        fastrand::seed(seed);
        let mut paces: Vec<Pace> = (0..processes).map(|_| Pace::default()).collect();
        let mut next = vec![0.0_f64; processes];
        let (mut last, mut taken, mut longest) = (-1.0, vec![0.0; processes], 0.0_f64);
        while let Some((who, at)) = (0..processes)
            .map(|who| (who, next[who]))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, at)| *at < 3_600.0)
        {
            let pause = if at - last >= 1.0 {
                (last, longest, taken[who]) = (at, longest.max(at - taken[who]), at);
                paces[who].taken()
            } else {
                paces[who].refused(Duration::from_secs(60))
            };
            next[who] = at + 0.1 + pause.as_secs_f64();
        }
        taken
            .iter()
            .fold(longest, |longest, taken| longest.max(3_600.0 - taken))
    }

    #[test]
    fn processes_with_one_token_do_not_starve_each_other() {
        // With pauses of always one length it would be half an hour.
        for processes in [4, 8] {
            for seed in 0..20 {
                let silence = longest_silence(processes, seed);
                assert!(silence < 600.0, "{processes} processes: {silence:.0} s ({seed})");
            }
        }
    }

    #[test]
    fn who_is_alone_calls_as_often_as_ever_some_time_after_a_refusal() {
        let mut pace = Pace::default();
        assert!(pace.refused(Duration::from_secs(60)) >= Duration::from_secs(60));
        let pauses: Vec<_> = (0..100).map(|_| pace.taken()).collect();
        assert!(pauses[0] > Duration::from_millis(1_900), "{:?}", pauses[0]);
        let limits = SHORTEST..SHORTEST * 2;
        assert!(limits.contains(&pauses[99]), "{:?}", pauses[99]);
    }
}
