//! The state word of a frame: pin count, latch and flags in one atomic, so that pinning a page,
//! and pinning and share-latching it together, cost one read-modify-write. The protocol is in
//! README.md and is model-checked by the loom tests below.

use os::sync::atomic::{AtomicU64, Ordering};

/// One pin.
pub(crate) const PIN: u64 = 1;
/// All bits of the pin count.
pub(crate) const PINS: u64 = (1 << 20) - 1;
/// One holder of the share latch.
pub(crate) const SHARED: u64 = 1 << 20;
/// All bits of the count of share latch holders.
pub(crate) const SHARERS: u64 = ((1 << 18) - 1) << 20;
/// The latch is held exclusively.
pub(crate) const EXCLUSIVE: u64 = 1 << 40;
/// Somebody sleeps on the frame: who releases anything must wake.
pub(crate) const WAITERS: u64 = 1 << 41;
/// The frame belongs to one thread that changes which page it holds. New pins back off.
pub(crate) const CLAIMED: u64 = 1 << 42;
/// The frame holds the page that its tag says.
pub(crate) const VALID: u64 = 1 << 43;
/// The page is being read; the loader holds the latch exclusively.
pub(crate) const LOADING: u64 = 1 << 44;
/// The page differs from the file.
pub(crate) const DIRTY: u64 = 1 << 45;
/// The page was changed after a write of it began.
pub(crate) const REDIRTIED: u64 = 1 << 46;
/// One thread writes the page to its file.
pub(crate) const WRITING: u64 = 1 << 47;

/// What an attempt to pin found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pinned {
    /// Pinned, and the page is there.
    Valid,
    /// Pinned, but the page is not (or not yet) there.
    NotValid,
    /// Not pinned: the frame is changing hands. True if sleepers have to be woken.
    Claimed(bool),
}

/// The word itself. Methods that release return whether sleepers have to be woken.
pub(crate) struct Word(AtomicU64);

impl Word {
    /// A frame that belongs to nobody's map: claimed by the list it is on.
    pub(crate) fn new_claimed() -> Word {
        Word(AtomicU64::new(CLAIMED))
    }

    pub(crate) fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Takes `amount` (a pin, or a pin and a share) unless the frame is claimed. The caller must
    /// then make sure that the frame still holds the page it came for.
    #[inline]
    fn take(&self, amount: u64) -> (Pinned, u64) {
        let old = self.0.fetch_add(amount, Ordering::Acquire);
        if old & CLAIMED != 0 {
            // The frame may have become somebody's page since, who sleeps because of us.
            let sleepers = self.0.fetch_sub(amount, Ordering::Release) & WAITERS != 0;
            return (Pinned::Claimed(sleepers), old);
        }
        (if old & VALID != 0 { Pinned::Valid } else { Pinned::NotValid }, old)
    }

    /// Pins.
    #[inline]
    pub(crate) fn pin(&self) -> Pinned {
        self.take(PIN).0
    }

    /// Pins and takes the share latch in one step. `Err` means the latch is held exclusively:
    /// the pin stays, the share was given back, and sleepers must be woken if the flag says so.
    #[inline]
    pub(crate) fn pin_shared(&self) -> (Pinned, Result<(), bool>) {
        let (pinned, old) = self.take(PIN | SHARED);
        if !matches!(pinned, Pinned::Claimed(_)) && old & EXCLUSIVE != 0 {
            return (pinned, Err(self.unlock_shared()));
        }
        (pinned, Ok(()))
    }

    /// Another pin, by one who has a pin.
    #[inline]
    pub(crate) fn pin_again(&self) {
        self.0.fetch_add(PIN, Ordering::Relaxed);
    }

    /// Gives a pin back.
    #[inline]
    pub(crate) fn unpin(&self) -> bool {
        let old = self.0.fetch_sub(PIN, Ordering::Release);
        old & WAITERS != 0 && old & PINS <= 2
    }

