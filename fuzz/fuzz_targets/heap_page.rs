//! A heap page with these bytes: it is refused, or its tuples can be looked at.
#![no_main]

use access::heap::page;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut bytes = [0u8; base::PAGE_SIZE];
    let n = data.len().min(bytes.len());
    bytes[..n].copy_from_slice(&data[..n]);
    if page::check(&bytes).is_err() {
        return;
    }
    for off in 1..=page::max_offset(&bytes) {
        if let Some(t) = page::tuple(&bytes, off) {
            let _ = (t.natts(), t.hoff(), t.bitmap(), t.data().len(), t.ctid());
        }
    }
});
