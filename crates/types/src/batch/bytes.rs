//! A column of byte strings: 16-byte views over shared buffers.

use crate::blob::Blob;
use std::cmp::Ordering;
use std::sync::Arc;

/// Longest byte string held in the view itself.
const VIEW_INLINE: usize = 12;

/// A byte string in 16 bytes: its length, then the bytes if at most 12, else the first four of
/// them, the buffer's number and the offset in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct View {
    len: u32,
    data: [u8; VIEW_INLINE],
}

const _: () = assert!(size_of::<View>() == 16);

impl View {
    fn inline(bytes: &[u8]) -> View {
        let mut data = [0; VIEW_INLINE];
        data[..bytes.len()].copy_from_slice(bytes);
        View { len: bytes.len() as u32, data }
    }

    fn outside(bytes: &[u8], buffer: u32, offset: u32) -> View {
        let mut data = [0; VIEW_INLINE];
        data[..4].copy_from_slice(&bytes[..4]);
        data[4..8].copy_from_slice(&buffer.to_le_bytes());
        data[8..].copy_from_slice(&offset.to_le_bytes());
        View { len: bytes.len() as u32, data }
    }

    fn buffer(&self) -> usize {
        u32::from_le_bytes([self.data[4], self.data[5], self.data[6], self.data[7]]) as usize
    }

    fn offset(&self) -> usize {
        u32::from_le_bytes([self.data[8], self.data[9], self.data[10], self.data[11]]) as usize
    }

    /// Length of the byte string.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the byte string is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Length and first four bytes as one number: different numbers mean different strings.
    #[inline]
    pub fn head(&self) -> u64 {
        let prefix = u32::from_le_bytes([self.data[0], self.data[1], self.data[2], self.data[3]]);
        (self.len as u64) << 32 | prefix as u64
    }
}

/// A column of byte strings. Long strings lie in `buffers`, which other columns may share.
#[derive(Clone, Debug, Default)]
pub struct BytesColumn {
    views: Vec<View>,
    buffers: Vec<Arc<Vec<u8>>>,
    /// The buffer that grows; it becomes one of `buffers` in [`BytesColumn::seal`].
    open: Vec<u8>,
}

/// A buffer is closed when it has grown to this.
const OPEN_MAX: usize = 1 << 20;

impl BytesColumn {
    /// An empty column with room for `capacity` strings.
    pub fn with_capacity(capacity: usize) -> BytesColumn {
        BytesColumn { views: Vec::with_capacity(capacity), ..BytesColumn::default() }
    }

    /// How many strings.
    #[inline]
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// True if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The views.
    #[inline]
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// The bytes of string `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        let view = &self.views[i];
        let len = view.len as usize;
        if len <= VIEW_INLINE {
            return &view.data[..len];
        }
        let (number, offset) = (view.buffer(), view.offset());
        match self.buffers.get(number) {
            Some(buffer) => &buffer[offset..offset + len],
            None => &self.open[offset..offset + len],
        }
    }

    /// String `i` as a value that shares its buffer if that is closed.
    #[inline]
    pub fn blob(&self, i: usize) -> Blob {
        let view = &self.views[i];
        let len = view.len as usize;
        if len > VIEW_INLINE
            && let Some(buffer) = self.buffers.get(view.buffer())
        {
            return Blob::slice_of(buffer, view.offset(), len);
        }
        Blob::new(self.get(i))
    }

    /// Appends a copy of `bytes`.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        if bytes.len() <= VIEW_INLINE {
            self.views.push(View::inline(bytes));
        } else {
            let view = self.store(bytes);
            self.views.push(view);
        }
    }

    /// Appends a string so many times; a long one is stored once.
    pub fn push_repeated(&mut self, bytes: &[u8], times: usize) {
        if times == 0 {
            return;
        }
        self.push(bytes);
        let view = self.views[self.views.len() - 1];
        self.views.resize(self.views.len() + times - 1, view);
    }

    fn store(&mut self, bytes: &[u8]) -> View {
        if !self.open.is_empty() && self.open.len() + bytes.len() > OPEN_MAX {
            self.seal();
        }
        let offset = self.open.len();
        self.open.extend_from_slice(bytes);
        View::outside(bytes, self.buffers.len() as u32, offset as u32)
    }

    /// Replaces string `i`, leaving the old bytes unused.
    pub fn set(&mut self, i: usize, bytes: &[u8]) {
        self.views[i] =
            if bytes.len() <= VIEW_INLINE { View::inline(bytes) } else { self.store(bytes) };
    }

    /// Grows with empty strings, or shrinks, to `len` strings.
    pub fn resize(&mut self, len: usize) {
        self.views.resize(len, View::default());
    }

    /// Drops all strings and buffers.
    pub fn clear(&mut self) {
        self.views.clear();
        self.buffers.clear();
        self.open.clear();
    }

    /// Closes the growing buffer so that values can share it.
    pub fn seal(&mut self) {
        if !self.open.is_empty() {
            self.buffers.push(Arc::new(std::mem::take(&mut self.open)));
        }
    }

    /// The strings at `positions`; buffers are shared, not copied.
    pub fn gather(&self, positions: &[u16]) -> BytesColumn {
        let mut out = BytesColumn {
            views: positions.iter().map(|&p| self.views[p as usize]).collect(),
            buffers: self.buffers.clone(),
            open: self.open.clone(),
        };
        out.seal();
        out
    }

    /// Appends strings `positions` of `other`, copying.
    pub fn extend_from(&mut self, other: &BytesColumn, positions: impl Iterator<Item = usize>) {
        for p in positions {
            self.push(other.get(p));
        }
    }

    /// Whether string `i` here and string `j` of `other` are the same.
    #[inline]
    pub fn eq_at(&self, i: usize, other: &BytesColumn, j: usize) -> bool {
        let (a, b) = (&self.views[i], &other.views[j]);
        a.head() == b.head() && (a.len <= 4 || self.get(i) == other.get(j))
    }

    /// Order by bytes of string `i` here and string `j` of `other`.
    #[inline]
    pub fn cmp_at(&self, i: usize, other: &BytesColumn, j: usize) -> Ordering {
        self.get(i).cmp(other.get(j))
    }

    /// Bytes held, for memory accounts.
    pub fn heap_size(&self) -> usize {
        self.views.len() * 16
            + self.open.len()
            + self.buffers.iter().map(|b| b.len()).sum::<usize>()
    }
}
