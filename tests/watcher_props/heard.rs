//! What a daemon that is killed now and then hears of an offence.

use dgt2mqtt::{capture::Capture, event::Event, time::Millis, watcher::Heard};

use crate::{
    play::Fixture,
    restarts::{AWAY_MS, presses},
    said::{Said, said},
};

/// The offences of which a daemon that is killed at `moments` heard all, and which `got` neither says nor suspects.
pub(crate) fn heard_and_untold(fixture: &Fixture, got: &[Event], moments: &[Millis]) -> Vec<String> {
    let got = said(got);
    let is_untold = |offence: &Said| {
        let is_sure = !offence.is_suspicion() && !offence.is_withdrawn;
        is_sure
            && is_heard(&fixture.capture, offence, moments)
            && !got.iter().any(|one| one.tells_of(offence))
    };
    let offences = said(&fixture.whole().events).into_iter();
    let named = |offence: Said| {
        let (kind, ply) = (offence.what.kind.as_str(), offence.what.ply);
        format!("{}, {moments:?}: {kind}@{ply}", fixture.name)
    };
    offences.filter(is_untold).map(named).collect()
}

/// True where the daemon listened from the press before `offence` until it says so where nobody is killed. What was heard last before a
/// kill is not on disk.
fn is_heard(capture: &Capture, offence: &Said, moments: &[Millis]) -> bool {
    let earlier = presses(capture).into_iter().rfind(|at| at.0 < offence.at);
    let from = earlier.map_or(0, |at| at.0);
    moments.iter().all(|killed| {
        let (gone, back) = (killed.0.saturating_sub(Heard::UPDATES_MS), killed.0 + AWAY_MS);
        back < from || offence.said < gone
    })
}
