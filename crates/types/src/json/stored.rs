//! jsonb's stored form.
//!
//! ```text
//! node    u8 kind: 0 null, 1 false, 2 true
//!         3 number, 4 string   u32 length | bytes
//!         5 array              u32 count | u32 end of each item | items
//!         6 object             u32 count | per member: u32 end of key, u32 end of value |
//!                              all keys | all values
//! ```
//! Ends count from the start of the items, of the keys and of the values. Keys are sorted by
//! length, then by bytes.

use super::{Json, compare_keys};
use crate::numeric::Numeric;

fn put_u32(n: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(n as u32).to_le_bytes());
}

/// The stored form of a value.
pub fn encode(value: &Json) -> Vec<u8> {
    let mut out = Vec::new();
    put(value, &mut out);
    out
}

fn put(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.push(0),
        Json::Bool(b) => out.push(1 + *b as u8),
        Json::Number(n) => {
            out.push(3);
            let bytes = n.encode().unwrap_or_default();
            put_u32(bytes.len(), out);
            out.extend_from_slice(&bytes);
        }
        Json::String(s) => {
            out.push(4);
            put_u32(s.len(), out);
            out.extend_from_slice(s.as_bytes());
        }
        Json::Array(items) => {
            out.push(5);
            put_u32(items.len(), out);
            let table = out.len();
            out.resize(table + 4 * items.len(), 0);
            let start = out.len();
            for (i, item) in items.iter().enumerate() {
                put(item, out);
                let end = (out.len() - start) as u32;
                out[table + 4 * i..table + 4 * i + 4].copy_from_slice(&end.to_le_bytes());
            }
        }
        Json::Object(members) => {
            out.push(6);
            put_u32(members.len(), out);
            let table = out.len();
            out.resize(table + 8 * members.len(), 0);
            let keys = out.len();
            for (i, (key, _)) in members.iter().enumerate() {
                out.extend_from_slice(key.as_bytes());
                let end = (out.len() - keys) as u32;
                out[table + 8 * i..table + 8 * i + 4].copy_from_slice(&end.to_le_bytes());
            }
            let values = out.len();
            for (i, (_, value)) in members.iter().enumerate() {
                put(value, out);
                let end = (out.len() - values) as u32;
                out[table + 8 * i + 4..table + 8 * i + 8].copy_from_slice(&end.to_le_bytes());
            }
        }
    }
}

/// A stored value that is read in place.
#[derive(Clone, Copy, Debug)]
pub struct JsonbRef<'a>(pub &'a [u8]);

impl<'a> JsonbRef<'a> {
    fn word(&self, at: usize) -> usize {
        self.0.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    fn part(&self, start: usize, end: usize) -> &'a [u8] {
        self.0.get(start..end).unwrap_or(&[])
    }

    /// The kind of node; see the module's drawing.
    pub fn kind(&self) -> u8 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.kind() == 6
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        self.kind() == 5
    }

    /// Items of an array or members of an object.
    pub fn len(&self) -> usize {
        if self.kind() >= 5 { self.word(1) } else { 0 }
    }

    /// True if there are no items or members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Item `i` of an array.
    pub fn item(&self, i: usize) -> Option<JsonbRef<'a>> {
        let n = self.len();
        if !self.is_array() || i >= n {
            return None;
        }
        let base = 5 + 4 * n;
        let start = if i == 0 { 0 } else { self.word(5 + 4 * (i - 1)) };
        Some(JsonbRef(self.part(base + start, base + self.word(5 + 4 * i))))
    }

    /// Key `i` of an object.
    pub fn key(&self, i: usize) -> &'a str {
        let base = 5 + 8 * self.len();
        let start = if i == 0 { 0 } else { self.word(5 + 8 * (i - 1)) };
        std::str::from_utf8(self.part(base + start, base + self.word(5 + 8 * i))).unwrap_or("")
    }

    /// Value `i` of an object.
    pub fn member(&self, i: usize) -> JsonbRef<'a> {
        let n = self.len();
        let keys = if n == 0 { 0 } else { self.word(5 + 8 * (n - 1)) };
        let base = 5 + 8 * n + keys;
        let start = if i == 0 { 0 } else { self.word(9 + 8 * (i - 1)) };
        JsonbRef(self.part(base + start, base + self.word(9 + 8 * i)))
    }

    /// The value of a key of an object.
    pub fn get(&self, key: &str) -> Option<JsonbRef<'a>> {
        if !self.is_object() {
            return None;
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match compare_keys(self.key(middle), key) {
                std::cmp::Ordering::Equal => return Some(self.member(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&'a str> {
        (self.kind() == 4)
            .then(|| std::str::from_utf8(self.part(5, 5 + self.word(1))).unwrap_or(""))
    }

    /// The stored form of a number.
    pub fn as_number(&self) -> Option<&'a [u8]> {
        (self.kind() == 3).then(|| self.part(5, 5 + self.word(1)))
    }

    /// The whole value as a tree.
    pub fn to_json(self) -> Json {
        match self.kind() {
            1 => Json::Bool(false),
            2 => Json::Bool(true),
            3 => Json::Number(Numeric::decode(self.as_number().unwrap_or(&[]))),
            4 => Json::String(self.as_str().unwrap_or("").to_string()),
            5 => Json::Array(
                (0..self.len()).filter_map(|i| self.item(i)).map(JsonbRef::to_json).collect(),
            ),
            6 => Json::Object(
                (0..self.len())
                    .map(|i| (self.key(i).to_string(), self.member(i).to_json()))
                    .collect(),
            ),
            _ => Json::Null,
        }
    }
}

/// The tree of a stored value.
pub fn decode(bytes: &[u8]) -> Json {
    JsonbRef(bytes).to_json()
}