    /// Takes the share latch if it is free for that. `Err` says whether to wake sleepers.
    #[inline]
    pub(crate) fn try_shared(&self) -> Result<(), bool> {
        let old = self.0.fetch_add(SHARED, Ordering::Acquire);
        if old & EXCLUSIVE != 0 {
            return Err(self.unlock_shared());
        }
        Ok(())
    }

    /// Releases the share latch.
    #[inline]
    pub(crate) fn unlock_shared(&self) -> bool {
        let old = self.0.fetch_sub(SHARED, Ordering::Release);
        old & WAITERS != 0 && old & SHARERS == SHARED
    }

    /// Releases the share latch and a pin in one step.
    #[inline]
    pub(crate) fn unlock_shared_unpin(&self) -> bool {
        let old = self.0.fetch_sub(SHARED | PIN, Ordering::Release);
        old & WAITERS != 0 && (old & SHARERS == SHARED || old & PINS <= 2)
    }

    /// Takes the latch exclusively if nobody holds it.
    #[inline]
    pub(crate) fn try_exclusive(&self) -> bool {
        self.swap_if(|w| (w & (EXCLUSIVE | SHARERS) == 0).then_some(w | EXCLUSIVE))
    }

    /// Takes the latch exclusively if nobody holds it and the caller's is the only pin.
    pub(crate) fn try_cleanup(&self) -> bool {
        self.swap_if(|w| {
            (w & (EXCLUSIVE | SHARERS) == 0 && w & PINS == PIN).then_some(w | EXCLUSIVE)
        })
    }

    /// Turns the caller's share latch into an exclusive one if the caller is the only sharer.
    #[inline]
    pub(crate) fn try_upgrade(&self) -> bool {
        self.swap_if(|w| (w & SHARERS == SHARED).then_some((w - SHARED) | EXCLUSIVE))
    }

    /// Turns the caller's exclusive latch into a share latch.
    pub(crate) fn downgrade(&self) -> bool {
        let old = self.0.fetch_add(SHARED.wrapping_sub(EXCLUSIVE), Ordering::Release);
        old & WAITERS != 0
    }

    /// Releases the exclusive latch.
    #[inline]
    pub(crate) fn unlock_exclusive(&self) -> bool {
        let old = self.0.fetch_sub(EXCLUSIVE, Ordering::Release);
        old & WAITERS != 0
    }

    /// Announces a sleeper: from now on releases report it.
    pub(crate) fn set_waiters(&self) {
        self.0.fetch_or(WAITERS, Ordering::SeqCst);
    }

    /// Before waking all sleepers.
    pub(crate) fn clear_waiters(&self) {
        self.0.fetch_and(!WAITERS, Ordering::SeqCst);
    }

    /// Claims an idle frame with a clean page, to put another page in it.
    pub(crate) fn try_claim(&self) -> bool {
        const BUSY: u64 = PINS | SHARERS | EXCLUSIVE | CLAIMED | LOADING | DIRTY | WRITING;
        self.swap_if(|w| (w & BUSY == 0).then_some((w | CLAIMED) & !VALID))
    }

    /// Claims a frame whose page is thrown away, dirty or not, by turning the caller's pin,
    /// which must be the only one, into the claim.
    pub(crate) fn try_claim_discard(&self) -> bool {
        const BUSY: u64 = PINS | SHARERS | EXCLUSIVE | CLAIMED | LOADING | WRITING;
        self.swap_if(|w| {
            (w & BUSY == PIN).then_some(((w - PIN) | CLAIMED) & !(VALID | DIRTY | REDIRTIED))
        })
    }

    /// The claimant has set the tag and starts to load: it gets a pin and the exclusive latch.
    /// Arithmetic, not a store, because pins that will back off come and go all the time.
    pub(crate) fn begin_load(&self) {
        self.0.fetch_add((PIN | EXCLUSIVE | LOADING).wrapping_sub(CLAIMED), Ordering::Release);
    }

    /// The page is there. The loader keeps its pin and its exclusive latch.
    pub(crate) fn finish_load(&self) {
        self.0.fetch_add(VALID.wrapping_sub(LOADING), Ordering::Release);
    }

