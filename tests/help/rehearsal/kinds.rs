//! The kinds of games that are made up, and what goes wrong in each.

use dgt2mqtt::sim::mess::{self, Fault, FaultRates, SimulatedGame};
use fastrand::Rng;

/// What hands, and clocks, do in every game that is not tidy.
const USUAL_HANDS: &str = "drag=0.12,swept=0.1,place-first=0.05,early-press=0.05,overlap=0.03,adjust=0.02,\
                           stale-frame=0.03,second-thoughts=0.005";

/// A row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) fault: Option<Fault>,
    /// Several at once, other ones in each game.
    mixed: bool,
    /// The board hangs on a line with eleven others.
    pub(crate) on_line: bool,
}

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Kind> {
    let one = |name: &str, fault, mixed| Kind {
        name: name.to_owned(),
        fault,
        mixed,
        on_line: false,
    };
    let mut kinds = vec![one("tidy", None, false)];
    kinds.push(Kind {
        on_line: true,
        ..one("line", None, false)
    });
    kinds.extend(Fault::all().map(|fault| one(fault.name(), Some(fault), false)));
    kinds.push(one("three at once", None, true));
    kinds.push(one("everything", None, true));
    kinds
}

/// Those rows of the table only.
pub(crate) fn chosen(names: &str) -> Result<Vec<Kind>, String> {
    let all = all();
    let named = names.split(',').map(str::trim).map(|name| {
        let kind = all.iter().find(|kind| kind.name == name);
        kind.cloned().ok_or_else(|| format!("there is no kind {name:?}"))
    });
    named.collect()
}

impl Kind {
    /// The game of this seed, another one for each kind, and what goes wrong in it.
    pub(crate) fn game(&self, seed: u64) -> (FaultRates, SimulatedGame) {
        let own = self
            .name
            .bytes()
            .fold(seed, |own, byte| own.wrapping_mul(31).wrapping_add(byte.into()));
        let faults = faults(self, own);
        let game = mess::play(&faults, own);
        (faults, game)
    }
}

/// Faults that happen alone. What a line that gathers does to all other faults at once is measured in
/// `docs/recognition-figures.md`, and is not good enough to be promised.
const ALONE: [Fault; 1] = [Fault::Gathered];

/// What may go wrong together with other things.
fn may_meet(fault: Fault) -> bool {
    !fault.is_offence() && !ALONE.contains(&fault)
}

/// What goes wrong in the game of this seed.
fn faults(kind: &Kind, seed: u64) -> FaultRates {
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let tidy = kind.fault.is_none() && !kind.mixed && !kind.on_line;
    let mut faults = if tidy {
        FaultRates::default()
    } else {
        USUAL_HANDS.parse().unwrap()
    };
    if kind.name == "everything" {
        for fault in Fault::all().filter(|fault| may_meet(*fault)) {
            faults = faults.with_chance(fault, fault.usual() * 0.3);
        }
    } else if kind.mixed {
        let honest: Vec<Fault> = Fault::all().filter(|fault| may_meet(*fault)).collect();
        for fault in rng.choose_multiple(honest, 3) {
            faults = faults.with_chance(
                fault,
                if fault.is_broken_hardware() {
                    fault.usual() * 0.3
                } else if fault.usual() < 1.0 {
                    fault.usual() / 2.0
                } else {
                    1.0
                },
            );
        }
        let offences: Vec<Fault> = Fault::all().filter(|fault| fault.is_offence()).collect();
        if rng.u8(0..3) == 0
            && let Some(&fault) = rng.choice(&offences)
        {
            faults = faults.with(fault);
        }
    }
    if let Some(fault) = kind.fault {
        faults = faults.with(fault);
    }
    // Each kind at each tempo.
    let tempo = [Fault::Rapid, Fault::Blitz, Fault::Bullet];
    if kind.fault.is_some_and(|fault| !tempo.contains(&fault)) {
        faults = match rng.u8(0..4) {
            0 => faults.with(Fault::Rapid),
            1 => faults.with(Fault::Blitz),
            _ => faults,
        };
    }
    faults
}
