//! What a hypothesis pays, item by item: its negative log likelihood and prior, in nats, and what for.

use serde::{Deserialize, Serialize};

use super::weight;

/// What a hypothesis may pay for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Item {
    /// Half-moves that the hypothesis assumes.
    HalfMoves,
    /// Half-moves that nobody pressed for although the clock ran.
    Unpressed,
    /// Presses that came after the opponent's reply.
    LatePress,
    /// A half-move whose piece was read on another square at its press, or another piece on its square.
    Elsewhere,
    /// Presses that no half-move explains.
    EmptyPress,
    /// Differences between the board and the hypothesis that lasted.
    Lasted,
    /// Differences between the board and the hypothesis now.
    Differs,
    /// A press for the last half-move that has not come yet.
    Owed,
    /// A press whose half-move has not been read yet.
    Awaited,
    /// A half-move of which only the lift was read.
    Blind,
    /// A piece that was taken before it was read on its new square.
    TakenAtOnce,
    /// A reply that was read before the half-move it answers.
    Early,
    /// A half-move that was read long after its press.
    Late,
    /// A piece that went from square to square in no time.
    AtOnce,
    /// A promotion to another piece than a queen, where the board does not show that piece.
    Underpromotion,
    /// A half-move of which a board that does not know its pieces felt too little, above all a capture.
    Unfelt,
    /// A square that a piece left although the hypothesis has none there.
    NeverThere,
    /// An act against the Laws.
    Illegal,
    /// A half-move that was found by search after a gap.
    Recovered,
    /// Half-moves of the record that it contradicts.
    Contradicted,
    /// That players put an act right although they might have let it stand.
    PutRight,
    /// That hands moved pieces about and put them back, and nothing was played.
    PutBack,
    /// A piece that is not read, or a square that reads nothing.
    SensorFault,
    /// A half-move of a piece that is not read, of which nothing told.
    Unread,
    /// A piece that fell or was displaced.
    Displaced,
    /// What all hypotheses have paid alike. It is subtracted.
    Shared,
}

/// How many items there are.
const ITEMS: usize = Item::Shared as usize + 1;

impl Item {
    /// All items, each at the index that is its number.
    pub const ALL: [Self; ITEMS] = [
        Self::HalfMoves,
        Self::Unpressed,
        Self::LatePress,
        Self::Elsewhere,
        Self::EmptyPress,
        Self::Lasted,
        Self::Differs,
        Self::Owed,
        Self::Awaited,
        Self::Blind,
        Self::TakenAtOnce,
        Self::Early,
        Self::Late,
        Self::AtOnce,
        Self::Underpromotion,
        Self::Unfelt,
        Self::NeverThere,
        Self::Illegal,
        Self::Recovered,
        Self::Contradicted,
        Self::PutRight,
        Self::PutBack,
        Self::SensorFault,
        Self::Unread,
        Self::Displaced,
        Self::Shared,
    ];

    /// A few words for a reader of `replay --explain`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::HalfMoves => "half-moves",
            Self::Unpressed => "not pressed",
            Self::LatePress => "pressed late",
            Self::Elsewhere => "read otherwise at its press",
            Self::EmptyPress => "press without a half-move",
            Self::Lasted => "differences that lasted",
            Self::Differs => "differences now",
            Self::Owed => "press still owed",
            Self::Awaited => "press awaits its half-move",
            Self::Blind => "only the lift was read",
            Self::TakenAtOnce => "taken before it was read",
            Self::Early => "read before what it answers",
            Self::Late => "read after its press",
            Self::AtOnce => "went in no time",
            Self::Underpromotion => "underpromotion unread",
            Self::Unfelt => "capture not felt",
            Self::NeverThere => "left where it never stood",
            Self::Illegal => "against the Laws",
            Self::Recovered => "found by search",
            Self::Contradicted => "contradicts the record",
            Self::PutRight => "put right",
            Self::PutBack => "moved about and put back",
            Self::SensorFault => "sensor fault",
            Self::Unread => "half-move unread",
            Self::Displaced => "displaced",
            Self::Shared => "shared by all",
        }
    }
}

/// What a hypothesis has paid, in nats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bill {
    paid: [f32; ITEMS],
    total: f32,
}

impl Bill {
    /// A bill with one item.
    #[must_use]
    pub fn of(item: Item, nats: f32) -> Self {
        Self::default().and(item, nats)
    }

    /// A bill for one half-move and nothing else.
    #[must_use]
    pub fn half_move() -> Self {
        Self::of(Item::HalfMoves, weight::PLY)
    }

    /// This bill with `nats` more for `item`.
    #[must_use]
    pub fn and(mut self, item: Item, nats: f32) -> Self {
        self.pay(item, nats);
        self
    }

    /// Adds `nats` for `item`.
    pub fn pay(&mut self, item: Item, nats: f32) {
        self.paid[item as usize] += nats;
        self.total += nats;
    }

    /// What was paid for `item`.
    #[must_use]
    pub fn paid_for(&self, item: Item) -> f32 {
        self.paid[item as usize]
    }

    /// Adds all items of `other`.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.paid.iter_mut().zip(&other.paid) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// The sum, in nats.
    #[must_use]
    pub fn total(&self) -> f32 {
        self.total
    }

    /// The items that do not round to 0.00 nats, the dearest first.
    #[must_use]
    pub fn items(&self) -> Vec<(Item, f32)> {
        let paid = Item::ALL.into_iter().map(|item| (item, self.paid[item as usize]));
        let mut items: Vec<_> = paid.filter(|(_, nats)| nats.abs() > 0.005).collect();
        items.sort_by(|a, b| b.1.total_cmp(&a.1));
        items
    }
}

/// A bill as a snapshot keeps it: the sum, and the items that are not zero.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptBill(f32, Vec<(Item, f32)>);

impl Bill {
    /// This bill as a snapshot keeps it.
    pub(super) fn keep(&self) -> KeptBill {
        let paid = Item::ALL.into_iter().map(|item| (item, self.paid[item as usize]));
        KeptBill(self.total, paid.filter(|(_, nats)| *nats != 0.0).collect())
    }
}

impl KeptBill {
    /// The bill, unless one of its numbers is not finite.
    pub(super) fn restore(&self) -> Result<Bill, String> {
        let mut bill = Bill::default();
        for (item, nats) in &self.1 {
            bill.pay(*item, *nats);
        }
        // The sum depends on the order in which the items were paid, so the snapshot keeps it.
        bill.total = self.0;
        let known = bill.paid.iter().chain([&bill.total]).all(|nats| nats.is_finite());
        known
            .then_some(bill)
            .ok_or_else(|| format!("a hypothesis that has cost {}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_stands_at_the_index_that_is_its_number() {
        for (index, item) in Item::ALL.into_iter().enumerate() {
            assert_eq!(item as usize, index, "{item:?}");
        }
    }

    #[test]
    fn payments_for_one_item_add_up() {
        let mut bill = Bill::half_move().and(Item::Blind, 2.5);
        bill.add(&Bill::of(Item::Blind, 1.0));
        assert_eq!(bill.items(), [(Item::Blind, 3.5), (Item::HalfMoves, weight::PLY)]);
        assert!((bill.total() - weight::PLY - 3.5).abs() < 1e-6);
    }
}
