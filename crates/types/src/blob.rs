//! A byte string that is cheap to clone: short ones inline, longer ones shared.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// Longest byte string that is held inline.
const INLINE_MAX: usize = 22;

/// An immutable byte string of 24 bytes: up to 22 bytes inline, else a slice of a shared buffer.
#[derive(Clone)]
pub struct Blob(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE_MAX] },
    Shared { start: u32, len: u32, buffer: Arc<Vec<u8>> },
}

const _: () = assert!(size_of::<Blob>() == 24);

impl Blob {
    /// The empty byte string.
    pub const EMPTY: Blob = Blob(Repr::Inline { len: 0, bytes: [0; INLINE_MAX] });

    /// A copy of `bytes`.
    #[inline]
    pub fn new(bytes: &[u8]) -> Blob {
        if bytes.len() <= INLINE_MAX {
            let mut inline = [0; INLINE_MAX];
            inline[..bytes.len()].copy_from_slice(bytes);
            Blob(Repr::Inline { len: bytes.len() as u8, bytes: inline })
        } else {
            Blob::from(bytes.to_vec())
        }
    }

    /// The bytes `start..start + len` of a shared buffer, without copying unless they are few.
    #[inline]
    pub fn slice_of(buffer: &Arc<Vec<u8>>, start: usize, len: usize) -> Blob {
        if len <= INLINE_MAX {
            return Blob::new(&buffer[start..start + len]);
        }
        assert!(start + len <= buffer.len());
        Blob(Repr::Shared { start: start as u32, len: len as u32, buffer: Arc::clone(buffer) })
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..*len as usize],
            Repr::Shared { start, len, buffer } => {
                &buffer[*start as usize..*start as usize + *len as usize]
            }
        }
    }

    /// The part `range` of the bytes, sharing the buffer.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Blob {
        match &self.0 {
            Repr::Shared { start, buffer, .. } if range.len() > INLINE_MAX => {
                assert!(range.end <= self.len());
                Blob::slice_of(buffer, *start as usize + range.start, range.len())
            }
            _ => Blob::new(&self.as_slice()[range]),
        }
    }

    /// The bytes as text; what is not UTF-8 is an empty string (values are validated on input).
    #[inline]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_slice()).unwrap_or("")
    }

    /// Bytes held outside of this object, for memory accounts.
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Inline { .. } => 0,
            Repr::Shared { len, .. } => *len as usize,
        }
    }
}

impl Deref for Blob {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl From<Vec<u8>> for Blob {
    #[inline]
    fn from(bytes: Vec<u8>) -> Blob {
        if bytes.len() <= INLINE_MAX {
            return Blob::new(&bytes);
        }
        Blob(Repr::Shared { start: 0, len: bytes.len() as u32, buffer: Arc::new(bytes) })
    }
}

impl From<String> for Blob {
    #[inline]
    fn from(text: String) -> Blob {
        Blob::from(text.into_bytes())
    }
}

impl From<&str> for Blob {
    #[inline]
    fn from(text: &str) -> Blob {
        Blob::new(text.as_bytes())
    }
}

impl From<&[u8]> for Blob {
    #[inline]
    fn from(bytes: &[u8]) -> Blob {
        Blob::new(bytes)
    }
}

impl Default for Blob {
    fn default() -> Blob {
        Blob::EMPTY
    }
}

impl PartialEq for Blob {
    #[inline]
    fn eq(&self, other: &Blob) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Blob {}

impl PartialOrd for Blob {
    fn partial_cmp(&self, other: &Blob) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Blob {
    fn cmp(&self, other: &Blob) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for Blob {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(self.as_slice()) {
            Ok(text) => write!(f, "{text:?}"),
            Err(_) => write!(f, "{:02x?}", self.as_slice()),
        }
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Blob, D::Error> {
        Vec::<u8>::deserialize(deserializer).map(Blob::from)
    }
}
