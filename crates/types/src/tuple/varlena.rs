//! Headers of values without a fixed size, and values that are compressed or stored apart.

use crate::blob::Blob;
use base::pglz::{pglz_compress, pglz_decompress};
use base::{Oid, Result, err};
use std::cell::Cell;

/// Bytes of a toast pointer with its two header bytes.
pub const TOAST_POINTER_SIZE: usize = 18;
const TOAST_TAG: u8 = 18;
const METHOD_SHIFT: u32 = 30;
const SIZE_MASK: u32 = (1 << METHOD_SHIFT) - 1;

/// How a value is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Compression {
    /// PostgreSQL's LZ.
    Pglz = 0,
    /// LZ4 block format.
    Lz4 = 1,
}

thread_local! {
    static DEFAULT: Cell<Compression> = const { Cell::new(Compression::Pglz) };
}

impl Compression {
    /// How values of columns that do not say are compressed by this thread:
    /// `default_toast_compression` of the session whose statement it runs.
    pub fn default_of_thread() -> Compression {
        DEFAULT.get()
    }

    /// Takes over the setting of the session whose statement begins.
    #[inline]
    pub fn set_default_of_thread(self) {
        DEFAULT.set(self);
    }

    /// By `attcompression`: how values of such a column are compressed now.
    pub fn of_column(attcompression: u8) -> Compression {
        match attcompression {
            b'p' => Compression::Pglz,
            b'l' => Compression::Lz4,
            _ => Compression::default_of_thread(),
        }
    }

    pub(super) fn from_bits(bits: u32) -> Result<Compression> {
        match bits >> METHOD_SHIFT {
            0 => Ok(Compression::Pglz),
            1 => Ok(Compression::Lz4),
            _ => Err(err!(DATA_CORRUPTED, "invalid compression method of a stored value")),
        }
    }
}

/// Where a value that is stored apart lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToastPointer {
    /// Size of the value uncompressed, without header.
    pub raw_size: u32,
    /// Bytes stored in the TOAST table.
    pub ext_size: u32,
    /// How they are compressed, if they are.
    pub compression: Option<Compression>,
    /// `chunk_id` in the TOAST table.
    pub value: Oid,
    /// The TOAST table.
    pub relation: Oid,
}

impl ToastPointer {
    /// The 18 bytes in a row.
    pub fn encode(&self) -> [u8; TOAST_POINTER_SIZE] {
        let mut out = [0; TOAST_POINTER_SIZE];
        out[0] = 1;
        out[1] = TOAST_TAG;
        out[2..6].copy_from_slice(&(self.raw_size + 4).to_le_bytes());
        let method = self.compression.map_or(0, |c| c as u32) << METHOD_SHIFT;
        out[6..10].copy_from_slice(&(self.ext_size | method).to_le_bytes());
        out[10..14].copy_from_slice(&self.value.0.to_le_bytes());
        out[14..18].copy_from_slice(&self.relation.0.to_le_bytes());
        out
    }

    /// Reads the 18 bytes.
    pub fn decode(bytes: &[u8]) -> Result<ToastPointer> {
        if bytes.len() < TOAST_POINTER_SIZE || bytes[0] != 1 || bytes[1] != TOAST_TAG {
            return Err(err!(DATA_CORRUPTED, "invalid toast pointer"));
        }
        let word = |at: usize| u32_at(bytes, at);
        let (raw, ext) = (word(2).wrapping_sub(4), word(6));
        let ext_size = ext & SIZE_MASK;
        let compression = if ext_size < raw { Some(Compression::from_bits(ext)?) } else { None };
        Ok(ToastPointer {
            raw_size: raw,
            ext_size,
            compression,
            value: Oid(word(10)),
            relation: Oid(word(14)),
        })
    }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    }
}

/// Fetches values that are stored apart.
pub trait Detoast {
    /// The stored bytes, still compressed if the pointer says so: `ext_size` of them.
    fn fetch(&self, pointer: &ToastPointer) -> Result<Vec<u8>>;
}

