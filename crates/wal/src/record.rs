//! The bytes of a record. All numbers are little-endian; `README.md` draws them.

use crate::image::{ImageCompression, ImageInfo};
use crate::rmgr::Rmgr;
use base::{BlockNo, Fork, Lsn, Oid, PAGE_SIZE, RelFile, Result, Xid};
use crc_fast::{CrcAlgorithm, checksum};
use smallvec::SmallVec;
use std::ops::Range;

/// Bytes of the fixed header.
pub(crate) const HEADER: usize = 24;
/// Records start at multiples of this.
pub(crate) const ALIGN: u64 = 8;
/// Longest record in bytes.
pub(crate) const MAX_LEN: u32 = 1020 << 20;

const FORK_MASK: u8 = 0x0F;
const HAS_IMAGE: u8 = 0x10;
const WILL_INIT: u8 = 0x20;
const HAS_REL: u8 = 0x40;
const CHECK_ONLY: u8 = 0x80;
/// Where the method of compression is in a hole's length, which needs 14 bits.
const METHOD_SHIFT: u32 = 14;
const HOLE_MASK: u16 = (1 << METHOD_SHIFT) - 1;

const _: () = assert!(HEADER.is_multiple_of(ALIGN as usize));
const _: () = assert!(PAGE_SIZE <= HOLE_MASK as usize);

/// What a record says of one block, before the contents.
pub(crate) struct BlockHeader {
    pub id: u8,
    pub fork: Fork,
    pub will_init: bool,
    pub data_len: u32,
    pub image: Option<ImageInfo>,
    /// `None`: the relation of the block before.
    pub rel: Option<RelFile>,
    pub block: BlockNo,
}

impl BlockHeader {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut flags = self.fork as u8;
        flags |= if self.image.is_some() { HAS_IMAGE } else { 0 };
        flags |= if self.image.is_some_and(|i| i.check_only) { CHECK_ONLY } else { 0 };
        flags |= if self.will_init { WILL_INIT } else { 0 };
        flags |= if self.rel.is_some() { HAS_REL } else { 0 };
        out.extend_from_slice(&[self.id, flags]);
        out.extend_from_slice(&self.data_len.to_le_bytes());
        if let Some(image) = self.image {
            out.extend_from_slice(&image.hole_offset.to_le_bytes());
            let method = image.packed.map_or(0, |(method, _)| method as u16);
            let word = image.hole_len | method << METHOD_SHIFT;
            out.extend_from_slice(&word.to_le_bytes());
            if let Some((_, len)) = image.packed {
                out.extend_from_slice(&len.to_le_bytes());
            }
        }
        if let Some(rel) = self.rel {
            out.extend_from_slice(&rel.tablespace.0.to_le_bytes());
            out.extend_from_slice(&rel.database.0.to_le_bytes());
            out.extend_from_slice(&rel.number.to_le_bytes());
        }
        out.extend_from_slice(&self.block.0.to_le_bytes());
    }
}

/// Fills in the header of an encoded record, with the checksum of a record at position 0.
pub(crate) fn finish(out: &mut Vec<u8>, rmgr: u8, info: u8, xid: Xid, blocks: u8, data_len: u32) {
    let len = out.len();
    assert!(len <= MAX_LEN as usize, "record of {len} bytes");
    out[0..4].copy_from_slice(&(len as u32).to_le_bytes());
    out[8..16].copy_from_slice(&xid.0.to_le_bytes());
    out[16] = rmgr;
    out[17] = info;
    out[18] = blocks;
    out[20..24].copy_from_slice(&data_len.to_le_bytes());
    let crc = body_checksum(out);
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    out.resize(len.next_multiple_of(ALIGN as usize), 0);
}

/// Ties an encoded record to its position.
#[inline]
pub(crate) fn place(record: &mut [u8], at: u64) {
    let crc = u32::from_le_bytes([record[4], record[5], record[6], record[7]]);
    record[4..8].copy_from_slice(&(crc ^ position_mix(at)).to_le_bytes());
}

/// CRC-32C of everything but the checksum itself.
fn body_checksum(record: &[u8]) -> u32 {
    let len = u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
    // The length is mixed in rather than summed, so that one pass covers the rest.
    let crc = checksum(CrcAlgorithm::Crc32Iscsi, &record[8..]) as u32;
    crc ^ len.wrapping_mul(0x9E37_79B1)
}

/// A number that differs between positions: the same bytes elsewhere are not a record.
fn position_mix(at: u64) -> u32 {
    let mut z = at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (z >> 32) as u32
}

