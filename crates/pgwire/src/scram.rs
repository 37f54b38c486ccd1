//! SCRAM-SHA-256 (RFC 5802, RFC 7677), both ends, without channel binding.
//!
//! The stored secret is `SCRAM-SHA-256$iterations:salt$stored key:server key`, salt and keys in
//! base
//! 64. A user without a secret gets a made-up one, so that the exchange does not tell who exists.

use base::{Result, err};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The mechanism's name.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The same, bound to the encrypted connection.
pub const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";
/// Rounds for new secrets (`scram_iterations`).
pub const ITERATIONS: u32 = 4096;

type Key = [u8; 32];

fn hmac(key: &[u8], parts: &[&[u8]]) -> Key {
    // HMAC takes keys of any length.
    let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|p| mac.update(p));
    mac.finalize().into_bytes().into()
}

/// A hash of a text that only who has the key can make.
pub fn mix(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    hmac(key, &[text])
}

fn sha256(bytes: &[u8]) -> Key {
    Sha256::digest(bytes).into()
}

fn salted_password(password: &str, salt: &[u8], iterations: u32) -> Key {
    let prepared = prepare(password);
    let mut u = hmac(prepared.as_bytes(), &[salt, &[0, 0, 0, 1]]);
    let mut out = u;
    for _ in 1..iterations {
        u = hmac(prepared.as_bytes(), &[&u]);
        out.iter_mut().zip(u).for_each(|(o, x)| *o ^= x);
    }
    out
}

/// SASLprep; what it refuses is used as it is.
fn prepare(password: &str) -> std::borrow::Cow<'_, str> {
    stringprep::saslprep(password).unwrap_or(password.into())
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 with padding.
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
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

/// The bytes of base 64 with padding.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for (i, chunk) in text.chunks(4).enumerate() {
        let pad = chunk.iter().rev().take_while(|c| **c == b'=').count();
        if pad > 2 || (pad > 0 && (i + 1) * 4 != text.len()) {
            return None;
        }
        let mut n = 0;
        for c in &chunk[..4 - pad] {
            n = n << 6 | ALPHABET.iter().position(|a| a == c)?;
        }
        n <<= 6 * pad;
        out.extend_from_slice(&[(n >> 16) as u8, (n >> 8) as u8, n as u8][..3 - pad]);
    }
    Some(out)
}

/// A stored secret, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Secret {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: Key,
    server_key: Key,
}

impl Secret {
    /// The secret of a password.
    pub fn new(password: &str, salt: &[u8], iterations: u32) -> Secret {
        let salted = salted_password(password, salt, iterations);
        Secret {
            iterations,
            salt: salt.to_vec(),
            stored_key: sha256(&hmac(&salted, &[b"Client Key"])),
            server_key: hmac(&salted, &[b"Server Key"]),
        }
    }

    /// Reads the stored form.
    pub fn parse(text: &str) -> Option<Secret> {
        let rest = text.strip_prefix("SCRAM-SHA-256$")?;
        let (head, keys) = rest.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        Some(Secret {
            iterations: iterations.parse().ok()?,
            salt: decode_base64(salt)?,
            stored_key: decode_base64(stored)?.try_into().ok()?,
            server_key: decode_base64(server)?.try_into().ok()?,
        })
    }

    /// The stored form.
    pub fn to_text(&self) -> String {
        format!(
            "SCRAM-SHA-256${}:{}${}:{}",
            self.iterations,
            encode_base64(&self.salt),
            encode_base64(&self.stored_key),
            encode_base64(&self.server_key)
        )
    }

    /// True if it is the secret of this password.
    pub fn matches(&self, password: &str) -> bool {
        same(&Secret::new(password, &self.salt, self.iterations).stored_key, &self.stored_key)
    }
}

/// Compares in a time that does not depend on where the difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0
}

fn attribute(part: Option<&str>, name: char) -> Result<&str> {
    part.and_then(|p| p.strip_prefix(name)).and_then(|p| p.strip_prefix('=')).ok_or_else(|| {
        err!(PROTOCOL_VIOLATION, "malformed SCRAM message")
            .detail(format!("Expected attribute \"{name}\"."))
    })
}

/// The server's side of one exchange.
#[derive(Debug)]
pub struct Server {
    secret: Secret,
    /// The user has no such secret: the exchange goes on, and fails at its end.
    doomed: bool,
    /// What the connection is bound to, if it is encrypted.
    binding: Option<Vec<u8>>,
    /// The client has chosen [`MECHANISM_PLUS`].
    plus: bool,
    nonce: String,
    /// Messages so far, as the proof covers them.
    first_bare: String,
    server_first: String,
    header: String,
}

