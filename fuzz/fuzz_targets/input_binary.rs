//! Receive functions of all types: a value, which can be printed and sent, or an error.
#![no_main]

use functions::{FnEnv, StaticEnv, builtin};
use libfuzzer_sys::fuzz_target;
use types::io;

fuzz_target!(|data: &[u8]| {
    let [pick, bytes @ ..] = data else { return };
    let env = StaticEnv::new(0);
    let all = builtin::types();
    let ty = &all[*pick as usize * all.len() / 256];
    let Ok(value) = io::receive(ty.oid, bytes, -1, &env.io()) else { return };
    let mut out = Vec::new();
    let _ = io::output(ty.oid, &value, &env.io(), &mut out);
    out.clear();
    let _ = io::send(ty.oid, &value, &env.io(), &mut out);
});
