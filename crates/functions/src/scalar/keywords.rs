//! Words that an identifier must be quoted for.

use std::sync::OnceLock;

/// Whether a lower-case word is a key word that cannot stand as a name everywhere.
pub(super) fn is_reserved(word: &str) -> bool {
    static WORDS: OnceLock<Vec<&'static str>> = OnceLock::new();
    let words =
        WORDS.get_or_init(|| include_str!("../../data/quoted_keywords.txt").lines().collect());
    words.binary_search(&word).is_ok()
}
