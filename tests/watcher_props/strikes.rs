//! A daemon that is struck again and again while a game is played, and what it misses then.

use dgt2mqtt::{capture::Capture, event::Event};
use fastrand::Rng;

use crate::{
    heard::{Deaf, Until, heard_and_untold, is_heard},
    late::is_full,
    offences::OFFENCES,
    play::{Fixture, fixtures, recorded},
    said::said,
};

/// The daemon listens when the game begins.
pub(crate) const LEAD: u64 = 5000;
/// When the daemon is struck, in milliseconds: first so long after the game begins, and every so often from there. It is away for a
/// while each time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strikes {
    pub(crate) first: u64,
    pub(crate) every: u64,
    pub(crate) away: u64,
}

impl Strikes {
    /// Every few seconds. The next daemon comes at once, or on a machine that has much to do.
    pub(crate) fn often(random: &mut Rng, most_away: u64) -> Self {
        let every = random.u64(2000..5000);
        Self {
            first: random.u64(..every),
            every,
            away: random.u64(200..most_away),
        }
    }

    /// Once in the game. The next daemon comes when somebody has started it.
    pub(crate) fn once(random: &mut Rng, capture: &Capture) -> Self {
        let end = capture.end().0;
        Self {
            first: random.u64(..end),
            every: 2 * end,
            away: random.u64(2000..60_000),
        }
    }

    /// The times of the strikes in a game that ends at `end`.
    pub(crate) fn times(self, end: u64) -> impl Iterator<Item = u64> {
        (LEAD + self.first..end).step_by(self.every as usize)
    }
}

/// What comes of a capture.
pub(crate) struct Struck {
    pub(crate) events: Vec<Event>,
    /// When the daemon heard nothing, in the time of the capture.
    pub(crate) deaf: Vec<Deaf>,
    /// Until when it listens where it has heard all of an offence.
    pub(crate) until: Until,
}

/// The capture, with time before it for the daemon to come.
pub(crate) fn led_in(capture: &Capture) -> Capture {
    let mut capture = capture.clone();
    for record in &mut capture.records {
        record.at = record.at + LEAD;
    }
    capture
}

/// The fixtures whose line has no other trouble, each `step` of them.
pub(crate) fn without_other_trouble(step: usize, seed: u64) -> impl Iterator<Item = &'static Fixture> {
    let fixtures = fixtures().iter().filter(|f| !f.name.starts_with("gathered"));
    fixtures.skip(seed as usize % step).step_by(step)
}

/// Of the offences, 120 or in full 2,400, no more than the first of `most`, or in full the second, are neither said nor suspected
/// where `struck` plays the game, and none that was heard.
pub(crate) fn are_said(most: [usize; 2], struck: impl Fn(&mut Rng, &Capture) -> (String, Struck)) {
    let mut random = Rng::with_seed(1);
    let (mut offences, mut heard) = (0, 0);
    let (mut missed, mut untold) = (Vec::new(), Vec::new());
    for name in OFFENCES {
        let fixture = recorded(name);
        for _ in 0..if is_full() { 400 } else { 20 } {
            let (strikes, Struck { events, deaf, until }) = struck(&mut random, &fixture.capture);
            let got = said(&events);
            untold.extend(heard_and_untold(&fixture, &events, &deaf, until));
            for offence in said(&fixture.whole().events) {
                offences += 1;
                heard += usize::from(is_heard(&fixture.capture, &offence, &deaf, until));
                if !got.iter().any(|one| one.tells_of(&offence)) {
                    missed.push(format!("{name}, {strikes}"));
                }
            }
        }
    }
    println!(
        "{} of {offences} offences neither said nor suspected, {} of {heard} that were heard",
        missed.len(),
        untold.len()
    );
    assert!(untold.is_empty(), "{}", untold.join("\n"));
    let most = most[usize::from(is_full())];
    assert!(missed.len() <= most, "{}", missed.join("\n"));
}