    /// The page could not be loaded: the frame is the loader's alone again, without its pin.
    pub(crate) fn abandon_load(&self) -> bool {
        let delta = CLAIMED.wrapping_sub(PIN | EXCLUSIVE | LOADING);
        let old = self.0.fetch_add(delta, Ordering::AcqRel);
        old & WAITERS != 0
    }

    /// Marks the page as different from its file. The caller holds the exclusive latch.
    /// True if it was clean.
    #[inline]
    pub(crate) fn mark_dirty(&self) -> bool {
        if self.0.load(Ordering::Relaxed) & (DIRTY | REDIRTIED) == DIRTY | REDIRTIED {
            return false;
        }
        self.0.fetch_or(DIRTY | REDIRTIED, Ordering::AcqRel) & DIRTY == 0
    }

    /// Becomes the one writer of a dirty page. The caller has a pin.
    pub(crate) fn try_begin_write(&self) -> bool {
        self.swap_if(|w| (w & DIRTY != 0 && w & WRITING == 0).then_some(w | WRITING))
    }

    /// The writer, under the share latch, takes its copy: changes from here on count anew.
    pub(crate) fn copied(&self) {
        self.0.fetch_and(!REDIRTIED, Ordering::AcqRel);
    }

    /// The copy is in the file, or (`written` false) it is not.
    pub(crate) fn finish_write(&self, written: bool) -> bool {
        let mut woke = false;
        self.swap_if(|w| {
            woke = w & WAITERS != 0;
            let clean = if written && w & REDIRTIED == 0 { DIRTY } else { 0 };
            Some(w & !(WRITING | clean))
        });
        woke
    }

    #[inline]
    fn swap_if(&self, mut f: impl FnMut(u64) -> Option<u64>) -> bool {
        let mut old = self.0.load(Ordering::Relaxed);
        while let Some(new) = f(old) {
            match self.0.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => old = now,
            }
        }
        false
    }
}

