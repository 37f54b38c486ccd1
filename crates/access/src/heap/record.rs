//! Log records of the heap: their bytes, both ways.
//!
//! Ids that the record's header carries (the transaction) are not repeated. Block 0 is the page
//! a row came into or the only one; block 1 the page of an update's old version if another;
//! blocks 2 and 3 are visibility map pages whose bits for block 0 and 1 were cleared.

use super::page::{self, PrunePlan, Tuple, TupleMut};
use base::{Result, Tid, err};

/// A row came in.
pub const INSERT: u8 = 0x00;
/// A row was deleted.
pub const DELETE: u8 = 0x10;
/// A row got a new version.
pub const UPDATE: u8 = 0x20;
/// Many rows came into one page.
pub const MULTI_INSERT: u8 = 0x30;
/// Old versions were taken out of a page, or xids frozen.
pub const PRUNE: u8 = 0x40;
/// A page became all-visible: block 0 is the map's page, block 1 the heap's.
pub const VISIBLE: u8 = 0x50;
/// A page's base of transaction ids was moved.
pub const REBASE: u8 = 0x60;

/// Pages at the end were given back: block 0 is the map's page, if there is one.
pub const TRUNCATE: u8 = 0x70;

/// Flag: block 0 starts from nothing.
pub const INIT: u8 = 0x01;
/// Flag: block 0 was all-visible.
pub const CLEARED: u8 = 0x02;
/// Flag: block 1 was all-visible.
pub const OLD_CLEARED: u8 = 0x04;
/// Flag: the new version is in the same page and no index points to it.
pub const HOT: u8 = 0x08;
/// Flag: the row was deleted, or a key column changed.
pub const KEYS: u8 = 0x10;
/// Flag: the row never was: its own transaction took it back.
pub const TAKE_BACK: u8 = 0x20;
/// Flag: the new version's bytes lack what it shares with the old one.
pub const SHARED: u8 = 0x40;
/// Flag: the deleted row went on in another partition.
pub const MOVED: u8 = 0x80;

/// Reads numbers off a record's bytes.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.0.len() {
            return Err(err!(DATA_CORRUPTED, "heap log record is too short"));
        }
        let (a, b) = self.0.split_at(n);
        self.0 = b;
        Ok(a)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Result<u16> {
        let b = self.take(2)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Result<u32> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(self.u32()? as u64 | (self.u32()? as u64) << 32)
    }
}

/// Appends a tuple without what redo knows: flag words, data offset, null bitmap, then of the
/// data what lies between `prefix` and `suffix`.
pub fn put_tuple(out: &mut Vec<u8>, t: Tuple<'_>, prefix: usize, suffix: usize) {
    out.extend_from_slice(&t.mask2().to_le_bytes());
    out.extend_from_slice(&t.mask().to_le_bytes());
    out.push(t.hoff() as u8);
    if let Some(bits) = t.bitmap() {
        out.extend_from_slice(bits);
    }
    let data = t.data();
    out.extend_from_slice(&data[prefix..data.len() - suffix]);
}

/// Bytes that two rows' data share at the start and at the end.
pub fn shared(old: &[u8], new: &[u8]) -> (usize, usize) {
    let most = old.len().min(new.len());
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = most - prefix;
    let suffix =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (prefix, suffix)
}

/// Rebuilds a tuple from the rest of `r`, or from its next `len` bytes of data.
pub fn get_tuple(
    r: &mut Reader<'_>,
    data_len: Option<usize>,
    xmin: u32,
    at: Tid,
    ends: (&[u8], &[u8]),
) -> Result<Vec<u8>> {
    let (mask2, mask, hoff) = (r.u16()?, r.u16()?, r.u8()?);
    if (hoff as usize) < page::MIN_HOFF {
        return Err(err!(DATA_CORRUPTED, "heap log record holds a broken tuple"));
    }
    let mut out = vec![0; hoff as usize];
    if mask & page::HAS_NULL != 0 {
        out[page::TUPLE_HEADER..].copy_from_slice(r.take(hoff as usize - page::TUPLE_HEADER)?);
    }
    out.extend_from_slice(ends.0);
    let n = data_len.unwrap_or(r.0.len());
    out.extend_from_slice(r.take(n)?);
    out.extend_from_slice(ends.1);
    let mut t = TupleMut::new(&mut out);
    t.set_shape(mask2 & page::NATTS_MASK, mask, hoff);
    t.change_mask2(mask2 & !page::NATTS_MASK, 0);
    t.set_xmin(xmin);
    t.set_ctid(at);
    Ok(out)
}

/// Bytes of a pruning record.
pub fn put_prune(plan: &PrunePlan, hint: u32) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&hint.to_le_bytes());
    let lists = [&plan.dead, &plan.unused, &plan.freeze_xmin, &plan.clear_xmax];
    out.extend_from_slice(&(plan.redirect.len() as u16).to_le_bytes());
    for &(a, b) in &plan.redirect {
        out.extend_from_slice(&a.to_le_bytes());
        out.extend_from_slice(&b.to_le_bytes());
    }
    for list in lists {
        put_offsets(&mut out, list);
    }
    out
}

/// Offsets ascend nearly always and are small, so runs are what is stored: a count of runs, then
/// the first of each and its length.
fn put_offsets(out: &mut Vec<u8>, list: &[u16]) {
    let at = out.len();
    out.extend_from_slice(&[0, 0]);
    let mut runs = 0u16;
    let mut i = 0;
    while i < list.len() {
        let mut n = 1;
        while i + n < list.len() && list[i + n] == list[i] + n as u16 {
            n += 1;
        }
        out.extend_from_slice(&list[i].to_le_bytes());
        out.extend_from_slice(&(n as u16).to_le_bytes());
        runs += 1;
        i += n;
    }
    out[at..at + 2].copy_from_slice(&runs.to_le_bytes());
}

fn get_offsets(r: &mut Reader<'_>) -> Result<Vec<u16>> {
    let mut out = Vec::new();
    for _ in 0..r.u16()? {
        let (first, n) = (r.u16()?, r.u16()?);
        if first as usize + n as usize > page::MAX_TUPLES + 1 {
            return Err(err!(DATA_CORRUPTED, "heap log record names a line pointer too far"));
        }
        out.extend(first..first + n);
    }
    Ok(out)
}

/// What [`put_prune`] wrote: the plan and the page's next hint.
pub fn get_prune(data: &[u8]) -> Result<(PrunePlan, u32)> {
    let mut r = Reader(data);
    let hint = r.u32()?;
    let mut plan = PrunePlan::default();
    for _ in 0..r.u16()? {
        plan.redirect.push((r.u16()?, r.u16()?));
    }
    plan.dead = get_offsets(&mut r)?;
    plan.unused = get_offsets(&mut r)?;
    plan.freeze_xmin = get_offsets(&mut r)?;
    plan.clear_xmax = get_offsets(&mut r)?;
    Ok((plan, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prune_round_trip() {
        let plan = PrunePlan {
            redirect: vec![(1, 9), (2, 7)],
            dead: vec![3, 4, 5, 20],
            unused: vec![],
            freeze_xmin: (1..=200).collect(),
            clear_xmax: vec![7],
        };
        let bytes = put_prune(&plan, 77);
        assert_eq!(get_prune(&bytes).unwrap(), (plan, 77));
        for cut in 0..bytes.len() {
            assert!(get_prune(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn shared_ends_do_not_overlap() {
        assert_eq!(shared(b"aaaa", b"aaa"), (3, 0));
        assert_eq!(shared(b"abXcd", b"abYYcd"), (2, 2));
        assert_eq!(shared(b"", b"x"), (0, 0));
    }
}
