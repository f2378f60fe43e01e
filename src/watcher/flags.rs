//! Flags that fall, and the half-moves that were made in time.

use shakmaty::Color;

use super::{
    advice::Finding,
    game::{Ctx, Game},
};
use crate::laws::IrregularityKind;

/// A fallen flag is spoken of after this time, and later while half-moves are to be said first.
const FLAG_MS: u64 = 300;
const FLAG_OWED_MS: u64 = 2500;

impl Game {
    /// Flags that have fallen (6.9). Half-moves that were pressed for before go on the record first.
    pub(super) fn look_for_flags(&mut self, ctx: &mut Ctx<'_>) {
        let fallen: Vec<Color> = ctx
            .clock
            .flags()
            .filter(|side| !self.flags[*side as usize])
            .collect();
        for side in fallen {
            let at = *self.flag_seen[side as usize].get_or_insert(ctx.now);
            let best = self.lines.best();
            let owed = best
                .plies
                .iter()
                .skip(self.announced())
                .any(|ply| ply.pressed.is_some());
            if self.result.is_some() || !ctx.passed(at, if owed { FLAG_OWED_MS } else { FLAG_MS }) {
                continue;
            }
            self.flags[side as usize] = true;
            let seen = ctx.sensed.placement().clone();
            let mut finding = Finding::new(self, side, self.plies() + 1, self.stand().clone(), seen);
            finding.kind = IrregularityKind::FlagFall;
            finding.at = at;
            finding.clock = ctx.clock.state();
            self.accuse(ctx, finding, None);
        }
    }
}
