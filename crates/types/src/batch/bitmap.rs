//! A bit for each row.

/// Bits by position, least significant first. In a column a set bit means NULL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` clear bits.
    pub fn zeros(len: usize) -> Bitmap {
        Bitmap { words: vec![0; len.div_ceil(64)], len }
    }

    /// `len` set bits.
    pub fn ones(len: usize) -> Bitmap {
        let mut map = Bitmap { words: vec![u64::MAX; len.div_ceil(64)], len };
        map.mask_tail();
        map
    }

    fn mask_tail(&mut self) {
        let tail = self.len % 64;
        if tail != 0
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << tail) - 1;
        }
    }

    /// How many bits.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bit at `i`.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        self.words[i >> 6] >> (i & 63) & 1 != 0
    }

    /// Sets the bit at `i`.
    #[inline]
    pub fn set(&mut self, i: usize) {
        self.words[i >> 6] |= 1 << (i & 63);
    }

    /// Clears the bit at `i`.
    #[inline]
    pub fn clear(&mut self, i: usize) {
        self.words[i >> 6] &= !(1 << (i & 63));
    }

    /// Sets or clears the bit at `i`.
    #[inline]
    pub fn assign(&mut self, i: usize, bit: bool) {
        if bit { self.set(i) } else { self.clear(i) }
    }

    /// Appends a bit.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        if self.len & 63 == 0 {
            self.words.push(0);
        }
        self.len += 1;
        if bit {
            self.set(self.len - 1);
        }
    }

    /// Grows with clear bits, or shrinks, to `len` bits.
    pub fn resize(&mut self, len: usize) {
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
        self.mask_tail();
    }

    /// How many bits are set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// True if any bit is set.
    #[inline]
    pub fn any(&self) -> bool {
        self.words.iter().any(|w| *w != 0)
    }

    /// The bits as words of 64, least significant first; bits past the end are clear.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Sets each bit that is set in `other`, which has the same length.
    pub fn or_with(&mut self, other: &Bitmap) {
        debug_assert_eq!(self.len, other.len);
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a |= b;
        }
    }

    /// The union of two optional bitmaps (of nulls).
    pub fn union(a: Option<&Bitmap>, b: Option<&Bitmap>) -> Option<Bitmap> {
        match (a, b) {
            (None, None) => None,
            (Some(x), None) | (None, Some(x)) => Some(x.clone()),
            (Some(x), Some(y)) => {
                let mut out = x.clone();
                out.or_with(y);
                Some(out)
            }
        }
    }
}
