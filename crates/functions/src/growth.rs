//! Texts that grow: how long they may become, and that there is memory for them.

use base::{Result, bail, err, interrupt};

/// Longest value that a function may make, in bytes.
pub(crate) const LENGTH_MAX: usize = 0x3fff_ffff;

/// Fails if a value of so many bytes, made at once, is too long or does not fit into memory.
#[inline]
pub(crate) fn made(bytes: usize) -> Result<()> {
    if bytes >= LENGTH_MAX {
        bail!(INTERNAL_ERROR, "invalid memory alloc request size {}", bytes + 4);
    }
    interrupt::room(bytes)
}

/// Fails if a text of `len` bytes may not grow by so many.
#[inline]
pub(crate) fn grow(len: usize, more: usize) -> Result<()> {
    if more >= LENGTH_MAX.saturating_sub(len) {
        return Err(err!(
            PROGRAM_LIMIT_EXCEEDED,
            "string buffer exceeds maximum allowed length ({LENGTH_MAX} bytes)"
        )
        .detail(format!(
            "Cannot enlarge string buffer containing {len} bytes by {more} more bytes."
        )));
    }
    interrupt::room(more)
}

/// Appends to a text that grows.
#[inline]
pub(crate) fn append(text: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    grow(text.len(), more.len())?;
    if text.capacity() - text.len() < more.len() {
        // It moves to a place twice as large.
        interrupt::room(text.capacity())?;
    }
    text.extend_from_slice(more);
    Ok(())
}

/// What is done at once of a long text.
const PIECE: usize = 1 << 16;

/// Makes a text of the pieces of another one. Pieces end anywhere, or after a blank if what is
/// made of a letter depends on its neighbours.
pub(crate) fn by_pieces(text: &str, anywhere: bool, f: impl Fn(&str) -> String) -> Result<String> {
    if text.len() <= PIECE {
        return Ok(f(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        interrupt::step_by(PIECE >> 6)?;
        let end = match anywhere {
            true => (PIECE..rest.len()).find(|at| rest.is_char_boundary(*at)),
            false => rest
                .as_bytes()
                .get(PIECE..)
                .and_then(|later| memchr::memchr2(b' ', b'\n', later).map(|at| PIECE + at + 1)),
        };
        let (piece, later) = rest.split_at(end.unwrap_or(rest.len()));
        let made = f(piece);
        grow(out.len(), made.len())?;
        out.push_str(&made);
        rest = later;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_same_as_the_whole() {
        for text in ["ΑΣ αΣ ".repeat(30_000), "äö".repeat(100_000), "Σ".repeat(100_000)] {
            let lower = by_pieces(&text, false, |p| p.to_lowercase()).unwrap();
            assert!(lower == text.to_lowercase());
            let upper = by_pieces(&text, true, |p| p.to_uppercase()).unwrap();
            assert!(upper == text.to_uppercase());
        }
    }

    #[test]
    fn a_text_grows_to_its_limit() {
        assert!(grow(LENGTH_MAX - 10, 9).is_ok());
        let e = grow(LENGTH_MAX - 10, 10).unwrap_err();
        assert_eq!(e.code(), base::SqlState::PROGRAM_LIMIT_EXCEEDED);
        assert_eq!(
            e.fields().detail.as_deref(),
            Some("Cannot enlarge string buffer containing 1073741813 bytes by 10 more bytes.")
        );
        let e = made(LENGTH_MAX).unwrap_err();
        assert_eq!(e.message(), "invalid memory alloc request size 1073741827");
    }
}
