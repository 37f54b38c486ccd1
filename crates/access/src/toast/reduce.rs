//! Which values of a row that is too long are compressed and which are stored apart.

use crate::heap::page;
use base::Result;
use types::tuple::{Compression, VarlenaKind, compressed, data_size, deflate, varlena_size};
use types::{Datum, TupleDesc};

/// A row longer than this (header included) is made shorter if it can be.
pub const TUPLE_TARGET: usize = 2032;
/// Values whose strategy is MAIN leave the row only if it would be longer than this.
const MAIN_TARGET: usize = page::MAX_TUPLE_SIZE;
/// Nothing smaller is worth storing apart.
const MIN_EXTERNAL: usize = 24;

/// A payload to store apart.
pub struct Payload<'a> {
    /// The bytes as they will be stored.
    pub bytes: &'a [u8],
    /// How they are compressed, if they are.
    pub compression: Option<Compression>,
    /// Bytes of the value itself.
    pub raw_size: usize,
}

/// Stores payloads apart.
pub trait Store {
    /// Stores a payload and gives the 18 bytes that lead to it.
    fn store(&mut self, payload: Payload<'_>) -> Result<Vec<u8>>;
}

/// One column while the row is being made shorter.
struct Col {
    /// Bytes it takes in the row; 0 if it is not one to work on.
    size: usize,
    storage: u8,
    /// Compression was tried, or would be of no use.
    tried: bool,
    external: bool,
}

/// Length that a row of these values would have, header included.
pub fn row_size(desc: &TupleDesc, values: &[Datum]) -> usize {
    let nulls = values.iter().any(Datum::is_null);
    header_size(values.len(), nulls) + data_size(desc, values)
}

fn header_size(natts: usize, nulls: bool) -> usize {
    page::align8(page::TUPLE_HEADER + if nulls { natts.div_ceil(8) } else { 0 })
}

struct Reducer<'a, 's> {
    desc: &'a TupleDesc,
    values: &'a [Datum],
    raw: &'a mut [Option<Vec<u8>>],
    cols: Vec<Col>,
    store: Option<&'a mut (dyn Store + 's)>,
    hoff: usize,
}

/// Makes a row shorter: puts compressed varlenas and toast pointers into `raw`, which may already
/// hold pointers that stay. Without `store` (no TOAST table) only compression is tried.
pub fn reduce<'a>(
    desc: &'a TupleDesc,
    values: &'a [Datum],
    raw: &'a mut [Option<Vec<u8>>],
    store: Option<&'a mut dyn Store>,
) -> Result<()> {
    let cols = desc.attrs.iter().zip(values).zip(raw.iter()).map(|((attr, value), raw)| {
        let plain = attr.len != -1 || value.is_null() || attr.storage == b'p';
        let external = raw.as_deref().is_some_and(|b| b.first() == Some(&1));
        let compressed = raw
            .as_deref()
            .is_some_and(|b| matches!(varlena_size(b), Ok((VarlenaKind::Compressed, _))));
        let size = match raw {
            _ if plain || external => 0,
            Some(b) => b.len(),
            None => value.as_bytes().len() + 4,
        };
        Col { size, storage: attr.storage, tried: compressed || attr.storage == b'e', external }
    });
    let cols = cols.collect();
    let nulls = values.iter().any(Datum::is_null);
    let hoff = header_size(values.len(), nulls);
    let mut r = Reducer { desc, values, raw, cols, store, hoff };
    r.run()
}

impl Reducer<'_, '_> {
    fn size(&self) -> usize {
        // The padding before long values is what `data_size` does not know of replaced ones, so
        // count three bytes for each value that is not in its first form.
        let mut size = self.hoff + data_size(self.desc, self.values);
        for (i, bytes) in self.raw.iter().enumerate() {
            if let Some(bytes) = bytes {
                let len = self.values[i].as_bytes().len();
                let short = len < 127 && self.desc.attrs[i].storage != b'p';
                size = size.saturating_sub(len + if short { 1 } else { 4 }) + bytes.len() + 3;
            }
        }
        size
    }

    /// The column with the most bytes among those that `wanted` accepts.
    fn biggest(&self, wanted: impl Fn(&Col) -> bool) -> Option<usize> {
        let candidates = self.cols.iter().enumerate();
        candidates
            .filter(|(_, c)| c.size > MIN_EXTERNAL && !c.external && wanted(c))
            .max_by_key(|(i, c)| (c.size, std::cmp::Reverse(*i)))
            .map(|(i, _)| i)
    }

