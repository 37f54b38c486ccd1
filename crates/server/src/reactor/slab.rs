//! The connections of a reactor, by token. A connection that is served is out of the slab; its
//! place stays.

use os::poll::Interest;
use os::sync::Mutex;
use std::os::fd::RawFd;

struct Slot<P> {
    generation: u32,
    fd: RawFd,
    interest: Interest,
    used: bool,
    /// It waits for nothing of its socket, see [`super::Next::Park`].
    parked: bool,
    peer: Option<Box<P>>,
}

struct Inner<P> {
    slots: Vec<Slot<P>>,
    free: Vec<u32>,
    used: usize,
    parked: usize,
}

/// See the module's text. A token is a slot's number and generation.
pub struct Slab<P>(Mutex<Inner<P>>);

impl<P> Slab<P> {
    pub fn new() -> Slab<P> {
        Slab(Mutex::new(Inner { slots: Vec::new(), free: Vec::new(), used: 0, parked: 0 }))
    }

    pub fn len(&self) -> usize {
        self.0.lock().used
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn insert(&self, peer: P, fd: RawFd) -> u64 {
        let mut inner = self.0.lock();
        inner.used += 1;
        let at = match inner.free.pop() {
            Some(at) => at,
            None => {
                inner.slots.push(Slot {
                    generation: 0,
                    fd,
                    interest: Interest::NONE,
                    used: false,
                    parked: false,
                    peer: None,
                });
                inner.slots.len() as u32 - 1
            }
        };
        let slot = &mut inner.slots[at as usize];
        slot.generation = slot.generation.wrapping_add(1) & 0x7FFF_FFFF;
        slot.fd = fd;
        slot.interest = Interest::READ;
        slot.used = true;
        slot.peer = Some(Box::new(peer));
        (slot.generation as u64) << 32 | at as u64
    }

    /// Takes a connection out to serve it. None if it is served already or gone.
    pub fn take(&self, token: u64) -> Option<Box<P>> {
        let mut inner = self.0.lock();
        let slot = inner.slot(token)?;
        let peer = slot.peer.take()?;
        if std::mem::take(&mut slot.parked) {
            inner.parked -= 1;
        }
        Some(peer)
    }

    /// Shows connections that are there to `f`, each with its number in `tokens`.
    pub fn look(&self, tokens: &[u64], f: impl Fn(usize, &P)) {
        let mut inner = self.0.lock();
        for (i, token) in tokens.iter().enumerate() {
            if let Some(peer) = inner.slot(*token).and_then(|slot| slot.peer.as_deref()) {
                f(i, peer);
            }
        }
    }

    /// As [`Slab::take`], if it is parked.
    pub fn take_parked(&self, token: u64) -> Option<Box<P>> {
        let mut inner = self.0.lock();
        let slot = inner.slot(token).filter(|s| s.parked)?;
        slot.parked = false;
        let peer = slot.peer.take();
        inner.parked -= 1;
        peer
    }

    /// How many are parked.
    pub fn parked(&self) -> usize {
        self.0.lock().parked
    }

    /// Puts it back; true if its interest must be changed. Without `want` it stays as it is.
    pub fn put(&self, token: u64, peer: Box<P>, want: Option<Interest>, parked: bool) -> bool {
        let mut inner = self.0.lock();
        let Some(slot) = inner.slot(token) else { return false };
        slot.peer = Some(peer);
        slot.parked = parked;
        let want = want.unwrap_or(slot.interest);
        let changed = slot.interest != want;
        slot.interest = want;
        inner.parked += usize::from(parked);
        changed
    }

    /// Notes what is waited for now; the socket, if the place is used.
    pub fn set_interest(&self, token: u64, want: Interest) -> Option<RawFd> {
        let mut inner = self.0.lock();
        let slot = inner.slot(token)?;
        slot.interest = want;
        Some(slot.fd)
    }

    pub fn remove(&self, token: u64) {
        let mut inner = self.0.lock();
        let gone = inner.slot(token).map(|slot| {
            slot.used = false;
            (slot.peer.take(), std::mem::take(&mut slot.parked))
        });
        if let Some((_, parked)) = &gone {
            inner.parked -= usize::from(*parked);
            inner.free.push(token as u32);
            inner.used -= 1;
        }
        drop(inner);
        // The connection's own end may take its time.
        drop(gone);
    }

    /// Tokens of the connections that are not served now.
    pub fn idle_tokens(&self) -> Vec<u64> {
        let inner = self.0.lock();
        let tokens = inner.slots.iter().enumerate();
        tokens
            .filter(|(_, s)| s.peer.is_some())
            .map(|(i, s)| (s.generation as u64) << 32 | i as u64)
            .collect()
    }
}

impl<P> Inner<P> {
    fn slot(&mut self, token: u64) -> Option<&mut Slot<P>> {
        let slot = self.slots.get_mut(token as u32 as usize)?;
        (slot.used && slot.generation == (token >> 32) as u32).then_some(slot)
    }
}
