//! `pg_snapshot`: which transactions were over.
//!
//! Stored as it is sent: i32 count, i64 xmin, i64 xmax, i64 each transaction in progress, all of
//! them big-endian.

use base::{Error, Result, err};

/// A snapshot as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotValue {
    /// All before it are over.
    pub xmin: u64,
    /// None from it on had begun.
    pub xmax: u64,
    /// Those between that were in progress, ascending.
    pub running: Vec<u64>,
}

#[cold]
fn syntax(name: &str, text: &str) -> Error {
    err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {name}: \"{text}\"")
}

impl SnapshotValue {
    /// Reads `xmin:xmax:xip,xip`.
    pub fn parse(text: &str) -> Result<SnapshotValue> {
        let name = "pg_snapshot";
        let number = |s: &str| -> Option<u64> {
            let plain = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            s.parse().ok().filter(|n| plain && *n <= i64::MAX as u64)
        };
        let read = || -> Option<SnapshotValue> {
            let mut parts = text.splitn(3, ':');
            let (xmin, xmax) = (number(parts.next()?)?, number(parts.next()?)?);
            let list = parts.next()?;
            if xmin == 0 || xmax == 0 || xmax < xmin {
                return None;
            }
            let mut running: Vec<u64> = Vec::new();
            for word in list.split(',').filter(|_| !list.is_empty()) {
                let xid = number(word)?;
                let last = running.last().copied().unwrap_or(0);
                if xid < xmin || xid >= xmax || xid < last {
                    return None;
                }
                if xid != last {
                    running.push(xid);
                }
            }
            Some(SnapshotValue { xmin, xmax, running })
        };
        read().ok_or_else(|| syntax(name, text))
    }

    /// Reads the stored form; none if it is not one.
    pub fn decode(b: &[u8]) -> Option<SnapshotValue> {
        let count = i32::from_be_bytes(b.get(..4)?.try_into().ok()?);
        let mut numbers = b.get(4..)?.chunks_exact(8).map(|c| {
            let bytes: [u8; 8] = c.try_into().unwrap_or_default();
            u64::from_be_bytes(bytes)
        });
        let (xmin, xmax) = (numbers.next()?, numbers.next()?);
        let running: Vec<u64> = numbers.collect();
        let ordered = running.windows(2).all(|w| w[0] < w[1]);
        let within = running.iter().all(|x| (xmin..xmax).contains(x));
        let right = usize::try_from(count).ok() == Some(running.len()) && xmin <= xmax;
        (right && ordered && within && xmin > 0).then_some(SnapshotValue { xmin, xmax, running })
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = (self.running.len() as i32).to_be_bytes().to_vec();
        for n in [self.xmin, self.xmax].iter().chain(&self.running) {
            out.extend_from_slice(&n.to_be_bytes());
        }
        out
    }

    /// The text form.
    pub fn text(&self) -> String {
        let running: Vec<String> = self.running.iter().map(u64::to_string).collect();
        format!("{}:{}:{}", self.xmin, self.xmax, running.join(","))
    }

    /// Whether a transaction was over.
    pub fn sees(&self, xid: u64) -> bool {
        xid < self.xmin || (xid < self.xmax && self.running.binary_search(&xid).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::SnapshotValue;

    #[test]
    fn forms_and_visibility() {
        let s = SnapshotValue::parse("12:18:14,14,16").expect("a snapshot");
        assert_eq!(s.text(), "12:18:14,16");
        assert_eq!(SnapshotValue::decode(&s.encode()), Some(s.clone()));
        assert!(s.sees(11) && s.sees(13) && !s.sees(14) && !s.sees(18));
        for wrong in ["12:10:", "31:12:", "0:1:", "12:16:14,13", "12:16:18", "x", "1:2"] {
            assert!(SnapshotValue::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(SnapshotValue::decode(&[0, 0, 0, 9]), None);
    }
}