/// For rows that cannot have values stored apart (index entries, records).
pub struct NoDetoast;

impl Detoast for NoDetoast {
    fn fetch(&self, _: &ToastPointer) -> Result<Vec<u8>> {
        Err(err!(DATA_CORRUPTED, "unexpected toast pointer"))
    }
}

/// What kind of varlena starts here, and where its payload is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarlenaKind {
    /// 1-byte header.
    Short,
    /// 4-byte header.
    Long,
    /// 4-byte header, compressed payload after 4 more bytes.
    Compressed,
    /// A toast pointer.
    External,
}

/// Kind and total size, header included, of the varlena at the start of `bytes`.
#[inline]
pub fn varlena_size(bytes: &[u8]) -> Result<(VarlenaKind, usize)> {
    let Some(&first) = bytes.first() else { return Err(truncated()) };
    let (kind, size, least) = if first == 1 {
        (VarlenaKind::External, TOAST_POINTER_SIZE, TOAST_POINTER_SIZE)
    } else if first & 1 == 1 {
        (VarlenaKind::Short, (first >> 1) as usize, 1)
    } else {
        if bytes.len() < 4 {
            return Err(truncated());
        }
        let word = u32_at(bytes, 0);
        let size = (word >> 2) as usize;
        if word & 2 == 0 {
            (VarlenaKind::Long, size, 4)
        } else {
            (VarlenaKind::Compressed, size, 8)
        }
    };
    if size < least || size > bytes.len() {
        return Err(truncated());
    }
    Ok((kind, size))
}

#[cold]
pub(super) fn truncated() -> base::Error {
    err!(DATA_CORRUPTED, "a value runs past the end of its row")
}

/// The plain payload of a varlena, header included in `bytes`, fetched and decompressed.
pub fn detoast(bytes: &[u8], fetcher: &dyn Detoast) -> Result<Blob> {
    let (kind, size) = varlena_size(bytes)?;
    match kind {
        VarlenaKind::Short => Ok(Blob::new(&bytes[1..size])),
        VarlenaKind::Long => Ok(Blob::new(&bytes[4..size])),
        VarlenaKind::Compressed => {
            let info = u32_at(bytes, 4);
            let method = Compression::from_bits(info)?;
            Ok(Blob::from(inflate(&bytes[8..size], (info & SIZE_MASK) as usize, method)?))
        }
        VarlenaKind::External => {
            let pointer = ToastPointer::decode(bytes)?;
            let stored = fetcher.fetch(&pointer)?;
            match pointer.compression {
                None => Ok(Blob::from(stored)),
                Some(method) => {
                    Ok(Blob::from(inflate(&stored, pointer.raw_size as usize, method)?))
                }
            }
        }
    }
}

/// Decompresses `bytes` to `raw_size` bytes.
pub fn inflate(bytes: &[u8], raw_size: usize, method: Compression) -> Result<Vec<u8>> {
    match method {
        Compression::Pglz => pglz_decompress(bytes, raw_size),
        Compression::Lz4 => match lz4_flex::block::decompress(bytes, raw_size) {
            Ok(raw) if raw.len() == raw_size => Ok(raw),
            _ => Err(err!(DATA_CORRUPTED, "compressed lz4 data is corrupt")),
        },
    }
}

/// The bytes compressed, if that makes them smaller.
pub fn deflate(bytes: &[u8], method: Compression) -> Option<Vec<u8>> {
    match method {
        Compression::Pglz => pglz_compress(bytes),
        Compression::Lz4 => {
            Some(lz4_flex::block::compress(bytes)).filter(|p| p.len() <= bytes.len())
        }
    }
}

/// A compressed varlena with its two header words.
pub fn compressed(payload: &[u8], raw_size: usize, method: Compression) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 8);
    out.extend_from_slice(&(((payload.len() as u32 + 8) << 2) | 2).to_le_bytes());
    let info = raw_size as u32 | (method as u32) << METHOD_SHIFT;
    out.extend_from_slice(&info.to_le_bytes());
    out.extend_from_slice(payload);
    out
}
