//! Which rows are frozen: marked as inserted for all times, so that the transaction id in them
//! does not matter any more. The id itself stays where it is.

use super::page::{self, Bytes, PrunePlan, Tuple};
use super::prune::Fate;
use super::visibility::{PageFacts, Undertaker};
use base::{Result, Xid};
use buffer::PageMut;

/// What of a page is to be frozen that can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freeze {
    /// Nothing.
    Nothing,
    /// All of a page that has an id older than this; of other pages, all if they are written anyway
    /// and nothing in them stays unfrozen.
    Before(Xid),
    /// All.
    All,
}

/// The ids of a row that somebody may have to look up: not those that are settled for all times.
fn ids(t: Tuple<'_>, facts: &PageFacts) -> impl Iterator<Item = Xid> {
    let first = Xid::FIRST_NORMAL.0 as u32;
    let xmin = (!t.frozen()).then(|| t.xmin_raw());
    let xmax = (t.mask() & page::XMAX_INVALID == 0).then(|| t.xmax_raw());
    let facts = *facts;
    xmin.into_iter().chain(xmax).filter(move |raw| *raw >= first).map(move |raw| facts.xid(raw))
}

/// The oldest id of a row that matters.
pub(super) fn oldest_id(t: Tuple<'_>, facts: &PageFacts) -> Option<Xid> {
    ids(t, facts).min()
}

/// Adds to `plan` what is to be frozen among the tuples that stay.
pub(super) fn add(
    page: &PageMut<'_>,
    facts: &PageFacts,
    keeper: &mut Undertaker<'_>,
    freeze: Freeze,
    plan: &mut PrunePlan,
) -> Result<()> {
    if freeze == Freeze::Nothing {
        return Ok(());
    }
    let (mut oldest, mut whole) = (Xid(u64::MAX), true);
    let (mut freeze_xmin, mut clear_xmax) = (Vec::new(), Vec::new());
    for off in 1..=page::max_offset(page) {
        let Some(t) = staying(page, off, plan) else { continue };
        let mut bits = 0;
        let (mut xmin, mut xmax) = (false, false);
        match keeper.fate(t, facts, &mut bits)? {
            Fate::Live => {
                let for_all = keeper.inserted_for_all(t, facts)?;
                xmin = !t.frozen() && for_all;
                xmax = t.xmax_raw() != 0;
                whole &= for_all;
            }
            Fate::RecentlyDead | Fate::Deleting => {
                xmin = !t.frozen() && keeper.inserted_for_all(t, facts)?;
                whole = false;
            }
            _ => whole = false,
        }
        if xmin {
            freeze_xmin.push(off);
        }
        if xmax {
            clear_xmax.push(off);
        }
        if xmin || xmax {
            oldest = ids(t, facts).fold(oldest, Xid::min);
        }
    }
    let wanted = match freeze {
        Freeze::Nothing => false,
        Freeze::Before(limit) => oldest < limit || whole && plan.prunes(),
        Freeze::All => true,
    };
    if wanted {
        plan.freeze_xmin = freeze_xmin;
    }
    // Whoever aborted goes in any case: the hint that says so is not logged, and a page that is
    // said to be all-visible must not have a deleter after a crash.
    plan.clear_xmax = clear_xmax;
    Ok(())
}

/// The tuple at a line, if the plan leaves it there.
fn staying<'p>(page: &'p Bytes, off: u16, plan: &PrunePlan) -> Option<Tuple<'p>> {
    let goes = plan.dead.binary_search(&off).is_ok()
        || plan.unused.binary_search(&off).is_ok()
        || plan.redirect.iter().any(|r| r.0 == off);
    if goes { None } else { page::tuple(page, off) }
}
