//! Log records of ends of transactions.
//!
//! ```text
//!  0  time of the end, i64, microseconds since 1970
//!  8  flags, u8: 1 the client did not wait, 2 made for a prepared transaction
//!  9  subtransactions that ended the same way, u32 count, then u64 each
//!     relations whose files go now, u32 count, then tablespace, database, number, u32 each
//!     invalidations and other bytes of the engine's, u32 length, then the bytes
//! ```

use base::{Error, Oid, RelFile, Result, SqlState, Xid};

/// The `info` of a commit record.
pub const INFO_COMMIT: u8 = 0x00;
/// The `info` of an abort record.
pub const INFO_ABORT: u8 = 0x20;

const FLAG_ASYNC: u8 = 1;

/// The payload of a commit or abort record.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct XactRecord {
    /// When it ended, in microseconds since 1970.
    pub time_micros: i64,
    /// The client did not wait for the flush.
    pub asynchronous: bool,
    /// Subtransactions that ended with it.
    pub subxids: Vec<Xid>,
    /// Relations whose files are removed now.
    pub dropped: Vec<RelFile>,
    /// What the engine adds: invalidation messages and the like.
    pub extra: Vec<u8>,
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.0.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.0 = rest;
                Ok(*head)
            }
            None => {
                Err(Error::new(SqlState::DATA_CORRUPTED, "transaction log record is too short"))
            }
        }
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }
}

impl XactRecord {
    /// The bytes of the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(
            21 + self.subxids.len() * 8 + self.dropped.len() * 12 + self.extra.len(),
        );
        out.extend_from_slice(&self.time_micros.to_le_bytes());
        out.push(if self.asynchronous { FLAG_ASYNC } else { 0 });
        out.extend_from_slice(&(self.subxids.len() as u32).to_le_bytes());
        for xid in &self.subxids {
            out.extend_from_slice(&xid.0.to_le_bytes());
        }
        out.extend_from_slice(&(self.dropped.len() as u32).to_le_bytes());
        for file in &self.dropped {
            for n in [file.tablespace.0, file.database.0, file.number] {
                out.extend_from_slice(&n.to_le_bytes());
            }
        }
        out.extend_from_slice(&(self.extra.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.extra);
        out
    }

    /// The record of these bytes.
    pub fn decode(bytes: &[u8]) -> Result<XactRecord> {
        let mut c = Cursor(bytes);
        let time_micros = i64::from_le_bytes(c.take()?);
        let [flags] = c.take()?;
        let mut record = XactRecord {
            time_micros,
            asynchronous: flags & FLAG_ASYNC != 0,
            ..XactRecord::default()
        };
        for _ in 0..c.u32()? {
            record.subxids.push(Xid(u64::from_le_bytes(c.take()?)));
        }
        for _ in 0..c.u32()? {
            record.dropped.push(RelFile {
                tablespace: Oid(c.u32()?),
                database: Oid(c.u32()?),
                number: c.u32()?,
            });
        }
        let len = c.u32()? as usize;
        match c.0.get(..len) {
            Some(extra) => record.extra = extra.to_vec(),
            None => return Err(Error::new(SqlState::DATA_CORRUPTED, "commit record is too short")),
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_no_panic_on_rubbish() {
        let record = XactRecord {
            time_micros: -5,
            asynchronous: true,
            subxids: vec![Xid(1 << 40), Xid(7)],
            dropped: vec![RelFile { tablespace: Oid(1663), database: Oid(5), number: 9 }],
            extra: b"abc".to_vec(),
        };
        let bytes = record.encode();
        assert_eq!(XactRecord::decode(&bytes).unwrap(), record);
        for len in 0..bytes.len() {
            assert!(XactRecord::decode(&bytes[..len]).is_err());
        }
    }
}
