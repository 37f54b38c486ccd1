//! Sets of range-table indexes.

use smallvec::{SmallVec, smallvec};

/// A set of range-table indexes (from 1). The words never end in a zero one, so that equal
/// sets are equal values.
#[derive(PartialEq, Eq, Hash, Default, Debug, PartialOrd, Ord)]
pub struct Relids(SmallVec<[u64; 2]>);

impl Clone for Relids {
    #[inline]
    fn clone(&self) -> Relids {
        Relids(match self.0[..] {
            [] => SmallVec::new(),
            [one] => SmallVec::from_buf_and_len([one, 0], 1),
            ref words => SmallVec::from_slice(words),
        })
    }
}

impl Relids {
    /// No index.
    pub fn empty() -> Relids {
        Relids(SmallVec::new())
    }

    /// One index.
    pub fn single(index: u32) -> Relids {
        let mut set = Relids::empty();
        set.add(index);
        set
    }

    /// Puts an index in.
    pub fn add(&mut self, index: u32) {
        let word = index as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (index % 64);
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// True if the index is in it.
    pub fn contains(&self, index: u32) -> bool {
        self.0.get(index as usize / 64).is_some_and(|w| w & (1 << (index % 64)) != 0)
    }

    /// True if nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are in it.
    pub fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// What is in either.
    pub fn union(&self, other: &Relids) -> Relids {
        let (long, short) =
            if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        let mut set = long.clone();
        for (w, o) in set.0.iter_mut().zip(&short.0) {
            *w |= o;
        }
        set
    }

    /// Adds all of another.
    pub fn extend(&mut self, other: &Relids) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (w, o) in self.0.iter_mut().zip(&other.0) {
            *w |= o;
        }
    }

    /// What is in both.
    pub fn intersect(&self, other: &Relids) -> Relids {
        let mut set = Relids(smallvec![]);
        set.0.extend(self.0.iter().zip(&other.0).map(|(a, b)| a & b));
        set.trim();
        set
    }

    /// What is in this one but not in the other.
    pub fn minus(&self, other: &Relids) -> Relids {
        let mut set = self.clone();
        for (w, o) in set.0.iter_mut().zip(&other.0) {
            *w &= !o;
        }
        set.trim();
        set
    }

    /// True if they share an index.
    pub fn overlaps(&self, other: &Relids) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// True if all of it is in the other.
    pub fn is_subset(&self, other: &Relids) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    /// The indexes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(i as u32 * 64 + bit)
            })
        })
    }

    /// The only index in it, if it has just one.
    pub fn singleton(&self) -> Option<u32> {
        if self.len() == 1 { self.iter().next() } else { None }
    }
}

impl FromIterator<u32> for Relids {
    fn from_iter<I: IntoIterator<Item = u32>>(indexes: I) -> Relids {
        let mut set = Relids::empty();
        for i in indexes {
            set.add(i);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_operations() {
        let a: Relids = [1, 3, 70].into_iter().collect();
        let b: Relids = [3, 4].into_iter().collect();
        assert_eq!(a.intersect(&b), Relids::single(3));
        assert_eq!(a.minus(&b).iter().collect::<Vec<_>>(), [1, 70]);
        assert_eq!(a.union(&b).len(), 4);
    }
}
