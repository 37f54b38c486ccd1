//! Statements: parsed or refused, and what is parsed can be printed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = parser::parse(text);
    }
});
