//! How a value is stored: what `pg_column_size` and its like tell of a column without its value.

use super::varlena::{Compression, ToastPointer, VarlenaKind, u32_at, varlena_size};
use base::{Oid, Result};

/// How one varlena of a row is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredForm {
    /// Bytes that it takes, in the row or in the TOAST table.
    pub size: u32,
    /// How it is compressed, if it is.
    pub compression: Option<Compression>,
    /// Its `chunk_id` in the TOAST table; invalid if it is in the row.
    pub chunk: Oid,
}

/// Bits of a size; no value has a gigabyte.
const SIZE_BITS: u32 = 30;

impl StoredForm {
    /// Of the varlena at the start of `bytes`, header included.
    pub fn of(bytes: &[u8]) -> Result<StoredForm> {
        let (kind, size) = varlena_size(bytes)?;
        let mut form = StoredForm { size: size as u32, compression: None, chunk: Oid::INVALID };
        match kind {
            VarlenaKind::Short | VarlenaKind::Long => {}
            VarlenaKind::Compressed => {
                form.compression = Some(Compression::from_bits(u32_at(bytes, 4))?);
            }
            VarlenaKind::External => {
                let pointer = ToastPointer::decode(bytes)?;
                // PostgreSQL keeps the four bytes that tell the method and the raw size there.
                let info = if pointer.compression.is_some() { 4 } else { 0 };
                form.size = pointer.ext_size + info;
                form.compression = pointer.compression;
                form.chunk = pointer.value;
            }
        }
        Ok(form)
    }

    /// Of a value that has nothing done to it.
    pub fn plain(payload: usize) -> StoredForm {
        StoredForm { size: payload as u32 + 4, compression: None, chunk: Oid::INVALID }
    }

    /// As one number, for a column of numbers.
    pub fn pack(self) -> i64 {
        let method = self.compression.map_or(0, |c| c as u64 + 1);
        let low = u64::from(self.size) & ((1 << SIZE_BITS) - 1) | method << SIZE_BITS;
        (u64::from(self.chunk.0) << 32 | low) as i64
    }

    /// From the number.
    pub fn unpack(packed: i64) -> StoredForm {
        let bits = packed as u64;
        let compression = match bits >> SIZE_BITS & 3 {
            1 => Some(Compression::Pglz),
            2 => Some(Compression::Lz4),
            _ => None,
        };
        let size = (bits & ((1 << SIZE_BITS) - 1)) as u32;
        StoredForm { size, compression, chunk: Oid((bits >> 32) as u32) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compressed;
    use super::*;

    #[test]
    fn forms_are_told_apart() {
        let short = StoredForm::of(&[(3 + 1) << 1 | 1, 1, 2, 3]).unwrap();
        assert_eq!(short, StoredForm { size: 4, ..StoredForm::plain(0) });
        let packed = compressed(b"xyz", 1000, Compression::Lz4);
        let form = StoredForm::of(&packed).unwrap();
        assert_eq!((form.size, form.compression), (11, Some(Compression::Lz4)));
        let pointer = ToastPointer {
            raw_size: 9000,
            ext_size: 5000,
            compression: Some(Compression::Pglz),
            value: Oid(u32::MAX),
            relation: Oid(7),
        };
        let form = StoredForm::of(&pointer.encode()).unwrap();
        assert_eq!((form.size, form.chunk), (5004, Oid(u32::MAX)));
        for form in [short, form, StoredForm::plain((1 << 30) - 5)] {
            assert_eq!(StoredForm::unpack(form.pack()), form);
        }
    }
}
