//! Tells of events that neither disk nor memory took, by a notice of their board as soon as one can be kept.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::config::Id;

/// One board's lost events.
#[derive(Debug)]
struct Lost {
    /// The `seq` of the first and of the last lost event.
    first: u64,
    last: u64,
    /// True while the notice is on its way to the journal.
    is_told: bool,
}

/// The lost events of all boards. A board's task may end before it can tell of them, and the next one tells it.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses(Arc<Mutex<BTreeMap<Id, Lost>>>);

impl Losses {
    /// Takes note that a task of `board` begins. A notice that the former task had on its way may have ended with it.
    pub(super) fn begin(&self, board: &Id) {
        if let Some(lost) = self.lock().get_mut(board) {
            lost.is_told = false;
        }
    }

    /// Notes that the journal refused events of `board` from the first `seq` to the last. Our notice may be among them.
    pub(super) fn refused(&self, board: &Id, seqs: Option<(u64, u64)>) {
        if let Some((first, last)) = seqs {
            let mut boards = self.lock();
            let first = boards.get(board).map_or(first, |lost| lost.first);
            let lost = Lost {
                first,
                last,
                is_told: false,
            };
            boards.insert(board.clone(), lost);
        }
    }

    /// Takes note that the journal writes events of `board` to the disk again. Returns the words of the notice, if one is due.
    pub(super) fn written(&self, board: &Id) -> Option<String> {
        let mut boards = self.lock();
        let lost = boards.get_mut(board)?;
        if std::mem::replace(&mut lost.is_told, true) {
            boards.remove(board);
            return None;
        }
        let Lost { first, last, .. } = lost;
        Some(format!(
            "the disk was full, and so was memory: events between {first} and {last} are lost; the game goes on from what stands on the board"
        ))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Id, Lost>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_said_once_it_can_be_kept() {
        let (losses, board) = (Losses::default(), "7".parse().unwrap());
        assert_eq!(losses.written(&board), None);
        losses.refused(&board, Some((5, 7)));
        losses.refused(&board, Some((8, 8)));
        losses.refused(&board, None);
        let said = losses.written(&board).unwrap();
        assert!(said.contains("between 5 and 8"), "{said}");
        assert_eq!(losses.written(&board), None, "said once");
        assert_eq!(losses.written(&board), None);
        losses.refused(&board, Some((20, 20)));
        assert!(losses.written(&board).is_some());
        // The notice, number 21, was lost as well.
        losses.refused(&board, Some((21, 22)));
        assert!(losses.written(&board).unwrap().contains("between 20 and 22"));
    }
}
