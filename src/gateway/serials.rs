//! Notes which board tells which serial number. The operator hears of two boards with one number, because only their
//! ports tell them apart.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{event::notice, journal::Notice, link::same_number};

/// The last serial number that each board told.
#[derive(Clone, Debug, Default)]
pub(super) struct Serials(Arc<Mutex<BTreeMap<String, String>>>);

impl Serials {
    /// Notes that `board` tells `serial`.
    pub(super) fn says(&self, board: &str, serial: &str) {
        self.lock().insert(board.to_owned(), serial.to_owned());
    }

    /// Notes that no board answers at the port of `board`.
    pub(super) fn silent(&self, board: &str) {
        self.lock().remove(board);
    }

    /// A notice for each board that tells the number of another one.
    pub(super) fn doubled(&self) -> Vec<Notice> {
        let serials = self.lock();
        let boards: Vec<_> = serials.iter().collect();
        let before =
            |n: usize, serial: &str| boards[..n].iter().find(|(_, other)| same_number(other, serial));
        let doubled = boards.iter().enumerate().filter_map(|(n, (board, serial))| {
            let (other, _) = before(n, serial)?;
            Some(doubled(other, board, serial))
        });
        doubled.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn doubled(first: &str, second: &str, serial: &str) -> Notice {
    Notice {
        board: Some(second.to_owned()),
        ..Notice::new(
            notice::SERIAL_DOUBLED,
            format!(
                "boards {first} and {second} say the same serial number {serial}: their games are told apart by their ports alone. Name both by their ports in the configuration, not as `board:{serial}`, and do not exchange their cables"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_told_while_it_says_so() {
        let serials = Serials::default();
        serials.says("1", "90001");
        serials.says("2", "90002");
        assert!(serials.doubled().is_empty());
        serials.says("2", "090001");
        serials.says("2", "090001");
        let said = serials.doubled();
        assert_eq!(said.len(), 1);
        assert!(
            said[0]
                .message
                .contains("boards 1 and 2 say the same serial number"),
            "{said:?}"
        );
        serials.silent("1");
        assert!(
            serials.doubled().is_empty(),
            "cables may be exchanged one after the other"
        );
    }
}