/// True if `record` (header and body without padding) was written for position `at`.
pub(crate) fn is_valid(record: &[u8], at: u64) -> bool {
    let crc = u32::from_le_bytes([record[4], record[5], record[6], record[7]]);
    crc == body_checksum(record) ^ position_mix(at)
}

/// One block of a record that was read.
#[derive(Clone, Debug)]
pub struct BlockRef {
    /// The writer's number for it.
    pub id: u8,
    /// The relation.
    pub rel: RelFile,
    /// The fork.
    pub fork: Fork,
    /// The page.
    pub block: BlockNo,
    /// True if redo makes the page from nothing.
    pub will_init: bool,
    image: Option<(ImageInfo, Range<usize>)>,
    data: Range<usize>,
}

impl BlockRef {
    /// True if the record holds the page itself; redo restores it and ignores the data.
    pub fn has_image(&self) -> bool {
        self.image.as_ref().is_some_and(|(i, _)| !i.check_only)
    }

    /// True if the record holds what the page must be after redo.
    pub fn has_check_image(&self) -> bool {
        self.image.as_ref().is_some_and(|(i, _)| i.check_only)
    }

    /// How the image is compressed, if it is.
    pub fn image_compression(&self) -> Option<ImageCompression> {
        self.image.as_ref().and_then(|(i, _)| i.packed).map(|(method, _)| method)
    }

    /// The part of the page that the image leaves out.
    pub fn hole(&self) -> Range<usize> {
        self.image
            .as_ref()
            .map_or(0..0, |(i, _)| i.hole_offset as usize..(i.hole_offset + i.hole_len) as usize)
    }

    /// Bytes of the image in the record; 0 without one.
    pub fn image_len(&self) -> usize {
        self.image.as_ref().map_or(0, |(_, r)| r.len())
    }
}

/// A record that was read. Reuse it for the next: its memory stays.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it starts.
    pub lsn_start: Lsn,
    /// Where the next one starts: the LSN of the pages it changed.
    pub lsn_end: Lsn,
    /// Whose it is.
    pub rmgr: Rmgr,
    /// Which kind.
    pub info: u8,
    /// Whose transaction wrote it; invalid if none.
    pub xid: Xid,
    /// The pages it changed.
    pub blocks: SmallVec<[BlockRef; 4]>,
    pub(crate) bytes: Vec<u8>,
    data: Range<usize>,
}

impl Default for Record {
    fn default() -> Record {
        Record {
            lsn_start: Lsn::INVALID,
            lsn_end: Lsn::INVALID,
            rmgr: Rmgr::Xlog,
            info: 0,
            xid: Xid::INVALID,
            blocks: SmallVec::new(),
            bytes: vec![],
            data: 0..0,
        }
    }
}

impl Record {
    /// The record's own data.
    pub fn data(&self) -> &[u8] {
        &self.bytes[self.data.clone()]
    }

    /// The block of this id.
    pub fn block(&self, id: u8) -> Option<&BlockRef> {
        self.blocks.iter().find(|b| b.id == id)
    }

    /// The data of the block of this id; empty if there is none, or an image instead.
    pub fn block_data(&self, id: u8) -> &[u8] {
        self.block(id).map_or(&[], |b| &self.bytes[b.data.clone()])
    }

    /// Restores the image of block `id` into `page` (8 KB). False if there is no image.
    pub fn restore_image(&self, id: u8, page: &mut [u8]) -> Result<bool> {
        match self.block(id) {
            Some(b) if b.has_image() => self.image_into(b, page),
            _ => Ok(false),
        }
    }

    /// Gives in `page` what block `id` must look like after redo, but for its LSN and
    /// checksum. False if the record does not say.
    pub fn check_image(&self, id: u8, page: &mut [u8]) -> Result<bool> {
        match self.block(id) {
            Some(b) if b.has_check_image() => self.image_into(b, page),
            _ => Ok(false),
        }
    }

    fn image_into(&self, block: &BlockRef, page: &mut [u8]) -> Result<bool> {
        let Some((image, range)) = &block.image else { return Ok(false) };
        image.restore(&self.bytes[range.clone()], page).map_err(|e| {
            e.context(format!("block {} of the log record at {}", block.id, self.lsn_start))
        })?;
        Ok(true)
    }

    /// Length in the log in bytes, without padding.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True before anything was read into it.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of page images.
    pub fn image_len(&self) -> usize {
        self.blocks.iter().map(|b| b.image_len()).sum()
    }

