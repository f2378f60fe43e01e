//! Numbers of events, as stretches without gaps.

use std::collections::BTreeMap;

/// A set of numbers from 1. It takes as much memory as it has gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretches(BTreeMap<u64, u64>);

impl Stretches {
    /// Adds the numbers from `first` to `last`.
    pub(super) fn add(&mut self, first: u64, last: u64) {
        if first > last {
            return;
        }
        let (mut from, mut to) = (first, last);
        // Those that it touches or overlaps become one with it.
        while let Some((&start, &end)) = self.0.range(..=to.saturating_add(1)).next_back() {
            if end.saturating_add(1) < from {
                break;
            }
            self.0.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.0.insert(from, to);
    }

    /// True for a number of the set.
    pub(super) fn has(&self, number: u64) -> bool {
        let below = self.0.range(..=number).next_back();
        below.is_some_and(|(_, last)| *last >= number)
    }

    /// The newest gap below `next`: its first and last number.
    pub(super) fn newest_gap(&self, next: u64) -> Option<(u64, u64)> {
        let mut last = next.checked_sub(1)?;
        if let Some((&start, &end)) = self.0.range(..=last).next_back()
            && end >= last
        {
            last = start.checked_sub(1)?;
        }
        let below = self.0.range(..=last).next_back().map_or(0, |(_, end)| *end);
        (below < last).then_some((below + 1, last))
    }

    /// What is missing from `first` to `last`, newest first.
    pub(super) fn gaps(&self, first: u64, last: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut next = last.saturating_add(1);
        while let Some((from, to)) = self.newest_gap(next).filter(|(_, to)| *to >= first) {
            gaps.push((from.max(first), to));
            next = from;
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_is_a_set_of_numbers() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let (mut stretches, mut numbers) = (Stretches::default(), BTreeSet::new());
            for _ in 0..rng.usize(0..12) {
                let first = rng.u64(1..40);
                let last = first + rng.u64(0..6);
                stretches.add(first, last);
                numbers.extend(first..=last);
            }
            for number in 0..50 {
                assert_eq!(stretches.has(number), numbers.contains(&number));
            }
            let missing: BTreeSet<u64> = (5..=45).filter(|number| !numbers.contains(number)).collect();
            let gaps = stretches.gaps(5, 45);
            let told: Vec<u64> = gaps.iter().rev().flat_map(|(from, to)| *from..=*to).collect();
            assert_eq!(told, missing.into_iter().collect::<Vec<_>>(), "{stretches:?}");
            assert_eq!(
                stretches.newest_gap(46).map(|(_, to)| to),
                told.last()
                    .copied()
                    .or_else(|| (1..5).rev().find(|n| !numbers.contains(n)))
            );
        }
    }
}
