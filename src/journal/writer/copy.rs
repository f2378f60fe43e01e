//! What a restored journal does with events that nobody had acknowledged when its copy was made.

use std::collections::BTreeMap;

use super::{JournalWriter, leave::Leaving};
use crate::journal::{copied::Copied, entry::KnownNumbers};

impl JournalWriter {
    /// Has a restored journal know what it has sent since its copy was made, as far as the broker tells. Where another gateway had the
    /// name, its numbers tell nothing of that.
    pub(super) fn look_at_copy(&mut self, known: &BTreeMap<String, KnownNumbers>) {
        if self.copied.is_empty() {
            return;
        }
        let unsent = self.store.unacknowledged().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot find which events were not acknowledged");
            BTreeMap::new()
        });
        for (board, copied) in self.copied.clone() {
            let told = known.get(&board);
            let of_nobody_else = told.filter(|_| !self.unanswered.contains_key(&board));
            if let Some(sent) = of_nobody_else.and_then(|known| copied.sent_since(known)) {
                let floor = self.floors.entry(board).or_default();
                *floor = sent.max(*floor);
            } else if let Some(first) = unsent.get(&board) {
                self.doubt(board, *first, copied, told);
            }
        }
    }

    /// Nobody knows under which numbers the events of `board` from `first` on were sent since the copy was made, or whether they were.
    fn doubt(&mut self, board: String, first: u64, copied: Copied, told: Option<&KnownNumbers>) {
        let is_of_copy = first <= copied.base;
        let is_explained = told.is_some_and(|known| self.has_what_left(&board, known));
        if !is_of_copy || is_explained {
            return;
        }
        self.unanswered.entry(board).or_insert(first);
        if told.is_none_or(|known| !known.is_above(0)) {
            self.leave(Leaving::Copied);
        }
    }
}
