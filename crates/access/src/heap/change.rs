//! The changes of single pages that forward work and redo share.

use super::page::{self, Bytes, TupleMut};
use super::record::{self, Reader};
use base::{BlockNo, Result, Tid, Xid, err};

/// How an old version is marked.
#[derive(Clone, Copy, Debug)]
pub struct OldVersion {
    /// The deleter as stored.
    pub xmax: u32,
    /// The command id and whether it is a combo. Redo has none: nobody asks after a crash.
    pub cid: (u32, bool),
    /// Deleted, or a key column changed.
    pub keys: bool,
    /// The new version is a heap-only tuple in the same page.
    pub hot: bool,
    /// Where the new version is; itself for a deletion.
    pub next: Tid,
}

/// Marks tuple `off` as deleted or replaced. False if there is no such tuple.
pub fn mark_old(page: &mut Bytes, off: u16, old: OldVersion) -> bool {
    let Some(mut t) = page::tuple_mut(page, off) else { return false };
    t.set_xmax(old.xmax);
    t.set_cid(old.cid.0);
    t.set_ctid(old.next);
    let combo = if old.cid.1 { page::COMBO_CID } else { 0 };
    t.change_mask(
        combo,
        page::XMAX_INVALID | page::XMAX_COMMITTED | page::XMAX_LOCK_ONLY | page::COMBO_CID,
    );
    let set2 =
        if old.keys { page::KEYS_UPDATED } else { 0 } | if old.hot { page::HOT_UPDATED } else { 0 };
    t.change_mask2(set2, page::KEYS_UPDATED | page::HOT_UPDATED);
    page::add_prune_hint(page, old.xmax);
    page::change_flags(page, 0, page::ALL_VISIBLE);
    true
}

/// Takes back tuple `off`, which its own transaction inserted: nobody ever sees it.
pub fn take_back(page: &mut Bytes, off: u16) -> bool {
    let Some(mut t) = page::tuple_mut(page, off) else { return false };
    t.set_xmin(0);
    t.change_mask(page::XMIN_INVALID, page::XMIN_COMMITTED);
    // The lowest real id, so that the next reader prunes.
    page::add_prune_hint(page, 3);
    true
}

#[cold]
fn mismatch(what: &str) -> base::Error {
    err!(DATA_CORRUPTED, "heap log record does not fit its page: {what}")
}

fn raw(page: &Bytes, xid: Xid) -> Result<u32> {
    page::encode_xid(page::xid_base(page), xid).ok_or_else(|| mismatch("transaction id"))
}

/// Makes the page anew if the record says so.
fn maybe_init(page: &mut Bytes, flags: u8, xid: Xid) {
    if flags & record::INIT != 0 {
        page::init(page, page::base_for(xid));
    }
    page::change_flags(page, 0, page::ALL_VISIBLE);
}

/// Block 0 of [`record::INSERT`]: `main` holds offset and flags, `tuple` the row.
pub fn redo_insert(
    page: &mut Bytes,
    block: BlockNo,
    xid: Xid,
    main: &[u8],
    tuple: &[u8],
) -> Result<()> {
    let mut r = Reader(main);
    let (off, flags) = (r.u16()?, r.u8()?);
    maybe_init(page, flags, xid);
    let at = Tid { block, offset: off };
    let xmin = raw(page, xid)?;
    let bytes = record::get_tuple(&mut Reader(tuple), None, xmin, at, (&[], &[]))?;
    if page::add_tuple(page, off, &bytes) { Ok(()) } else { Err(mismatch("insert")) }
}

/// Block 0 of [`record::MULTI_INSERT`]: `main` holds flags and count, `tuples` the rows.
pub fn redo_multi_insert(
    page: &mut Bytes,
    block: BlockNo,
    xid: Xid,
    main: &[u8],
    tuples: &[u8],
) -> Result<()> {
    let mut r = Reader(main);
    let (flags, n) = (r.u8()?, r.u16()?);
    maybe_init(page, flags, xid);
    let xmin = raw(page, xid)?;
    let mut r = Reader(tuples);
    for _ in 0..n {
        let (off, len) = (r.u16()?, r.u16()?);
        let at = Tid { block, offset: off };
        let bytes = record::get_tuple(&mut r, Some(len as usize), xmin, at, (&[], &[]))?;
        if !page::add_tuple(page, off, &bytes) {
            return Err(mismatch("multi insert"));
        }
    }
    Ok(())
}

