//! Access control lists: who may do what with an object.

use base::{Error, Oid, Result, SqlState};
use types::Datum;
use types::array::{ArrayRef, ElemType, make_vector};

/// One item: what a role was granted by another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AclItem {
    /// To whom; 0 is PUBLIC.
    pub grantee: Oid,
    /// By whom.
    pub grantor: Oid,
    /// Privileges, a bit each as in [`LETTERS`].
    pub privileges: u32,
    /// Those that may be passed on.
    pub grant_options: u32,
}

/// The letter of each privilege, from bit 0.
pub const LETTERS: &[u8] = b"arwdDxtXUCTcsAm";

/// The bit of a privilege's letter.
pub fn bit(letter: u8) -> u32 {
    LETTERS.iter().position(|l| *l == letter).map_or(0, |i| 1 << i)
}

impl AclItem {
    /// ```text
    /// 0  grantee u32 | 4  grantor u32 | 8  privileges u32 | 12  grant options u32
    /// ```
    pub fn encode(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..4].copy_from_slice(&self.grantee.0.to_le_bytes());
        out[4..8].copy_from_slice(&self.grantor.0.to_le_bytes());
        out[8..12].copy_from_slice(&self.privileges.to_le_bytes());
        out[12..].copy_from_slice(&self.grant_options.to_le_bytes());
        out
    }

    /// The item of these bytes.
    pub fn decode(bytes: &[u8]) -> Result<AclItem> {
        let word = |at: usize| {
            bytes
                .get(at..at + 4)
                .and_then(|b| b.try_into().ok())
                .map(u32::from_le_bytes)
                .ok_or_else(|| Error::new(SqlState::DATA_CORRUPTED, "invalid aclitem"))
        };
        Ok(AclItem {
            grantee: Oid(word(0)?),
            grantor: Oid(word(4)?),
            privileges: word(8)?,
            grant_options: word(12)?,
        })
    }

    /// From `role=privileges/grantor`; `role_oid` finds roles.
    pub fn parse(text: &str, role_oid: &dyn Fn(&str) -> Option<Oid>) -> Option<AclItem> {
        let (grantee, rest) = text.split_once('=')?;
        let (privileges, grantor) = rest.split_once('/')?;
        let mut item = AclItem {
            grantee: if grantee.is_empty() { Oid(0) } else { role_oid(grantee)? },
            grantor: role_oid(grantor)?,
            privileges: 0,
            grant_options: 0,
        };
        let mut last = 0;
        for letter in privileges.bytes() {
            if letter == b'*' {
                item.grant_options |= last;
            } else {
                last = bit(letter);
                item.privileges |= last;
            }
        }
        Some(item)
    }
}

/// The items of an `aclitem[]`, if it is not NULL.
pub fn to_items(value: &Datum) -> Result<Option<Vec<AclItem>>> {
    let Datum::Bytes(bytes) = value else { return Ok(None) };
    let array = ArrayRef::parse(bytes)?;
    let elem = ElemType::builtin(types::oid::ACLITEM);
    let mut items = Vec::with_capacity(array.len());
    for value in array.iter(&elem) {
        if let Datum::Bytes(b) = value? {
            items.push(AclItem::decode(&b)?);
        }
    }
    Ok(Some(items))
}

/// An `aclitem[]`.
pub fn from_items(items: &[AclItem]) -> Result<Datum> {
    let elem = ElemType::builtin(types::oid::ACLITEM);
    let values: Vec<Datum> = items.iter().map(|i| Datum::bytes(i.encode().to_vec())).collect();
    make_vector(&elem, &values)
}

/// The list after the object went from one owner to another: what was the old one's is the new
/// one's. Items that became the same are one.
pub fn change_owner(items: &[AclItem], old: Oid, new: Oid) -> Vec<AclItem> {
    let mut out: Vec<AclItem> = Vec::new();
    let moved = |role: Oid| if role == old { new } else { role };
    for item in items {
        let (grantee, grantor) = (moved(item.grantee), moved(item.grantor));
        match out.iter_mut().find(|i| i.grantee == grantee && i.grantor == grantor) {
            Some(there) => {
                there.privileges |= item.privileges;
                there.grant_options |= item.grant_options;
            }
            None => out.push(AclItem { grantee, grantor, ..*item }),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_read_and_write() {
        let roles = |name: &str| (name == "bob").then_some(Oid(7));
        let item = AclItem::parse("bob=r*w/bob", &roles).unwrap();
        assert_eq!(item.privileges, bit(b'r') | bit(b'w'));
        assert_eq!(item.grant_options, bit(b'r'));
        let back = to_items(&from_items(&[item]).unwrap()).unwrap().unwrap();
        assert_eq!(back, vec![item]);
    }
}
