//! What the boards tell of their hardware, for `health`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::watcher::HardwareView;

/// The last hardware that each board told of, if any.
#[derive(Clone, Debug, Default)]
pub(super) struct HardwareViews(Arc<Mutex<BTreeMap<String, HardwareView>>>);

impl HardwareViews {
    /// Takes what `board` tells of its hardware.
    pub(super) fn tells(&self, board: &str, view: HardwareView) {
        let mut boards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if view.is_worth_telling() {
            boards.insert(board.to_owned(), view);
        } else {
            boards.remove(board);
        }
    }

    /// The hardware of all boards.
    pub(super) fn all(&self) -> BTreeMap<String, HardwareView> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_with_nothing_to_tell_are_left_out() {
        let hardware = HardwareViews::default();
        let firmware = HardwareView {
            firmware: Some("1.8".into()),
            clock_battery_low: Some(false),
            ..HardwareView::default()
        };
        hardware.tells("1", firmware.clone());
        assert!(hardware.all().is_empty());
        let noisy = HardwareView {
            line_errors: 1,
            ..firmware.clone()
        };
        hardware.tells("1", noisy.clone());
        assert_eq!(hardware.all(), BTreeMap::from([("1".to_owned(), noisy)]));
        hardware.tells("1", firmware);
        assert!(hardware.all().is_empty());
    }
}
