//! Randomness from the kernel; under the simulator, from the seed.

use crate::sim::sched;

/// Fills `buf` with bytes nobody can guess.
pub fn fill(buf: &mut [u8]) {
    if let Some(sched) = sched::current() {
        for chunk in buf.chunks_mut(8) {
            let n = sched.random().to_le_bytes();
            chunk.copy_from_slice(&n[..chunk.len()]);
        }
        return;
    }
    let mut done = 0;
    while done < buf.len() {
        let rest = &mut buf[done..];
        // SAFETY: the pointer and length describe a live, writable slice.
        let n = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        if n > 0 {
            done += n as usize;
        } else if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            panic!("the kernel gives no random bytes");
        }
    }
}

/// A random number.
pub fn u64() -> u64 {
    let mut buf = [0; 8];
    fill(&mut buf);
    u64::from_le_bytes(buf)
}

/// A small fast generator (SplitMix64) for tests, jitter and the simulator; not for secrets.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The next number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// True once in `n` times on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}