    /// Parses `self.bytes`, whose checksum is right. `None` if it makes no sense.
    pub(crate) fn decode(&mut self, start: u64, end: u64) -> Option<()> {
        let bytes = std::mem::take(&mut self.bytes);
        let parsed = self.decode_from(&bytes);
        self.bytes = bytes;
        self.lsn_start = Lsn(start);
        self.lsn_end = Lsn(end);
        parsed
    }

    fn decode_from(&mut self, bytes: &[u8]) -> Option<()> {
        let mut cursor = Cursor { bytes, at: 8 };
        self.xid = Xid(cursor.u64()?);
        self.rmgr = Rmgr::from_u8(cursor.u8()?)?;
        self.info = cursor.u8()?;
        let blocks = cursor.u8()?;
        cursor.u8()?;
        let data_len = cursor.u32()? as usize;
        self.blocks.clear();
        let mut rel = None;
        for _ in 0..blocks {
            let b = cursor.block(rel)?;
            rel = Some(b.rel);
            self.blocks.push(b);
        }
        let mut at = cursor.at;
        for b in &mut self.blocks {
            if let Some((_, range)) = &mut b.image {
                *range = take(&mut at, range.len(), bytes.len())?;
            }
            b.data = take(&mut at, b.data.len(), bytes.len())?;
        }
        self.data = take(&mut at, data_len, bytes.len())?;
        (at == bytes.len()).then_some(())
    }
}

