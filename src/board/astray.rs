//! The position as it stands: pieces were displaced or fell, nobody has put them back, and the player who is to move may play on from
//! there.

use shakmaty::{Role, Square};

use super::{
    bill::Item,
    line::Line,
    placement::{Code, Placement},
    sensed::Sensed,
    sleeve::LIES_MS,
    stand::targets,
    weight,
};
use crate::time::Millis;

/// A displaced piece that has stood for so long was not put back at once.
const STOOD_MS: u64 = 1500;
/// A piece that was read nowhere for so long is in no hand of the player whose turn began meanwhile.
const GONE_MS: u64 = 1500;
/// Pieces that left their squares within this time were knocked over together.
const TOGETHER_MS: u64 = 600;
/// So many pieces that leave their squares together are in no hand.
const KNOCKED_OVER: usize = 4;
/// If more pieces are astray, somebody sets up another position, or the board is not read well.
const MOST_ASTRAY: usize = 3;

/// What stands on the board as a turn begins.
pub(super) struct WhatStands {
    pub(super) placement: Placement,
    /// What it costs that it stands so, besides what has been paid for that already.
    pub(super) price: f32,
}

/// A square that does not show what belongs there.
struct Apart {
    square: Square,
    /// Since when it has not.
    since: Millis,
    /// For how long.
    lasted: u64,
}

/// What stands on the board as the player to move in `line` begins, where that is not what the line has: pieces stand elsewhere, or are
/// read nowhere, and have been since before his turn began. What was set up until `seen_to` counts as from before.
pub(super) fn standing(line: &Line, sensed: &Sensed, seen_to: Millis, now: Millis) -> Option<WhatStands> {
    let belongs = line.placement();
    let last = line.plies.last()?;
    let began = (last.pressed.unwrap_or(last.at) + LIES_MS).max(seen_to).min(now);
    let put_up = put_up_again(belongs, sensed, began, now);
    let (began, seen_to) = (put_up.unwrap_or(began), put_up.unwrap_or(seen_to));
    let (mut homes, mut strangers) = (Vec::new(), Vec::new());
    for square in belongs.differing(sensed.placement()) | sensed.changed_since(began) {
        let (code, since, until) = sensed.shown_at(square, began)?;
        if code == belongs.at(square) {
            continue;
        }
        let lasted = until.unwrap_or(now).since(since);
        if !code.is_empty() {
            if !code.is_piece() || lasted < STOOD_MS {
                return None;
            }
            strangers.push((square, code));
        }
        if !belongs.at(square).is_empty() {
            homes.push(Apart {
                square,
                since,
                lasted,
            });
        }
    }
    let mut placement = belongs.clone();
    let mut astray = strangers.len();
    let mut price = 0.0;
    for (lies, code) in &strangers {
        let displaced = homes.iter().position(|home| belongs.at(home.square) == *code)?;
        let home = homes.swap_remove(displaced);
        placement.set(home.square, Code::EMPTY);
        if home.since > seen_to {
            price += price_of_displaced(line, &home, *lies);
        }
    }
    for home in homes {
        let code = belongs.at(home.square);
        let is_king = code.piece().is_some_and(|piece| piece.role == Role::King);
        let has_left = sensed
            .left_at(home.square, code)
            .is_some_and(|left| left > seen_to);
        if home.lasted >= GONE_MS && !is_king && has_left {
            placement.set(home.square, Code::EMPTY);
            price += price_of_fallen(line, sensed, &home);
            astray += 1;
        }
    }
    for (lies, code) in strangers {
        placement.set(lies, code);
    }
    (1..=MOST_ASTRAY)
        .contains(&astray)
        .then_some(WhatStands { placement, price })
}

/// What is left to pay of `price` in `line`, where `each` has been paid for as long as it lasted, or a fall that is given up by now.
fn rest_of(line: &Line, price: f32, each: f32, lasted: u64) -> f32 {
    let paid = each * weight::LASTING_RATE * lasted.min(weight::LASTING_MS) as f32 / 1000.0;
    let for_fall = line.bill.paid_for(Item::Displaced).max(0.0);
    (price - paid - for_fall).max(0.0)
}

/// What `line` still pays where the piece of `home` was displaced to `lies`. A piece that lies where its own way leads it was rather moved
/// there.
fn price_of_displaced(line: &Line, home: &Apart, lies: Square) -> f32 {
    if is_known(line, home.square) {
        return 0.0;
    }
    let way = |piece| targets(line.stand.board(), home.square, piece).contains(lies);
    let is_on_its_way = line.placement().at(home.square).piece().is_some_and(way);
    let price = if is_on_its_way {
        weight::CARRIED
    } else {
        weight::DISPLACED
    };
    rest_of(line, price, weight::MISSING + weight::EXTRA, home.lasted)
}

/// What `line` still pays where the piece of `home` fell. Where some pieces are not read, one more of them has rather not fallen.
fn price_of_fallen(line: &Line, sensed: &Sensed, home: &Apart) -> f32 {
    if is_known(line, home.square) {
        return 0.0;
    }
    let faulty = line.faults.hidden | line.faults.silent | sensed.dead();
    let price = if faulty.any() {
        weight::FELL_THEIRS
    } else {
        weight::FELL_OWN
    };
    rest_of(line, price, weight::MISSING, home.lasted)
}

/// True when `line` has paid for the fall of the piece that belongs on `home`.
fn is_known(line: &Line, home: Square) -> bool {
    line.faults.fall.is_some_and(|fall| fall.homes().contains(home))
}

/// When the last of the pieces was put up again that were knocked over since the turn `began`, if so many were that no hand has lifted
/// them: whoever is to move goes on from there.
fn put_up_again(belongs: &Placement, sensed: &Sensed, began: Millis, now: Millis) -> Option<Millis> {
    let changed = sensed.changed_since(began);
    let mut left: Vec<Millis> = (changed & belongs.occupied())
        .into_iter()
        .filter_map(|square| sensed.left_at(square, belongs.at(square)))
        .filter(|left| *left >= began)
        .collect();
    left.sort_unstable();
    let mut together = left.windows(KNOCKED_OVER);
    let knocked = together.any(|few| few[KNOCKED_OVER - 1].since(few[0]) <= TOGETHER_MS);
    let stood_since = |square: Square| sensed.stood_last(square, began, now, STOOD_MS);
    changed
        .into_iter()
        .filter_map(stood_since)
        .max()
        .filter(|_| knocked)
}
