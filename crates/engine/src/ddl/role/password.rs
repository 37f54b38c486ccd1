//! Passwords as they are stored: `SCRAM-SHA-256$iterations:salt$stored key:server key`, or
//! `md5` and a digest of password and role. What is in such a form already is stored as it is.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha2::{Digest, Sha256};

type Key = [u8; 32];

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn hmac(key: &[u8], parts: &[&[u8]]) -> Key {
    // HMAC takes keys of any length.
    let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|p| mac.update(p));
    mac.finalize().into_bytes().into()
}

/// Base 64 with padding.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let b = [chunk[0], *chunk.get(1).unwrap_or(&0), *chunk.get(2).unwrap_or(&0)];
        let n = (b[0] as usize) << 16 | (b[1] as usize) << 8 | b[2] as usize;
        for i in 0..4 {
            let digit = ALPHABET[n >> (18 - 6 * i) & 63] as char;
            out.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    out
}

fn salted(password: &str, salt: &[u8], iterations: u32) -> Key {
    let prepared = stringprep::saslprep(password).unwrap_or(password.into());
    let mut u = hmac(prepared.as_bytes(), &[salt, &[0, 0, 0, 1]]);
    let mut out = u;
    for _ in 1..iterations {
        u = hmac(prepared.as_bytes(), &[&u]);
        out.iter_mut().zip(u).for_each(|(o, x)| *o ^= x);
    }
    out
}

/// The SCRAM secret of a password.
pub fn scram(password: &str, salt: &[u8], iterations: u32) -> String {
    let salted = salted(password, salt, iterations);
    let stored: Key = Sha256::digest(hmac(&salted, &[b"Client Key"])).into();
    let server = hmac(&salted, &[b"Server Key"]);
    format!("SCRAM-SHA-256${iterations}:{}${}:{}", base64(salt), base64(&stored), base64(&server))
}

/// The MD5 form of a role's password.
pub fn md5(password: &str, role: &str) -> String {
    let digest = Md5::digest([password.as_bytes(), role.as_bytes()].concat());
    let hex: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    format!("md5{hex}")
}

/// True for the MD5 form.
pub fn is_md5(text: &str) -> bool {
    let digits = text.strip_prefix("md5");
    digits
        .is_some_and(|d| d.len() == 32 && d.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

fn base64_length(text: &str) -> Option<usize> {
    let body = text.trim_end_matches('=');
    let valid = text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|b| ALPHABET.contains(&b));
    valid.then(|| body.len() * 3 / 4)
}

/// True for the SCRAM form.
pub fn is_scram(text: &str) -> bool {
    let parts = || {
        let rest = text.strip_prefix("SCRAM-SHA-256$")?;
        let (head, keys) = rest.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        iterations.parse::<u32>().ok()?;
        base64_length(salt)?;
        Some(base64_length(stored)? == 32 && base64_length(server)? == 32)
    };
    parts().unwrap_or(false)
}

/// True if an MD5 or SCRAM form is that of the empty password.
pub fn is_of_nothing(stored: &str, role: &str) -> bool {
    if is_md5(stored) {
        return stored == md5("", role);
    }
    let parts = || {
        let rest = stored.strip_prefix("SCRAM-SHA-256$")?;
        let (iterations, rest) = rest.split_once(':')?;
        let (salt, _) = rest.split_once('$')?;
        let iterations: u32 = iterations.parse().ok()?;
        Some(scram("", &decode(salt)?, iterations.min(1 << 20)) == stored)
    };
    is_scram(stored) && parts().unwrap_or(false)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut n) = (0u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | ALPHABET.iter().position(|a| *a == c)? as u32;
        n += 6;
        if n >= 8 {
            n -= 8;
            out.push((bits >> n) as u8);
            bits &= (1 << n) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_recognised() {
        let stored = scram("pencil", b"0123456789abcdef", 4096);
        assert!(is_scram(&stored) && !is_md5(&stored));
        assert!(!is_of_nothing(&stored, "r"));
        assert!(is_of_nothing(&scram("", b"0123456789abcdef", 4096), "r"));
        assert_eq!(md5("x", "h_u3"), "md5fed92fd23e385781c3cf5e3b970f2a2e");
        assert!(is_of_nothing(&md5("", "r"), "r"));
    }
}
