//! JSON paths: read or refused, printed to be read again, run over a document.
#![no_main]

use functions::{CallInfo, CallState, FnCtx, FnEnv, StaticEnv, builtin, lookup};
use libfuzzer_sys::fuzz_target;
use types::{io, oid};

const DOCUMENT: &str = r#"{"a":[1,-2.5,"x",null,true,{"b":[[],{}]}],"t":"2024-02-29T10:00:00+01"}"#;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // No text that a client can send has one.
    if text.contains('\0') {
        return;
    }
    let env = StaticEnv::new(0);
    let Ok(path) = io::input(oid::JSONPATH, text, -1, &env.io()) else { return };
    let mut shown = Vec::new();
    let _ = io::output(oid::JSONPATH, &path, &env.io(), &mut shown);
    let shown = std::str::from_utf8(&shown).expect("output is text");
    assert!(io::input(oid::JSONPATH, shown, -1, &env.io()).is_ok(), "{text} as {shown}");
    let document = io::input(oid::JSONB, DOCUMENT, -1, &env.io()).expect("a document");
    let rows = builtin::procs().iter();
    for row in rows.filter(|p| p.prosrc.starts_with("jsonb_path_") && p.proargtypes.len() == 2) {
        let Some(entry) = lookup(row.oid) else { continue };
        let call = CallInfo::of(row.oid);
        let mut state = CallState::default();
        let mut cx = FnCtx { env: &env, call: &call, state: &mut state };
        let _ = entry.call(&mut cx, &[document.clone(), path.clone()]);
    }
});