impl Server {
    /// An exchange for a user with this stored secret, if he has one. `random` is 18 fresh bytes;
    /// `mock` is the same for a user name each time but not to be guessed.
    pub fn new(secret: Option<&str>, random: &[u8; 18], mock: &[u8; 32]) -> Server {
        let known = secret.and_then(Secret::parse);
        let doomed = known.is_none();
        let secret = known.unwrap_or_else(|| Secret {
            iterations: ITERATIONS,
            salt: mock[..16].to_vec(),
            stored_key: *mock,
            server_key: *mock,
        });
        Server {
            secret,
            doomed,
            binding: None,
            plus: false,
            nonce: encode_base64(random),
            first_bare: String::new(),
            server_first: String::new(),
            header: String::new(),
        }
    }

    /// The connection is encrypted: the hash of the server's certificate can be bound to.
    pub fn bind_to(&mut self, end_point: Vec<u8>) {
        self.binding = Some(end_point);
    }

    /// The mechanism that the client chose; false if it was not offered.
    pub fn choose(&mut self, mechanism: &str) -> bool {
        self.plus = mechanism == MECHANISM_PLUS && self.binding.is_some();
        self.plus || mechanism == MECHANISM
    }

    fn check_flag(&self, flag: &str) -> Result<()> {
        let malformed =
            |detail: &str| Err(err!(PROTOCOL_VIOLATION, "malformed SCRAM message").detail(detail));
        match flag {
            "n" | "y" if self.plus => malformed(
                "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include \
                 channel binding data.",
            ),
            "y" if self.binding.is_some() => Err(err!(
                INVALID_AUTHORIZATION_SPECIFICATION,
                "SCRAM channel binding negotiation error"
            )
            .detail(
                "The client supports SCRAM channel binding but thinks the server does not.  \
                 However, this server does support channel binding.",
            )),
            "n" | "y" => Ok(()),
            "p=tls-server-end-point" if self.plus => Ok(()),
            _ if flag.starts_with("p=") && self.plus => Err(err!(
                PROTOCOL_VIOLATION,
                "unsupported SCRAM channel-binding type \"{}\"",
                &flag[2..]
            )),
            _ if flag.starts_with("p=") => malformed(
                "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM \
                 message includes channel binding data.",
            ),
            _ => malformed("Unexpected channel-binding flag."),
        }
    }

    /// Takes the client's first message; gives the server's.
    pub fn first(&mut self, message: &[u8]) -> Result<String> {
        let text = std::str::from_utf8(message)
            .map_err(|_| err!(PROTOCOL_VIOLATION, "malformed SCRAM message"))?;
        let mut parts = text.splitn(3, ',');
        let (flag, name) = (parts.next().unwrap_or(""), parts.next());
        let bare = parts.next();
        self.check_flag(flag)?;
        let (Some(name), Some(bare)) = (name, bare) else {
            return Err(err!(PROTOCOL_VIOLATION, "malformed SCRAM message")
                .detail("The message is truncated."));
        };
        if !name.is_empty() {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "client uses authorization identity, but it is not supported"
            ));
        }
        let mut attributes = bare.split(',');
        attribute(attributes.next(), 'n')?;
        let nonce = attribute(attributes.next(), 'r')?;
        if nonce.is_empty() || !nonce.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(err!(PROTOCOL_VIOLATION, "non-printable characters in SCRAM nonce"));
        }
        self.header = format!("{flag},{name},");
        self.first_bare = bare.to_string();
        self.nonce = format!("{nonce}{}", self.nonce);
        let salt = encode_base64(&self.secret.salt);
        self.server_first = format!("r={},s={salt},i={}", self.nonce, self.secret.iterations);
        Ok(self.server_first.clone())
    }

    /// Takes the client's last message; gives the server's, or None if the password is wrong.
    pub fn last(&mut self, message: &[u8]) -> Result<Option<String>> {
        let text = std::str::from_utf8(message)
            .map_err(|_| err!(PROTOCOL_VIOLATION, "malformed SCRAM message"))?;
        let Some((without_proof, proof)) = text.rsplit_once(",p=") else {
            return Err(err!(PROTOCOL_VIOLATION, "malformed SCRAM message")
                .detail("Expected attribute \"p\"."));
        };
        let mut attributes = without_proof.split(',');
        let binding = attribute(attributes.next(), 'c')?;
        let mut bound = self.header.clone().into_bytes();
        if self.plus {
            bound.extend_from_slice(self.binding.as_deref().unwrap_or_default());
        }
        if decode_base64(binding) != Some(bound) {
            return Err(err!(
                PROTOCOL_VIOLATION,
                "unexpected SCRAM channel-binding attribute in client-final-message"
            ));
        }
        if attribute(attributes.next(), 'r')? != self.nonce {
            return Err(
                err!(PROTOCOL_VIOLATION, "invalid SCRAM response").detail("Nonce does not match.")
            );
        }
        let proof: Option<Key> = decode_base64(proof).and_then(|p| p.try_into().ok());
        let Some(proof) = proof else {
            return Err(err!(PROTOCOL_VIOLATION, "malformed SCRAM message")
                .detail("Malformed proof in client-final-message."));
        };
        let covered = [&self.first_bare, ",", &self.server_first, ",", without_proof].concat();
        let signature = hmac(&self.secret.stored_key, &[covered.as_bytes()]);
        let mut client_key = proof;
        client_key.iter_mut().zip(signature).for_each(|(k, s)| *k ^= s);
        let right = same(&sha256(&client_key), &self.secret.stored_key);
        if !right || self.doomed {
            return Ok(None);
        }
        let signature = hmac(&self.secret.server_key, &[covered.as_bytes()]);
        Ok(Some(format!("v={}", encode_base64(&signature))))
    }
}

