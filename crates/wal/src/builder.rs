//! Building a record: what it says, and which pages it changed.

use crate::image::{ImageCompression, ImageInfo, PackedImages};
use crate::record::{self, BlockHeader};
use crate::rmgr::Rmgr;
use base::{BlockNo, Fork, Lsn, PAGE_SIZE, RelFile, Xid};
use smallvec::SmallVec;
use std::ops::BitOr;

/// How a changed page is logged.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BlockFlags(pub u8);

impl BlockFlags {
    /// Nothing special: an image is taken if the page is new to this checkpoint's log.
    pub const NONE: BlockFlags = BlockFlags(0);
    /// The page has `lower` and `upper` in its header, and nothing between them.
    pub const STANDARD: BlockFlags = BlockFlags(1);
    /// Redo makes the page from nothing, so that no image is ever needed.
    pub const WILL_INIT: BlockFlags = BlockFlags(2);
    /// Never take an image.
    pub const NO_IMAGE: BlockFlags = BlockFlags(4);
    /// Always take an image.
    pub const FORCE_IMAGE: BlockFlags = BlockFlags(8);
    /// Keep the block's data although there is an image.
    pub const KEEP_DATA: BlockFlags = BlockFlags(16);

    /// True if all of `other` is set.
    pub const fn has(self, other: BlockFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for BlockFlags {
    type Output = BlockFlags;
    fn bitor(self, other: BlockFlags) -> BlockFlags {
        BlockFlags(self.0 | other.0)
    }
}

struct Block<'a> {
    id: u8,
    rel: RelFile,
    fork: Fork,
    block: BlockNo,
    page: Option<&'a [u8]>,
    flags: BlockFlags,
    /// Where this block's data ends in `block_data`; it starts where the one before ends.
    data_end: usize,
}

/// Which pages get an image.
#[derive(Clone, Copy)]
pub(crate) struct ImagePolicy {
    /// Those that did not change since here, if `full_page_writes`.
    pub redo: Lsn,
    pub full_page_writes: bool,
    /// The others too, for replay to compare with: `wal_consistency_checking`.
    pub check: bool,
}

/// A record in the making. It lives on the stack: small records allocate nothing.
pub struct RecordBuilder<'a> {
    rmgr: Rmgr,
    info: u8,
    xid: Xid,
    blocks: SmallVec<[Block<'a>; 4]>,
    block_data: SmallVec<[u8; 256]>,
    data: SmallVec<[u8; 128]>,
}

impl<'a> RecordBuilder<'a> {
    /// A record of this manager and kind, written by this transaction (or [`Xid::INVALID`]).
    #[inline]
    pub fn new(rmgr: Rmgr, info: u8, xid: Xid) -> RecordBuilder<'a> {
        RecordBuilder {
            rmgr,
            info,
            xid,
            blocks: SmallVec::new(),
            block_data: SmallVec::new(),
            data: SmallVec::new(),
        }
    }

    /// Whose record it is.
    pub fn rmgr(&self) -> Rmgr {
        self.rmgr
    }

    /// Appends to the record's own data.
    #[inline]
    pub fn data(&mut self, bytes: &[u8]) -> &mut Self {
        self.data.extend_from_slice(bytes);
        self
    }

    /// Adds a changed page. `page` is its contents *after* the change with the LSN from
    /// *before* it, so that the log can decide on an image and take it; `None` if no image can
    /// be taken. `id` is the caller's number for it, from 0.
    #[inline]
    pub fn block(
        &mut self,
        id: u8,
        rel: RelFile,
        fork: Fork,
        block: BlockNo,
        page: Option<&'a [u8]>,
        flags: BlockFlags,
    ) -> &mut Self {
        debug_assert!(page.is_none_or(|p| p.len() == PAGE_SIZE));
        debug_assert!(self.blocks.iter().all(|b| b.id != id), "block id used twice");
        let data_end = self.block_data.len();
        self.blocks.push(Block { id, rel, fork, block, page, flags, data_end });
        self
    }

    /// Appends to the data of block `id`, which must have been added. Redo does not see it if
    /// an image was taken, unless [`BlockFlags::KEEP_DATA`].
    #[inline]
    pub fn block_data(&mut self, id: u8, bytes: &[u8]) -> &mut Self {
        let Some(at) = self.blocks.iter().position(|b| b.id == id) else {
            debug_assert!(false, "data for a block that is not there");
            return self;
        };
        let end = self.blocks[at].data_end;
        if at + 1 == self.blocks.len() {
            self.block_data.extend_from_slice(bytes);
        } else {
            self.block_data.insert_from_slice(end, bytes);
        }
        for b in &mut self.blocks[at..] {
            b.data_end += bytes.len();
        }
        self
    }