    fn run(&mut self) -> Result<()> {
        let can_store = self.store.is_some();
        while self.size() > TUPLE_TARGET {
            let attached = |c: &Col| c.storage == b'x' || c.storage == b'e';
            let Some(i) = self.biggest(|c| attached(c) && (!c.tried || c.size > TUPLE_TARGET))
            else {
                break;
            };
            if !self.cols[i].tried {
                self.compress(i);
            }
            if self.cols[i].size > TUPLE_TARGET - self.hoff {
                if !can_store {
                    // It stays as it is; do not look at it again.
                    self.cols[i].external = true;
                    continue;
                }
                self.externalise(i)?;
            }
        }
        while can_store && self.size() > TUPLE_TARGET {
            let Some(i) = self.biggest(|c| c.storage == b'x' || c.storage == b'e') else { break };
            self.externalise(i)?;
        }
        while self.size() > TUPLE_TARGET {
            let Some(i) = self.biggest(|c| c.storage == b'm' && !c.tried) else { break };
            self.compress(i);
        }
        while can_store && self.size() > MAIN_TARGET {
            let Some(i) = self.biggest(|c| c.storage == b'm') else { break };
            self.externalise(i)?;
        }
        Ok(())
    }

    fn compress(&mut self, i: usize) {
        self.cols[i].tried = true;
        let method = Compression::of_column(self.desc.attrs[i].compression);
        if let Some(bytes) = compress(self.values[i].as_bytes(), method)
            && bytes.len() + 2 < self.cols[i].size
        {
            self.cols[i].size = bytes.len();
            self.raw[i] = Some(bytes);
        }
    }

    fn externalise(&mut self, i: usize) -> Result<()> {
        let Some(store) = self.store.as_deref_mut() else { return Ok(()) };
        let value = self.values[i].as_bytes();
        let payload = match self.raw[i].as_deref() {
            Some(bytes) if matches!(varlena_size(bytes), Ok((VarlenaKind::Compressed, _))) => {
                let method = if bytes[7] >> 6 == 1 { Compression::Lz4 } else { Compression::Pglz };
                let compression = Some(method);
                Payload { bytes: &bytes[8..], compression, raw_size: value.len() }
            }
            _ => Payload { bytes: value, compression: None, raw_size: value.len() },
        };
        let pointer = store.store(payload)?;
        self.raw[i] = Some(pointer);
        self.cols[i].external = true;
        Ok(())
    }
}

/// A compressed varlena of this value, if compression makes it smaller.
pub fn compress(value: &[u8], method: Compression) -> Option<Vec<u8>> {
    let packed = compressed(&deflate(value, method)?, value.len(), method);
    (packed.len() + 2 < value.len()).then_some(packed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Attr;
    use types::tuple::{ToastPointer, form_tuple_with};

    struct Memory(Vec<Vec<u8>>);

    impl Store for Memory {
        fn store(&mut self, p: Payload<'_>) -> Result<Vec<u8>> {
            self.0.push(p.bytes.to_vec());
            let pointer = ToastPointer {
                raw_size: p.raw_size as u32,
                ext_size: p.bytes.len() as u32,
                compression: p.compression,
                value: base::Oid(self.0.len() as u32),
                relation: base::Oid(1),
            };
            Ok(pointer.encode().to_vec())
        }
    }

    fn noise(n: usize) -> Datum {
        let mut x = 88172645463325252u64;
        let next = move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x as u8
        };
        Datum::bytes(std::iter::repeat_with(next).take(n).collect())
    }

    #[test]
    fn biggest_goes_first() {
        let mut attrs = vec![
            Attr::new("a", types::oid::INT4, 4, true, 4),
            Attr::new("b", types::oid::TEXT, -1, false, 4),
            Attr::new("c", types::oid::TEXT, -1, false, 4),
        ];
        let values = [Datum::I32(1), noise(1500), noise(3000)];
        let desc = TupleDesc::new(attrs.clone());
        let mut raw = vec![None; 3];
        let mut store = Memory(Vec::new());
        reduce(&desc, &values, &mut raw, Some(&mut store)).unwrap();
        assert!(raw[1].is_none() && raw[2].is_some());
        assert_eq!(store.0[0].len(), 3000);
        let formed = form_tuple_with(&desc, &values, &raw).unwrap();
        assert!(formed.has_external && formed.data.len() < 1600);

        attrs[2].storage = b'm';
        let desc = TupleDesc::new(attrs);
        let values = [Datum::I32(1), noise(10), Datum::bytes(vec![b'z'; 5000])];
        let mut raw = vec![None; 3];
        reduce(&desc, &values, &mut raw, Some(&mut store)).unwrap();
        assert_eq!(store.0.len(), 1, "compression was enough");
        assert!(raw[2].as_ref().unwrap().len() < 200);
    }
}
