//! Images of pages in records: which part of the page, and how they are compressed
//! (`wal_compression`).

use base::pglz::{pglz_compress, pglz_decompress};
use base::{PAGE_SIZE, Result, SqlState, err};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};

/// How images of pages are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ImageCompression {
    /// PostgreSQL's LZ.
    Pglz = 1,
    /// LZ4, block format.
    Lz4 = 2,
    /// Zstandard.
    Zstd = 3,
}

/// Level at which Zstandard compresses: its own default.
const ZSTD_LEVEL: i32 = 3;

/// Bytes that a compressed image costs besides itself: its length.
pub(crate) const LENGTH_BYTES: usize = 2;

thread_local! {
    /// What the session that this thread works for wants; without one the server's setting holds.
    static WANTED: Cell<Option<Option<ImageCompression>>> = const { Cell::new(None) };
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

impl ImageCompression {
    /// By its name in `wal_compression`; `off` and all others are no compression.
    pub fn from_setting(name: &str) -> Option<ImageCompression> {
        match name {
            "pglz" | "on" => Some(ImageCompression::Pglz),
            "lz4" => Some(ImageCompression::Lz4),
            "zstd" => Some(ImageCompression::Zstd),
            _ => None,
        }
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            ImageCompression::Pglz => "pglz",
            ImageCompression::Lz4 => "lz4",
            ImageCompression::Zstd => "zstd",
        }
    }

    pub(crate) fn from_bits(bits: u16) -> Option<ImageCompression> {
        match bits {
            1 => Some(ImageCompression::Pglz),
            2 => Some(ImageCompression::Lz4),
            3 => Some(ImageCompression::Zstd),
            _ => None,
        }
    }

    /// The bytes compressed, if that is worth it.
    fn pack(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let packed = match self {
            ImageCompression::Pglz => pglz_compress(bytes)?,
            ImageCompression::Lz4 => lz4_flex::block::compress(bytes),
            ImageCompression::Zstd => PACKER.with_borrow_mut(|packer| {
                if packer.is_none() {
                    *packer = zstd::bulk::Compressor::new(ZSTD_LEVEL).ok();
                }
                packer.as_mut()?.compress(bytes).ok()
            })?,
        };
        (packed.len() + LENGTH_BYTES < bytes.len()).then_some(packed)
    }

    /// The `raw_size` bytes again. The record's checksum was right, so that an error means that
    /// somebody wrote it wrong.
    pub(crate) fn unpack(self, bytes: &[u8], raw_size: usize) -> Result<Vec<u8>> {
        let raw = match self {
            ImageCompression::Pglz => pglz_decompress(bytes, raw_size).ok(),
            ImageCompression::Lz4 => lz4_flex::block::decompress(bytes, raw_size).ok(),
            ImageCompression::Zstd => zstd::bulk::decompress(bytes, raw_size).ok(),
        };
        let name = self.name();
        raw.filter(|r| r.len() == raw_size)
            .ok_or_else(|| err!(DATA_CORRUPTED, "could not decompress page image with {name}"))
    }
}

/// How images in records that this thread writes are compressed from now on; `None`: as
/// `Wal::set_compression` says.
#[inline]
pub fn compress_images(wanted: Option<Option<ImageCompression>>) {
    WANTED.set(wanted);
}

#[inline]
pub(crate) fn wanted() -> Option<Option<ImageCompression>> {
    WANTED.get()
}

/// A compressed image.
pub(crate) struct PackedImage {
    pub method: ImageCompression,
    /// Of which part of the page.
    pub hole: (u16, u16),
    pub bytes: Vec<u8>,
}

/// For each block of a record its compressed image, if it has one.
pub(crate) type PackedImages = SmallVec<[Option<PackedImage>; 4]>;

/// The part of a page that is not in its image: free space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ImageInfo {
    pub hole_offset: u16,
    pub hole_len: u16,
    /// Not to be restored, but compared with the page after redo.
    pub check_only: bool,
    /// How it is compressed, and its bytes then.
    pub packed: Option<(ImageCompression, u16)>,
}

impl ImageInfo {
    /// The image of a whole page.
    pub fn whole(check_only: bool) -> ImageInfo {
        ImageInfo { hole_offset: 0, hole_len: 0, check_only, packed: None }
    }

    /// Bytes of the page without the hole.
    pub fn raw_len(&self) -> usize {
        PAGE_SIZE - self.hole_len as usize
    }

    /// Bytes in the record.
    pub fn stored_len(&self) -> usize {
        self.packed.map_or(self.raw_len(), |(_, len)| len as usize)
    }

    /// Compresses the image of `page`, if that is worth it.
    pub fn pack(&self, page: &[u8], method: ImageCompression) -> Option<PackedImage> {
        let (start, end) = (self.hole_offset as usize, (self.hole_offset + self.hole_len) as usize);
        let bytes = match self.hole_len {
            0 => method.pack(page),
            _ => method.pack(&[&page[..start], &page[end..]].concat()),
        }?;
        Some(PackedImage { method, hole: (self.hole_offset, self.hole_len), bytes })
    }

    /// Makes the page of its bytes in the record.
    pub fn restore(&self, stored: &[u8], page: &mut [u8]) -> Result<()> {
        let start = self.hole_offset as usize;
        let end = start + self.hole_len as usize;
        let unpacked = match self.packed {
            Some((method, _)) => Some(method.unpack(stored, self.raw_len())?),
            None => None,
        };
        let raw = unpacked.as_deref().unwrap_or(stored);
        let (Some(low), Some(high)) = (raw.get(..start), raw.get(start..)) else {
            return Err(base::Error::new(SqlState::DATA_CORRUPTED, "page image is too short"));
        };
        page[..start].copy_from_slice(low);
        page[start..end].fill(0);
        page[end..PAGE_SIZE].copy_from_slice(high);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_gives_back_what_it_got() {
        let page: Vec<u8> = (0..PAGE_SIZE).map(|i| (i / 37) as u8).collect();
        for name in ["pglz", "lz4", "zstd", "on"] {
            let method = ImageCompression::from_setting(name).unwrap();
            let packed = method.pack(&page).unwrap();
            assert!(packed.len() < page.len() / 2, "{name}: {}", packed.len());
            assert_eq!(method.unpack(&packed, page.len()).unwrap(), page);
            assert!(method.unpack(&packed, page.len() + 1).is_err());
            assert!(method.unpack(&packed[..packed.len() / 2], page.len()).is_err());
            let mut rng = os::random::Rng::new(7);
            for _ in 0..200 {
                let mut damaged = packed.clone();
                let at = rng.below(damaged.len() as u64) as usize;
                damaged[at] ^= 1 << rng.below(8);
                let _ = method.unpack(&damaged, page.len());
            }
        }
        assert_eq!(ImageCompression::from_setting("off"), None);
    }

    #[test]
    fn what_cannot_be_compressed_stays_as_it_is() {
        let mut rng = os::random::Rng::new(5);
        let page: Vec<u8> = (0..PAGE_SIZE).map(|_| rng.next_u64() as u8).collect();
        for method in [ImageCompression::Pglz, ImageCompression::Lz4, ImageCompression::Zstd] {
            assert!(method.pack(&page).is_none());
        }
    }
}