/// Block 0 of [`record::DELETE`]: `main` holds offset and flags.
pub fn redo_delete(page: &mut Bytes, block: BlockNo, xid: Xid, main: &[u8]) -> Result<()> {
    let mut r = Reader(main);
    let (off, flags) = (r.u16()?, r.u8()?);
    let done = if flags & record::TAKE_BACK != 0 {
        take_back(page, off)
    } else {
        let block = if flags & record::MOVED != 0 { BlockNo(page::MOVED_BLOCK) } else { block };
        let next = Tid { block, offset: off };
        let xmax = raw(page, xid)?;
        mark_old(page, off, OldVersion { xmax, cid: (0, false), keys: true, hot: false, next })
    };
    if done { Ok(()) } else { Err(mismatch("delete")) }
}

/// What the main data of [`record::UPDATE`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateHead {
    /// Line pointer of the old version.
    pub old: u16,
    /// Line pointer of the new version.
    pub new: u16,
    /// Flags of [`record`].
    pub flags: u8,
}

impl UpdateHead {
    /// Its bytes.
    pub fn encode(self) -> [u8; 5] {
        let (a, b) = (self.old.to_le_bytes(), self.new.to_le_bytes());
        [a[0], a[1], b[0], b[1], self.flags]
    }

    /// From its bytes.
    pub fn decode(main: &[u8]) -> Result<UpdateHead> {
        let mut r = Reader(main);
        Ok(UpdateHead { old: r.u16()?, new: r.u16()?, flags: r.u8()? })
    }
}

/// The page of the old version in [`record::UPDATE`]; the new version is at `next`.
pub fn redo_update_old(page: &mut Bytes, xid: Xid, head: UpdateHead, next: Tid) -> Result<()> {
    let old = OldVersion {
        xmax: raw(page, xid)?,
        cid: (0, false),
        keys: head.flags & record::KEYS != 0,
        hot: head.flags & record::HOT != 0,
        next,
    };
    if mark_old(page, head.old, old) { Ok(()) } else { Err(mismatch("update, old version")) }
}

/// The page of the new version in [`record::UPDATE`]. If the record leaves out what both versions
/// share, the old one is in this page too.
pub fn redo_update_new(
    page: &mut Bytes,
    block: BlockNo,
    xid: Xid,
    head: UpdateHead,
    tuple: &[u8],
) -> Result<()> {
    maybe_init(page, head.flags, xid);
    let xmin = raw(page, xid)?;
    let at = Tid { block, offset: head.new };
    let mut r = Reader(tuple);
    let bytes = if head.flags & record::SHARED != 0 {
        let (prefix, suffix) = (r.u16()? as usize, r.u16()? as usize);
        let old = page::tuple(page, head.old).ok_or_else(|| mismatch("update, shared bytes"))?;
        let data = old.data();
        if prefix + suffix > data.len() {
            return Err(mismatch("update, shared bytes"));
        }
        let ends = (&data[..prefix], &data[data.len() - suffix..]);
        record::get_tuple(&mut r, None, xmin, at, ends)?
    } else {
        record::get_tuple(&mut r, None, xmin, at, (&[], &[]))?
    };
    if page::add_tuple(page, head.new, &bytes) { Ok(()) } else { Err(mismatch("update")) }
}

/// Block 0 of [`record::PRUNE`].
pub fn redo_prune(page: &mut Bytes, main: &[u8]) -> Result<()> {
    let (plan, hint) = record::get_prune(main)?;
    page::apply_prune(page, &plan, hint);
    Ok(())
}

/// Block 0 of [`record::REBASE`].
pub fn redo_rebase(page: &mut Bytes, main: &[u8]) -> Result<()> {
    let base = Reader(main).u64()?;
    if page::rebase(page, base) { Ok(()) } else { Err(mismatch("rebase")) }
}