/// Exhaustive models: `RUSTFLAGS="--cfg loom" cargo test -p buffer --lib models`.
#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, AtomicU64 as Cell64};
    use loom::thread;

    const ABSENT: u32 = u32::MAX;

    /// One frame, the map entries of two blocks, and the tag.
    struct World {
        word: Word,
        entries: [AtomicU32; 2],
        tag: UnsafeCell<usize>,
    }

    // SAFETY: `tag` follows the protocol that the model checks; loom reports races on it.
    unsafe impl Sync for World {}

    impl World {
        /// Block 0 is in the frame.
        fn new() -> Arc<World> {
            let word = Word::new_claimed();
            word.begin_load();
            word.finish_load();
            word.unlock_exclusive();
            word.unpin();
            Arc::new(World {
                word,
                entries: [AtomicU32::new(0), AtomicU32::new(ABSENT)],
                tag: UnsafeCell::new(0),
            })
        }

        fn read(&self, block: usize) {
            let entry = self.entries[block].load(Ordering::Acquire);
            if entry == ABSENT {
                return;
            }
            match self.word.pin() {
                Pinned::Claimed(_) => return,
                Pinned::Valid if self.entries[block].load(Ordering::Acquire) == entry => {
                    // SAFETY: pinned, valid and still mapped.
                    self.tag.with(|tag| assert_eq!(unsafe { *tag }, block));
                }
                _ => {}
            }
            self.word.unpin();
        }

        /// Puts block 1 into the frame if nobody is in the way.
        fn replace(&self) {
            if !self.word.try_claim() {
                return;
            }
            self.entries[0].store(ABSENT, Ordering::Release);
            // SAFETY: claimed.
            self.tag.with_mut(|tag| unsafe { *tag = 1 });
            self.word.begin_load();
            self.entries[1].store(0, Ordering::Release);
            self.word.finish_load();
            self.word.unlock_exclusive();
            self.word.unpin();
        }
    }

    fn replacing_while_reading(blocks: &'static [usize]) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let world = World::new();
            let threads: Vec<_> = blocks
                .iter()
                .map(|block| {
                    let world = world.clone();
                    thread::spawn(move || world.read(*block))
                })
                .collect();
            world.replace();
            for t in threads {
                t.join().unwrap();
            }
            assert_eq!(world.word.load() & (PINS | CLAIMED | EXCLUSIVE), 0);
        });
    }

    #[test]
    fn a_pinned_page_stays() {
        replacing_while_reading(&[0, 1]);
    }

    #[test]
    fn a_page_that_comes_is_whole() {
        replacing_while_reading(&[1]);
    }

    #[test]
    fn the_latch_excludes() {
        loom::model(|| {
            let world = World::new();
            let writer = {
                let world = world.clone();
                thread::spawn(move || {
                    if world.word.try_exclusive() {
                        // SAFETY: latched exclusively.
                        world.tag.with_mut(|tag| unsafe { *tag += 1 });
                        world.word.unlock_exclusive();
                    }
                })
            };
            let upgrader = {
                let world = world.clone();
                thread::spawn(move || {
                    if world.word.try_shared().is_ok() {
                        if world.word.try_upgrade() {
                            // SAFETY: latched exclusively.
                            world.tag.with_mut(|tag| unsafe { *tag += 1 });
                            world.word.unlock_exclusive();
                        } else {
                            world.word.unlock_shared();
                        }
                    }
                })
            };
            if let (Pinned::Valid, Ok(())) = world.word.pin_shared() {
                // SAFETY: latched shared.
                world.tag.with(|tag| assert!(unsafe { *tag } <= 2));
                world.word.unlock_shared_unpin();
            }
            writer.join().unwrap();
            upgrader.join().unwrap();
        });
    }

    /// A change during a write keeps the page dirty; a write without one cleans it.
    #[test]
    fn no_change_is_taken_for_written() {
        loom::model(|| {
            let world = World::new();
            let disk = Arc::new(Cell64::new(0));
            world.word.mark_dirty();
            world.tag.with_mut(|tag| unsafe { *tag = 1 });
            let writer = {
                let (world, disk) = (world.clone(), disk.clone());
                thread::spawn(move || {
                    assert!(world.word.try_begin_write());
                    if world.word.try_shared().is_err() {
                        world.word.finish_write(false);
                        return;
                    }
                    world.word.copied();
                    // SAFETY: latched shared.
                    let copy = world.tag.with(|tag| unsafe { *tag });
                    world.word.unlock_shared();
                    disk.store(copy as u64, Ordering::SeqCst);
                    world.word.finish_write(true);
                })
            };
            if world.word.try_exclusive() {
                world.word.mark_dirty();
                // SAFETY: latched exclusively.
                world.tag.with_mut(|tag| unsafe { *tag = 2 });
                world.word.unlock_exclusive();
            }
            writer.join().unwrap();
            let value = world.tag.with(|tag| unsafe { *tag }) as u64;
            let clean = world.word.load() & DIRTY == 0;
            assert!(!clean || disk.load(Ordering::SeqCst) == value);
        });
    }

    /// Who sleeps is woken: the model would find a sleeper whose sequence never changes.
    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| {
            let world = World::new();
            let sequence = Arc::new(AtomicU32::new(0));
            assert!(world.word.try_exclusive());
            let sleeper = {
                let (world, sequence) = (world.clone(), sequence.clone());
                thread::spawn(move || {
                    loop {
                        let seen = sequence.load(Ordering::SeqCst);
                        world.word.set_waiters();
                        if world.word.try_exclusive() {
                            break;
                        }
                        while sequence.load(Ordering::SeqCst) == seen {
                            thread::yield_now();
                        }
                    }
                    world.word.unlock_exclusive();
                })
            };
            if world.word.unlock_exclusive() {
                world.word.clear_waiters();
                sequence.fetch_add(1, Ordering::SeqCst);
            }
            sleeper.join().unwrap();
        });
    }
}
