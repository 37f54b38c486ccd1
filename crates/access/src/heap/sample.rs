//! Rows for ANALYZE: pages by chance, then rows by chance among all rows of those pages.

use super::page;
use super::prune::Fate;
use super::rel::HeapRel;
use super::visibility::{PageFacts, Undertaker};
use base::progress::{self, Command};
use base::{BlockNo, Result, Tid};
use buffer::Strategy;
use txn::{Sees, Snapshot};
use types::Datum;
use types::tuple::deform;

/// A sample of a table's rows.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The rows in physical order, each with its place.
    pub rows: Vec<(Tid, Vec<Datum>)>,
    /// Rows in the whole table, by estimate.
    pub total_rows: f64,
    /// Dead rows in the whole table, by estimate.
    pub dead_rows: f64,
    /// Pages in the table.
    pub pages: u32,
    /// Pages looked at.
    pub scanned: u32,
    /// Live rows in them.
    pub live_seen: u64,
    /// Dead rows in them.
    pub dead_seen: u64,
}

/// Numbers by chance; good enough for samples.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Less than `n`, which is not 0.
    fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }
}

/// `want` of `n` pages, ascending, each set of pages equally likely.
fn choose_blocks(n: u32, want: u32, chance: &mut Chance) -> Vec<BlockNo> {
    let mut left = want.min(n) as u64;
    let mut out = Vec::with_capacity(left as usize);
    for b in 0..n {
        if left == 0 {
            break;
        }
        if chance.below((n - b) as u64) < left {
            out.push(BlockNo(b));
            left -= 1;
        }
    }
    out
}

impl HeapRel {
    /// Takes `want` rows by chance (fewer if there are fewer). `pause` is called for each page.
    pub fn sample(
        &self,
        x: &Snapshot,
        want: usize,
        seed: u64,
        strategy: Strategy,
        pause: &mut dyn FnMut(BlockNo) -> Result<()>,
    ) -> Result<Sample> {
        let mut chance = Chance(seed | 1);
        let pages = self.nblocks()?.0;
        let blocks = choose_blocks(pages, want as u32, &mut chance);
        let mut out = Sample { pages, scanned: blocks.len() as u32, ..Sample::default() };
        progress::set(Command::Analyze, progress::analyze::BLOCKS, blocks.len() as i64);
        progress::set(Command::Analyze, progress::analyze::SCANNED, 0);
        let horizon = self.storage.horizon();
        let mut stream = self.stream_with(strategy, Box::new(blocks.into_iter()));
        while let Some(pin) = stream.next()? {
            progress::add(Command::Analyze, progress::analyze::SCANNED, 1);
            pause(pin.block())?;
            let bytes: Box<page::Bytes> = Box::new(*pin.read());
            let block = pin.block();
            drop(pin);
            if page::is_new(&bytes) {
                continue;
            }
            let facts = PageFacts::of(&bytes);
            let mut keeper = Undertaker::new(&self.storage, horizon);
            for off in 1..=page::max_offset(&bytes) {
                let t = match page::line(&bytes, off) {
                    page::Line::Dead => {
                        out.dead_seen += 1;
                        continue;
                    }
                    page::Line::Normal { .. } => page::tuple(&bytes, off),
                    _ => None,
                };
                let Some(t) = t else { continue };
                let own = |raw| self.storage.txn.sees(x, facts.xid(raw)).map(|s| s == Sees::Own);
                let live = match keeper.fate(t, &facts, &mut 0)? {
                    Fate::Live => true,
                    Fate::Dead | Fate::RecentlyDead => {
                        out.dead_seen += 1;
                        false
                    }
                    Fate::Inserting => own(t.xmin_raw())?,
                    // Somebody else's deletion may fail; the own one counts.
                    Fate::Deleting => !own(t.xmax_raw())?,
                };
                if !live {
                    continue;
                }
                out.live_seen += 1;
                let slot = if out.rows.len() < want {
                    out.rows.push((Tid::INVALID, Vec::new()));
                    out.rows.len() - 1
                } else {
                    chance.below(out.live_seen) as usize
                };
                if let Some(place) = out.rows.get_mut(slot) {
                    let mut row = vec![Datum::Null; self.desc.natts()];
                    let fetcher = self.fetcher();
                    deform(&self.desc, t.data(), t.bitmap(), t.natts(), &mut row, &fetcher)?;
                    *place = (Tid { block, offset: off }, row);
                }
            }
        }
        out.rows.sort_by_key(|r| r.0);
        if out.scanned > 0 {
            let scale = pages as f64 / out.scanned as f64;
            out.total_rows = (out.live_seen as f64 * scale + 0.5).floor();
            out.dead_rows = (out.dead_seen as f64 * scale + 0.5).floor();
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_many_as_wanted() {
        let mut chance = Chance(77);
        for (n, want) in [(0, 5), (5, 5), (100, 7), (3, 10)] {
            let blocks = choose_blocks(n, want, &mut chance);
            assert_eq!(blocks.len() as u32, n.min(want));
            assert!(blocks.windows(2).all(|w| w[0] < w[1]));
        }
    }
}
