//! The header that every page starts with, and the checksum in it.
//!
//! ```text
//!  0  lsn                 u64  end of the last log record that changed the page
//!  8  checksum            u16  of the page on disk; 0 while in memory
//! 10  flags               u16  \
//! 12  lower               u16   |  free space begins
//! 14  upper               u16   |  free space ends            owned by the access methods
//! 16  special             u16   |  their own area begins
//! 18  pagesize_version    u16   |
//! 20  prune_xid           u32  /
//! 24  ...
//! ```
//! All little-endian. A page of zeros is a valid page that was never used.

use base::{Lsn, PAGE_SIZE};
use crc_fast::{CrcAlgorithm, Digest};

/// The bytes of a page.
pub type Page = [u8; PAGE_SIZE];

/// Bytes of the page header.
pub const PAGE_HEADER_SIZE: usize = 24;
/// Where `flags` is.
pub const OFF_FLAGS: usize = 10;
/// Where `lower` is.
pub const OFF_LOWER: usize = 12;
/// Where `upper` is.
pub const OFF_UPPER: usize = 14;
/// Where `special` is.
pub const OFF_SPECIAL: usize = 16;
/// Where `pagesize_version` is.
pub const OFF_PAGESIZE_VERSION: usize = 18;
/// What `pagesize_version` is: size and layout version 4, as in PostgreSQL.
pub const PAGESIZE_VERSION: u16 = PAGE_SIZE as u16 | 4;

const OFF_CHECKSUM: usize = 8;

/// The end of the last log record that changed the page.
#[inline]
pub fn page_lsn(page: &Page) -> Lsn {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&page[..8]);
    Lsn(u64::from_le_bytes(bytes))
}

/// Sets what [`page_lsn`] returns.
#[inline]
pub fn set_page_lsn(page: &mut Page, lsn: Lsn) {
    page[..8].copy_from_slice(&lsn.0.to_le_bytes());
}

/// True if the page was never used: `upper` is 0.
#[inline]
pub fn page_is_new(page: &Page) -> bool {
    page[OFF_UPPER] == 0 && page[OFF_UPPER + 1] == 0
}

/// The checksum that belongs to these bytes at this place. Never 0.
pub fn page_checksum(page: &Page, block: u32) -> u16 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&page[..OFF_CHECKSUM]);
    digest.update(&block.to_le_bytes());
    digest.update(&page[OFF_CHECKSUM + 2..]);
    (digest.finalize() % 0xFFFF) as u16 + 1
}

/// Puts the checksum into a copy that goes to disk.
pub(crate) fn seal(page: &mut Page, block: u32) {
    let sum = if page.iter().all(|b| *b == 0) { 0 } else { page_checksum(page, block) };
    page[OFF_CHECKSUM..OFF_CHECKSUM + 2].copy_from_slice(&sum.to_le_bytes());
}

/// Checks a page that came from disk and clears the checksum in it. A page of zeros passes.
pub(crate) fn unseal(page: &mut Page, block: u32) -> bool {
    let stored = u16::from_le_bytes([page[OFF_CHECKSUM], page[OFF_CHECKSUM + 1]]);
    if stored == 0 {
        return page.iter().all(|b| *b == 0);
    }
    page[OFF_CHECKSUM..OFF_CHECKSUM + 2].fill(0);
    page_checksum(page, block) == stored
}

/// True if the header's limits can be those of a page that is in use.
pub(crate) fn has_sane_limits(page: &Page) -> bool {
    let at = |at: usize| usize::from(u16::from_le_bytes([page[at], page[at + 1]]));
    let (lower, upper, special) = (at(OFF_LOWER), at(OFF_UPPER), at(OFF_SPECIAL));
    at(OFF_PAGESIZE_VERSION) == usize::from(PAGESIZE_VERSION)
        && (PAGE_HEADER_SIZE..=upper).contains(&lower)
        && upper <= special
        && special <= PAGE_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_sees_bytes_and_place() {
        let mut page = [0u8; PAGE_SIZE];
        assert!(unseal(&mut page, 3));
        page[100] = 7;
        let mut disk = page;
        seal(&mut disk, 3);
        let mut moved = disk;
        assert!(!unseal(&mut moved, 4));
        let mut torn = disk;
        torn[8000] ^= 1;
        assert!(!unseal(&mut torn, 3));
        assert!(unseal(&mut disk, 3));
        assert_eq!(disk, page);
    }
}
