//! Tells of events that neither disk nor memory took, by a notice of their board as soon as one can be kept.

/// One board's lost events.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The `seq` of the first and of the last lost event.
    lost: Option<(u64, u64)>,
    /// True while the notice is on its way to the journal.
    is_told: bool,
}

impl Losses {
    /// Notes that the journal refused the events from the first `seq` to the last. Our notice may be among them.
    pub(super) fn refused(&mut self, seqs: Option<(u64, u64)>) {
        self.is_told = false;
        if let Some((first, last)) = seqs {
            self.lost = Some((self.lost.map_or(first, |(first, _)| first), last));
        }
    }

    /// Takes note that the journal writes to the disk again. Returns the words of the notice, if one is due.
    pub(super) fn written(&mut self) -> Option<String> {
        if self.is_told {
            *self = Self::default();
        }
        let (first, last) = self.lost?;
        self.is_told = true;
        Some(format!(
            "the disk was full, and so was memory: events between {first} and {last} are lost; the game goes on from what stands on the board"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_said_once_it_can_be_kept() {
        let mut losses = Losses::default();
        assert_eq!(losses.written(), None);
        losses.refused(Some((5, 7)));
        losses.refused(Some((8, 8)));
        losses.refused(None);
        let said = losses.written().unwrap();
        assert!(said.contains("between 5 and 8"), "{said}");
        assert_eq!(losses.written(), None, "said once");
        assert_eq!(losses.written(), None);
        losses.refused(Some((20, 20)));
        assert!(losses.written().is_some());
        // The notice, number 21, was lost as well.
        losses.refused(Some((21, 22)));
        assert!(losses.written().unwrap().contains("between 20 and 22"));
    }
}
