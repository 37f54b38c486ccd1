//! MD5 passwords, as old clients and old secrets have them.

use md5::{Digest, Md5};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The hash of pieces, one after the other.
pub fn digest(pieces: &[&[u8]]) -> [u8; 16] {
    let mut h = Md5::new();
    for piece in pieces {
        h.update(piece);
    }
    h.finalize().into()
}

/// The stored form of a password: `md5` and the hash of password and user name.
pub fn secret(user: &str, password: &str) -> String {
    let mut h = Md5::new();
    h.update(password.as_bytes());
    h.update(user.as_bytes());
    format!("md5{}", hex(&h.finalize()))
}

/// What a client answers to this salt, given the stored form.
pub fn response(secret: &str, salt: [u8; 4]) -> String {
    let mut h = Md5::new();
    h.update(secret.strip_prefix("md5").unwrap_or(secret).as_bytes());
    h.update(salt);
    format!("md5{}", hex(&h.finalize()))
}

/// True if this is the stored form of an MD5 password.
pub fn is_secret(secret: &str) -> bool {
    secret.strip_prefix("md5").is_some_and(|h| {
        h.len() == 32 && h.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_secret() {
        let s = secret("postgres", "secret");
        assert!(is_secret(&s) && s.len() == 35 && !is_secret("md5xyz"));
        assert_eq!(response(&s, [1, 2, 3, 4]).len(), 35);
    }
}
