//! What a daemon that is killed now and then hears of an offence.

use dgt2mqtt::{
    capture::{Act, Capture},
    event::Event,
    time::Millis,
    watcher::Heard,
};

use crate::{
    play::Fixture,
    restarts::presses,
    said::{Said, said},
};

/// A time in which a daemon hears nothing, or keeps nothing of what it hears.
pub(crate) type Deaf = (Millis, Millis);

/// A daemon that is killed at `killed` hears nothing until `back`. What it heard last is not on disk.
pub(crate) fn deaf(killed: Millis, back: Millis) -> Deaf {
    (Millis(killed.0.saturating_sub(Heard::UPDATES_MS)), back)
}

/// The same of a daemon that is killed, or told to end: then it keeps all that it heard.
pub(crate) fn deaf_where(kills: bool, at: Millis, back: Millis) -> Deaf {
    if kills { deaf(at, back) } else { (at, back) }
}

/// When the board has told the daemon of `heard` which pieces stand where, at `back` or later.
pub(crate) fn is_read(heard: &Capture, back: Millis) -> Option<Millis> {
    let mut records = heard.records.iter();
    let dump = |act: &Act| matches!(act, Act::FromBoard(bytes) if bytes.first() == Some(&0x86));
    let read = records.find(|record| back <= record.at && dump(&record.act));
    read.map(|record| record.at)
}

/// Until when a daemon listens that has heard all of an offence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// It was said, where nobody is struck.
    Said,
    /// It was done, and so told to a daemon that forgets nothing.
    Done,
}

/// The offences of which a daemon that is `deaf` now and then heard all, and which `got` neither says nor suspects.
pub(crate) fn heard_and_untold(fixture: &Fixture, got: &[Event], deaf: &[Deaf], until: Until) -> Vec<String> {
    let got = said(got);
    let is_untold = |offence: &Said| {
        let is_sure = !offence.is_suspicion() && !offence.is_withdrawn;
        is_sure
            && is_heard(&fixture.capture, offence, deaf, until)
            && !got.iter().any(|one| one.tells_of(offence))
    };
    let offences = said(&fixture.whole().events).into_iter();
    let named = |offence: Said| {
        let (kind, ply) = (offence.what.kind.as_str(), offence.what.ply);
        format!("{}, {deaf:?}: {kind}@{ply}", fixture.name)
    };
    offences.filter(is_untold).map(named).collect()
}

/// True where the daemon listened from the press before `offence`.
pub(crate) fn is_heard(capture: &Capture, offence: &Said, deaf: &[Deaf], until: Until) -> bool {
    let earlier = presses(capture).into_iter().rfind(|at| at.0 < offence.at);
    let from = earlier.unwrap_or(Millis(0));
    let until = match until {
        Until::Said => offence.said,
        Until::Done => offence.at,
    };
    deaf.iter().all(|(gone, back)| *back < from || until < gone.0)
}
