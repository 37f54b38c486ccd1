//! Regular expressions, LIKE and SIMILAR TO: the text before the first NUL byte is the pattern.
#![no_main]

use functions::{CallInfo, CallState, FnCtx, StaticEnv, builtin, lookup};
use libfuzzer_sys::fuzz_target;
use types::Datum;

const FUNCTIONS: [&str; 6] =
    ["textregexeq", "texticregexeq", "textregexsubstr", "textlike", "texticlike", "similar_to_escape_1"];

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, subject) = text.split_once('\0').unwrap_or((text, "aaaa bbbb äöü 1234\n"));
    let env = StaticEnv::new(0);
    for row in builtin::procs().iter().filter(|p| FUNCTIONS.contains(&p.prosrc)) {
        let Some(entry) = lookup(row.oid) else { continue };
        let call = CallInfo::of(row.oid);
        let mut state = CallState::default();
        let mut cx = FnCtx { env: &env, call: &call, state: &mut state };
        let args = match row.proargtypes.len() {
            1 => vec![Datum::text(pattern)],
            _ => vec![Datum::text(subject), Datum::text(pattern)],
        };
        let _ = entry.call(&mut cx, &args);
    }
});
