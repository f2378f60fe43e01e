//! What was said of irregularities, and whether the same was said otherwise.

use dgt2mqtt::{
    event::{Body, Certainty, Event, Irregularity, Resolution},
    laws::IrregularityKind,
};

/// An irregularity that was said.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) what: Box<Irregularity>,
    /// When it was done.
    pub(crate) at: u64,
    /// When it was said.
    pub(crate) said: u64,
    /// It was withdrawn.
    pub(crate) is_withdrawn: bool,
}

impl Said {
    pub(crate) fn is_suspicion(&self) -> bool {
        self.what.certainty == Certainty::Suspected
    }

    /// True where it is a suspicion, and nothing `told` is of the same.
    pub(crate) fn is_besides(&self, told: &[Self]) -> bool {
        self.is_suspicion() && !told.iter().any(|it| self.tells_of(it))
    }

    /// True when `other` tells of the same: also of the same pieces otherwise, of a part of what a player did at once, and of a
    /// flag after another half-move.
    pub(crate) fn tells_of(&self, other: &Self) -> bool {
        let (a, b) = (&self.what, &other.what);
        let same = a.kind == b.kind && a.offender == b.offender;
        let flag = matches!(a.kind, IrregularityKind::FlagFall | IrregularityKind::BothFlags);
        let within = !a.squares.is_empty() && a.squares.iter().all(|square| b.squares.contains(square));
        let part = within && a.offender == b.offender && a.ply.abs_diff(b.ply) <= 1;
        same && (a.ply == b.ply || flag) || part
    }
}

/// What was said of irregularities.
pub(crate) fn said(events: &[Event]) -> Vec<Said> {
    let withdrawn = |id: &str| {
        events.iter().any(|event| {
            matches!(&event.body, Body::IrregularityResolved { irregularity, how: Resolution::Superseded } if irregularity == id)
        })
    };
    let of = |event: &Event| match &event.body {
        Body::Irregularity(what) => Some(Said {
            what: what.clone(),
            at: (event.at.unwrap_or(event.t) * 1000.0).round() as u64,
            said: (event.t * 1000.0).round() as u64,
            is_withdrawn: withdrawn(&event.id),
        }),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// The accusations of `got` that `whole` does not make, where nothing befell the daemon or its line: each of those excuses one.
/// Where `suspicions` excuse, too, `whole` need only suspect the same.
pub(crate) fn accused_besides(got: &[Event], whole: &[Event], suspicions: bool) -> Vec<String> {
    let mut left = said(whole);
    left.retain(|it| suspicions || !it.is_suspicion());
    let mut besides = said(got);
    besides.retain(|one| !one.is_suspicion());
    besides.retain(|one| {
        let told = left.iter().position(|it| one.tells_of(it));
        told.map(|place| left.remove(place)).is_none()
    });
    let named = besides.iter().map(|one| {
        let Irregularity {
            kind, offender, ply, ..
        } = &*one.what;
        format!("{} of {offender:?} at {ply}", kind.as_str())
    });
    named.collect()
}
