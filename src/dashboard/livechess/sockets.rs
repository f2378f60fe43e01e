//! Bounds the number of clients, in all and for each origin: a page that opens sockets without end fills its own share
//! only.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// How many sockets there may be.
const MOST: usize = 64;
/// How many sockets the pages of one origin may have. Tools without an origin share one number.
const MOST_OF_ONE: usize = 16;

/// The number of sockets by origin.
#[derive(Clone, Debug, Default)]
pub(super) struct Sockets(Arc<Mutex<HashMap<Vec<u8>, usize>>>);

/// A place for one socket, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    sockets: Sockets,
    origin: Vec<u8>,
}

impl Sockets {
    /// A place for a page of `origin`; none when there are too many.
    pub(super) fn take(&self, origin: &[u8]) -> Option<Seat> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = taken.get(origin).copied().unwrap_or_default();
        if of_one >= MOST_OF_ONE || taken.values().sum::<usize>() >= MOST {
            return None;
        }
        taken.insert(origin.to_owned(), of_one + 1);
        Some(Seat {
            sockets: self.clone(),
            origin: origin.to_owned(),
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.sockets.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.origin) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_with_many_sockets_leaves_room_for_others() {
        let sockets = Sockets::default();
        let mut seats: Vec<_> = std::iter::from_fn(|| sockets.take(b"https://one")).collect();
        assert_eq!(seats.len(), MOST_OF_ONE);
        seats.extend(sockets.take(b"https://two"));
        assert_eq!(seats.len(), MOST_OF_ONE + 1);
        drop(seats);
        assert!(sockets.take(b"https://one").is_some());
        assert!(sockets.0.lock().unwrap().is_empty());
    }

    #[test]
    fn pages_of_many_origins_have_no_more_than_all_may_have() {
        let sockets = Sockets::default();
        let origins = (0..9).map(|n: usize| format!("https://{n}"));
        let seats: Vec<_> = origins
            .flat_map(|origin| {
                let sockets = sockets.clone();
                std::iter::from_fn(move || sockets.take(origin.as_bytes())).take(10)
            })
            .collect();
        assert_eq!(seats.len(), MOST);
        assert!(sockets.take(b"https://another").is_none());
    }
}
