//! Messages of a client: whatever the bytes, a message or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    while let Ok(Some(n)) = pgwire::frontend::length(rest) {
        if n == 0 || n > rest.len() {
            break;
        }
        let _ = pgwire::frontend::decode(&rest[..n]);
        rest = &rest[n..];
    }
});
