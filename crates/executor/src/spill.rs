//! Temporary files of batches, for what does not fit in work_mem.
//!
//! A file is a sequence of batches, each: rows (u32), columns (u16), then for each column its
//! physical type (u8), whether it has nulls (u8), the null words, and the values little-endian;
//! byte strings as all lengths (u32) followed by all bytes. The file goes when its owner does.

use base::{Error, Result, err};
use os::{Disk, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use types::Batch;
use types::batch::{Bitmap, BytesColumn, Column, ColumnData};

/// Told of a temporary file that is gone: its path and the bytes it had.
pub type TempTold = Box<dyn Fn(&Path, u64) + Send + Sync>;

/// What the files of one session hold.
struct TempUse {
    next: AtomicU64,
    /// Bytes in files now.
    bytes: AtomicU64,
    /// `temp_file_limit` in kilobytes; negative is none.
    limit_kb: AtomicI64,
    told: Option<TempTold>,
}

/// Where temporary files go.
#[derive(Clone)]
pub struct TempSpace {
    disk: Disk,
    dir: PathBuf,
    /// Files are named `pgsql_tmp<owner>.<n>`.
    owner: u64,
    used: Arc<TempUse>,
}

impl std::fmt::Debug for TempSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TempSpace({})", self.dir.display())
    }
}

impl TempSpace {
    /// Files in `dir` (`base/pgsql_tmp`), which must exist, told apart by `owner` (a session).
    pub fn new(disk: Disk, dir: PathBuf, owner: u64) -> TempSpace {
        TempSpace::telling(disk, dir, owner, None)
    }

    /// The same; `told` hears of each file that is gone.
    pub fn telling(disk: Disk, dir: PathBuf, owner: u64, told: Option<TempTold>) -> TempSpace {
        let used = TempUse {
            next: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            limit_kb: AtomicI64::new(-1),
            told,
        };
        TempSpace { disk, dir, owner, used: Arc::new(used) }
    }

    /// Sets `temp_file_limit`, in kilobytes; negative is none.
    pub fn set_limit_kb(&self, kb: i64) {
        self.used.limit_kb.store(kb, Ordering::Relaxed);
    }

    pub(crate) fn create(&self) -> Result<SpillFile> {
        let n = self.used.next.fetch_add(1, Ordering::Relaxed);
        let path = self.dir.join(format!("pgsql_tmp{}.{n}", self.owner));
        let file = self.disk.open(&path, &OpenOptions::new().create().truncate())?;
        let space = self.clone();
        Ok(SpillFile { file, path, space, at: 0, batches: Vec::new(), rows: 0 })
    }

    fn grow(&self, bytes: u64) -> Result<()> {
        let now = self.used.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let limit = self.used.limit_kb.load(Ordering::Relaxed);
        if limit >= 0 && now > (limit as u64) << 10 {
            self.used.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(err!(
                CONFIGURATION_LIMIT_EXCEEDED,
                "temporary file size exceeds \"temp_file_limit\" ({limit}kB)"
            ));
        }
        Ok(())
    }
}

/// A file of batches.
pub(crate) struct SpillFile {
    file: File,
    path: PathBuf,
    space: TempSpace,
    at: u64,
    /// Offset and length of each batch.
    batches: Vec<(u64, u32)>,
    rows: u64,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // A file that stays behind is removed when the server starts.
        let _ = self.space.disk.remove(&self.path);
        self.space.used.bytes.fetch_sub(self.at, Ordering::Relaxed);
        if let Some(told) = &self.space.used.told {
            told(&self.path, self.at);
        }
    }
}

impl SpillFile {
    /// How many batches were written.
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Appends the rows that count.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let batch = batch.compact();
        let mut out = Vec::with_capacity(batch.len * batch.columns.len() * 8 + 64);
        encode(&batch, &mut out);
        self.space.grow(out.len() as u64)?;
        // Counted even if the write fails: the file goes with its statement then.
        let began = buffer::counts::begin();
        self.file.write_at(&out, self.at)?;
        buffer::count_temp(false, pages(out.len()), began);
        self.batches.push((self.at, out.len() as u32));
        self.at += out.len() as u64;
        self.rows += batch.len as u64;
        Ok(())
    }

    /// One of the batches.
    pub fn read(&self, index: usize) -> Result<Batch> {
        let (offset, len) = self.batches[index];
        let mut bytes = vec![0; len as usize];
        let began = buffer::counts::begin();
        self.file.read_exact_at(&mut bytes, offset)?;
        buffer::count_temp(true, pages(bytes.len()), began);
        decode(&bytes).ok_or_else(broken)
    }
}

