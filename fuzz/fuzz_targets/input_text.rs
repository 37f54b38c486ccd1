//! Input functions of all types: a value, which can be printed and read again, or an error.
#![no_main]

use functions::{FnEnv, StaticEnv, builtin};
use libfuzzer_sys::fuzz_target;
use types::io;

fuzz_target!(|data: &[u8]| {
    let [pick, typmod, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let env = StaticEnv::new(0);
    let all = builtin::types();
    let ty = &all[*pick as usize * all.len() / 256];
    let typmod = i32::from(*typmod as i8);
    let Ok(value) = io::input(ty.oid, text, typmod, &env.io()) else { return };
    let mut shown = Vec::new();
    if io::output(ty.oid, &value, &env.io(), &mut shown).is_ok() {
        let shown = std::str::from_utf8(&shown).expect("output is text");
        let _ = io::input(ty.oid, shown, -1, &env.io());
    }
});