/// The client's side of one exchange.
#[derive(Debug)]
pub struct Client {
    password: String,
    nonce: String,
    server_signature: Key,
}

impl Client {
    /// An exchange with this password; `random` is 18 fresh bytes.
    pub fn new(password: &str, random: &[u8; 18]) -> Client {
        Client {
            password: password.to_string(),
            nonce: encode_base64(random),
            server_signature: [0; 32],
        }
    }

    /// The first message.
    pub fn first(&self) -> String {
        format!("n,,n=,r={}", self.nonce)
    }

    /// Takes the server's first message; gives the client's last.
    pub fn last(&mut self, message: &[u8]) -> Result<String> {
        let bad = || err!(PROTOCOL_VIOLATION, "malformed SCRAM message");
        let text = std::str::from_utf8(message).map_err(|_| bad())?;
        let mut attributes = text.split(',');
        let nonce = attribute(attributes.next(), 'r')?;
        let salt = decode_base64(attribute(attributes.next(), 's')?).ok_or_else(bad)?;
        let rounds: u32 = attribute(attributes.next(), 'i')?.parse().map_err(|_| bad())?;
        if !nonce.starts_with(&self.nonce) || !(1..=10_000_000).contains(&rounds) {
            return Err(bad());
        }
        let salted = salted_password(&self.password, &salt, rounds);
        let client_key = hmac(&salted, &[b"Client Key"]);
        let without_proof = format!("c=biws,r={nonce}");
        let covered = format!("n=,r={},{text},{without_proof}", self.nonce);
        let mut proof = hmac(&sha256(&client_key), &[covered.as_bytes()]);
        proof.iter_mut().zip(client_key).for_each(|(p, k)| *p ^= k);
        let server_key = hmac(&salted, &[b"Server Key"]);
        self.server_signature = hmac(&server_key, &[covered.as_bytes()]);
        Ok(format!("{without_proof},p={}", encode_base64(&proof)))
    }

    /// Whether the server's last message proves that it knows the secret, too.
    pub fn verify(&self, message: &[u8]) -> bool {
        std::str::from_utf8(message)
            .ok()
            .and_then(|t| t.strip_prefix("v="))
            .and_then(decode_base64)
            .is_some_and(|s| same(&s, &self.server_signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(secret: Option<&str>, password: &str) -> Option<bool> {
        let mut server = Server::new(secret, &[7; 18], &[9; 32]);
        let mut client = Client::new(password, &[3; 18]);
        let first = server.first(client.first().as_bytes()).unwrap();
        let last = client.last(first.as_bytes()).unwrap();
        server.last(last.as_bytes()).unwrap().map(|v| client.verify(v.as_bytes()))
    }

    #[test]
    fn both_ends_agree() {
        let secret = Secret::new("pencil", b"0123456789abcdef", 4096).to_text();
        assert!(Secret::parse(&secret).unwrap().matches("pencil"));
        assert_eq!(exchange(Some(&secret), "pencil"), Some(true));
        assert_eq!(exchange(Some(&secret), "pencils"), None);
        assert_eq!(exchange(None, "pencil"), None);
    }

    #[test]
    fn the_example_of_rfc_7677() {
        let mut s = Server::new(None, &[0; 18], &[0; 32]);
        s.doomed = false;
        s.secret = Secret::new("pencil", &decode_base64("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap(), 4096);
        s.nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0".into();
        s.first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO").unwrap();
        let last = s
            .last(b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
            .unwrap();
        assert_eq!(last.unwrap(), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn base64() {
        for n in 0..20u8 {
            let bytes: Vec<u8> = (0..n).map(|i| i.wrapping_mul(91)).collect();
            assert_eq!(decode_base64(&encode_base64(&bytes)), Some(bytes));
        }
        assert_eq!(decode_base64("a==="), None);
        assert_eq!(decode_base64("a=bc"), None);
    }
}
