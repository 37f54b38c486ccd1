//! Access privileges: grantee (u32), grantor (u32), privileges (u32), grant options (u32).

use crate::io::TypeLookup;
use base::{Oid, Result, bail, err};

/// Letters of the privileges, lowest bit first.
pub const LETTERS: &[u8; 15] = b"arwdDxtXUCTcsAm";

/// One grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AclItem {
    /// Who may; 0 is everybody.
    pub grantee: Oid,
    /// Who granted it.
    pub grantor: Oid,
    /// What.
    pub privileges: u32,
    /// What of it may be granted on.
    pub grant_options: u32,
}

impl AclItem {
    /// The stored form.
    pub fn encode(&self) -> [u8; 16] {
        let mut out = [0; 16];
        let words = [self.grantee.0, self.grantor.0, self.privileges, self.grant_options];
        for (slot, word) in out.chunks_mut(4).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> AclItem {
        let word = |i: usize| {
            bytes.get(4 * i..4 * i + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        AclItem {
            grantee: Oid(word(0)),
            grantor: Oid(word(1)),
            privileges: word(2),
            grant_options: word(3),
        }
    }

    /// `grantee=rw*/grantor`.
    pub fn text(&self, lookup: &dyn TypeLookup) -> String {
        let name = |oid: Oid| match lookup.role_name(oid) {
            Some(name) => quote(&name),
            None => oid.to_string(),
        };
        let mut out = if self.grantee.is_valid() { name(self.grantee) } else { String::new() };
        out.push('=');
        for (i, letter) in LETTERS.iter().enumerate() {
            if self.privileges >> i & 1 != 0 {
                out.push(*letter as char);
            }
            if self.grant_options >> i & 1 != 0 {
                out.push('*');
            }
        }
        out.push('/');
        out.push_str(&name(self.grantor));
        out
    }

    /// Reads [`AclItem::text`]'s form.
    pub fn parse(text: &str, lookup: &dyn TypeLookup) -> Result<AclItem> {
        let (grantee, rest) = word(text.trim_start())?;
        let role = |name: &str| {
            lookup
                .role_oid(name)
                .or_else(|| name.parse().ok().map(Oid))
                .ok_or_else(|| err!(UNDEFINED_OBJECT, "role \"{name}\" does not exist"))
        };
        let Some(rest) = rest.strip_prefix('=') else {
            if grantee != "group" && grantee != "user" {
                return Err(err!(
                    INVALID_TEXT_REPRESENTATION,
                    "unrecognized key word: \"{grantee}\""
                )
                .hint("ACL key word must be \"group\" or \"user\"."));
            }
            return AclItem::parse(rest, lookup);
        };
        let mut item = AclItem {
            grantee: if grantee.is_empty() { Oid::INVALID } else { role(&grantee)? },
            grantor: Oid(10),
            privileges: 0,
            grant_options: 0,
        };
        let (letters, grantor) = match rest.split_once('/') {
            Some((letters, grantor)) => (letters, Some(grantor)),
            None => (rest, None),
        };
        let mut last = 0;
        let letters = letters.trim_start();
        let end = letters.find(|c: char| c != '*' && !c.is_ascii_alphabetic());
        let (letters, extra) = letters.split_at(end.unwrap_or(letters.len()));
        for c in letters.bytes() {
            if c == b'*' {
                item.grant_options |= last;
                continue;
            }
            let Some(bit) = LETTERS.iter().position(|l| *l == c) else {
                bail!(
                    INVALID_TEXT_REPRESENTATION,
                    "invalid mode character: must be one of \"arwdDxtXUCTcsAm\""
                );
            };
            last = 1 << bit;
            item.privileges |= last;
        }
        if !extra.trim().is_empty() {
            bail!(INVALID_TEXT_REPRESENTATION, "extra garbage at the end of the ACL specification");
        }
        if let Some(grantor) = grantor {
            let (name, rest) = word(grantor)?;
            if name.is_empty() {
                bail!(INVALID_TEXT_REPRESENTATION, "a name must follow the \"/\" sign");
            }
            item.grantor = role(&name)?;
            if !rest.trim().is_empty() {
                bail!(
                    INVALID_TEXT_REPRESENTATION,
                    "extra garbage at the end of the ACL specification"
                );
            }
        }
        Ok(item)
    }
}

/// A name, quoted unless it is made of letters, digits and underscores.
fn quote(name: &str) -> String {
    if name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return name.to_string();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name at the start of a text, unquoted, and the rest.
fn word(text: &str) -> Result<(String, &str)> {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices().peekable();
    let mut rest = "";
    while let Some((i, c)) = chars.next() {
        match c {
            '"' if quoted && chars.peek().is_some_and(|(_, n)| *n == '"') => {
                out.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            c if quoted || c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii() => out.push(c),
            _ => {
                rest = &text[i..];
                break;
            }
        }
        if out.len() >= 64 {
            return Err(err!(NAME_TOO_LONG, "identifier too long")
                .detail("Identifier must be less than 64 characters."));
        }
    }
    Ok((out, rest))
}
