//! The half-moves of a line. Lines that went the same way share them: together they are a tree, and each line holds the tip
//! of its branch.

use std::{
    collections::HashMap,
    iter,
    ops::{Index, IndexMut},
    sync::Arc,
    vec,
};

use super::Ply;

/// The half-moves of a line, the first one first.
#[derive(Clone, Debug, Default)]
pub struct Plies {
    tip: Branch,
    len: usize,
}

/// A half-move with those before it; none before the first.
type Branch = Option<Arc<Node>>;

#[derive(Clone, Debug)]
struct Node {
    ply: Ply,
    before: Branch,
}

impl Plies {
    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// From the last one to the first.
    pub fn backwards(&self) -> impl Iterator<Item = &Ply> {
        iter::successors(self.tip.as_deref(), |node| node.before.as_deref()).map(|node| &node.ply)
    }

    /// From the first one to the last. All are looked up to begin with: where few are wanted, [`Self::backwards`] is cheaper.
    #[must_use]
    pub fn iter(&self) -> vec::IntoIter<&Ply> {
        let mut plies = Vec::with_capacity(self.len);
        plies.extend(self.backwards());
        plies.reverse();
        plies.into_iter()
    }

    /// Number `k`, from 0.
    #[must_use]
    pub fn get(&self, k: usize) -> Option<&Ply> {
        let from_end = self.len.checked_sub(k + 1)?;
        self.backwards().nth(from_end)
    }

    /// The first one.
    #[must_use]
    pub fn first(&self) -> Option<&Ply> {
        self.get(0)
    }

    /// The last one.
    #[must_use]
    pub fn last(&self) -> Option<&Ply> {
        self.tip.as_ref().map(|node| &node.ply)
    }

    /// The last one, to be changed in these half-moves alone.
    pub(in crate::board) fn last_mut(&mut self) -> Option<&mut Ply> {
        self.tip.as_mut().map(|tip| &mut Arc::make_mut(tip).ply)
    }

    /// The number of the last one of which `is` holds.
    pub fn rposition(&self, mut is: impl FnMut(&Ply) -> bool) -> Option<usize> {
        let from_end = self.backwards().position(&mut is)?;
        Some(self.len - 1 - from_end)
    }

    /// One more.
    pub(in crate::board) fn push(&mut self, ply: Ply) {
        let before = self.tip.take();
        self.tip = Some(Arc::new(Node { ply, before }));
        self.len += 1;
    }

    /// Without the last one.
    pub(in crate::board) fn pop(&mut self) {
        let tip = self.tip.take();
        self.len -= usize::from(tip.is_some());
        self.tip = tip.and_then(|tip| tip.before.clone());
    }

    /// How many half-moves from the first on are `alike` in both.
    pub(in crate::board) fn alike(&self, other: &Self, alike: impl Fn(&Ply, &Ply) -> bool) -> usize {
        let len = self.len.min(other.len);
        let unlike = self
            .apart(other, len)
            .enumerate()
            .filter(|(_, (a, b))| !alike(a, b));
        unlike.last().map_or(len, |(from_end, _)| len - 1 - from_end)
    }

    /// True when the first `n` half-moves are there and `alike` in both.
    pub(in crate::board) fn begin_alike(
        &self,
        other: &Self,
        n: usize,
        alike: impl Fn(&Ply, &Ply) -> bool,
    ) -> bool {
        self.len.min(other.len) >= n && self.apart(other, n).all(|(a, b)| alike(a, b))
    }

    /// Half-moves of the same number, from number `n` of both backwards: those that both do not share.
    fn apart<'a>(&'a self, other: &'a Self, n: usize) -> impl Iterator<Item = (&'a Ply, &'a Ply)> {
        let (own, others) = (self.branch(n), other.branch(n));
        let before = |(a, b): &(&'a Arc<Node>, &'a Arc<Node>)| a.before.as_ref().zip(b.before.as_ref());
        iter::successors(own.zip(others), before)
            .take_while(|(a, b)| !Arc::ptr_eq(a, b))
            .map(|(a, b)| (&a.ply, &b.ply))
    }

    /// The branch of the first `n`.
    fn branch(&self, n: usize) -> Option<&Arc<Node>> {
        let from_end = self.len.checked_sub(n)?;
        iter::successors(self.tip.as_ref(), |node| node.before.as_ref()).nth(from_end)
    }
}

impl Index<usize> for Plies {
    type Output = Ply;

    fn index(&self, k: usize) -> &Ply {
        let found = self.get(k);
        found.unwrap_or_else(|| panic!("half-move {k} of {}", self.len))
    }
}

impl IndexMut<usize> for Plies {
    /// To be changed in these half-moves alone.
    fn index_mut(&mut self, k: usize) -> &mut Ply {
        let len = self.len;
        let mut branch = &mut self.tip;
        for _ in k + 1..len {
            branch = match branch {
                Some(node) => &mut Arc::make_mut(node).before,
                None => break,
            };
        }
        match branch {
            Some(node) if k < len => &mut Arc::make_mut(node).ply,
            _ => panic!("half-move {k} of {len}"),
        }
    }
}

impl<'a> IntoIterator for &'a Plies {
    type Item = &'a Ply;
    type IntoIter = vec::IntoIter<&'a Ply>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Drop for Plies {
    /// One after the other: a long branch would take as many calls within calls.
    fn drop(&mut self) {
        let mut next = self.tip.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.before.take());
        }
    }
}

/// Takes the first half-moves from several branches, which go on sharing what they shared.
#[derive(Debug, Default)]
pub(in crate::board) struct Pruning(HashMap<*const Node, Branch>);

impl Pruning {
    /// Takes the first `n` from `plies`.
    pub(in crate::board) fn prune(&mut self, plies: &mut Plies, n: usize) {
        let kept = plies.len.saturating_sub(n);
        let nodes: Vec<_> = iter::successors(plies.tip.clone(), |node| node.before.clone())
            .take(kept)
            .collect();
        let mut before = None;
        for node in nodes.iter().rev() {
            let pruned = self.0.entry(Arc::as_ptr(node)).or_insert_with(|| {
                let ply = node.ply.clone();
                Some(Arc::new(Node {
                    ply,
                    before: before.take(),
                }))
            });
            before = pruned.clone();
        }
        plies.tip = before;
        plies.len = kept;
    }
}
