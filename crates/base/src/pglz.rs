//! PostgreSQL's LZ: control bytes of eight flags, literals, and back references of 2 or 3 bytes.

use crate::{Result, err};

const HISTORY: usize = 4095;
const MATCH_MAX: usize = 273;
const HASH_SIZE: usize = 8192;

/// Compresses `input`; None if that does not make it smaller by at least a quarter.
pub fn pglz_compress(input: &[u8]) -> Option<Vec<u8>> {
    if input.len() < 32 {
        return None;
    }
    let limit = input.len() / 4 * 3;
    let mut head = vec![u32::MAX; HASH_SIZE];
    let mut out = Vec::with_capacity(limit);
    let (mut control_at, mut bit) = (0, 8);
    let mut at = 0;
    while at < input.len() {
        if bit == 8 {
            control_at = out.len();
            out.push(0);
            bit = 0;
        }
        match find(input, at, &mut head) {
            Some((offset, len)) => {
                out[control_at] |= 1 << bit;
                let high = ((offset >> 4) & 0xf0) as u8;
                if len > 17 {
                    out.extend_from_slice(&[high | 0x0f, offset as u8, (len - 18) as u8]);
                } else {
                    out.extend_from_slice(&[high | (len - 3) as u8, offset as u8]);
                }
                for p in at + 1..at + len {
                    remember(input, p, &mut head);
                }
                at += len;
            }
            None => {
                out.push(input[at]);
                at += 1;
            }
        }
        bit += 1;
        if out.len() > limit {
            return None;
        }
    }
    Some(out)
}

fn hash(input: &[u8], at: usize) -> Option<usize> {
    let b = input.get(at..at + 4)?;
    let word = u32::from_le_bytes([b[0], b[1], b[2], 0]);
    Some((word.wrapping_mul(0x9E37_79B1) >> 19) as usize)
}

fn remember(input: &[u8], at: usize, head: &mut [u32]) {
    if let Some(h) = hash(input, at) {
        head[h] = at as u32;
    }
}

/// The latest earlier occurrence of what starts at `at`, as distance and length.
fn find(input: &[u8], at: usize, head: &mut [u32]) -> Option<(usize, usize)> {
    let h = hash(input, at)?;
    let candidate = std::mem::replace(&mut head[h], at as u32);
    if candidate == u32::MAX {
        return None;
    }
    let candidate = candidate as usize;
    let distance = at - candidate;
    if distance == 0 || distance > HISTORY {
        return None;
    }
    let most = MATCH_MAX.min(input.len() - at);
    let len = (0..most).take_while(|&i| input[candidate + i] == input[at + i]).count();
    (len >= 3).then_some((distance, len))
}

/// Decompresses to exactly `raw_size` bytes.
pub fn pglz_decompress(input: &[u8], raw_size: usize) -> Result<Vec<u8>> {
    let corrupt = || err!(DATA_CORRUPTED, "compressed pglz data is corrupt");
    let mut out = Vec::with_capacity(raw_size.min(1 << 26));
    let mut at = 0;
    while at < input.len() && out.len() < raw_size {
        let control = input[at];
        at += 1;
        for bit in 0..8 {
            if at >= input.len() || out.len() >= raw_size {
                break;
            }
            if control >> bit & 1 == 0 {
                out.push(input[at]);
                at += 1;
                continue;
            }
            let &[a, b] = input.get(at..at + 2).ok_or_else(corrupt)? else { return Err(corrupt()) };
            at += 2;
            let mut len = (a & 0x0f) as usize + 3;
            let distance = ((a as usize & 0xf0) << 4) | b as usize;
            if len == 18 {
                len += *input.get(at).ok_or_else(corrupt)? as usize;
                at += 1;
            }
            if distance == 0 || distance > out.len() {
                return Err(corrupt());
            }
            let from = out.len() - distance;
            for i in 0..len.min(raw_size - out.len()) {
                let byte = out[from + i];
                out.push(byte);
            }
        }
    }
    if out.len() != raw_size { Err(corrupt()) } else { Ok(out) }
}
