//! The bytes of a simulated file: what the process sees, and what a crash would leave.

use crate::random::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;

const CHUNK: u64 = 4096;
/// What the disk writes in one piece. A crash tears larger writes at these borders.
pub const SECTOR: u64 = 512;

/// Sparse bytes; chunks that were never written are zero and cost nothing.
#[derive(Clone, Default, Debug)]
pub struct Content {
    len: u64,
    chunks: BTreeMap<u64, Arc<[u8; CHUNK as usize]>>,
}

impl Content {
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn read(&self, buf: &mut [u8], offset: u64) -> usize {
        let end = self.len.min(offset.saturating_add(buf.len() as u64));
        let count = end.saturating_sub(offset) as usize;
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let within = (at % CHUNK) as usize;
            let n = (CHUNK as usize - within).min(count - done);
            match self.chunks.get(&(at / CHUNK)) {
                Some(c) => buf[done..done + n].copy_from_slice(&c[within..within + n]),
                None => buf[done..done + n].fill(0),
            }
            done += n;
        }
        count
    }

    pub fn write(&mut self, data: &[u8], offset: u64) {
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let within = (at % CHUNK) as usize;
            let n = (CHUNK as usize - within).min(data.len() - done);
            let piece = &data[done..done + n];
            let chunk = self.chunks.entry(at / CHUNK);
            let zero = || Arc::new([0; CHUNK as usize]);
            if piece.iter().any(|b| *b != 0)
                || matches!(chunk, std::collections::btree_map::Entry::Occupied(_))
            {
                Arc::make_mut(chunk.or_insert_with(zero))[within..within + n]
                    .copy_from_slice(piece);
            }
            done += n;
        }
        self.len = self.len.max(offset + data.len() as u64);
    }

    pub fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.chunks.retain(|k, _| k * CHUNK < len);
            let within = (len % CHUNK) as usize;
            if within > 0
                && let Some(c) = self.chunks.get_mut(&(len / CHUNK))
            {
                Arc::make_mut(c)[within..].fill(0);
            }
        }
        self.len = len;
    }
}

/// A change that no sync has covered yet.
#[derive(Clone, Debug)]
enum Pending {
    Write { offset: u64, data: Vec<u8> },
    Length(u64),
    AtLeast(u64),
}

/// One file.
#[derive(Clone, Default, Debug)]
pub struct Inode {
    /// What the process sees.
    pub seen: Content,
    durable: Content,
    pending: Vec<Pending>,
}

impl Inode {
    pub fn write(&mut self, data: &[u8], offset: u64) {
        self.seen.write(data, offset);
        self.pending.push(Pending::Write { offset, data: data.to_vec() });
    }

    pub fn set_len(&mut self, len: u64) {
        self.seen.set_len(len);
        self.pending.push(Pending::Length(len));
    }

    pub fn allocate(&mut self, end: u64) {
        if end > self.seen.len() {
            self.seen.set_len(end);
        }
        self.pending.push(Pending::AtLeast(end));
    }

    fn apply(&mut self, change: &Pending) {
        match change {
            Pending::Write { offset, data } => self.durable.write(data, *offset),
            Pending::Length(len) => self.durable.set_len(*len),
            Pending::AtLeast(end) => self.durable.set_len(self.durable.len().max(*end)),
        }
    }

    /// A sync that works: all that was written survives.
    pub fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            self.apply(&change);
        }
    }

    /// A sync that fails, as Linux does it: some changes reached the disk, the others never
    /// will, and the next sync knows nothing of them.
    pub fn lose_pending(&mut self, rng: &mut Rng) {
        for change in std::mem::take(&mut self.pending) {
            self.survive(&change, rng);
        }
    }

    /// The last write only, without the earlier ones: what O_DSYNC makes durable.
    pub fn sync_last(&mut self) {
        if let Some(change) = self.pending.pop() {
            self.apply(&change);
        }
    }

    fn survive(&mut self, change: &Pending, rng: &mut Rng) {
        match rng.below(3) {
            0 => {}
            1 => self.apply(change),
            _ => self.tear(change, rng),
        }
    }

    /// Each sector of a torn write arrives or not, in no order.
    fn tear(&mut self, change: &Pending, rng: &mut Rng) {
        let Pending::Write { offset, data } = change else { return };
        let mut at = 0;
        while at < data.len() {
            let n = (SECTOR - (offset + at as u64) % SECTOR).min((data.len() - at) as u64) as usize;
            if rng.one_in(2) {
                self.durable.write(&data[at..at + n], offset + at as u64);
            }
            at += n;
        }
    }

    /// What is left after the power went.
    pub fn after_crash(mut self, rng: &mut Rng) -> Inode {
        self.lose_pending(rng);
        Inode { seen: self.durable.clone(), durable: self.durable, pending: vec![] }
    }
}
