//! The half-moves of a line. Lines that went the same way share them: together they are a tree, and each line holds the tip
//! of its branch.

use std::{
    iter,
    ops::{Index, IndexMut},
    sync::Arc,
    vec,
};

use shakmaty::{Move, Square};

use super::Ply;

/// The half-moves of a line, the first one first.
#[derive(Clone, Debug, Default)]
pub struct Plies {
    tip: Branch,
    len: usize,
    /// A hash of the half-moves, which tells most lists apart at once.
    way: u64,
}

/// A half-move with those before it; none before the first.
type Branch = Option<Arc<Node>>;

#[derive(Clone, Debug)]
struct Node {
    ply: Ply,
    before: Branch,
    way: u64,
}

/// The hash of the half-moves of `way` and then one more: `mv`, or an illegal act.
fn way_on(way: u64, mv: Option<Move>) -> u64 {
    let square = |square: Square| u64::from(square.to_u32());
    let step = match mv {
        Some(mv) => {
            let promotion = mv.promotion().map_or(0, |role| role as u64);
            mv.from().map_or(64, square) << 9 | square(mv.to()) << 3 | promotion
        }
        None => u64::MAX,
    };
    // FNV-1a: the same in every run.
    (way ^ step).wrapping_mul(0x0100_0000_01b3)
}

impl Plies {
    /// How many half-moves there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The half-moves from the last one to the first.
    pub fn backwards(&self) -> impl Iterator<Item = &Ply> {
        iter::successors(self.tip.as_deref(), |node| node.before.as_deref()).map(|node| &node.ply)
    }

    /// The half-moves from the first one to the last. All are looked up at once: where few are wanted,
    /// [`Self::backwards`] is cheaper.
    #[must_use]
    pub fn iter(&self) -> vec::IntoIter<&Ply> {
        let mut plies = Vec::with_capacity(self.len);
        plies.extend(self.backwards());
        plies.reverse();
        plies.into_iter()
    }

    /// Half-move number `k`, counted from 0.
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

    /// Changes the last half-move. Lines that share it keep theirs unchanged.
    pub(in crate::board) fn change_last(&mut self, change: impl FnOnce(&mut Ply)) {
        if let Some(tip) = &mut self.tip {
            change(&mut Arc::make_mut(tip).ply);
        }
    }

    /// The number of the last half-move of which `is` holds.
    pub fn rposition(&self, mut is: impl FnMut(&Ply) -> bool) -> Option<usize> {
        let from_end = self.backwards().position(&mut is)?;
        Some(self.len - 1 - from_end)
    }

    /// Adds a half-move.
    pub(in crate::board) fn push(&mut self, ply: Ply) {
        let before = self.tip.take();
        self.way = way_on(self.way, ply.kind.legal());
        let way = self.way;
        self.tip = Some(Arc::new(Node { ply, before, way }));
        self.len += 1;
    }

    /// Takes the last half-move away.
    pub(in crate::board) fn pop(&mut self) {
        let tip = self.tip.take();
        self.len -= usize::from(tip.is_some());
        self.tip = tip.and_then(|tip| tip.before.clone());
        self.way = self.tip.as_ref().map_or(0, |tip| tip.way);
    }

    /// False when these certainly are not the half-moves of `other`.
    pub(in crate::board) fn may_be(&self, other: &Self) -> bool {
        self.way == other.way
    }

    /// The hash of these half-moves, followed by `mv`.
    pub(in crate::board) fn way_on(&self, mv: Move) -> u64 {
        way_on(self.way, Some(mv))
    }

    /// False when `way` certainly is not the hash of these half-moves.
    pub(in crate::board) fn goes(&self, way: u64) -> bool {
        self.way == way
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

    /// The pairs of half-moves with the same number, from the `n`th backwards up to where both lists share
    /// theirs.
    fn apart<'a>(&'a self, other: &'a Self, n: usize) -> impl Iterator<Item = (&'a Ply, &'a Ply)> {
        let (own, others) = (self.branch(n), other.branch(n));
        let before = |(a, b): &(&'a Arc<Node>, &'a Arc<Node>)| a.before.as_ref().zip(b.before.as_ref());
        iter::successors(own.zip(others), before)
            .take_while(|(a, b)| !Arc::ptr_eq(a, b))
            .map(|(a, b)| (&a.ply, &b.ply))
    }

