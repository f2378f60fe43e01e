//! What the fit is asked to do.

use dgt2mqtt::sim::rehearsal::kinds::{self, GameKind};

/// Seeds from here on never enter the fit.
pub(crate) const HELD_FROM: u64 = 600_001;

/// How to run it.
pub(crate) const HELP: &str = "\
cargo run --release --example fit -- [OPTION VALUE]...

  --games N      games of each kind, three times over: fitted, held-out seeds, held-out kinds (20)
  --seed N       first seed of the fitted games, below 600001 (1)
  --held-seed N  first seed of the held-out games, 600001 or above (600001)
  --hold KINDS   kinds that never enter the fit (everything,bullet,dead-squares,fallen)
  --tether N     how strongly each factor is held to 1, in moments (25)";

/// The choices of one run.
pub(crate) struct Options {
    pub(crate) games: usize,
    pub(crate) seed: u64,
    pub(crate) held_seed: u64,
    pub(crate) hold: String,
    pub(crate) tether: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            games: 20,
            seed: 1,
            held_seed: HELD_FROM,
            hold: "everything,bullet,dead-squares,fallen".to_owned(),
            tether: 25.0,
        }
    }
}

impl Options {
    /// Those of a command line; none where help is asked for.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self::default();
        while let Some(name) = words.next() {
            if name == "--help" || name == "-h" {
                return Ok(None);
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{name} needs a value; --help tells more"))?;
            let no_number = || format!("{name} is a number, not {value:?}");
            match name.as_str() {
                "--games" => options.games = value.parse().map_err(|_| no_number())?,
                "--seed" => options.seed = value.parse().map_err(|_| no_number())?,
                "--held-seed" => options.held_seed = value.parse().map_err(|_| no_number())?,
                "--tether" => options.tether = value.parse().map_err(|_| no_number())?,
                "--hold" => options.hold = value,
                _ => return Err(format!("there is no option {name}; --help tells which there are")),
            }
        }
        if options.seed + options.games as u64 > HELD_FROM || options.held_seed < HELD_FROM {
            return Err(format!("seeds from {HELD_FROM} on are held out, and only those"));
        }
        Ok(Some(options))
    }

    /// The kinds that are held out, and the others.
    pub(crate) fn kinds(&self) -> Result<(Vec<GameKind>, Vec<GameKind>), String> {
        let held = kinds::chosen(&self.hold)?;
        let is_held = |kind: &GameKind| held.iter().any(|other| other.name == kind.name);
        let open = kinds::all().into_iter().filter(|kind| !is_held(kind)).collect();
        Ok((held, open))
    }
}
