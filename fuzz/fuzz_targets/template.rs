//! Templates of to_char, to_date, to_timestamp and to_number: the text before the first NUL byte
//! is the template.
#![no_main]

use functions::{CallInfo, CallState, FnCtx, StaticEnv, builtin, lookup};
use libfuzzer_sys::fuzz_target;
use types::{Datum, oid};

fuzz_target!(|data: &[u8]| {
    let [seed, rest @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let (template, subject) = text.split_once('\0').unwrap_or((text, "2024-02-29 12:34:56.789"));
    let env = StaticEnv::new(0);
    let names = ["to_char", "to_date", "to_timestamp", "to_number"];
    for row in builtin::procs().iter().filter(|p| names.contains(&p.proname)) {
        let Some(entry) = lookup(row.oid) else { continue };
        let number = i64::from(*seed as i8);
        let value = match row.proargtypes.first() {
            Some(&oid::INT4) => Datum::I32(number as i32),
            Some(&oid::INT8) => Datum::I64(number << 55),
            Some(&oid::FLOAT4) => Datum::F32(number as f32 * 1e20),
            Some(&oid::FLOAT8) => Datum::F64(number as f64 * 1e200),
            Some(&oid::TIMESTAMP | &oid::TIMESTAMPTZ) => Datum::I64(number << 55),
            Some(&oid::TEXT) => Datum::text(subject),
            _ => continue,
        };
        if row.proargtypes.len() != 2 {
            continue;
        }
        let call = CallInfo::of(row.oid);
        let mut state = CallState::default();
        let mut cx = FnCtx { env: &env, call: &call, state: &mut state };
        let _ = entry.call(&mut cx, &[value, Datum::text(template)]);
    }
});