fn take(at: &mut usize, len: usize, limit: usize) -> Option<Range<usize>> {
    let end = at.checked_add(len).filter(|end| *end <= limit)?;
    let range = *at..end;
    *at = end;
    Some(range)
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let a = self.bytes.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(*a)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|a| a[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A block's header; the ranges it gives hold lengths only.
    fn block(&mut self, before: Option<RelFile>) -> Option<BlockRef> {
        let id = self.u8()?;
        let flags = self.u8()?;
        let data_len = self.u32()? as usize;
        let mut image = None;
        if flags & HAS_IMAGE != 0 {
            let (hole_offset, word) = (self.u16()?, self.u16()?);
            let check_only = flags & CHECK_ONLY != 0;
            let packed = match ImageCompression::from_bits(word >> METHOD_SHIFT) {
                Some(method) => Some((method, self.u16()?)),
                None => None,
            };
            let hole_len = word & HOLE_MASK;
            let info = ImageInfo { hole_offset, hole_len, check_only, packed };
            let hole_end = info.hole_offset as usize + info.hole_len as usize;
            if hole_end > PAGE_SIZE {
                return None;
            }
            image = Some((info, 0..info.stored_len()));
        }
        let rel = if flags & HAS_REL != 0 {
            let (tablespace, database) = (Oid(self.u32()?), Oid(self.u32()?));
            RelFile { tablespace, database, number: self.u32()? }
        } else {
            before?
        };
        Some(BlockRef {
            id,
            rel,
            fork: Fork::from_u8(flags & FORK_MASK)?,
            block: BlockNo(self.u32()?),
            will_init: flags & WILL_INIT != 0,
            image,
            data: 0..data_len,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::ImagePolicy;
    use crate::{BlockFlags, RecordBuilder};

    fn rel(number: u32) -> RelFile {
        RelFile { tablespace: Oid(1663), database: Oid(5), number }
    }

    fn decoded(b: &RecordBuilder, redo: u64, check: bool) -> Record {
        decoded_as(b, redo, check, None)
    }

    fn decoded_as(
        b: &RecordBuilder,
        redo: u64,
        check: bool,
        method: Option<ImageCompression>,
    ) -> Record {
        let mut out = vec![];
        let policy = ImagePolicy { redo: Lsn(redo), full_page_writes: true, check };
        let packed = method.map(|m| b.pack_images(policy, m)).unwrap_or_default();
        b.encode(&mut out, policy, &packed);
        place(&mut out, 4096);
        let len = u32::from_le_bytes([out[0], out[1], out[2], out[3]]) as usize;
        assert!(out.len() - len < 8);
        out.truncate(len);
        assert!(is_valid(&out, 4096));
        assert!(!is_valid(&out, 4104));
        let mut record = Record { bytes: out, ..Record::default() };
        record.decode(4096, 4096 + len.next_multiple_of(8) as u64).unwrap();
        record
    }

    #[test]
    fn round_trip_with_and_without_images() {
        let mut page = vec![7u8; PAGE_SIZE];
        page[..8].copy_from_slice(&500u64.to_le_bytes());
        page[12..14].copy_from_slice(&100u16.to_le_bytes());
        page[14..16].copy_from_slice(&8000u16.to_le_bytes());
        page[100..8000].fill(0);
        let mut b = RecordBuilder::new(Rmgr::Heap, 0x20, Xid(77));
        b.block(0, rel(1), Fork::Main, BlockNo(3), Some(&page), BlockFlags::STANDARD);
        b.block(1, rel(1), Fork::Vm, BlockNo(4), None, BlockFlags::NONE);
        b.block(2, rel(2), Fork::Main, BlockNo(5), Some(&page), BlockFlags::WILL_INIT);
        b.data(b"main").block_data(1, b"one").block_data(0, b"zero").block_data(2, b"two");
        let r = decoded(&b, 499, false);
        assert_eq!((r.rmgr, r.info, r.xid, r.data()), (Rmgr::Heap, 0x20, Xid(77), &b"main"[..]));
        assert_eq!(r.block_data(0), b"zero");
        assert_eq!(r.block_data(1), b"one");
        assert_eq!(r.block_data(2), b"two");
        assert_eq!(r.block(1).unwrap().rel, rel(1));
        assert_eq!(r.block(1).unwrap().fork, Fork::Vm);
        assert!(r.block(2).unwrap().will_init);
        assert!(r.blocks.iter().all(|b| !b.has_image()));
        let r = decoded(&b, 500, false);
        assert!(r.block(0).unwrap().has_image());
        assert_eq!(r.block_data(0), b"");
        assert_eq!(r.image_len(), PAGE_SIZE - 7900);
        let mut restored = vec![1u8; PAGE_SIZE];
        assert!(r.restore_image(0, &mut restored).unwrap());
        assert_eq!(restored, page);
        assert!(!r.restore_image(2, &mut restored).unwrap());
        let r = decoded(&b, 499, true);
        assert_eq!(r.block_data(0), b"zero");
        assert!(!r.restore_image(0, &mut restored).unwrap());
        assert!(r.check_image(0, &mut restored).unwrap());
        assert!(r.check_image(2, &mut restored).unwrap());
        assert_eq!(restored, page);
    }

    #[test]
    fn compressed_images_come_back_whole() {
        let mut page = vec![7u8; PAGE_SIZE];
        page[..8].copy_from_slice(&500u64.to_le_bytes());
        page[12..14].copy_from_slice(&1100u16.to_le_bytes());
        page[14..16].copy_from_slice(&4000u16.to_le_bytes());
        page[1100..4000].fill(0);
        let mut b = RecordBuilder::new(Rmgr::Heap, 0x20, Xid(77));
        b.block(0, rel(1), Fork::Main, BlockNo(3), Some(&page), BlockFlags::STANDARD);
        b.block(1, rel(1), Fork::Main, BlockNo(4), Some(&page), BlockFlags::NONE);
        b.block(2, rel(1), Fork::Main, BlockNo(5), Some(&page), BlockFlags::WILL_INIT);
        b.data(b"main").block_data(1, b"one").block_data(0, b"zero").block_data(2, b"two");
        for method in [ImageCompression::Pglz, ImageCompression::Lz4, ImageCompression::Zstd] {
            let r = decoded_as(&b, 500, false, Some(method));
            assert_eq!((r.data(), r.block_data(2)), (&b"main"[..], &b"two"[..]));
            for id in [0, 1] {
                let block = r.block(id).unwrap();
                assert!(block.image_len() < 300, "{}", block.image_len());
                assert_eq!(block.image_compression(), Some(method));
                let mut restored = vec![1u8; PAGE_SIZE];
                assert!(r.restore_image(id, &mut restored).unwrap());
                assert_eq!(restored, page);
            }
            assert_eq!(r.block(0).unwrap().hole(), 1100..4000);
            // The decision changed while they were compressed: there is no image after all.
            let policy =
                |redo| ImagePolicy { redo: Lsn(redo), full_page_writes: true, check: false };
            let packed = b.pack_images(policy(500), method);
            let mut out = vec![];
            assert_eq!(b.encode(&mut out, policy(499), &packed), 0);
            let packed = b.pack_images(policy(499), method);
            assert_eq!(b.encode(&mut out, policy(500), &packed), 2);
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut rng = os::random::Rng::new(3);
        for _ in 0..50_000 {
            let mut bytes = vec![0; 24 + rng.below(80) as usize];
            bytes.iter_mut().for_each(|b| *b = rng.next_u64() as u8);
            bytes[16] %= 30;
            bytes[18] %= 4;
            if rng.one_in(2) {
                bytes[20..24].fill(0);
            }
            let mut record = Record { bytes, ..Record::default() };
            let _ = record.decode(8, 16);
        }
    }
}
