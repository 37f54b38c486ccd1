//! Counting characters of UTF-8 text.

/// How many characters.
#[inline]
pub(crate) fn char_len(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    bytes.iter().filter(|b| (**b as i8) >= -0x40).count()
}

/// Byte offset of character `n`, the length if there are fewer.
pub(crate) fn char_index(text: &str, n: usize) -> usize {
    if text.is_ascii() {
        return n.min(text.len());
    }
    text.char_indices().nth(n).map_or(text.len(), |(i, _)| i)
}

/// `len` characters from character `start`.
pub(crate) fn slice_chars(text: &str, start: usize, len: usize) -> &str {
    let from = char_index(text, start);
    let rest = &text[from..];
    &rest[..char_index(rest, len)]
}