/// How many pages these bytes would fill.
fn pages(bytes: usize) -> u64 {
    bytes.div_ceil(base::PAGE_SIZE) as u64
}

#[cold]
fn broken() -> Error {
    err!(DATA_CORRUPTED, "a temporary file does not hold what was written to it")
}

fn encode(batch: &Batch, out: &mut Vec<u8>) {
    out.extend_from_slice(&(batch.len as u32).to_le_bytes());
    out.extend_from_slice(&(batch.columns.len() as u16).to_le_bytes());
    for column in &batch.columns {
        out.push(column.phys_type() as u8);
        out.push(column.nulls.is_some() as u8);
        if let Some(nulls) = &column.nulls {
            nulls.words().iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        }
        macro_rules! fixed {
            ($v:ident) => {
                $v.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()))
            };
        }
        match &column.data {
            ColumnData::Bool(v) => out.extend(v.iter().map(|b| *b as u8)),
            ColumnData::Char(v) => out.extend_from_slice(v),
            ColumnData::I16(v) => fixed!(v),
            ColumnData::I32(v) => fixed!(v),
            ColumnData::I64(v) => fixed!(v),
            ColumnData::U32(v) => fixed!(v),
            ColumnData::F32(v) => fixed!(v),
            ColumnData::F64(v) => fixed!(v),
            ColumnData::Bytes(v) => {
                for view in v.views() {
                    out.extend_from_slice(&(view.len() as u32).to_le_bytes());
                }
                (0..v.len()).for_each(|i| out.extend_from_slice(v.get(i)));
            }
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

fn decode(bytes: &[u8]) -> Option<Batch> {
    let mut r = Reader { bytes };
    let len = u32::from_le_bytes(r.array()?) as usize;
    let count = u16::from_le_bytes(r.array()?);
    let mut columns = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let [phys, has_nulls] = r.array()?;
        let mut nulls = None;
        if has_nulls != 0 {
            let mut map = Bitmap::zeros(len);
            for w in 0..len.div_ceil(64) {
                let word = u64::from_le_bytes(r.array()?);
                (0..64).filter(|b| word >> b & 1 != 0).for_each(|b| map.set(w * 64 + b));
            }
            nulls = Some(map);
        }
        columns.push(Arc::new(Column { data: decode_values(&mut r, phys, len)?, nulls }));
    }
    Some(Batch { len, columns, sel: None })
}

fn decode_values(r: &mut Reader, phys: u8, len: usize) -> Option<ColumnData> {
    macro_rules! fixed {
        ($variant:ident, $t:ty) => {{
            let mut v = Vec::with_capacity(len);
            for _ in 0..len {
                v.push(<$t>::from_le_bytes(r.array()?));
            }
            ColumnData::$variant(v)
        }};
    }
    Some(match phys {
        0 => ColumnData::Bool(r.take(len)?.iter().map(|b| *b != 0).collect()),
        1 => ColumnData::Char(r.take(len)?.to_vec()),
        2 => fixed!(I16, i16),
        3 => fixed!(I32, i32),
        4 => fixed!(I64, i64),
        5 => fixed!(U32, u32),
        6 => fixed!(F32, f32),
        7 => fixed!(F64, f64),
        8 => {
            let lens = r.take(len * 4)?;
            let mut v = BytesColumn::with_capacity(len);
            for l in lens.chunks_exact(4) {
                let n = u32::from_le_bytes([l[0], l[1], l[2], l[3]]) as usize;
                v.push(r.take(n)?);
            }
            v.seal();
            ColumnData::Bytes(v)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Datum, PhysType};

    #[test]
    fn batches_come_back() {
        let phys = [PhysType::I32, PhysType::Bytes];
        let rows: Vec<Vec<Datum>> = (0..100)
            .map(|i| {
                let text = if i % 7 == 0 { Datum::Null } else { Datum::string("x".repeat(i)) };
                vec![Datum::I32(i as i32), text]
            })
            .collect();
        let mut columns = crate::batch::builders(&phys, rows.len());
        for row in &rows {
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push_ref(value));
        }
        let batch = crate::batch::finish(rows.len(), columns);
        let mut bytes = Vec::new();
        encode(&batch, &mut bytes);
        let back = decode(&bytes).unwrap();
        assert_eq!((0..100).map(|i| back.row(i)).collect::<Vec<_>>(), rows);
        assert!(decode(&bytes[..bytes.len() - 1]).is_none());
    }
}