    /// The branch that ends with the `n`th half-move.
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
    /// Half-move number `k`, to be changed. Lines that share it keep theirs unchanged.
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
    /// Frees the half-moves one after the other. If each freed the one before it, a long branch would
    /// overflow the call stack.
    fn drop(&mut self) {
        let mut next = self.tip.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.before.take());
        }
    }
}

/// Removes the first half-moves of several branches. The branches go on sharing what they shared.
#[derive(Debug, Default)]
pub(in crate::board) struct Pruning(Vec<(*const Node, Plies)>);

impl Pruning {
    /// Removes the first `n` half-moves of `plies`.
    pub(in crate::board) fn prune(&mut self, plies: &mut Plies, n: usize) {
        let kept = plies.len.saturating_sub(n);
        let nodes: Vec<_> = iter::successors(plies.tip.as_ref(), |node| node.before.as_ref())
            .take(kept)
            .collect();
        // What another branch shares was pruned already, from its first half-move on.
        let known = |node: &Arc<Node>| self.0.iter().find(|(known, _)| *known == Arc::as_ptr(node));
        let mut numbered = nodes.iter().enumerate();
        let done = numbered.find_map(|(i, node)| Some((i, known(node)?.1.clone())));
        let (open, mut pruned) = done.unwrap_or_else(|| (kept, Plies::default()));
        for node in nodes.iter().take(open).rev() {
            pruned.push(node.ply.clone());
            self.0.push((Arc::as_ptr(node), pruned.clone()));
        }
        *plies = pruned;
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{Move, Role};

    use super::*;
    use crate::{
        board::{ply::PlyKind, stand::Stand},
        time::Millis,
    };

    fn ply(from: Square, to: Square) -> Ply {
        let mv = Move::Normal {
            role: Role::Pawn,
            from,
            to,
            capture: None,
            promotion: None,
        };
        Ply {
            kind: PlyKind::Legal(mv),
            at: Millis(0),
            began: Millis(0),
            seen: true,
            landed: false,
            pressed: None,
            missed: 0.0,
            stand: Arc::new(Stand::initial()),
            made_in: None,
        }
    }

    fn plies(of: &[(Square, Square)]) -> Plies {
        let mut plies = Plies::default();
        of.iter().for_each(|(from, to)| plies.push(ply(*from, *to)));
        plies
    }

    const E4: (Square, Square) = (Square::E2, Square::E4);
    const E5: (Square, Square) = (Square::E7, Square::E5);
    const D4: (Square, Square) = (Square::D2, Square::D4);

    fn same(a: &Ply, b: &Ply) -> bool {
        a.kind.same_as(&b.kind)
    }

    #[test]
    fn a_half_move_changed_in_one_line_stays_unchanged_in_the_others() {
        let first = plies(&[E4, E5]);
        let mut second = first.clone();
        second.push(ply(D4.0, D4.1));
        second[0].landed = true;
        assert!(second[0].landed && !first[0].landed);
        assert_eq!(first.len(), 2);
        assert!(second.begin_alike(&first, 2, same));
        second.pop();
        assert!(second.may_be(&first));
    }

    #[test]
    fn lines_are_alike_up_to_where_they_part() {
        let (first, second) = (plies(&[E4, E5, D4]), plies(&[E4, D4, D4]));
        assert_eq!(first.alike(&second, same), 1);
        assert_eq!(first.alike(&first.clone(), |_, _| false), 3);
        assert_eq!(first.alike(&plies(&[E4, E5]), same), 2);
        assert!(!first.begin_alike(&plies(&[E4, E5]), 3, same));
        assert!(!first.may_be(&second));
        let d4 = ply(D4.0, D4.1).kind.legal();
        assert!(d4.is_some_and(|d4| first.goes(plies(&[E4, E5]).way_on(d4))));
    }

    #[test]
    fn lines_go_on_sharing_what_is_left_of_them() {
        let mut first = plies(&[E4, E5, D4]);
        let mut second = first.clone();
        let mut pruning = Pruning::default();
        pruning.prune(&mut first, 2);
        pruning.prune(&mut second, 2);
        assert_eq!((first.len(), second.len()), (1, 1));
        assert!(first.may_be(&plies(&[D4])));
        assert_eq!(first.alike(&second, |_, _| false), 1, "both share the half-move");
        pruning.prune(&mut first, 5);
        assert!(first.is_empty());
    }
}
