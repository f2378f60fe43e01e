//! The kinds of games that are made up, and what goes wrong in each.

use fastrand::Rng;

use crate::sim::mess::{self, Fault, FaultRates, SimulatedGame};

/// What hands and clocks do in every game that is not tidy.
fn usual_hands() -> FaultRates {
    const USUAL: [(Fault, f64); 8] = [
        (Fault::Drag, 0.12),
        (Fault::Swept, 0.1),
        (Fault::PlaceFirst, 0.05),
        (Fault::EarlyPress, 0.05),
        (Fault::Overlap, 0.03),
        (Fault::Adjust, 0.02),
        (Fault::StaleFrame, 0.03),
        (Fault::SecondThoughts, 0.005),
    ];
    let rates = USUAL.into_iter();
    rates.fold(FaultRates::default(), |rates, (fault, chance)| {
        rates.with_chance(fault, chance)
    })
}

/// A kind of games: a row of the table of figures.
#[derive(Clone, Debug)]
pub struct GameKind {
    /// The name of the kind.
    pub name: String,
    /// The one thing that goes wrong.
    pub fault: Option<Fault>,
    /// Several things go wrong, and in each game other ones.
    mixed: bool,
    /// The board is on a line with eleven others.
    pub on_line: bool,
}

/// All kinds, in the order of the table.
pub fn all() -> Vec<GameKind> {
    let one = |name: &str, fault, mixed| GameKind {
        name: name.to_owned(),
        fault,
        mixed,
        on_line: false,
    };
    let mut kinds = vec![one("tidy", None, false)];
    kinds.push(GameKind {
        on_line: true,
        ..one("line", None, false)
    });
    kinds.extend(Fault::all().map(|fault| one(fault.name(), Some(fault), false)));
    kinds.push(one("three at once", None, true));
    kinds.push(one("everything", None, true));
    kinds
}

/// The kinds of these names, which commas separate.
///
/// # Errors
/// A name that no kind has.
pub fn chosen(names: &str) -> Result<Vec<GameKind>, String> {
    let all = all();
    let named = names.split(',').map(str::trim).map(|name| {
        let kind = all.iter().find(|kind| kind.name == name);
        kind.cloned().ok_or_else(|| format!("there is no kind {name:?}"))
    });
    named.collect()
}

impl GameKind {
    /// The game of this seed, and what goes wrong in it. The same seed gives each kind another game.
    pub fn game(&self, seed: u64) -> (FaultRates, SimulatedGame) {
        let own = self
            .name
            .bytes()
            .fold(seed, |own, byte| own.wrapping_mul(31).wrapping_add(byte.into()));
        let faults = faults(self, own);
        let game = mess::play(&faults, own);
        (faults, game)
    }
}

/// Faults that do not happen together with others. `docs/recognition-figures.md` has what the watcher makes
/// of a line that gathers together with all other faults. That is not good enough to be promised. Where a piece of the initial position is
/// misread, or not read, beside one with a wrong chip, nobody knows which is which.
const ALONE: [Fault; 2] = [Fault::Gathered, Fault::WrongChip];

/// Whether a fault may happen together with others.
fn may_meet(fault: Fault) -> bool {
    !fault.is_offence() && !ALONE.contains(&fault)
}

/// What goes wrong in the game of this seed.
fn faults(kind: &GameKind, seed: u64) -> FaultRates {
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let tidy = kind.fault.is_none() && !kind.mixed && !kind.on_line;
    let mut faults = if tidy {
        FaultRates::default()
    } else {
        usual_hands()
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
    // Games of each kind are played at several tempos.
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
