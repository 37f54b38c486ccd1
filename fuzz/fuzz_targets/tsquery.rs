//! Text search: queries and documents as text, and queries matched with documents.
#![no_main]

use libfuzzer_sys::fuzz_target;
use types::ts;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (query, document) = text.split_once('\0').unwrap_or((text, "a:1A b:2,5 'c d':3"));
    let document = ts::parse_vector(document);
    let Ok(Some(query)) = ts::parse_query(query) else { return };
    let shown = query.to_string();
    let again = ts::parse_query(&shown).ok().flatten().map(|q| q.to_string());
    assert_eq!(again.as_deref(), Some(&*shown));
    if let Ok(document) = document {
        let _ = query.matches(&document);
        let _ = query.locations(&document);
    }
});