    /// Encodes the record into `out` (emptied first), padded to 8 bytes, without its position.
    /// Gives the number of images; those that are in `packed` too are taken from there.
    pub(crate) fn encode(
        &self,
        out: &mut Vec<u8>,
        images: ImagePolicy,
        packed: &PackedImages,
    ) -> u32 {
        out.clear();
        out.resize(record::HEADER, 0);
        let mut taken: SmallVec<[Option<ImageInfo>; 4]> = SmallVec::new();
        let mut from = 0;
        let mut last_rel = None;
        for (i, b) in self.blocks.iter().enumerate() {
            let mut image = b.image(images);
            if let (Some(image), Some(Some(p))) = (&mut image, packed.get(i)) {
                image.packed = Some((p.method, p.bytes.len() as u16));
                debug_assert_eq!(p.hole, (image.hole_offset, image.hole_len));
            }
            let data_len = if b.has_data(&image) { b.data_end - from } else { 0 };
            from = b.data_end;
            BlockHeader {
                id: b.id,
                fork: b.fork,
                will_init: b.flags.has(BlockFlags::WILL_INIT),
                data_len: data_len as u32,
                image,
                rel: (last_rel != Some(b.rel)).then_some(b.rel),
                block: b.block,
            }
            .encode(out);
            last_rel = Some(b.rel);
            taken.push(image);
        }
        from = 0;
        for (i, (b, image)) in self.blocks.iter().zip(&taken).enumerate() {
            if let (Some(_), Some(Some(p))) = (image, packed.get(i)) {
                out.extend_from_slice(&p.bytes);
            } else if let (Some(image), Some(page)) = (image, b.page) {
                out.extend_from_slice(&page[..image.hole_offset as usize]);
                out.extend_from_slice(&page[(image.hole_offset + image.hole_len) as usize..]);
            }
            if b.has_data(image) {
                out.extend_from_slice(&self.block_data[from..b.data_end]);
            }
            from = b.data_end;
        }
        out.extend_from_slice(&self.data);
        let (blocks, data_len) = (self.blocks.len() as u8, self.data.len() as u32);
        record::finish(out, self.rmgr as u8, self.info, self.xid, blocks, data_len);
        taken.iter().flatten().filter(|i| !i.check_only).count() as u32
    }
}

impl RecordBuilder<'_> {
    /// Compresses the images that the record will have, as far as can be told now.
    #[cold]
    pub(crate) fn pack_images(&self, images: ImagePolicy, by: ImageCompression) -> PackedImages {
        let pack = |b: &Block| b.image(images)?.pack(b.page?, by);
        self.blocks.iter().map(pack).collect()
    }
}

impl Block<'_> {
    fn has_data(&self, image: &Option<ImageInfo>) -> bool {
        image.is_none_or(|i| i.check_only) || self.flags.has(BlockFlags::KEEP_DATA)
    }

    /// Decides whether the page's image goes into the record, and which part of it.
    fn image(&self, policy: ImagePolicy) -> Option<ImageInfo> {
        let page = self.page?;
        let mut check_only = false;
        if !self.flags.has(BlockFlags::FORCE_IMAGE) {
            let none = BlockFlags::WILL_INIT.0 | BlockFlags::NO_IMAGE.0;
            let lsn = u64::from_le_bytes(*page.first_chunk::<8>()?);
            if !policy.full_page_writes || self.flags.0 & none != 0 || lsn > policy.redo.0 {
                if !policy.check || self.flags.has(BlockFlags::NO_IMAGE) {
                    return None;
                }
                check_only = true;
            }
        }
        let whole = ImageInfo::whole(check_only);
        if !self.flags.has(BlockFlags::STANDARD) {
            return Some(whole);
        }
        let lower = u16::from_le_bytes([page[12], page[13]]);
        let upper = u16::from_le_bytes([page[14], page[15]]);
        if lower >= 24 && lower < upper && upper as usize <= PAGE_SIZE {
            return Some(ImageInfo { hole_offset: lower, hole_len: upper - lower, ..whole });
        }
        Some(whole)
    }
}