/// Gives a formed row its header's shape: the null bitmap, then zeros up to the data.
pub fn header(natts: usize, nulls: Option<&[u8]>, varwidth: bool, external: bool) -> Vec<u8> {
    let bits = nulls.map_or(0, <[u8]>::len);
    let hoff = page::align8(page::TUPLE_HEADER + bits);
    let mut out = vec![0; hoff];
    if let Some(nulls) = nulls {
        out[page::TUPLE_HEADER..page::TUPLE_HEADER + bits].copy_from_slice(nulls);
    }
    let mask = page::XMAX_INVALID
        | if nulls.is_some() { page::HAS_NULL } else { 0 }
        | if varwidth { page::HAS_VARWIDTH } else { 0 }
        | if external { page::HAS_EXTERNAL } else { 0 };
    TupleMut::new(&mut out).set_shape(natts as u16, mask, hoff as u8);
    out
}

/// Appends the zeros and the null bitmap of a row's header; gives the header's length and
/// whether there are nulls. The shape is set once the data is known, see [`finish_header`].
pub fn begin_header(values: &[types::Datum], out: &mut Vec<u8>) -> (usize, bool) {
    let start = out.len();
    let nulls = values.iter().any(types::Datum::is_null);
    let bits = if nulls { values.len().div_ceil(8) } else { 0 };
    let hoff = page::align8(page::TUPLE_HEADER + bits);
    out.resize(start + hoff, 0);
    if nulls {
        for (i, _) in values.iter().enumerate().filter(|(_, v)| !v.is_null()) {
            out[start + page::TUPLE_HEADER + i / 8] |= 1 << (i % 8);
        }
    }
    (hoff, nulls)
}

/// Sets the shape of a row whose header is what [`begin_header`] said.
pub fn finish_header(row: &mut [u8], natts: usize, header: (usize, bool), varwidth: bool) {
    let (hoff, nulls) = header;
    let mask = page::XMAX_INVALID
        | if nulls { page::HAS_NULL } else { 0 }
        | if varwidth { page::HAS_VARWIDTH } else { 0 };
    TupleMut::new(row).set_shape(natts as u16, mask, hoff as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::PAGE_SIZE;

    fn row(data: &[u8]) -> Vec<u8> {
        let mut b = header(3, Some(&[0b101]), true, false);
        b.extend_from_slice(data);
        b
    }

    fn record_of(row: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        record::put_tuple(&mut out, page::Tuple::new(row).unwrap(), 0, 0);
        out
    }

    #[test]
    fn insert_update_delete_by_redo() {
        let mut p = [0; PAGE_SIZE];
        let block = BlockNo(4);
        let main = [1, 0, record::INIT];
        let first = row(b"the quick brown fox");
        redo_insert(&mut p, block, Xid(10), &main, &record_of(&first)).unwrap();
        let t = page::tuple(&p, 1).unwrap();
        assert_eq!((t.xmin_raw(), t.natts(), t.data()), (10, 3, &b"the quick brown fox"[..]));
        assert_eq!(t.ctid(), Tid { block, offset: 1 });

        let second = row(b"the quick red fox");
        let (a, b) = (t.data(), &second[24..]);
        let (prefix, suffix) = record::shared(a, b);
        assert_eq!((prefix, suffix), (10, 4));
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&(prefix as u16).to_le_bytes());
        bytes.extend_from_slice(&(suffix as u16).to_le_bytes());
        record::put_tuple(&mut bytes, page::Tuple::new(&second).unwrap(), prefix, suffix);
        let head = UpdateHead { old: 1, new: 2, flags: record::HOT | record::SHARED };
        assert_eq!(UpdateHead::decode(&head.encode()).unwrap(), head);
        redo_update_new(&mut p, block, Xid(11), head, &bytes).unwrap();
        redo_update_old(&mut p, Xid(11), head, Tid { block, offset: 2 }).unwrap();
        assert_eq!(page::tuple(&p, 2).unwrap().data(), b"the quick red fox");
        assert!(page::tuple(&p, 1).unwrap().hot_updated());

        redo_delete(&mut p, block, Xid(12), &[2, 0, 0]).unwrap();
        assert_eq!(page::tuple(&p, 2).unwrap().xmax_raw(), 12);
        assert_eq!(page::prune_hint(&p), 11);
        page::check(&p).unwrap();
        assert!(redo_delete(&mut p, block, Xid(12), &[9, 0, 0]).is_err());
    }
}
