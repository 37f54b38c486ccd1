//! How large the automaton of a pattern is: what PostgreSQL refuses as too complex is refused here
//! too, though it is not built as one.
//!
//! Counted are the places where a character is read, and which of them may follow on which: in an
//! automaton without empty transitions each such pair is an arc.

use super::invalid;
use super::parse::{Node, Part};
use base::Result;

/// Places and arcs that PostgreSQL has room for, as found by asking it.
const PLACES_MAX: f64 = 42_000.0;
const ARCS_MAX: f64 = 1_194_000.0;

/// Of a part: what it has, and how many of its places may come first or last.
#[derive(Clone, Copy, Default)]
struct Size {
    places: f64,
    arcs: f64,
    first: f64,
    last: f64,
    empty: bool,
}

const EMPTY: Size = Size { places: 0.0, arcs: 0.0, first: 0.0, last: 0.0, empty: true };

impl Size {
    fn then(self, next: Size) -> Size {
        Size {
            places: self.places + next.places,
            arcs: self.arcs + next.arcs + self.last * next.first,
            first: self.first + if self.empty { next.first } else { 0.0 },
            last: next.last + if next.empty { self.last } else { 0.0 },
            empty: self.empty && next.empty,
        }
    }

    fn or(self, other: Size) -> Size {
        Size {
            places: self.places + other.places,
            arcs: self.arcs + other.arcs,
            first: self.first + other.first,
            last: self.last + other.last,
            empty: self.empty || other.empty,
        }
    }

    /// So many times, the last of which may be missing.
    fn repeated(self, min: u32, max: Option<u32>) -> Size {
        let mut out = EMPTY;
        for _ in 0..min {
            out = out.then(self);
        }
        match max {
            None => {
                let again = Size { arcs: self.arcs + self.last * self.first, empty: true, ..self };
                if min == 0 { again } else { Size { arcs: out.arcs + again.arcs, ..out } }
            }
            Some(max) => {
                // Each may only follow if the one before is there.
                let mut rest = EMPTY;
                for _ in min..max {
                    rest = Size { empty: true, ..self.then(rest) };
                }
                out.then(rest)
            }
        }
    }
}

/// Fails if the pattern is too large.
pub(super) fn check(root: &Part) -> Result<()> {
    let size = size_of(root)?;
    if size.places > PLACES_MAX || size.arcs > ARCS_MAX {
        return Err(invalid("regular expression is too complex"));
    }
    Ok(())
}

fn size_of(part: &Part) -> Result<Size> {
    base::stack::check()?;
    Ok(match part.kind() {
        Node::Empty | Node::Anchor(_) | Node::Look { .. } | Node::Backref(_) => EMPTY,
        Node::Set(_) => Size { places: 1.0, arcs: 0.0, first: 1.0, last: 1.0, empty: false },
        Node::Concat(parts) => {
            let mut out = EMPTY;
            for p in parts {
                out = out.then(size_of(p)?);
            }
            out
        }
        Node::Alt(parts) => {
            let mut out = Size::default();
            for p in parts {
                out = out.or(size_of(p)?);
            }
            out
        }
        Node::Capture(_, inner) => size_of(inner)?,
        Node::Repeat { part, min, max } => size_of(part)?.repeated(*min, *max),
    })
}
