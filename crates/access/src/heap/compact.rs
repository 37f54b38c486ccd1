//! Takes the gaps between the tuples of a page out, so that all free space is in one piece, and
//! drops unused line pointers from the end of the array.
//!
//! Pages that have never had gaps, but for those just made, are the rule: then what lies below a
//! gap moves up by its size. Any other page is put together anew, in the order of the lines.

use super::page::{
    AT_LOWER, AT_UPPER, Bytes, HAS_FREE_LINES, HEADER_SIZE, LINE_SIZE, Line, PAGE_FULL, PrunePlan,
    SPECIAL, align8, change_flags, line, lower, max_offset, put_u16, set_line, upper,
};
use smallvec::SmallVec;

/// Where tuples lie that are about to lose their lines: address and size, from high to low.
pub struct Gaps(SmallVec<[(usize, usize); 8]>);

/// With more gaps it is quicker to put the page together anew.
const FEW: usize = 8;

impl Gaps {
    /// The gaps that a plan makes.
    pub fn of(page: &Bytes, plan: &PrunePlan) -> Gaps {
        let gone = plan.redirect.iter().map(|r| r.0).chain(plan.dead.iter().copied());
        let mut gaps: SmallVec<[(usize, usize); 8]> = SmallVec::new();
        for off in gone.chain(plan.unused.iter().copied()) {
            if let Line::Normal { at, len } = line(page, off) {
                gaps.push((at as usize, align8(len as usize)));
            }
        }
        gaps.sort_unstable_by(|a, b| b.cmp(a));
        Gaps(gaps)
    }

    /// How far what lies at `at` moves.
    #[inline]
    fn shift(&self, at: usize) -> usize {
        self.0.iter().take_while(|g| g.0 > at).map(|g| g.1).sum()
    }
}

/// See the module's text. The lines of the gaps have been changed already.
pub fn compact(page: &mut Bytes, gaps: &Gaps) {
    let at = match is_dense(page, gaps) {
        true => close(page, gaps),
        false => renew(page),
    };
    let (old_lower, old_upper) = (lower(page), upper(page));
    let (mut last_used, mut holes) = (0, false);
    for off in 1..=max_offset(page) {
        if line(page, off) != Line::Unused {
            holes |= off != last_used + 1;
            last_used = off;
        }
    }
    let lower = HEADER_SIZE + last_used as usize * LINE_SIZE;
    put_u16(page, AT_LOWER, lower as u16);
    put_u16(page, AT_UPPER, at as u16);
    // What lies between was zero before.
    page[lower..old_lower.clamp(lower, SPECIAL)].fill(0);
    page[old_upper.min(at)..at].fill(0);
    let set = if holes { HAS_FREE_LINES } else { 0 };
    change_flags(page, set, HAS_FREE_LINES | PAGE_FULL);
}

/// True if the tuples and the gaps, and nothing else, fill the page from its upper bound on.
fn is_dense(page: &Bytes, gaps: &Gaps) -> bool {
    if gaps.0.is_empty() || gaps.0.len() > FEW || !(HEADER_SIZE..=SPECIAL).contains(&upper(page)) {
        return false;
    }
    let mut sum: usize = gaps.0.iter().map(|g| g.1).sum();
    for off in 1..=max_offset(page) {
        if let Line::Normal { at, len } = line(page, off) {
            if (at as usize) < upper(page) {
                return false;
            }
            sum += align8(len as usize);
        }
    }
    let apart = gaps.0.windows(2).all(|w| w[1].0 + w[1].1 <= w[0].0);
    let within = gaps.0.iter().all(|g| g.0 >= upper(page) && g.0 + g.1 <= SPECIAL);
    sum == SPECIAL - upper(page) && apart && within
}

/// Moves what lies below each gap up; gives the new upper bound.
fn close(page: &mut Bytes, gaps: &Gaps) -> usize {
    for off in 1..=max_offset(page) {
        if let Line::Normal { at, len } = line(page, off) {
            let at = at + gaps.shift(at as usize) as u16;
            set_line(page, off, Line::Normal { at, len });
        }
    }
    let mut shift = 0;
    let bottom = upper(page);
    for (i, &(at, size)) in gaps.0.iter().enumerate() {
        shift += size;
        let from = gaps.0.get(i + 1).map_or(bottom, |g| g.0 + g.1);
        page.copy_within(from..at, from + shift);
    }
    bottom + shift
}

/// Puts the page together anew; gives the new upper bound.
fn renew(page: &mut Bytes) -> usize {
    let old = *page;
    let mut at = SPECIAL;
    for off in 1..=max_offset(page) {
        if let Line::Normal { at: from, len } = line(&old, off) {
            let (from, len) = (from as usize, len as usize);
            let size = align8(len);
            at -= size;
            page[at..at + len].copy_from_slice(&old[from..from + len]);
            page[at + len..at + size].fill(0);
            set_line(page, off, Line::Normal { at: at as u16, len: len as u16 });
        }
    }
    let lower = lower(page).min(at);
    page[lower..at].fill(0);
    at
}

#[cfg(test)]
mod tests {
    use super::super::page::*;
    use base::{PAGE_SIZE, Tid};

    fn tuple(off: u16) -> Vec<u8> {
        let mut b = vec![0; 24 + (off as usize * 7) % 40];
        b[24..].fill(off as u8);
        let mut t = TupleMut::new(&mut b);
        t.set_shape(1, XMIN_COMMITTED | XMAX_INVALID, 24);
        t.set_ctid(Tid::new(0, off));
        t.change_mask2(HEAP_ONLY, 0);
        b
    }

    /// Tuples of many sizes, added in one order and taken out in another, in steps that the quick
    /// way takes and steps that it does not: the rest is always there, and the space adds up.
    #[test]
    fn what_stays_is_unharmed() {
        let mut seed = 1u32;
        let mut random = move |below: u32| {
            seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (seed >> 8) % below
        };
        for round in 0..200 {
            let mut p = [0; PAGE_SIZE];
            init(&mut p, 0);
            let mut live: Vec<u16> = Vec::new();
            for off in 1..=120 {
                if !add_tuple(&mut p, off, &tuple(off)) {
                    break;
                }
                live.push(off);
            }
            while !live.is_empty() {
                let n = 1 + random(if round % 2 == 0 { 3 } else { 20 }) as usize;
                let mut plan = PrunePlan::default();
                for i in 0..n.min(live.len()) {
                    let off = live.swap_remove(random(live.len() as u32) as usize);
                    if i % 2 == 0 { plan.unused.push(off) } else { plan.dead.push(off) }
                }
                apply_prune(&mut p, &plan, 0);
                check(&p).unwrap();
                let used: usize = live.iter().map(|o| align8(tuple(*o).len())).sum();
                assert_eq!(upper(&p), SPECIAL - used);
                for off in &live {
                    let Line::Normal { at, len } = line(&p, *off) else { panic!("no tuple") };
                    let bytes = &p[at as usize..at as usize + len as usize];
                    assert_eq!(bytes[20..], tuple(*off)[20..]);
                }
                assert!(p[lower(&p)..upper(&p)].iter().all(|b| *b == 0));
            }
        }
    }
}
